"""`make try` and `make passport`: encoders with tokenizers trained here, from their folders to tables, figures and a passport."""

import csv
import json
import shutil
import subprocess
import sys
from functools import cache
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


@cache
def byte_level() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special, alphabet = list(SPECIALS.values()), pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=800, special_tokens=special, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts(), trainer)
    return tokenizer


@cache
def unigram() -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
    special, characters = list(SPECIALS.values()), sorted(set("".join(texts())))
    trainer = trainers.UnigramTrainer(
        vocab_size=2500, special_tokens=special, unk_token="<unk>", initial_alphabet=characters, show_progress=False
    )
    tokenizer.train_from_iterator(texts(), trainer)
    return tokenizer


def modernbert(folder: Path) -> Path:
    """A tiny ModernBERT."""
    ids = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "cls_token_id": 0, "sep_token_id": 2}
    config = ModernBertConfig(vocab_size=byte_level().get_vocab_size(), max_position_embeddings=512, **SHAPE, **ids)
    return save(byte_level(), ModernBertModel(config), folder)


def xlm_roberta(folder: Path, positions: int = 514) -> Path:
    """A tiny XLM-R."""
    sizes = {"vocab_size": unigram().get_vocab_size(), "max_position_embeddings": positions, "type_vocab_size": 1}
    return save(unigram(), XLMRobertaModel(XLMRobertaConfig(**SHAPE, **sizes), add_pooling_layer=False), folder)


