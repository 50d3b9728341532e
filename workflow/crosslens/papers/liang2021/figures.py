"""liang2021: figures 1, 2, 3 and 5, scores of probes on language subspaces; and a comparison of subspace methods."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from crosslens.numerics import definitions as scores
from crosslens.numerics.windows import BAND, BEYOND, CONTIGUOUS, FIRST, FOLLOWING, SCATTERED
from crosslens.papers.captions import APPENDIX
from crosslens.papers.inputs import Inputs
from crosslens.papers.liang2021.names import METHODS
from crosslens.reports.cells import last_layer, where
from crosslens.reports.figures.curves import LAYERS, Curve, panels
from crosslens.reports.figures.style import DOTTED, GREY, Look, look

SEEDS = "Bands show the range over {} seeds; each seed has its own subspace, split of the words and random directions."
ONE_SEED = "Bands: 95 % intervals over languages, or over features of typology."


class Task(NamedTuple):
    """A row of a figure: a task that probes learn from coordinates along a subspace."""

    row: str
    measure: str  # kind of measure
    definition: str
    item: str
    control: tuple[str, str, str] | None = None  # name, definition and item of a control's scores; None: no control


TASKS = (
    Task("language\nidentification,\naccuracy", "language_identification", scores.PAIRS, "language",
         ("shuffled labels", scores.PAIRS_SHUFFLED, "language")),
    Task("the same,\nother texts,\naccuracy", "language_identification", scores.PAIRS_TEXTS, "language"),
    Task("typology,\nsame languages,\nmicro F1", "typology", scores.FEATURES, "typology",
         ("shuffled labels", scores.FEATURES_SHUFFLED, "typology")),
    Task("typology, fam-\nilies held out,\nmicro F1", "typology", scores.FEATURES_HELD_OUT, "typology"),
    Task("similarity,\nfamilies,\nV-measure", "language_similarity", scores.V_CENTRED, "family",
         ("shuffled labels", scores.V_CHANCE, "family")),
    Task("similarity,\ngenera,\nV-measure", "language_similarity", scores.V_CENTRED, "genus",
         ("shuffled labels", scores.V_CHANCE, "genus")),
)  # fmt: skip
MAIN = tuple(task for task in TASKS if task.definition != scores.PAIRS_TEXTS)
WINDOWS: Mapping[str, tuple[str, Look]] = {
    FIRST: ("first x", look(0)),
    FOLLOWING: ("next x", look(1)),
    CONTIGUOUS: ("x consecutive, random", look(2)),
    SCATTERED: ("x random", look(3)),
}


def figure(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> Figure:
    """Draw a figure from its records.

    settings: encoders, recipe -> name; untrained, recipe -> recipe with random weights; methods; compared; band, width of
    narrow windows; layer_dimensions, kind of measure -> number of coordinates.
    """  # fmt: skip
    records = inputs.records().dropna(subset=["value"])
    figure_of = {"figure1": by_dimension, "figure2": by_band, "figure3": by_layer, "figure5": of_groups, "subspaces": of_methods}
    return figure_of[name.removesuffix(APPENDIX)](records, settings)


def by_dimension(records: pd.DataFrame, settings: Mapping[str, Any]) -> Figure:
    """Draw figure 1: scores at the last layer by number of directions; a row a task, a column for each encoder and method."""
    last = last_layer(records)
    grid: dict[str, dict[str, list[Curve]]] = {}
    for task in TASKS:
        grid[task.row] = {}
        for recipe, method, column in _columns(settings):
            of_method = where(last, recipe=recipe, subspace=method)
            curves: list[Curve] = []
            for kind, (name, style) in WINDOWS.items():
                curves += _curve(_of_task(of_method, task, kind), "x", style, name)
            if task.control:
                name, definition, item = task.control
                control = where(of_method, definition=definition, item=item, window=FIRST)
                curves += _curve(control, "x", GREY, name)
            curves += _level(last, recipe, task, of_method)
            grid[task.row][column] = curves
    title = "Scores of probes by number of directions of a language subspace, last layer"
    return panels(grid, title, _note(records), ylabel="", unit="%", ylim=(0, 1), xlabel="number of directions, x")


def by_band(records: pd.DataFrame, settings: Mapping[str, Any]) -> Figure:
    """Draw figure 2: scores on narrow windows of the last layer's coordinates minus scores on as many random directions."""
    last, size = last_layer(records), settings["band"]
    controls = {SCATTERED: ("minus random ones", look(0)), BEYOND: ("minus beyond rank", look(1))}
    grid: dict[str, dict[str, list[Curve]]] = {}
    for task in MAIN:
        grid[task.row] = {}
        for recipe, method, column in _columns(settings):
            of_method = where(last, recipe=recipe, subspace=method)
            grid[task.row][column] = [
                curve
                for kind, (name, style) in controls.items()
                for curve in _curve(
                    _minus(_of_task(of_method, task, BAND), _of_task(of_method, task, kind), size), "x", style, name
                )
            ]
    title = f"Scores of probes on {size} adjacent directions of a language subspace, relative to random directions, last layer"
    note = f"Difference from the mean of several random sets of {size} directions, of all or of those beyond the subspace's rank."
    return panels(grid, title, f"{note} {_note(records)}", ylabel="", unit="points", ylim=(-0.1, 0.1),
                  xlabel="last direction of the window")  # fmt: skip


