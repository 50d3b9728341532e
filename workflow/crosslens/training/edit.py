"""Re-initialisation of an encoder's layers before it is trained (RANDOM-INIT, muller2021, section 2.1)."""

import torch
from torch import nn

from crosslens.config.recipes import Edit, Recipe
from crosslens.encoding.layers import embeddings, transformer_layers
from crosslens.jobs.errors import DataError
from crosslens.numerics.streams import stream


def check_layers(recipe: Recipe, encoder: nn.Module) -> None:
    """Raise DataError if a recipe reads or freezes a layer that an encoder does not have."""
    top = int(encoder.config.num_hidden_layers)  # type: ignore[union-attr, arg-type]
    terms = [term for stage in recipe.stages for phase in stage.phases for term in phase.terms]
    numbers = [head.layer for head in recipe.heads.values()] + [term.layer for term in terms]
    numbers += [phase.frozen_layers for stage in recipe.stages for phase in stage.phases]
    wrong = sorted({layer for layer in numbers if layer is not None and layer > top})
    if wrong:
        raise DataError(
            f"{recipe.name}: expected layers from 0 to {top} for {recipe.encoder}, found {wrong}: change the configuration"
        )


def apply(encoder: nn.Module, edit: Edit, seed: int) -> None:
    """Re-initialise the layers that the edit names, and the embeddings if it says so; everything else stays bit-identical.

    Initialisation "bert": weights normal with the edit's standard deviation (None: the encoder's, 0.02 in BERT), biases 0,
    norms 1 and 0, as before BERT's pretraining. The code that the paper used, mbert-unseen-languages, loads the other layers
    into such a model. "released": weights and biases uniform within 1 / sqrt(fan in), PyTorch's default, a side effect of
    how the code published for users loads the model; embeddings N(0, 0.02).

    Each layer has its own random stream, so its weights do not depend on which others are re-initialised. Nothing else (heads,
    order of the data, dropout) depends on the edit, so differences from the reference are paired. The embeddings are layer 0.
    Raises DataError if a layer number is out of range.
    """
    if not edit.changes():
        return
    all_layers_of = transformer_layers(encoder)
    layers = range(1, len(all_layers_of) + 1) if edit.layers == "all" else edit.layers
    wrong = [layer for layer in layers if not 1 <= layer <= len(all_layers_of)]
    if wrong:
        raise DataError(
            f"expected layers from 1 to {len(all_layers_of)} to re-initialise, found {wrong}: correct them in the configuration"
        )
    chosen = {layer: all_layers_of[layer - 1] for layer in layers}
    if edit.embeddings:
        chosen[0] = embeddings(encoder)
    sd = edit.sd or float(getattr(encoder.config, "initializer_range", 0.02))
    with torch.random.fork_rng(), torch.no_grad():
        for layer, block in chosen.items():
            torch.manual_seed(stream(seed, "block", layer))
            for module in block.modules():
                _draw(module, sd if edit.initialisation == "bert" else None)


def _draw(module: nn.Module, sd: float | None) -> None:
    if isinstance(module, nn.LayerNorm) or (sd is None and isinstance(module, nn.Linear)):
        module.reset_parameters()
    elif isinstance(module, nn.Linear | nn.Embedding):
        module.weight.normal_(0, sd or 0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            module.bias.zero_()
    elif type(module).__name__.endswith("RMSNorm"):  # each architecture has its own class; weights start at 1, or at 0 in Gemma
        (weight,) = module.parameters()
        weight.copy_(next(type(module)(len(weight)).parameters()))
