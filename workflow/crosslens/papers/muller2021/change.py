"""muller2021: the table `change`, on how fine-tuning on English changes each layer. The paper gives no numbers for this."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from crosslens.measures.shared.change_terms import LOWER_HALF, STATES, TRAINED, WEIGHTS
from crosslens.measures.shared.cka import HEADINGS, OURS
from crosslens.numerics.definitions import PROBE_WITHIN
from crosslens.papers.inputs import Inputs
from crosslens.papers.muller2021.names import PRETRAINED, REF, TASKS, UNTRAINED, Study, recipe_name
from crosslens.reports import cells
from crosslens.reports.cells import where

PROBE = "accuracy of language identification"
CONTROLS = {PRETRAINED: "pretrained", UNTRAINED: "untrained"}


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """The table `change`. settings: study, the fields of Study."""
    study, records = Study(**settings["study"]), inputs.records()
    tuned = {recipe_name(task, "en", REF): TASKS[task] for task in study.tasks}
    lines = [line for recipe, head in tuned.items() for line in _changes(where(records, recipe=recipe), head, study)]
    lines += [line for recipe, head in (tuned | CONTROLS).items() for line in _probes(where(records, recipe=recipe), head, study)]
    return cells.table(lines, "muller2021", name)


def _changes(records: pd.DataFrame, head: str, study: Study) -> Iterator[dict[str, Any]]:
    """Lines for a task, named `head`: CKA of states before and after fine-tuning, and the change of weights, by layer.

    CKA is given by language and as their mean, also if only the lower half of the encoder is changed.
    """
    languages = study.languages[study.parallel]
    for definition, words in ((TRAINED, HEADINGS[OURS]), (LOWER_HALF, f"{HEADINGS[OURS]}; {LOWER_HALF}")):
        states = where(records, measure=STATES, definition=definition)
        for layer, runs in states.groupby("layer"):
            rows = {f"{head}, {study.name(language)}": where(runs, language=language) for language in languages}
            rows[f"{head}, mean of languages"] = cells.mean_by_seed(runs, len(languages))
            for row, values in rows.items():
                numbers = cells.cell(values, scale=1, digits=3, score=False)
                yield cells.line(row, f"layer {layer:g}", "CKA", words, numbers, digits=3)
    for layer, runs in where(records, measure=WEIGHTS).groupby("layer"):
        yield cells.line(head, f"layer {layer:g}", WEIGHTS, "", cells.cell(runs, score=False))


def _probes(records: pd.DataFrame, head: str, study: Study) -> Iterator[dict[str, Any]]:
    """Lines for an encoder, named `head`: accuracy by layer of a probe that identifies the language of sentences."""
    chance = 100 / len(study.languages[study.parallel])
    for layer, runs in where(records, measure="probe").groupby("layer"):
        yield cells.line(
            head, f"layer {layer:g}", PROBE, PROBE_WITHIN, cells.cell(runs), remark=cells.unconverged(runs), chance=chance
        )
