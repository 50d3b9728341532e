"""liu2020: the training runs, measures, tables and figures of the paper, as one Paper (crosslens.reports.paper)."""

from collections.abc import Mapping
from typing import Any

from crosslens.config.heads import TASK
from crosslens.config.recipes import Recipe
from crosslens.config.whole import Config
from crosslens.numerics.definitions import ACCURACY, CUT_TEXTS, TRANSFER
from crosslens.papers.liu2020.config import Means, section
from crosslens.papers.liu2020.names import LAST, RELEASED, UNTRAINED, pretraining
from crosslens.papers.liu2020.recipes import ON_XNLI, examples, lower_half, recipes, translator
from crosslens.papers.liu2020.tables_and_figures import items, most_text, names
from crosslens.reports.paper import Paper


def seeds(recipe: Recipe, config: Config) -> tuple[int, ...]:
    """Seeds of a recipe: the section's on XNLI, otherwise those of pretraining, of which the released encoder has the first."""
    paper = section(config)
    if recipe.task == ON_XNLI:
        return tuple(paper.seeds)
    return tuple(paper.pretraining.seeds[:1] if recipe.name == RELEASED else paper.pretraining.seeds)


def measures(recipe: Recipe, config: Config) -> Mapping[str, Mapping[str, Any]]:
    """Settings of the measures of a recipe, by kind."""
    settings: dict[str, Mapping[str, Any]] = {}
    if recipe.task == "pretraining" or recipe.name in (RELEASED, UNTRAINED):
        settings["retrieval"] = _retrieval(recipe, config)
    if recipe.name in most_text(config):
        settings["language_of_subwords"] = _running(recipe, config) | _probes(config)
    if recipe.stages and recipe.task == "pretraining" or recipe.name == translator(config):
        settings["masked"] = _masked(recipe, config)
    if recipe.name == translator(config):
        settings |= {"translation": _translation(config), "example_translations": _samples(config)}
    if recipe.name in (RELEASED, LAST):
        settings["language_after_shift"] = _shifted(recipe, config) | _probes(config)
    if recipe.name == LAST:
        further = {"weights": section(config).nli.weights, "labels": recipe.labels(TASK)}
        settings["transfer"] = _shifted(recipe, config) | further
    if recipe.task == ON_XNLI:
        settings["classification"] = {
            "labels": {TASK: recipe.labels(TASK)},
            "definitions": {TASK: [ACCURACY, CUT_TEXTS, TRANSFER]},
            "source_language": section(config).source_language,
        }
    return settings


def _retrieval(recipe: Recipe, config: Config) -> dict[str, Any]:
    """Settings of word retrieval."""
    paper = section(config)
    settings = paper.retrieval.model_dump(include={"dictionaries", "dictionary_split"})
    return {"source": paper.source_language, **_running(recipe, config), **settings}


def _running(recipe: Recipe, config: Config) -> dict[str, Any]:
    """Settings of running text. A masked language model reads it as in its pretraining, others in long windows."""
    paper = section(config)
    pretraining, size = paper.pretraining, paper.retrieval.size
    data = [term.data for stage in recipe.stages for phase in stage.phases for term in phase.terms]
    windows = data[0].model_dump(include={"window", "within"}) if data else examples(pretraining.bert.window, pretraining.bert)
    return {
        "corpora": {pretraining.corpus: pretraining.tokenisation},
        "split": "train",
        "texts": pretraining.sizes[size] if size else max(pretraining.sizes.values()),
        **windows,
    }


def _masked(recipe: Recipe, config: Config) -> dict[str, Any]:
    """Settings of masked subwords: a BERT's pretraining text; for the released one, that of the first BERT with most text."""
    paper = section(config)
    largest_size = list(paper.pretraining.sizes)[-1]
    first = next(name for name in paper.pretrained() if name.startswith("bert") and name.endswith(f"/{largest_size}"))
    pretrained = recipe if recipe.stages else recipes(config)[pretraining(first)]
    (stage,) = pretrained.stages
    train, held_out = stage.phases[0].terms[0].data, stage.select_data
    return {
        "corpora": {train.corpus: pretrained.tokenisation},
        "train": train.model_dump(mode="json", exclude_defaults=True),
        "held_out": held_out.model_dump(mode="json", exclude_defaults=True),
        "masking": pretrained.masking.model_dump(),
    }


def _means(means: Means, config: Config) -> dict[str, Any]:
    """Settings of a language's mean state, for the measures."""
    nli = section(config).nli
    corpus = means.corpus or nli.corpus
    return means.model_dump(exclude={"tokenisation"}) | {"corpus": corpus}


def _corpora(means: list[Means], config: Config) -> dict[str, str]:
    """Corpus -> tokenisation, of the XNLI pairs and of the texts from which means are computed."""
    nli = section(config).nli
    return {nli.corpus: nli.tokenisation} | {mean.corpus: str(mean.tokenisation) for mean in means if mean.corpus}


def _translation(config: Config) -> dict[str, Any]:
    paper = section(config)
    settings, means = paper.translation, [paper.means, *paper.translation.variants]
    source = paper.source_language
    return {
        "corpora": _corpora(means, config),
        "pairs": paper.nli.corpus,
        "directions": [
            *([source, language] for language in settings.languages), *([language, source] for language in settings.languages),
        ],
        "means": [_means(mean, config) for mean in means],
        "weights": settings.weights,
        "negative_weights": settings.negative_weights,
        "layer": settings.layer,
        "masked_source": source,
        "segments": paper.nli.segments,
        "dictionaries": paper.retrieval.dictionaries,
        "seed": paper.pretraining.seeds[0],
    }  # fmt: skip


def _samples(config: Config) -> dict[str, Any]:
    paper = section(config)
    settings = paper.translation
    return {
        "corpora": _corpora([paper.means], config),
        "pairs": paper.nli.corpus,
        "directions": [[paper.source_language, language] for language in settings.sample_languages],
        "means": _means(paper.means, config),
        "weights": settings.weights,
        "layer": settings.layer,
        "numbers": settings.samples,
        "segments": paper.nli.segments,
    }


def _shifted(recipe: Recipe, config: Config) -> dict[str, Any]:
    """Settings of pairs that are shifted towards the source language at the top of the lower half of layers."""
    paper = section(config)
    return {
        "corpora": _corpora([paper.means], config),
        "pairs": paper.nli.corpus,
        "source": paper.source_language,
        "languages": paper.nli.languages,
        "means": _means(paper.means, config),
        "layer": lower_half(recipe.encoder, config),
        "segments": paper.nli.segments,
    }


def _probes(config: Config) -> dict[str, Any]:
    return section(config).identification.model_dump(exclude={"fine_tuned"})


PAPER = Paper(
    key="liu2020",
    about="Liu, Hsu, Chuang and Lee (2020), *A study of cross-lingual ability and language-specific information in multilingual "
    "BERT*: encoders and static embeddings pretrained on the same text, compared by word retrieval and XNLI; and what happens "
    "where the difference of two languages' mean states is added to a text's.",
    recipes=recipes,
    seeds=seeds,
    measures=measures,
    items=items,
    names=names,
)
