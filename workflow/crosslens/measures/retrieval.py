"""Word retrieval: translations of words by nearest neighbours, before and after the mean difference shift, by layer.

Figures 1, 3 and 5 of liu2020, section 3.2.1; what the paper leaves open is stated here and in docs/liu2020.md.
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
from crosslens.encoders.load import load_encoder
from crosslens.encoding.occurrences import Spelling, context_vectors, find, moved, word_vectors
from crosslens.encoding.packing import first_texts, windows_of
from crosslens.encoding.texts import Texts, load_pieces
from crosslens.measures.given import Given
from crosslens.measures.neighbours import Gold, chance, search
from crosslens.numerics.intervals import mean_intervals
from crosslens.runs.errors import DataError
from crosslens.runs.progress import Progress
from crosslens.storage.seals import verified
from crosslens.tokens.tokenise import load_tokenizer

logger = logging.getLogger(__name__)

READS = ("encoder",)
CONTEXTS, ALONE = "contexts", "word alone"  # what a word's vector is
SHIFTED = "mean difference shift"
DIFFERENT = "different strings"
CHANCE, IDENTICAL = "chance", "identical strings"
SCORES = ("mrr", "precision at 1")


@dataclass(frozen=True)
class Language:
    """Words of a language's side of the dictionaries, of which m occur in its text."""

    known: dict[str, int]  # word that occurs -> its row
    contexts: np.ndarray  # (m,) how often each occurs
    vectors: dict[str, np.ndarray]  # CONTEXTS and ALONE -> (n_layers, m, d)
    mean: np.ndarray  # of the text's pieces, (n_layers, d)


def definition(vectors: str, similarity: str, score: str, *, shift: bool = False, different: bool = False) -> str:
    """How a value was computed: contexts, cosine, mrr[, mean difference shift][, different strings].

    vectors: CONTEXTS or ALONE; similarity: cosine or csls; score: mrr, precision at 1 or hubness. shift: the difference of the
    languages' means, target less source, was added to source vectors. different: without pairs of identical strings.
    """
    return ", ".join([vectors, similarity, score, *[SHIFTED] * shift, *[DIFFERENT] * different])


