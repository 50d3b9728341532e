"""Loss terms: gradients, bounds, ignored labels."""

import numpy as np
import pytest
import torch
from crosslens.encoding.texts import IGNORED
from crosslens.training.objectives import LOSSES, cross_entropy, entropy, reverse_gradient, uniformity


def logits(n=5, k=4, seed=0):
    return torch.randn(n, k, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).requires_grad_()


@pytest.mark.parametrize("scale", [0.1, 0.7])
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_reversed_gradient_of_a_head_is_that_of_minus_lambda_times_its_loss(loss, scale):
    """By gradcheck: `forward` has the value of -lambda times the plain loss, and the gradient that reversal gives."""
    labels, weight = torch.tensor([0, 3, IGNORED, 1, 2]), logits(4, 4, seed=1).detach()

    class Forward(torch.autograd.Function):
        @staticmethod
        def forward(ctx, states):
            ctx.save_for_backward(states)
            return -scale * loss(states @ weight, labels)

        @staticmethod
        def backward(ctx, gradient):
            with torch.enable_grad():
                states = ctx.saved_tensors[0].detach().requires_grad_()
                (found,) = torch.autograd.grad(loss(reverse_gradient(states, scale) @ weight, labels), states)
            return gradient * found

    assert torch.autograd.gradcheck(Forward.apply, (logits(),))
    states = logits()
    (plain,) = torch.autograd.grad(loss(states @ weight, labels), states)
    (turned,) = torch.autograd.grad(loss(reverse_gradient(states, scale) @ weight, labels), states)
    assert plain.abs().max() > 0.1
    assert torch.allclose(turned, -scale * plain, atol=1e-12)


@pytest.mark.parametrize("k", [2, 10, 33])
def test_uniformity_is_k_ln_k_a_word_at_the_uniform_output_and_flat_there(k):
    labels = torch.zeros(3, dtype=torch.long)
    level = torch.full((3, k), 0.7, dtype=torch.float64, requires_grad=True)
    value = uniformity(level, labels)
    assert value.item() == pytest.approx(3 * k * np.log(k))
    value.backward()
    assert torch.allclose(level.grad, torch.zeros_like(level), atol=1e-12)
    shifted = torch.zeros(3, k, dtype=torch.float64)
    shifted[:, 0] = 0.5
    assert uniformity(shifted, labels) > value


def test_entropy_is_scipys():
    from scipy.stats import entropy as expected

    x = logits().detach()
    p = x.softmax(-1).numpy()
    assert float(entropy(x, torch.zeros(5, dtype=torch.long))) == pytest.approx(-expected(p, axis=1).sum())


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_gradients_are_right(loss):
    labels = torch.tensor([0, 3, IGNORED, 1, 2])
    assert torch.autograd.gradcheck(lambda x: loss(x, labels), (logits(),))


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_ignored_labels_count_for_nothing(loss):
    x, labels = logits(), torch.tensor([0, 3, IGNORED, 1, IGNORED])
    known = labels != IGNORED
    assert torch.allclose(loss(x, labels), loss(x[known], labels[known]))
    loss(x, labels).backward()
    assert torch.equal(x.grad[~known], torch.zeros(2, 4, dtype=torch.float64))
    assert float(loss(x.detach(), torch.full((5,), IGNORED))) == 0


def test_cross_entropy_is_a_sum():
    x, labels = logits(), torch.tensor([0, 3, 1, 1, 2])
    assert torch.allclose(cross_entropy(x, labels), -x.log_softmax(-1)[torch.arange(5), labels].sum())
