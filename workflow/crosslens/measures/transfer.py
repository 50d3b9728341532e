"""Zero-shot transfer of a classifier of pairs under a mean difference shift towards its source language (liu2020, section 4.3).

The paper selects the weight on development data of each language, which is then not unseen; beside it stand one weight for all
languages, the best weight of the test set, and the same with a random vector of the same length.
"""

import logging
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from crosslens.config.heads import TASK, LinearHead
from crosslens.config.units import Units
from crosslens.encoding.batches import Batch
from crosslens.encoding.shift import Shift, for_each_shift, random_direction
from crosslens.encoding.texts import Texts
from crosslens.measures.given import Given
from crosslens.measures.pairs import Mean, mean_states, read_pairs
from crosslens.measures.shifts import ACCURACY, GAIN, NO_SHIFT, ONE_WEIGHT, ORACLE, RANDOM, RANDOM_SELECTED, SELECTED, SHIFT
from crosslens.numerics.intervals import mean_interval
from crosslens.numerics.streams import stream
from crosslens.runs.progress import Progress
from crosslens.training.model import EncoderWithHeads
from crosslens.training.trained import load_classifier

logger = logging.getLogger(__name__)

READS = ("encoder",)


def measure(
    given: Given, *, corpora: Mapping[str, str], pairs: str, source: str, languages: Sequence[str], means: Mapping[str, Any],
    layer: int, weights: Sequence[float], labels: Sequence[str], segments: bool,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Accuracy of each language at each weight, on dev and test; selected ones on test, and their gain over no shift.

    layer: whose output is shifted. The interval of a gain is Student's t over test pairs; none where no prediction differs. Where
    the languages have the same pairs, the mean gain of all has one too, over pairs in all languages.
    """
    torch.set_num_threads(given.threads)
    units = Units(unit="text", segments=segments)
    model = load_classifier(given.folder, given.weights, {TASK: LinearHead(labels=tuple(labels))}, units)
    mean, every = Mean(**means), list(dict.fromkeys([0.0, *weights]))
    found = mean_states(model.encoder, given.tokens, [source, *languages], [mean], segments)[mean]
    right: dict[tuple[str, str, bool], np.ndarray] = {}  # language, split, random -> (weights, pairs) bool
    gains: dict[str, list[np.ndarray]] = defaultdict(list)  # definition -> of each language, (pairs,)
    tested: set[tuple[str, ...]] = set()  # ids of the pairs of each language
    for language in Progress(1 + len(languages), "languages", logger).over([source, *languages]):
        vector = found[source][layer] - found[language][layer]
        drawn = random_direction(vector, stream(given.seed, "random direction", language, source))
        for split in ("dev", "test"):
            texts = read_pairs(given.tokens[pairs], language, split, labels)
            tested |= {tuple(texts.ids)} if split == "test" and language != source else set()
            for random in (False, True):
                cells = {weight: Shift(layer, weight, drawn if random else vector) for weight in every}
                cells = {0.0: cells[0.0]} if language == source else cells
                classes = classify(model, texts, cells)
                right[language, split, random] = np.stack([classes[weight] == texts.labels[TASK] for weight in cells])
                for weight, scored in zip(cells, right[language, split, random], strict=True):
                    yield {
                        "corpus": pairs, "language": language, "split": split, "layer": layer, "weight": weight,
                        "measure": ACCURACY, "definition": RANDOM if random else SHIFT,
                        "value": float(scored.mean()), "n": len(scored),
                    }  # fmt: skip
    shared = int(np.mean([right[language, "dev", False].mean(1) for language in languages], 0).argmax())
    for language in languages:
        dev, test = (right[language, split, False] for split in ("dev", "test"))
        random_dev, random_test = (right[language, split, True] for split in ("dev", "test"))
        chosen = {
            NO_SHIFT: (0, test), SELECTED: (int(dev.mean(1).argmax()), test), ONE_WEIGHT: (shared, test),
            ORACLE: (int(test.mean(1).argmax()), test), RANDOM_SELECTED: (int(random_dev.mean(1).argmax()), random_test),
        }  # fmt: skip
        for definition, (number, scored) in chosen.items():
            row = {
                "corpus": pairs, "language": language, "split": "test", "layer": layer, "weight": every[number],
                "definition": definition, "n": scored.shape[1],
            }  # fmt: skip
            yield {**row, "measure": ACCURACY, "value": float(scored[number].mean())}
            if definition != NO_SHIFT:
                gains[definition].append(scored[number].astype(float) - test[0])
                gain, low, high = mean_interval(gains[definition][-1], score=False)
                yield {**row, "measure": GAIN, "value": gain, "low": low, "high": high}
    for definition, by_language in gains.items() if len(tested) == 1 else ():
        gain, low, high = mean_interval(np.mean(by_language, 0), score=False)
        yield {
            "corpus": pairs, "language": "all", "split": "test", "layer": layer, "definition": definition, "measure": GAIN,
            "value": gain, "low": low, "high": high, "n": len(by_language[0]),
        }  # fmt: skip


def classify(model: EncoderWithHeads, texts: Texts, cells: Mapping[Any, Shift]) -> dict[Any, np.ndarray]:
    """Class of each text under each shift, (n,)."""
    found = {key: np.empty(len(texts), np.int64) for key in cells}

    def step(key: Hashable, batch: Batch, states: torch.Tensor) -> None:
        rows = batch.rows.to(states.device)
        read = states[rows, batch.columns.to(states.device)].float()
        sizes = torch.ones(len(read), dtype=torch.long)
        found[key][batch.words] = model.head(TASK).classes(read, sizes, {})[TASK].cpu().numpy()

    for_each_shift(texts, model.encoder, model.units.segments, cells, step)
    return found