def measure(
    given: Given,
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
    """Records of each direction that a dictionary has between `source` and another language of the text; item: en-fr.

    corpora: running text, of each language at most the first `texts`; words occur in it, each vector is the mean over all places
    of its word, and the means of languages are over all pieces but special ones. window, within: how a model reads the text, as
    where it was pretrained (`packing.windows_of`). Words are those of pairs of which both occur in the text, whatever the model;
    candidates: the targets of these pairs. Raises DataError where no direction has text.
    """
    torch.set_num_threads(given.threads)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model, spelling = load_encoder(given.folder, given.weights).to(device), Spelling(load_tokenizer(given.folder))
    top = int(model.config.num_hidden_layers)  # type: ignore[union-attr, arg-type]
    chosen = range(top + 1) if layers == "all" else (top,)
    files = [file for corpus in corpora for file in verified(given.tokens[corpus]).glob(f"*.{split}.parquet")]
    languages = {file.name.split(".")[0] for file in files}
    directions = _directions([given.dictionaries[name] for name in dictionaries], dictionary_split, source, languages)
    if not directions:
        raise DataError(
            f"retrieval: expected a dictionary between {source} and another of {', '.join(sorted(languages))}, found none in "
            f"{', '.join(dictionaries)}: name other dictionaries or texts"
        )
    words: dict[str, set[str]] = defaultdict(set)
    for (one, other), pairs in directions.items():
        words[one].update(word for word, _ in pairs)
        words[other].update(word for _, word in pairs)
    read_once = {}
    for language, own in Progress(len(words), "languages", logger).over(sorted(words.items())):
        files = [given.tokens[corpus] / f"{language}.{split}.parquet" for corpus in corpora]
        running = first_texts(load_pieces([file for file in files if file.exists()]), texts)
        windows = windows_of(running, window, within)
        read_once[language] = _language(model, spelling, language, sorted(own), running, windows, chosen)
    for (one, other), pairs in directions.items():
        place = {"item": f"{one}-{other}", "language": other if one == source else one, "split": dictionary_split}
        place |= {"corpus": next(iter(corpora)), "measure": "word retrieval"}
        for row in _direction(read_once[one], read_once[other], pairs, chosen):
            yield place | row


def _directions(
    folders: Sequence[Path], split: str, source: str, languages: set[str]
) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """(source language, target language) -> different pairs of words, in the order of the dictionaries."""
    found: dict[tuple[str, str], dict[tuple[str, str], None]] = defaultdict(dict)
    for path in (path for folder in folders for path in sorted(verified(folder).glob(f"*.{split}.parquet"))):
        for row in read(path).to_pylist():
            direction = row["source_language"], row["target_language"]
            if source in direction and languages.issuperset(direction):
                found[direction][row["source"], row["target"]] = None
    return {direction: list(pairs) for direction, pairs in sorted(found.items())}


def _language(
    model: torch.nn.Module,
    spelling: Spelling,
    language: str,
    words: list[str],
    texts: Texts,
    windows: Texts,
    layers: Sequence[int],
) -> Language:
    """Vectors of a language's words, which are looked for in texts and read in windows of them."""
    words = [word for word in words if spelling.own(word)]
    places = find(texts, words, spelling, spaced=language not in UNSPACED)
    places = moved(places, texts, windows)
    within, mean = context_vectors(model, windows, places, len(words), layers, spelling.specials)
    numbers, contexts = np.unique(places.words, return_counts=True)
    first, last = spelling.specials[0], spelling.specials[-1]
    spelled = [spelling.own(words[number]) for number in numbers]
    alone = word_vectors(model, spelled, layers, (first, last)) if spelled else within[:, numbers]
    known = {words[number]: row for row, number in enumerate(numbers)}
    return Language(known, contexts, {CONTEXTS: within[:, numbers], ALONE: alone}, mean)


def _direction(
    one: Language, other: Language, pairs: Sequence[tuple[str, str]], layers: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """Records of one direction."""
    common = [(word, translation) for word, translation in pairs if word in one.known and translation in other.known]
    sources, targets = (list(dict.fromkeys(words)) for words in (zip(*common, strict=True) if common else ((), ())))
    yield from _counts(one, other, pairs, common, sources, targets)
    if not common:
        return
    gold = _gold(common, sources, targets)
    rows, columns = [one.known[word] for word in sources], [other.known[word] for word in targets]
    ranks, places = [], []
    for kind in (CONTEXTS, ALONE):
        for number, layer in enumerate(layers):
            x, y = one.vectors[kind][number, rows], other.vectors[kind][number, columns]
            for shift in (False, True):
                found = search(x + (other.mean - one.mean)[number] if shift else x, y, gold)
                for similarity, each in found.items():
                    name = definition(kind, similarity, "hubness", shift=shift)
                    yield {"layer": layer, "definition": name, "value": each.hubness, "n": len(targets)}
                    for different, own in ((False, each.ranks), (True, each.different)):
                        ranks.append(own)
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
    found = sorted((source_rows[word], target_rows[translation], word == translation) for word, translation in pairs)
    rows, candidates, identical = (np.array(part) for part in zip(*found, strict=True))
    return Gold(rows, candidates, identical)


def _counts(
    one: Language,
    other: Language,
    pairs: Sequence[tuple[str, str]],
    common: Sequence[tuple[str, str]],
    sources: Sequence[str],
    targets: Sequence[str],
) -> Iterator[dict[str, Any]]:
    """How many words there are, in how many contexts, and which share of the dictionary's does not occur in the text."""
    for name, items in (("pairs", common), ("source words", sources), ("candidates", targets)):
        yield {"definition": name, "value": len(items), "n": len(items)}
    for name, language, side_words in (("source words", one, sources), ("candidates", other, targets)):
        if side_words:
            contexts = language.contexts[[language.known[word] for word in side_words]]
            yield {"definition": f"median contexts of {name}", "value": float(np.median(contexts)), "n": len(side_words)}
    for name, language, side in (("source", one, 0), ("target", other, 1)):
        words = {pair[side] for pair in pairs}
        missing = sum(word not in language.known for word in words) / len(words)
        yield {"definition": f"{name} words without contexts", "value": missing, "n": len(words)}


def _baselines(sources: Sequence[str], targets: Sequence[str], gold: Gold) -> Iterator[dict[str, Any]]:
    """Candidates in random order, and where those that are spelt as the source word come first."""
    n, m = len(sources), len(targets)
    translations = np.bincount(gold.sources, minlength=n)
    same = np.bincount(gold.sources, gold.identical, minlength=n).astype(np.int64)
    spelt = np.isin(sources, targets).astype(np.int64) - same  # 1 where a candidate is spelt the same and is no translation
    left = translations > same  # words that keep a translation without identical pairs
    random = {False: chance(np.full(n, m), translations), True: chance((m - same)[left], (translations - same)[left])}
    first = {False: translations / m, True: ((translations - same) / (m - same))[left]}
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
