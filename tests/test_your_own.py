"""The pages on one's own encoder, language, treebanks and settings: their overlays and commands, as they stand there."""

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from study import snakemake
from synthetic.write import Sizes, write_sources

PAGES = "\n".join(
    (Path(__file__).parents[1] / f"docs/{name}.md").read_text(encoding="utf-8")
    for name in ("new-encoder", "new-language", "own-treebanks", "settings")
)
BLOCKS = dict(re.findall(r"```yaml\n# ([^\n]+)\n(.*?)```", PAGES, re.DOTALL))  # name of the file -> its text
COMMANDS = re.findall(r"^snakemake (.+ --configfile .+)$", PAGES, re.MULTILINE)


@pytest.fixture(scope="module")
def root(edited: Path) -> Path:
    """The tiny study beside the pages' files, and treebanks under the names of own-treebanks.md; the Swedish ones are German."""
    root = edited
    for name, text in BLOCKS.items():
        (root / name).write_text(text, encoding="utf-8")
    write_sources(root / "generated", ["de", "en"], 0, Sizes(train=60, dev=20, test=20, parallel=60, articles=1, records=2))
    (root / "my-data/my-treebanks").mkdir(parents=True)
    for name, pattern in {
        "en-train": "*-Phrasebook/en_*-train", "en-validation": "*-Phrasebook/en_*-dev", "en-test": "*-Phrasebook/en_*-test",
        "sv-test": "*-Phrasebook/de_*-test", "en-text": "*-PhrasebookPUD/en_*-test", "sv-text": "*-PhrasebookPUD/de_*-test",
    }.items():  # fmt: skip
        (path,) = root.glob(f"generated/ud/{pattern}.conllu")
        shutil.copy(path, root / f"my-data/my-treebanks/{name}.conllu")
    return root


@pytest.mark.long
def test_every_command_plans(root):
    assert len(BLOCKS) == len(COMMANDS) == 11
    assert {file for command in COMMANDS for file in BLOCKS if f" {file} " in command} == BLOCKS.keys()
    for command in COMMANDS:  # but for those of treebanks, which are run below
        if " treebanks.yaml" in command:
            continue
        said = snakemake(root, *command.replace(" -n -- ", " -- ").replace(" -- ", " -n -- ").split())
        targets = command.partition(" -- ")[2].split()
        assert all(Path(target).stem in said for target in targets) and "results/demo/" not in said, command
        if "seed1-laptop" not in command:  # which has the encoder of the preset
            assert not re.search("Files to fetch: .*wikiann", said), command


@pytest.mark.long
def test_an_encoder_beside_another(root):
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
def test_treebanks_of_ones_own_are_read_and_pinned_and_make_table_1(root):
    """Only then are they pinned: one that is no treebank is refused, and what takes its place needs no edit of the lock."""
    (command,) = (command for command in COMMANDS if " treebanks.yaml" in command)
    *options, page = command.split()
    treebank, fetched = root / "my-data/my-treebanks/sv-test.conllu", "results/treebanks/sources/my-treebanks/sv-test.conllu"
    content, names = treebank.read_bytes(), ("en-train", "en-validation", "en-test", "sv-test")
    treebank.write_bytes(b"# Too many requests\n")
    said = snakemake(root, *options, "results/treebanks/corpora/udpos", works=False)
    aside = fetched.replace("sv-test.conllu", ".sv-test.conllu.damaged")
    correct = "or correct my-treebanks/sv-test.conllu in your mirror, then"
    assert f"; {correct} mv -- {fetched} {aside}, and the next run fetches again what nothing has read before" in said
    assert not (root / "sources.lock.tsv").exists()
    treebank.write_bytes(content)
    (root / fetched).unlink()
    snakemake(root, *options, page)
    pins = (root / "sources.lock.tsv").read_text()
    assert sorted(re.findall(r"^my-treebanks/([\w-]+)[.]conllu", pins, re.MULTILINE)) == sorted((*names, "en-text", "sv-text"))
    assert {path.name for path in (root / "results/treebanks/corpora/udpos").glob("*.parquet")} == {
        f"{name.replace('-', '.')}.parquet" for name in names
    }
    table = pd.read_csv(root / "results/treebanks/table1.csv")
    assert {*table["column"]} == {"UDPOS Init.", "UDPOS Fine-T.", "UDPOS Untrained", "UDPOS Spelling alone"}
    assert (root / page).stat().st_size > 1000 and not [*(root / "results/treebanks/sources").glob("[!m]*")]


@pytest.mark.long
def test_all_that_a_paper_lacks_is_said_where_it_is_asked_for(root):
    """With treebanks of English and Swedish alone, other papers are left out, and one message has the lines to add."""
    files = ("config.yaml", "laptop/overlay.yaml", "lacking.yaml")
    (root / "lacking.yaml").write_text(
        "results: results/lacking\n"
        "corpora:\n"
        "  udpos: { languages: [en, sv], files: { test: { sv: [UD_Swedish-PUD/sv_pud-ud-test.conllu] } } }\n"
        "  wikipedia: { languages: [en] }\n"
        "papers: { liang2021: { tasks: { pos: { corpus: udpos } }, sources: [[en], [en, sv]] } }\n"
    )
    options = ("--profile", "laptop", "--configfile", *files, "-n", "--")
    said = snakemake(root, *options, "results/lacking/table1.csv", works=False)
    here = ", ".join(files)
    warning, line = (line for line in said.splitlines() if f"{here}: papers.tanti2021" in line)  # the latter is the error, once
    assert warning.startswith("papers.tanti2021 is omitted: ")
    assert "has no sv, which corpora.udpos tests; de, el, es and 4 more, which corpora.xnli tests: add to your overlay" in line
    assert "No rule to produce" not in said and "Traceback" not in said
    added = re.search("`(corpora: .*?)`", line)
    assert added
    (root / "lines.yaml").write_text(f"{added[1]}\n")
    files = (*files, "lines.yaml")
    options = ("--profile", "laptop", "--configfile", *files, "-n", "--")
    said = snakemake(root, *options, "results/lacking/table1.csv")
    assert "papers.liang2021 is omitted: " in said
    said = snakemake(root, *options, "results/lacking/liang2021/table1.csv", works=False)
    assert "papers.liang2021.tasks.pos: corpora.udpos has no training data for sv" in said and "tanti2021" not in said
