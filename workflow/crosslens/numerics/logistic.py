"""Many logistic regressions solved at once.

Each has the objective of scikit-learn's LogisticRegression(C): mean cross entropy of its n items + |weights|^2 / (2 n C),
without a penalty on the intercept. Two classes share one vector of weights; more classes have one each. A fit has converged if
no component of the objective's gradient is above the tolerance, as with scikit-learn's `tol`.

Regressions on the same items share products of matrices, whichever columns they use. They descend by L-BFGS in rounds. A round
is preconditioned by the curvature X' S X at its start, with S averaged over the regressions. Only those that have not converged
enter the next round.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot, pad

from crosslens.jobs.errors import DataError

LEFT_OUT = -1  # class of an item that a target does not use
ITERATIONS = 1000  # largest number for each regression; its gradient tells whether they were enough
ROUND = 6  # iterations of the first round; each round is twice as long as the last, and L-BFGS remembers half of its steps
LOGITS = 2**20  # number of logits in memory at once, few enough to stay in a processor's cache
VECTORS = 40  # number of weight vectors in one product of matrices; more if there are few items (see PRODUCT)
PRODUCT = 2**17  # number of logits of all groups in one product, below which the call costs more than the product
OVERSHOT = 0.5  # a step is shortened if the slope at its end is steeper than this share of the slope at its start
SHORTENED = 20  # largest number of times that a step is shortened


@dataclass(frozen=True)
class Regressions:
    """Regressions on G groups of items, with V sets of columns, for T targets; c weight vectors: 1 for two classes, else k."""

    weights: Tensor  # (G, V, T, c, d), 0 at columns that a regression does not use
    intercepts: Tensor  # (G, V, T, c)
    gradients: np.ndarray  # (G, V, T) largest component of the gradient, in absolute value, at the end of the fit

    def logits(self, states: np.ndarray | Tensor) -> Tensor:
        """Logits, (G, V, T, c, m), minus infinity for classes that a target does not have. states: (G, m, d)."""
        items = torch.as_tensor(states).to(self.weights)
        return _products(self.weights, items) + self.intercepts[..., None]

    def predict(self, states: np.ndarray | Tensor) -> np.ndarray:
        """Predicted classes, (G, V, T, m). states: (G, m, d)."""
        logits = self.logits(states)
        chosen = logits[..., 0, :] > 0 if logits.shape[-2] == 1 else logits.argmax(-2)
        return chosen.long().numpy()


@torch.inference_mode()
def fit(
    states: np.ndarray | Tensor,
    classes: np.ndarray | Tensor,
    columns: Sequence[np.ndarray] | None = None,
    *,
    penalties: float | Sequence[float],
    tolerance: float,
) -> Regressions:
    """Fit a regression for each group of items, each set of columns and each target.

    states: (G, n, d), float32 or float64, the precision of the computation. classes: (G, T, n), integers from 0, LEFT_OUT for
    items that a target does not use. columns: V arrays of column numbers; None: one set with all columns. penalties: C of each
    target, or of all. tolerance: largest component of the gradient at which a fit ends.

    Raises DataError if shapes do not fit, a state is not finite, or a target has items of fewer than two classes.
    """
    items, targets = torch.as_tensor(states), torch.as_tensor(classes).long()
    present = _present(items, targets)
    (groups, n, width), count, k = items.shape, targets.shape[1], present.shape[-1]
    vectors = 1 if k == 2 else k
    items = pad(items, (1, 0), value=1.0)  # the intercept's column is the first
    sets = [torch.arange(width)] if columns is None else [torch.as_tensor(part) for part in columns]
    sets = [torch.cat([torch.tensor([0]), part.long() + 1]) for part in sets]
    strength = torch.as_tensor(penalties, dtype=items.dtype).expand(count)
    weights = items.new_zeros(groups, len(sets), count, vectors, width + 1)
    gradients = items.new_zeros(weights.shape[:3])
    order = sorted(range(len(sets)), key=lambda number: sets[number].tolist()[::-1])  # sets that end alike become neighbours
    at_once = max(VECTORS, PRODUCT // (groups * n))
    targets_at_once = min(count, max(1, at_once // vectors))
    sets_at_once = min(len(sets), max(1, at_once // (targets_at_once * vectors)))
    groups_at_once = max(1, LOGITS // (sets_at_once * targets_at_once * vectors * n))
    axes = [(range(groups), groups_at_once), (order, sets_at_once), (range(count), targets_at_once)]
    for parts in product(*([axis[i : i + size] for i in range(0, len(axis), size)] for axis, size in axes)):
        g, v, t = (torch.tensor(part) for part in parts)
        budget, length = ITERATIONS, ROUND
        while len(g) and budget > 0:
            batch = _Batch(items[_run(g)], targets[g][:, t], present[g][:, t], [sets[number] for number in v], strength[t])
            place = np.ix_(g.numpy(), v.numpy(), t.numpy())
            weights[place], gradients[place], done = batch.descend(weights[place], tolerance, min(length, budget))
            budget, length = budget - done, 2 * length
            late = gradients[place] > tolerance
            g, v, t = g[late.any(2).any(1)], v[late.any(2).any(0)], t[late.any(1).any(0)]
    intercepts = weights[..., 0].clone()
    if vectors > 1:
        intercepts.masked_fill_(~present[:, None], -torch.inf)
    return Regressions(weights[..., 1:], intercepts, gradients.numpy())


def _present(items: Tensor, targets: Tensor) -> Tensor:
    """Whether each target of each group has items of each class, (G, T, k) bool. Raises DataError as `fit` does."""
    if items.ndim != 3 or targets.ndim != 3 or targets.shape[::2] != items.shape[:2]:
        raise DataError(f"probes: expected states (G, n, d) and classes (G, T, n), found {[*items.shape]} and {[*targets.shape]}")
    present = torch.stack([(targets == number).any(-1) for number in range(max(2, int(targets.max()) + 1))], -1)
    lacking = (present.sum(-1) < 2).nonzero().tolist()
    if lacking:
        group, target = lacking[0]
        raise DataError(f"probes: expected items of at least two classes, group {group}, target {target} has one: leave it out")
    return present


def _run(rising: Tensor) -> Tensor | slice:
    """Index of rising numbers: a slice if they are consecutive, since indexing with it copies nothing."""
    first, last = int(rising[0]), int(rising[-1])
    return slice(first, last + 1) if last - first + 1 == len(rising) else rising


def _products(weights: Tensor, items: Tensor) -> Tensor:
    """Inner products of weights (G, V, T, c, d) with items (G, n, d), (G, V, T, c, n)."""
    return torch.bmm(weights.flatten(1, 3), items.mT).view(*weights.shape[:4], -1)


def _dots(a: Tensor, b: Tensor) -> Tensor:
    """Inner product of a and b for each regression, (G, V, T). a, b: (G, V, T, c, d)."""
    products: Tensor = torch.linalg.vecdot(a.flatten(3), b.flatten(3))
    return products


class _Batch:
    """Regressions that descend together: G groups x V sets of columns x T targets."""

    def __init__(self, items: Tensor, targets: Tensor, present: Tensor, sets: list[Tensor], strength: Tensor) -> None:
        union = torch.unique(torch.cat(sets))
        self.union, self.sets = union, [torch.searchsorted(union, part) for part in sets]
        self.items = items if len(union) == items.shape[-1] else items[..., _run(union)].contiguous()  # (G, n, d)
        dtype, k = items.dtype, present.shape[-1]
        mask = targets != LEFT_OUT
        self.used = None if mask.all() else mask.to(dtype)[:, None, :, None]  # (G, 1, T, 1, n)
        self.sizes = mask.sum(-1).to(dtype)[:, None]  # (G, 1, T)
        inside = torch.stack([torch.zeros(len(union)).index_fill(0, part, 1.0) for part in self.sets])
        self.inside = inside.to(items)[:, None, None]  # (V, 1, 1, d)
        ridge = (self.inside / strength[:, None, None]).expand(len(items), -1, -1, -1, -1).clone()
        ridge[..., 0] = 0
        if k == 2:
            self.absent, self.truth = None, (targets == 1).to(dtype)[:, None, :, None]  # (G, 1, T, 1, n)
        else:
            # A target with two of k classes has the vectors w / 2 and -w / 2, which have half the penalty of one vector w.
            ridge = ridge * torch.where(present.sum(-1) == 2, 2, 1)[:, None, :, None, None]
            self.absent = None if present.all() else ~present[:, None, ..., None]
            self.truth = one_hot(targets.clamp_min(0), k).to(dtype).mT[:, None]  # (G, 1, T, k, n)
        self.ridge = ridge  # (G, V, T, 1, d)
        shape = (len(items), len(sets), *self.truth.shape[2:])
        self.errors, self.change, self.products = (items.new_empty(shape) for _ in range(3))  # (G, V, T, c, n), written over

    def probabilities(self, logits: Tensor) -> Tensor:
        """Probabilities of the second of two classes, or of each of k, written into the memory of `errors`."""
        if logits.shape[-2] == 1:
            return torch.sigmoid(logits, out=self.errors)
        logits = logits if self.absent is None else logits.masked_fill(self.absent, -torch.inf)
        return torch.softmax(logits, -2, out=self.errors)

    def slopes(self, logits: Tensor) -> Tensor:
        """Errors: the derivative of the summed cross entropy with respect to the logits."""
        errors = self.probabilities(logits).sub_(self.truth)
        return errors if self.used is None else errors.mul_(self.used)

    def gradient(self, errors: Tensor, weights: Tensor) -> Tensor:
        """Gradient of n times the objective with respect to the weights."""
        gradient = torch.bmm(errors.flatten(1, 3), self.items).view(weights.shape)
        return gradient.mul_(self.inside).addcmul_(self.ridge, weights)

    def largest(self, gradient: Tensor) -> Tensor:
        """Largest component of the objective's gradient, in absolute value, (G, V, T)."""
        return gradient.abs().amax((-2, -1)) / self.sizes

    def curvature(self, logits: Tensor) -> list[Tensor]:
        """Cholesky factors of n times an approximate Hessian, alike for all classes: (G, T, w, w) for each set of w columns."""
        shares = self.probabilities(logits)
        shares.addcmul_(shares, shares, value=-1)
        shares = (shares if self.used is None else shares.mul_(self.used)).mean(-2)  # (G, V, T, n)
        shared = shares.mean((1, 2))
        gram = self.items.mT @ (self.items * shared[..., None])
        precision = torch.finfo(gram.dtype)
        jitter = precision.eps * gram.diagonal(dim1=1, dim2=2).sum(1)
        scales = shares.sum(-1) / shared.sum(-1).clamp_min(precision.tiny)[:, None, None]  # (G, V, T)
        factors = []
        for number, part in enumerate(self.sets):
            block = gram.index_select(1, part).index_select(2, part)
            matrix = block[:, None] * scales[:, number, :, None, None]
            matrix.diagonal(dim1=-2, dim2=-1).add_(self.ridge[:, number, :, 0, part]).add_(jitter[:, None, None])
            factor, failed = torch.linalg.cholesky_ex(matrix)
            if failed.any():  # singular up to rounding: use only the diagonal
                factor[failed > 0] = torch.diag_embed(matrix.diagonal(dim1=-2, dim2=-1)[failed > 0].sqrt())
            factors.append(factor)
        return factors

    def precondition(self, factors: list[Tensor], gradient: Tensor) -> Tensor:
        """Product of the inverse of the approximate Hessian with a gradient."""
        product = torch.zeros_like(gradient)
        for number, (part, factor) in enumerate(zip(self.sets, factors, strict=True)):
            right = gradient[:, number].index_select(-1, part)
            product[:, number].index_copy_(-1, part, torch.cholesky_solve(right.mT, factor).mT)
        return product

    def descend(self, start: Tensor, tolerance: float, iterations: int) -> tuple[Tensor, Tensor, int]:
        """Run L-BFGS; return weights, largest gradient component (G, V, T), and number of iterations, at least 1."""
        weights = start[..., self.union]
        logits = _products(weights, self.items)
        gradient = self.gradient(self.slopes(logits), weights)
        largest, done = self.largest(gradient), 0
        if not largest.isfinite().all():
            raise DataError("probes: expected finite states, found infinity or NaN; extract them in float32")
        factors = self.curvature(logits) if largest.gt(tolerance).any() else []
        preconditioned = self.precondition(factors, gradient) if factors else gradient
        steps: list[_Step] = []
        while done < iterations and largest.gt(tolerance).any():
            step = _direction(gradient, preconditioned, steps).mul_(largest.gt(tolerance)[..., None, None])
            errors = self.move(logits, weights, step, _dots(gradient, step))
            weights = weights + step
            before = gradient, preconditioned
            gradient = self.gradient(errors, weights)
            preconditioned = self.precondition(factors, gradient)
            steps = [*steps[-max(1, iterations // 2) :], _Step.of(step, gradient - before[0], preconditioned - before[1])]
            largest, done = self.largest(gradient), done + 1
        end = start.clone()
        end[..., self.union] = weights
        return end, largest, max(1, done)

    def move(self, logits: Tensor, weights: Tensor, step: Tensor, slope: Tensor) -> Tensor:
        """Take a step and return the errors at its end; shorten it if the objective rises too steeply there.

        logits and step are changed in place. slope: (G, V, T), slope of n times the objective along the step, at its start. The
        objective is convex, so a secant leads to where it is flat.
        """
        torch.bmm(step.flatten(1, 3), self.items.mT, out=self.change.flatten(1, 3))
        logits += self.change
        penalty, growth = _dots(self.ridge * weights, step), _dots(self.ridge * step, step)
        lengths = torch.ones_like(slope)
        for _ in range(SHORTENED):
            errors = self.slopes(logits)
            slope_there = torch.mul(errors, self.change, out=self.products).sum((-2, -1)) + penalty + lengths * growth
            overshot = slope_there > -OVERSHOT * slope
            if not overshot.any():
                break
            shorter = torch.where(overshot, lengths * slope / (slope - slope_there), lengths)
            logits.addcmul_((shorter - lengths)[..., None, None], self.change)
            lengths = shorter
        else:
            errors = self.slopes(logits)
        step *= lengths[..., None, None]
        return errors


@dataclass(frozen=True)
class _Step:
    """A step of L-BFGS, and what it changed."""

    step: Tensor  # (G, V, T, c, d)
    change: Tensor  # change of the gradient
    preconditioned: Tensor  # change of the preconditioned gradient
    inverse: Tensor  # (G, V, T) 1 / (step . change), 0 for regressions that did not move

    @classmethod
    def of(cls, step: Tensor, change: Tensor, preconditioned: Tensor) -> "_Step":
        product = _dots(step, change)
        moved = product > torch.finfo(product.dtype).tiny
        return cls(step, change, preconditioned, torch.where(moved, 1 / product, 0))


def _direction(gradient: Tensor, preconditioned: Tensor, steps: list[_Step]) -> Tensor:
    """Next direction of L-BFGS, as a new tensor; the preconditioner gives the initial Hessian.

    Source: Nocedal and Wright 2006, algorithm 7.4.
    """
    rest, direction, shares = gradient.clone(), preconditioned.clone(), []
    for last in reversed(steps):
        share = (last.inverse * _dots(last.step, rest))[..., None, None]
        rest.addcmul_(share, last.change, value=-1)
        direction.addcmul_(share, last.preconditioned, value=-1)
        shares.append(share)
    if steps:
        scale = 1 / (steps[-1].inverse * _dots(steps[-1].change, steps[-1].preconditioned))
        direction *= torch.where(steps[-1].inverse > 0, scale, 1)[..., None, None]
    for last, share in zip(steps, reversed(shares), strict=True):
        direction.addcmul_(share - (last.inverse * _dots(last.change, direction))[..., None, None], last.step)
    return direction.neg_()
