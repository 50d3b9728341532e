"""A biaffine dependency parser on the states of words (muller2021, wu2019; Dozat and Manning 2017).

Heads are numbered as in CoNLL-U: words count from 1, and 0 is the root. A batch is b sentences of at most w words, each padded
at its end; IGNORED stands for the head of padding and of a word whose head was cut away.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn
from torch.nn import functional

from crosslens.encoding.texts import IGNORED
from crosslens.numerics.trees import decode_batch
from crosslens.training.objectives import cross_entropy

ACTIVATIONS: dict[str, nn.Module] = {"elu": nn.ELU(), "leaky_relu": nn.LeakyReLU(0.1)}
Root = Literal["vector", "first", "as_released"]
Initialisation = Literal["orthogonal", "pytorch"]
CutHeads = Literal["masked", "last_word"]


@dataclass(frozen=True)
class Scores:
    """Scores of a batch's arcs, and of relations where they are asked for."""

    arcs: torch.Tensor  # (b, w, w + 1) of each word's possible heads; -inf where a head is padding
    of_dependents: torch.Tensor  # (b, w, k, l), times the weights of each of k relations
    of_heads: torch.Tensor  # (b, w + 1, l), the root first

    def relations(self, heads: torch.Tensor) -> torch.Tensor:
        """Scores of the relations of words to given heads (b, w), (b, w, k); IGNORED counts as the root."""
        chosen = heads.clamp(min=0)[..., None].expand(-1, -1, self.of_heads.shape[-1])
        return torch.einsum("bwkl,bwl->bwk", self.of_dependents, self.of_heads.gather(1, chosen))

    def probabilities(self) -> torch.Tensor:
        """Probability of each arc times that of its likeliest relation, (b, w, w + 1)."""
        relations = torch.einsum("bwkl,bhl->bwhk", self.of_dependents, self.of_heads).log_softmax(-1).amax(-1)
        return (self.arcs.log_softmax(-1) + relations).exp()


