"""docs/your-own.md: its overlays and commands, as they stand there."""

import json
import re
import shutil
from pathlib import Path

import pytest
from phrasebook.write import Sizes, write_sources
from study import copy_repository, snakemake

PAGE = (Path(__file__).parents[1] / "docs/your-own.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"```yaml\n# ([^\n]+)\n(.*?)```", PAGE, re.DOTALL))  # name of the file -> its text
COMMANDS = re.findall(r"^    snakemake (.+)$", PAGE, re.MULTILINE)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with the page's files, and treebanks under the page's names."""
    root = copy_repository(tmp_path_factory.mktemp("own"))
    for name, text in BLOCKS.items():
        path = root / name.removeprefix("an entry of ")
        with open(path, "a", encoding="utf-8") as stream:
            stream.write(f"\n{text}")
    write_sources(root / "generated", ["de", "en"], 0, Sizes(train=30, dev=10, test=10, parallel=2, articles=1, records=2))
    (root / "my-data/my-treebanks").mkdir(parents=True)
    for path in root.glob("generated/ud/*-Phrasebook/*.conllu"):
        code, split = path.stem.partition("_")[0], path.stem.rpartition("-")[2]
        shutil.copy(path, root / f"my-data/my-treebanks/{code}-{split}.conllu")
    return root


@pytest.mark.long
def test_every_command_plans(root):
    assert len(BLOCKS) == 6 and len(COMMANDS) == 6
    for command in COMMANDS:
        said = snakemake(root, *command.replace(" -n -- ", " -- ").replace(" -- ", " -n -- ").split())
        assert "table1" in said and "results/demo/" not in said, command


@pytest.mark.long
def test_an_encoder_beside_another(root):
    snakemake(root, "--profile", "tests/workflow", "--", "results/tiny/encoders/random")
    shutil.copytree(root / "results/tiny/encoders/random", root / "my-encoder")
    before = sorted((root / "results/tiny").rglob("*"))
    files = ("config.yaml", "tests/workflow/overlay.yaml", "mine.yaml")
    training = "results/mine/models/tanti2021/pos/frozen/seed0"
    snakemake(root, "--profile", "tests/workflow", "--configfile", *files, "--", f"{training}/predictions.parquet")
    record = json.loads((root / training / "record.json").read_text())
    assert record["recipe"]["encoder"] == "mine"
    assert (root / "results/mine/encoders/mine/model.safetensors").exists()
    assert sorted((root / "results/tiny").rglob("*")) == before


@pytest.mark.long
def test_treebanks_of_ones_own_are_read_and_pinned(root):
    """Only then are they pinned: one that is no treebank is refused, and what takes its place needs no edit of the lock."""
    command = ("--profile", "demo", "--configfile", "config.yaml", "demo/overlay.yaml", "treebanks.yaml", "--")
    treebank, fetched = root / "my-data/my-treebanks/de-dev.conllu", "results/treebanks/sources/my-treebanks/de-dev.conllu"
    content = treebank.read_bytes()
    treebank.write_bytes(b"# Too many requests\n")
    said = snakemake(root, *command, "results/treebanks/corpora/udpos", works=False)
    assert f"; or rm {fetched}, and the next run fetches again what nothing has read before" in said
    assert not (root / "sources.lock.tsv").exists()
    treebank.write_bytes(content)
    (root / fetched).unlink()
    snakemake(root, *command, "results/treebanks/corpora/udpos")
    assert {path.name for path in (root / "results/treebanks/corpora/udpos").glob("*.parquet")} == {
        f"{name}.parquet" for name in ("de.dev", "de.test", "en.dev", "en.test", "en.train")
    }
    pins = (root / "sources.lock.tsv").read_text()
    assert all(f"my-treebanks/{name}.conllu" in pins for name in ("de-dev", "de-test", "en-dev", "en-test", "en-train"))


def test_a_language_that_the_phrasebook_lacks_is_refused_before_anything_runs(root):
    text = BLOCKS["polish.yaml"].replace("pl,", "pl, sw,")
    (root / "swahili.yaml").write_text(text)
    files = ("config.yaml", "demo/overlay.yaml", "swahili.yaml")
    said = snakemake(root, "--profile", "demo", "--configfile", *files, "--", "results/polish/table1.csv", works=False)
    assert "phrasebook.languages: sw not among the phrasebook's languages" in said and not (root / "results/polish").exists()
