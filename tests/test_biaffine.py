"""The biaffine parser: its formula, gradients, padding, the three roots, and the trees it finds."""

import pytest
import torch
from crosslens.config.heads import ParserHead
from crosslens.encoding.texts import IGNORED
from crosslens.training.biaffine import Biaffine
from test_trees import all_trees, weight
from torch import nn
from torch.nn import functional

ROOTS = ("vector", "first", "as_released")
SIZE, RELATIONS = 6, 4


def biaffine(size, relations, **options):
    """A parser with its initial weights."""
    return Biaffine(size, ParserHead(labels=tuple(map(str, range(relations))), **options))


def parser(root="vector", seed=0, size=SIZE, relations=RELATIONS, arc=5, relation=3, dropout=0.0, **options):
    """A small parser with no weight at 0."""
    if root == "as_released":
        options["decoding"] = "probability"
    made = biaffine(size, relations, arc=arc, relation=relation, dropout=dropout, root=root, **options).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for values in made.parameters():
            values.copy_(torch.empty(values.shape).normal_(0, 0.5, generator=generator))
    return made.eval()


def batch(words=(3, 1, 5), size=SIZE, seed=0):
    """States, mask and first subwords' states of sentences, and random heads and relations."""
    generator = torch.Generator().manual_seed(seed)
    b, w = len(words), max(words)
    mask = torch.arange(w) < torch.tensor(words)[:, None]
    states = torch.randn(b, w, size, dtype=torch.float64, generator=generator)
    first = torch.randn(b, size, dtype=torch.float64, generator=generator)
    heads = torch.stack([torch.randint(0, n + 1, (w,), generator=generator) for n in words])
    relations = torch.randint(0, RELATIONS, (b, w), generator=generator)
    return states, mask, first, heads.masked_fill(~mask, IGNORED), relations.masked_fill(~mask, IGNORED)


# The formula.


@pytest.mark.parametrize("activation", ["elu", "leaky_relu"])
def test_scores_are_the_formula(activation):
    made = parser("first", activation=activation)
    states, mask, first, heads, _ = batch()
    scores = made(states, mask, first)
    active = nn.ELU() if activation == "elu" else nn.LeakyReLU(0.1)
    nodes = torch.cat([first[:, None], states], 1)
    weights, biases = made.perceptrons.weight.split(made.sizes), made.perceptrons.bias.split(made.sizes)
    arc_head, arc_dependent, head, dependent = (
        active(functional.linear(nodes, weight, bias)) for weight, bias in zip(weights, biases, strict=True)
    )
    one = torch.ones(1, dtype=torch.float64)
    for sentence, n in enumerate(mask.sum(1).tolist()):
        for word in range(1, n + 1):
            for other in range(n + 1):
                arc = torch.cat([arc_dependent[sentence, word], one]) @ made.arcs @ arc_head[sentence, other]
                assert torch.isclose(scores.arcs[sentence, word - 1, other], arc)
            assert (scores.arcs[sentence, word - 1, n + 1 :] == -torch.inf).all()
            chosen = head[sentence, heads[sentence, word - 1]]
            for k in range(RELATIONS):
                expected = torch.cat([dependent[sentence, word], one]) @ made.relations[:, k] @ torch.cat([chosen, one])
                assert torch.isclose(scores.relations(heads)[sentence, word - 1, k], expected)


def test_probabilities_are_those_of_arc_times_likeliest_relation():
    states, mask, first, _, _ = batch()
    scores = parser("first")(states, mask, first)
    for head in range(mask.shape[1] + 1):
        arc = scores.arcs.softmax(-1)[:, :, head]
        relation = scores.relations(torch.full(mask.shape, head)).softmax(-1).amax(-1)
        assert torch.allclose(scores.probabilities()[:, :, head][mask], (arc * relation)[mask])


@pytest.mark.parametrize("root", ROOTS)
def test_loss_is_the_cross_entropy_of_each_word_summed(root):
    made = parser(root)
    states, mask, first, heads, relations = batch()
    heads[2, 1], relations[0, 0], heads[2, 0] = IGNORED, IGNORED, 0  # a head cut away, an unknown relation, a root word
    scores = made(states, mask, first)
    expected = 0.0
    for sentence, word in mask.nonzero().tolist():
        head, relation = heads[sentence, word], relations[sentence, word]
        if head == IGNORED:
            continue
        if not (root == "as_released" and head == 0):
            expected -= scores.arcs[sentence, word].log_softmax(-1)[head]
        if relation != IGNORED:
            expected -= scores.relations(heads.clamp(min=0))[sentence, word].log_softmax(-1)[relation]
    loss = made.loss(scores, heads, relations)
    assert torch.isclose(loss, expected)
    alone = [made.loss(made(states[i : i + 1], mask[i : i + 1], first[i : i + 1]), heads[i : i + 1], relations[i : i + 1])
             for i in range(len(mask))]  # fmt: skip
    assert torch.isclose(sum(alone), loss)


@pytest.mark.parametrize("root", ROOTS)
def test_gradients_are_right(root):
    made = parser(root)
    states, mask, first, heads, relations = batch((3, 1))
    names = [name for name, _ in made.named_parameters()]

    def loss(states, first, *values):
        scores = torch.func.functional_call(made, dict(zip(names, values, strict=True)), (states, mask, first))
        return made.loss(scores, heads, relations)

    inputs = [states, first, *(values.detach().clone() for values in made.parameters())]
    assert torch.autograd.gradcheck(loss, [values.requires_grad_() for values in inputs])


