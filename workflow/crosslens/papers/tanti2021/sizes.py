"""tanti2021: appendices A and B, the sizes of splits and samples, with an explanation of each difference from the printed ones;
then what each language lost, and why.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import TypeAdapter

from crosslens import cells
from crosslens.config.base import Split
from crosslens.config.corpora import Corpus, OfficialCorpus, PairCorpus, ParagraphCorpus, TreebankCorpus
from crosslens.config.draws import Draw
from crosslens.corpora.splits import apportion
from crosslens.draws.files import read
from crosslens.papers.inputs import Inputs
from crosslens.papers.tanti2021.layout import LABELS, TASKS
from crosslens.tokens.schema import counts

WIKIPEDIA = "Wikipedia"
SPLITS: dict[str, Split] = {"train": "train", "validation": "validation", "development": "dev", "test": "test"}  # paper, here
SAMPLE = "t-SNE/V-measure sample"
TOKENISED = {"texts read": ("texts", "unknown"), "dropped for unknown pieces": ("unknown",),
             "cut texts": ("cut_texts",), "cut words": ("cut_words",)}  # fmt: skip
ALL = "all splits"


@dataclass(frozen=True)
class Paper:
    """What a corpus of the paper is (section 2, appendix A and the authors' code)."""

    name: str
    sources: tuple[str, ...]  # entries of resources/sources.yaml that hold it
    languages: int
    points: int  # cap of appendix B
    rest: str  # what may still differ where the configuration is the paper's


PAPER = {
    "UDPOS": Paper(
        "UD 2.7", ("ud-2.7-archive", "ud-2.7"), 33, 10,
        "the paper does not say which sentences without text or with unknown pieces are counted",
    ),
    "XNLI": Paper(
        "XNLI 1.0", ("xnli", "multinli"), 14, 50,
        "the printed sizes are what is left, after dropping texts with unknown pieces, of 392,702 English training pairs and, in "
        "14 of the 15 languages, of 2,490 dev and 5,010 test pairs",
    ),
    WIKIPEDIA: Paper(
        "Wikipedia's dumps of 20 April 2021", ("wikipedia",), 33, 100,
        "the paper's paragraphs are a different sample",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Data:
    """A corpus of the paper as it is configured here. draws: task -> how words are drawn, and the folder of those that were."""

    corpus: Corpus
    tokens: Path
    draws: dict[str, tuple[Draw, Path]]


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """The sizes.

    settings: corpora, key -> its configuration; draws, task -> name and corpora (key -> Draw, the task's first); drop_unknown.
    """
    data: dict[str, Data] = {}
    for task, drawn in settings["draws"].items():
        for corpus, (key, draw) in zip((TASKS[task], WIKIPEDIA), drawn["corpora"].items(), strict=True):
            its = data.setdefault(
                corpus, Data(TypeAdapter(Corpus).validate_python(settings["corpora"][key]), inputs.tokens[key], {})
            )
            its.draws[task] = Draw.model_validate(draw), inputs.draws[drawn["name"]] / key
    return cells.table([*sizes(inputs.published.table, data, settings["drop_unknown"])], "tanti2021", name)


def sizes(published: pd.DataFrame, data: Mapping[str, Data], drop_unknown: bool) -> Iterator[dict[str, Any]]:
    """Cells for each size that appendices A and B print, a sample of Wikipedia for each task; then for each language.

    published: resources/published/tanti2021.csv; data: UDPOS, XNLI and Wikipedia, as far as they are configured.
    """
    printed = published[(published["item"] == "text") & ((published["metric"] == "size") | (published["column"] == SAMPLE))]
    for row in printed.to_dict("records"):
        name, part, total = row["row"], row["column"], row["metric"] == "total points"
        value = round(float(row["value"]))
        if name not in data:
            yield _size(name, part, row["unit"], {"here": 0, "explanation": f"{name} is not configured"}, value)
        elif part in SPLITS:
            yield from _sizes(name, part, row["unit"], _split(name, SPLITS[part], row["unit"], data[name], drop_unknown), value)
        else:
            for task, (settings, folder) in data[name].draws.items():
                unit = f"{_unit(name, task)}s ({task})" if total else f"points a {_cell(name)} ({task})"
                size = _sample(name, task, settings, folder, data[name]) if total else {"here": _cap(settings)}
                yield from _sizes(name, part, unit, {"explanation": "as configured"} | size, value)
    for name in PAPER:
        if name in data:
            yield from _losses(name, data[name])


def _sizes(
    corpus: str, part: str, unit: str, counted: Mapping[str, Any], published: int | None = None
) -> Iterator[dict[str, Any]]:
    """A size beside the printed one, and what else was counted of it."""
    yield _size(corpus, part, unit, counted, published)
    for count in ("languages", *TOKENISED):
        if count in counted:
            yield cells.line(corpus, part, f"{unit}: {count}", "", {"here": counted[count]})


def _size(corpus: str, part: str, unit: str, counted: Mapping[str, Any], published: int | None) -> dict[str, Any]:
    equal = counted["here"] == published
    return cells.line(
        corpus, part, unit, "", {"here": counted["here"]}, published, "equal" if equal else counted.get("explanation", "")
    )


def _split(name: str, split: Split, unit: str, data: Data, drop_unknown: bool) -> dict[str, Any]:
    """Appendix A: the size of a split after tokenising."""
    corpus, stored = data.corpus, counts(data.tokens, split)
    line = _tokenised(stored.values()) | {"languages": len(stored)}
    kept, dropped = line["here"], line["dropped for unknown pieces"]
    if not stored:
        return line | {"explanation": f"{split} is not configured"}
    reasons = _source(name, split, data)
    if isinstance(corpus, ParagraphCorpus):
        reasons += _languages(name, len(stored))
        if corpus.paragraphs != 5000:
            reasons.append(f"{corpus.paragraphs:,} of 5,000 paragraphs per language")
        share, printed = corpus.shares[split], 0.7 if split == "train" else 0.1
        if share != printed:
            reasons.append(f"{share:.0%} of them, not {printed:.0%}")
        asked = len(stored) * apportion(corpus.paragraphs, corpus.shares)[split]
        if kept < asked:
            reasons.append(f"too little text for {asked - kept:,} of {asked:,} paragraphs")
    elif isinstance(corpus, OfficialCorpus):
        if split in ("dev", "test"):
            reasons += _languages(name, len(stored))
        elif corpus.validation_share != 0.1:
            reasons.append(f"validation is {corpus.validation_share:.0%} of train, not 10%")
        elif corpus.files_of(corpus.source_languages[0], "validation"):
            reasons.append("validation has its own file instead of 10% of train")
        if split in corpus.limits:
            reasons.append(f"at most {corpus.limits[split]:,} {unit} per language (limit)")
        if not drop_unknown:
            reasons.append("texts with unknown pieces are kept")
        reasons = reasons or [PAPER[name].rest]
        if dropped:
            reasons.append(f"{dropped:,} texts dropped for unknown pieces")
    return line | {"explanation": "; ".join(reasons)}


def _tokenised(stored: Collection[Mapping[str, int]]) -> dict[str, Any]:
    """Texts that are left of some files, and how many texts and words were dropped or truncated."""
    totals = {name: sum(file[key] for file in stored for key in keys) for name, keys in TOKENISED.items()}
    return {"here": sum(file["texts"] for file in stored), **totals}


def _losses(name: str, data: Data) -> Iterator[dict[str, Any]]:
    """What each language lost: texts with unknown pieces, truncated texts, paragraphs that its source does not have."""
    corpus, unit = data.corpus, "sentences" if name == "UDPOS" else "pairs" if name == "XNLI" else "paragraphs"
    stored = {split: counts(data.tokens, split) for split in SPLITS.values()}
    for language in corpus.languages:
        line = _tokenised([languages[language] for languages in stored.values() if language in languages])
        read, kept = line["texts read"], line["here"]
        reasons = []
        if line["dropped for unknown pieces"]:
            reasons.append(f"{line['dropped for unknown pieces'] / read:.1%} of the {unit} read have unknown pieces")
        if isinstance(corpus, ParagraphCorpus) and kept < corpus.paragraphs:
            reasons.append(f"too little text for {corpus.paragraphs - kept:,} of {corpus.paragraphs:,} paragraphs")
        if line["cut texts"]:
            reasons.append(f"{line['cut texts'] / kept:.1%} are truncated")
        yield from _sizes(f"{name}, {language}", ALL, unit, line | {"explanation": "; ".join(reasons)})


def _sample(name: str, task: str, settings: Draw, folder: Path, data: Data) -> dict[str, Any]:
    """Appendix B: the size of a sample, of which the hidden states are stored."""
    languages, labels = data.corpus.languages, LABELS[task]
    drawn = int(read(folder).sample.sum())
    reasons = _source(name, settings.sample_split, data) + _languages(name, len(languages))
    cap, cell = _cap(settings), _cell(name)
    if cap != PAPER[name].points:
        reasons.append(f"{cap} points per {cell}, not {PAPER[name].points}")
    most = cap * len(languages) * (len(labels) if settings.sample_per_label else 1)
    if drawn < most:
        reasons.append(f"{most - drawn:,} of {most:,} points missing: too few {_unit(name, task)}s for some {cell}")
    return {"here": drawn, "languages": len(languages), "explanation": "; ".join(reasons or [PAPER[name].rest])}


def _source(name: str, split: Split, data: Data) -> list[str]:
    """Where the texts come from, unless it is where the paper's do."""
    corpus, source, printed = data.corpus, data.corpus.source, PAPER[name].name
    if isinstance(corpus, PairCorpus) and split in ("train", "validation"):
        source, printed = corpus.distribution([split])[0], "MultiNLI 1.0"
    if source not in PAPER[name].sources:
        return [f"the phrasebook's texts, not {printed}" if source == "phrasebook" else f"texts of {source}, not {printed}"]
    if isinstance(corpus, ParagraphCorpus) and "20210420" not in corpus.file:
        return ["not the dump of 20210420 used by the authors' code"]
    if isinstance(corpus, TreebankCorpus) and split in ("dev", "test") and corpus.withheld != "paper":
        chosen = ["only the listed treebanks"] * isinstance(corpus.files[split], dict)
        return [*chosen, "all sentences without text are dropped, while the authors' code drops only some"]
    return []


def _languages(name: str, number: int) -> list[str]:
    printed = PAPER[name].languages
    return [f"{number} of {printed} languages"] if number != printed else []


def _cap(settings: Draw) -> int:
    return settings.sample_per_label or settings.sample_per_language or 0


def _cell(name: str) -> str:
    return "language" if name == WIKIPEDIA else "label and language"


def _unit(name: str, task: str) -> str:
    """What a point of a sample is."""
    return "word" if task == "pos" else "paragraph" if name == WIKIPEDIA else "pair"
