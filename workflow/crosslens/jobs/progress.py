"""Progress of a long task, with an estimate of the remaining time."""

import logging
import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self, TypeVar

from crosslens.jobs.machine import peak_memory
from crosslens.jobs.quantities import duration

T = TypeVar("T")
EVERY = 10.0  # seconds between two lines of progress


class Progress:
    """Progress through `total` things, called `unit`: a line in the log at most every ten seconds, and one at the end.

    `with Progress(n, "tokens", log) as progress: ... progress.advance(512)`, or, for a loop over single things,
    `for language in Progress(len(languages), "languages", log).over(languages): ...`
    """

    def __init__(self, total: int, unit: str, log: logging.Logger) -> None:
        """Start the clock, with nothing done."""
        self.total, self.unit, self.log, self.done = total, unit, log, 0
        self.began = self.reported = time.monotonic()

    def __enter__(self) -> Self:
        """Return the object itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """Log speed and peak memory and, after an error, how many things were done."""
        took = time.monotonic() - self.began
        done = f"{self.done} {self.unit}" if kind is None else f"stopped after {self.done} of {self.total} {self.unit}"
        rate, peak = self.done / (took or 1), peak_memory() / 2**30
        self.log.info("%s in %s, %.1f per second, peak memory %.2f GiB", done, duration(took), rate, peak)

    def advance(self, n: int = 1) -> None:
        """Count `n` more."""
        self.done += n
        now = time.monotonic()
        if now - self.reported >= EVERY and self.done:
            self.reported = now
            rate = self.done / (now - self.began)
            remaining = duration(max(0, self.total - self.done) / rate)
            self.log.info("%s: %d of %d, %.1f per second, %s left", self.unit, self.done, self.total, rate, remaining)

    def over(self, things: Iterable[T]) -> Iterator[T]:
        """Yield the things, and count each as done when the next one is requested."""
        with self:
            for thing in things:
                yield thing
                self.advance()
