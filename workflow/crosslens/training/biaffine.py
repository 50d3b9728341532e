"""A biaffine dependency parser on the states of words (muller2021, wu2019; Dozat and Manning 2017).

Heads are numbered as in CoNLL-U: words count from 1, and 0 is the root. A batch has b sentences of at most w words, each padded
at its end. IGNORED marks the head of padding, and of a word whose head was cut off.
"""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from crosslens.config.heads import ParserHead
from crosslens.encoding.texts import IGNORED
from crosslens.numerics.trees import decode_batch
from crosslens.training.heads.head import uniform
from crosslens.training.objectives import cross_entropy

ACTIVATIONS: dict[str, nn.Module] = {"elu": nn.ELU(), "leaky_relu": nn.LeakyReLU(0.1)}


@dataclass(frozen=True)
class Scores:
    """Scores of a batch's arcs, and the two factors whose product scores relations."""

    arcs: torch.Tensor  # (b, w, w + 1) score of each possible head of each word; -inf for padding, and for an as_released root
    of_dependents: torch.Tensor  # (b, w, k, l) units of dependents, multiplied by the weights of each of k relations
    of_heads: torch.Tensor  # (b, w + 1, l) units of heads, the root first

    def relations(self, heads: torch.Tensor) -> torch.Tensor:
        """Return the scores of the relations of each word to its head, (b, w, k). heads: (b, w); IGNORED counts as the root."""
        chosen = heads.clamp(min=0)[..., None].expand(-1, -1, self.of_heads.shape[-1])
        return torch.einsum("bwkl,bwl->bwk", self.of_dependents, self.of_heads.gather(1, chosen))

    def probabilities(self) -> torch.Tensor:
        """Return the probability of each arc times that of its most probable relation, (b, w, w + 1)."""
        relations = torch.einsum("bwkl,bhl->bwhk", self.of_dependents, self.of_heads).log_softmax(-1).amax(-1)
        return (self.arcs.log_softmax(-1) + relations).exp()


