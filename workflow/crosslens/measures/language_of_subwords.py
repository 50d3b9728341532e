"""Language identification from the vectors of subwords in running text, by encoders and by static embeddings (liu2020, 4.1).

A static vector is the same wherever its subword stands. Where a subword occurs in one language alone, it tells the language by
itself: what is asked is whether vectors of the others do. A probe is never tested on a subword that it has learnt from.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from crosslens.encoding.encoders.load import default_device, load_encoder
from crosslens.encoding.occurrences import Occurrences, context_vectors
from crosslens.encoding.packing import first_texts, windows_of
from crosslens.encoding.texts import Texts, load_subwords
from crosslens.jobs.checksums import verified
from crosslens.jobs.errors import DataError
from crosslens.measures.shared.conversion import share_record, vocabulary
from crosslens.measures.shared.identification_terms import ALONE, CHANCE, EVERY, SEVERAL
from crosslens.measures.shared.shift_terms import ACCURACY
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.probe import draw_evenly, logistic_probe, split_by_text
from crosslens.numerics.streams import stream


def measure(
    subject: Subject, *, corpora: Mapping[str, str], split: str, window: int | None, within: Literal["page", "text"],
    subwords: int, penalties: Sequence[float], tolerance: float, texts: int | None = None,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield how often probes name the language of a subword's place, by language and over all, and what needs no vector.

    corpora, texts, window, within: as of `retrieval`. Of each language `subwords` places are drawn at random, evenly among its
    different subwords: among all, and among those that occur in the text of several languages.
    """
    torch.set_num_threads(subject.threads)
    encoder = load_encoder(subject.folder, subject.weights).to(default_device())
    files: dict[str, list[Path]] = defaultdict(list)
    for path in (path for corpus in corpora for path in sorted(verified(subject.tokens[corpus]).glob(f"*.{split}.parquet"))):
        files[path.name.split(".")[0]].append(path)
    windows = {code: windows_of(first_texts(load_subwords(files[code]), texts), window, within) for code in sorted(files)}
    codes = list(windows)
    size = int(encoder.config.vocab_size)  # type: ignore[union-attr, arg-type]
    vocabularies = {code: vocabulary(part, size) for code, part in windows.items()}
    several = np.sum([*vocabularies.values()], axis=0) > 1
    row = {
        "item": "language of subwords", "corpus": next(iter(corpora)), "split": split, "measure": ACCURACY,
        "layer": int(encoder.config.num_hidden_layers),  # type: ignore[union-attr, arg-type]
    }  # fmt: skip
    for definition, chosen in ((EVERY, np.ones(size, bool)), (SEVERAL, several)):
        rows = {
            code: draw_places(windows[code], vocabularies[code] & chosen, subwords, stream(subject.seed, "subwords", code))
            for code in codes
        }
        rows = {code: places for code, places in rows.items() if len(places)}
        languages = np.repeat(list(rows), [len(places) for places in rows.values()])
        subword_ids = np.concatenate([windows[code].subwords[places] for code, places in rows.items()])
        if len(rows) < 2:
            raise DataError(
                f"language_of_subwords: expected several languages with subwords to draw ({definition}), found {len(rows)}: "
                "use more text or other languages"
            )
        states = np.concatenate([states_of_places(encoder, windows[code], places) for code, places in rows.items()])
        predicted, convergence = identify(
            states, languages, subword_ids, penalties=penalties, tolerance=tolerance, seed=stream(subject.seed, "halves")
        )
        for code in ["all", *rows]:
            inside = np.full(len(languages), code == "all") | (languages == code)
            of_code = row | {"language": code, "n": int(inside.sum())}
            right = (predicted == languages)[inside]
            yield of_code | {"definition": definition} | share_record(right, subword_ids[inside]) | convergence
            yield of_code | {"definition": f"{definition}; {CHANCE}", "value": 1 / len(rows)}
        yield row | {
            "language": "all", "definition": f"{definition}; {ALONE}", "value": highest_share(subword_ids, languages),
            "n": len(subword_ids),
        }  # fmt: skip


def draw_places(texts: Texts, subset: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Return the rows, ascending, of at most so many places of some subwords, evenly among the different ones.

    subset: (vocabulary,) bool, whether a subword is one of these, of which none is special.
    """
    rows = np.flatnonzero(subset[texts.subwords])
    chosen: np.ndarray = rows[draw_evenly(texts.subwords[rows], most, seed)]
    return chosen


def states_of_places(encoder: nn.Module, texts: Texts, rows: np.ndarray) -> np.ndarray:
    """Return the last hidden states of some subwords, (n, d), from those texts alone that they stand in. rows: (n,) ascending."""
    top = int(encoder.config.num_hidden_layers)  # type: ignore[union-attr, arg-type]
    owners = np.searchsorted(texts.subword_offsets, rows, side="right") - 1
    chosen, places = np.unique(owners, return_inverse=True)
    part = texts.take(chosen)
    moved = rows - texts.subword_offsets[owners] + part.subword_offsets[places]
    occurrences = Occurrences(np.arange(len(rows)), moved, np.ones(len(rows), np.int64))
    specials = part.subwords[part.end_rows(slice(1))[0]].tolist()
    states: np.ndarray = context_vectors(encoder, part, occurrences, len(rows), [top], specials)[0][0]
    return states


def identify(
    states: np.ndarray, languages: np.ndarray, subwords: np.ndarray, *, penalties: Sequence[float], tolerance: float, seed: int
) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the language that a probe names for each place, (n,), and the convergence of the two fits.

    states: (n, d); languages, subwords: (n,). Each half of the different subwords is tested by a probe that has learnt from the
    other half.
    """
    half, predicted = split_by_text(subwords, 0.5, seed), np.empty_like(languages)
    fits = []
    for test in (half, ~half):
        (fitted,) = logistic_probe(
            states[~test], languages[~test], subwords[~test], [states[test]], penalties=penalties, tolerance=tolerance, seed=seed
        )
        predicted[test] = fitted.predicted
        fits.append(fitted)
    return predicted, {
        "gradient": max(fitted.gradient for fitted in fits), "converged": all(fitted.converged for fitted in fits)
    }  # fmt: skip


def highest_share(subwords: np.ndarray, languages: np.ndarray) -> float:
    """Return the share of places with the language in which their subword has most places: no vector of it alone tells more."""
    codes = np.unique(languages, return_inverse=True)[1]
    counts = np.zeros((len(np.unique(subwords)), codes.max() + 1), np.int64)
    np.add.at(counts, (np.unique(subwords, return_inverse=True)[1], codes), 1)
    return float(counts.max(1).sum() / len(subwords))
