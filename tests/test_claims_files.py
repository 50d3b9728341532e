"""Ledgers of claims: each claim once, and everything that a claims file selects is written by a run of the published preset."""

from functools import cache
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from crosslens.commands.documents.reports import OVERLAYS, configuration
from crosslens.jobs.records import RECORDS
from crosslens.reports.claims.claims_file import CORRELATION, read_claims_file
from crosslens.reports.claims.evidence import Evidence, Missing
from crosslens.reports.claims.inputs import Plan
from crosslens.reports.claims.table import encoder
from crosslens.reports.claims.verdicts import decide
from synthetic_records import PUBLISHED, Preset

ROOT = Path(__file__).parents[1]
PAPERS = ROOT / "workflow/crosslens/papers"
CLAIMS = {"tanti2021": 37, "wu2019": 37, "liu2020": 37, "muller2021": 33, "liang2021": 37}
PRESETS = {"published": [], "demo": OVERLAYS["demo"]}
WITHOUT_SYNTHETIC = "no synthetic records"


class SyntheticEvidence(Evidence):
    """What a run of a preset would leave: synthetic tables, and records of two seeds."""

    def __init__(self, preset: Preset, settings: dict[str, Any], published: pd.DataFrame) -> None:
        super().__init__(settings, published)
        self.preset = preset
        self.records = {measure: {name: [f"{measure} {name}"] for name in recipes} for measure, recipes in self.records.items()}
        self.frames: dict[str, pd.DataFrame] = {}
        self._table, self._measure = cache(self._synthetic_table), cache(self._synthetic_records)

    def _exists(self, table: str) -> bool:
        return bool(self.tables[table])

    def _synthetic_table(self, file: str) -> pd.DataFrame:
        paper, name, _ = self.preset.studies.items[Path(file).with_suffix("").relative_to(self.preset.config.results).as_posix()]
        try:
            cells = self.preset.table(paper.key, name, cut=0.0)
        except NotImplementedError as error:
            raise Missing(f"{WITHOUT_SYNTHETIC}: {error}") from None
        return pd.read_csv(StringIO(cells.to_csv(index=False)))

    def _synthetic_records(self, files: tuple[str, ...]) -> pd.DataFrame:
        return pd.concat([self._of_file(file) for file in files], ignore_index=True)

    def _of_file(self, file: str) -> pd.DataFrame:
        if file not in self.frames:
            measure, name = file.split(" ")
            paper, recipe = self.preset.studies.recipe(name)
            common = {"paper": paper.key, "encoder": recipe.encoder, "task": recipe.task, "recipe": name}
            settings = self.preset.studies.settings(measure, name)
            try:
                rows = [
                    common | {"seed": seed} | row | {"value": row["value"] + seed / 1000}
                    for seed in self.preset.studies.seeds(name)[:2]
                    for row in self.preset._records(measure.partition("@")[0], recipe, settings, 0.0)
                ]
            except NotImplementedError as error:
                raise Missing(f"{WITHOUT_SYNTHETIC}: {error}") from None
            self.frames[file] = pa.Table.from_pylist(rows, schema=RECORDS).to_pandas()
        return self.frames[file]


@pytest.fixture(scope="module")
def presets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("synthetic")
    return {
        name: Preset(configuration(ROOT, *overlays), configuration(ROOT), folder / name) for name, overlays in PRESETS.items()
    }


def decided(preset: Preset, key: str) -> dict[str, Any]:
    """Decisions on the claims of a paper by synthetic numbers."""
    paper, plan = preset.papers[key], Plan(preset.about)
    claims_file = read_claims_file(PAPERS / key / "claims.yaml", plan.names(paper))
    settings = plan.settings(paper, claims_file, [])["evidence"]
    module = f"crosslens.papers.{key}.claims"
    evidence = SyntheticEvidence(preset, settings, pd.read_csv(PUBLISHED / f"{key}.csv"))
    return decide(claims_file, evidence, lambda name: getattr(import_module(module), name))


