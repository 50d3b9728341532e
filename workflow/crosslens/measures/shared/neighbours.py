"""Retrieval of translations by nearest neighbours: ranks, chance, hubness. Figures 1, 3 and 5 of liu2020."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

from crosslens.encoding.encoders.load import default_device
from crosslens.numerics.dispersion import skewness

SIMILARITIES = 1 << 24  # similarities in memory at a time, 64 MB
NEIGHBOURS = 10  # k of CSLS (Conneau et al. 2018, section 2.3) and of the k-occurrence distribution
TIE = 1e-6  # similarities that differ by no more count as equal: rounding changes products of the same vectors by less


@dataclass(frozen=True)
class Gold:
    """Translations of n source words among the candidates: p pairs of rows, sorted by source word; each has at least one."""

    sources: np.ndarray  # (p,) row of the source word
    candidates: np.ndarray  # (p,) row of the translation
    identical: np.ndarray  # (p,) bool: both words are spelt the same


@dataclass(frozen=True)
class Ranking:
    """Ranks of translations under one similarity, and its hubness."""

    ranks: np.ndarray  # (n,) rank of the best-ranked translation of each source word, from 1
    different: np.ndarray  # (n,) rank of the best translation that is spelt differently; NaN if there is none
    hubness: float  # skewness over candidates of how often a candidate is among the k nearest of a source word


def search(source: np.ndarray, candidates: np.ndarray, gold: Gold, k: int = NEIGHBOURS) -> dict[str, Ranking]:
    """Return the ranking of m candidates (m, d) for n source words (n, d), by cosine and by CSLS.

    The rank of a translation is 1 plus the number of candidates that are at least as similar (within TIE) and are not
    translations themselves. Ties therefore count against a translation, and one that is spelt the same never takes a rank from
    another. Zero vectors have cosine 0. CSLS is 2 cos(x, y) - r(x) - r(y), where r is the mean cosine with the k nearest words
    of the other language (Conneau et al. 2018, equation 1). At most SIMILARITIES similarities are in memory at a time.
    """
    device = default_device()
    x, y = (torch.nn.functional.normalize(torch.from_numpy(side).to(device, torch.float32)) for side in (source, candidates))
    near_x, near_y = _nearest_means(x, y, k), _nearest_means(y, x, k)
    adjusted: dict[str, Callable[[torch.Tensor, slice], torch.Tensor]] = {
        "cosine": lambda cosines, rows: cosines,
        "csls": lambda cosines, rows: 2 * cosines - near_x[rows, None] - near_y,
    }
    ranks = {name: torch.empty(2, len(x), dtype=torch.float64, device=device) for name in adjusted}
    occurrences = {name: torch.zeros(len(y), dtype=torch.float64, device=device) for name in adjusted}
    for rows in _blocks(len(x), len(y)):
        cosines = x[rows] @ y.T
        for name, adjust in adjusted.items():
            similarities = adjust(cosines, rows)
            nearest = similarities.topk(min(k, len(y)), dim=1).indices.flatten()
            occurrences[name] += torch.bincount(nearest, minlength=len(y))
            ranks[name][:, rows] = _ranks(similarities, gold, rows)
    ranked = {name: rank.cpu().numpy() for name, rank in ranks.items()}
    return {name: Ranking(rank[0], rank[1], skewness(occurrences[name].cpu().numpy())) for name, rank in ranked.items()}


def _blocks(n: int, m: int) -> Iterator[slice]:
    """Yield blocks of n rows whose similarities with m vectors fit in memory."""
    size = max(1, SIMILARITIES // m)
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def _nearest_means(x: torch.Tensor, y: torch.Tensor, k: int) -> torch.Tensor:
    """Return the mean cosine of each row of x with its k nearest rows of y, (n,)."""
    return torch.cat([(x[rows] @ y.T).topk(min(k, len(y)), dim=1).values.mean(1) for rows in _blocks(len(x), len(y))])


def _ranks(similarities: torch.Tensor, gold: Gold, rows: slice) -> torch.Tensor:
    """Return the best rank of all translations, and of those spelt differently, of b source words, (2, b).

    similarities: (b, m) of the source words in `rows` with m candidates.
    """
    pairs = slice(*np.searchsorted(gold.sources, [rows.start, rows.stop]))
    sources = torch.from_numpy(gold.sources[pairs] - rows.start).to(similarities.device)
    translations = torch.from_numpy(gold.candidates[pairs]).to(similarities.device)
    values = similarities[sources, translations]
    distractors = similarities.index_put((sources, translations), torch.tensor(-torch.inf, device=similarities.device))
    ranks = []
    for chosen in (torch.ones_like(sources, dtype=torch.bool), ~torch.from_numpy(gold.identical[pairs]).to(sources.device)):
        best = torch.full((len(similarities),), -torch.inf, device=similarities.device)
        best.scatter_reduce_(0, sources[chosen], values[chosen], "amax")
        above = (distractors >= best[:, None] - TIE).sum(1).double()
        ranks.append(torch.where(best.isfinite(), above + 1, torch.nan))
    return torch.stack(ranks)


def chance(candidates: np.ndarray, translations: np.ndarray, places: int = 0) -> np.ndarray:
    """Return the expected 1 / rank of the best-ranked of g translations among m candidates in random order, (n,).

    candidates: m of each word, (n,). translations: g of each word, 1 to m, (n,). places: number of further candidates that
    precede all of these. The best rank is r with probability C(m - r, g - 1) / C(m, g).
    """
    expectations: dict[tuple[int, int], float] = {}
    for m, g in {*zip(candidates.tolist(), translations.tolist(), strict=True)}:
        ranks = np.arange(1, m - g + 2)
        ratios = (m - ranks[:-1] - g + 1) / (m - ranks[:-1])  # probability of r + 1 divided by that of r
        expectations[m, g] = float((g / m * np.cumprod([1.0, *ratios]) / (ranks + places)).sum())
    return np.array([expectations[pair] for pair in zip(candidates.tolist(), translations.tolist(), strict=True)])
