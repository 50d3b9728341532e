"""liu2020: all scores of XNLI from pretrained models (sections 3.2.2 and 3.2.3)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from crosslens.numerics.definitions import ACCURACY, CUT_TEXTS
from crosslens.papers.inputs import Inputs
from crosslens.papers.liu2020 import masked_predictions
from crosslens.papers.liu2020.names import ALL, LAST, PAPER, THIRD, UNTRAINED_MODEL, Study, nli, title
from crosslens.papers.liu2020.retrieval import BLANK, MEAN, model_name
from crosslens.reports import cells

FROZEN, WHOLE, HALF = "head on frozen states", "fine-tuned", "upper half fine-tuned"
DROP = "drop of the short window (percent)"


class Model(NamedTuple):
    """A model trained on XNLI.

    name: as in figures and tables; way: FROZEN, WHOLE or HALF; size: data size of its pretraining, empty unless it is ours.
    """

    name: str
    way: str
    recipe: str
    size: str = ""


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Build the table of each model's accuracy by language, and of the drops in figure 6. settings: study."""
    study = Study(**settings["study"])
    masked_lines = masked_predictions.lines(inputs.records("masked"), masked_predictions.of_sizes(study, list(study.sizes)))
    return table_of(name, inputs.records("classification"), study, masked_lines)


def table_of(name: str, records: pd.DataFrame, study: Study, masked_lines: Iterable[dict[str, Any]] = ()) -> pd.DataFrame:
    """Build the table of all models. records: of classification; masked_lines: from `masked_predictions.lines`."""
    scored = in_languages(records)
    languages = tested(scored, study)
    cut = records[(records["definition"] == CUT_TEXTS) & (records["split"] == "test")]
    targets = [code for code in languages if code != study.source]
    lines = [*masked_lines]
    for model in all_models(study):
        rows, lost = cells.where(scored, recipe=model.recipe), cells.where(cut, recipe=model.recipe)
        for code in languages:
            share = 100 * lost[lost["language"] == code]["value"].max() if code in set(lost["language"]) else 0
            remark = f"{share:.2g} % of texts cut" if share else ""
            numbers = cells.cell(cells.where(rows, language=code))
            lines.append(cells.line(model.name, code, ACCURACY, model.way, numbers, None, remark, chance=THIRD))
        mean = cells.cell(mean_by_seed(rows, targets))
        lines.append(cells.line(model.name, MEAN, ACCURACY, model.way, mean, chance=THIRD))
    for drop, long, short in window_pairs(study):
        for column, codes in [*((code, [code]) for code in languages), (MEAN, targets)]:
            numbers = cells.cell(loss(scored, long, short, codes), 1, score=False)
            lines.append(cells.line(drop, column, DROP, tuned(study), numbers))
    return cells.table(lines, PAPER, name)


def all_models(study: Study, *, tagged: bool = True) -> Iterator[Model]:
    """Yield all models in order. tagged: whether names include the data size, as in tables."""
    for model in study.models:
        size = model.partition("/")[2]
        name = model_name(model) if tagged else title(model)
        yield Model(name, FROZEN, nli(model, features=True), size)
        if model in study.berts():
            yield Model(name, tuned(study), nli(model), size)
    yield Model(study.encoder, WHOLE, ALL)
    yield Model(study.encoder, HALF, LAST)
    for way in (FROZEN, tuned(study)):
        yield Model(BLANK, way, nli(UNTRAINED_MODEL, features=way == FROZEN))


def tuned(study: Study) -> str:
    """The way in which our own pretrained models are fine-tuned: HALF or WHOLE."""
    return HALF if study.half else WHOLE


def window_pairs(study: Study) -> Iterator[tuple[str, str, str]]:
    """Yield (name, recipe with the long window, recipe with the short window) for each short window and data size."""
    long, *shorter = study.windows
    for short in shorter:
        for size in study.sizes:
            name = f"window {short} against {long} ({size})"
            yield name, nli(f"bert-{long}/{size}"), nli(f"bert-{short}/{size}")


def in_languages(records: pd.DataFrame) -> pd.DataFrame:
    """Records of accuracy on test data in single languages."""
    accuracies = cells.where(records, definition=ACCURACY, split="test")
    return accuracies[accuracies["language"] != "all"]


def tested(scored: pd.DataFrame, study: Study) -> list[str]:
    """Languages with a score, the training language first."""
    scored_languages = set(scored["language"])
    return [code for code in dict.fromkeys([study.source, *study.names]) if code in scored_languages]


def mean_by_seed(rows: pd.DataFrame, languages: Sequence[str]) -> pd.DataFrame:
    """Mean over languages for each seed that has all of them: columns seed, value and n, the number of languages."""
    means = cells.mean_by_seed(rows[rows["language"].isin(languages)], len(languages))
    return means.assign(n=len(languages))


def loss(scored: pd.DataFrame, long: str, short: str, languages: Sequence[str]) -> pd.DataFrame:
    """Percentage by which mean accuracy with the short window is below that with the long one: columns seed and value."""
    before, after = (mean_by_seed(cells.where(scored, recipe=recipe), languages) for recipe in (long, short))
    pairs = pd.merge(before, after, on="seed")
    value = 100 * (1 - pairs["value_y"] / pairs["value_x"])
    return pd.DataFrame({"seed": pairs["seed"], "value": value})
