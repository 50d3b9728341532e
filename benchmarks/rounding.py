"""Error of a batch's gradient in bfloat16, relative to float32, where lower blocks are re-initialised and where none is.

    python benchmarks/rounding.py en_ewt-ud-train.conllu

A tagger on multilingual-e5-small, or on the encoder of `--encoder`, with new weights in its lowest blocks as in muller2021,
before its first update; the same sentences, heads and dropout in all cases. Sums are those that layer norms normalise, in float32
as autocast leaves them or rounded to bfloat16. An error is the norm of the difference over the norm in float32: its median and
range over batches.
"""

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any

import common
import torch
from crosslens.config.heads import TASK
from crosslens.encoders.load import load_encoder
from crosslens.encoding.texts import Texts
from crosslens.recipes import Edit
from crosslens.training.loop import Loop
from torch import nn

SEED = 1
SETS: tuple[tuple[int, ...], ...] = ((), (1, 2), (1, 2, 3, 4))  # of re-initialised blocks


def to_bfloat16(module: nn.Module, arguments: Any, states: torch.Tensor) -> torch.Tensor:
    """Return a layer norm's output in bfloat16, so that the sums with it are in bfloat16 too."""
    return states.bfloat16()


def gradients(
    folder: Path, texts: Texts, layers: tuple[int, ...], precision: common.Precision, sums: common.Precision, batches: int
) -> list[torch.Tensor]:  # fmt: skip
    """Return the encoder's gradient on each of the first batches, flat, with the weights that training begins with."""
    recipe = common.tagging(batch=16, rate=2e-4, precision=precision, pools=False)
    recipe = recipe.model_copy(update={"edit": Edit(layers=layers)})
    encoder = load_encoder(folder)
    loop = Loop(recipe, common.parts(recipe, texts), encoder, seed=SEED, log=common.LOG)
    loop.model.initialise_heads((TASK,), common.first_heads(recipe, SEED))
    for module in encoder.modules():
        if isinstance(module, nn.LayerNorm) and sums == "bfloat16":
            module.register_forward_hook(to_bfloat16)
    result = []
    for number, batch in enumerate(common.first_batches(recipe, texts, SEED)[:batches]):
        torch.manual_seed(number)
        loop.gradients(recipe.stages[0].phases[0], [batch])
        result.append(torch.cat([values.grad.flatten() for values in encoder.parameters() if values.grad is not None]))
    return result


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("treebank", type=Path)
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--batches", type=int, default=5)
    common.machine_arguments(parser)
    settings = parser.parse_args()
    common.set_machine(settings)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "encoder")
        common.trimmed(common.official(settings.encoder), [settings.treebank], folder)
        texts = common.tokenised(folder, common.evenly(common.sentences(settings.treebank), 16 * settings.batches))
        print(f"error of the gradient, {settings.batches} batches of 16 sentences; {common.machine(settings)}")
        for layers in SETS:
            references = gradients(folder, texts, layers, "float32", "float32", settings.batches)
            for sums in common.PRECISIONS:
                approximations = gradients(folder, texts, layers, "bfloat16", sums, settings.batches)
                pairs = zip(references, approximations, strict=True)
                errors = [float((reference - other).norm() / reference.norm()) for reference, other in pairs]
                spread = f"{statistics.median(errors):.3f} ({min(errors):.3f} to {max(errors):.3f})"
                print(f"re-initialised: {', '.join(map(str, layers)) or 'none'}; sums in {sums}: {spread}", flush=True)


if __name__ == "__main__":
    main()
