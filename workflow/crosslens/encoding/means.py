"""Mean of a language's hidden states (liu2020, section 4.1), in variants, since the paper does not define it fully."""

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
"""Settings of the successor paper's code (Liangtaiwan/lang-rep, extract_wiki_feature.py): running text in blocks of 510
subwords and 2 special ones (lines 69-94), drawn at random (162), special ones included (196-201). It would stop after
int(512 / block_size) * 10000 of them, but block_size is then still -1 (395, before 440): the loop ends after its first batch."""


class Variant(NamedTuple):
    """Weighting of subwords in a mean: "tokens", all subwords equally; "texts", all texts equally; "released", a few blocks of
    text.

    specials: whether special subwords count; those of "released" do.
    """

    weighting: Weighting
    specials: bool


def language_means(
    encoder: nn.Module, texts: Mapping[str, Texts], variants: tuple[Variant, ...], segments: bool = False
) -> dict[Variant, dict[str, np.ndarray]]:  # fmt: skip
    """Variant -> language -> mean states at all layers, (L + 1, d) float64, in one pass over the texts of each language.

    texts: language -> texts. The variant `released` packs them to blocks, in a second pass.
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
    """Random blocks of a language as in the released code, which ignores pages and leaves out a last block that is not full.

    Raises DataError if there is no full block.
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
    """Mean states of one language by variant, from the means of its texts, which count equally or by their subwords."""
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
            )  # a text may have special subwords alone
            means = [(shares @ states)[:, 0].double().cpu().numpy()[has_subwords] for states in layers]
            for variant, statistics in sums.items():
                weights = sizes[has_subwords] if variant.weighting == "tokens" else None
                for layer, of_texts in zip(statistics, means, strict=True):
                    if variant.specials == specials:
                        layer.update(of_texts, "", weights)

    for_each_batch(texts, encoder, segments, step)
    return {variant: np.stack([layer.means[0] for layer in statistics]) for variant, statistics in sums.items()}