@pytest.mark.parametrize("paper", CLAIMS)
def test_a_ledger_has_each_claim_once_and_every_function_is_there(paper):
    claims = read_claims_file(PAPERS / paper / "claims.yaml").claims
    assert [key for key in claims if key[-1].isdigit()] == [f"c{number:02d}" for number in range(1, CLAIMS[paper] + 1)]
    effects = [effect for claim in claims.values() for effect in (*claim.effect, *claim.control)]
    functions = {effect.function for effect in effects} - {None, CORRELATION}
    assert all(callable(getattr(import_module(f"crosslens.papers.{paper}.claims"), name)) for name in functions)


def test_claims_about_counts_of_subwords_name_the_vocabulary(presets):
    preset = presets["published"]
    plan, paper = Plan(preset.about), preset.papers["wu2019"]
    claims_file = read_claims_file(PAPERS / "wu2019/claims.yaml", plan.names(paper))
    counted = SimpleNamespace(in_print=False, parts=[SimpleNamespace(recipes=())], claim=claims_file.claims["c31"])
    settings = plan.settings(paper, claims_file, [])
    assert encoder(counted, settings) == "the vocabulary of bert-base-multilingual-cased"
    counted.parts[0].recipes = ("wu2019/pos/en/full",)
    assert encoder(counted, settings | {"encoders": {"wu2019/pos/en/full": "mBERT"}}) == "mBERT"


@pytest.mark.long
@pytest.mark.parametrize("paper", CLAIMS)
def test_all_that_a_ledger_selects_is_written_at_the_published_scale(presets, paper):
    """Tables and records are synthetic: what is missing here is selected by a name that the code does not write."""
    reasons = {
        key: decision.reason
        for key, decision in decided(presets["published"], paper).items()
        if decision.claim.effect
        and (decision.verdict == "not measured" or "not measured" in decision.reason or decision.left_out)
        and WITHOUT_SYNTHETIC not in decision.reason
    }  # fmt: skip
    assert reasons == ABSENT.get(paper, {})


ABSENT: dict[str, dict[str, str]] = {
    "tanti2021": {"c30": "tanti2021/pos/several_languages: this preset has no such training run"},
}
"""Paper -> claim -> what the published preset has nothing of."""


@pytest.mark.parametrize("paper", ["tanti2021", *(pytest.param(paper, marks=pytest.mark.long) for paper in [*CLAIMS][1:])])
def test_a_scale_lacks_trainings_and_tables_but_no_numbers_of_those_that_it_has(presets, paper):
    for key, decision in decided(presets["demo"], paper).items():
        if decision.claim.effect and decision.verdict == "not measured" and WITHOUT_SYNTHETIC not in decision.reason:
            assert "this preset has no" in decision.reason or (paper, key) in BEYOND_THE_DEMO, (key, decision.reason)


BEYOND_THE_DEMO = {("muller2021", "c29"), ("liu2020", "c27")}
"""Claims about several seeds, or about layers that an encoder of two blocks does not have."""


def test_numbers_of_directions_and_layers_of_a_scale(presets):
    layers = {"last": 12, "layers": [*range(1, 13)], "lower": [1, 2, 3, 4], "upper": [9, 10, 11, 12]}
    names = {preset: of.papers["liang2021"].names(of.config) for preset, of in presets.items()}
    assert names["published"] == layers | {
        "encoder": "mbert", "languages": 104, "band": 10, "typology": 20, "rank": 100, "tenth": 10, "fifth": 20,
        "double": 200, "removed": 100, "shared": 0.5,
    }  # fmt: skip
    assert names["demo"] == layers | {
        "encoder": "e5-small", "languages": 12, "band": 4, "typology": 8, "rank": 11, "tenth": 1, "fifth": 2,
        "double": 24, "removed": 11, "shared": 0.5,
    }  # fmt: skip
