"""The feature-based model of wu2019: scalar mix, LSTM, maximum over words; and heads that are given more than a state."""

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from conftest import LANGUAGES, NLI, UPOS
from crosslens.config.heads import ALL, ARC, LANGUAGE, TAG, TASK, WORD, LinearHead, Mix, ParserHead
from crosslens.config.labels import RELATIONS
from crosslens.config.recipes import ENCODER, Halving, Phase, Score, Stage, Term
from crosslens.config.units import Units
from crosslens.encoding.batches import Padding
from crosslens.encoding.texts import IGNORED, load
from crosslens.training import optimiser
from crosslens.training.biaffine import Biaffine
from crosslens.training.features import Features
from crosslens.training.heads.build import build
from crosslens.training.objectives import shared_dropout
from crosslens.training.run import load_data, predictions_table
from test_training import (
    TEST,
    TRAIN,
    VALIDATION,
    WIKI,
    WIKI_VALIDATION,
    assert_resumes,
    compute_gradients,
    loop,
    nli,
    recipe,
)

LAYERS, SIZE = 3, 32  # of the tests' encoder, embeddings included


def made(settings, size=5, layers=4, sd=None):
    (head,) = build({TASK: settings}, size, layers - 1, dropout=0.0, sd=sd, subspaces={}).values()
    head.initialise(torch.Generator().manual_seed(0))
    return head


def states(n, width, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(n, width)).astype(np.float32))


def test_layers_are_weighted_by_a_softmax():
    head = made(LinearHead(labels=UPOS, mix=Mix(lstm_layers=0)))
    of, sizes = states(6, 20), torch.tensor([2, 4])
    by_layer = of.numpy().reshape(6, 4, 5)
    np.testing.assert_allclose(head.features(of, sizes).detach(), by_layer.mean(1), rtol=1e-5, atol=1e-6)  # they start alike
    with torch.no_grad():
        head.weights.copy_(torch.tensor([0.3, -1.0, 2.0, 0.0]))
    shares = np.exp([0.3, -1.0, 2.0, 0.0]) / np.exp([0.3, -1.0, 2.0, 0.0]).sum()
    expected = sum(share * by_layer[:, layer] for layer, share in enumerate(shares))
    np.testing.assert_allclose(head.features(of, sizes).detach(), expected, rtol=1e-5, atol=1e-6)


def test_the_lstm_reads_each_text_alone():
    head, sizes = made(LinearHead(labels=UPOS, mix=Mix(lstm_layers=2, lstm_size=3))), torch.tensor([2, 0, 5, 1])
    of = states(8, 20)
    found = head.features(of, sizes)
    mixed = of.view(8, 4, 5).mean(1)
    for first, last in ((0, 2), (2, 7), (7, 8)):
        torch.testing.assert_close(found[first:last], head.lstm(mixed[first:last][None])[0][0])
    assert found.shape == (8, 6)
    bound = 3**-0.5
    drawn = torch.cat([values.flatten() for values in head.lstm.parameters()]).abs()
    assert drawn.max() <= bound and drawn.max() > 0.9 * bound  # PyTorch's own bounds


def test_a_text_is_the_maximum_over_its_words_without_its_first_subword():
    head, sizes = made(LinearHead(labels=NLI, mix=Mix(lstm_layers=1, lstm_size=3, pool=True))), torch.tensor([4, 1, 3])
    of = states(8, 20)
    found, mixed = head.features(of, sizes), of.view(8, 4, 5).mean(1)
    for first, words in ((0, mixed[1:4]), (4, mixed[4:5]), (5, mixed[6:8])):
        torch.testing.assert_close(found[first], head.lstm(words[None])[0][0].amax(0))
    moved = of.clone()
    moved[[0, 5]] += 1
    torch.testing.assert_close(head.features(moved, sizes), found)


def test_a_linear_head_starts_as_pytorch_has_it_where_no_deviation_is_given():
    head = made(LinearHead(labels=UPOS), size=400)
    for values in head[1].parameters():
        assert 0.8 / 20 < values.detach().abs().max() <= 1 / 20
    assert made(LinearHead(labels=UPOS), size=400, sd=0.02)[1].bias.detach().abs().max() == 0


