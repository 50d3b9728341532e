"""Errors that a user can cause and correct."""

import errno
import reprlib

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # of an OSError: what was being written is at fault, not what was read


def shown(text: str, length: int = 200) -> str:
    """Foreign text as a message may have it: what a terminal or a log would not show is escaped, what is long is cut."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text[:length])


class DataError(ValueError):
    """Bad input: the message is one line with file, place, what was expected and what to do."""

    def __init__(self, message: str) -> None:
        """Whatever is in the message, none of it acts on a terminal."""
        super().__init__("\n".join(shown(line, len(line)) for line in message.split("\n")))


class _Short(reprlib.Repr):
    """A repr that builds only the part of a value that is shown, not a million entries or digits."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother = 4, 400, 400
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = 10

    def repr_int(self, value: int, level: int) -> str:
        return repr(value) if value.bit_length() < 1000 else f"a number of {value.bit_length():,} bits"


def short(value: object, length: int = 80) -> str:
    """The first `length` characters of a value's repr, without building all of it."""
    return _Short().repr(value)[:length]
