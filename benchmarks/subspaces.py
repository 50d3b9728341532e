"""How long language subspaces take from the sums of 104 languages, d = 768: DensRay, LDA and LEACE.

    python benchmarks/subspaces.py

On a busy machine `--clock cpu --threads 1` counts the processor's seconds instead of the wall's.
"""

import argparse
import statistics

import common
import numpy as np
from crosslens.numerics.densray import densray
from crosslens.numerics.linear import lda, leace
from crosslens.numerics.statistics import Statistics
from threadpoolctl import threadpool_limits


def main() -> None:
    """Time subspaces of made-up sums."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--languages", type=int, default=104)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--repeats", type=int, default=5)
    common.machine_arguments(parser)
    settings = parser.parse_args()
    clock = common.set_machine(settings)
    generator = np.random.default_rng(0)
    sums = Statistics(settings.width)
    for language in range(settings.languages):
        sums.update(generator.normal(size=(100, settings.width)) + generator.normal(size=settings.width), f"{language:03}")
    print(common.machine(settings))
    with threadpool_limits(settings.threads):
        for method in (densray, lda, leace):
            seconds = []
            for _ in range(settings.repeats):
                start = clock()
                method(sums).completed(seed=0)
                seconds.append(clock() - start)
            spread = f"{statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"
            print(f"{method.__name__} of {settings.languages} languages, d = {settings.width}: {spread}")


if __name__ == "__main__":
    main()
