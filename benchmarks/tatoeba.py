"""An outside oracle of the passport: published accuracies of multilingual-e5-small on Tatoeba, computed with our code.

    python benchmarks/tatoeba.py LASER/data/tatoeba/v1 [--pairs swh tam kaz]

Source of the sentences: facebookresearch/LASER 74bc6ae, data/tatoeba/v1. Source of the accuracies: embeddings-benchmark/results
8357707, results/intfloat__multilingual-e5-small/fd1525a/Tatoeba.json (dataset 69e8f12, mteb 1.36.32). A sentence is right if
its nearest neighbour, by cosine, among all sentences of the other language is its translation. As published: each sentence
after "query: ", the mean over all its pieces. As in the passport: the sentence as it is, without special pieces.
"""

import argparse
import tempfile
from pathlib import Path

import common
import numpy as np
from crosslens.config.readings import Reading
from crosslens.config.units import Units
from crosslens.encoders.load import load_encoder
from crosslens.encoding.extract import extract, text_means
from crosslens.encoding.texts import Texts, load
from crosslens.numerics.alignment import Cosines, units
from torch import nn

PUBLISHED = {
    "amh": 0.827, "ara": 0.807, "cmn": 0.924, "deu": 0.980, "est": 0.668, "eus": 0.658, "fra": 0.930, "heb": 0.761, "hin": 0.958,
    "kat": 0.875, "kaz": 0.838, "khm": 0.612, "kor": 0.799, "rus": 0.923, "spa": 0.954, "swh": 0.759, "tam": 0.883, "tel": 0.927,
    "tha": 0.912, "tur": 0.926, "vie": 0.917, "yid": 0.827,
}  # fmt: skip
PROMPT = "query: "


def tokenised(encoder: Path, sentences: list[str]) -> Texts:
    """Sentences as the passport reads them."""
    rows = [{"id": str(number), "language": "xx", "text": text} for number, text in enumerate(sentences)]
    with common.token_file(encoder, rows, Reading(whole_text=True, maximum=512, drop_unknown=False)) as path:
        return load([path], (), (), "text")


def states(encoder: nn.Module, texts: Texts, published: bool) -> np.ndarray:
    """Last states of sentences, (n, d) of length 1; published: the mean has the special pieces too."""
    layer = encoder.config.num_hidden_layers
    if published:
        means = extract(encoder, texts, np.arange(len(texts)), [layer], Units(unit="text", state="mean"))
    else:
        means = text_means(encoder, texts)
    return units(means[f"layer_{layer}"])


def of_sides(encoder: nn.Module, folder: Path, sides: list[list[str]], prompt: str) -> list[np.ndarray]:
    """States of the sentences of each side, after the prompt, if there is one, as published."""
    return [states(encoder, tokenised(folder, [prompt + text for text in side]), bool(prompt)) for side in sides]


def accuracies(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Share of sentences x (n, d) whose nearest of y (n, d) is the translation, and of y among x."""
    between, places = Cosines.of(x, y).between, np.arange(len(x))
    return float((between.argmax(1) == places).mean()), float((between.argmax(0) == places).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--encoder", type=Path, help="a folder, instead of the packaged encoder")
    parser.add_argument("--pairs", nargs="+", choices=PUBLISHED, default=list(PUBLISHED))
    common.machine_arguments(parser)
    settings = parser.parse_args()
    common.set_machine(settings)
    with tempfile.TemporaryDirectory() as temporary:
        target = Path(temporary) / "encoder"
        common.write(common.official(settings.encoder), target)
        encoder = load_encoder(target)
        print("| pair | sentences | published | from English | to English | from English, as in the passport | to English |")
        print("|---|---|---|---|---|---|---|")
        rows = []
        for language in settings.pairs:
            sides = [(settings.folder / f"tatoeba.{language}-eng.{side}").read_text(encoding="utf-8").splitlines()
                     for side in ("eng", language)]  # fmt: skip
            rows.append([share for prompt in (PROMPT, "") for share in accuracies(*of_sides(encoder, target, sides, prompt))])
            values = " | ".join(f"{value:.3f}" for value in (PUBLISHED[language], *rows[-1]))
            print(f"| {language} | {len(sides[0]):,} | {values} |", flush=True)
    published, shares = np.array([PUBLISHED[language] for language in settings.pairs]), np.array(rows)
    for name, values in (("as published", shares[:, :2].mean(1)), ("as in the passport", shares[:, 2:].mean(1))):
        differences = values - published
        largest, correlation = max(differences, key=abs), np.corrcoef(values, published)[0, 1]
        print(
            f"mean of both directions {name}, less published: {differences.mean():+.3f} on average, {largest:+.3f} at most, "
            f"correlation {correlation:.3f}"
        )


if __name__ == "__main__":
    main()
