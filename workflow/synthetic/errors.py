"""Errors in the synthetic corpus's tables."""


class SyntheticCorpusError(ValueError):
    """A wrong line: the message has file, line, what was expected and what to do."""


def check(holds: object, place: str, fault: str) -> None:
    """Raise SyntheticCorpusError unless something holds. fault: what is at the place instead, what was expected, what to do."""
    if not holds:
        raise SyntheticCorpusError(f"{place}: {fault}")
