"""Language identification from windows of coordinates, by linear probes: liang2021, section 4.1."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from crosslens.measures.logistic import LEFT_OUT, fit

AT_ONCE = 2**25  # coordinates of pairs of languages in memory at once


def first(x: int) -> np.ndarray:
    """Window [0:x], the first x coordinates."""
    return np.arange(x)


def following(x: int, width: int) -> np.ndarray:
    """Window [x:2x], cut at the width."""
    return np.arange(x, min(2 * x, width))


def band(x: int, size: int = 10) -> np.ndarray:
    """Window [x - size:x], as in figure 2."""
    return np.arange(x - size, x)


def contiguous(x: int, width: int, low: int, high: int, generator: np.random.Generator) -> np.ndarray:
    """A window of x consecutive coordinates that starts at random in [low, high), cut at the width.

    The paper's "random dimensions": the released code starts in [x, width - x) for figure 1 (densray_lda.py, lines 29 and 36)
    and in [105, width - 10) for figure 2 (LI_figure2.py, line 102), so that the first coordinates are never drawn.
    """
    start = int(generator.integers(low, high))
    return np.arange(start, min(start + x, width))


def scattered(x: int, width: int, generator: np.random.Generator) -> np.ndarray:
    """Random coordinates, x of all, without replacement."""
    return np.sort(generator.choice(width, x, replace=False))


@dataclass(frozen=True)
class Accuracies:
    """Accuracy of binary probes on test items, and how their fits ended; each array (probes, windows)."""

    values: np.ndarray
    gradients: np.ndarray  # largest component, in absolute value, where the fit ended
    tolerance: float

    @property
    def converged(self) -> np.ndarray:
        """(probes, windows) bool."""
        return self.gradients <= self.tolerance


def language_pairs(
    train: Mapping[str, np.ndarray], test: Mapping[str, np.ndarray], pairs: Sequence[tuple[str, str]],
    windows: Sequence[np.ndarray], *, penalty: float = 1.0, tolerance: float = 1e-5, device: str = "cpu",
) -> Accuracies:  # fmt: skip
    """A probe for each pair of languages and each window of coordinates.

    train, test: coordinates by language, (m, d), m of any size. penalty: scikit-learn's C. tolerance: see logistic.py.
    """
    columns = np.unique(np.concatenate(windows))
    places = [np.searchsorted(columns, window) for window in windows]
    longest = max(sum(len(train[language]) for language in pair) for pair in pairs)
    values, gradients = np.zeros((2, len(pairs), len(windows)))
    size = max(1, AT_ONCE // (longest * len(columns)))
    for start in range(0, len(pairs), size):
        some = slice(start, start + size)
        states, classes = _side_by_side(train, pairs[some], columns)
        probes = fit(states, classes[:, None], places, penalties=penalty, tolerance=tolerance, device=device)
        states, classes = _side_by_side(test, pairs[some], columns)
        correct = (probes.predict(states)[:, :, 0] == classes[:, None]).sum(2)
        values[some] = correct / (classes != LEFT_OUT).sum(1, keepdims=True)
        gradients[some] = probes.gradients[:, :, 0]
    return Accuracies(values, gradients, tolerance)


def one_against_rest(
    train: Mapping[str, np.ndarray], test: Mapping[str, np.ndarray], windows: Sequence[np.ndarray],
    *, penalty: float = 1.0, tolerance: float = 1e-5, device: str = "cpu",
) -> tuple[np.ndarray, Accuracies]:  # fmt: skip
    """A probe for each language against all others and each window; arguments as for `language_pairs`.

    Returns the accuracy (= micro F1) of naming the language whose probe has the highest score, (windows,), and the accuracies of
    the probes, (languages, windows), languages in the order of `train`.
    """
    numbers = np.arange(len(train))[:, None]
    classes = np.concatenate([np.full(len(train[name]), number) for number, name in enumerate(train)])
    truth = np.concatenate([np.full(len(test[name]), number) for number, name in enumerate(train)])
    states = np.concatenate([train[name] for name in train])[None]
    probes = fit(states, (classes == numbers)[None], windows, penalties=penalty, tolerance=tolerance, device=device)
    logits = probes.logits(np.concatenate([test[name] for name in train])[None])[0, :, :, 0].cpu().numpy()
    values = ((logits > 0) == (truth == numbers)).mean(2).T
    return (logits.argmax(1) == truth).mean(1), Accuracies(values, probes.gradients[0].T, tolerance)


def _side_by_side(
    states: Mapping[str, np.ndarray], pairs: Sequence[tuple[str, str]], columns: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates (pairs, n, columns) and classes (pairs, n); shorter pairs are padded with items that are left out."""
    sizes = [[len(states[language]) for language in pair] for pair in pairs]
    dtype = np.result_type(*{array.dtype for array in states.values()})
    padded = np.zeros((len(pairs), max(map(sum, sizes)), len(columns)), dtype)
    classes = np.full(padded.shape[:2], LEFT_OUT)
    for number, ((a, b), (m, n)) in enumerate(zip(pairs, sizes, strict=True)):
        padded[number, :m], padded[number, m : m + n] = states[a][:, columns], states[b][:, columns]
        classes[number, :m], classes[number, m : m + n] = 0, 1
    return padded, classes
