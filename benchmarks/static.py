"""Static embeddings: counting and training of GloVe against plain loops and the package mittens, and how fast Word2Vec is.

    python benchmarks/static.py en_ewt-ud-train.conllu
    python benchmarks/static.py --size 300 en_ewt-ud-train.conllu de_gsd-ud-train.conllu

The texts are a treebank's sentences in the pieces of multilingual-e5-small. Counts of the loop, one pair after the other into a
dictionary, are compared with ours before anything is printed. GloVe is trained on the pairs of the most frequent pieces, so that
mittens, whose matrices are dense, can take part: ours in batches, a loop of an update a pair as the released C code makes them,
and mittens, whose one update an epoch is of all pairs. The loss at the end shows what an epoch of each achieves.
"""

import argparse
import tempfile
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import common
import mittens
import numpy as np
import torch
from crosslens.config.static import GloVe, Word2Vec
from crosslens.encoding.texts import Texts
from crosslens.training import glove, static
from crosslens.training.cooccurrence import Cooccurrence, count
from threadpoolctl import threadpool_limits

OURS, LOOP, MITTENS = "ours", "plain loop", "mittens"


def looped_count(texts: Texts, window: int) -> dict[tuple[int, int], float]:
    """Counts of ordered pairs, one piece after the other."""
    counts: dict[tuple[int, int], float] = defaultdict(float)
    for start, stop in pairwise(texts.piece_offsets.tolist()):
        pieces = texts.pieces[start + 1 : stop - 1].tolist()
        for here, piece in enumerate(pieces):
            for there in range(max(0, here - window), here):
                counts[piece, pieces[there]] += 1 / (here - there)
                counts[pieces[there], piece] += 1 / (here - there)
    return counts


