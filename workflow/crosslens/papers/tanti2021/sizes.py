"""tanti2021: sizes of splits and samples (appendices A and B), with an explanation of each difference from the printed sizes.

For each language, the table also says how many texts were dropped or cut, and why.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import TypeAdapter

from crosslens.config.base import Split
from crosslens.config.corpora import Corpus, DocumentCorpus, OfficialCorpus, PairCorpus, ParagraphCorpus, TreebankCorpus
from crosslens.config.samples import Sampling
from crosslens.corpora.splits import apportion
from crosslens.encoding.samples import read
from crosslens.encoding.tokens.schema import counts
from crosslens.papers.inputs import Inputs
from crosslens.papers.tanti2021.names import LABELS, PAPER, TASKS
from crosslens.reports import cells

WIKIPEDIA = "Wikipedia"
SPLITS: dict[str, Split] = {"train": "train", "validation": "validation", "development": "dev", "test": "test"}  # paper -> ours
SAMPLE = "t-SNE/V-measure sample"
TOKENISED = {"texts read": ("texts", "unknown"), "dropped for unknown subwords": ("unknown",),
             "cut texts": ("cut_texts",), "cut words": ("cut_words",)}  # fmt: skip


@dataclass(frozen=True)
class Printed:
    """A corpus as described in the paper (section 2, appendix A) and the authors' code."""

    name: str
    sources: tuple[str, ...]  # entries of resources/sources.yaml that contain it
    texts: str
    languages: int
    points: int  # largest number of points per cell in the samples of appendix B
    cell: str  # what a cell is: the unit by which the samples are balanced
    rest: str  # explanation of a difference if the configuration matches the paper


