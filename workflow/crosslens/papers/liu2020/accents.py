"""liu2020: XNLI subwords that change when letters are altered, and how far table 4 falls short of the same model in wu2019.

Both papers fine-tune mBERT on English and test it on XNLI (wu2019, table 3). If the tokenizer of a cased model is set up as for
an uncased one, it strips accents and lower-cases letters.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from crosslens.encoding.tokens.counts import Vocabulary, changed_subwords
from crosslens.numerics.correlation import over_languages
from crosslens.papers.inputs import Inputs
from crosslens.papers.liu2020.names import PAPER
from crosslens.papers.liu2020.transfer import ROWS
from crosslens.reports import cells
from crosslens.reports.cells import rounded

CHANGED, SHARE = "subwords that change", "share of subwords (percent)"
CITED, CITED_ROW = "wu2019, table 3", "Zero-shot cross-lingual transfer | mBERT"
PRINTED = "printed scores"
SHORTFALL, POINTS = "less wu2019, table 3", "difference in accuracy (points)"
CORRELATION, OVER_ALL = "Pearson's r with the share of subwords that change", "all languages"


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Build the table: lines by language, and correlations over all languages but the source.

    settings: corpus, its key; source; languages, in their order; families, by language; tokenisations: name of an alteration
    of letters -> key of its tokenisation.
    """
    changes = shares(inputs, settings["corpus"], settings["languages"], settings["tokenisations"])
    lines = [
        cells.line(CHANGED, language, SHARE, alteration, {"here": rounded(100 * number / total), "n": total})
        for alteration, counts in changes.items()
        for language, (number, total) in counts.items()
    ]
    assert inputs.cited is not None
    cited = {code: inputs.cited.value("table3", CITED_ROW, code) for code in settings["languages"]}
    lines += [cells.line(CITED, code, "accuracy", PRINTED, {}, value) for code, value in cited.items()]
    for row in ROWS.values():
        accuracies = {code: inputs.published.value("table4", row, code, "accuracy") for code in settings["languages"]}
        short = {code: accuracies[code] - cited[code] for code in accuracies if None not in (accuracies[code], cited[code])}  # type: ignore[operator]
        lines += [cells.line(row, code, "accuracy", PRINTED, {}, value) for code, value in accuracies.items()]
        lines += [
            cells.line(f"{row}, {SHORTFALL}", code, POINTS, PRINTED, {"here": rounded(value)}) for code, value in short.items()
        ]
        targets = {code: value for code, value in short.items() if code != settings["source"]}
        lines += [
            line
            for alteration, counts in changes.items()
            for line in correlations(row, alteration, targets, counts, settings["families"])
        ]
    return cells.table(lines, PAPER, name)


def shares(
    inputs: Inputs, corpus: str, languages: Sequence[str], tokenisations: Mapping[str, str]
) -> dict[str, dict[str, tuple[int, int]]]:  # fmt: skip
    """Alteration -> language -> number of test-set subwords that it changes, and number of all subwords of the test set."""
    assert inputs.tokenizer is not None
    vocabulary = Vocabulary.read(inputs.tokenizer)

    def counts(tokenisation: str, language: str) -> tuple[int, int]:
        plain, altered = (inputs.tokens[folder] / f"{language}.test.parquet" for folder in (corpus, f"{corpus}/{tokenisation}"))
        return changed_subwords(plain, altered, vocabulary)

    return {
        altered: {language: counts(tokenisation, language) for language in languages}
        for altered, tokenisation in tokenisations.items()
    }


def correlations(
    row: str, alteration: str, short: Mapping[str, float], counts: Mapping[str, tuple[int, int]],
    families: Mapping[str, str],
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Lines with the correlation over languages of the shortfall with the share of subwords that change.

    There are two: for all languages, and without the one with the largest shortfall. short: language -> accuracy less wu2019's,
    in points; counts: language -> subwords that change, all subwords; families: language -> family.
    """
    largest = min(short, key=lambda language: short[language], default="")
    for column, languages in ((OVER_ALL, list(short)), (f"without {largest}", [code for code in short if code != largest])):
        x = np.array([counts[code][0] / counts[code][1] for code in languages])
        correlation = over_languages(x, np.array([short[code] for code in languages]), [families[code] for code in languages])
        numbers = cells.estimate(correlation.r, correlation.low, correlation.high, 3) | {"n": correlation.n}
        yield cells.line(f"{row}, {SHORTFALL}", column, CORRELATION, alteration, numbers, None, correlation.remark)
