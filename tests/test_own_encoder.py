"""`make try` and `make passport`: encoders with tokenizers trained here, from their folders to tables, figures and a passport."""

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from crosslens.commands import own_encoder
from study import REPOSITORY, copy_repository, edit, environment
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    ModernBertConfig,
    ModernBertModel,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    XLMRobertaConfig,
    XLMRobertaModel,
)

SPECIALS = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>", "mask_token": "<mask>"}
SHAPE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
COMMIT = "3f" * 20
HUB = "crosslens/tiny"


def texts() -> list[str]:
    """Lines of the synthetic corpus's grammar, which have every character of the demo's texts."""
    return [line for path in (REPOSITORY / "resources/synthetic").glob("*/*") for line in path.read_text("utf-8").splitlines()]


def save(tokenizer: Tokenizer, model: PreTrainedModel, folder: Path) -> Path:
    """Save an encoder with save_pretrained, as its owner would."""
    ends = [(subword, tokenizer.token_to_id(subword)) for subword in ("<s>", "</s>")]
    text, pair = "<s> $A </s>", "<s> $A </s> </s> $B </s>"
    tokenizer.post_processor = processors.TemplateProcessing(single=text, pair=pair, special_tokens=ends)
    names = SPECIALS | {"cls_token": "<s>", "sep_token": "</s>"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    model.save_pretrained(folder)
    return folder


def modernbert(folder: Path) -> Path:
    """A tiny ModernBERT with a byte-level BPE vocabulary."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special, alphabet = list(SPECIALS.values()), pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=800, special_tokens=special, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts(), trainer)
    ids = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "cls_token_id": 0, "sep_token_id": 2}
    config = ModernBertConfig(vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=512, **SHAPE, **ids)
    return save(tokenizer, ModernBertModel(config), folder)


def xlm_roberta(folder: Path, positions: int = 514) -> Path:
    """A tiny XLM-R with a Unigram vocabulary."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
    special, characters = list(SPECIALS.values()), sorted(set("".join(texts())))
    trainer = trainers.UnigramTrainer(
        vocab_size=2500, special_tokens=special, unk_token="<unk>", initial_alphabet=characters, show_progress=False
    )
    tokenizer.train_from_iterator(texts(), trainer)
    config = XLMRobertaConfig(
        vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=positions, type_vocab_size=1, **SHAPE
    )
    return save(tokenizer, XLMRobertaModel(config, add_pooling_layer=False), folder)


SHAPES = {"modernbert": modernbert, "xlm_roberta": xlm_roberta}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository, whose demo is as small as the tiny study, with two encoders."""
    root = copy_repository(tmp_path_factory.mktemp("try"))
    shutil.copy(root / "tests/workflow/overlay.yaml", root / "demo/overlay.yaml")
    edit(root / "demo/overlay.yaml", ("readings:\n", "readings:\n  without_unknown: { labelled_subword: first_visible }\n"))
    for name, shape in SHAPES.items():
        shape(root / "encoders" / name)
    return root


def attempt(root: Path, encoder: str) -> subprocess.CompletedProcess[str]:
    """The command of `make try`."""
    command = [sys.executable, "-m", "crosslens.commands.own_encoder", "try", encoder]
    variables = environment() | {"PYTHONPATH": "workflow"}
    return subprocess.run(command, cwd=root, env=variables, capture_output=True, text=True)


@pytest.mark.long
@pytest.mark.parametrize(("shape", "corpora"), [("modernbert", []), ("xlm_roberta", ["udpos", "xnli", "wikipedia"])])
def test_from_a_folder_to_table_1_and_figure_3(root: Path, shape: str, corpora: list[str]) -> None:
    name = f"my-{shape.replace('_', '-')}"
    run = attempt(root, f"encoders/{shape}")
    assert run.returncode == 0, run.stdout + run.stderr
    results, overlay = root / "results" / name, yaml.safe_load((root / f"{name}.yaml").read_text())
    assert overlay["encoders"] == {name: {"source": "folder", "path": f"encoders/{shape}", "corpora": corpora}}
    with (results / "table1.csv").open() as stream:
        scores = [row for row in csv.DictReader(stream) if row["column"] == "UDPOS Fine-T." and row["here"]]
    assert scores
    record = json.loads((results / "models/tanti2021/pos/finetuned/seed0/record.json").read_text())
    assert record["recipe"]["encoder"] == name
    assert all((results / file).stat().st_size > 1000 for file in ("table1.html", "figure3.svg", "figure3.html"))
    assert not [path for path in (root / "results").glob(".try-*")]


def test_what_is_no_encoder_is_refused_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(own_encoder, "_snakemake", None)  # nothing runs
    whole = xlm_roberta(tmp_path / "whole")
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        shutil.copytree(whole, tmp_path / f"without-{name}")
        (tmp_path / f"without-{name}" / name).unlink()
    cases = {
        "": "try: expected ENCODER=FOLDER, as saved by save_pretrained, or ENCODER=OWNER/NAME@COMMIT for one on the Hugging Face "
        "hub, found '': no folder of that name",
        "~nobody-of-this-name": "found '~nobody-of-this-name': no folder of that name",
        f"tiny@{COMMIT}": f"found 'tiny@{COMMIT}': no folder of that name",
        f"a/ b@{COMMIT}": f"found 'a/ b@{COMMIT}': id: ",
        f"{HUB}@main": f"found '{HUB}@main': revision: ",
        "without-config.json": "without-config.json: expected an encoder saved by transformers with a fast tokenizer, found no "
        "config.json: load and save it again with save_pretrained",
        "without-tokenizer.json": "found no tokenizer.json: convert it by make convert",
        "without-model.safetensors": "found no model.safetensors: convert it by make convert",
    }
    for encoder, message in cases.items():
        with pytest.raises(SystemExit) as caught:
            own_encoder.main(["try", encoder])
        assert message in str(caught.value) and "\n" not in str(caught.value), encoder
    assert not [*tmp_path.glob("*.yaml"), *tmp_path.glob("results/.try-*")]


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with the configuration of the demo."""
    (tmp_path / "demo").mkdir()
    for file in own_encoder.PURPOSES["try"].files:
        shutil.copy(REPOSITORY / file, tmp_path / file)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_overlay_is_of_one_encoder_and_fits_it(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[tuple[str, ...]] = []
    monkeypatch.setattr(own_encoder, "_snakemake", lambda *options: commands.append(options) or 0)
    xlm_roberta(demo / "a/My Model", positions=130)
    with pytest.raises(SystemExit) as caught:
        own_encoder.main(["try", "a/My Model"])
    assert caught.value.code == 0 and commands[0][-2:] == ("results/my-model/table1.html", "results/my-model/figure3.html")
    overlay = yaml.safe_load((demo / "my-model.yaml").read_text())
    assert overlay == {
        "results": "results/my-model",
        "encoders": {"my-model": {"source": "folder", "path": "a/My Model", "corpora": ["udpos", "xnli", "wikipedia"]}},
        "tokenisations": {"without_unknown": {"maximum": 128}},
        "papers": {"tanti2021": {"encoder": "my-model"}},
    }
    (demo / "my-model.yaml").write_text((demo / "my-model.yaml").read_text() + "seeds: [1]\n")
    with pytest.raises(SystemExit):
        own_encoder.main(["try", "a/My Model"])
    assert (demo / "my-model.yaml").read_text().endswith("seeds: [1]\n") and len(commands) == 2
    shutil.copytree(demo / "a", demo / "b")
    with pytest.raises(SystemExit, match="my-model.yaml: expected the overlay of this encoder, found another's: rename"):
        own_encoder.main(["try", "b/My Model"])
    assert len(commands) == 2


def test_an_encoder_of_the_hub_is_fetched_first(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[tuple[str, ...]] = []

    def run(*options: str) -> int:
        commands.append(options)
        if len(commands) == 1:
            modernbert(Path(f"results/my-tiny/sources/hub/{HUB}/{COMMIT}"))
        return 0

    monkeypatch.setattr(own_encoder, "_snakemake", run)
    with pytest.raises(SystemExit) as caught:
        own_encoder.main(["try", f"{HUB}@{COMMIT}"])
    assert caught.value.code == 0
    fetched = [Path(file).name for file in commands[0] if COMMIT in file and file.startswith("results/my-tiny/sources/hub/")]
    assert fetched == ["config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"]
    overlay = yaml.safe_load((demo / "my-tiny.yaml").read_text())
    assert overlay["encoders"] == {"my-tiny": {"source": "hub", "id": HUB, "revision": COMMIT, "corpora": []}}


def test_a_passport_has_an_overlay_of_its_own(
    demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands: list[tuple[str, ...]] = []
    monkeypatch.setattr(own_encoder, "_snakemake", lambda *options: commands.append(options) or 0)
    monkeypatch.setattr("crosslens.commands.own_encoder.cpu_count", lambda: 7)  # for three jobs at a time
    xlm_roberta(demo / "a/My Model")
    with pytest.raises(SystemExit) as caught:
        own_encoder.main(["passport", "a/My Model"])
    assert caught.value.code == 0
    files = ("--configfile", "config.yaml", "my-model-passport.yaml")
    assert commands == [("--cores", "7", *files, "--", "results/passport/my-model.html")]
    overlay = yaml.safe_load((demo / "my-model-passport.yaml").read_text())
    assert overlay == {
        "results": "results",
        "threads": 2,
        "encoders": {"my-model": {"source": "folder", "path": "a/My Model", "corpora": []}},
        "papers": {"passport": {"encoders": ["my-model"], "compare": []}},
    }
    assert capsys.readouterr().out.endswith("Built: results/passport/my-model.html\n")
    monkeypatch.setattr("crosslens.commands.own_encoder.cpu_count", lambda: 2)  # which three jobs share
    assert own_encoder.PURPOSES["passport"].command("my-model")[:2] == ["--cores", "3"]


@pytest.mark.parametrize(("positions", "maximum"), [(514, None), (130, 128), (1026, 1024), (8194, 2048)])
def test_a_passport_reads_texts_as_long_as_the_encoder_has_positions(
    demo: Path, monkeypatch: pytest.MonkeyPatch, positions: int, maximum: int | None
) -> None:
    monkeypatch.setattr(own_encoder, "_snakemake", lambda *options: 0)
    folder = xlm_roberta(demo / f"a/long{positions}", positions)
    with pytest.raises(SystemExit):
        own_encoder.main(["passport", str(folder)])
    overlay = yaml.safe_load((demo / f"my-long{positions}-passport.yaml").read_text())
    assert overlay.get("tokenisations") == (maximum and {"sentences": {"maximum": maximum}})
