"""Types and descriptions of keys of training runs that papers share; each paper has its own defaults."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from crosslens.config.base import Section, Share

Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Seeds = list[Annotated[int, Field(ge=0)]]

Warmup = Annotated[Share, Field(description="share of the steps during which the learning rates rise from 0")]
Decay = Annotated[Literal["none", "linear"], Field(description="how the learning rates fall after that")]
WeightDecay = Annotated[NotNegative, Field(description="AdamW's decoupled weight decay, of the encoder")]
Clip = Annotated[Positive | None, Field(description="maximum norm of the gradient")]
LengthPools = Annotated[bool, Field(description="true: batches of texts of similar length; false: uniformly random batches")]
Precision = Annotated[
    Literal["float32", "tf32", "bfloat16", "float16", "auto"],
    Field(description="of matrix products in training; auto: bfloat16 where the processor supports it"),
]
GpuStep = Annotated[
    Literal["eager", "captured", "compiled"],
    Field(
        description="how a GPU computes updates: kernel by kernel; captured once for each shape of inputs and replayed; or so, "
        "and the encoder's layers compiled in stages of at least 5,000 updates. A CPU has one way"
    ),
]


class Training(Section):
    """Settings of training runs that all papers have; a paper sets other defaults and adds keys of its own."""

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
