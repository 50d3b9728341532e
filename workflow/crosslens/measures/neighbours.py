"""Retrieval of translations by nearest neighbours: ranks, chance, hubness. Figures 1, 3 and 5 of liu2020."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

SIMILARITIES = 1 << 24  # in memory at a time, 64 MB
NEIGHBOURS = 10  # of CSLS (Conneau et al. 2018, section 2.3) and of the k-occurrence distribution
TIE = 1e-6  # similarities no further apart are equal: products of the same vectors differ by less between runs


@dataclass(frozen=True)
class Gold:
    """Translations among the candidates, of n source words: pairs of rows, sorted by source; each source word has one or more."""

    sources: np.ndarray  # (p,)
    candidates: np.ndarray  # (p,)
    identical: np.ndarray  # (p,) bool: both words are spelt the same


@dataclass(frozen=True)
class Found:
    """What one similarity finds."""

    ranks: np.ndarray  # (n,) of the best-ranked translation of each source word, from 1
    different: np.ndarray  # (n,) the same without translations that are spelt the same; NaN where there is no other
    hubness: float  # skewness over candidates of how often one is among the k nearest of a source word


def search(source: np.ndarray, candidates: np.ndarray, gold: Gold, k: int = NEIGHBOURS) -> dict[str, Found]:
    """Rank m candidates (m, d) for n source words (n, d), by cosine and by CSLS.

    The rank of a translation counts the candidates that are no translation and at least as similar (within TIE), so that ties
    count against it; a translation spelt the same takes no place, even where it is not asked for. Zero vectors have cosine 0.
    CSLS is 2 cos(x, y) - r(x) - r(y), r: mean cosine with the k nearest words of the other side (Conneau et al. 2018, equation
    1). Similarities are computed a block of source words at a time, of which at most SIMILARITIES are in memory.
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
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
    ranked = {name: both.cpu().numpy() for name, both in ranks.items()}
    return {name: Found(both[0], both[1], skewness(occurrences[name].cpu().numpy())) for name, both in ranked.items()}


def _blocks(n: int, m: int) -> Iterator[slice]:
    """Rows of n that are compared with m at a time."""
    size = max(1, SIMILARITIES // m)
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def _nearest_means(x: torch.Tensor, y: torch.Tensor, k: int) -> torch.Tensor:
    """Mean cosine of each of x with its k nearest of y, (n,)."""
    return torch.cat([(x[rows] @ y.T).topk(min(k, len(y)), dim=1).values.mean(1) for rows in _blocks(len(x), len(y))])


def _ranks(similarities: torch.Tensor, gold: Gold, rows: slice) -> torch.Tensor:
    """Ranks of all translations and of those spelt differently, (2, b), of the source words `rows`; similarities: (b, m)."""
    pairs = slice(*np.searchsorted(gold.sources, [rows.start, rows.stop]))
    own = torch.from_numpy(gold.sources[pairs] - rows.start).to(similarities.device)
    translations = torch.from_numpy(gold.candidates[pairs]).to(similarities.device)
    values = similarities[own, translations]
    others = similarities.index_put((own, translations), torch.tensor(-torch.inf, device=similarities.device))
    found = []
    for chosen in (torch.ones_like(own, dtype=torch.bool), ~torch.from_numpy(gold.identical[pairs]).to(own.device)):
        best = torch.full((len(similarities),), -torch.inf, device=similarities.device)
        best.scatter_reduce_(0, own[chosen], values[chosen], "amax")
        above = (others >= best[:, None] - TIE).sum(1).double()
        found.append(torch.where(best.isfinite(), above + 1, torch.nan))
    return torch.stack(found)


def skewness(counts: np.ndarray) -> float:
    """Third standardised moment of counts (m,); NaN where all are equal (Radovanović et al. 2010, section 3)."""
    deviations = counts - counts.mean()
    spread = float(np.sqrt(np.mean(deviations**2)))
    return float(np.mean(deviations**3)) / spread**3 if spread else float("nan")


def chance(candidates: np.ndarray, translations: np.ndarray, places: int = 0) -> np.ndarray:
    """Expected 1 / rank of the best-ranked of g translations where m candidates come in random order, (n,).

    candidates: m, translations: g, 1 to m, (n,) each. places: how many other candidates come before all of these. The best rank
    is r with probability C(m - r, g - 1) / C(m, g).
    """
    known: dict[tuple[int, int], float] = {}
    for m, g in {*zip(candidates.tolist(), translations.tolist(), strict=True)}:
        ranks = np.arange(1, m - g + 2)
        ratios = (m - ranks[:-1] - g + 1) / (m - ranks[:-1])  # of the probabilities of r + 1 and r
        known[m, g] = float((g / m * np.cumprod([1.0, *ratios]) / (ranks + places)).sum())
    return np.array([known[pair] for pair in zip(candidates.tolist(), translations.tolist(), strict=True)])
