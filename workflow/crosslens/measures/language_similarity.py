"""How well clusters of the means of languages agree with their genera and families: liang2021, section 4.3."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist
from sklearn.metrics import adjusted_mutual_info_score, v_measure_score

from crosslens.encoding.stored import by_language, layers
from crosslens.measures.coordinates import held_out, subspaces
from crosslens.measures.given import Given
from crosslens.numerics.definitions import AMI_CENTRED, AMI_UNCENTRED, V_CENTRED, V_CHANCE, V_UNCENTRED
from crosslens.numerics.streams import stream
from crosslens.numerics.windows import FIRST, Window, of_layer

READS = ("states",)


def measure(
    given: Given, *, corpus: str, methods: Sequence[str], seeds: Sequence[int], share: float, classes: Mapping[str, Any],
    dimensions: Sequence[int], bands: Sequence[int], layer_dimension: int, band: int, draws: int, shuffles: int,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Agreement for each seed with a fit and random windows of its own; the kind of classes in the place of the item.

    classes: kind -> language -> class; languages whose class no other has are left out (LS_figure1n3.py, lines 36-43). Windows as
    in language_identification, but for those of a single coordinate: there a cosine distance is 0 or 2, so that clusters are the
    order in which ties are broken. Of the first directions at the last layer also V-measure against shuffled classes, as the
    level of chance.
    """
    paths = by_language(given.folder / corpus)
    stored = layers(given.folder / corpus)
    for layer in stored:
        fits = subspaces(paths, layer, methods, seeds, share)
        means = {language: vectors.mean(0, dtype=np.float64) for language, vectors in held_out(paths, layer).items()}
        for seed, method in ((seed, method) for seed in seeds for method in methods):
            subspace = fits[seed][method]
            shown = of_layer(
                layer == stored[-1], dimensions=dimensions, bands=bands, layer_dimension=layer_dimension,
                width=len(subspace.basis), rank=subspace.rank, size=band, draws=draws, seed=seed,
            )  # fmt: skip
            shown = [window for window in shown if len(window.draws[0]) > 1]
            common = {"corpus": corpus, "seed": seed, "layer": layer, "subspace": method, "measure": "language similarity",
                      "language": "all", "split": "test"}  # fmt: skip
            for kind, class_of in classes.items():
                kept = with_company({language: class_of[language] for language in means})
                if len(set(kept.values())) < 2:
                    continue
                points = np.array([means[language] for language in kept])
                truth = np.unique([*kept.values()], return_inverse=True)[1]
                for centred, definitions in ((True, (V_CENTRED, AMI_CENTRED)), (False, (V_UNCENTRED, AMI_UNCENTRED))):
                    coordinates = subspace.coordinates(points, centred=centred)
                    for window in shown:
                        leveled = centred and layer == stored[-1] and window.kind == FIRST
                        found = agreements(coordinates, truth, window, shuffles if leveled else 0, seed)
                        row = common | {"item": kind, "window": window.kind, "x": window.x, "n": len(kept)}
                        names = [*definitions, V_CHANCE][: len(found)]
                        yield from (row | {"definition": name, "value": value} for name, value in zip(names, found, strict=True))


def with_company(class_of: Mapping[str, str]) -> dict[str, str]:
    """Language -> class, without languages whose class has no other, and without those that have none (constructed ones)."""
    sizes = Counter(class_of.values())
    return {language: name for language, name in class_of.items() if name and sizes[name] > 1}


def agreements(coordinates: np.ndarray, truth: np.ndarray, window: Window, shuffles: int, seed: int) -> list[float]:
    """V-measure, adjusted mutual information and, where there are shuffles, the mean V-measure against shuffled truth.

    Means over the window's draws. coordinates (n, d) of languages, truth (n,) numbers of classes.
    """
    generator, found = np.random.default_rng(stream(seed, "shuffle")), []
    for draw in window.draws:
        clusters = single_linkage(coordinates[:, draw], truth.max() + 1)
        chance = [v_measure_score(generator.permutation(truth), clusters) for _ in range(shuffles)]
        row = [v_measure_score(truth, clusters), adjusted_mutual_info_score(truth, clusters)]
        found.append([*row, *([float(np.mean(chance))] if chance else [])])
    return [float(value) for value in np.mean(found, 0)]


def single_linkage(points: np.ndarray, count: int) -> np.ndarray:
    """Clusters (n,) of points (n, d) by cosine distance, at most `count` (LS_figure1n3.py, lines 17-19)."""
    distances = np.clip(np.nan_to_num(pdist(points, "cosine"), nan=1.0), 0, None)  # of a point at 0 no direction is known
    clusters: np.ndarray = fcluster(linkage(distances, "single"), count, "maxclust")
    return clusters
