"""Errors in the phrasebook's tables."""


class PhrasebookError(ValueError):
    """A wrong line: the message has file, line, what was expected and what to do."""


def check(holds: object, place: str, fault: str) -> None:
    """Raise PhrasebookError unless something holds. fault: what is at the place instead, what was expected, what to do."""
    if not holds:
        raise PhrasebookError(f"{place}: {fault}")
