"""Ledgers of claims: each claim once, and everything that a ledger selects is written by a run of the published scale."""

from functools import cache
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from crosslens.reports.claims.contrasts import Contrasts
from crosslens.reports.claims.evidence import Evidence, Missing
from crosslens.reports.claims.ledger import read_ledger
from crosslens.reports.claims.plan import Plan
from crosslens.reports.claims.verdicts import decide
from crosslens.storage.records import RECORDS
from documents.reports import OVERLAYS, configuration
from synthetic import PUBLISHED, Scale

ROOT = Path(__file__).parents[1]
PAPERS = ROOT / "workflow/crosslens/papers"
CLAIMS = {"tanti2021": 37, "wu2019": 37, "liu2020": 37, "muller2021": 33, "liang2021": 37}
SCALES = {"published": [], "demo": OVERLAYS["demo"]}
WITHOUT_SYNTHETIC = "no synthetic records"


class SyntheticEvidence(Evidence):
    """What a run of a scale would leave: synthetic tables, and records of two seeds."""

    def __init__(self, scale: Scale, settings: dict[str, Any], published: pd.DataFrame) -> None:
        super().__init__(settings, published)
        self.scale = scale
        self.records = {measure: {name: [f"{measure} {name}"] for name in recipes} for measure, recipes in self.records.items()}
        self.frames: dict[str, pd.DataFrame] = {}
        self._table, self._measure = cache(self._synthetic_table), cache(self._synthetic_records)

    def _exists(self, table: str) -> bool:
        return bool(self.tables[table])

    def _synthetic_table(self, file: str) -> pd.DataFrame:
        paper, name, _ = self.scale.studies.items[Path(file).with_suffix("").relative_to("results").as_posix()]
        try:
            cells = self.scale.table(paper.key, name, cut=0.0)
        except NotImplementedError as error:
            raise Missing(f"{WITHOUT_SYNTHETIC}: {error}") from None
        return pd.read_csv(StringIO(cells.to_csv(index=False)))

    def _synthetic_records(self, files: tuple[str, ...]) -> pd.DataFrame:
        return pd.concat([self._of_file(file) for file in files], ignore_index=True)

    def _of_file(self, file: str) -> pd.DataFrame:
        if file not in self.frames:
            measure, name = file.split(" ")
            paper, recipe = self.scale.studies.recipe(name)
            common = {"paper": paper.key, "encoder": recipe.encoder, "task": recipe.task, "recipe": name}
            settings = self.scale.studies.settings(measure, name)
            try:
                rows = [
                    common | {"seed": seed} | row | {"value": row["value"] + seed / 1000}
                    for seed in self.scale.studies.seeds(name)[:2]
                    for row in self.scale._records(measure.partition("@")[0], recipe, settings, 0.0)
                ]
            except NotImplementedError as error:
                raise Missing(f"{WITHOUT_SYNTHETIC}: {error}") from None
            self.frames[file] = pa.Table.from_pylist(rows, schema=RECORDS).to_pandas()
        return self.frames[file]


@pytest.fixture(scope="module")
def scales(tmp_path_factory):
    folder = tmp_path_factory.mktemp("synthetic")
    return {name: Scale(configuration(ROOT, *overlays), configuration(ROOT), folder / name) for name, overlays in SCALES.items()}


def decided(scale: Scale, key: str) -> dict[str, Any]:
    """Decisions on the claims of a paper by synthetic numbers."""
    paper, plan = scale.papers[key], Plan(scale.about, "results")
    ledger = read_ledger(PAPERS / key / "claims.yaml", plan.names(paper))
    settings = plan.settings(paper, ledger, [])["evidence"]
    module = f"crosslens.papers.{key}.claims"
    evidence = SyntheticEvidence(scale, settings, pd.read_csv(PUBLISHED / f"{key}.csv"))
    return decide(ledger, Contrasts(ledger, evidence, lambda name: getattr(import_module(module), name)))


@pytest.mark.parametrize("paper", CLAIMS)
def test_a_ledger_has_each_claim_once_and_every_function_is_there(paper):
    claims = read_ledger(PAPERS / paper / "claims.yaml").claims
    assert [*claims] == [f"c{number:02d}" for number in range(1, CLAIMS[paper] + 1)]
    effects = [effect for claim in claims.values() for effect in (*claim.effect, *claim.control)]
    functions = [effect.function for effect in effects if effect.function]
    assert all(callable(getattr(import_module(f"crosslens.papers.{paper}.claims"), name)) for name in functions)


@pytest.mark.long
@pytest.mark.parametrize("paper", CLAIMS)
def test_all_that_a_ledger_selects_is_written_at_the_published_scale(scales, paper):
    """Tables and records are synthetic: what is missing here is selected by a name that the code does not write."""
    reasons = {
        key: decision.reason
        for key, decision in decided(scales["published"], paper).items()
        if decision.claim.effect
        and (decision.verdict == "not measured" or "not measured" in decision.reason or decision.left_out)
        and WITHOUT_SYNTHETIC not in decision.reason
    }  # fmt: skip
    assert reasons == ABSENT.get(paper, {})


ABSENT: dict[str, dict[str, str]] = {
    "tanti2021": {"c30": "tanti2021/pos/several_languages: no such training at this scale"},
}
"""Paper -> claim -> what the published scale has nothing of."""


@pytest.mark.parametrize("paper", ["tanti2021", *(pytest.param(paper, marks=pytest.mark.long) for paper in [*CLAIMS][1:])])
def test_a_scale_lacks_trainings_and_tables_but_no_numbers_of_those_that_it_has(scales, paper):
    for key, decision in decided(scales["demo"], paper).items():
        if decision.claim.effect and decision.verdict == "not measured" and WITHOUT_SYNTHETIC not in decision.reason:
            assert "at this scale" in decision.reason or (paper, key) in BEYOND_THE_DEMO, (key, decision.reason)


BEYOND_THE_DEMO = {("muller2021", "c29"), ("liu2020", "c27")}
"""Claims about several seeds, or about layers that an encoder of two blocks does not have."""


def test_numbers_of_directions_and_layers_of_a_scale(scales):
    layers = {"last": 12, "layers": [*range(1, 13)], "lower": [1, 2, 3, 4], "upper": [9, 10, 11, 12]}
    names = {scale: of.papers["liang2021"].names(of.config) for scale, of in scales.items()}
    assert names["published"] == layers | {
        "encoder": "mbert", "languages": 104, "band": 10, "typology": 20, "rank": 100, "tenth": 10, "fifth": 20,
        "double": 200, "removed": 100,
    }  # fmt: skip
    assert names["demo"] == layers | {
        "encoder": "e5-small", "languages": 12, "band": 4, "typology": 8, "rank": 11, "tenth": 1, "fifth": 2,
        "double": 24, "removed": 11,
    }  # fmt: skip
