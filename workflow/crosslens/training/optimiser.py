"""The optimiser of a stage, its learning rates, and the parameters that a phase updates."""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import nn

from crosslens.config.recipes import ENCODER, Phase, Recipe, Stage
from crosslens.encoding.batches import device_of
from crosslens.encoding.layers import lowest
from crosslens.training.model import EncoderWithHeads


def build(model: EncoderWithHeads, recipe: Recipe, stage: Stage, previous: torch.optim.Optimizer) -> torch.optim.AdamW:
    """Return AdamW (Adam if weight decay is 0) with a learning rate for each head and one for the encoder if it is trained.

    previous: optimiser of the previous stage; its moments are kept for the heads that the stage carries.
    """
    rates = {name: stage.head_rates.get(name, stage.head_rate) for name in recipe.heads}
    groups = [group for name, rate in rates.items() for group in _groups(model.head(name), rate, recipe, False)]
    if stage.trains_encoder():
        groups += _groups(model.encoder, stage.encoder_rate, recipe, True)
    on_gpu = device_of(model).type == "cuda"  # where a captured step reads its rates from the device
    for group in groups if on_gpu else []:
        group["lr"] = torch.tensor(group["rate"], device=device_of(model))
    optimiser = torch.optim.AdamW(groups, betas=(0.9, recipe.beta2), eps=recipe.epsilon, fused=True, capturable=on_gpu)
    for name in stage.carries:
        for parameter in model.head(name).parameters():
            if parameter in previous.state:
                optimiser.state[parameter] = previous.state[parameter]
    return optimiser


def _groups(module: nn.Module, rate: float, recipe: Recipe, encoder: bool) -> list[dict[str, Any]]:
    """Return groups of a module's parameters, each with its learning rate and weight decay.

    encoder: whether the module is the encoder. If the recipe's `decays` is "encoder", the weights of heads do not decay; if it
    is "matrices", only biases and layer norms do not. Source: wu2019's code (model/base.py, 331-352).
    """
    if recipe.decays == "encoder":
        return [_group(module.parameters(), rate, recipe.weight_decay if encoder else 0.0)]
    decays: dict[bool, list[nn.Parameter]] = {True: [], False: []}
    layer_norms = [part for part in module.modules() if "norm" in type(part).__name__.lower()]
    norms = {id(parameter) for part in layer_norms for parameter in part.parameters(False)}
    for name, parameter in module.named_parameters():
        decays["bias" not in name and id(parameter) not in norms].append(parameter)
    return [_group(group, rate, recipe.weight_decay if decay else 0.0) for decay, group in decays.items() if group]


def _group(parameters: Iterable[nn.Parameter], rate: float, decay: float) -> dict[str, Any]:
    return {"params": list(parameters), "lr": rate, "rate": rate, "weight_decay": decay}


def restore(optimiser: torch.optim.Optimizer, moments: dict[str, Any]) -> None:
    """Set an optimiser's moments to those of a checkpoint; its settings stay unchanged."""
    optimiser.load_state_dict(moments | {"param_groups": optimiser.state_dict()["param_groups"]})


def share(stage: Stage, history: Iterable[Mapping[str, Any]]) -> float:
    """Return the factor of a stage's learning rates: halved after each epoch without a new best score if the stage halves them.

    history: rows of all epochs so far, of all stages.
    """
    scores = [row["score"] for row in history if row["stage"] == stage.name] if stage.halving else []
    halvings = sum(score <= max(scores[:epoch]) for epoch, score in enumerate(scores) if epoch)
    return float(0.5**halvings)


def too_low(stage: Stage, history: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether a stage that halves its rates must end, because the head rate is below the lowest rate allowed."""
    return stage.halving is not None and stage.head_rate * share(stage, history) < stage.halving.floor


def set_rates(optimiser: torch.optim.Optimizer, recipe: Recipe, update: int, total: int, of_rates: float = 1.0) -> None:
    """Set the rates of an update: they rise linearly during warm-up, and then stay constant or fall to 0.

    update: number of the update in the stage, 0 to total - 1. of_rates: further factor, for a stage that halves its rates.
    """
    rising = recipe.warmup * total
    factor = min(1.0, (update + 1) / rising) if rising else 1.0
    if recipe.decay == "linear" and update >= rising:
        factor = (total - update) / max(total - rising, 1)
    for group in optimiser.param_groups:
        rate = group["rate"] * factor * of_rates
        group["lr"] = group["lr"].fill_(rate) if isinstance(group["lr"], torch.Tensor) else rate


def ready(
    model: EncoderWithHeads, recipe: Recipe, phase: Phase, gradients: Mapping[nn.Parameter, torch.Tensor] | None = None
) -> None:  # fmt: skip
    """Clear gradients, require them for the parameters that a phase updates, and switch dropout on where something is trained.

    The encoder's own dropout is on only while it is trained, unless the recipe says otherwise: tanti2021's code leaves it on in
    a frozen encoder (common/model/model.py 185), whose states then cannot be computed once. gradients: parameter -> gradient,
    for parameters whose gradient must stay in place.
    """
    model.zero_grad(set_to_none=True)  # including gradients of earlier stages, since clipping uses the norm of all
    for parameter, gradient in (gradients or {}).items():
        parameter.grad = gradient
    model.train()
    trained = ENCODER in phase.update
    model.encoder.train(recipe.encoder_dropout if trained else recipe.encoder_dropout_when_frozen)
    model.encoder.requires_grad_(trained)
    if phase.frozen_layers is not None:
        for module in lowest(model.encoder, phase.frozen_layers):
            module.requires_grad_(False).train(recipe.encoder_dropout_when_frozen)
    for name in recipe.heads:
        model.head(name).requires_grad_(name in phase.update)
