"""liang2021: what it trains, measures and shows. See crosslens.reports.paper."""

from collections.abc import Mapping
from typing import Any

from crosslens.config.draws import Draw, Draws
from crosslens.config.heads import TASK
from crosslens.config.whole import Config, once
from crosslens.numerics.definitions import ACCURACY, CHUNK_MICRO_F1, CUT_WORDS
from crosslens.papers.liang2021.config import section
from crosslens.papers.liang2021.items import items, kind
from crosslens.papers.liang2021.layout import subwords
from crosslens.papers.liang2021.probes import measures as probes
from crosslens.papers.liang2021.recipes import recipes
from crosslens.recipes import Recipe
from crosslens.reports.paper import Paper


def seeds(recipe: Recipe, config: Config) -> tuple[int, ...]:
    """Of the paper's section; the first for the encoder as it was pretrained."""
    found = tuple(section(config).seeds)
    return found if recipe.stages else found[:1]


@once
def draws(config: Config) -> dict[str, Draws]:
    """Of each encoder's texts random subwords, at all layers: of train for subspaces, of test for probes."""
    paper, found = section(config), {}
    for encoder, corpus in paper.texts.items():
        words = Draw(
            languages=tuple(config.corpora[str(corpus)].languages),
            random_words={"train": paper.fit_words, "test": paper.probe_words},
            all_layers=True,
        )
        found[subwords(encoder)] = Draws(
            encoder=encoder, reading=paper.text_reading, unit="word", corpora={str(corpus): words}
        )  # fmt: skip
    return found


def measures(recipe: Recipe, config: Config) -> Mapping[str, Mapping[str, Any]]:
    """See Paper."""
    paper = section(config)
    if recipe.task is None:
        subspaces = {"corpus": paper.texts[recipe.encoder], "split": "train", "methods": ["densray"]}
        return {"subspaces": subspaces, **probes(recipe, config)}
    if kind(recipe) == "spans":
        return {"spans": {"head": TASK, "labels": recipe.labels(TASK)}}
    definitions = [CHUNK_MICRO_F1, ACCURACY, CUT_WORDS]
    return {
        "classification": {
            "labels": {name: head.labels for name, head in recipe.heads.items()},
            "definitions": dict.fromkeys(recipe.heads, definitions),
        }
    }


PAPER = Paper(
    key="liang2021",
    about="Liang, Dufter and Schütze (2021), *Locating language-specific information in contextualized embeddings*: directions "
    "along which the hidden states of languages differ; tagging without them; and L-DAR, which keeps an encoder's states where "
    "they were within these directions while it is fine-tuned.",
    recipes=recipes,
    seeds=seeds,
    draws=draws,
    drawn=lambda recipe, config: subwords(recipe.encoder) if recipe.task is None else None,
    measures=measures,
    items=items,
)
