"""Types and descriptions of keys of training runs that papers share; each paper has its own defaults."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from crosslens.config.base import Section, Share

Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Seeds = list[Annotated[int, Field(ge=0)]]

Warmup = Annotated[Share, Field(description="Share of steps during which the learning rates rise from 0.")]
Decay = Annotated[Literal["none", "linear"], Field(description="How the learning rates decay after warm-up.")]
WeightDecay = Annotated[NotNegative, Field(description="Decoupled weight decay (AdamW) for the encoder.")]
Clip = Annotated[Positive | None, Field(description="Maximum gradient norm.")]
LengthPools = Annotated[bool, Field(description="Batches texts of similar length.")]
Precision = Annotated[
    Literal["float32", "tf32", "bfloat16", "float16", "auto"],
    Field(description="Precision of matrix products; `auto` means bfloat16 if the processor supports it and float32 otherwise."),
]
GpuStep = Annotated[
    Literal["eager", "captured", "compiled"],
    Field(
        description="How a GPU computes updates: kernel by kernel; as graphs captured once per input shape and replayed; or, in "
        "stages of at least 5,000 updates, as graphs captured with compiled encoder layers."
    ),
]


class Training(Section):
    """Training-run settings shared by all papers; a paper sets other defaults and adds keys of its own."""

    RECIPE: ClassVar[tuple[str, ...]] = ()  # further keys that a recipe has under the same names

    warmup: Warmup = 0.0
    decay: Decay = "linear"
    weight_decay: WeightDecay = 0.0
    clip: Clip = None
    precision: Precision = "float32"
    gpu_step: GpuStep = "captured"

    def of_recipe(self) -> dict[str, Any]:
        """The settings that a recipe has under the same names: those of all papers, and RECIPE."""
        return self.model_dump(include={*Training.model_fields, *self.RECIPE})
