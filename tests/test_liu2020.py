"""liu2020: its tables and figures, on made-up tokens and records."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from crosslens.config.presets import read_yaml
from crosslens.encoding.tokens.counts import Vocabulary, changed_subwords
from crosslens.encoding.tokens.schema import TOKENS
from crosslens.jobs import parquet
from crosslens.jobs.checksums import write_checksums
from crosslens.jobs.errors import DataError
from crosslens.papers.configuration import load
from crosslens.papers.inputs import Inputs
from crosslens.papers.liu2020 import accents, masked_predictions, text, vocabulary
from crosslens.papers.liu2020.names import ALL, LAST, RELEASED, UNTRAINED, nli, pretraining
from crosslens.papers.liu2020.recipes import ON_XNLI, recipes
from crosslens.papers.liu2020.tables_and_figures import items, study
from crosslens.reports.cells import Published
from goldens import assert_golden

RESOURCES = Path(__file__).parents[1] / "resources" / "published"


def published() -> Published:
    return Published.read(RESOURCES / "liu2020.csv")


def tokenizer(folder: Path, names: list[str]) -> Path:
    """A tokenizer's folder, of which the first four subwords are special ones or unknown."""
    added = [{"id": number, "content": name, "special": True} for number, name in enumerate(names[:4])]
    content = {"model": {"vocab": {name: number for number, name in enumerate(names)}}, "added_tokens": added}
    (folder / "tokenizer.json").write_text(json.dumps(content), "utf-8")
    write_checksums(folder / "tokenizer.json")
    return folder


def write_tokens(path: Path, texts: list[list[int]], cut: int = 0) -> None:
    rows = [{"id": str(number), "subwords": subwords, "words": []} for number, subwords in enumerate(texts)]
    table = pa.Table.from_pylist(rows, schema=TOKENS)
    parquet.write(table, path, {"cut_texts": cut, "special": [1, 1, 1]})


