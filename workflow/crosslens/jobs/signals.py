"""Handling of Ctrl-C and of SIGTERM, which clusters send at the time limit: a job ends at once, or once nothing is lost."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NUMBERS = (signal.SIGTERM, signal.SIGINT)


class Stopped(BaseException):
    """A signal to end the job. It is not an Exception, so that handlers of errors do not catch it."""

    def __init__(self, number: int) -> None:
        """Create an exception for a signal. Its attribute `kept`, the end of the message, says where the next run continues."""
        super().__init__(number)
        self.number, self.kept = number, ""

    def __str__(self) -> str:
        """The message to the user."""
        name = signal.Signals(self.number).name
        return f"stopped by {'Ctrl-C' if self.number == signal.SIGINT else name}{self.kept and f': {self.kept}'}"

    @property
    def status(self) -> int:
        """The exit status by the convention of shells."""
        return 128 + self.number


_asked: int | None = None  # number of the signal that was received
_held = False  # whether signals have to wait (`held`)


def handle() -> None:
    """From now on, raise Stopped in the main thread for signals. Signals that are ignored, as in background jobs, stay so."""
    global _asked, _held
    _asked, _held = None, False
    for number in NUMBERS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _received)


def ignore() -> None:
    """Ignore signals from now on, because the remaining work takes only a moment."""
    for number in NUMBERS:
        signal.signal(number, signal.SIG_IGN)


def leave_to_parent() -> None:
    """Ignore Ctrl-C in a child process: it also reaches the parent, which ends both. SIGTERM ends the child."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _received(number: int, _: Any) -> None:
    global _asked
    _asked = number
    check()


def asked() -> int | None:
    """Number of the signal that was received; None if there was none."""
    return _asked


def check() -> None:
    """Raise Stopped if a signal was received and does not have to wait."""
    if not _held:
        check_now()


def check_now() -> None:
    """Raise Stopped if a signal was received, even within `held`, at a point where the work may end."""
    if _asked is not None:
        raise Stopped(_asked)


@contextmanager
def held() -> Iterator[None]:
    """Run a `with` block that must not be interrupted: signals wait until it ends."""
    with _set(True):
        yield
    check()


@contextmanager
def released() -> Iterator[None]:
    """Within `held`, run a `with` block that may be interrupted."""
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