def test_a_parser_starts_as_pytorch_has_it():
    parser = Biaffine(100, ParserHead(labels=tuple("abcdefg"), arc=64, relation=25, initialisation="pytorch"))
    torch.manual_seed(0)
    bilinear, linear = torch.nn.Bilinear(25, 25, 7), torch.nn.Linear(100, 64)
    released = torch.nn.init.xavier_uniform_(torch.empty(1, 65, 65))  # the shape has a fan-in of 65 squared
    likes = {parser.relations[:-1, :, :-1]: bilinear.weight, parser.perceptrons.weight: linear.weight, parser.arcs: released}
    for ours, theirs in likes.items():
        assert float(ours.detach().std()) == pytest.approx(float(theirs.detach().std()), rel=0.05)
    for values in (parser.arcs, parser.arcs[-1]):  # of heads and dependents, and the bias of heads
        assert 0.8 * released.abs().max() < values.detach().abs().max() <= (6 / (65**2 + 65)) ** 0.5


def of_features(make=recipe, **mix):
    """The feature-based model: the encoder is frozen."""
    of = make("frozen", dropout=0.0, warmup=0.0, decay="none", select_by="accuracy")
    changes = {"halving": Halving(floor=5e-3), "epochs": 40, "head_rate": 3e-2, "new_heads": (TASK,)}
    stage = of.stages[0].model_copy(update=changes)
    head = of.heads[TASK].model_copy(update={"mix": Mix(lstm_layers=1, lstm_size=16, **mix)})
    return of.model_copy(update={"heads": {TASK: head}, "stages": (stage,), "scores": of.scores[:1]})


def paths_of(tokens, data):
    return [tokens / corpus / f"{code}.{split}.parquet" for corpus, code, split in data.files()]


def texts_of(tokens, of, **options):
    """Texts of a recipe's data, each with its first subword before its words unless `options` say otherwise."""
    labels, options = of.labels(TASK), {"led": True} | options
    return {data: load(paths_of(tokens, data), labels, LANGUAGES, of.units.unit, **options) for data in of.data()}


def test_it_learns_to_tag_and_halves_its_rate(bench):
    of = of_features()
    trained = loop(bench, of).run()
    history = trained.history
    assert max(row["score"] for row in history) > 0.8  # accuracy
    assert len(history) - 1 < 40
    assert optimiser.too_low(of.stages[0], history) and not optimiser.too_low(of.stages[0], history[:-1])
    halvings = sum(row["score"] <= max(before["score"] for before in history[:i]) for i, row in enumerate(history) if i)
    assert halvings == 3  # 3e-2 / 2 ** 3 is below the floor
    assert trained.encoder_changed is False
    assert not torch.equal(trained.model.head(TASK).weights, torch.zeros(LAYERS))


def test_a_halved_stage_resumes_exactly(bench, tmp_path):
    of = of_features()
    last = loop(bench, of).run().history[-1]["epoch"]
    steps = of.stages[0].phases[0].steps(of.stages[0].batch, {TRAIN: len(bench.texts(TRAIN))})
    assert_resumes(bench, of, (2, steps * (last - 1) + 1), tmp_path)


def test_it_learns_labels_of_texts_from_their_words(bench, tokens):
    of = of_features()
    head = LinearHead(labels=LANGUAGES, learns=LANGUAGE, mix=Mix(lstm_layers=1, lstm_size=16, pool=True))
    phase = Phase(terms=(Term(head=LANGUAGE, data=WIKI),), update=(LANGUAGE,))
    changes = {"phases": (phase,), "new_heads": (LANGUAGE,), "select_head": LANGUAGE, "select_data": WIKI_VALIDATION}
    of = of.model_copy(
        update={
            "heads": {LANGUAGE: head},
            "stages": (of.stages[0].model_copy(update=changes),),
            "scores": (Score(head=LANGUAGE, data=WIKI_VALIDATION),),
            "units": Units(unit="text", state="words"),
        }
    )
    texts = texts_of(tokens, of)
    trained = loop(bench, of, texts=texts).run()
    assert max(row["score"] for row in trained.history) > 0.8
    (score,) = of.scores
    labels = texts[score.data].labels[LANGUAGE]
    assert (labels != IGNORED).sum() == len(texts[score.data]) < len(labels)
    table = predictions_table(of, texts, trained).to_pylist()
    assert [row["gold"] for row in table] == [[number] for number in labels[labels != IGNORED]]


