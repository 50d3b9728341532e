"""The optimiser of a stage, its learning rates, and what it updates in a phase."""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import nn

from crosslens.encoding.blocks import lowest
from crosslens.recipes import ENCODER, Phase, Recipe, Stage
from crosslens.training.model import EncoderWithHeads


def build(model: EncoderWithHeads, recipe: Recipe, stage: Stage, previous: torch.optim.Optimizer) -> torch.optim.AdamW:
    """AdamW (Adam where nothing decays), a rate for each head and one for the encoder where it is trained.

    previous: of the stage before, whose moments go on where the stage carries them.
    """
    rates = {name: stage.head_rates.get(name, stage.head_rate) for name in recipe.heads}
    groups = [group for name, rate in rates.items() for group in _groups(model.head(name), rate, recipe, False)]
    if stage.trains_encoder():
        groups += _groups(model.encoder, stage.encoder_rate, recipe, True)
    optimiser = torch.optim.AdamW(groups, betas=(0.9, recipe.beta2), eps=recipe.epsilon, fused=True)
    for name in stage.carries:
        for parameter in model.head(name).parameters():
            if parameter in previous.state:
                optimiser.state[parameter] = previous.state[parameter]
    return optimiser


def _groups(module: nn.Module, rate: float, recipe: Recipe, encoder: bool) -> list[dict[str, Any]]:
    """Parameters with rate and decay: all alike, or without decay of biases and layer norms (wu2019: model/base.py, 331-352)."""
    if recipe.decays == "encoder":
        return [_group(module.parameters(), rate, recipe.weight_decay if encoder else 0.0)]
    decays: dict[bool, list[nn.Parameter]] = {True: [], False: []}
    norms = {id(each) for part in module.modules() if "norm" in type(part).__name__.lower() for each in part.parameters(False)}
    for name, parameter in module.named_parameters():
        decays["bias" not in name and id(parameter) not in norms].append(parameter)
    return [_group(some, rate, recipe.weight_decay if decay else 0.0) for decay, some in decays.items() if some]


def _group(parameters: Iterable[nn.Parameter], rate: float, decay: float) -> dict[str, Any]:
    return {"params": list(parameters), "lr": rate, "rate": rate, "weight_decay": decay}


def share(stage: Stage, history: Iterable[Mapping[str, Any]]) -> float:
    """Of a stage's rates, where it halves them: half after each epoch whose score is not above all before; history: its rows."""
    scores = [row["score"] for row in history if row["stage"] == stage.name] if stage.halving else []
    found: float = 0.5 ** sum(score <= max(scores[:epoch]) for epoch, score in enumerate(scores) if epoch)
    return found


def too_low(stage: Stage, history: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a stage that halves its rates has ended."""
    return stage.halving is not None and stage.head_rate * share(stage, history) < stage.halving.floor


def set_rates(optimiser: torch.optim.Optimizer, recipe: Recipe, update: int, total: int, of_rates: float = 1.0) -> None:
    """Rates of an update, 0 to total - 1 in the stage: they rise to the full ones in the warm-up, then stay or fall to 0.

    of_rates: share of them, in a stage that halves them.
    """
    rising = recipe.warmup * total
    factor = min(1.0, (update + 1) / rising) if rising else 1.0
    if recipe.decay == "linear" and update >= rising:
        factor = (total - update) / max(total - rising, 1)
    for group in optimiser.param_groups:
        group["lr"] = group["rate"] * factor * of_rates


def ready(model: EncoderWithHeads, recipe: Recipe, phase: Phase) -> None:
    """No gradients yet, and places for those of what is updated alone; dropout where something learns.

    The encoder's own dropout is on only while it is trained, unless the recipe says otherwise: tanti2021's code leaves the
    frozen encoder's on (common/model/model.py 185), so that its states cannot be computed once.
    """
    model.zero_grad(set_to_none=True)  # an earlier stage's too: the clipped norm is over all
    model.train()
    trained = ENCODER in phase.update
    model.encoder.train(recipe.encoder_dropout if trained else recipe.encoder_dropout_when_frozen)
    model.encoder.requires_grad_(trained)
    if phase.frozen_blocks is not None:
        for module in lowest(model.encoder, phase.frozen_blocks):
            module.requires_grad_(False).train(recipe.encoder_dropout_when_frozen)
    for name in recipe.heads:
        model.head(name).requires_grad_(name in phase.update)
