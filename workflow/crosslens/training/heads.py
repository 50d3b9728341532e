"""Heads on the states of labelled words: a linear layer that gives each a class, or a parser that gives a head and a relation.

States and labels are flat, (n, d) and (n,), texts one after the other; sizes (b,) are the numbers of labelled words of the texts.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import nn

from crosslens.encoding.texts import IGNORED
from crosslens.recipes import ARC, TASK, Parser, Term, label_kind
from crosslens.training.biaffine import Biaffine
from crosslens.training.objectives import LOSSES


def build(labels: Mapping[str, Sequence[str]], dropout: float, parser: Parser | None, size: int) -> nn.ModuleDict:
    """Heads on states of a size, by name: dropout and one linear layer, or the task's parser. labels: of each head."""
    heads = nn.ModuleDict({name: nn.Sequential(nn.Dropout(dropout), nn.Linear(size, len(of))) for name, of in labels.items()})
    if parser:
        heads[TASK] = Biaffine(size, len(labels[TASK]), **parser.model_dump())
    return heads


def initialise(head: nn.Module, sd: float, generator: torch.Generator) -> None:
    """Draw a head anew: a linear layer's weights N(0, sd), bias 0; a parser as it has it."""
    if isinstance(head, Biaffine):
        head.initialise(generator)
        return
    linear = head[1]  # type: ignore[index]
    with torch.no_grad():
        linear.weight.copy_(torch.empty(linear.weight.shape).normal_(0, sd, generator=generator))
        linear.bias.zero_()


def learnt(term: Term) -> str:
    """The kind of label that decides which words a term counts."""
    return ARC if term.loss == "tree" else label_kind(term.head)


def loss(
    head: nn.Module,
    term: Term,
    states: torch.Tensor,
    sizes: torch.Tensor,
    labels: Mapping[str, torch.Tensor],
    *,
    words: int,
    sentences: int,
) -> torch.Tensor:
    """What these texts add to a term's mean loss over a batch, in nats; labels: kind -> (n,); words and sentences: of the batch.

    So micro-batches add up exactly. muller2021's sibling code divides the tag loss, already a mean, by the number of tags again
    (model/settings.py, line 32; trainer/epoch_run.py, line 454), and the sum of relation losses by words plus two a sentence,
    for [CLS] and [SEP] have relations there (the same line 454): `divided_twice`, `relation_divisor`.
    """
    gold = labels[label_kind(term.head)]
    if not isinstance(head, Biaffine):
        return LOSSES[term.loss](head(states), gold) / (words**2 if term.divided_twice else words)
    mask = _mask(sizes, states.device)
    weight = words / (words + 2 * sentences) if head.relation_divisor == "words_plus_two" else 1.0
    scores = head(_padded(states, mask), mask)
    return head.loss(scores, _padded(labels[ARC], mask, IGNORED), _padded(gold, mask, IGNORED), weight) / words


def classes(name: str, head: nn.Module, states: torch.Tensor, sizes: torch.Tensor) -> dict[str, torch.Tensor]:
    """Predictions (n,) of a head in eval mode: its classes, under its name; of a parser also the heads of words, under ARC."""
    if not isinstance(head, Biaffine):
        return {name: head(states).argmax(-1)}
    mask = _mask(sizes, states.device)
    arcs, relations = head.parse(_padded(states, mask), mask)
    return {name: relations[mask], ARC: arcs[mask]}


def _mask(sizes: torch.Tensor, device: torch.device) -> torch.Tensor:
    """(b, w), true for words."""
    return torch.arange(int(sizes.max()), device=device) < sizes.to(device)[:, None]


def _padded(values: torch.Tensor, mask: torch.Tensor, fill: int = 0) -> torch.Tensor:
    """Values of words, flat, as (b, w, ...)."""
    wide = values.new_full((*mask.shape, *values.shape[1:]), fill)
    return wide.masked_scatter(mask.view(*mask.shape, *[1] * (values.dim() - 1)), values)