@pytest.mark.parametrize("pool", [False, True])
def test_kept_states_and_micro_batches_change_nothing(bench, tokens, pool):
    of = of_features(nli, pool=True) if pool else of_features()
    of = of.model_copy(update={"units": Units(unit="text", state="words")}) if pool else of
    texts = texts_of(tokens, of) if pool else None
    found = []
    for cached, largest in ((True, 10**9), (False, 10**9), (True, 3)):
        trainer = loop(bench, of, texts=texts)
        trainer.model.initialise_heads((TASK,), 0)
        trainer.head_inputs.cached, trainer.step.largest = cached, largest
        losses = compute_gradients(trainer, of.stages[0].phases[0], [np.arange(10)])
        found.append([losses[0], *(value.grad for value in trainer.model.head(TASK).parameters())])
    for other in found[1:]:
        for one, value in zip(found[0], other, strict=True):
            torch.testing.assert_close(torch.as_tensor(value), torch.as_tensor(one), rtol=1e-3, atol=1e-6)


def test_layers_are_read_in_one_pass(bench, monkeypatch):
    of = of_features()
    trainer, passes = loop(bench, of), []
    forward = trainer.model.encoder.forward
    monkeypatch.setattr(trainer.model.encoder, "forward", lambda **given: (passes.append(1), forward(**given))[1])
    found = Features().of(trainer.model, VALIDATION, bench.texts(VALIDATION), ALL, [0, None])
    once = len(passes)
    assert found.shape == (len(bench.texts(VALIDATION).positions), LAYERS * SIZE)
    features = Features()
    for layer in (0, 1, ALL, None):
        each = features.of(trainer.model, VALIDATION, bench.texts(VALIDATION), layer, [0, 1, ALL, None])
        expected = {0: found[:, :SIZE], 1: found[:, SIZE : 2 * SIZE], ALL: found}.get(layer, found[:, -SIZE:])
        torch.testing.assert_close(each, expected)
    assert len(passes) == 2 * once
    texts, size = {VALIDATION: bench.texts(VALIDATION)}, found.numel() * 4

    def fits(stored, most):
        monkeypatch.setattr("crosslens.training.features.BYTES", most)
        return stored.room(trainer.model, texts, [ALL])

    assert fits(Features(), size) and not fits(Features(), size - 1)
    # Those of the two layers and of the last, which are kept, are as large again.
    assert fits(features, 2 * size) and not fits(features, 2 * size - 1)


# Language identification: mean states of layers.


def test_mean_states_are_those_of_all_subwords(bench):
    of = recipe(heads={"language 1": LinearHead(labels=LANGUAGES, learns=LANGUAGE, layer=1)}, stages=(), scores=())
    of = of.model_copy(update={"units": Units(unit="text", state="mean")})
    texts = bench.texts(VALIDATION, "text")
    trainer = loop(bench, of, texts={VALIDATION: texts})
    trainer.model.eval()
    found = Features().of(trainer.model, VALIDATION, texts, 1, [])
    for text in (0, 3):
        subwords = torch.from_numpy(texts.subwords[texts.subword_rows(np.array([text]))].astype(np.int64))[None]
        with torch.inference_mode():
            hidden = trainer.model.encoder(input_ids=subwords, output_hidden_states=True).hidden_states[1]
        torch.testing.assert_close(found[text], hidden[0].mean(0), rtol=1e-4, atol=1e-5)


# The optimiser and dropout.


def test_biases_and_layer_norms_do_not_decay(bench):
    of = recipe(decays="matrices", weight_decay=0.25, beta2=0.99, epsilon=1e-3)
    trainer = loop(bench, of)
    made = optimiser.build(trainer.model, of, of.stages[0], trainer.optimiser)
    decay = {id(parameter): group["weight_decay"] for group in made.param_groups for parameter in group["params"]}
    assert {(group["betas"], group["eps"]) for group in made.param_groups} == {((0.9, 0.99), 1e-3)}
    parameters = dict(trainer.model.named_parameters())
    assert decay.keys() == {id(value) for value in parameters.values()}
    for name, value in parameters.items():
        exempt = name.endswith("bias") or "LayerNorm" in name
        assert decay[id(value)] == (0.0 if exempt else 0.25), name
    assert decay[id(parameters["heads.task.1.weight"])] == 0.25


