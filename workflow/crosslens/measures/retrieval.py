"""Word retrieval: translations of words by nearest neighbours, before and after the mean difference shift, by layer.

Figures 1, 3 and 5 of liu2020, section 3.2.1; choices that the paper leaves open are stated here and in docs/liu2020.md.
"""

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from crosslens.corpora.lines import UNSPACED
from crosslens.corpora.schema import read
from crosslens.encoding.encoders.load import default_device, load_encoder
from crosslens.encoding.occurrences import Spelling, context_vectors, find, moved, word_vectors
from crosslens.encoding.packing import first_texts, windows_of
from crosslens.encoding.texts import Texts, load_subwords
from crosslens.encoding.tokens.tokenise import load_tokenizer
from crosslens.jobs.checksums import verified
from crosslens.jobs.errors import DataError
from crosslens.jobs.progress import Progress
from crosslens.measures.shared.neighbours import Gold, chance, search
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.intervals import mean_intervals

logger = logging.getLogger(__name__)

CONTEXTS, ALONE = "contexts", "word alone"  # kinds of word vectors
SHIFTED = "mean difference shift"
DIFFERENT = "different strings"
CHANCE, IDENTICAL = "chance", "identical strings"
SCORES = ("mrr", "precision at 1")


@dataclass(frozen=True)
class Language:
    """The m words of a language's side of the dictionaries that occur in its text, and their vectors."""

    rows: dict[str, int]  # word -> its row below
    contexts: np.ndarray  # (m,) number of occurrences of each word
    vectors: dict[str, np.ndarray]  # CONTEXTS and ALONE -> (n_layers, m, d)
    mean: np.ndarray  # (n_layers, d) mean state of the text's subwords


def definition(vectors: str, similarity: str, score: str, *, shift: bool = False, different: bool = False) -> str:
    """Return a value's definition: contexts, cosine, mrr[, mean difference shift][, different strings].

    vectors: CONTEXTS or ALONE; similarity: cosine or csls; score: mrr, precision at 1 or hubness. shift: whether the difference
    of the languages' means, target less source, was added to source vectors. different: whether identical strings are left out.
    """
    return ", ".join([vectors, similarity, score, *[SHIFTED] * shift, *[DIFFERENT] * different])


