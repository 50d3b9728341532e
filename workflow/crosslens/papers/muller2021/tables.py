"""muller2021: tables 1, 2 and 5 to 8, scores of training runs; table 3 is in hyperparameters.py, table 4 in correlation.py."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from crosslens.jobs.records import read_json
from crosslens.numerics.definitions import CUT_WORDS, LAS_SEEN, LAS_WITH_SUBTYPES, UNSEEN_RELATIONS
from crosslens.papers.inputs import Inputs
from crosslens.papers.muller2021.names import (
    ALL,
    BY_LANGUAGE,
    LANGUAGES,
    METRICS,
    PRINTED_LAYERS,
    REF,
    TASKS,
    Study,
    column,
    layer_sets,
    printed_column,
    recipe_name,
)
from crosslens.papers.muller2021.rows import Row, rows
from crosslens.reports import cells
from crosslens.reports.cells import Published

DEVIATIONS = "std across seeds (caption)"
SHARES = {
    CUT_WORDS: "{:,} of {:,} words cut away, not scored",
    UNSEEN_RELATIONS: "{:,} of {:,} words have a relation that the training data lack",
}
FROM_SCRATCH = "the published model was trained from scratch (caption)"


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Table `name`.

    settings: recipes, names of the configured ones; study, the fields of Study; further, re-initialised sets not in print.
    """
    assert inputs.tokenizer is not None
    layers = read_json(inputs.tokenizer / "config.json")["num_hidden_layers"]
    study, records = Study(**settings["study"]), inputs.records()
    return table_of(name, records, inputs.published, settings["recipes"], study, layers, settings["further"])


def table_of(
    name: str,
    records: pd.DataFrame,
    published: Published,
    recipes: Collection[str],
    study: Study,
    layers: int = PRINTED_LAYERS,
    further: Sequence[str] = (),
) -> pd.DataFrame:
    """Table `name`: a line for each cell of the printed rows, and of our own rows if they have scores.

    Scores are in percent, differences from REF in points and paired by seed.

    recipes: names of the configured recipes; others have no lines.
    layers: number of the encoder's layers.
    further: sets of re-initialised layers in addition to the printed ones, such as 1-4.
    """
    scores, lines = _Scores(records), []
    for row in rows(name, study):
        for layer_set in dict.fromkeys([*layer_sets(name), *further]):
            if recipe_name(row.task, row.source, layer_set) in recipes:
                line = _line(name, row, layer_set, scores, published, study, layers)
                if row.printed or line["seeds"]:
                    lines.append(line)
    deviations = _deviations(lines, published) if name == "table5" else ()
    return cells.table([*lines, *deviations], "muller2021", name)


def _line(
    name: str, row: Row, layer_set: str, scores: "_Scores", published: Published, study: Study, layers: int
) -> dict[str, Any]:  # fmt: skip
    paired = name != "table5" and layer_set != REF
    numbers, reason, languages = scores.cell(row, layer_set, paired)
    value, note = _printed(published, name, row, layer_set) if row.printed else (None, "")
    remarks = [row.remark, reason, *scores.shares_of(row, layer_set, languages), *_scope(row, languages, study), note]
    if value is not None and layer_set != REF and layers != PRINTED_LAYERS:
        remarks.append(f"encoder with {layers} layers, {PRINTED_LAYERS} in the paper")
    if value is not None and layer_set == ALL:
        remarks.append(FROM_SCRATCH)
    if row.printed and row.mean_over_targets:
        remarks.append(_mean_remark(published, row, layer_set, value))
    metric, head = METRICS[row.task], column(name, layer_set)
    return cells.line(row.name, head, metric, row.definition or metric, numbers, value, remarks, chance=None if paired else 0)


def _scope(row: Row, languages: Sequence[str], study: Study) -> list[str]:
    """Remarks on the languages over which an X row is averaged; none for other rows."""
    if not (row.mean_over_targets and languages):
        return []
    scope = f"of the {len(row.texts)} {'printed' if row.printed else 'configured'} targets"
    return [f"mean of {len(languages)} {scope}", study.apart(row.task, languages)]


