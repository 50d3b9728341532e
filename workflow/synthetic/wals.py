"""WALS features of the synthetic corpus's languages, as the CLDF tables of the World Atlas of Language Structures.

Format: https://github.com/cldf-datasets/wals at v2020, cldf/. Source: resources/synthetic/typology.csv, which has some of the
features. Codes, families and genera come from resources/languages.csv, except for the family that WALS calls Altaic. All
other cells are empty.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from synthetic.tables import TABLES, check, language_facts, read_languages, rows

COLUMNS = {
    "languages": "ID Name Macroarea Latitude Longitude Glottocode ISO639P3code Family Subfamily Genus ISO_codes Samples_100 "
    "Samples_200",
    "parameters": "ID Name Description Contributor_ID Chapter Area",
    "codes": "ID Parameter_ID Name Description Number icon",
    "values": "ID Language_ID Parameter_ID Value Code_ID Comment Source Example_ID",
}
"""The tables of the release and their columns."""
FACTS = dict(
    ID="wals", Name="name", Glottocode="glottocode", ISO639P3code="iso639_3", Family="family", Genus="genus", ISO_codes="iso639_3"
)  # column of the languages' table -> column of resources/languages.csv
ALTAIC = ("Turkic", "Mongolic")  # families of resources/languages.csv that form one family in the atlas


@dataclass(frozen=True)
class Feature:
    """A feature of the atlas.

    codes: number of a value -> its name. values: language -> number of its value.
    """

    id: str
    name: str
    area: str
    codes: Mapping[str, str]
    values: Mapping[str, str]


@cache
def read_features(tables: Path = TABLES) -> tuple[Feature, ...]:
    """Features of typology.csv, in the order of the file."""
    languages = read_languages(tables)
    features: dict[str, Feature] = {}
    codes: dict[str, dict[str, str]] = {}
    values: dict[str, dict[str, str]] = {}
    header = "feature,name,area,value,code,languages"
    for place, (id, name, area, number, code, codes_of_languages) in rows(tables / "typology.csv", header):
        feature = Feature(id, name, area, codes.setdefault(id, {}), values.setdefault(id, {}))
        is_new = features.setdefault(id, feature) == feature and number not in codes[id]
        check(is_new, place, f"value {number} of {id} a second time or under another name, expected once; correct it")
        codes[id][number] = code
        for language in codes_of_languages.split():
            is_new = language in languages and language not in values[id]
            check(is_new, place, f"`{language}`, expected a language of languages.csv, once in {id}; correct it")
            values[id][language] = number
    return tuple(features.values())


def wals(languages: Sequence[str], features: Sequence[Feature]) -> Iterator[tuple[str, bytes]]:
    """Yield (path, content) of the four tables, for some languages."""
    facts = {code: language_facts()[code] for code in languages}
    samples = {"Samples_100": "false", "Samples_200": "false"}
    tables: dict[str, Iterable[dict[str, str]]] = {
        "languages": (
            {name: row[fact] for name, fact in FACTS.items()}
            | samples
            | ({"Family": "Altaic"} if row["family"] in ALTAIC else {})
            for row in facts.values()
        ),
        "parameters": (
            {"ID": feature.id, "Name": feature.name, "Chapter": feature.name, "Area": feature.area} for feature in features
        ),
        "codes": (
            {"ID": f"{feature.id}-{number}", "Parameter_ID": feature.id, "Name": code, "Number": number}
            for feature in features
            for number, code in feature.codes.items()
        ),
        "values": (
            {
                "ID": f"{feature.id}-{row['wals']}",
                "Language_ID": row["wals"],
                "Parameter_ID": feature.id,
                "Value": feature.values[code],
                "Code_ID": f"{feature.id}-{feature.values[code]}",
            }
            for feature in features
            for code, row in facts.items()
            if code in feature.values
        ),
    }
    for name, table in tables.items():
        stream = io.StringIO()
        writer = csv.DictWriter(stream, COLUMNS[name].split(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
        yield f"wals-2020/cldf/{name}.csv", stream.getvalue().encode()
