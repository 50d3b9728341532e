"""Language identification within groups of languages, from two directions of each group's own subspace: liang2021, figure 5."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from crosslens.encoding.stored_states import by_language, layers
from crosslens.measures.language_identification import language_pairs_of, of_pairs
from crosslens.measures.shared.coordinates import held_out, split_words, subspaces, words_of_seeds
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.definitions import PAIRS
from crosslens.numerics.streams import stream
from crosslens.numerics.windows import BAND, BEYOND, windows

SIZE = 2  # coordinates in a window


def measure(
    subject: Subject, *, corpus: str, groups: Mapping[str, Sequence[str]], random: str, size: int, method: str,
    seeds: Sequence[int], share: float | None, bands: Sequence[int], draws: int, tolerance: float,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield the accuracy over all pairs of languages of a group at the last layer; the `item` of a record is the group.

    groups: name -> languages. random: name of the group of `size` random languages, sampled for each seed (the released code
    has one sample: LI_figure_appendix.py, line 62). bands: ends of the windows of two coordinates. draws: number of random
    windows beyond the rank. share: as for `language_identification`.
    """
    paths = by_language(subject.folder / corpus)
    layer = layers(subject.folder / corpus)[-1]
    common = {"corpus": corpus, "layer": layer, "measure": "language identification", "definition": PAIRS, "subspace": method}
    fit_words, test_words = (words_of_seeds(paths, split, seeds, share) for split in ("train", "test"))
    for seed, states in held_out(paths, layer, test_words).items():
        sample = np.random.default_rng(stream(seed, "languages")).permutation(sorted(paths))[:size].tolist()
        for name, languages in {**groups, random: sorted(sample)}.items():
            group_paths = {language: paths[language] for language in languages}
            fitted = subspaces(group_paths, layer, [method], {seed: fit_words[seed]}, share)[seed][method]
            words = split_words({language: states[language] for language in languages}, seed)
            place = len(fitted.basis), fitted.rank
            group_windows = windows([BAND], bands, *place, size=SIZE, draws=1, seed=seed)
            group_windows += windows([BEYOND], [SIZE], *place, size=SIZE, draws=draws, seed=seed)
            pairs = language_pairs_of(languages, len(languages) ** 2, seed)
            yield from of_pairs(fitted, words, group_windows, pairs, tolerance, **common, seed=seed, item=name)