def test_input_dropout_drops_the_same_units_in_a_whole_text():
    torch.manual_seed(0)
    sizes = torch.tensor([3, 1, 4])
    found = shared_dropout(torch.ones(8, 1000), Padding.of(sizes), 0.2)
    for part in torch.split(found, sizes.tolist()):
        assert (part == part[0]).all()
    assert (found == 0).float().mean() == pytest.approx(0.2, abs=0.03) and found.max() == pytest.approx(1.25)
    assert not torch.equal(found[0], found[3])
    by_layer = shared_dropout(torch.ones(8, 4 * 1000), Padding.of(sizes), 0.2, layers=4).view(8, 4, 1000)
    assert (by_layer == by_layer[:, :1]).all()  # the weighted sum of layers loses whole units
    assert (by_layer == 0).float().mean() == pytest.approx(0.2, abs=0.03)


# Parsers that are given tags, or the state of the first subword.


def parser_recipe(**settings):
    data = {split: TRAIN.model_copy(update={"split": split}) for split in ("train", "validation")}
    stage = Stage(
        name="task", phases=(Phase(terms=(Term(head=TASK, data=data["train"], loss="tree"),), update=(ENCODER, TASK)),), epochs=4,
        batch=8, encoder_rate=2e-3, head_rate=5e-3, new_heads=(TASK,), select_head=TASK, select_data=data["validation"],
    )  # fmt: skip
    head = ParserHead(labels=RELATIONS, arc=16, relation=16, dropout=0.0, **settings)
    scores, heads = (Score(head=TASK, data=TEST),), {TASK: head}
    return recipe(heads=heads, stages=(stage,), scores=scores, select_by="las", warmup=0.0, decay="none")


def parsed(bench, tokens, of):
    texts = texts_of(tokens, of, trees=True, led=of.heads[TASK].root != "vector")
    return texts, loop(bench, of, texts=texts).run()


@pytest.mark.parametrize("root", ["vector", "first", "as_released"])
def test_roots_as_the_first_subword_and_as_released(bench, tokens, root):
    of = parser_recipe(root=root, decoding="probability")
    texts, trained = parsed(bench, tokens, of)
    table = predictions_table(of, texts, trained)
    plain = load(paths_of(tokens, TEST), RELATIONS, LANGUAGES, trees=True)
    rows = {head: table.filter([name == head for name in table["head"].to_pylist()]) for head in (TASK, ARC)}
    gold = {head: np.concatenate(rows[head]["gold"].to_pylist()) for head in rows}
    assert np.array_equal(gold[ARC], plain.labels[ARC]) and np.array_equal(gold[TASK], plain.labels[TASK])
    heads = [np.array(each) for each in rows[ARC]["predicted"].to_pylist()]
    assert all((each == 0).sum() == 1 for each in heads)  # one root word
    relations = np.concatenate(rows[TASK]["predicted"].to_pylist())
    of_roots = relations[np.concatenate(heads) == 0]
    assert (of_roots == IGNORED).all() if root == "as_released" else (of_roots >= 0).all()
    scores = [row["score"] for row in trained.history]
    assert max(scores) > (0.4 if root != "as_released" else 0.2)


def test_the_root_of_features_is_the_lstms_state_at_the_first_subword():
    settings = ParserHead(labels=RELATIONS, root="first", arc=8, relation=8, mix=Mix(lstm_layers=1, lstm_size=16))
    head, some, sizes = made(settings).eval(), states(5, 20), torch.tensor([5])
    _, _, root = head.head.wide(head.features(some, sizes), Padding.of(sizes), {})
    mixed = torch.einsum("l,nld->nd", head.weights.softmax(0), some.view(5, 4, 5))
    torch.testing.assert_close(root, head.lstm(mixed[None])[0][:, 0])


