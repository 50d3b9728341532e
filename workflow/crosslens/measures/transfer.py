"""Zero-shot transfer of a classifier of pairs under a mean difference shift towards its source language (liu2020, section 4.3).

The paper selects the weight on development data of each target language, so transfer is not strictly zero-shot. For comparison
there are one weight for all languages, the weight that is best on the test set, and random vectors of the same length.
"""

import logging
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from crosslens.config.heads import TASK, LinearHead
from crosslens.config.units import Units
from crosslens.encoding.batches import Batch, Padding
from crosslens.encoding.shift import Shift, for_each_shift, random_direction
from crosslens.encoding.texts import Texts
from crosslens.jobs.progress import Progress
from crosslens.measures.shared.shift_data import Mean, mean_states, read_pairs
from crosslens.measures.shared.shift_terms import (
    ACCURACY,
    GAIN,
    NO_SHIFT,
    ONE_WEIGHT,
    ORACLE,
    RANDOM,
    RANDOM_SELECTED,
    SELECTED,
    SHIFT,
)
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.intervals import mean_interval
from crosslens.numerics.streams import stream
from crosslens.training.model import EncoderWithHeads
from crosslens.training.trained import load_classifier

logger = logging.getLogger(__name__)


def measure(
    subject: Subject, *, corpora: Mapping[str, str], pairs: str, source: str, languages: Sequence[str], means: Mapping[str, Any],
    layer: int, weights: Sequence[float], labels: Sequence[str], segments: bool,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield each language's accuracy at each weight on dev and test, and its gain over no shift at selected weights on test.

    A gain has a Student's t interval over test pairs, but none if no prediction differs. If all languages have the same test
    pairs, the mean gain over languages is yielded too, with its interval over pairs.

    means: fields of `Mean`. layer: the layer whose output is shifted. labels: names of the classes.
    """
    torch.set_num_threads(subject.threads)
    units = Units(unit="text", segments=segments)
    model = load_classifier(subject.folder, subject.weights, {TASK: LinearHead(labels=tuple(labels))}, units)
    mean, every = Mean(**means), list(dict.fromkeys([0.0, *weights]))
    states = mean_states(model.encoder, subject.tokens, [source, *languages], [mean], segments)[mean]
    right: dict[tuple[str, str, bool], np.ndarray] = {}  # language, split, random -> (weights, pairs) bool
    gains: dict[str, list[np.ndarray]] = defaultdict(list)  # definition -> gains of each language, (pairs,)
    tested: set[tuple[str, ...]] = set()  # ids of the test pairs of each target language
    for language in Progress(1 + len(languages), "languages", logger).over([source, *languages]):
        vector = states[source][layer] - states[language][layer]
        random_vector = random_direction(vector, stream(subject.seed, "random direction", language, source))
        for split in ("dev", "test"):
            texts = read_pairs(subject.tokens[pairs], language, split, labels)
            tested |= {tuple(texts.ids)} if split == "test" and language != source else set()
            language_weights = [0.0] if language == source else every
            cells = {
                (random, weight): Shift(layer, weight, random_vector if random else vector)
                for random in (False, True)
                for weight in language_weights
            }
            scores = {key: classes == texts.labels[TASK] for key, classes in classify(model, texts, cells).items()}
            for random in (False, True):
                right[language, split, random] = np.stack([scores[random, weight] for weight in language_weights])
                for weight, scored in zip(language_weights, right[language, split, random], strict=True):
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
    """Return key -> class of each text, (n,), under each shift. cells: key -> shift."""
    classes = {key: np.empty(len(texts), np.int64) for key in cells}

    def step(key: Hashable, batch: Batch, states: torch.Tensor) -> None:
        padding = Padding.of(torch.ones(len(states), dtype=torch.long), states.device)
        classes[key][batch.words] = model.head(TASK).classes(states.float(), padding, {})[TASK].cpu().numpy()

    for_each_shift(texts, model.encoder, model.units.segments, cells, step)
    return classes
