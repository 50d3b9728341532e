"""Convert rate on sets made by hand, BLEU-1 against sacrebleu's own command."""

import json
import re
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from crosslens.measures.shared import conversion
from crosslens.measures.shared.conversion import Counts
from sacrebleu.metrics import BLEU

VOCABULARY = 30


def flat(texts: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Subwords one after the other, and offsets."""
    return np.array([subword for text in texts for subword in text]), np.cumsum([0, *map(len, texts)])


def members(*subwords: int) -> np.ndarray:
    return np.isin(np.arange(VOCABULARY), subwords)


def counted(outputs, references, source=(), target=(), inputs=None) -> Counts:
    given = flat(inputs or outputs)[0]
    return conversion.count(*flat(outputs), *flat(references), members(*source), members(*target), given)


def test_convert_rate_of_sets_made_by_hand():
    outputs = [[1, 4, 5], [3, 3, 4], [9, 2, 3, 5]]  # 9 is in neither, 3 in both
    inputs = [[1, 1, 1], [3, 1, 4], [2, 2, 2, 2]]
    counts = counted(outputs, outputs, (1, 2, 3), (3, 4, 5), inputs)
    assert [getattr(counts, kind).tolist() for kind in ("neither", "source", "target", "common", "unchanged")] == [
        [0, 0, 1], [1, 0, 1], [2, 1, 1], [0, 2, 1], [1, 2, 1]
    ]  # fmt: skip
    assert conversion.convert_rate(counts) == 4 / (10 - 3)
    shares = {kind: conversion.share(counts, kind) for kind in ("neither", "source", "target", "common")}
    assert shares == {"neither": 0.1, "source": 0.2, "target": 0.4, "common": 0.3}
    assert np.isnan(conversion.convert_rate(counted([[3, 3]], [[3]], (3,), (3,))))


def test_matches_are_clipped_counts():
    generator = np.random.default_rng(0)
    texts = [[generator.integers(8, size=generator.integers(0, 9)).tolist() for _ in range(40)] for _ in range(2)]
    expected = [sum((Counter(one) & Counter(other)).values()) for one, other in zip(*texts, strict=True)]
    assert counted(*texts).matches.tolist() == expected and any(expected)


@pytest.mark.parametrize("longer", ["outputs", "references"])
def test_bleu_is_that_of_sacrebleus_command(tmp_path, longer):
    generator = np.random.default_rng(1)
    sizes = {"outputs": generator.integers(4, 9, 25), "references": generator.integers(1, 7, 25)}
    if longer == "references":
        sizes = {"outputs": sizes["references"], "references": sizes["outputs"]}
    texts = {name: [generator.integers(12, size=n).tolist() for n in each] for name, each in sizes.items()}
    for name, each in texts.items():
        lines = (" ".join(f"##{subword}." for subword in text) for text in each)  # as subwords are, with marks that others split
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    counts = counted(texts["outputs"], texts["references"])
    lines = {name: (tmp_path / name).read_text().splitlines() for name in texts}
    score = BLEU(max_ngram_order=1, tokenize="none", force=True).corpus_score(lines["outputs"], [lines["references"]])
    assert 100 * conversion.bleu(counts) == pytest.approx(score.score, rel=1e-12)
    single = BLEU(max_ngram_order=1, tokenize="none", force=True, effective_order=True)
    each = [single.sentence_score(one, [other]).score for one, other in zip(lines["outputs"], lines["references"], strict=True)]
    assert 100 * conversion.mean_bleu(counts) == pytest.approx(np.mean(each), rel=1e-12)
    command = [sys.executable, "-m", "sacrebleu", str(tmp_path / "references"), "-i", str(tmp_path / "outputs")]
    whole = subprocess.run([*command, "-tok", "none", "--force"], capture_output=True, text=True, check=True)
    told = json.loads(whole.stdout)["verbose_score"]  # of all orders; the command has no option for the highest one
    first, penalty, sizes = re.match(r"([\d.]+)/.*BP = ([\d.]+) .*hyp_len = (\d+ ref_len = \d+)", told).groups()
    assert float(first) == pytest.approx(100 * conversion.bleu(counts, penalty=False), abs=0.05)
    assert float(penalty) == pytest.approx(conversion.bleu(counts) / conversion.bleu(counts, penalty=False), abs=5e-4)
    assert sizes == f"{sum(map(len, texts['outputs']))} ref_len = {sum(map(len, texts['references']))}"
    assert (conversion.bleu(counts) < conversion.bleu(counts, penalty=False)) == (longer == "references")


def test_intervals_hold_what_they_should():
    generator = np.random.default_rng(0)
    outputs = generator.integers(6, size=(400, 8)).tolist()
    counts = counted(outputs, [[0, 0, 1, 1, 9, 9, 9, 9]] * 400, (0, 1), (1, 2))
    (low, high), (bleu_low, bleu_high) = conversion.intervals(counts)
    assert low < conversion.convert_rate(counts) < high and bleu_low < conversion.bleu(counts) < bleu_high
    expected = 2 * 1.96 * counts.matches.std() / 8 / np.sqrt(400)
    assert bleu_high - bleu_low == pytest.approx(expected, rel=0.03)
    hits = np.array([text.count(1) for text in outputs])
    low, high = conversion.share_interval(hits, np.full(400, 8))
    assert high - low == pytest.approx(2 * 1.96 * hits.std() / 8 / np.sqrt(400), rel=0.03) and low < hits.mean() / 8 < high
