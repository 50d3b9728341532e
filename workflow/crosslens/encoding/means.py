"""Mean of a language's hidden states (liu2020, section 4.1), in variants, because the paper does not define it fully."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import nn

from crosslens.encoding.batches import Batch, device_of, for_each_batch
from crosslens.encoding.packing import in_windows
from crosslens.encoding.texts import Texts
from crosslens.encoding.unit_states import unspecial
from crosslens.jobs.errors import DataError
from crosslens.numerics.statistics import Statistics

Weighting = Literal["tokens", "texts", "released"]
BLOCKS, BLOCK, BLOCK_SEED = 16, 512, 42
"""Number of blocks, subwords per block and seed of the "released" mean. The successor paper's code (Liangtaiwan/lang-rep,
extract_wiki_feature.py) cuts running text into blocks of 510 subwords and 2 special ones (lines 69-94), samples blocks randomly
(162) and includes special subwords (196-201). It is meant to stop after int(512 / block_size) * 10000 blocks, but block_size is
still -1 there (395, before 440), so that the loop ends after its first batch."""


class Variant(NamedTuple):
    """Which subwords count in a mean, and how much.

    weighting: "tokens", all subwords equally; "texts", all texts equally; "released", the subwords of a few blocks of text
    equally. specials: whether special subwords count; in "released" they always do.
    """

    weighting: Weighting
    specials: bool


def language_means(
    encoder: nn.Module, texts: Mapping[str, Texts], variants: tuple[Variant, ...], segments: bool = False
) -> dict[Variant, dict[str, np.ndarray]]:  # fmt: skip
    """Variant -> language -> mean states at all layers, (L + 1, d) float64.

    texts: language -> texts. All variants share one pass over them, except "released", which packs them into blocks for a pass
    of its own. segments: whether second texts have token type 1; not in "released". Raises DataError if a language lacks text
    for a block.
    """
    means_by_variant: dict[Variant, dict[str, np.ndarray]] = {variant: {} for variant in variants}
    whole = tuple(variant for variant in variants if variant.weighting != "released")
    for language, language_texts in texts.items():
        if whole:
            for variant, means in _means(encoder, language_texts, whole, segments).items():
                means_by_variant[variant][language] = means
        for variant in variants:
            if variant.weighting == "released":
                every = Variant("tokens", True)
                means_by_variant[variant][language] = _means(encoder, _released(language_texts, language), (every,), False)[every]
    return means_by_variant


def _released(texts: Texts, language: str) -> Texts:
    """Random blocks of a language's text as in the released code, which ignores pages and omits an incomplete last block.

    Raises DataError if no block is full.
    """
    windows = in_windows(texts, BLOCK, np.zeros(len(texts)))
    full = np.flatnonzero(windows.lengths == BLOCK)
    if not len(full):
        subwords = int((texts.lengths - texts.edges.around).sum())
        raise DataError(
            f"{language}: expected at least {BLOCK - texts.edges.around} subwords to fill a block, found {subwords}: add text"
        )
    return windows.take(np.sort(np.random.default_rng(BLOCK_SEED).permutation(full)[:BLOCKS]))


def _means(encoder: nn.Module, texts: Texts, variants: tuple[Variant, ...], segments: bool) -> dict[Variant, np.ndarray]:
    """Mean states of one language by variant, computed from the mean of each text, weighted equally or by its subwords."""
    top, width = int(encoder.config.num_hidden_layers), int(encoder.config.hidden_size)  # type: ignore[union-attr, arg-type]
    sums = {variant: [Statistics(width, scatters=False) for _ in range(top + 1)] for variant in variants}
    device = device_of(encoder)

    def step(batch: Batch) -> None:
        everywhere = torch.ones_like(batch.input_ids) if batch.attention_mask is None else batch.attention_mask
        inputs = {"attention_mask": batch.attention_mask, "token_type_ids": batch.token_types}
        options = {name: value.to(device) for name, value in inputs.items() if value is not None}
        layers = encoder(input_ids=batch.input_ids.to(device), output_hidden_states=True, **options).hidden_states
        for specials in {variant.specials for variant in variants}:
            inside = (everywhere.bool() if specials else unspecial(batch)).to(device)
            counts = inside.sum(1)
            shares = (inside / counts.clamp(min=1)[:, None]).to(layers[0].dtype)[:, None]  # (B, 1, T)
            has_subwords, sizes = (
                (counts > 0).cpu().numpy(),
                counts.double().cpu().numpy(),
            )  # a text may have only special subwords
            means = [(shares @ states)[:, 0].double().cpu().numpy()[has_subwords] for states in layers]
            for variant, statistics in sums.items():
                weights = sizes[has_subwords] if variant.weighting == "tokens" else None
                for layer, of_texts in zip(statistics, means, strict=True):
                    if variant.specials == specials:
                        layer.update(of_texts, "", weights)

    for_each_batch(texts, encoder, segments, step)
    return {variant: np.stack([layer.means[0] for layer in statistics]) for variant, statistics in sums.items()}