def by_layer(records: pd.DataFrame, settings: Mapping[str, Any]) -> Figure:
    """Draw figure 3: scores on the first directions of each layer; a row for each task, a column for each encoder."""
    grid: dict[str, dict[str, list[Curve]]] = {}
    for task in MAIN:
        at_dimension = records[records["x"] == settings["layer_dimensions"][task.measure]]
        row = f"{task.row}, x = {settings['layer_dimensions'][task.measure]}"
        grid[row] = {}
        for recipe, encoder in settings["encoders"].items():
            curves = []
            for number, method in enumerate(settings["methods"]):
                of_method = where(at_dimension, recipe=recipe, subspace=method)
                curves += _curve(_of_task(of_method, task, FIRST), "layer", look(number), METHODS[method])
            of_method = where(at_dimension, recipe=recipe, subspace=settings["methods"][0])
            curves += _curve(_of_task(of_method, task, SCATTERED), "layer", DOTTED, "random directions")
            control = settings["untrained"].get(recipe)
            of_control = where(at_dimension, recipe=control, subspace=settings["methods"][0])
            curves += _curve(_of_task(of_control, task, FIRST), "layer", GREY, "untrained encoder")
            grid[row][encoder] = curves
    title = "Scores of probes on the first x directions of a language subspace, by layer"
    note = f"Random directions and the untrained encoder: {METHODS[settings['methods'][0]]}. {_note(records)}"
    return panels(grid, title, note, ylabel="", unit="%", ylim=(0, 1), xlabel=LAYERS)


def of_groups(records: pd.DataFrame, settings: Mapping[str, Any]) -> Figure:
    """Draw figure 5: for each group, accuracy on two directions of its subspace minus accuracy on two beyond the rank."""
    curves: list[Curve] = []
    for number, (name, of_group) in enumerate(records.groupby("item", sort=False)):
        bands, beyond = where(of_group, window=BAND), where(of_group, window=BEYOND)
        style = look(number) if name != "random languages" else {**GREY, "marker": "x", "markersize": 3.0}
        curves += _curve(_minus(bands, beyond, 2), "x", style, str(name))
    title = "Identification of languages within groups from two adjacent directions of the group's subspace"
    note = f"Accuracy minus that of two directions beyond the subspace's rank; mean over all pairs. {_note(records)}"
    return panels({"": {"": curves}}, title, note, ylabel="difference of\naccuracies", unit="points", ylim=(0, 0.1),
                  xlabel="last direction of the window")  # fmt: skip