class Biaffine(nn.Module):
    """Biaffine scorer of arcs and relations from states of words.

    As in Dozat and Manning, it has four one-layer perceptrons (arc and relation, head and dependent), a bilinear form for
    arcs, and one for each relation. Dropout drops the same units throughout a sentence. Its settings:

    root: source of the root's state, which is trained and scored as a head just as a word's state is. `vector`: a learned
    vector. `first`: the state of the first special subword. `as_released`: as `first`, with the defect of wu2019's code
    (dependency_parser.py masks that subword as if it were not a word). The softmax over heads then excludes the root, root
    words have no arc loss, and arcs from the root weigh 0 in decoding, whatever their relation. So the root word is the one
    that leaves the rest of the tree the largest sum, and its relation is never correct (IGNORED here; the first relation, `_`,
    in wu2019's code).

    decoding: `log`: the tree of the most probable arcs, then the most probable relation of each. `probability`: the tree with
    the largest sum of `Scores.probabilities`, as in wu2019's code (with its defect if the root is `as_released`). Either tree
    has one root word unless `one_root` is false: wu2019's code does not require one (chu_liu_edmonds.py, 6-91). muller2021's
    sibling code sums probabilities too, but with the root's arcs at 0 and the relations' scores transposed
    (model/decoding/decoding.py, lines 15, 37 and 44). In training its softmax includes all subwords, even special ones and
    padding (model/architecture/modeling_multitask.py, line 206). Neither is implemented here.

    initialisation: `orthogonal`, as in muller2021's code: orthogonal perceptrons, zero biases and zero bilinear forms.
    `pytorch`, as in wu2019's: perceptrons and the forms of relations as in PyTorch's Linear and Bilinear. The form of arcs and
    its biases then follow Glorot's rule for a tensor (1, arc + 1, arc + 1) (module.py, 88-94). PyTorch takes its fan-in as
    (arc + 1)^2, so the weights are about sqrt(arc / 2) times smaller than by Glorot's rule for a matrix.

    cut_heads: loss of a word whose head was cut off. `masked`: none. `last_word`: the loss of its relation to the last
    remaining word, approximately as in wu2019's code, which takes the state at the end of the batch's padding for the head
    (dependency_parser.py, 121 and 295-308).

    Departures: of wu2019's arc biases, only those that a softmax over heads does not cancel are kept. Relations have
    muller2021's biases.
    """

    def __init__(self, size: int, settings: ParserHead):
        super().__init__()
        if settings.root == "as_released" and settings.decoding == "log":
            raise ValueError("root as_released: expected decoding probability, found log, which has no tree without the root")
        self.settings, self.activation = settings, ACTIVATIONS[settings.activation]
        arc, relation = settings.arc, settings.relation
        self.sizes = [arc, arc, relation, relation]
        self.perceptrons = nn.Linear(size, sum(self.sizes))  # all four, side by side
        self.arcs = nn.Parameter(torch.zeros(arc + 1, arc))  # no bias for dependents: it would be the same for all heads
        self.relations = nn.Parameter(torch.zeros(relation + 1, len(settings.labels), relation + 1))
        self.vector = nn.Parameter(torch.zeros(size)) if settings.root == "vector" else None
        Biaffine.initialise(self, torch.Generator().manual_seed(0))  # a subclass's may need weights it does not have yet

    def initialise(self, generator: torch.Generator) -> None:
        """Draw new weights; the root's vector has unit variance, as states do."""
        with torch.no_grad():
            if self.settings.initialisation == "pytorch":
                self._initialise_as_pytorch(generator)
                return
            blocks = [torch.empty(size, self.perceptrons.in_features) for size in self.sizes]
            self.perceptrons.weight.copy_(torch.cat([nn.init.orthogonal_(block, generator=generator) for block in blocks]))
            for values in (self.perceptrons.bias, self.arcs, self.relations):
                values.zero_()
            self._draw_root(generator)

    def _initialise_as_pytorch(self, generator: torch.Generator) -> None:
        uniform(self.perceptrons.parameters(), self.perceptrons.in_features, generator)
        units, relation = len(self.arcs), len(self.relations) - 1
        self.arcs.copy_(nn.init.xavier_uniform_(torch.empty(1, units, units), generator=generator)[0, :, :-1])
        self.relations.zero_()
        uniform((self.relations[:-1, :, :-1], self.relations[-1, :, -1]), relation, generator)
        self._draw_root(generator)

    def _draw_root(self, generator: torch.Generator) -> None:
        if self.vector is not None:
            self.vector.copy_(torch.empty(self.vector.shape).normal_(generator=generator))

    def forward(self, states: torch.Tensor, mask: torch.Tensor, first: torch.Tensor | None = None) -> Scores:
        """Return the scores of a batch.

        states: (b, w, d), states of words. mask: (b, w), True for words. first: (b, d), states of the first special subwords;
        None if the root is a learned vector.
        """  # fmt: skip
        if self.vector is not None:
            first = self.vector.expand(len(states), -1)
        if first is None:
            raise ValueError(f"root {self.settings.root}: expected states of the first tokens, (b, d), found none")
        hidden = self.activation(self.perceptrons(torch.cat([first[:, None], states], 1)))
        units = functional.dropout(hidden.new_ones(len(hidden), 1, hidden.shape[-1]), self.settings.dropout, self.training)
        arc_head, arc_dependent, head, dependent = torch.split(hidden * units, self.sizes, -1)
        arcs = _with_one(arc_dependent[:, 1:]) @ self.arcs @ arc_head.mT
        possible = functional.pad(mask, (1, 0), value=self.settings.root != "as_released")
        of_dependents = torch.einsum("bwi,ikl->bwkl", _with_one(dependent[:, 1:]), self.relations)
        return Scores(arcs.masked_fill(~possible[:, None], -torch.inf), of_dependents, _with_one(head))

    def loss(
        self, scores: Scores, heads: torch.Tensor, relations: torch.Tensor, weight: float | torch.Tensor = 1.0
    ) -> torch.Tensor:  # fmt: skip
        """Return the sum over words of -log p(head) - weight log p(relation | head), in nats.

        heads, relations: (b, w), gold. weight: factor of the loss of relations. A word whose head is IGNORED adds nothing, or
        only the loss of its relation (`cut_heads`). A word whose relation is IGNORED adds only the loss of its arc.
        """
        has_head, of_relations = heads != IGNORED, heads
        if self.settings.cut_heads == "last_word":
            places = torch.arange(1, heads.shape[1] + 1, device=heads.device)
            last = (places * (has_head | (relations != IGNORED))).amax(1, keepdim=True)
            of_relations = torch.where(has_head, heads, last)
        else:
            relations = relations.masked_fill(~has_head, IGNORED)
        learnt = heads.masked_fill(heads == 0, IGNORED) if self.settings.root == "as_released" else heads
        arcs = cross_entropy(scores.arcs.flatten(0, 1), learnt.flatten())
        return arcs + weight * cross_entropy(scores.relations(of_relations).flatten(0, 1), relations.flatten())

    def parse(
        self, states: torch.Tensor, mask: torch.Tensor, first: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return heads and relations of the best trees, (b, w) each, IGNORED for padding; takes the arguments of `forward`."""
        scores = self(states, mask, first)
        # A log-softmax over heads would subtract the same from every tree, so plain scores suffice.
        weights = scores.probabilities() if self.settings.decoding == "probability" else scores.arcs
        trees = decode_batch(weights.detach().cpu().numpy(), mask.sum(1).cpu().numpy(), one_root=self.settings.one_root)
        heads = torch.from_numpy(trees).to(states.device)
        relations = scores.relations(heads).argmax(-1)
        if self.settings.root == "as_released":
            relations = relations.masked_fill(heads == 0, IGNORED)
        return heads.masked_fill(~mask, IGNORED), relations.masked_fill(~mask, IGNORED)


def _with_one(hidden: torch.Tensor) -> torch.Tensor:
    """Return units with a constant 1 appended, for biases."""
    return functional.pad(hidden, (0, 1), value=1.0)
