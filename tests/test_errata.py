"""The numbers of docs/errata.md: those of cells are checked by a table, those of code and arithmetic are computed here."""

import shutil
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from crosslens.commands.documents import errata
from crosslens.config.labels import UPOS
from crosslens.jobs.errors import DataError
from crosslens.measures.shared.cka import cka
from crosslens.numerics.f1 import chunk_counts, chunk_types, macro_f1, overall
from crosslens.papers import KEYS
from scipy.stats import t
from sklearn.metrics import v_measure_score
from study import edit

ROOT = Path(__file__).parents[1]
CONFIG = yaml.safe_load((ROOT / "config.yaml").read_text("utf-8"))
LANGUAGES = CONFIG["corpora"]["wikipedia"]["languages"]


def chunks_of_independent_errors(words, right, texts=400):
    """Macro F1 in percent of chunks of languages where so many percent of the words of each text are right."""
    k = len(LANGUAGES)
    gold, sentences = np.repeat(np.arange(k), words * texts), np.repeat(np.arange(k * texts), words)
    generator = np.random.default_rng(right)
    wrong = generator.random(len(gold)) >= right / 100
    predicted = np.where(wrong, (gold + generator.integers(1, k, len(gold))) % k, gold)
    return 100 * float(macro_f1(overall(chunk_counts(gold, predicted, sentences, k * texts, LANGUAGES)), "true"))


def v_by_chance(points, classes, clusters, draws=20):
    """V-measure in percent of random clusters, for classes of equal size."""
    generator, truth = np.random.default_rng(0), np.arange(points) % classes
    return 100 * np.mean([v_measure_score(truth, generator.integers(clusters, size=points)) for _ in range(draws)])


def v_of_random_genera():
    draws = np.random.default_rng(0).integers(25, size=(100, 2, 90))
    return np.mean([v_measure_score(genera, clusters) for genera, clusters in draws])


def rank_of_densray(languages):
    """Rank of the sum over pairs of languages of the outer products of the differences of their means."""
    means = np.random.default_rng(0).normal(size=(languages, 50))
    differences = np.array([first - second for first, second in combinations(means, 2)])
    return np.linalg.matrix_rank(differences.T @ differences)


def p_of(rho, n):
    return 2 * t.sf(rho * np.sqrt((n - 2) / (1 - rho**2)), n - 2)


def significant_r(n):
    """The least correlation of n languages with p < 0.05."""
    quantile = t.ppf(0.975, n - 2)
    return quantile / np.sqrt(n - 2 + quantile**2)


def similarity(definition):
    """CKA of independent Gaussian states of 1,000 pairs."""
    x, y = np.random.default_rng(0).normal(size=(2, 1000, 768))
    return cka(x, y, definition)


def starts_beyond_the_rank():
    """Percentages of the windows of 10 to 100 of 768 coordinates that start at the rank, 103, or beyond."""
    return [100 * (768 - x - max(103, x)) / (768 - 2 * x) for x in range(10, 101)]


def means_of_groups():
    """Differences of the printed means over all languages in table 6 of liang2021 from those of their groups, by weight."""
    cells = pd.read_csv(ROOT / "resources/published/liang2021.csv").query("item == 'table6'")
    table = cells.pivot(index="row", columns="column", values="value").astype(float)
    numbers = {("Single", "PoS"): (1, 32), ("Multi", "PoS"): (3, 30), ("Single", "NER"): (1, 39), ("Multi", "NER"): (3, 37)}
    for (sources, task), weights in numbers.items():
        rows = table[table.index.str.startswith(sources)]
        means = np.average(rows[[f"{task} Train", f"{task} Zero-S."]], axis=1, weights=weights)
        yield from zip(means, rows[f"{task} All"], strict=True)


def notes(paper, pattern):
    """Number of cells of our copy with a note."""
    return pd.read_csv(ROOT / f"resources/published/{paper}.csv")["note"].str.contains(pattern, na=False).sum()


