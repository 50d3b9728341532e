"""The optimiser of a stage and its learning rates."""

import torch

from crosslens.recipes import Recipe, Stage
from crosslens.training.model import EncoderWithHeads


def build(model: EncoderWithHeads, recipe: Recipe, stage: Stage, previous: torch.optim.Optimizer) -> torch.optim.AdamW:
    """AdamW (Adam where nothing decays), a rate for each head and one for the encoder where it is trained.

    previous: of the stage before, whose moments go on where the stage carries them.
    """
    rates = {name: stage.head_rates.get(name, stage.head_rate) for name in recipe.heads}
    groups = [
        {"params": list(model.head(name).parameters()), "lr": rate, "rate": rate, "weight_decay": 0.0}
        for name, rate in rates.items()
    ]
    if stage.trains_encoder():
        groups.append(
            {"params": list(model.encoder.parameters()), "lr": stage.encoder_rate, "rate": stage.encoder_rate,
             "weight_decay": recipe.weight_decay}
        )  # fmt: skip
    optimiser = torch.optim.AdamW(groups, eps=recipe.epsilon, fused=True)
    for name in stage.carries:
        for parameter in model.head(name).parameters():
            if parameter in previous.state:
                optimiser.state[parameter] = previous.state[parameter]
    return optimiser


def set_rates(optimiser: torch.optim.Optimizer, recipe: Recipe, update: int, total: int) -> None:
    """Rates of an update, 0 to total - 1 in the stage: they rise to the full ones in the warm-up, then stay or fall to 0."""
    rising = recipe.warmup * total
    factor = min(1.0, (update + 1) / rising) if rising else 1.0
    if recipe.decay == "linear" and update >= rising:
        factor = (total - update) / max(total - rising, 1)
    for group in optimiser.param_groups:
        group["lr"] = group["rate"] * factor
