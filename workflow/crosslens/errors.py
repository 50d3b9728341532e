"""Errors that a user can cause and mend."""


class DataError(ValueError):
    """Bad input: the message is one line with file, place, what was expected and what to do."""
