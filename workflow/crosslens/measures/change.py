"""Change of an encoder in a training run, layer by layer: of its states for the same sentences, and of its weights.

muller2021 (abstract, sections 5 and 6) says that fine-tuning leaves the lower layers mostly as they were and changes the upper
ones; it prints no number. A change in one layer affects the states of all layers above it, so the states of upper layers may
change even if their weights do not. The control shows how much: the embeddings and the lower half of the layers have their
weights from after training, the upper half has those from before.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from crosslens.corpora.treebanks import document
from crosslens.encoding.encoders.load import default_device, load_encoder
from crosslens.encoding.extract import text_means
from crosslens.encoding.layers import lowest
from crosslens.encoding.texts import load
from crosslens.jobs.checksums import verified
from crosslens.measures.shared.change_terms import LOWER_HALF, STATES, TRAINED, WEIGHTS
from crosslens.measures.shared.cka import OURS, compare
from crosslens.measures.shared.subject import Subject


def measure(subject: Subject, *, corpora: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the similarity of states before and after training, and the relative change of each layer's weights.

    Similarity is the debiased CKA of the mean states of sentences, by language and layer; its intervals are over documents.
    Layer 0 is the embeddings.

    corpora: corpus -> tokenisation; the test sentences of each corpus are read.
    """
    torch.set_num_threads(subject.threads)
    before, after = (load_encoder(subject.folder, weights) for weights in ((), subject.weights))
    top = int(before.config.num_hidden_layers)  # type: ignore[union-attr, arg-type]
    for layer, modules in enumerate(zip(lowest(before, top), lowest(after, top), strict=True)):
        old, new = ([*module.parameters()] for module in modules)
        yield {
            "item": "weights", "language": "all", "layer": layer, "measure": WEIGHTS, "definition": TRAINED,
            "value": relative_change(old, new), "n": sum(weight.numel() for weight in old),
        }  # fmt: skip
    versions = {TRAINED: after, LOWER_HALF: lowest_changed(before, after, top // 2)}
    for encoder in (before, *versions.values()):
        encoder.to(default_device())
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
    """Return the norm of the change of some weights divided by their norm before, all weights taken as one vector.

    before, after: the same weights in the same order, of any shape.
    """

    def square(weights: Sequence[torch.Tensor]) -> float:
        return sum(float(weight.detach().double().square().sum()) for weight in weights)

    return float((square([new - old for old, new in zip(before, after, strict=True)]) / square(before)) ** 0.5)


def lowest_changed(before: nn.Module, after: nn.Module, number: int) -> nn.Module:
    """Return a copy of `before` whose embeddings and lowest `number` layers have the weights of `after`."""
    changed = copy.deepcopy(before)
    for module, trained_module in zip(lowest(changed, number), lowest(after, number), strict=True):
        module.load_state_dict(trained_module.state_dict())
    return changed
