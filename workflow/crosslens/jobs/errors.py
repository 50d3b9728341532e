"""Errors that a user can cause and correct."""

import errno
import reprlib

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # full disk: the written file is at fault, not the one being read


def shown(text: str, length: int = 200) -> str:
    """Foreign text made safe for messages: cut to `length` characters, with unprintable ones escaped."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text[:length])


class DataError(ValueError):
    """Bad input. The message is one line with the file, the place in it, what was expected and what to do."""

    def __init__(self, message: str) -> None:
        """Escape control characters in the message, so that none acts on a terminal."""
        super().__init__("\n".join(shown(line, len(line)) for line in message.split("\n")))


class _Short(reprlib.Repr):
    """A repr that builds only the first part of a value, instead of a million entries or digits."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother = 4, 400, 400
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = 10

    def repr_int(self, value: int, level: int) -> str:
        return repr(value) if value.bit_length() < 1000 else f"a number of {value.bit_length():,} bits"


def short(value: object, length: int = 80) -> str:
    """The first `length` characters of a value's repr, without building all of it."""
    return _Short().repr(value)[:length]
