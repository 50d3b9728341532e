"""wu2019: captions of pages and the report, below an item's title. Names are explained in resources/terms.yaml."""

OF_ITEMS: dict[str, str] = {}


def caption(name: str) -> str:
    """The caption of an item."""
    return f"{OF_ITEMS.get(name, '')}\n\nOur choices: docs/wu2019.md."
