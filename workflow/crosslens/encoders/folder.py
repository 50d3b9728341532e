"""A Hugging Face encoder's folder, in two parts: everything but the weights, which suffices to tokenise, and the weights."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from crosslens.errors import DataError

PARTS = {"config": "config.json", "tokenizer": "tokenizer.json", "tokenizer_config": "tokenizer_config.json"}
"""Field of `Description` -> its file."""
WEIGHTS = "model.safetensors"
KEPT = "kept.json"


@dataclass(frozen=True)
class Description:
    """An encoder without its weights."""

    config: dict[str, Any]
    tokenizer: dict[str, Any]
    tokenizer_config: dict[str, Any]
    kept: tuple[int, ...] | None = None  # of a trimmed vocabulary: each piece's number in the whole one

    def fast_tokenizer(self) -> Tokenizer:
        """The tokenizer, without truncation or padding."""
        return Tokenizer.from_str(json.dumps(self.tokenizer | {"truncation": None, "padding": None}))


def read(folder: Path) -> Description:
    """Read an encoder's description. Raises DataError for a missing file."""
    missing = [name for name in PARTS.values() if not (folder / name).is_file()]
    if missing:
        raise DataError(
            f"{folder}: expected an encoder saved by transformers with a fast tokenizer, found no {', '.join(missing)}: load and "
            "save it again with save_pretrained"
        )
    parts = {field: json.loads((folder / name).read_text("utf-8")) for field, name in PARTS.items()}
    kept = folder / KEPT
    return Description(**parts, kept=tuple(json.loads(kept.read_text("utf-8"))) if kept.is_file() else None)


def write(description: Description, folder: Path) -> None:
    """Write an encoder's description into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for field, name in PARTS.items():
        text = json.dumps(getattr(description, field), ensure_ascii=False, indent=1)
        (folder / name).write_text(text + "\n", encoding="utf-8")
    if description.kept is not None:
        (folder / KEPT).write_text(json.dumps(description.kept) + "\n", encoding="utf-8")