def frequent(pairs: Cooccurrence, texts: Texts, number: int) -> Cooccurrence:
    """Pairs of the most frequent pieces, renumbered."""
    order = np.argsort(-np.bincount(texts.pieces), kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    first, second = rank[pairs.first], rank[pairs.second]
    kept = (first < number) & (second < number)
    one, other = np.minimum(first, second)[kept], np.maximum(first, second)[kept]
    return Cooccurrence(one.astype(np.int32), other.astype(np.int32), pairs.counts[kept])


def both_orders(pairs: Cooccurrence) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    others = pairs.first != pairs.second
    return (
        np.concatenate([pairs.first, pairs.second[others]]),
        np.concatenate([pairs.second, pairs.first[others]]),
        np.concatenate([pairs.counts, pairs.counts[others]]),
    )


def looped_training(pairs: Cooccurrence, number: int, size: int, settings: GloVe) -> list[float]:
    """Mean loss of each epoch, an update a pair: stanfordnlp/GloVe 52f7dbc, src/glove.c:183-231, biases with the rate as before
    2019.
    """  # fmt: skip
    generator = np.random.default_rng(0)
    start = ((generator.random((2, number, size + 1)) - 0.5) / size).astype(np.float32)
    (words, contexts), (word_biases, context_biases) = start[:, :, :size].copy(), start[:, :, size].copy()
    squares = [np.ones_like(values) for values in (words, contexts, word_biases, context_biases)]
    rows, columns, counts = both_orders(pairs)
    logs, weights = np.log(counts), np.minimum(counts / settings.x_max, 1) ** settings.exponent
    losses = []
    for _ in range(settings.epochs):
        total = 0.0
        for pair in generator.permutation(len(rows)):
            i, j = rows[pair], columns[pair]
            error = words[i] @ contexts[j] + word_biases[i] + context_biases[j] - logs[pair]
            weighted = weights[pair] * error
            total += weighted * error / 2
            steps = settings.rate * weighted * contexts[j], settings.rate * weighted * words[i], *(2 * [settings.rate * weighted])
            for values, sums, row, step in zip(
                (words, contexts, word_biases, context_biases), squares, (i, j, i, j), steps, strict=True
            ):
                values[row] -= step / np.sqrt(sums[row])
                sums[row] += step * step
        losses.append(total / len(rows))
    return losses


def main() -> None:
    """Time the arms in turn, and compare their values."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("treebanks", type=Path, nargs="+")
    parser.add_argument("--encoder", type=Path, help="folder of another encoder, whose pieces are counted")
    parser.add_argument("--sentences", type=int, default=4000, help="of each treebank")
    parser.add_argument("--pieces", type=int, default=2000, help="most frequent pieces, whose pairs are trained on")
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    common.machine_arguments(parser)
    settings = parser.parse_args()
    clock = common.set_machine(settings)
    chosen = GloVe(epochs=settings.epochs)
    with tempfile.TemporaryDirectory() as temporary, threadpool_limits(settings.threads):
        common.trimmed(common.official(settings.encoder), settings.treebanks, Path(temporary))
        rows = [row for path in settings.treebanks for row in common.evenly(common.sentences(path), settings.sentences)]
        texts = common.tokenised(Path(temporary), rows)
    vocabulary, pieces = int(texts.pieces.max()) + 1, len(texts.pieces) - 2 * len(texts)
    pairs = count(texts, vocabulary, chosen.window, common.LOG)
    expected = looped_count(texts, chosen.window)
    i, j, x = both_orders(pairs)
    assert len(i) == len(expected)
    np.testing.assert_allclose(x, [expected[pair] for pair in zip(i.tolist(), j.tolist(), strict=True)])
    some = frequent(pairs, texts, settings.pieces)
    i, j, x = both_orders(some)
    dense = np.zeros((settings.pieces, settings.pieces))
    dense[i, j] = x
    losses: dict[str, float] = {}

    def counted(ours: bool) -> float:
        started = clock()
        if ours:
            count(texts, vocabulary, chosen.window, common.LOG)
        else:
            looped_count(texts, chosen.window)
        return pieces / (clock() - started)

    def trained() -> float:
        started = clock()
        device = torch.device("cpu")
        _, history = glove.train(chosen, some, settings.pieces, settings.size, seed=0, device=device, log=common.LOG)
        took = clock() - started
        losses[OURS] = history[-1]["loss"]
        return settings.epochs * len(x) / took

    def looped() -> float:
        started = clock()
        losses[LOOP] = looped_training(some, settings.pieces, settings.size, chosen)[-1]
        return settings.epochs * len(x) / (clock() - started)

    def package() -> float:
        started = clock()
        model = mittens.GloVe(n=settings.size, max_iter=settings.epochs, learning_rate=chosen.rate, display_progress=0)
        model.fit(dense)
        losses[MITTENS] = model.errors[-1] / len(x)
        return settings.epochs * len(x) / (clock() - started)

    def words() -> float:
        started = clock()
        setting = Word2Vec(epochs=settings.epochs)
        static.train(setting, texts, vocabulary, settings.size, seed=0, threads=settings.threads, log=common.LOG)
        return settings.epochs * pieces / (clock() - started)

    with threadpool_limits(settings.threads):
        counting = common.in_turn({OURS: lambda: counted(True), LOOP: lambda: counted(False)}, settings.repeats)
        training = common.in_turn({OURS: trained, LOOP: looped, MITTENS: package}, settings.repeats)
        skipgram = common.in_turn({"Word2Vec (gensim)": words}, settings.repeats)
    print(f"{len(texts)} sentences, {pieces} pieces, {len(pairs.first)} pairs, {common.machine(settings)}")
    print(f"GloVe: {len(some.first)} pairs of the most frequent {settings.pieces} pieces, {settings.size} dimensions")
    print("counting:\n" + common.compare(counting, "pieces a second", [LOOP]))
    print(common.compare(training, "pairs a second, in both orders", [LOOP, MITTENS]))
    print(f"mean loss of the last epoch: {', '.join(f'{name} {loss:.4f}' for name, loss in losses.items())}")
    print(common.compare(skipgram, "pieces a second", list(skipgram)))


if __name__ == "__main__":
    main()
