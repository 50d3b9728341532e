"""CKA of all layers and languages from dumped states: ours against loops that build both Gram matrices for each pair.

    python benchmarks/cka.py                        13 layers, 17 languages beside the reference, 1,000 pairs, d = 768
    python benchmarks/cka.py --draws 200            with shuffled pairings

States are made up (what sentences share, a mean vector of each language, a falling spectrum) and lie in Parquet files as the
workflow dumps them; ours reads them, the loops get them read. Each arm computes all five definitions: ours of all pairs, with
jackknife intervals, which the loops lack; the loops of a few pairs, evenly taken. `pasted` is what is commonly passed around and
what muller2021's code runs: centring by products with H, and kernels anew for each of three HSIC. `careful` builds each side's
kernel once a definition and centres by means. Values are compared before anything is printed.
On a busy machine `--clock cpu --threads 1` counts the processor's seconds instead of the wall's.
"""

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import common
import numpy as np
import pyarrow.parquet as pq
from crosslens.encoding import stored as files
from crosslens.measures.cka import DEFINITIONS, Definition, compare
from threadpoolctl import threadpool_limits

OURS, PASTED, CAREFUL = "ours, read from files, with intervals", "pasted loop", "careful loop"


class Dumped(Sequence[np.ndarray]):
    """Layers of one language, read when asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.layers = pq.read_schema(path).names[1:]

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, layer: int) -> np.ndarray:  # type: ignore[override]
        column = pq.read_table(self.path, columns=[self.layers[layer]])[0].combine_chunks()
        return column.flatten().to_numpy().reshape(len(column), -1)


def dump(folder: Path, languages: int, layers: int, n: int, d: int) -> list[Path]:
    """Made-up states of the reference and of the languages."""
    generator = np.random.default_rng(0)
    spectrum = np.exp(-np.arange(d) / (d / 8)).astype(np.float32)
    shared = [generator.normal(size=(n, d)).astype(np.float32) for _ in range(layers)]
    paths = []
    for language in range(languages + 1):
        states = {}
        for layer, common_part in enumerate(shared):
            own = generator.standard_normal((n, d), np.float32)
            states[f"layer_{layer}"] = (common_part + own + generator.standard_normal(d, np.float32)) * spectrum
        paths.append(folder / f"language_{language}.parquet")
        files.write({"id": np.arange(n)}, states, paths[-1], "float32")
    return paths


def kernel(x: np.ndarray, how: Definition) -> np.ndarray:
    products = x @ x.T
    if how.kernel == "linear":
        return products
    squares = np.diag(products)
    distances = squares - products + (squares - products).T
    return np.exp(-distances / (2 * np.median(distances[distances != 0])))


def pasted_hsic(x: np.ndarray, y: np.ndarray, how: Definition) -> float:
    k, m, n = kernel(x, how), kernel(y, how), len(x)
    if how.centring == "none":
        return float(np.sum(k * m))
    if how.centring == "centred":
        h = np.eye(n) - np.ones((n, n)) / n
        return float(np.sum(np.dot(np.dot(h, k), h) * np.dot(np.dot(h, m), h)))
    np.fill_diagonal(k, 0)
    np.fill_diagonal(m, 0)
    both = k @ m
    return float(np.trace(both) + k.sum() * m.sum() / ((n - 1) * (n - 2)) - 2 * both.sum() / (n - 2))


def pasted(x: np.ndarray, y: np.ndarray, how: Definition) -> float:
    return pasted_hsic(x, y, how) / np.sqrt(pasted_hsic(x, x, how) * pasted_hsic(y, y, how))


def careful(x: np.ndarray, y: np.ndarray, how: Definition) -> float:
    sides = []
    for side in (x, y):
        k, n = kernel(side, how), len(side)
        if how.centring == "centred":
            means = k.mean(0)
            k = k - means - means[:, None] + means.mean()
        elif how.centring == "unbiased":
            np.fill_diagonal(k, 0)
            means = k.sum(0) / (n - 2)
            k = k - means - means[:, None] + means.sum() / (n - 1)
            np.fill_diagonal(k, 0)
        sides.append(k)
    k, m = sides
    return float(np.vdot(k, m) / np.sqrt(np.vdot(k, k) * np.vdot(m, m)))


def looped(measure: Callable[..., float], x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """All definitions of one pair of matrices."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    return {
        name: float(np.mean([measure(x[window], y[window], how) for window in how.windows(len(x))]))
        for name, how in DEFINITIONS.items()
    }


def main() -> None:
    """Time the arms in turn, and compare their values."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--layers", type=int, default=13)
    parser.add_argument("--languages", type=int, default=17, help="beside the reference")
    parser.add_argument("--pairs", type=int, default=1000, help="sentence pairs")
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--draws", type=int, default=0, help="shuffled pairings in ours; the loops have none")
    parser.add_argument("--looped", type=int, default=3, help="pairs of matrices that the loops do a repeat")
    parser.add_argument("--repeats", type=int, default=3)
    common.machine_arguments(parser)
    settings = parser.parse_args()
    clock = common.set_machine(settings)
    with tempfile.TemporaryDirectory() as temporary, threadpool_limits(settings.threads):
        paths = dump(Path(temporary), settings.languages, settings.layers, settings.pairs, settings.width)
        reference, *others = (Dumped(path) for path in paths)
        cells = settings.languages * settings.layers
        chosen = [divmod(i * cells // settings.looped, settings.layers) for i in range(settings.looped)]
        matrices = [(reference[layer], others[language][layer]) for language, layer in chosen]
        seconds: list[float] = []
        values: dict[str, list[dict[str, float]]] = {}

        def ours() -> float:
            started = clock()
            named = {path.stem: states for path, states in zip(paths[1:], others, strict=True)}
            found = compare(reference, named, draws=settings.draws, threads=settings.threads)
            seconds.append(clock() - started)
            values[OURS] = [{name: float(one.value[cell]) for name, one in found.items()} for cell in chosen]
            return 60 * cells / seconds[-1]

        def loop(name: str, measure: Callable[..., float]) -> Callable[[], float]:
            def timed() -> float:
                started = clock()
                values[name] = [looped(measure, x, y) for x, y in matrices]
                return 60 * len(matrices) / (clock() - started)

            return timed

        arms = {OURS: ours, PASTED: loop(PASTED, pasted), CAREFUL: loop(CAREFUL, careful)}
        rates = common.in_turn(arms, settings.repeats)
    for name in (PASTED, CAREFUL):
        for mine, theirs in zip(values[OURS], values[name], strict=True):
            for definition in DEFINITIONS:
                np.testing.assert_allclose(mine[definition], theirs[definition], atol=1e-9, err_msg=f"{name}, {definition}")
    print(f"{settings.layers} layers, {settings.languages} languages, {settings.pairs} sentence pairs, d = {settings.width}, "
          f"{settings.draws} shuffled pairings, all {len(DEFINITIONS)} definitions, {common.machine(settings)}")  # fmt: skip
    print(f"ours: {', '.join(f'{value:.1f}' for value in seconds)} s for all; values equal within 1e-9")
    print(common.compare(rates, "pairs of matrices a minute", [PASTED, CAREFUL]))


if __name__ == "__main__":
    main()
