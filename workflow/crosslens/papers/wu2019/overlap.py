"""wu2019: subword overlap between English training data and each test set (section 5.3, figure 3).

The table also has its correlations with the printed scores of zero-shot transfer.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from crosslens.encoding.tokens.counts import Counts, Vocabulary
from crosslens.jobs import parquet
from crosslens.numerics.correlation import Correlation, over_languages, partial
from crosslens.papers.inputs import Inputs
from crosslens.papers.wu2019.names import TASKS
from crosslens.papers.wu2019.scores import printed_scores
from crosslens.reports import cells
from crosslens.reports.cells import rounded

ALL, WORDS = "all subwords", "without digits, punctuation and single characters"
MARKS = ("##", "▁", "Ġ")  # prefixes that mark a subword's position in its word
TYPE, TOKEN = "type overlap", "token overlap"
EVERY = "every task"  # column of numbers that depend on the language alone
FAMILY, FERTILITY, TYPOLOGY = "family and script", "family, script and fertility", "typological distance"

Scores = Mapping[str, float]
"""Language -> score."""


class Texts(NamedTuple):
    """The configured texts whose subwords are compared.

    source: code of the training language.
    trains: task -> corpus of its training data.
    tests: task -> language -> corpus of its test set.
    languages: code -> name, family, genus and script.
    """

    source: str
    trains: Mapping[str, str]
    tests: Mapping[str, Mapping[str, str]]
    languages: Mapping[str, Mapping[str, str]]

    def families(self, languages: Iterable[str]) -> list[str]:
        """Family of each language; an isolate is one of its own."""
        return [self.languages[language]["family"] or language for language in languages]


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """The table `overlap`: overlaps, typological distances, then correlations. settings: the fields of Texts."""
    texts = Texts(**settings)
    measured = overlaps(inputs, texts)
    distances = _distances(inputs, texts)
    lines = [*_measured(measured)]
    for language, (share, features) in distances.items():
        remark = "" if features else "WALS has no feature of both"
        lines.append(cells.line(language, EVERY, TYPOLOGY, "", {"here": rounded(share, 3), "n": features}, None, remark))
    for task in texts.tests:
        for metric, scores in printed_scores(inputs.published, task).items():
            lines += _correlations(cells.where(measured, task=task), metric, scores, distances, texts)
    return cells.table(lines, "wu2019", name)


def overlaps(inputs: Inputs, texts: Texts) -> pd.DataFrame:
    """Overlaps by task, language and choice of subwords (`definition`).

    Columns: type overlap and token overlap, fractions; types and tokens, the test set's numbers of distinct and of all chosen
    subwords. For the whole test set: fertility, words, all (subwords), unknown (subwords) and cut_texts (truncated texts).
    """
    assert inputs.tokenizer is not None
    vocabulary = Vocabulary.read(inputs.tokenizer)
    chosen = {ALL: np.full(len(vocabulary.subwords), True), WORDS: of_words(vocabulary.subwords)}

    @cache
    def counts(corpus: str, language: str, split: str) -> Counts:
        return Counts.read(inputs.tokens[corpus] / f"{language}.{split}.parquet", vocabulary)

    rows = []
    for task, tests in texts.tests.items():
        train = counts(texts.trains[task], texts.source, "train").known
        for language, corpus in tests.items():
            test = counts(corpus, language, "test")
            of_whole_text: dict[str, Any] = {
                "fertility": test.subwords / test.words, "words": test.words, "all": test.subwords, "unknown": test.unknown,
                "cut_texts": test.cut_texts,
            }  # fmt: skip
            for definition, mask in chosen.items():
                of_test = np.where(mask, test.known, 0)
                values = {TYPE: by_type(train, of_test), TOKEN: by_token(train, of_test)}
                sizes = {"types": int((of_test > 0).sum()), "tokens": int(of_test.sum())}
                rows.append({"task": task, "language": language, "definition": definition} | values | sizes | of_whole_text)
    return pd.DataFrame(rows)


def by_type(train: np.ndarray, test: np.ndarray) -> float:
    """Share of the test set's subword types that occur in the training data; nan for an empty test set.

    train, test: (subwords,), counts over a vocabulary without special subwords.
    """
    types = test > 0
    return float((types & (train > 0)).sum() / types.sum()) if types.any() else np.nan


def by_token(train: np.ndarray, test: np.ndarray) -> float:
    """Share of the test set's subword tokens whose type occurs in the training data; nan for an empty test set.

    train, test: as for `by_type`.
    """
    return float(test[train > 0].sum() / test.sum()) if test.any() else np.nan


def of_words(subwords: Sequence[str]) -> np.ndarray:
    """Whether each subword has, without its mark, a letter and at least two characters, (subwords,) bool."""
    return np.array([_of_word(subword) for subword in subwords], dtype=bool)


def _of_word(subword: str) -> bool:
    text = next((subword.removeprefix(mark) for mark in MARKS if subword.startswith(mark)), subword)
    return len(text) > 1 and any(unicodedata.category(character)[0] == "L" for character in text)


def _distances(inputs: Inputs, texts: Texts) -> dict[str, tuple[float, int]]:
    """Language -> its typological distance from the source, a fraction, and the number of features compared."""
    if inputs.typology is None:
        return {}
    values: dict[str, dict[str, int]] = {}
    for row in parquet.read(inputs.typology, columns=["language", "feature", "value"]).to_pylist():
        values.setdefault(row["language"], {})[row["feature"]] = row["value"]
    source = values.get(texts.source, {})
    return {language: distance(values.get(language, {}), source) for language in texts.languages}


def distance(source: Mapping[str, int], target: Mapping[str, int]) -> tuple[float, int]:
    """Share of features that differ among those with a value in both languages, and the number of the latter.

    source, target: feature -> value. The share is nan without such a feature.
    """
    common = source.keys() & target.keys()
    return (sum(source[name] != target[name] for name in common) / len(common) if common else np.nan), len(common)


def _measured(measured: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Lines for each task and language, metric by metric."""
    whole = cells.where(measured, definition=ALL)
    for definition in (ALL, WORDS):
        for metric, size in ((TYPE, "types"), (TOKEN, "tokens")):
            for row in cells.where(measured, definition=definition).to_dict("records"):
                yield _line(row, metric, definition, 100 * row[metric], row[size])
    for row in whole.to_dict("records"):
        cut = f"{row['cut_texts']} texts cut" if row["cut_texts"] else ""
        yield _line(row, "fertility", "", row["fertility"], row["words"], cut)
    for row in whole.to_dict("records"):
        yield _line(row, "unknown subwords", "", 100 * row["unknown"] / row["all"], row["all"])