PRINTED = {
    "UDPOS": Printed(
        "UD 2.7", ("ud-2.7-archive", "ud-2.7"), "sentences", 33, 10, "label and language",
        "the paper does not say which sentences without text or with unknown subwords are counted",
    ),
    "XNLI": Printed(
        "XNLI 1.0", ("xnli", "multinli"), "pairs", 14, 50, "label and language",
        "the printed sizes are what is left, after dropping texts with unknown subwords, of 392,702 English training pairs and, "
        "in 14 of the 15 languages, of 2,490 dev and 5,010 test pairs",
    ),
    WIKIPEDIA: Printed(
        "Wikipedia's dumps of 20 April 2021", ("wikipedia", "wiki-lang-id"), "paragraphs", 33, 100, "language",
        "the paper's paragraphs are a different sample",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Data:
    """A corpus of the paper as configured here. samples: task -> settings of its samples, and their folder."""

    printed: Printed
    corpus: Corpus
    tokens: Path
    samples: dict[str, tuple[Sampling, Path]] = field(default_factory=dict)

    def languages(self, number: int) -> list[str]:
        """A list with an explanation if the number of languages differs from the paper's, otherwise []."""
        return [f"{number} of {self.printed.languages} languages"] if number != self.printed.languages else []

    def source(self, split: Split) -> list[str]:
        """A list of explanations if the texts of a split differ from the paper's in source or selection, otherwise []."""
        corpus, source, printed = self.corpus, self.corpus.source, self.printed.name
        if isinstance(corpus, PairCorpus) and split in ("train", "validation"):
            source, printed = corpus.distribution("en", split)[0], "MultiNLI 1.0"
        if source not in self.printed.sources:
            return [
                f"the synthetic corpus's texts, not {printed}" if source == "synthetic" else f"texts of {source}, not {printed}"
            ]
        if isinstance(corpus, ParagraphCorpus) and "20210420" not in corpus.file:
            return ["not the dump of 20210420 used by the authors' code"]
        if isinstance(corpus, TreebankCorpus) and split in ("dev", "test") and corpus.withheld != "paper":
            chosen = ["only the listed treebanks"] * isinstance(corpus.files[split], dict)
            return [*chosen, "all sentences without text are dropped, while the authors' code drops only some"]
        return []


def table(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Lines for each size printed in appendices A and B, with a Wikipedia sample for each task; then lines for each language.

    settings: corpora, key -> its configuration; samples, task -> name and corpora of its samples (key -> fields of Sampling,
    the task's own corpus first); drop_unknown, whether texts with unknown subwords are dropped.
    """
    data: dict[str, Data] = {}
    for task, settings_of_samples in settings["samples"].items():
        for corpus, (key, sampling) in zip((TASKS[task], WIKIPEDIA), settings_of_samples["corpora"].items(), strict=True):
            configured = TypeAdapter(Corpus).validate_python(settings["corpora"][key])
            data_of_corpus = data.setdefault(corpus, Data(PRINTED[corpus], configured, inputs.tokens[key]))
            data_of_corpus.samples[task] = Sampling.model_validate(sampling), inputs.samples[settings_of_samples["name"]] / key
    texts = cells.where(inputs.published.table, item="text")
    lines: list[dict[str, Any]] = []
    for row in texts[(texts["metric"] == "size") | (texts["column"] == SAMPLE)].to_dict("records"):
        lines += _size(row, data.get(row["row"]), settings["drop_unknown"])
    for corpus in PRINTED:
        lines += _losses(corpus, data[corpus]) if corpus in data else []
    return cells.table(lines, PAPER, name)


def _size(row: Mapping[Any, Any], data: Data | None, drop_unknown: bool) -> Iterator[dict[str, Any]]:
    """Lines for a printed size, a row of resources/published/tanti2021.csv. data: None if its corpus is not configured."""
    corpus, part, unit, published = row["row"], row["column"], row["unit"], round(float(row["value"]))
    if data is None:
        yield from _lines(corpus, part, unit, {"here": 0, "explanation": f"{corpus} is not configured"}, published)
    elif part in SPLITS:
        yield from _lines(corpus, part, unit, _split(data, SPLITS[part], drop_unknown), published)
    else:
        for task, (sampling, folder) in data.samples.items():
            points = "words" if task == "pos" else data.printed.texts
            cap = sampling.sample_per_label or sampling.sample_per_language or 0
            if row["metric"] == "total points":
                yield from _lines(
                    corpus, part, f"{points} ({task})", _sample(data, task, sampling, folder, cap, points), published
                )
            else:
                numbers = {"here": cap, "explanation": "as configured"}
                yield from _lines(corpus, part, f"points per {data.printed.cell} ({task})", numbers, published)


def _lines(
    row: str, part: str, unit: str, numbers: Mapping[str, Any], published: int | None = None
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Lines with a size next to the printed one, why they differ, and further counts. numbers: here, explanation and counts."""
    here = numbers["here"]
    yield cells.line(row, part, unit, "", {"here": here}, published, "equal" if here == published else numbers["explanation"])
    for count in ("languages", *TOKENISED):
        if count in numbers:
            yield cells.line(row, part, f"{unit}: {count}", "", {"here": numbers[count]})


def _split(data: Data, split: Split, drop_unknown: bool) -> dict[str, Any]:
    """Numbers of a split (appendix A): its size after tokenisation, further counts, and an explanation of differences."""
    corpus, files = data.corpus, counts(data.tokens, split)
    numbers = _tokenised(files.values()) | {"languages": len(files)}
    if not files:
        return numbers | {"explanation": f"{split} is not configured"}
    reasons = data.source(split)
    if isinstance(corpus, ParagraphCorpus):
        reasons += data.languages(len(files))
        if corpus.paragraphs != 5000:
            reasons.append(f"{corpus.paragraphs:,} of 5,000 paragraphs per language")
        share, printed = corpus.shares[split], 0.7 if split == "train" else 0.1
        if share != printed:
            reasons.append(f"{100 * share:.0f} % of them, not {100 * printed:.0f} %")
        configured = len(files) * apportion(corpus.paragraphs, corpus.shares)[split]
        if numbers["here"] < configured:
            reasons.append(f"too little text for {configured - numbers['here']:,} of {configured:,} paragraphs")
    elif isinstance(corpus, OfficialCorpus):
        if split in ("dev", "test") or isinstance(corpus, DocumentCorpus):
            reasons += data.languages(len(files))
        elif corpus.validation_share != 0.1:
            reasons.append(f"validation is {100 * corpus.validation_share:.0f} % of train, not 10 %")
        elif corpus.files_of(corpus.source_languages[0], "validation"):
            reasons.append("validation has its own file instead of 10 % of train")
        if split in corpus.limits:
            reasons.append(f"at most {corpus.limits[split]:,} {data.printed.texts} per language (limit)")
        if not drop_unknown:
            reasons.append("texts with unknown subwords are kept")
        reasons = reasons or [data.printed.rest]
        if dropped := numbers["dropped for unknown subwords"]:
            reasons.append(f"{dropped:,} texts dropped for unknown subwords")
    return numbers | {"explanation": "; ".join(reasons)}


def _tokenised(files: Collection[Mapping[str, int]]) -> dict[str, Any]:
    """Numbers of texts kept and of texts and words dropped or cut. files: the counts of each file of tokens."""
    totals = {name: sum(file[key] for file in files for key in keys) for name, keys in TOKENISED.items()}
    return {"here": sum(file["texts"] for file in files), **totals}


def _sample(data: Data, task: str, sampling: Sampling, folder: Path, cap: int, points: str) -> dict[str, Any]:
    """Numbers of a sample (appendix B): its size, its number of languages, and an explanation of differences.

    cap: largest number of points per cell; points: name of the sampled units, in the plural.
    """
    languages, printed = len(data.corpus.languages), data.printed
    size = int(read(folder).sample.sum())
    reasons = data.source(sampling.sample_split) + data.languages(languages)
    if cap != printed.points:
        reasons.append(f"{cap} points per {printed.cell}, not {printed.points}")
    most = cap * languages * (len(LABELS[task]) if sampling.sample_per_label else 1)
    if size < most:
        reasons.append(f"{most - size:,} of {most:,} points missing: too few {points} for some {printed.cell}")
    return {"here": size, "languages": languages, "explanation": "; ".join(reasons or [printed.rest])}


def _losses(name: str, data: Data) -> Iterator[dict[str, Any]]:
    """Lines for each language on texts with unknown subwords, truncated texts and paragraphs that the source lacks."""
    corpus, unit = data.corpus, data.printed.texts
    files_by_split = [counts(data.tokens, split) for split in SPLITS.values()]
    for language in corpus.languages:
        numbers = _tokenised([languages[language] for languages in files_by_split if language in languages])
        texts, dropped, reasons = numbers["here"], numbers["dropped for unknown subwords"], []
        if dropped:
            reasons.append(f"{100 * dropped / numbers['texts read']:.1f} % of the {unit} read have unknown subwords")
        if isinstance(corpus, ParagraphCorpus) and texts < corpus.paragraphs:
            reasons.append(f"too little text for {corpus.paragraphs - texts:,} of {corpus.paragraphs:,} paragraphs")
        if numbers["cut texts"]:
            reasons.append(f"{100 * numbers['cut texts'] / texts:.1f} % are truncated")
        yield from _lines(f"{name}, {language}", "all splits", unit, numbers | {"explanation": "; ".join(reasons)})