def measure(
    subject: Subject,
    *,
    corpora: Mapping[str, str],
    source: str,
    split: str,
    dictionaries: Sequence[str],
    dictionary_split: str,
    window: int | None,
    within: Literal["page", "text"],
    layers: Literal["all", "last"] = "all",
    texts: int | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the records of each direction of a dictionary between `source` and another language of the text.

    The `item` of a record is its direction, such as en-fr. The vector of a word is the mean over its occurrences in the text.
    The mean of a language is over all subwords except special ones. Only pairs whose words both occur in the text count,
    whatever the model; candidates are the targets of these pairs. Raises DataError if no direction has text.

    corpora: running text, of which the first `texts` of each language are read; None: all. window, within: windows in which a
    model reads the text, as in its pretraining (`packing.windows_of`).
    """
    torch.set_num_threads(subject.threads)
    model = load_encoder(subject.folder, subject.weights).to(default_device())
    spelling = Spelling(load_tokenizer(subject.folder))
    top = int(model.config.num_hidden_layers)  # type: ignore[union-attr, arg-type]
    chosen = range(top + 1) if layers == "all" else (top,)
    files = [file for corpus in corpora for file in verified(subject.tokens[corpus]).glob(f"*.{split}.parquet")]
    languages = {file.name.split(".")[0] for file in files}
    directions = _directions([subject.dictionaries[name] for name in dictionaries], dictionary_split, source, languages)
    if not directions:
        raise DataError(
            f"retrieval: expected a dictionary between {source} and another of {', '.join(sorted(languages))}, found none in "
            f"{', '.join(dictionaries)}: name other dictionaries or texts"
        )
    words: dict[str, set[str]] = defaultdict(set)
    for (from_language, to_language), pairs in directions.items():
        words[from_language].update(word for word, _ in pairs)
        words[to_language].update(word for _, word in pairs)
    words_by_language = {}
    for language, vocabulary in Progress(len(words), "languages", logger).over(sorted(words.items())):
        files = [subject.tokens[corpus] / f"{language}.{split}.parquet" for corpus in corpora]
        running = first_texts(load_subwords([file for file in files if file.exists()]), texts)
        windows = windows_of(running, window, within)
        words_by_language[language] = _language(model, spelling, language, sorted(vocabulary), running, windows, chosen)
    for (from_language, to_language), pairs in directions.items():
        partner = to_language if from_language == source else from_language
        place = {"item": f"{from_language}-{to_language}", "language": partner, "split": dictionary_split}
        place |= {"corpus": next(iter(corpora)), "measure": "word retrieval"}
        for row in _direction(words_by_language[from_language], words_by_language[to_language], pairs, chosen):
            yield place | row


def _directions(
    folders: Sequence[Path], split: str, source: str, languages: set[str]
) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Return (source language, target language) -> distinct pairs of words, in the order of the dictionaries."""
    pairs_by_direction: dict[tuple[str, str], dict[tuple[str, str], None]] = defaultdict(dict)
    for path in (path for folder in folders for path in sorted(verified(folder).glob(f"*.{split}.parquet"))):
        for row in read(path).to_pylist():
            direction = row["source_language"], row["target_language"]
            if source in direction and languages.issuperset(direction):
                pairs_by_direction[direction][row["source"], row["target"]] = None
    return {direction: list(pairs) for direction, pairs in sorted(pairs_by_direction.items())}


def _language(
    model: torch.nn.Module,
    spelling: Spelling,
    language: str,
    words: list[str],
    texts: Texts,
    windows: Texts,
    layers: Sequence[int],
) -> Language:
    """Return the vectors of a language's words; occurrences are found in `texts` and encoded in `windows` of these texts."""
    words = [word for word in words if spelling.alone(word)]
    places = find(texts, words, spelling, spaced=language not in UNSPACED)
    places = moved(places, texts, windows)
    within, mean = context_vectors(model, windows, places, len(words), layers, spelling.specials)
    numbers, contexts = np.unique(places.words, return_counts=True)
    spelled = [spelling.alone(words[number]) for number in numbers]
    alone = word_vectors(model, spelled, layers, spelling.special) if spelled else within[:, numbers]
    rows = {words[number]: row for row, number in enumerate(numbers)}
    return Language(rows, contexts, {CONTEXTS: within[:, numbers], ALONE: alone}, mean)


def _direction(
    source: Language, target: Language, pairs: Sequence[tuple[str, str]], layers: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """Yield the records of one direction."""
    common = [(word, translation) for word, translation in pairs if word in source.rows and translation in target.rows]
    sources, targets = (list(dict.fromkeys(words)) for words in (zip(*common, strict=True) if common else ((), ())))
    yield from _counts(source, target, pairs, common, sources, targets)
    if not common:
        return
    gold = _gold(common, sources, targets)
    rows, columns = [source.rows[word] for word in sources], [target.rows[word] for word in targets]
    ranks, places = [], []
    for kind in (CONTEXTS, ALONE):
        for number, layer in enumerate(layers):
            x, y = source.vectors[kind][number, rows], target.vectors[kind][number, columns]
            for shift in (False, True):
                rankings = search(x + (target.mean - source.mean)[number] if shift else x, y, gold)
                for similarity, ranking in rankings.items():
                    name = definition(kind, similarity, "hubness", shift=shift)
                    yield {"layer": layer, "definition": name, "value": ranking.hubness, "n": len(targets)}
                    for different, values in ((False, ranking.ranks), (True, ranking.different)):
                        ranks.append(values)
                        places.append((layer, kind, similarity, shift, different))
    ranked = np.stack(ranks, 1)
    with np.errstate(invalid="ignore"):
        scored = np.where(np.isnan(ranked), np.nan, ranked <= 1)
    for score, values in zip(SCORES, (1 / ranked, scored), strict=True):
        means = mean_intervals(values, items=True)
        counts = np.isfinite(values).sum(0).tolist()
        for (layer, kind, similarity, shift, different), n, value, low, high in zip(places, counts, *means, strict=True):
            if n:
                name = definition(kind, similarity, score, shift=shift, different=different)
                yield {"layer": layer, "definition": name, "value": value, "low": low, "high": high, "n": n}
    yield from _baselines(sources, targets, gold)


def _gold(pairs: Sequence[tuple[str, str]], sources: Sequence[str], targets: Sequence[str]) -> Gold:
    source_rows, target_rows = ({word: row for row, word in enumerate(words)} for words in (sources, targets))
    triples = sorted((source_rows[word], target_rows[translation], word == translation) for word, translation in pairs)
    rows, candidates, identical = (np.array(part) for part in zip(*triples, strict=True))
    return Gold(rows, candidates, identical)


def _counts(
    source: Language,
    target: Language,
    pairs: Sequence[tuple[str, str]],
    common: Sequence[tuple[str, str]],
    sources: Sequence[str],
    targets: Sequence[str],
) -> Iterator[dict[str, Any]]:
    """Yield the numbers of pairs and words, their median contexts, and the shares of words that do not occur in the text."""
    for name, items in (("pairs", common), ("source words", sources), ("candidates", targets)):
        yield {"definition": name, "value": len(items), "n": len(items)}
    for name, language, side_words in (("source words", source, sources), ("candidates", target, targets)):
        if side_words:
            contexts = language.contexts[[language.rows[word] for word in side_words]]
            yield {"definition": f"median contexts of {name}", "value": float(np.median(contexts)), "n": len(side_words)}
    for name, language, side in (("source", source, 0), ("target", target, 1)):
        words = {pair[side] for pair in pairs}
        missing = sum(word not in language.rows for word in words) / len(words)
        yield {"definition": f"{name} words without contexts", "value": missing, "n": len(words)}


def _baselines(sources: Sequence[str], targets: Sequence[str], gold: Gold) -> Iterator[dict[str, Any]]:
    """Yield the scores of two baselines: candidates in random order, and candidates spelt like the source word first."""
    n, m = len(sources), len(targets)
    translations = np.bincount(gold.sources, minlength=n)
    same = np.bincount(gold.sources, gold.identical, minlength=n).astype(np.int64)
    spelt = np.isin(sources, targets).astype(np.int64) - same  # 1 if a candidate is spelt the same but is no translation
    has_different = translations > same  # words with a translation that is spelt differently
    random = {
        False: chance(np.full(n, m), translations),
        True: chance((m - same)[has_different], (translations - same)[has_different]),
    }
    first = {False: translations / m, True: ((translations - same) / (m - same))[has_different]}
    for different in (False, True):
        for score, values in zip(SCORES, (random[different], first[different]), strict=True):
            if len(values):
                name = ", ".join([CHANCE, score, *[DIFFERENT] * different])
                yield {"definition": name, "value": float(values.mean()), "n": len(values)}
    behind = np.where(spelt > 0, chance(np.maximum(m - spelt, translations), translations, 1), random[False])
    for score, values in zip(
        SCORES, (np.where(same > 0, 1, behind), np.where(same > 0, 1, first[False] * (spelt == 0))), strict=True
    ):
        yield {"definition": f"{IDENTICAL}, {score}", "value": float(values.mean()), "n": n}
