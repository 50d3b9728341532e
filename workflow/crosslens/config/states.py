"""How hidden states are stored."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from crosslens.config.base import Section


class States(Section):
    """Settings for computing and storing hidden states."""

    layers: list[Annotated[int, Field(ge=0)]] = Field(
        [],
        description="Layers stored in addition to the heads' input, in ascending order.",
    )
    precision: Literal["float32", "bfloat16"] = Field("float32", description="Precision of the forward pass.")
    stored: Literal["float16", "float32"] = Field("float32", description="Precision of hidden states on disk.")

    @field_validator("layers")
    @classmethod
    def _ascending(cls, layers: list[int]) -> list[int]:
        if layers != sorted(set(layers)):
            raise ValueError("expected layers in ascending order, each once")
        return layers
