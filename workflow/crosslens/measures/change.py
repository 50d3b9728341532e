"""Change of an encoder by its training, layer by layer: of its states of the same sentences, and of its weights.

muller2021 (abstract, sections 5 and 6) says that fine-tuning leaves the lower layers mostly as they were and changes the upper
ones; no number is printed. What changes in a block goes on into the states of all blocks above it, so that states of upper
layers differ more even where all blocks have changed alike. The control shows how much: weights that are changed at random, by
as much as training changed them.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from crosslens.corpora.treebanks import document
from crosslens.encoders.load import load_encoder
from crosslens.encoding.blocks import lowest
from crosslens.encoding.extract import text_means
from crosslens.encoding.texts import load
from crosslens.measures.cka import OURS, compare
from crosslens.measures.subject import Subject
from crosslens.measures.versions import RANDOM, STATES, TRAINED, WEIGHTS
from crosslens.numerics.streams import stream
from crosslens.storage.seals import verified

READS = ("encoder",)


def measure(subject: Subject, *, corpora: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the similarity of the states before and after by language and layer, and the relative change of each layer's weights.

    Similarity is debiased CKA of the mean states of sentences; its intervals are over documents. Layer 0 is the embeddings.

    corpora: corpora whose test sentences are read, each with its reading.
    """
    torch.set_num_threads(subject.threads)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    before, after = (load_encoder(subject.folder, weights) for weights in ((), subject.weights))
    top = int(before.config.num_hidden_layers)  # type: ignore[union-attr, arg-type]
    for layer, modules in enumerate(zip(lowest(before, top), lowest(after, top), strict=True)):
        old, new = ([*module.parameters()] for module in modules)
        yield {
            "item": "weights", "language": "all", "layer": layer, "measure": WEIGHTS, "definition": TRAINED,
            "value": relative_change(old, new), "n": sum(weight.numel() for weight in old),
        }  # fmt: skip
    generator = torch.Generator().manual_seed(stream(subject.seed, "random change"))
    versions = {TRAINED: after, RANDOM: randomly_changed(before, after, generator)}
    for encoder in (before, *versions.values()):
        encoder.to(device)
    for corpus in corpora:
        for path in sorted(verified(subject.tokens[corpus]).glob("*.test.parquet")):
            texts = load([path], (), (), "text")
            place = {"item": "states", "corpus": corpus, "language": path.name.split(".")[0], "split": "test", "measure": STATES}
            documents = np.unique([document(id) for id in texts.ids], return_inverse=True)[1]
            states = {name: [*text_means(encoder, texts).values()] for name, encoder in versions.items()}
            similarity = compare(
                [*text_means(before, texts).values()], states, [OURS],
                draws=0, seed=subject.seed, blocks=documents, threads=subject.threads,
            )[OURS]  # fmt: skip
            for row, definition in enumerate(states):
                for layer in range(top + 1):
                    value, low, high = (float(part[row, layer]) for part in (similarity.value, similarity.low, similarity.high))
                    of_layer = {"layer": layer, "definition": definition, "n": similarity.n}
                    yield place | of_layer | {"value": value, "low": low, "high": high}


def relative_change(before: Sequence[torch.Tensor], after: Sequence[torch.Tensor]) -> float:
    """Return the length of the change of some weights over their length before, all taken together as one vector.

    before, after: weights of the same shapes, of any shape.
    """

    def square(weights: Sequence[torch.Tensor]) -> float:
        return sum(float(weight.detach().double().square().sum()) for weight in weights)

    return float((square([new - old for old, new in zip(before, after, strict=True)]) / square(before)) ** 0.5)


def randomly_changed(before: nn.Module, after: nn.Module, generator: torch.Generator) -> nn.Module:
    """Return a copy of an encoder, each row of whose weights differs by a random vector as long as that row's change to `after`.

    A vector of weights, such as a bias, is one row. A row that training left as it was, such as that of a subword that does not
    occur, stays as it was.
    """
    changed = copy.deepcopy(before)
    with torch.no_grad():
        for weight, trained_weight in zip(changed.parameters(), after.parameters(), strict=True):
            direction = torch.randn(weight.shape, generator=generator)
            lengths = (trained_weight - weight).norm(dim=-1, keepdim=True)
            weight += direction * lengths / direction.norm(dim=-1, keepdim=True)
    return changed
