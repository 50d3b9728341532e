"""muller2021: rank correlation of transfer with similarity over target languages (table 4, figure 3; section 4.3).

gap(t) = score(English on English) - score(English on t), so rho(gap, CKA) = -rho(score, CKA) over the same languages; all
values here are rho(score, CKA), the sign of the print. n counts targets that have a score and a CKA with English.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from crosslens.measures.cka import DEFINITIONS
from crosslens.measures.ranks import Correlation, holm, spearman
from crosslens.papers.muller2021.layout import METRICS, PRETRAINED, REF, Study, recipe_name
from crosslens.reports.cells import where


def correlations(records: pd.DataFrame, tasks: Iterable[str], study: Study) -> pd.DataFrame:
    """Table 4's correlations by task, model and definition of CKA, over targets and with English itself (`source`).

    Similarity is the mean over layers 1 to L. p_holm: Holm's correction over the tasks and models of a definition and choice of
    languages, which are the six printed values; seeds: number of seeds over which the scores are means.
    """
    lines = []
    for task in tasks:
        scores, seeds = _scores(records, task, study)
        for recipe, model in ((recipe_name(task, "en", REF), "fine-tuned"), (PRETRAINED, "pretrained")):
            for definition in DEFINITIONS:
                layers = _similarities(records, definition, recipe)
                similarity = layers.drop(columns=0, errors="ignore").mean(axis=1, skipna=False)
                for source in (False, True):
                    correlation = spearman(*_paired(scores, similarity, source))
                    place = {"task": task, "model": model, "definition": definition, "source": source, "seeds": seeds}
                    lines.append(place | vars(correlation))
    table = pd.DataFrame(lines, columns=["task", "model", "definition", "source", "seeds", *Correlation.__dataclass_fields__])
    table["p_holm"] = table.groupby(["definition", "source"])["p"].transform(lambda p: holm(p.to_numpy()))
    return table


def spearman_by_layer(records: pd.DataFrame, task: str, study: Study, *, definition: str, recipe: str) -> pd.DataFrame:
    """Figure 3: rho(score, CKA) at each layer, 0 (embedding output) to L; columns layer, rho, low, high, n.

    records: the paper's, scores and similarities; definition: of CKA; recipe: the encoder whose states CKA compares, which may
    be another than the scored one.
    """
    scores, _ = _scores(records, task, study)
    layers = _similarities(records, definition, recipe)
    lines = [{"layer": layer} | vars(spearman(*_paired(scores, layers[layer], False))) for layer in layers.columns]
    return pd.DataFrame(lines, columns=["layer", "rho", "low", "high", "n"])


def _scores(records: pd.DataFrame, task: str, study: Study) -> tuple[pd.Series, int]:
    """Score of each language, mean over the seeds of training on English, (n_languages,), and the number of seeds."""
    recipe = recipe_name(task, "en", REF)
    rows = where(records, measure="score", recipe=recipe, split="test", definition=METRICS[task])
    rows = rows[rows["language"] != "all"]
    rows = rows[rows["corpus"] == [study.text(task, language)[0] for language in rows["language"]]]
    wide = rows.pivot(index="language", columns="seed", values="value")
    return wide.mean(axis=1, skipna=False), wide.shape[1]


def _similarities(records: pd.DataFrame, definition: str, recipe: str) -> pd.DataFrame:
    """CKA with English, (languages, layers), mean over seeds; nan where a seed has none."""
    rows = where(records, measure="cka", definition=definition, recipe=recipe)
    wide = rows[rows["language"] != "en"].pivot(index="language", columns=["layer", "seed"], values="value")
    layers = sorted(set(wide.columns.get_level_values("layer")))
    return pd.DataFrame({int(layer): wide[layer].mean(axis=1, skipna=False) for layer in layers}, index=wide.index)


def _paired(scores: pd.Series, similarity: pd.Series, source: bool) -> tuple[np.ndarray, np.ndarray]:
    """Scores and similarities of the languages that have both, each (n,); source: whether English counts, whose CKA is 1."""
    targets = pd.DataFrame({"score": scores.drop("en", errors="ignore"), "cka": similarity}).dropna()
    if source and "en" in scores:
        targets.loc["en"] = [scores["en"], 1.0]
    return targets["score"].to_numpy(dtype=float), targets["cka"].to_numpy(dtype=float)
