"""SIGTERM, as a cluster sends at the time limit, and Ctrl-C: they end a job at once, or where nothing is lost by it."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NUMBERS = (signal.SIGTERM, signal.SIGINT)


class Stopped(BaseException):
    """A job was asked to end. No Exception: whoever mends errors shall not mend this."""

    def __init__(self, number: int) -> None:
        """kept: what the next run goes on from, as the last words of the line that a user reads."""
        super().__init__(number)
        self.number, self.kept = number, ""

    def __str__(self) -> str:
        """The line that a user reads."""
        name = signal.Signals(self.number).name
        return f"stopped by {'Ctrl-C' if self.number == signal.SIGINT else name}{self.kept and f': {self.kept}'}"

    @property
    def status(self) -> int:
        """The exit status, as shells have it."""
        return 128 + self.number


_asked: int | None = None  # the signal that came
_held = False  # whether it has to wait


def handle() -> None:
    """From now on let signals raise Stopped in the main thread. One that is ignored, as of a job in the background, stays so."""
    global _asked, _held
    _asked, _held = None, False
    for number in NUMBERS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _received)


def ignore() -> None:
    """Nothing is left that a signal could end: what follows takes a moment."""
    for number in NUMBERS:
        signal.signal(number, signal.SIG_IGN)


def leave_to_parent() -> None:
    """Of a process that helps another: Ctrl-C reaches both, and the other one ends both."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _received(number: int, _: Any) -> None:
    global _asked
    _asked = number
    check()


def asked() -> int | None:
    """The signal that came, if any."""
    return _asked


def check() -> None:
    """Raise Stopped if a signal came and need not wait."""
    if not _held:
        check_now()


def check_now() -> None:
    """Raise Stopped if a signal came, within what is held at a point where it may end."""
    if _asked is not None:
        raise Stopped(_asked)


@contextmanager
def held() -> Iterator[None]:
    """What must not be left half done: a signal waits for the end of the block."""
    with _set(True):
        yield
    check()


@contextmanager
def released() -> Iterator[None]:
    """Within what is held, what may be left half done."""
    with _set(False):
        check()
        yield


@contextmanager
def _set(value: bool) -> Iterator[None]:
    global _held
    before, _held = _held, value
    try:
        yield
    finally:
        _held = before
