"""muller2021: rank correlation of transfer with similarity over target languages (table 4, figure 3; section 4.3).

gap(t) = score(English on English) - score(English on t), so rho(gap, CKA) = -rho(score, CKA) over the same languages; all
values here are rho(score, CKA), the sign of the print. n counts targets that have a score and a CKA with English.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd

from crosslens.measures.cka import DEFINITIONS
from crosslens.papers.muller2021.layout import METRICS, PRETRAINED, REF, Study, recipe_name

LEAST = 5  # languages; the ranks of four agree wholly, or are reversed, by chance in a twelfth of all cases
EXACT = 7  # languages up to which all permutations are counted, 5,040
SHUFFLES = 9_999


@dataclass(frozen=True)
class Correlation:
    """Spearman's rho, its 95 % bootstrap interval over languages and two-sided permutation p; nan and a remark if undefined.

    Ranks that agree wholly agree in every resample: such an interval has no width, and is nan.
    """

    rho: float
    low: float
    high: float
    p: float
    n: int
    remark: str = ""


def spearman(x: np.ndarray, y: np.ndarray, draws: int = 2000, seed: int = 0) -> Correlation:
    """Rank correlation of x and y, both (n,). Resamples in which one of them is constant have no rho and are left out."""
    n = len(x)
    if n < LEAST:
        return Correlation(np.nan, np.nan, np.nan, np.nan, n, f"undefined: {n} languages, at least {LEAST} needed")
    for name, values in (("scores", x), ("similarities", y)):
        if np.ptp(values) == 0:
            return Correlation(np.nan, np.nan, np.nan, np.nan, n, f"undefined: all {name} are equal")
    generator = np.random.default_rng(seed)
    rho = float(_rho(x[None], y[None])[0])
    chosen = generator.integers(n, size=(draws, n))
    low, high = np.nanpercentile(_rho(x[chosen], y[chosen]), [2.5, 97.5])
    remark = ""
    if abs(rho) > 1 - 1e-12:
        low, high, remark = np.nan, np.nan, "no interval: |rho| is 1 in every resample"
    if n <= EXACT:
        shuffled = np.array(list(permutations(y)))
    else:
        # The pairing as it is counts as one of the shuffles, so that p is never 0.
        shuffled = np.vstack([y, generator.permuted(np.tile(y, (SHUFFLES, 1)), axis=1)])
    extreme = np.abs(_rho(np.broadcast_to(x, shuffled.shape), shuffled)) >= abs(rho) - 1e-12
    return Correlation(rho, float(low), float(high), float(extreme.mean()), n, remark)


def _rho(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Spearman's rho of each row, ties sharing their mean rank: (m, n), (m, n) -> (m,); nan for a constant row."""
    a, b = (pd.DataFrame(values).rank(axis=1).to_numpy() for values in (x, y))  # scipy.stats takes half a second to import
    a, b = (ranks - ranks.mean(axis=1, keepdims=True) for ranks in (a, b))
    scale = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    rho: np.ndarray = np.divide((a * b).sum(axis=1), scale, out=np.full(len(a), np.nan), where=scale > 0)
    return rho


def holm(p: np.ndarray) -> np.ndarray:
    """P values (m,) corrected for m tests (Holm 1979); nan stays nan and is no test."""
    adjusted = np.full(len(p), np.nan)
    order = np.argsort(p)[: np.isfinite(p).sum()]  # nan sorts last
    steps = np.arange(len(order), 0, -1) * p[order]
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted


def correlations(records: pd.DataFrame, tasks: Iterable[str], study: Study) -> pd.DataFrame:
    """Table 4's correlations by task, model and definition of CKA, over targets and with English itself (`source`).

    Similarity is the mean over layers 1 to L. p_holm: Holm over the tasks and models of a definition and choice of languages,
    which are the printed six. seeds: that the scores are means of.
    """
    lines = []
    for task in tasks:
        scores, seeds = _scores(records, task, study)
        for recipe, model in ((recipe_name(task, "en", REF), "fine-tuned"), (PRETRAINED, "pretrained")):
            for definition in DEFINITIONS:
                layers = _similarities(records, definition, recipe)
                similarity = layers.drop(columns=0, errors="ignore").mean(axis=1, skipna=False)
                for source in (False, True):
                    found = spearman(*_paired(scores, similarity, source))
                    place = {"task": task, "model": model, "definition": definition, "source": source, "seeds": seeds}
                    lines.append(place | vars(found))
    table = pd.DataFrame(lines, columns=["task", "model", "definition", "source", "seeds", *Correlation.__dataclass_fields__])
    table["p_holm"] = table.groupby(["definition", "source"])["p"].transform(lambda p: holm(p.to_numpy()))
    return table


def spearman_by_layer(scores: pd.DataFrame, task: str, study: Study, *, definition: str, recipe: str) -> pd.DataFrame:
    """Figure 3: rho(score, CKA) at each layer, 0 (embedding output) to L; columns layer, rho, low, high, n.

    scores: the paper's records, similarities included, by the mean over seeds; definition: of CKA; recipe: the encoder whose
    states CKA compares, whichever was scored.
    """
    of_task, _ = _scores(scores, task, study)
    layers = _similarities(scores, definition, recipe)
    lines = [{"layer": layer} | vars(spearman(*_paired(of_task, layers[layer], False))) for layer in layers.columns]
    return pd.DataFrame(lines, columns=["layer", "rho", "low", "high", "n"])


def _scores(records: pd.DataFrame, task: str, study: Study) -> tuple[pd.Series, int]:
    """Score of each language, mean over the seeds of training on English, and how many seeds."""
    chosen = (records["measure"] == "score") & (records["recipe"] == recipe_name(task, "en", REF))
    chosen &= (records["split"] == "test") & (records["definition"] == METRICS[task])
    found = records[chosen & (records["language"] != "all")]
    found = found[found["corpus"] == [study.text(task, language)[0] for language in found["language"]]]
    wide = found.pivot(index="language", columns="seed", values="value")
    return wide.mean(axis=1, skipna=False), wide.shape[1]


def _similarities(records: pd.DataFrame, definition: str, recipe: str) -> pd.DataFrame:
    """CKA with English, (languages, layers), mean over seeds; nan where a seed has none."""
    chosen = (records["measure"] == "cka") & (records["definition"] == definition) & (records["language"] != "en")
    chosen &= records["recipe"] == recipe
    wide = records[chosen].pivot(index="language", columns=["layer", "seed"], values="value")
    layers = sorted(set(wide.columns.get_level_values("layer")))
    return pd.DataFrame({int(layer): wide[layer].mean(axis=1, skipna=False) for layer in layers}, index=wide.index)


def _paired(scores: pd.Series, similarity: pd.Series, source: bool) -> tuple[np.ndarray, np.ndarray]:
    """Scores and similarities of the languages that have both; source: English too, whose CKA with itself is 1."""
    targets = pd.DataFrame({"score": scores.drop("en", errors="ignore"), "cka": similarity}).dropna()
    if source and "en" in scores:
        targets.loc["en"] = [scores["en"], 1.0]
    return targets["score"].to_numpy(dtype=float), targets["cka"].to_numpy(dtype=float)
