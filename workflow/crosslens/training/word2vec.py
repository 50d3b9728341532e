"""Word2Vec with gensim: skip-gram with negative sampling over subwords."""

from collections.abc import Iterator, Mapping
from logging import Logger
from time import perf_counter
from typing import Any

import numpy as np
import torch
from gensim.models import Word2Vec as Gensim
from gensim.models.callbacks import CallbackAny2Vec

from crosslens.config.static_embeddings import Word2Vec
from crosslens.encoding.texts import Texts
from crosslens.jobs import signals
from crosslens.jobs.errors import DataError
from crosslens.jobs.progress import Progress
from crosslens.numerics.streams import stream
from crosslens.training.checkpoint import CheckpointFile

LONGEST = 10_000  # largest number of subwords that gensim reads in a sentence (gensim.models.word2vec.MAX_WORDS_IN_BATCH)


def train(
    settings: Word2Vec,
    texts: Texts,
    vocabulary: int,
    size: int,
    *,
    seed: int,
    log: Logger,
    checkpoint_file: CheckpointFile | None = None,
) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Return vectors, (vocabulary, size) float32, and for each epoch the mean loss of a subword and the subwords per second.

    Special subwords at the ends of texts are left out. Each epoch shuffles the texts. A subword that occurs fewer than
    minimum_count times has zeros. Two runs with one worker are equal, bit for bit. checkpoint_file: file from which a stopped
    training run continues after its last whole epoch; None: no checkpoints. Raises DataError if no subword is left.
    """
    chosen = Sentences(texts, seed)
    subwords = len(texts.subwords) - texts.edges.around * len(texts)
    with Progress(settings.epochs * subwords, "subwords", log) as progress:
        history = History(subwords, log, checkpoint_file)
        model = Counting(
            vector_size=size, window=settings.window, min_count=settings.minimum_count, sg=1, hs=0, negative=settings.negatives,
            sample=settings.sample, alpha=settings.rate, workers=settings.workers, seed=stream(seed, "word2vec") % (1 << 32),
            epochs=settings.epochs, max_vocab_size=None, shrink_windows=True,
        )  # fmt: skip
        model.build_vocab(chosen)
        if not len(model.wv):
            raise DataError(f"Word2Vec: expected subwords that occur {settings.minimum_count} times, found none: add text")
        model.progress = progress
        if checkpoint_file and (counts := checkpoint_file.read()):
            history.rows, state = counts
            model.restore(state, len(history.rows))
            chosen.passes += model.before
            progress.advance(model.before * subwords)
        model.train(chosen, total_examples=model.corpus_count, epochs=model.epochs, compute_loss=True, callbacks=[history])
    vectors = np.zeros((vocabulary, size), np.float32)
    vectors[[int(name) for name in model.wv.index_to_key]] = model.wv.vectors
    return vectors, history.rows


class Sentences:
    """Texts as lists of subword names for gensim: in order for the first pass, which counts them, then shuffled."""

    def __init__(self, texts: Texts, seed: int) -> None:
        """Keep the texts, which are read on iteration. seed: seed of the shuffles."""
        self.texts, self.seed, self.passes = texts, seed, 0
        self.names = np.array([str(number) for number in range(int(texts.subwords.max()) + 1)], object)

    def __iter__(self) -> Iterator[list[str]]:
        generator = np.random.default_rng(stream(self.seed, "word2vec", "texts", self.passes))
        order = generator.permutation(len(self.texts)) if self.passes else np.arange(len(self.texts))
        self.passes += 1
        offsets, names, (before, _, after) = self.texts.subword_offsets, self.names, self.texts.edges
        for text in order:
            for start in range(offsets[text] + before, offsets[text + 1] - after, LONGEST):
                stop = min(start + LONGEST, offsets[text + 1] - after)
                yield names[self.texts.subwords[start:stop]].tolist()


class Counting(Gensim):  # type: ignore[misc]
    """gensim's Word2Vec with its loss summed in double precision, since gensim's float32 sum soon stops growing."""

    loss = 0.0
    progress: Progress
    before = 0  # number of epochs that an earlier run has done
    epoch = 0  # number of the current epoch, from 1

    def state(self) -> dict[str, torch.Tensor]:
        """Return all tensors that an epoch changes, by name."""
        _, words, place, *_ = self.random.get_state()
        random = torch.from_numpy(np.append(words.astype(np.int64), place))
        return {"words": torch.from_numpy(self.wv.vectors), "contexts": torch.from_numpy(self.syn1neg), "random": random}

    def restore(self, state: Mapping[str, torch.Tensor], epochs: int) -> None:
        """Restore what `state` returned after `epochs` epochs."""
        self.before, random = epochs, state["random"].numpy()
        self.wv.vectors[:], self.syn1neg[:] = state["words"].numpy(), state["contexts"].numpy()
        self.random.set_state(("MT19937", random[:-1].astype(np.uint32), int(random[-1])))

    def _train_epoch(self, *arguments: Any, cur_epoch: int = 0, **options: Any) -> tuple[int, int, int]:
        self.epoch = cur_epoch + 1
        if self.epoch <= self.before:
            return 0, 0, 0
        counts: tuple[int, int, int] = super()._train_epoch(*arguments, cur_epoch=cur_epoch, **options)
        return counts

    def _do_train_job(self, sentences: list[list[str]], alpha: float, inits: Any) -> tuple[int, int]:
        self.running_training_loss = 0.0
        tally, raw = super()._do_train_job(sentences, alpha, inits)
        self.loss += float(self.running_training_loss)
        self.progress.advance(raw)
        return tally, raw


class History(CallbackAny2Vec):  # type: ignore[misc]
    """Callback that records a row for each epoch, and writes checkpoints if there is a file for them."""

    def __init__(self, subwords: int, log: Logger, checkpoint_file: CheckpointFile | None) -> None:
        """Start without rows. subwords: number of subwords in all texts."""
        self.subwords, self.log, self.checkpoint_file = subwords, log, checkpoint_file
        self.rows: list[dict[str, Any]] = []

    def on_epoch_begin(self, model: Counting) -> None:
        """Start the clock."""
        self.began, model.loss = perf_counter(), 0.0

    def on_epoch_end(self, model: Counting) -> None:
        """Add a row, and write a checkpoint."""
        if model.epoch <= model.before:
            return
        mean, speed = model.loss / self.subwords, self.subwords / (perf_counter() - self.began)
        self.rows.append(
            {"epoch": len(self.rows) + 1, "loss": mean, "subwords": self.subwords, "subwords_per_second": round(speed)}
        )
        self.log.info("epoch %d: loss %.4f a subword, %.0f subwords a second", len(self.rows), mean, speed)
        if self.checkpoint_file:
            with signals.held():
                self.checkpoint_file.write(self.rows, model.state())