def test_a_batch_without_a_single_gold_head_has_no_loss():
    made = parser("first")
    states, mask, first, heads, relations = batch()
    loss = made.loss(made(states, mask, first), torch.full_like(heads, IGNORED), relations)
    loss.backward()
    assert loss.item() == 0
    assert all(not values.grad.any() for values in made.parameters() if values.grad is not None)


@pytest.mark.parametrize("root", ROOTS)
def test_padding_changes_nothing(root):
    made = parser(root)
    words = (3, 1, 5, 2)
    states, mask, first, heads, relations = batch(words)
    junk = states.masked_fill(~mask[:, :, None], 1e3)
    scores, found = made(junk, mask, first), made.parse(junk, mask, first)
    for i, n in enumerate(words):
        one = states[i : i + 1, :n], mask[i : i + 1, :n], first[i : i + 1]
        alone, parsed = made(*one), made.parse(*one)
        assert torch.allclose(scores.arcs[i, :n, : n + 1], alone.arcs[0])
        gold = heads[i : i + 1, :n]
        assert torch.allclose(scores.relations(heads)[i, :n], alone.relations(gold)[0])
        for together, separate in zip(found, parsed, strict=True):
            assert together[i, :n].tolist() == separate[0].tolist()
            assert (together[i, n:] == IGNORED).all()


def test_dropout_silences_the_same_units_in_a_whole_sentence():
    made = parser("first", dropout=0.5, arc=40).train()
    state = torch.randn(2, 1, SIZE, dtype=torch.float64)
    scores = made(state.expand(2, 4, SIZE), torch.ones(2, 4, dtype=torch.bool), state[:, 0])
    assert torch.allclose(scores.arcs, scores.arcs[:, :1, :1].expand(2, 4, 5))  # equal words stay equal
    again = made(state.expand(2, 4, SIZE), torch.ones(2, 4, dtype=torch.bool), state[:, 0])
    assert not torch.allclose(scores.arcs, again.arcs)


def test_initialise_draws_orthogonal_perceptrons_from_its_generator_alone():
    made = biaffine(8, 3, arc=6, relation=4)
    draws = []
    for seed in (1, 1, 2):
        torch.manual_seed(len(draws))
        made.initialise(torch.Generator().manual_seed(seed))
        draws.append({name: values.detach().clone() for name, values in made.named_parameters()})
    assert all(torch.equal(draws[0][name], draws[1][name]) for name in draws[0])
    assert not torch.equal(draws[0]["perceptrons.weight"], draws[2]["perceptrons.weight"])
    assert not torch.equal(draws[0]["vector"], draws[2]["vector"])
    for block in made.perceptrons.weight.split(made.sizes):
        assert torch.allclose(block @ block.T, torch.eye(len(block)), atol=1e-5)
    states, mask = torch.randn(1, 3, 8), torch.ones(1, 3, dtype=torch.bool)
    assert not made(states, mask).arcs.any()


def test_a_first_subword_is_asked_for():
    states, mask, *_ = batch()
    with pytest.raises(ValueError, match="root first: expected states of the first tokens"):
        parser("first")(states, mask)
    with pytest.raises(ValueError, match="as_released: expected decoding probability, found log"):
        biaffine(8, 3, root="as_released")


# Parsing.


@pytest.mark.parametrize(("root", "decoding"), [("first", "log"), ("vector", "probability"), ("as_released", "probability")])
def test_the_tree_is_the_best_by_its_weights_and_relations_the_best_for_it(root, decoding):
    made = parser(root, decoding=decoding)
    words = (1, 2, 3, 4, 5)
    for seed in range(20):
        states, mask, first, _, _ = batch(words, seed=seed)
        scores = made(states, mask, first)
        weights = (scores.arcs.log_softmax(-1) if decoding == "log" else scores.probabilities()).detach().numpy()
        heads, relations = made.parse(states, mask, first)
        likeliest = scores.relations(heads).argmax(-1)
        for i, n in enumerate(words):
            tree, of_sentence = heads[i, :n].tolist(), weights[i, :n]
            assert tree in all_trees(n).tolist()
            assert weight(of_sentence, tree) == pytest.approx(weight(of_sentence, all_trees(n)).max(), abs=1e-9)
            for word, head in enumerate(tree):
                lost = root == "as_released" and head == 0
                assert relations[i, word] == (IGNORED if lost else likeliest[i, word])


def test_a_cut_head_teaches_nothing_or_a_relation():
    """wu2019's code trains the relation of such a word against the state at the end; the arc is left out in both."""
    states, mask, first, heads, relations = batch()
    heads[0, 1] = IGNORED
    found = {}
    for cut_heads in ("masked", "last_word"):
        made = parser("vector", cut_heads=cut_heads)
        found[cut_heads] = made.loss(made(states, mask, first), heads, relations).item()
    scores = made(states, mask, first)
    last = heads.clone()
    last[0, 1] = int(mask[0].sum())
    (logits,) = scores.relations(last)[0, 1][None]
    expected = -logits.log_softmax(-1)[relations[0, 1]].item()
    assert found["last_word"] - found["masked"] == pytest.approx(expected, rel=1e-4)
