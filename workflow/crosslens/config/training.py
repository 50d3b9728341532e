"""Types and descriptions of keys of training runs that papers share; each paper has its own defaults."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from crosslens.config.base import Section, Share

Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Seeds = list[Annotated[int, Field(ge=0)]]

Warmup = Annotated[Share, Field(description="Share of training steps in which the learning rates rise from 0.")]
Decay = Annotated[Literal["none", "linear"], Field(description="Decay of the learning rates after warm-up.")]
WeightDecay = Annotated[
    NotNegative,
    Field(
        description=(
            "AdamW's weight decay, of the encoder or, in wu2019 and liu2020, of all parameters except biases and layer norms."
        )
    ),
]
Clip = Annotated[Positive | None, Field(description="Maximum gradient norm.")]
LengthPools = Annotated[bool, Field(description="Batches texts of similar length together.")]
Precision = Annotated[
    Literal["float32", "tf32", "bfloat16", "float16", "auto"],
    Field(description="Precision of matrix products. `auto` is bfloat16 if the processor supports it, otherwise float32."),
]
GpuStep = Annotated[
    Literal["eager", "captured", "compiled"],
    Field(
        description=(
            "How updates run on a GPU: kernel by kernel (`eager`) or as CUDA graphs (`captured`). `compiled` "
            "also compiles the encoder layers in stages of at least 5,000 updates."
        )
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
        """Settings that a recipe has under the same names: those shared by all papers, and those in RECIPE."""
        return self.model_dump(include={*Training.model_fields, *self.RECIPE})