class Biaffine(nn.Module):
    """Scores of arcs and relations from states of words.

    Four perceptrons of one layer (arc and relation, head and dependent), dropout of the same units in a whole sentence, a
    bilinear form for arcs and one for each relation, as Dozat and Manning have them. The defaults are wu2019's; muller2021's
    code has arc 500, relation 200, dropout 0.1 and leaky_relu.

    root: what the root's state is, which is trained and scored as a head like any word's: `vector` learns one, `first` is the
    first special piece's. `as_released` is `first` with the defect of wu2019's code (dependency_parser.py masks that piece as
    if it were no word): the softmax over heads leaves the root out, root words have no arc loss, and all arcs from the root
    weigh 0 in decoding, whatever their relation; so the root word is the one that the rest of the tree misses least, and its
    relation is never right (here IGNORED, there its first one, `_`).

    decoding: `log`, the tree of the most probable arcs, then the likeliest relation of each; `probability`, the tree with the
    largest sum of `Scores.probabilities`, as wu2019's code has it, its defect included. Either with one root word, unless
    `one_root` is false: that code does not ask for it (chu_liu_edmonds.py, 6-91). muller2021's sibling code sums probabilities
    too, but with the root's arcs at 0 and the relations' scores transposed (model/decoding/decoding.py, lines 15, 37 and 44),
    which is not built here. Nor is its softmax over all pieces, special ones and padding included, in training
    (model/architecture/modeling_multitask.py, line 206).

    initialisation: `orthogonal` as in muller2021's code: orthogonal perceptrons, zero biases and bilinear forms; `pytorch` as in
    wu2019's: perceptrons and the forms of relations as PyTorch's Linear and Bilinear are drawn, that of arcs and its biases as
    Glorot's of a tensor (1, arc + 1, arc + 1) (module.py, 88-94), for which PyTorch takes a fan-in of (arc + 1) squared: about
    sqrt(arc / 2) times smaller than Glorot's of a matrix.

    Departures: of wu2019's biases of arcs only those which a softmax over heads does not cancel; relations have muller2021's
    biases.

    cut_heads: what a word whose head was cut away teaches: `masked`, nothing; `last_word`, its relation to the last word that is
    left, about as wu2019's code has it, which takes the state at the end of the batch's padding for the head
    (dependency_parser.py, 121 and 295-308).
    """

    def __init__(
        self,
        size: int,
        relations: int,
        *,
        arc: int = 512,
        relation: int = 128,
        dropout: float = 0.33,
        activation: Literal["elu", "leaky_relu"] = "elu",
        root: Root = "vector",
        decoding: Literal["log", "probability"] = "log",
        initialisation: Initialisation = "orthogonal",
        cut_heads: CutHeads = "masked",
        one_root: bool = True,
    ):
        super().__init__()
        if root == "as_released" and decoding == "log":
            raise ValueError("root as_released: expected decoding probability, found log, which has no tree without the root")
        self.sizes = [arc, arc, relation, relation]
        self.dropout, self.activation, self.root, self.decoding = dropout, ACTIVATIONS[activation], root, decoding
        self.initialisation, self.cut_heads, self.one_root = initialisation, cut_heads, one_root
        self.perceptrons = nn.Linear(size, sum(self.sizes))  # side by side
        self.arcs = nn.Parameter(torch.zeros(arc + 1, arc))  # what depends on the dependent alone is the same for all heads
        self.relations = nn.Parameter(torch.zeros(relation + 1, relations, relation + 1))
        self.vector = nn.Parameter(torch.zeros(size)) if root == "vector" else None
        Biaffine.initialise(self, torch.Generator().manual_seed(0))  # a subclass may draw more, later

    def initialise(self, generator: torch.Generator) -> None:
        """Draw anew; a root's vector of unit variance, as states have it."""
        with torch.no_grad():
            if self.initialisation == "pytorch":
                self._initialise_as_pytorch(generator)
                return
            blocks = [torch.empty(size, self.perceptrons.in_features) for size in self.sizes]
            self.perceptrons.weight.copy_(torch.cat([nn.init.orthogonal_(block, generator=generator) for block in blocks]))
            for values in (self.perceptrons.bias, self.arcs, self.relations):
                values.zero_()
            self._draw_root(generator)

    def _initialise_as_pytorch(self, generator: torch.Generator) -> None:
        def uniform(shape: Sequence[int], bound: float) -> torch.Tensor:
            return torch.empty(*shape).uniform_(-bound, bound, generator=generator)

        for values in (self.perceptrons.weight, self.perceptrons.bias):
            values.copy_(uniform(values.shape, self.perceptrons.in_features**-0.5))
        units, relation = len(self.arcs), len(self.relations) - 1
        self.arcs.copy_(nn.init.xavier_uniform_(torch.empty(1, units, units), generator=generator)[0, :, :-1])
        self.relations.zero_()
        count = self.relations.shape[1]
        self.relations[:-1, :, :-1].copy_(uniform((relation, count, relation), relation**-0.5))
        self.relations[-1, :, -1].copy_(uniform((count,), relation**-0.5))
        self._draw_root(generator)

    def _draw_root(self, generator: torch.Generator) -> None:
        if self.vector is not None:
            self.vector.copy_(torch.empty(self.vector.shape).normal_(generator=generator))

    def forward(self, states: torch.Tensor, mask: torch.Tensor, first: torch.Tensor | None = None) -> Scores:
        """Scores from states of words (b, w, d), mask (b, w) true for words, states of the first special pieces (b, d)."""
        if self.vector is not None:
            first = self.vector.expand(len(states), -1)
        if first is None:
            raise ValueError(f"root {self.root}: expected states of the first tokens, (b, d), found none")
        hidden = self.activation(self.perceptrons(torch.cat([first[:, None], states], 1)))
        units = functional.dropout(hidden.new_ones(len(hidden), 1, hidden.shape[-1]), self.dropout, self.training)
        arc_head, arc_dependent, head, dependent = torch.split(hidden * units, self.sizes, -1)
        arcs = _with_one(arc_dependent[:, 1:]) @ self.arcs @ arc_head.mT
        possible = functional.pad(mask, (1, 0), value=self.root != "as_released")
        of_dependents = torch.einsum("bwi,ikl->bwkl", _with_one(dependent[:, 1:]), self.relations)
        return Scores(arcs.masked_fill(~possible[:, None], -torch.inf), of_dependents, _with_one(head))

    def loss(self, scores: Scores, heads: torch.Tensor, relations: torch.Tensor, weight: float = 1.0) -> torch.Tensor:
        """Sum over words of -log p(head) - weight log p(relation given the head), in nats; heads and relations (b, w).

        A word whose head is IGNORED counts for nothing, or for its relation (see `cut_heads`), one whose relation is IGNORED for
        its arc alone.
        """
        known, of_relations = heads != IGNORED, heads
        if self.cut_heads == "last_word":
            places = torch.arange(1, heads.shape[1] + 1, device=heads.device)
            last = (places * (known | (relations != IGNORED))).amax(1, keepdim=True)
            of_relations = torch.where(known, heads, last)
        else:
            relations = relations.masked_fill(~known, IGNORED)
        learnt = heads.masked_fill(heads == 0, IGNORED) if self.root == "as_released" else heads
        arcs = cross_entropy(scores.arcs.flatten(0, 1), learnt.flatten())
        return arcs + weight * cross_entropy(scores.relations(of_relations).flatten(0, 1), relations.flatten())

    def parse(
        self, states: torch.Tensor, mask: torch.Tensor, first: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Heads and relations of the best trees, (b, w) each, IGNORED for padding; arguments as of `forward`."""
        scores = self(states, mask, first)
        # A log-softmax over heads would take the same from every tree, so the scores do for it.
        weights = scores.probabilities() if self.decoding == "probability" else scores.arcs
        trees = decode_batch(weights.detach().cpu().numpy(), mask.sum(1).cpu().numpy(), one_root=self.one_root)
        heads = torch.from_numpy(trees).to(states.device)
        relations = scores.relations(heads).argmax(-1)
        if self.root == "as_released":
            relations = relations.masked_fill(heads == 0, IGNORED)
        return heads.masked_fill(~mask, IGNORED), relations.masked_fill(~mask, IGNORED)


def _with_one(hidden: torch.Tensor) -> torch.Tensor:
    """A last unit of 1, for biases."""
    return functional.pad(hidden, (0, 1), value=1.0)