def test_an_lstm_over_subwords_hands_on_those_that_begin_a_word(bench, tokens):
    paths = paths_of(tokens, TEST)
    plain, texts = (load(paths, RELATIONS, LANGUAGES, trees=True, every_subword=subwords) for subwords in (False, True))
    assert len(texts.positions) == len(texts.subwords) > len(plain.positions) == len(texts.scored())
    rows = texts.scored()
    assert [texts.words[row] for row in rows] == plain.words and np.array_equal(texts.positions[rows], plain.positions)
    for kind, labels in plain.labels.items():
        assert np.array_equal(texts.labels[kind][rows], labels)
        assert (np.delete(texts.labels[kind], rows) == IGNORED).all()
    some = np.array([4, 1])
    taken = texts.take(some)
    assert np.array_equal(taken.scored(), np.flatnonzero(texts.targets[texts.word_rows(some)]))

    for root, first in (("first", 1), ("vector", 0)):
        mix = Mix(lstm_layers=1, lstm_size=3, reads="subwords")
        settings = ParserHead(labels=RELATIONS, root=root, arc=8, relation=8, mix=mix)
        head, sizes = made(settings).eval(), torch.from_numpy(np.diff(taken.word_offsets))
        of = states(int(sizes.sum()), 20)
        given = {kind: torch.from_numpy(labels) for kind, labels in taken.labels.items()}
        found, features = head.classes(of, Padding.of(sizes), given), head.features(of, sizes)
        for start, size in zip((0, int(sizes[0])), sizes.tolist(), strict=True):
            words = np.flatnonzero(given[WORD][start : start + size] != IGNORED)
            read = torch.from_numpy(np.concatenate([[0], words] if first else [words])) + start
            alone = head.head.classes(features[read], Padding.of(torch.tensor([len(read)])), {})
            assert torch.equal(found[ARC][words + start], alone[ARC][first:]) and set(found) == {TASK, ARC}
        term = Term(head=TASK, data=TEST, loss="tree")
        loss = head.term_loss(term, of, Padding.of(sizes), given, words=10, sentences=2)
        read = given[WORD] != IGNORED
        read[[0, int(sizes[0])]] |= bool(first)
        parts = torch.tensor([int(part.sum()) for part in torch.split(read, sizes.tolist())])
        labels = {kind: values[read] for kind, values in given.items()}
        same = head.head.term_loss(term, features[read], Padding.of(parts), labels, words=10, sentences=2)
        torch.testing.assert_close(loss, same)


@pytest.mark.parametrize("unit", ["pos", "parsing"])
def test_features_of_subwords_are_learnt_and_scored_by_word(bench, tokens, unit):
    mix = Mix(lstm_layers=1, lstm_size=16, reads="subwords")
    of = parser_recipe(root="first", mix=mix) if unit == "parsing" else of_features(reads="subwords")
    if unit == "parsing":
        phase = Phase(terms=of.stages[0].phases[0].terms, update=(TASK,))
        of = of.model_copy(update={"stages": (of.stages[0].model_copy(update={"phases": (phase,), "epochs": 12}),)})
    files = {key: path for data in of.data() for key, path in zip(data.files(), paths_of(tokens, data), strict=True)}
    texts = load_data(of, files, 0)
    trained = loop(bench, of, texts=texts).run()
    assert max(row["score"] for row in trained.history) > (0.3 if unit == "parsing" else 0.7)
    (score,) = of.scores
    words = [row["gold"] for row in predictions_table(of, texts, trained).to_pylist() if row["head"] == TASK]
    plain = load(paths_of(tokens, score.data), of.labels(TASK), LANGUAGES, trees=unit == "parsing")
    assert np.array_equal(np.concatenate(words), plain.labels[TASK])


def test_gold_tags_are_read_from_the_labels(bench, tokens):
    of = parser_recipe(tag_size=8)
    texts, trained = parsed(bench, tokens, of)
    head, data = trained.model.head(TASK).eval(), TEST
    assert head.tags.weight.shape == (18, 8)
    path = tokens / "sentences" / f"{LANGUAGES[0]}.test.parquet"
    names = [name for row in pq.read_table(path)["labels"].to_pylist() for name in row]
    assert [UPOS[number] for number in texts[data].labels[TAG][: len(names)]] == names
    some, sizes = states(5, SIZE), torch.tensor([5])
    with torch.inference_mode():
        one, other = (
            head.wide(some, Padding.of(sizes), {TAG: torch.tensor(tags)})[0] for tags in ([1] * 5, [1, 1, IGNORED, 1, 1])
        )
    assert one.shape == (1, 5, SIZE + 8)
    assert torch.equal(one[0, 0], other[0, 0]) and not torch.equal(one[0, 2], other[0, 2])


def test_shares_of_rates():
    stage = of_features().stages[0]
    rows = [{"stage": "task", "score": score} for score in (0.2, 0.5, 0.5, 0.6, 0.55, 0.6)]
    assert [optimiser.share(stage, rows[:n]) for n in range(1, 7)] == [1, 1, 0.5, 0.5, 0.25, 0.125]
    assert optimiser.share(stage.model_copy(update={"halving": None}), rows) == 1
    assert optimiser.share(stage, [row | {"stage": "before"} for row in rows]) == 1
    assert optimiser.too_low(stage, rows) and not optimiser.too_low(stage, rows[:-1])