def of_methods(records: pd.DataFrame, settings: Mapping[str, Any]) -> Figure:
    """Draw a comparison of methods: accuracy on pairs of languages and on one against the rest, by number of directions."""
    last = last_layer(records)
    recipe = next(iter(settings["untrained"]))
    rows = {"pairwise,\naccuracy": scores.PAIRS, "one vs. rest,\naccuracy": scores.ONE_AGAINST_REST}
    grid: dict[str, dict[str, list[Curve]]] = {}
    for row, definition in rows.items():
        curves: list[Curve] = []
        for number, method in enumerate([*settings["methods"], *settings["compared"]]):
            of_method = where(last, recipe=recipe, subspace=method)
            curves += _curve(where(of_method, definition=definition, window=FIRST), "x", look(number), METHODS[method])
        of_method = where(last, recipe=recipe, subspace=settings["methods"][0])
        curves += _curve(where(of_method, definition=definition, window=SCATTERED), "x", DOTTED, "random directions")
        grid[row] = {"": curves}
    title = "Languages told apart by the first x directions of language subspaces"
    note = f"{spread(last, recipe, settings['methods'][0])} {_note(records)}".strip()
    return panels(grid, title, note, ylabel="", unit="%", ylim=(0, 1), xlabel="number of directions, x")


def spread(records: pd.DataFrame, recipe: str, method: str) -> str:
    """A sentence on accuracy's standard deviation over seeds, in points: total, of fits alone, of pairs and words alone."""
    of_method = where(records, recipe=recipe, subspace=method)
    of_method = of_method[
        (of_method["window"] == FIRST) & of_method["x"].isin(of_method[of_method["definition"] == scores.PAIRS_ONE_FIT]["x"])
    ]
    deviations = {
        definition: 100 * of_method[of_method["definition"] == definition].groupby("x")["value"].std().mean()
        for definition in (scores.PAIRS, scores.PAIRS_ONE_DRAW, scores.PAIRS_ONE_FIT)
    }
    of_all, of_fits, of_draws = deviations.values()
    if not of_all >= 0:
        return ""
    return (
        f"Standard deviation over seeds of {METHODS[method]}'s accuracy on pairs, mean over x: {of_all:.2f} points; of fits "
        f"alone {of_fits:.2f}, of pairs and words alone {of_draws:.2f}."
    )


def _columns(settings: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(recipe, method, heading) of each column."""
    return [(recipe, method, f"{encoder}, {METHODS[method]}") for recipe, encoder in settings["encoders"].items()
            for method in settings["methods"]]  # fmt: skip


def _of_task(records: pd.DataFrame, task: Task, kind: str) -> pd.DataFrame:
    """Records of a task for one kind of window."""
    return where(records, definition=task.definition, item=task.item, window=kind)


def _level(records: pd.DataFrame, recipe: str, task: Task, of_method: pd.DataFrame) -> list[Curve]:
    """A flat curve with the score of each feature's most frequent value, for the task on held-out families; otherwise none."""
    majority = where(records, recipe=recipe, definition=scores.FEATURES_MAJORITY)
    if task.definition != scores.FEATURES_HELD_OUT or majority.empty:
        return []
    by_seed = majority.groupby("seed")["value"].first()
    ends = _of_task(of_method, task, FIRST)["x"].agg(["min", "max"])
    rows = [{"x": x, "seed": seed, "value": value} for x in ends for seed, value in by_seed.items()]
    return _curve(pd.DataFrame(rows).assign(low=float("nan"), high=float("nan")), "x", DOTTED, "most frequent value")


def _minus(bands: pd.DataFrame, control: pd.DataFrame, x: int) -> pd.DataFrame:
    """Records of bands minus the control's value for the same seed, without intervals; seeds without a control are dropped.

    bands, control: records; x: number of coordinates of a band, at which the control is taken.
    """
    level = control[control["x"] == x].set_index("seed")["value"]
    differences = bands["value"] - bands["seed"].map(level)
    return bands.assign(value=differences, low=float("nan"), high=float("nan")).dropna(subset=["value"])


def _curve(records: pd.DataFrame, by: str, style: Look, name: str) -> list[Curve]:
    """A list with one curve of means over seeds, by the column `by`; empty without records."""
    return [Curve.over_seeds(records.assign(layer=records[by]), style, name)] if len(records) else []


def _note(records: pd.DataFrame) -> str:
    seeds = records["seed"].nunique()
    return SEEDS.format(seeds) if seeds > 1 else ONE_SEED