class _Scores:
    """Scores in the records, and the shares that remarks give, by recipe and test set."""

    def __init__(self, records: pd.DataFrame) -> None:
        records = records[records["language"] != "all"]
        scored = records[(records["measure"] == "score") & records["value"].notna()]
        scored = scored.assign(text=[*map("/".join, zip(scored["corpus"], scored["language"], strict=True))])
        self.scored = dict(list(scored.groupby(["recipe", "split", "definition"])))
        self.shares = dict(list(records[records["definition"].isin(SHARES)].groupby(["definition", "recipe", "split"])))

    def cell(self, row: Row, layer_set: str, paired: bool) -> tuple[dict[str, Any], str, list[str]]:
        """Numbers of a cell, the reason if it has none, and the scored languages. paired: whether to subtract REF, by seed."""
        values = self._texts(row, layer_set, "value")
        reason = f"no score on {'any target' if row.mean_over_targets else '/'.join(*row.texts)}" if row.texts else ""
        if paired and values.size:
            values, reason = values - self._texts(row, REF, "value"), "no seed in common with REF"
        # A test set that any seed lacks is omitted for all seeds, so that all are averaged over the same test sets.
        values = values.dropna(how="all").dropna(axis=1)
        if not values.size:
            return dict(cells.EMPTY), reason, []
        runs = pd.DataFrame({"value": values.mean(axis=1)})
        runs["n"] = self._texts(row, layer_set, "n").loc[values.index, values.columns].sum(axis=1)
        if not paired and not row.mean_over_targets:  # a score on one test set has an interval of its own
            for bound in ("low", "high"):
                runs[bound] = self._texts(row, layer_set, bound).loc[values.index].to_numpy(dtype=float)
        return cells.cell(runs, score=not paired), "", [str(name).rpartition("/")[2] for name in values]

    def shares_of(self, row: Row, layer_set: str, languages: Collection[str]) -> Iterator[str]:
        """Remarks on words cut away from the scored test sets and, where it lowers the score, on words of unseen relations."""
        texts = {text for text in row.texts if text[1] in languages}
        lowered = (CUT_WORDS, UNSEEN_RELATIONS) if row.definition in (LAS_SEEN, LAS_WITH_SUBTYPES) else (CUT_WORDS,)
        for definition in lowered:
            records = self.shares.get((definition, recipe_name(row.task, row.source, layer_set), row.split))
            if records is not None:
                in_texts = [text in texts for text in zip(records["corpus"], records["language"], strict=True)]
                yield cells.count_remark(records[in_texts].drop_duplicates(["corpus", "language"]), SHARES[definition])

    def _texts(self, row: Row, layer_set: str, column: str) -> pd.DataFrame:
        """A column of the records of a row and layer set, (n_seeds, n_texts); empty if there are no records."""
        key = (recipe_name(row.task, row.source, layer_set), row.split, row.definition or METRICS[row.task])
        if key not in self.scored:
            return pd.DataFrame()
        records = self.scored[key]
        seeds, seed_numbers = np.unique(records["seed"], return_inverse=True)
        texts, text_numbers = np.unique(records["text"].to_numpy(str), return_inverse=True)
        values = np.full((len(seeds), len(texts)), np.nan)
        values[seed_numbers, text_numbers] = records[column]  # ten times as fast as a pivot; there are a thousand cells
        names = [name for name in map("/".join, row.texts) if name in texts]
        return pd.DataFrame(values, seeds, texts)[names]


def _printed(published: Published, name: str, row: Row, layer_set: str) -> tuple[float | None, str]:
    """Printed value and note of a cell. An X row missing from tables 6 to 8 takes the value printed in table 1."""
    place = name, row.printed, printed_column(name, layer_set), METRICS[row.task]
    if published.get(*place) is None and row.mean_over_targets:
        place = "table1", row.printed.removesuffix(" (MEAN)"), printed_column("table1", layer_set), METRICS[row.task]
        value = published.value(*place)
        return value, "the published value is printed in table 1 only" if value is not None else ""
    note = published.note(*place)
    return published.value(*place), "" if note.startswith("block ") else note  # such notes concern the layout of table 2


def _mean_remark(published: Published, row: Row, layer_set: str, value: float | None) -> str:
    """Remark if a printed X is not the mean of the printed targets (0.01 is rounding) or cannot be checked."""
    item, source, names = BY_LANGUAGE[row.task], row.source.upper(), [LANGUAGES[language] for _, language in row.texts]
    head, metric = printed_column(item, layer_set), METRICS[row.task]
    targets = [published.get(item, f"{source}->{language}", head, metric) for language in names]
    values = [target.value for target in targets if target is not None]
    if value is None or not values:
        return ""
    if np.isnan(values).any():
        return f"the printed X cannot be checked: {np.isnan(values).sum()} of its {len(values)} targets missing"
    mean = float(np.mean(values))
    if round(abs(mean - value), 4) <= 0.01:
        return ""
    return f"the printed X is {value:.2f}, the mean of the {len(values)} printed targets {mean:.2f}"


def _deviations(lines: Sequence[Mapping[str, Any]], published: Published) -> Iterator[dict[str, Any]]:
    """Lines for the caption of table 5: min, median and max of our sd over seeds in its printed cells, except column ALL.

    The printed ALL was trained from scratch.
    """
    printed = [line for line in lines if line["published"] is not None and line["column"] != column("table5", ALL)]
    for task, metric in METRICS.items():
        lines_of_task = [line for line in printed if line["definition"] == metric]
        if not lines_of_task:
            continue
        deviations = [line["sd"] for line in lines_of_task if line["sd"] is not None]
        seeds = max((line["seeds"] for line in lines_of_task if line["seeds"]), default=None)
        remark = f"over {len(deviations)} cells" if deviations else "no deviation with one seed"
        for head, reduced in (("min", np.min), ("median", np.median), ("max", np.max)):
            numbers = {"here": cells.rounded(reduced(deviations)) if deviations else None, "seeds": seeds}
            value = published.value("table5", TASKS[task], head, DEVIATIONS)
            yield cells.line(TASKS[task], head, DEVIATIONS, DEVIATIONS, numbers, value, remark)