MODELS = CONFIG["papers"]["liang2021"]["models"]
LOWEST = 33 * np.log(33)
COMPUTED = [  # paper, number as a remark has it, computed
    *(("tanti2021", text, lambda right=right: chunks_of_independent_errors(30, right))
      for text, right in (("59", 99), ("10", 95), ("1.4", 90), ("0.0", 80))),
    ("tanti2021", "33", lambda: len(LANGUAGES)),
    ("tanti2021", "15", lambda: len({*chunk_types(LANGUAGES)})),
    ("tanti2021", "16", lambda: len({*chunk_types(UPOS)})),
    ("tanti2021", "115.4", lambda: LOWEST),
    ("tanti2021", "3.50", lambda: np.log(33)),
    ("tanti2021", "14", lambda: len(CONFIG["corpora"]["xnli"]["languages"])),
    ("tanti2021", "2,250", lambda: 15 * 3 * 50),
    ("tanti2021", "3.1", lambda: v_by_chance(5013, 33, 33)),
    ("tanti2021", "4.9", lambda: v_by_chance(3300, 33, 33)),
    ("tanti2021", "3.4", lambda: v_by_chance(2100, 14, 33)),
    ("muller2021", "0.057", lambda: p_of(0.47, 17)),
    ("muller2021", "0.077", lambda: p_of(0.47, 15)),
    ("muller2021", "0.43", lambda: similarity("as_printed")),
    ("muller2021", "0.84", lambda: similarity("released_kernel")),
    ("muller2021", "0.00", lambda: similarity("debiased")),
    ("muller2021", "0.0208", lambda: 1 / np.sqrt(3 * 768)),
    ("muller2021", "0.0104", lambda: 1 / np.sqrt(3 * 3072)),
    ("muller2021", "32", lambda: notes("muller2021", "OCR|doubtful|restored")),
    ("muller2021", "8", lambda: notes("muller2021", "restored")),
    *(("liang2021", text, lambda n=n: rank_of_densray(n)) for text, n in (("1", 2), ("4", 5), ("19", 20))),
    ("liang2021", "88", lambda: min(starts_beyond_the_rank())),
    ("liang2021", "99", lambda: max(starts_beyond_the_rank())),
    ("liang2021", "0.57", v_of_random_genera),
    ("liang2021", "17", lambda: sum(abs(mean - printed) <= 0.1 + 1e-9 for mean, printed in means_of_groups())),
    ("liang2021", "0.06", lambda: 12 * MODELS["ldar"]["weight"]),
    ("liang2021", "0.08", lambda: len(MODELS["ldar_1-4"]["layers"]) * MODELS["ldar_1-4"]["weight"]),
    ("wu2019", "0.75", lambda: significant_r(7)),
    ("wu2019", "0.95", lambda: significant_r(4)),
    ("liu2020", "25", lambda: notes("liu2020", "^doubtful row label")),
]  # fmt: skip


@pytest.mark.parametrize(("paper", "text", "compute"), COMPUTED)
def test_numbers_of_code_and_arithmetic(paper, text, compute):
    part = (ROOT / errata.PAGE).read_text("utf-8").partition(f"\n## {paper}")[2].partition("\n## ")[0]
    digits = len(text.partition(".")[2])
    assert text in part and float(compute()) == pytest.approx(float(text.replace(",", "")), abs=0.5 * 10**-digits + 1e-9)


def test_numbers_of_cells():
    errata.check(ROOT)
    assert {paper for paper, _, _ in errata.checks(ROOT)} <= {*KEYS} and len([*errata.checks(ROOT)]) > 115


def test_a_number_that_its_cells_do_not_give_is_named(tmp_path):
    for name in ("docs/results", "resources"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / errata.PAGE, tmp_path / errata.PAGE)
    edit(tmp_path / errata.CHECKS, ("mean: 0.29, t: 1.1}", "mean: 0.29, t: 1.2}"))
    edit(tmp_path / errata.PAGE, ("+0.50 (2.1)", "+0.50 (2.7)"))
    edit(tmp_path / "resources/published/wu2019.csv", ("figure1c,Lay 3,en,F1,91.9", "figure1c,Lay 3,en,F1,81.9"))
    with pytest.raises(DataError) as caught:
        errata.check(tmp_path)
    gains = "liang2021: Most of L-DAR's gains are within the spread across languages"
    assert str(caught.value).split("\n") == [
        f"resources/errata.yaml: {gains}: expected 1.05747, which ['table2', 'L-DAR'] give, found 1.2",
        f"docs/errata.md: {gains}: expected 2.1 in the remark, found none",
        "resources/errata.yaml: wu2019: Two averages are truncated, not rounded: expected 72.36, which ['figure1c', 'Lay 3'] "
        "give, found 74.36",
    ]
