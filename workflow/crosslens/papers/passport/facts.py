"""The table of a passport with its record, and fixed facts about its twelve measures."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self

import pandas as pd

from crosslens.config.base import languages_table
from crosslens.config.presets import read_yaml
from crosslens.jobs.checksums import verified
from crosslens.jobs.records import read_json
from crosslens.numerics.intervals import Interval
from crosslens.papers.passport.terms import UNKNOWN
from crosslens.reports.cells import COLUMNS, where

MEASURES = Path(__file__).with_name("measures.yaml")
TABLE_COLUMNS = (*COLUMNS, "layer", "family", "baseline_kind")
NUMBERS = ("here", "low", "high", "n")  # columns of numbers; the others are text
SUMMARY = "summary"  # name for the layer that is best on the other half of the languages
CLOSE = 0.02  # standard error of a share of 204 sentences, if it is near 0.1 or 0.9
LEAST = 8  # fewest families for an interval over families
MAJORITY = 0.5  # share of unknown subwords, or of neighbours in its own language, above which a language is named
FAMILIES, LANGUAGES = "families", "languages"  # columns of means
MEANS = (FAMILIES, LANGUAGES)  # the first that a measure has is shown

Baseline = Literal["", "shuffled pairs", "random weights", "formula"]


@dataclass(frozen=True)
class Measure:
    """Fixed facts about a measure, from measures.yaml."""

    key: str
    number: int
    title: str
    section: str
    version: int
    better: Literal["higher", "lower", "neither"]
    minimum: float | None
    maximum: float | None
    definition: str
    baselines: tuple[Baseline, ...]
    meaning: str

    @property
    def no_better(self) -> str:
        """Words for a value at its baseline (`Passport.at_baseline`)."""
        return "no different" if self.better == "neither" else "no better"


@cache
def measures() -> dict[str, Measure]:
    """The twelve measures by key, in the order of the page."""
    facts = read_yaml(MEASURES)
    return {key: Measure(key, **{**values, "baselines": tuple(values["baselines"])}) for key, values in facts.items()}


@dataclass(frozen=True)
class Passport:
    """A passport: its table and the table's record."""

    table: pd.DataFrame
    record: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a passport from NAME.csv and its record NAME.csv.json."""
        texts = {name: str for name in TABLE_COLUMNS if name not in NUMBERS}
        missing = {name: [""] for name in NUMBERS}
        table = pd.read_csv(verified(path), dtype=texts, keep_default_na=False, na_values=missing)
        return cls(table, read_json(path.with_name(f"{path.name}.json")))

    @property
    def facts(self) -> dict[str, Any]:
        """Facts from the record: corpus, encoder, versions, digests and times."""
        facts: dict[str, Any] = self.record["passport"]
        return facts

    @property
    def encoder(self) -> dict[str, Any]:
        """Facts about the encoder; unknown ones are None."""
        facts: dict[str, Any] = self.facts["encoder"]
        return facts

    @property
    def id(self) -> str:
        """Id of the encoder on the hub, or else its name here."""
        return str(self.encoder["id"] or self.facts["name"])

    @property
    def depth(self) -> int:
        """Number of the last layer; layer 0 is the embedding output."""
        return int(self.encoder["layers"])

    def rows(self, key: str, definition: str | None = None, baseline: Baseline = "") -> pd.DataFrame:
        """Rows of a measure. definition: None for the one that the page shows first; baseline: "" for the encoder itself."""
        return where(self.table, metric=key, definition=definition or measures()[key].definition, baseline_kind=baseline)

    def value(
        self, key: str, layer: str, definition: str | None = None, baseline: Baseline = "", column: str | None = None
    ) -> Interval | None:
        """A value with its interval; None if it was not measured.

        column: a language; None: the mean over families or, without one, over languages. key, definition, baseline: see `rows`.
        """
        curve = self.curve(key, definition, baseline, column)
        return Interval(*curve.loc[layer]) if layer in curve.index else None

    def curve(
        self, key: str, definition: str | None = None, baseline: Baseline = "", column: str | None = None
    ) -> pd.DataFrame:  # fmt: skip
        """Value, low and high by layer, which may be "" or "summary". Arguments: see `value`."""
        rows = self.rows(key, definition, baseline)
        columns = [column] if column else [name for name in MEANS if (rows["column"] == name).any()][:1]
        rows = rows[rows["column"].isin(columns)].set_index("layer").rename(columns={"here": "value"})
        return rows.loc[rows["value"].notna(), ["value", "low", "high"]].astype(float)

    def languages(self, key: str, layer: str, definition: str | None = None) -> pd.DataFrame:
        """Value (column `here`) and family of each language at a layer, by language code."""
        rows = where(self.rows(key, definition), layer=layer)
        rows = rows[~rows["column"].isin(MEANS) & rows["here"].notna()]
        return rows.set_index("column")[["here", "family"]]

    def baseline(self, measure: Measure, layer: str) -> tuple[Baseline, Interval | None]:
        """Kind and value of a measure's highest baseline, or of the first one if lower is better; "" and None without one."""
        baselines = {kind: value for kind in measure.baselines if (value := self.value(measure.key, layer, baseline=kind))}
        if not baselines:
            return "", None
        kind = next(iter(baselines)) if measure.better == "lower" else max(baselines, key=lambda kind: baselines[kind].value)
        return kind, baselines[kind]

    def at_baseline(self, measure: Measure, layer: str) -> bool:
        """Whether a measure is indistinguishable from its baseline, or worse.

        A baseline is distinguishable if it is outside the interval or, without an interval, further than CLOSE from the value.
        """
        value, (_, baseline) = self.value(measure.key, layer), self.baseline(measure, layer)
        if value is None or baseline is None:
            return False
        low, high = (value.low, value.high) if value.low == value.low else (value.value - CLOSE, value.value + CLOSE)
        gain = {"higher": value.value - baseline.value, "lower": baseline.value - value.value, "neither": 0.0}[measure.better]
        return low <= baseline.value <= high or gain < 0

    def premium_too_small(self) -> bool:
        """Whether unknown subwords shorten the texts of some languages, for example if an unknown word becomes one subword.

        A tokenizer that writes unknown characters as bytes makes texts longer instead; their premium exceeds that of bytes.
        """
        shares = self.languages("premium", "", UNKNOWN)["here"]
        premium, bytes_premium = (self.rows("premium", baseline=kind).set_index("column")["here"] for kind in ("", "formula"))
        mostly_unknown = shares[shares > MAJORITY].index
        return bool((premium.reindex(mostly_unknown) < bytes_premium.reindex(mostly_unknown)).any())

    def last(self, key: str) -> str:
        """The layer whose value a table shows: the last one, or "" for a measure that has no layers."""
        return str(self.depth) if (self.rows(key)["layer"] == str(self.depth)).any() else ""


def name_of(language: str) -> str:
    """Name of a language, or its code if the table of languages does not have it."""
    return languages_table().get(language, {}).get("name", language)
