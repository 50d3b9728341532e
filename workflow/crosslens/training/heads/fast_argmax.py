"""Faster argmax of a language model's head on CPUs with bfloat16, with the same result as in float32."""

import torch
from torch.nn import functional

from crosslens.training.cpu import resolve_precision
from crosslens.training.heads.language_model import LOGITS, LanguageModel

ROUNDING = 2**-9  # largest relative error of a number in bfloat16
MANY = 32  # number of candidates of a state above which all its logits are computed exactly
WIDTH, BLOCK = 32, 64  # matrix units need a width that is a multiple of WIDTH; maxima are taken over blocks of BLOCK subwords
NEVER = -1e30  # bias of the rows that pad the last block


class FastArgmax:
    """Replacement for `LanguageModel.subwords` that computes logits in bfloat16, then exactly for possible maxima only.

    The error of a logit in bfloat16 is at most (2 r + r^2) |h| |w| from rounding the factors plus r |logit| from rounding the
    sum. Here r is ROUNDING, h the transformed state and w the subword's row, bias included. A subword whose logit is below the
    largest by more than twice this error cannot be the argmax. The head must not change afterwards.
    """

    def __init__(self, head: LanguageModel) -> None:
        self.head, self.weight, self.bias = head, head.embeddings.weight, head.bias
        device = self.weight.device
        self.quick = device.type == "cpu" and resolve_precision("auto", device) == "bfloat16"
        if self.quick:
            weights = torch.cat([self.weight, self.bias[:, None]], 1).detach()
            self.longest = weights.norm(dim=1).max()
            self.rounded = functional.pad(weights, (0, -weights.shape[1] % WIDTH, 0, -len(weights) % BLOCK)).bfloat16()
            self.rounded[len(weights) :, weights.shape[1] - 1] = NEVER

    def subwords(self, states: torch.Tensor) -> torch.Tensor:
        """Return the most probable subword for each state, (n,). states: (n, d)."""
        if not self.quick or not len(states):
            return self.head.subwords(states)
        rows = max(1, LOGITS // len(self.bias))
        return torch.cat([self._subwords(self.head.transform(part)) for part in torch.split(states, rows)])

    def _subwords(self, states: torch.Tensor) -> torch.Tensor:
        """Return the most probable subword for each transformed state, (n,). states: (n, d)."""
        ones = functional.pad(states, (0, 1), value=1.0)
        logits = functional.linear(functional.pad(ones, (0, self.rounded.shape[1] - ones.shape[1])).bfloat16(), self.rounded)
        blocks = logits.view(len(states), -1, BLOCK)
        of_blocks = blocks.amax(2)
        largest = of_blocks.amax(1).float()
        off = 2.1 * ROUNDING * ones.norm(dim=1) * self.longest + 1.1 * ROUNDING * largest.abs()
        least = (largest - 2.1 * off).bfloat16()  # the factors above 2 allow for sums in float32 and for this rounding
        rows, near = (of_blocks >= least[:, None]).nonzero(as_tuple=True)
        matches, places = (blocks[rows, near] >= least[rows, None]).nonzero(as_tuple=True)
        rows, candidates = rows[matches], BLOCK * near[matches] + places
        counts = torch.bincount(rows, minlength=len(states))
        few = (counts > 0) & (counts <= MANY)  # there are no candidates if a state is not finite
        is_few = few[rows]
        rows, candidates = rows[is_few], candidates[is_few]
        exact = (states[rows] * self.weight[candidates]).sum(1) + self.bias[candidates]
        first = torch.full_like(largest, -torch.inf).scatter_reduce_(0, rows, exact, "amax")
        best = torch.full_like(counts, len(self.bias)).scatter_reduce_(
            0, rows, torch.where(exact == first[rows], candidates, len(self.bias)), "amin"
        )
        if not few.all():
            best[~few] = functional.linear(states[~few], self.weight, self.bias).argmax(1)
        return best
