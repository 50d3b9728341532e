"""tanti2021: appendices A and B, the sizes of splits and samples, with an explanation of each difference from the printed ones;
then what each language lost, and why.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import TypeAdapter

from crosslens.config.base import Split
from crosslens.config.corpora import Corpus, DocumentCorpus, OfficialCorpus, PairCorpus, ParagraphCorpus, TreebankCorpus
from crosslens.config.draws import Draw
from crosslens.corpora.splits import apportion
from crosslens.encoding.drawn import read
from crosslens.papers.inputs import Inputs
from crosslens.papers.tanti2021.layout import LABELS, TASKS
from crosslens.reports import cells
from crosslens.tokens.schema import counts

WIKIPEDIA = "Wikipedia"
SPLITS: dict[str, Split] = {"train": "train", "validation": "validation", "development": "dev", "test": "test"}  # paper, here
SAMPLE = "t-SNE/V-measure sample"
TOKENISED = {"texts read": ("texts", "unknown"), "dropped for unknown pieces": ("unknown",),
             "cut texts": ("cut_texts",), "cut words": ("cut_words",)}  # fmt: skip


@dataclass(frozen=True)
class Printed:
    """What a corpus of the paper is (section 2, appendix A and the authors' code)."""

    name: str
    sources: tuple[str, ...]  # entries of resources/sources.yaml that hold it
    texts: str
    languages: int
    points: int  # cap of appendix B for each cell
    cell: str
    rest: str  # what may still differ where the configuration is the paper's


PRINTED = {
    "UDPOS": Printed(
        "UD 2.7", ("ud-2.7-archive", "ud-2.7"), "sentences", 33, 10, "label and language",
        "the paper does not say which sentences without text or with unknown pieces are counted",
    ),
    "XNLI": Printed(
        "XNLI 1.0", ("xnli", "multinli"), "pairs", 14, 50, "label and language",
        "the printed sizes are what is left, after dropping texts with unknown pieces, of 392,702 English training pairs and, in "
        "14 of the 15 languages, of 2,490 dev and 5,010 test pairs",
    ),
    WIKIPEDIA: Printed(
        "Wikipedia's dumps of 20 April 2021", ("wikipedia", "wiki-lang-id"), "paragraphs", 33, 100, "language",
        "the paper's paragraphs are a different sample",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Data:
    """A corpus of the paper as it is configured here. draws: task -> how words are drawn, and the folder of those that were."""

    printed: Printed
    corpus: Corpus
    tokens: Path
    draws: dict[str, tuple[Draw, Path]] = field(default_factory=dict)

    def languages(self, number: int) -> list[str]:
        """Why there are fewer languages, or more, unless there are as many."""
        return [f"{number} of {self.printed.languages} languages"] if number != self.printed.languages else []

    def source(self, split: Split) -> list[str]:
        """Where the texts come from, unless it is where the paper's do."""
        corpus, source, printed = self.corpus, self.corpus.source, self.printed.name
        if isinstance(corpus, PairCorpus) and split in ("train", "validation"):
            source, printed = corpus.distribution([split])[0], "MultiNLI 1.0"
        if source not in self.printed.sources:
            return [f"the phrasebook's texts, not {printed}" if source == "phrasebook" else f"texts of {source}, not {printed}"]
        if isinstance(corpus, ParagraphCorpus) and "20210420" not in corpus.file:
            return ["not the dump of 20210420 used by the authors' code"]
        if isinstance(corpus, TreebankCorpus) and split in ("dev", "test") and corpus.withheld != "paper":
            chosen = ["only the listed treebanks"] * isinstance(corpus.files[split], dict)
            return [*chosen, "all sentences without text are dropped, while the authors' code drops only some"]
        return []


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """A line for each size that appendices A and B print, a sample of Wikipedia for each task; then for each language.

    settings: corpora, key -> its configuration; draws, task -> name and corpora (key -> Draw, the task's first); drop_unknown.
    """
    data: dict[str, Data] = {}
    for task, drawn in settings["draws"].items():
        for corpus, (key, draw) in zip((TASKS[task], WIKIPEDIA), drawn["corpora"].items(), strict=True):
            configured = TypeAdapter(Corpus).validate_python(settings["corpora"][key])
            own = data.setdefault(corpus, Data(PRINTED[corpus], configured, inputs.tokens[key]))
            own.draws[task] = Draw.model_validate(draw), inputs.draws[drawn["name"]] / key
    texts = cells.where(inputs.published.table, item="text")
    lines: list[dict[str, Any]] = []
    for row in texts[(texts["metric"] == "size") | (texts["column"] == SAMPLE)].to_dict("records"):
        lines += _size(row, data.get(row["row"]), settings["drop_unknown"])
    for corpus in PRINTED:
        lines += _losses(corpus, data[corpus]) if corpus in data else []
    return cells.table(lines, "tanti2021", name)


def _size(row: Mapping[Any, Any], data: Data | None, drop_unknown: bool) -> Iterator[dict[str, Any]]:
    """Lines of a printed size, a row of resources/published/tanti2021.csv."""
    corpus, part, unit, published = row["row"], row["column"], row["unit"], round(float(row["value"]))
    if data is None:
        yield from _lines(corpus, part, unit, {"here": 0, "explanation": f"{corpus} is not configured"}, published)
    elif part in SPLITS:
        yield from _lines(corpus, part, unit, _split(data, SPLITS[part], drop_unknown), published)
    else:
        for task, (draw, folder) in data.draws.items():
            points = "words" if task == "pos" else data.printed.texts
            cap = draw.sample_per_label or draw.sample_per_language or 0
            if row["metric"] == "total points":
                yield from _lines(corpus, part, f"{points} ({task})", _sample(data, task, draw, folder, cap, points), published)
            else:
                counted = {"here": cap, "explanation": "as configured"}
                yield from _lines(corpus, part, f"points a {data.printed.cell} ({task})", counted, published)


def _lines(
    row: str, part: str, unit: str, counted: Mapping[str, Any], published: int | None = None
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """A size beside the printed one, why they differ, and what else was counted of it."""
    here = counted["here"]
    yield cells.line(row, part, unit, "", {"here": here}, published, "equal" if here == published else counted["explanation"])
    for count in ("languages", *TOKENISED):
        if count in counted:
            yield cells.line(row, part, f"{unit}: {count}", "", {"here": counted[count]})


def _split(data: Data, split: Split, drop_unknown: bool) -> dict[str, Any]:
    """Appendix A: the size of a split after tokenising."""
    corpus, stored = data.corpus, counts(data.tokens, split)
    counted = _tokenised(stored.values()) | {"languages": len(stored)}
    if not stored:
        return counted | {"explanation": f"{split} is not configured"}
    reasons = data.source(split)
    if isinstance(corpus, ParagraphCorpus):
        reasons += data.languages(len(stored))
        if corpus.paragraphs != 5000:
            reasons.append(f"{corpus.paragraphs:,} of 5,000 paragraphs per language")
        share, printed = corpus.shares[split], 0.7 if split == "train" else 0.1
        if share != printed:
            reasons.append(f"{share:.0%} of them, not {printed:.0%}")
        asked = len(stored) * apportion(corpus.paragraphs, corpus.shares)[split]
        if counted["here"] < asked:
            reasons.append(f"too little text for {asked - counted['here']:,} of {asked:,} paragraphs")
    elif isinstance(corpus, OfficialCorpus):
        if split in ("dev", "test") or isinstance(corpus, DocumentCorpus):
            reasons += data.languages(len(stored))
        elif corpus.validation_share != 0.1:
            reasons.append(f"validation is {corpus.validation_share:.0%} of train, not 10%")
        elif corpus.files_of(corpus.source_languages[0], "validation"):
            reasons.append("validation has its own file instead of 10% of train")
        if split in corpus.limits:
            reasons.append(f"at most {corpus.limits[split]:,} {data.printed.texts} per language (limit)")
        if not drop_unknown:
            reasons.append("texts with unknown pieces are kept")
        reasons = reasons or [data.printed.rest]
        if dropped := counted["dropped for unknown pieces"]:
            reasons.append(f"{dropped:,} texts dropped for unknown pieces")
    return counted | {"explanation": "; ".join(reasons)}


def _tokenised(files: Collection[Mapping[str, int]]) -> dict[str, Any]:
    """Texts that are left of some files, and how many texts and words were dropped or truncated."""
    totals = {name: sum(file[key] for file in files for key in keys) for name, keys in TOKENISED.items()}
    return {"here": sum(file["texts"] for file in files), **totals}


def _sample(data: Data, task: str, draw: Draw, folder: Path, cap: int, points: str) -> dict[str, Any]:
    """Appendix B: the size of a sample, of which the hidden states are stored."""
    languages, printed = len(data.corpus.languages), data.printed
    drawn = int(read(folder).sample.sum())
    reasons = data.source(draw.sample_split) + data.languages(languages)
    if cap != printed.points:
        reasons.append(f"{cap} points per {printed.cell}, not {printed.points}")
    most = cap * languages * (len(LABELS[task]) if draw.sample_per_label else 1)
    if drawn < most:
        reasons.append(f"{most - drawn:,} of {most:,} points missing: too few {points} for some {printed.cell}")
    return {"here": drawn, "languages": languages, "explanation": "; ".join(reasons or [printed.rest])}


def _losses(name: str, data: Data) -> Iterator[dict[str, Any]]:
    """What each language lost: texts with unknown pieces, truncated texts, paragraphs that its source does not have."""
    corpus, unit = data.corpus, data.printed.texts
    stored = [counts(data.tokens, split) for split in SPLITS.values()]
    for language in corpus.languages:
        counted = _tokenised([languages[language] for languages in stored if language in languages])
        kept, dropped, reasons = counted["here"], counted["dropped for unknown pieces"], []
        if dropped:
            reasons.append(f"{dropped / counted['texts read']:.1%} of the {unit} read have unknown pieces")
        if isinstance(corpus, ParagraphCorpus) and kept < corpus.paragraphs:
            reasons.append(f"too little text for {corpus.paragraphs - kept:,} of {corpus.paragraphs:,} paragraphs")
        if counted["cut texts"]:
            reasons.append(f"{counted['cut texts'] / kept:.1%} are truncated")
        yield from _lines(f"{name}, {language}", "all splits", unit, counted | {"explanation": "; ".join(reasons)})
