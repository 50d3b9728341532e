"""muller2021: rank correlation of transfer with similarity over target languages (table 4, figure 3; section 4.3).

Since gap(t) = score(English on English) - score(English on t), rho(gap, CKA) = -rho(score, CKA) over the same languages. All
functions here compute rho(score, CKA), which has the printed sign. n counts targets with both a score and a CKA with English.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from crosslens.measures.shared.cka import DEFINITIONS, HEADINGS, MAY_BE_PRINTED
from crosslens.numerics.correlation import Correlation, over_languages
from crosslens.papers.inputs import Inputs
from crosslens.papers.muller2021.names import METRICS, PRETRAINED, REF, TASKS, Study, recipe_name
from crosslens.reports import cells
from crosslens.reports.cells import Published, where

PRINTED = "spearman (X-gap vs X-similarity)"
CAPTION = "the printed n = 17 is impossible: English itself has gap 0 and CKA 1 by definition, and there is no Slovenian PUD"
SIGN = "a smaller gap with higher similarity gives a negative rho: the printed sign is that of rho(score, CKA)"
WITH_SOURCE = "includes English itself as a point, with gap 0 and CKA 1 by definition"


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Table 4. settings: recipes, names of the configured ones; study, the fields of Study."""
    return table_of(inputs.records(), inputs.published, settings["recipes"], Study(**settings["study"]))


def table_of(records: pd.DataFrame, published: Published, recipes: Collection[str], study: Study) -> pd.DataFrame:
    """Table 4 from the paper's records. recipes: names of the configured ones; a task without any has no lines."""
    tasks = [task for task in study.tasks if recipe_name(task, "en", REF) in recipes]
    return cells.table([*_lines(correlations(records, tasks, study), published)], "muller2021", "table4")


def _lines(by_model: pd.DataFrame, published: Published) -> Iterator[dict[str, Any]]:
    """Lines of table 4: correlations with either sign, under all definitions of CKA, with and without English.

    The printed values may use any of MAY_BE_PRINTED: the formula, the released script and the cited definition differ.

    by_model: result of `correlations`.
    """
    for correlation in by_model.to_dict("records"):
        row, head = TASKS[correlation["task"]], correlation["model"]
        definition = f"{HEADINGS[correlation['definition']]}; {'targets and English' if correlation['source'] else 'targets'}"
        value, remarks = None, [correlation["remark"]]
        if correlation["source"]:
            remarks.append(WITH_SOURCE)
        elif correlation["definition"] in MAY_BE_PRINTED:
            value = published.value("table4", row, head, PRINTED)
            remarks += [published.note("table4", row, head, PRINTED), CAPTION]
        counts = {"n": correlation["n"], "seeds": correlation["seeds"]}
        # The gap is a constant minus the score, so its correlation has the opposite sign.
        for metric, sign in (("rho(gap, CKA)", -1), ("rho(score, CKA)", 1)):
            low, high = (correlation["low"], correlation["high"])[::sign]
            numbers = counts | cells.estimate(sign * correlation["r"], sign * low, sign * high, 3)
            signs = [SIGN] if sign < 0 and value is not None else []
            line = cells.line(row, head, metric, definition, numbers, value, [*remarks, *signs], digits=3)
            # A difference from a printed value of the opposite sign is meaningless.
            yield line if sign > 0 else line | {"difference": None}
        yield cells.line(row, head, "p of rho", definition, counts | {"here": cells.rounded(correlation["p"], 4)})


def correlations(records: pd.DataFrame, tasks: Iterable[str], study: Study) -> pd.DataFrame:
    """The correlations of table 4, a row for each task, model, definition of CKA and `source` (whether English is a point).

    Similarity is the mean over layers 1 to L. The column `seeds` is the number of seeds over which scores are averaged.
    """
    lines = []
    for task in tasks:
        scores, seeds = _scores(records, task, study)
        for recipe, model in ((recipe_name(task, "en", REF), "fine-tuned"), (PRETRAINED, "pretrained")):
            for definition in DEFINITIONS:
                layers = _similarities(records, definition, recipe)
                similarity = layers.drop(columns=0, errors="ignore").mean(axis=1, skipna=False)
                for source in (False, True):
                    correlation = over_languages(*_paired(scores, similarity, source, study), ranks=True)
                    place = {"task": task, "model": model, "definition": definition, "source": source, "seeds": seeds}
                    lines.append(place | vars(correlation))
    return pd.DataFrame(lines, columns=["task", "model", "definition", "source", "seeds", *Correlation.__dataclass_fields__])


def spearman_by_layer(records: pd.DataFrame, task: str, study: Study, *, definition: str, recipe: str) -> pd.DataFrame:
    """rho(score, CKA) at each layer, from 0 (embedding output) to L, for figure 3; columns layer, r, low, high, n.

    records: the paper's scores and similarities.
    definition: definition of CKA.
    recipe: encoder whose hidden states CKA compares, which may differ from the scored one.
    """
    scores, _ = _scores(records, task, study)
    layers = _similarities(records, definition, recipe)
    by_layer = [over_languages(*_paired(scores, layers[layer], False, study), ranks=True) for layer in layers.columns]
    lines = [{"layer": layer} | vars(correlation) for layer, correlation in zip(layers.columns, by_layer, strict=True)]
    return pd.DataFrame(lines, columns=["layer", "r", "low", "high", "n"])


def _scores(records: pd.DataFrame, task: str, study: Study) -> tuple[pd.Series, int]:
    """Score of each language after training on English, mean over seeds, (n_languages,), and the number of seeds."""
    recipe = recipe_name(task, "en", REF)
    rows = where(records, measure="score", recipe=recipe, split="test", definition=METRICS[task])
    rows = rows[rows["language"] != "all"]
    rows = rows[rows["corpus"] == [study.text(task, language)[0] for language in rows["language"]]]
    wide = rows.pivot(index="language", columns="seed", values="value")
    return wide.mean(axis=1, skipna=False), wide.shape[1]


def _similarities(records: pd.DataFrame, definition: str, recipe: str) -> pd.DataFrame:
    """CKA with English, mean over seeds, (n_languages, n_layers); nan where any seed has no value."""
    rows = where(records, measure="cka", definition=definition, recipe=recipe)
    wide = rows[rows["language"] != "en"].pivot(index="language", columns=["layer", "seed"], values="value")
    layers = sorted(set(wide.columns.get_level_values("layer")))
    return pd.DataFrame({int(layer): wide[layer].mean(axis=1, skipna=False) for layer in layers}, index=wide.index)


def _paired(
    scores: pd.Series, similarity: pd.Series, source: bool, study: Study
) -> tuple[np.ndarray, np.ndarray, list[str]]:  # fmt: skip
    """Scores and similarities, each (n,), and families of the languages that have both.

    source: whether to include English, with a CKA of 1.
    """
    targets = pd.DataFrame({"score": scores.drop("en", errors="ignore"), "cka": similarity}).dropna()
    if source and "en" in scores:
        targets.loc["en"] = [scores["en"], 1.0]
    families = [study.families[language] for language in targets.index]
    return targets["score"].to_numpy(dtype=float), targets["cka"].to_numpy(dtype=float), families
