"""Errors in the phrasebook's tables."""


class PhrasebookError(ValueError):
    """A wrong line: the message has file, line, what was expected and what to do."""