@pytest.fixture
def tokens(tmp_path: Path) -> Inputs:
    """Subwords 0 [PAD], 1 [UNK], 2 [CLS], 3 [SEP], then a to f; English and Swahili have unknown ones, German none."""
    folder = tokenizer(tmp_path, ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdef"])
    write_tokens(tmp_path / "en.test.parquet", [[2, 4, 5, 5, 3, 6, 3], [2, 1, 4, 3, 7, 3]])
    write_tokens(tmp_path / "de.test.parquet", [[2, 5, 8, 3, 9, 3]], cut=1234)
    write_tokens(tmp_path / "sw.test.parquet", [[2, 1, 8, 3, 4, 3]])
    return Inputs([], [], published(), {"xnli_all": tmp_path}, {}, folder)


def test_subwords_of_each_language_and_those_shared(tokens: Inputs) -> None:
    made = vocabulary.table("table3", tokens, {"corpus": "xnli_all", "source": "en", "languages": ["en", "de", "sw"]})
    chosen = made["column"].isin(["en", "de", "sw", "fr"])  # of French there are no texts
    assert_golden(made[chosen], "liu2020/table3")
    assert len(made[made["published"].notna()]) == 14


def test_the_text_of_pretrainings_is_counted_by_language(tmp_path: Path) -> None:
    """English: pages of 3 + 5 and of 9 subwords; German: of 2 and of 20; Chinese has one sentence alone."""
    pages = {"en": [[3, 5], [9]], "de": [[2], [20]], "zh": [[6]]}
    for language, lengths in pages.items():
        rows = [
            {"id": f"{page}#{number}", "language": language, "page": str(page), "subwords": [2, *[5] * length, 3], "second": 0,
             "cut": False, "cut_words": 0}
            for page, sentences in enumerate(lengths) for number, length in enumerate(sentences)
        ]  # fmt: skip
        parquet.write(pa.Table.from_pylist(rows, schema=TOKENS), tmp_path / f"{language}.train.parquet", {"special": [1, 1, 1]})
    windows = [{"name": "long", "window": 8, "within": "page"}, {"name": "short", "window": 6, "within": "text"}]
    settings = {"corpus": "text", "languages": list(pages), "sizes": {"less": 1, "more": 99}, "windows": windows}
    made = text.table("text", Inputs([], [], published(), {"text": tmp_path}, {}), settings)
    assert_golden(made, "liu2020/text")


def test_models_from_scratch_are_fine_tuned_whole(values: dict[str, Any]) -> None:
    """Section 3 says nothing of the last layers, section 4.3 does, of mBERT; one line makes it the upper half of all."""
    for half, expected in ((False, None), (True, 6)):
        values["papers"]["liu2020"]["nli"]["pretrained_half"] = half
        made = recipes(load(values))
        frozen = {name: made[name].stages[0].phases[0].frozen_layers for name in made if made[name].task == ON_XNLI}
        assert frozen[ALL] is None and frozen[LAST] == 6
        assert {frozen[nli(f"bert-{window}/{size}")] for window in (512, 20) for size in ("200k", "1000k")} == {expected}


def test_subwords_that_change_are_those_that_each_text_loses(tmp_path: Path) -> None:
    """Subwords 0 to 3 are special or unknown; one that moves within its text is not lost, one that another text gains is."""
    read = Vocabulary.read(tokenizer(tmp_path, ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdef"]))
    before, after, others = (tmp_path / f"{name}.parquet" for name in ("before", "after", "others"))
    write_tokens(before, [[2, 4, 4, 5, 3, 1, 3], [2, 6, 7, 3], [2, 9, 3]])
    write_tokens(after, [[2, 5, 4, 8, 3, 3], [2, 6, 7, 4, 3], [2, 9, 9, 3]])
    write_tokens(others, [[2, 4, 3]])
    assert changed_subwords(before, after, read) == (2, 7)  # an a and the unknown one
    assert changed_subwords(after, before, read) == (3, 8)  # 8, 4 and 9
    assert changed_subwords(before, before, read) == (0, 7)
    with pytest.raises(DataError, match=r"others.parquet: expected the texts of .*before.parquet in their order"):
        changed_subwords(before, others, read)


def test_accents_stand_beside_what_table_4_falls_short(tmp_path: Path) -> None:
    """German loses no subword, French one of four, Vietnamese all: r is that of these shares and the printed differences."""
    folder = tokenizer(tmp_path, ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdef"])
    plain, stripped = tmp_path / "plain", tmp_path / "stripped"
    after = {"en": [4, 5, 6, 7], "de": [4, 5, 6, 7], "fr": [4, 5, 6, 8], "vi": [9, 9, 9, 9]}
    for code, subwords in after.items():
        write_tokens(plain / f"{code}.test.parquet", [[2, 4, 5, 3, 6, 7, 3]])
        write_tokens(stripped / f"{code}.test.parquet", [[2, *subwords[:2], 3, *subwords[2:], 3]])
    cited = Published.read(RESOURCES / "wu2019.csv")
    given = Inputs([], [], published(), {"xnli": plain, "xnli/altered": stripped}, {}, folder, None, cited)
    settings = {
        "corpus": "xnli",
        "source": "en",
        "languages": list(after),
        "families": {code: code for code in after},
        "tokenisations": {"without accents": "altered"},
    }
    made = accents.table("accents", given, settings)
    assert_golden(made[made["here"].notna() | made["remark"].ne("")], "liu2020/accents")
    accuracy = made[made["metric"] == "accuracy"]
    assert accuracy["published"].notna().sum() == 12 and accuracy["here"].isna().all()


def test_less_text_with_as_many_epochs_has_fewer_updates_alone() -> None:
    values = read_yaml(RESOURCES.parents[1] / "config.yaml")
    config, sizes = load(values), ("200k-epochs", "200k")
    fewer, usual = (recipes(config)[pretraining(f"bert-512/{size}")] for size in sizes)
    updates = [stage.epochs * stage.phases[0].updates for stage in (*fewer.stages, *usual.stages)]
    assert updates == [40_000, 200_000]
    phase = usual.stages[0].phases[0]
    stage = fewer.stages[0].model_copy(update={"phases": (phase,)})
    assert fewer.model_copy(update={"name": usual.name, "stages": (stage,)}) == usual
    rows = masked_predictions.of_sizes(study(config), sizes)
    assert rows["BERT, window 512 (200k-epochs)"] == fewer.name and rows["BERT, window 512 (200k)"] == usual.name
    values["papers"]["liu2020"]["pretraining"]["bert"]["equal_epochs"] = False
    assert pretraining("bert-512/200k-epochs") not in recipes(load(values))


def test_several_pretrainings_of_each_kind() -> None:
    """All of them are measured; one translates, and training runs on XNLI start from one after the other."""
    values = read_yaml(RESOURCES.parents[1] / "config.yaml")
    values["papers"]["liu2020"]["pretraining"]["seeds"] = [3, 4]
    values["papers"]["liu2020"]["translation"]["model"] = "bert-512/1000k"
    config = load(values)
    start = recipes(config)[nli("bert-512/1000k")].pretrained
    assert start is not None and [start.seed(seed) for seed in (0, 1, 2)] == [3, 4, 3]
    shown = [items(config)[name] for name in ("table2", "retrieval", "nli")]
    needs = {(need.kind, need.recipe): need.seeds for item in shown for need in item.needs}
    bert = pretraining("bert-512/1000k")
    assert needs["retrieval", bert] == needs["masked", bert] == needs["retrieval", UNTRAINED] == (3, 4)
    assert needs["translation", bert] == needs["retrieval", RELEASED] == (3,)
    assert needs["classification", start.recipe.replace("pretraining", "nli")] == (0, 1, 2)
    assert {need.seeds for need in items(config)["table2"].needs} == {(3,)}