def _line(row: Mapping[Any, Any], metric: str, definition: str, value: float, n: int, remark: str = "") -> dict[str, Any]:
    return cells.line(row["language"], TASKS[row["task"]], metric, definition, {"here": rounded(value), "n": n}, None, remark)


def _correlations(
    measured: pd.DataFrame, metric: str, scores: Scores, distances: Mapping[str, tuple[float, int]], texts: Texts
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Lines with the correlations of a task's overlaps and printed scores over languages, without and with the source.

    measured: rows of `overlaps` for the task; metric: name of the printed score.
    """
    column = TASKS[measured["task"].iloc[0]]
    languages_of_both = [language for language in measured["language"].unique() if language in scores]
    for source in (False, True):
        languages = [language for language in languages_of_both if source or language != texts.source]
        over = "with English" if source else "without English"
        y = np.array([scores[language] for language in languages])
        for definition in (ALL, WORDS):
            rows = cells.where(measured, definition=definition).set_index("language").loc[languages]
            for overlap in (TYPE, TOKEN):
                x, row = rows[overlap].to_numpy(dtype=float), f"{overlap}, {metric}"
                is_finite = np.isfinite(x)
                relatives = texts.families(rows.index[is_finite])
                for name, ranks in (("Pearson's r", False), ("Spearman's rho", True)):
                    plain = over_languages(x[is_finite], y[is_finite], relatives, ranks=ranks)
                    yield from _lines(row, column, name, f"{definition}; {over}", plain)
                for constants, covariates in _covariates(rows, distances, texts).items() if definition == ALL else ():
                    all_finite = is_finite & np.isfinite(covariates).all(axis=1)
                    correlation = partial(x[all_finite], y[all_finite], covariates[all_finite])
                    yield from _lines(row, column, "partial r", f"{definition}; {over}; given {constants}", correlation)


def _covariates(
    rows: pd.DataFrame, distances: Mapping[str, tuple[float, int]], texts: Texts
) -> dict[str, np.ndarray]:  # fmt: skip
    """Name of properties to hold constant in partial correlations -> their values, (n_languages, n_covariates)."""
    facts = [texts.languages[language] for language in rows.index]
    family = np.array(
        [[row["family"] == "Indo-European", row["genus"] == "Germanic", row["script"] == "Latn"] for row in facts], float
    )
    family = family.reshape(len(facts), 3)
    covariates = {FAMILY: family, FERTILITY: np.column_stack([family, rows["fertility"]])}
    return covariates | ({TYPOLOGY: np.array([distances[language][0] for language in rows.index])[:, None]} if distances else {})


def _lines(row: str, column: str, metric: str, definition: str, correlation: Correlation) -> Sequence[dict[str, Any]]:
    """Lines of a correlation and of its p."""
    numbers = cells.estimate(correlation.r, correlation.low, correlation.high, 3) | {"n": correlation.n}
    p = {"here": rounded(correlation.p, 6), "n": correlation.n}
    return [
        cells.line(row, column, metric, definition, numbers, None, correlation.remark),
        cells.line(row, column, f"p of {metric}", definition, p, None, correlation.remark),
    ]
