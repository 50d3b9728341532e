"""muller2021: tables 1, 2 and 4 to 8; table 3 has hyperparameters and is made by the search."""

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd

from crosslens.measures.cka import HEADINGS, MAY_BE_PRINTED
from crosslens.measures.f1 import CUT_WORDS
from crosslens.measures.intervals import mean_interval
from crosslens.papers.muller2021.correlation import correlations
from crosslens.papers.muller2021.items import (
    ALL,
    BY_LANGUAGE,
    LANGUAGES,
    METRICS,
    PRINTED_LAYERS,
    REF,
    TASKS,
    Row,
    Study,
    column,
    layer_sets,
    printed_column,
    recipe_name,
    rows,
)

COLUMNS = ("task", "metric", "row", "column", "here", "sd", "low", "high", "seeds", "published", "difference", "remark")
CORRELATION_COLUMNS = (*COLUMNS[:3], "languages", "column", "here", "low", "high", "n", "p", "p_holm", *COLUMNS[8:])
PRINTED_CORRELATION = "spearman (X-gap vs X-similarity)"
DEVIATIONS = "std across seeds (caption)"
CAPTION = "17 cannot be: English itself has gap 0 and CKA 1 by definition, and there is no Slovenian PUD"
SIGN = "less gap with more similarity is a negative rho: the printed sign is that of rho(score, CKA)"
SOURCE_TOO = "English itself is a point: gap 0 and CKA 1 by definition"
FROM_SCRATCH = "the published model was trained from scratch (caption)"


def table(
    name: str,
    scores: pd.DataFrame,
    published: pd.DataFrame,
    recipes: Collection[str],
    study: Study,
    layers: int = PRINTED_LAYERS,
    further: Sequence[str] = (),
) -> pd.DataFrame:
    """A table, one line a printed cell and then our own: COLUMNS, scores in percent and differences to REF in points.

    scores: the paper's records, of one encoder with `layers` blocks; published: resources/published/muller2021.csv; recipes:
    those that were configured, others have no lines; study: what was scored; further: sets of blocks beside the printed ones,
    such as 1-4.
    Differences are paired by seed. sd: over seeds. low, high: 95 % interval, t over seeds; of one seed's score on one text the
    bootstrap over its sentences, otherwise none. Table 4 has instead of sd: languages, n, p, p_holm (see correlation.py).
    """
    if name == "table4":
        return _correlations(scores, _Published(published), recipes, study)
    found, printed = _Scores(scores), _Published(published)
    lines = []
    for row in rows(name, study):
        for of_set in dict.fromkeys([*layer_sets(name), *further]):
            if recipe_name(row.task, row.source, of_set) in recipes:
                line = _line(name, row, of_set, found, printed, study, layers)
                if row.printed or line["seeds"]:
                    lines.append(line)
    if name == "table5":
        lines += _deviations(lines, printed)
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _line(name: str, row: Row, of_set: str, found: "_Scores", printed: "_Published", study: Study, layers: int) -> dict[str, Any]:
    numbers, remark, scored = found.cell(row, of_set, paired=name != "table5" and of_set != REF)
    value, remarks = None, [row.remark, remark, found.lost(row, of_set, scored)]
    if row.mean_over_targets and scored:
        which = f"of the {len(row.texts)} {'printed' if row.printed else 'configured'} targets"
        remarks += [f"mean of {len(scored)} {which}", study.apart(row.task, scored)]
    if row.printed:
        value, note = printed.cell(name, row, of_set)
        remarks.append(note)
        if value is not None and of_set != REF and layers != PRINTED_LAYERS:
            remarks.append(f"of {layers} layers here, of {PRINTED_LAYERS} in print")
        if value is not None and of_set == ALL:
            remarks.append(FROM_SCRATCH)
        if row.mean_over_targets:
            remarks.append(printed.mean_remark(row, of_set, value))
    return {
        "task": TASKS[row.task],
        "metric": row.definition or METRICS[row.task],
        "row": row.name,
        "column": column(name, of_set),
        **numbers,
        "published": value,
        "difference": _difference(numbers["here"], value),
        "remark": "; ".join(filter(None, remarks)),
    }


