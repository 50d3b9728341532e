"""liu2020: its tables and figures, on made-up tokens and records."""

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from crosslens import parquet
from crosslens.cells import Published
from crosslens.digests import seal
from crosslens.papers.inputs import Inputs
from crosslens.papers.liu2020 import vocabulary
from crosslens.tokens.schema import TOKENS

RESOURCES = Path(__file__).parents[1] / "resources" / "published"


def published() -> Published:
    return Published.read(RESOURCES / "liu2020.csv")


def tokenizer(folder: Path, names: list[str]) -> Path:
    """A tokenizer's folder, of which the first four subwords are special ones or unknown."""
    added = [{"id": number, "content": name, "special": True} for number, name in enumerate(names[:4])]
    content = {"model": {"vocab": {name: number for number, name in enumerate(names)}}, "added_tokens": added}
    (folder / "tokenizer.json").write_text(json.dumps(content), "utf-8")
    seal(folder / "tokenizer.json")
    return folder


def write_tokens(path: Path, texts: list[list[int]], cut: int = 0) -> None:
    rows = [{"id": str(number), "pieces": pieces, "words": []} for number, pieces in enumerate(texts)]
    table = pa.Table.from_pylist(rows, schema=TOKENS).replace_schema_metadata({"crosslens": json.dumps({"cut_texts": cut})})
    parquet.write(table, path)


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
    here = {(row.definition, row.row, row.column): row.here for row in made.itertuples() if pd.notna(row.here)}
    own, shared = {"en": {4, 5, 6, 7}, "de": {5, 8, 9}, "sw": {4, 8}}, {}
    for definition, unknown in ((vocabulary.WITH, {"en", "sw"}), (vocabulary.WITHOUT, set())):
        sets = {language: members | ({1} if language in unknown else set()) for language, members in own.items()}
        shared |= {(definition, "V_lang", language): len(members) for language, members in sets.items()}
        shared |= {(definition, "V_en and V_lang", language): len(members & sets["en"]) for language, members in sets.items()}
    assert here == shared
    remarks = made[made["here"].notna()].set_index("column")["remark"]
    assert set(remarks["de"]) == {"1,234 pairs cut"} and set(remarks["en"]) | set(remarks["sw"]) == {""}
    both = made[made["published"].notna()]
    assert len(both) == 14 and set(both["definition"]) == {vocabulary.WITH}  # languages that are not here too
    assert made.loc[made["column"] == "fr", "here"].isna().all()
