"""Passports of made-up encoders: values that a formula gives, in 32 languages of 17 families and 12 layers."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from crosslens.jobs.records import read_json, write_json
from crosslens.numerics.estimates import over_families
from crosslens.papers.passport.description import ELSEWHERE
from crosslens.papers.passport.facts import SUMMARY, TABLE_COLUMNS, measures
from crosslens.reports.provenance import write_table

FAMILIES = {
    "en": "Indo-European", "de": "Indo-European", "es": "Indo-European", "ru": "Indo-European", "el": "Indo-European",
    "hy": "Indo-European", "hi": "Indo-European", "bn": "Indo-European", "fi": "Uralic", "tr": "Turkic", "kk": "Turkic",
    "ar": "Afro-Asiatic", "he": "Afro-Asiatic", "am": "Afro-Asiatic", "ha": "Afro-Asiatic", "tzm": "Afro-Asiatic",
    "sw": "Niger-Congo", "yo": "Niger-Congo", "zu": "Niger-Congo", "zh": "Sino-Tibetan", "ja": "Japanese", "ko": "Korean",
    "vi": "Austro-Asiatic", "th": "Tai-Kadai", "id": "Austronesian", "ta": "Dravidian", "ka": "Kartvelian", "eu": "Basque",
    "mn": "Mongolic", "quy": "Quechuan", "nqo": "Mande", "gn": "Tupian",
}  # fmt: skip
DEPTH = 12
WEAK = {"tzm": 0.6, "nqo": 0.55, "gn": 0.4, "quy": 0.35, "yo": 0.2}
"""Languages that the encoder does not have, and how far their values are from those of the others, as a share."""

# metric, definition -> value at layer 0, at the last layer, and how far languages are from it; rising or falling in between
LAYERED: Mapping[tuple[str, str], tuple[float, float]] = {
    ("identification", "raw"): (1.0, 0.99), ("anc", "raw"): (0.29, 0.66), ("anc", "raw, length out"): (0.25, 0.64),
    ("cka", "raw"): (0.40, 0.74), ("cka", "raw, length out"): (0.32, 0.73), ("mexa", "raw"): (0.17, 0.97),
    ("mexa", "centred"): (0.42, 0.98), ("neighbours", "strong, raw"): (0.01, 0.75),
    ("neighbours", "strong, centred"): (0.42, 0.97),
    ("neighbours", "own, raw"): (0.99, 0.25), ("neighbours", "own, centred"): (0.3, 0.05), ("mutual_knn", "raw"): (0.18, 0.46),
    ("mutual_knn", "centred"): (0.18, 0.46), ("hubness", "raw"): (3.6, 2.2), ("hubness", "centred"): (3.0, 1.9),
    ("topic", "raw"): (0.41, 0.73), ("topic", "centred"): (0.48, 0.72), ("topic", "erased"): (0.47, 0.71),
}  # fmt: skip
WHOLE = {("share", "raw"): (0.52, 0.15), ("genealogy", "mutual information"): (0.3, 0.4),
         ("isotropy", "mean cosine"): (0.64, 0.76)}  # fmt: skip
"""Values at the first and at the last layer of measures of a whole layer, which have none of languages."""
RANDOM = {"identification": 0.98, "share": 0.1, "genealogy": 0.05, "anc": 0.06, "cka": 0.11, "mexa": 0.05, "neighbours": 0.016,
          "mutual_knn": 0.22, "hubness": 2.0, "isotropy": 0.96, "topic": 0.3}  # fmt: skip
SHUFFLED = {"identification": 1 / 32, "anc": 0.0, "cka": 0.0, "mexa": 0.002, "neighbours": 0.002, "mutual_knn": 0.049,
            "topic": 0.17, "genealogy": 0.0}  # fmt: skip
ENCODER = {
    "id": "intfloat/multilingual-e5-small", "revision": "614241f622f53c4eeff9890bdc4f31cfecc418b3",
    "parameters": 117_653_760, "layers": DEPTH, "width": 384, "class": "BertModel", "tokenizer": "Unigram", "vocabulary": 250_037,
    "positions": 512, "pad": 1, "mask": True, "prenorm": False,
}  # fmt: skip
FACTS = {
    "version": "1.0", "name": "e5", "corpus": "SIB-200", "commit": "c0" * 20, "split": "test", "languages": [*FAMILIES], "n": 204,
    "seeds": [0, 1], "sentences_sha256": "5" * 64, "inputs_sha256": "1" * 64, "code_sha256": "c" * 64,
    "subwords_sha256": "9" * 64,
    "measures": {key: measure.version for key, measure in measures().items()},
    "not_measured": ELSEWHERE,
    "encoder": ENCODER,
}  # fmt: skip


def value_of(key: str, definition: str, layer: int, language: str, shift: float = 0.0) -> float:
    """The value of a language at a layer: between the ends of LAYERED in proportion to the layer, WEAK languages behind."""
    first, last = LAYERED[key, definition]
    share = layer / DEPTH * (1 - WEAK.get(language, 0.01 * [*FAMILIES].index(language) / len(FAMILIES)))
    return first + (last - first) * share + shift * (last > first)


def rows(shift: float = 0.0, depth: int = DEPTH) -> Iterator[dict[str, Any]]:
    """Rows of the table. shift: is added to all values of measures that rise with the layers."""
    for language in FAMILIES:
        numbers = {"here": 1.0 if language == "en" else 1.2 + WEAK.get(language, 0.0)}
        yield row("premium", "premium", language, "", **numbers)
        yield row("premium", "premium", language, "", "formula", here=numbers["here"] + 0.4)
    yield row("premium", "premium", "families", "", here=1.31, low=1.22, high=1.42)
    yield row("premium", "premium", "families", "", "formula", here=1.7)
    for key, definition in LAYERED:
        targets = [language for language in FAMILIES if language != "en" or key in ("identification", "topic")]
        by_layer = {
            str(layer): [value_of(key, definition, layer * DEPTH // depth, language, shift) for language in targets]
            for layer in range(depth + 1)
        }
        by_layer[SUMMARY] = by_layer[str(depth - 1)]
        others = [number for number, language in enumerate(targets) if language != "en" or key != "topic"]
        for layer, values in by_layer.items():
            for language, here in zip(targets, values, strict=True):
                yield row(key, definition, language, layer, here=here, low=here - 0.02, high=here + 0.02)
            array, families = np.array(values)[others], [FAMILIES[targets[number]] for number in others]
            here, low, high = over_families(array, families).interval()
            yield row(key, definition, "families", layer, here=here, low=low, high=high)
            yield row(key, definition, "languages", layer, here=float(array.mean()))
    for (key, definition), (first, last) in WHOLE.items():
        for layer in range(depth + 1):
            yield row(key, definition, "languages", str(layer), here=first + (last - first) * layer / depth)
    for kind, values in (("random weights", RANDOM), ("shuffled pairs", SHUFFLED)):
        for key, here in values.items():
            is_whole = (key, measures()[key].definition) in WHOLE
            for layer in [*map(str, range(depth + 1)), *[SUMMARY] * (not is_whole)]:
                column = "languages" if is_whole else "families"
                yield row(key, measures()[key].definition, column, layer, kind, here=here, low=here - 0.01, high=here + 0.01)
    yield row("topic", "raw", "families", str(depth), "formula", here=0.25)


def row(key: str, definition: str, column: str, layer: str, baseline_kind: str = "", **numbers: float) -> dict[str, Any]:
    """A row of the table."""
    place = {"row": measures()[key].title, "column": column, "metric": key, "definition": definition, "layer": layer}
    return place | {"family": FAMILIES.get(column, ""), "baseline_kind": baseline_kind, "n": 204} | numbers


def write(
    folder: Path, name: str = "e5", shift: float = 0.0, facts: Mapping[str, Any] = {}, encoder: Mapping[str, Any] = {}
) -> Path:
    """Write a passport with its record, and return the path of its table.

    facts, encoder: what is another than in FACTS and ENCODER.
    """
    depth = encoder.get("layers", DEPTH)
    table = pd.DataFrame(list(rows(shift, depth)), columns=list(TABLE_COLUMNS))
    table = table.assign(paper="passport", item=name, comparable=True)
    path = folder / f"{name}.csv"
    write_table(table, path, {}, {})
    record = path.with_name(f"{path.name}.json")
    whole = deepcopy(FACTS) | {"name": name, **facts, "encoder": ENCODER | encoder}
    write_json(read_json(record) | {"passport": whole, "command": f"snakemake -- results/passport/{name}.csv"}, record)
    return path
