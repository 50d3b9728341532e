"""Agreement of clusters of language means with genera and families: liang2021, section 4.3."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist
from sklearn.metrics import adjusted_mutual_info_score, v_measure_score

from crosslens.encoding.stored_states import by_language, layers
from crosslens.measures.shared.coordinates import held_out, subspaces, words_of_seeds
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.definitions import AMI_CENTRED, AMI_UNCENTRED, V_CENTRED, V_CHANCE, V_UNCENTRED
from crosslens.numerics.streams import stream
from crosslens.numerics.windows import FIRST, Window, of_layer


def measure(
    subject: Subject, *, corpus: str, methods: Sequence[str], seeds: Sequence[int], share: float | None,
    classes: Mapping[str, Any], dimensions: Sequence[int], bands: Sequence[int], layer_dimension: int, band: int, draws: int,
    shuffles: int,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield the agreement of clusters of language means with classes; each seed has its own fit and random windows.

    The `item` of a record is the kind of classes. Windows are those of language_identification, except windows of a single
    coordinate: there a cosine distance is 0 or 2, so clusters would depend on how ties are broken. For the first directions at
    the last layer there is also a chance level, the V-measure against shuffled classes.

    classes: kind -> language -> class; languages that are alone in their class are left out (LS_figure1n3.py, lines 36-43).
    shuffles: number of shuffled orders of the classes per window.
    """
    paths = by_language(subject.folder / corpus)
    stored_layers = layers(subject.folder / corpus)
    fit_words, test_words = (words_of_seeds(paths, split, seeds, share) for split in ("train", "test"))
    for layer in stored_layers:
        fits = subspaces(paths, layer, methods, fit_words, share)
        means_of_seeds = {
            seed: {language: vectors.mean(0, dtype=np.float64) for language, vectors in states.items()}
            for seed, states in held_out(paths, layer, test_words).items()
        }
        for seed, method in ((seed, method) for seed in seeds for method in methods):
            subspace, means = fits[seed][method], means_of_seeds[seed]
            layer_windows = of_layer(
                layer == stored_layers[-1], dimensions=dimensions, bands=bands, layer_dimension=layer_dimension,
                width=len(subspace.basis), rank=subspace.rank, size=band, draws=draws, seed=seed,
            )  # fmt: skip
            layer_windows = [window for window in layer_windows if len(window.draws[0]) > 1]
            common = {"corpus": corpus, "seed": seed, "layer": layer, "subspace": method, "measure": "language similarity",
                      "language": "all", "split": "test"}  # fmt: skip
            for kind, class_of in classes.items():
                class_of_language = with_company({language: class_of[language] for language in means})
                if len(set(class_of_language.values())) < 2:
                    continue
                points = np.array([means[language] for language in class_of_language])
                truth = np.unique([*class_of_language.values()], return_inverse=True)[1]
                for centred, definitions in ((True, (V_CENTRED, AMI_CENTRED)), (False, (V_UNCENTRED, AMI_UNCENTRED))):
                    coordinates = subspace.coordinates(points, centred=centred)
                    for window in layer_windows:
                        leveled = centred and layer == stored_layers[-1] and window.kind == FIRST
                        values = agreements(coordinates, truth, window, shuffles if leveled else 0, seed)
                        row = common | {"item": kind, "window": window.kind, "x": window.x, "n": len(class_of_language)}
                        names = [*definitions, V_CHANCE][: len(values)]
                        yield from (row | {"definition": name, "value": value} for name, value in zip(names, values, strict=True))


def with_company(class_of: Mapping[str, str]) -> dict[str, str]:
    """Return language -> class, without languages that are alone in their class or have none (constructed languages)."""
    sizes = Counter(class_of.values())
    return {language: name for language, name in class_of.items() if name and sizes[name] > 1}


def agreements(coordinates: np.ndarray, truth: np.ndarray, window: Window, shuffles: int, seed: int) -> list[float]:
    """Return V-measure, adjusted mutual information and, if shuffles > 0, the mean V-measure against shuffled truth.

    Each is a mean over the window's draws. coordinates: (n, d) of n languages; truth: (n,) numbers of classes.
    """
    generator, rows = np.random.default_rng(stream(seed, "shuffle")), []
    for draw in window.draws:
        clusters = single_linkage(coordinates[:, draw], truth.max() + 1)
        chance = [v_measure_score(generator.permutation(truth), clusters) for _ in range(shuffles)]
        row = [v_measure_score(truth, clusters), adjusted_mutual_info_score(truth, clusters)]
        rows.append([*row, *([float(np.mean(chance))] if chance else [])])
    return [float(value) for value in np.mean(rows, 0)]


def single_linkage(points: np.ndarray, count: int) -> np.ndarray:
    """Return the cluster of each point, (n,), at most `count` of them, by cosine distance (LS_figure1n3.py, lines 17-19).

    points: (n, d).
    """
    distances = np.clip(np.nan_to_num(pdist(points, "cosine"), nan=1.0), 0, None)  # the origin has no direction
    clusters: np.ndarray = fcluster(linkage(distances, "single"), count, "maxclust")
    return clusters