SHAPES = {"modernbert": modernbert, "xlm_roberta": xlm_roberta}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository, whose demo is as small as the tiny study, with two encoders."""
    root = copy_repository(tmp_path_factory.mktemp("try"))
    shutil.copy(root / "tests/workflow/overlay.yaml", root / "demo/overlay.yaml")
    edit(
        root / "demo/overlay.yaml",
        ("tokenisations:\n", "tokenisations:\n  without_unknown: { labelled_subword: first_visible }\n"),
    )
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
    results, overlay = root / "results" / name, yaml.safe_load((root / f"overlays/{name}.yaml").read_text())
    assert overlay["encoders"] == {name: {"source": "folder", "path": f"encoders/{shape}", "corpora": corpora}}
    with (results / "table1.csv").open() as stream:
        scores = [row for row in csv.DictReader(stream) if row["column"] == "UDPOS Fine-T." and row["here"]]
    assert scores
    record = json.loads((results / "models/tanti2021/pos/finetuned/seed0/record.json").read_text())
    assert record["recipe"]["encoder"] == name
    assert all((results / file).stat().st_size > 1000 for file in ("table1.html", "figure3.svg", "figure3.html"))
    assert not [path for path in (root / "results").glob(".try-*")]


def status(*arguments: str) -> object:
    """What the command ends with: 0, or what it says."""
    with pytest.raises(SystemExit) as caught:
        own_encoder.main([*arguments])
    return caught.value.code


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with the configuration of the demo."""
    (tmp_path / "demo").mkdir()
    for file in own_encoder.PURPOSES["try"].files:
        shutil.copy(REPOSITORY / file, tmp_path / file)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def commands(demo: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Calls of Snakemake, of which the first fetches the encoder if it is one of the hub."""
    calls: list[tuple[str, ...]] = []

    def run(*options: str) -> int:
        calls.append(options)
        if any(COMMIT in option for option in options) and len(calls) == 1:
            modernbert(Path(f"results/my-tiny/sources/hub/{HUB}/{COMMIT}"))
        return 0

    monkeypatch.setattr(own_encoder, "_snakemake", run)
    return calls


def test_what_is_no_encoder_is_refused_before_anything_runs(demo: Path, commands: list[tuple[str, ...]]) -> None:
    whole = xlm_roberta(demo / "whole")
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        shutil.copytree(whole, demo / f"without-{name}")
        (demo / f"without-{name}" / name).unlink()
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
        refusal = str(status("try", encoder))
        assert message in refusal and "\n" not in refusal, encoder
    left = [*demo.glob("*.yaml"), *demo.glob("results/.try-*")]
    assert not commands and left == [demo / "config.yaml"]


def test_an_overlay_is_of_one_encoder_and_fits_it(demo: Path, commands: list[tuple[str, ...]]) -> None:
    xlm_roberta(demo / "a/My Model", positions=130)
    assert status("try", "a/My Model") == 0
    assert commands[0][-2:] == ("results/my-model/table1.html", "results/my-model/figure3.html")
    overlay = yaml.safe_load((demo / "overlays/my-model.yaml").read_text())
    assert overlay == {
        "results": "results/my-model",
        "reuse": ["results/demo"],
        "encoders": {"my-model": {"source": "folder", "path": "a/My Model", "corpora": ["udpos", "xnli", "wikipedia"]}},
        "tokenisations": {"without_unknown": {"maximum": 128}},
        "papers": {"tanti2021": {"encoder": "my-model"}},
    }
    (demo / "overlays/my-model.yaml").write_text((demo / "overlays/my-model.yaml").read_text() + "seeds: [1]\n")
    assert status("try", "a/My Model") == 0
    assert (demo / "overlays/my-model.yaml").read_text().endswith("seeds: [1]\n") and len(commands) == 2
    shutil.copytree(demo / "a", demo / "b")
    refusal = "my-model.yaml: expected the overlay of this encoder, found that of another; rename"
    assert refusal in str(status("try", "b/My Model")) and len(commands) == 2


def test_a_tokenizer_that_lacks_scripts_is_found_before_any_job(demo: Path, commands: list[tuple[str, ...]]) -> None:
    latin = Tokenizer(models.Unigram())
    latin.pre_tokenizer = pre_tokenizers.Metaspace()
    lines = ["".join(character for character in line if character < "\u0590") for line in texts()]
    trainer = trainers.UnigramTrainer(
        vocab_size=900, special_tokens=list(SPECIALS.values()), unk_token="<unk>", initial_alphabet=sorted(set("".join(lines)))
    )
    latin.train_from_iterator(lines, trainer)
    sizes = {"vocab_size": latin.get_vocab_size(), "max_position_embeddings": 130, "type_vocab_size": 1}
    save(latin, XLMRobertaModel(XLMRobertaConfig(**SHAPE, **sizes), add_pooling_layer=False), demo / "latin")
    before, line, after = str(status("try", "latin")).split("`")
    assert "found unknown subwords: Arabic" in before and "Chinese" in before and "German" not in before and not commands
    assert after.startswith(" into overlays/my-latin.yaml in place of its tokenisations,")
    overlay = demo / "overlays/my-latin.yaml"
    kept = [line if text.startswith("tokenisations:") else text for text in overlay.read_text().splitlines()]
    overlay.write_text("\n".join(kept))
    assert status("try", "latin") == 0 and len(commands) == 1
    assert yaml.safe_load(overlay.read_text())["tokenisations"] == {"without_unknown": {"maximum": 128, "drop_unknown": False}}


def test_an_encoder_of_the_hub_is_fetched_first(demo: Path, commands: list[tuple[str, ...]]) -> None:
    assert status("try", f"{HUB}@{COMMIT}") == 0
    fetched = [Path(file).name for file in commands[0] if COMMIT in file and file.startswith("results/my-tiny/sources/hub/")]
    assert fetched == ["config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"]
    overlay = yaml.safe_load((demo / "overlays/my-tiny.yaml").read_text())
    assert overlay["encoders"] == {"my-tiny": {"source": "hub", "id": HUB, "revision": COMMIT, "corpora": []}}


def test_a_passport_has_an_overlay_of_its_own(
    demo: Path, commands: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("crosslens.commands.own_encoder.cpu_count", lambda: 7)  # for three jobs at a time
    xlm_roberta(demo / "a/My Model")
    assert status("passport", "a/My Model") == 0
    files = ("--configfile", "config.yaml", "overlays/my-model-passport.yaml")
    assert commands == [("--cores", "7", *files, "--", "results/passport/my-model.html")]
    overlay = yaml.safe_load((demo / "overlays/my-model-passport.yaml").read_text())
    assert overlay == {
        "results": "results",
        "threads": 2,
        "encoders": {"my-model": {"source": "folder", "path": "a/My Model", "corpora": []}},
        "papers": {"passport": {"encoders": ["my-model"], "compare": []}},
    }
    assert capsys.readouterr().out.endswith("Built: results/passport/my-model.html\n")
    monkeypatch.setattr("crosslens.commands.own_encoder.cpu_count", lambda: 2)  # which three jobs share
    assert own_encoder.PURPOSES["passport"].command("my-model")[:2] == ["--cores", "3"]


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(("positions", "maximum"), [(130, 128), (1026, 1024), (8194, 2048)])
def test_a_passport_reads_texts_as_long_as_the_encoder_has_positions(demo: Path, positions: int, maximum: int) -> None:
    assert status("passport", str(xlm_roberta(demo / "a/long", positions))) == 0
    overlay = yaml.safe_load((demo / "overlays/my-long-passport.yaml").read_text())
    assert overlay["tokenisations"] == {"sentences": {"maximum": maximum}}