class _Scores:
    """Values of the records by recipe and text: a frame (seeds, texts) each."""

    def __init__(self, records: pd.DataFrame) -> None:
        known = records[(records["measure"] == "score") & records["value"].notna()]
        self.wide = known.pivot(
            index=["recipe", "split", "definition", "seed"], columns=["corpus", "language"], values=["value", "low", "high"]
        ).sort_index()
        self.cut = records[records["definition"] == CUT_WORDS]
        self.keys = {(recipe, split, definition) for recipe, split, definition, _ in self.wide.index}

    def lost(self, row: Row, of_set: str, languages: Collection[str]) -> str:
        """How many words of the scored texts were cut away, where any were."""
        texts = {text for text in row.texts if text[1] in languages}
        chosen = np.array([text in texts for text in zip(self.cut["corpus"], self.cut["language"], strict=True)], bool)
        chosen &= (self.cut["recipe"] == recipe_name(row.task, row.source, of_set)) & (self.cut["split"] == row.split)
        here = self.cut[chosen].drop_duplicates(["corpus", "language"])
        lost = round((here["value"] * here["n"]).sum())
        return f"{lost:,} of {here['n'].sum():,} words cut away, not scored" if lost else ""

    def of(self, row: Row, of_set: str, value: str = "value") -> pd.DataFrame:
        key = (recipe_name(row.task, row.source, of_set), row.split, row.definition or METRICS[row.task])
        if key not in self.keys:
            return pd.DataFrame()
        texts = [(value, *text) for text in row.texts if (value, *text) in self.wide.columns]
        return self.wide.loc[key, texts]

    def cell(self, row: Row, of_set: str, paired: bool) -> tuple[dict[str, Any], str, list[str]]:
        """here, sd, low, high and seeds; why there is no value; the scored languages. paired: the difference to REF."""
        values = self.of(row, of_set)
        reason = f"no score on {'any target' if row.mean_over_targets else '/'.join(*row.texts)}" if row.texts else ""
        if paired and values.size:
            values, reason = values - self.of(row, REF), "no seed in common with REF"
        # A text that a seed lacks is left out of all seeds, so that they are means over the same texts.
        values = values.dropna(how="all").dropna(axis=1)
        seeds = len(values) if values.size else 0
        numbers: dict[str, Any] = {"here": None, "sd": None, "low": None, "high": None, "seeds": seeds}
        if not seeds:
            return numbers, reason, []
        runs = 100 * values.mean(axis=1).to_numpy()
        numbers["here"] = _round(runs.mean())
        if seeds > 1:
            _, low, high = mean_interval(runs)
            numbers |= {"sd": _round(np.std(runs, ddof=1)), "low": _round(low), "high": _round(high)}
        elif not paired and not row.mean_over_targets:
            for bound in ("low", "high"):
                numbers[bound] = _round(100 * self.of(row, of_set, bound).loc[values.index].to_numpy(dtype=float).item())
        return numbers, "", list(values.columns.get_level_values("language"))


class _Published:
    """The printed cells by item, row, metric and column; a lost cell is nan."""

    def __init__(self, published: pd.DataFrame) -> None:
        cells = published[published["item"].str.fullmatch("table[1245678]")]
        self.cells: dict[tuple[str, ...], tuple[float, str]] = {
            (item, row, metric, head): (float(value), "" if pd.isna(note) else note)
            for item, row, metric, head, value, note in zip(
                *(cells[part] for part in ("item", "row", "metric", "column", "value", "note")), strict=True
            )
        }

    def cell(self, name: str, row: Row, of_set: str) -> tuple[float | None, str]:
        """Value and note; an X row that one of tables 6 to 8 lost is printed in table 1 too."""
        key = (row.printed, METRICS[row.task])
        value, note = self.cells.get((name, *key, printed_column(name, of_set)), (None, ""))
        if value is None and row.mean_over_targets:
            first = (row.printed.removesuffix(" (MEAN)"), METRICS[row.task])
            value, _ = self.cells.get(("table1", *first, printed_column("table1", of_set)), (None, ""))
            note = "the published value stands in table 1 only" if value is not None else ""
        if re.match("block ", note):  # of table 2's layout
            note = ""
        return (None, note) if value is None or np.isnan(value) else (value, note)

    def mean_remark(self, row: Row, of_set: str, value: float | None) -> str:
        """Whether a printed X is the mean of the printed targets; rounding explains 0.01."""
        item, source, names = BY_LANGUAGE[row.task], row.name.split("->")[0], [LANGUAGES[language] for _, language in row.texts]
        targets = [(item, f"{source}->{language}", METRICS[row.task], printed_column(item, of_set)) for language in names]
        values = [self.cells[key][0] for key in targets if key in self.cells]
        if value is None or not values:
            return ""
        if np.isnan(values).any():
            return f"the printed X cannot be checked: {np.isnan(values).sum()} of its {len(values)} targets is lost"
        mean = float(np.mean(values))
        if round(abs(mean - value), 4) <= 0.01:
            return ""
        return f"the printed X is {value:.2f}, the mean of the {len(values)} printed targets {mean:.2f}"


