"""Types and descriptions of keys of trainings that papers share; each paper has its own defaults."""

from typing import Annotated, Literal

from pydantic import Field

from crosslens.config.base import Share

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
