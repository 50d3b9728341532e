"""Language identification from vectors of subwords in running text, by encoders and static embeddings.

liu2020, section 4.1. A static vector does not depend on the subword's context. A subword that occurs in only one language
identifies that language by itself, so the question is whether the vectors of other subwords do. No probe is tested on a subword
that it was trained on.
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
from crosslens.numerics.probe import convergence, draw_evenly, logistic_probe, split_by_text
from crosslens.numerics.streams import stream


def measure(
    subject: Subject, *, corpora: Mapping[str, str], split: str, window: int | None, within: Literal["page", "text"],
    subwords: int, penalties: Sequence[float], tolerance: float, texts: int | None = None,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield how often probes identify the language of an occurrence of a subword, and baselines that need no vector.

    Scores are by language and over all. For each language, `subwords` random occurrences are sampled evenly from its different
    subwords: once from all subwords, once from those that occur in the text of several languages.

    corpora, texts, window, within: as for `retrieval`. penalties, tolerance: of `logistic_probe`.
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
        predicted, of_fits = identify(
            states, languages, subword_ids, penalties=penalties, tolerance=tolerance, seed=stream(subject.seed, "halves")
        )
        for code in ["all", *rows]:
            inside = np.full(len(languages), code == "all") | (languages == code)
            of_code = row | {"language": code, "n": int(inside.sum())}
            right = (predicted == languages)[inside]
            yield of_code | {"definition": definition} | share_record(right, subword_ids[inside]) | of_fits
            yield of_code | {"definition": f"{definition}; {CHANCE}", "value": 1 / len(rows)}
        yield row | {
            "language": "all", "definition": f"{definition}; {ALONE}", "value": highest_share(subword_ids, languages),
            "n": len(subword_ids),
        }  # fmt: skip


def draw_places(texts: Texts, subset: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Return the rows of at most `most` random occurrences of some subwords, sampled evenly from the different subwords.

    Rows are indices among all subwords of the texts, ascending. subset: (vocabulary,) bool, the subwords to sample, none of
    them special.
    """
    rows = np.flatnonzero(subset[texts.subwords])
    chosen: np.ndarray = rows[draw_evenly(texts.subwords[rows], most, seed)]
    return chosen


def states_of_places(encoder: nn.Module, texts: Texts, rows: np.ndarray) -> np.ndarray:
    """Return the last hidden states of some subwords, (n, d); only the texts that contain them are encoded.

    rows: (n,), index of each among all subwords of the texts, ascending.
    """
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
    """Return the language that a probe predicts for each occurrence, (n,), and the convergence of the two fits.

    Each half of the different subwords is tested by a probe that was trained on the other half. states: (n, d). languages,
    subwords: (n,).
    """
    half, predicted = split_by_text(subwords, 0.5, seed), np.empty_like(languages)
    fits = []
    for test in (half, ~half):
        (fitted,) = logistic_probe(
            states[~test], languages[~test], subwords[~test], [states[test]], penalties=penalties, tolerance=tolerance, seed=seed
        )
        predicted[test] = fitted.predicted
        fits.append(fitted)
    return predicted, convergence(fits)


def highest_share(subwords: np.ndarray, languages: np.ndarray) -> float:
    """Return the accuracy of the best guess from the subword alone: the language in which it occurs most often.

    No static vector of a subword can do better. subwords, languages: (n,), of each occurrence.
    """
    codes = np.unique(languages, return_inverse=True)[1]
    counts = np.zeros((len(np.unique(subwords)), codes.max() + 1), np.int64)
    np.add.at(counts, (np.unique(subwords, return_inverse=True)[1], codes), 1)
    return float(counts.max(1).sum() / len(subwords))