def _deviations(lines: Sequence[dict[str, Any]], printed: _Published) -> list[dict[str, Any]]:
    """Table 5's caption: least, median and largest sd of its cells."""
    found = []
    for task in dict.fromkeys(line["task"] for line in lines):
        # The caption speaks of the printed cells, whose ALL is from scratch.
        of_task = [line for line in lines if line["task"] == task and line["published"] is not None]
        cells = [line for line in of_task if line["column"] != column("table5", ALL)]
        sds = [line["sd"] for line in cells if line["sd"] is not None]
        seeds = max((line["seeds"] for line in cells), default=0)
        for head, of in (("min", np.min), ("median", np.median), ("max", np.max)):
            here = _round(of(sds)) if sds else None
            value, _ = printed.cells.get(("table5", task, DEVIATIONS, head), (None, ""))
            found.append(
                {"task": task, "metric": DEVIATIONS, "row": task, "column": head, "here": here,
                 "seeds": seeds, "published": value, "difference": _difference(here, value),
                 "remark": f"over {len(sds)} cells" if sds else "one seed has no deviation"}
            )  # fmt: skip
    return found


def _correlations(records: pd.DataFrame, printed: _Published, recipes: Collection[str], study: Study) -> pd.DataFrame:
    """Table 4: both signs, all definitions of CKA, without English and with it.

    Print may be of any of MAY_BE_PRINTED: the formula, the released script and the cited definition are three.
    """
    tasks = [task for task in study.tasks if recipe_name(task, "en", REF) in recipes]
    lines = []
    for found in correlations(records, tasks, study).to_dict("records"):
        remarks = [found["remark"]]
        value, note = None, ""
        if found["source"]:
            remarks.append(SOURCE_TOO)
        elif found["definition"] in MAY_BE_PRINTED:
            key = ("table4", TASKS[found["task"]], PRINTED_CORRELATION, found["model"])
            value, note = printed.cells.get(key, (None, ""))
            remarks += [note, CAPTION]
        rho, low, high = (None if np.isnan(found[part]) else found[part] for part in ("rho", "low", "high"))
        # The gap is a constant minus the score, so its correlation is the score's with the other sign.
        for metric, sign in (("rho(gap, CKA)", -1), ("rho(score, CKA)", 1)):
            bounds = (low, high) if sign > 0 else (high, low)
            here, *interval = (None if number is None else _round(sign * number, 3) for number in (rho, *bounds))
            lines.append(
                {
                    "task": TASKS[found["task"]],
                    "metric": metric,
                    "row": HEADINGS[found["definition"]],
                    "column": found["model"],
                    "languages": "targets and English" if found["source"] else "targets",
                    "here": here,
                    "low": interval[0],
                    "high": interval[1],
                    "n": found["n"],
                    "p": _round(found["p"], 4),
                    "p_holm": _round(found["p_holm"], 4),
                    "seeds": found["seeds"],
                    "published": value,
                    "difference": _difference(here, value) if sign > 0 else None,
                    "remark": "; ".join(filter(None, [*remarks, SIGN if sign < 0 and value is not None else ""])),
                }
            )
    return pd.DataFrame(lines, columns=list(CORRELATION_COLUMNS))


def _round(number: float, digits: int = 2) -> float | None:
    """None for nan; zero has no sign."""
    return None if np.isnan(number) else round(float(number), digits) + 0.0


def _difference(here: float | None, published: float | None) -> float | None:
    return None if here is None or published is None else _round(here - published)
