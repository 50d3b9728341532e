"""liu2020: the tables and figures, each with the measures that it needs and the settings of its module."""

from dataclasses import asdict
from typing import Any

from crosslens.config.base import families_of, languages_table
from crosslens.config.whole import Config, once
from crosslens.papers import captions
from crosslens.papers.liu2020.config import section
from crosslens.papers.liu2020.names import (
    ALL,
    LAST,
    OVER_PAIRS,
    OVER_UNITS,
    PAPER,
    RELEASED,
    STATIC,
    UNTRAINED,
    UNTRAINED_MODEL,
    Study,
    nli,
    place,
    pretraining,
    title,
)
from crosslens.papers.liu2020.recipes import examples, recipes, translator
from crosslens.reports.paper import Need, TableOrFigure

RETRIEVAL, XNLI, TRANSLATION, MASKED = "retrieval", "classification", "translation", "masked"
SUBWORDS, SHIFTED = "language_of_subwords", "language_after_shift"
"""Kinds of measures."""
TRANSLATED = ("table1", "table2", "figure7", "figure8")
"""Tables and figures of the one model that translates tokens."""


@once
def items(config: Config) -> dict[str, TableOrFigure]:
    """Tables and figures by name."""
    paper, study_fields = section(config), asdict(study(config))
    sizes, pretrained = list(paper.pretraining.sizes), paper.pretrained()
    settings: dict[str, Any] = {"study": study_fields}
    of_windows = {"study": study_fields, "sizes": sizes}
    masked, translation = (MASKED, translator(config)), (TRANSLATION, translator(config))
    berts = [model for model in pretrained if model.startswith("bert")]
    words_of_berts = [(RETRIEVAL, pretraining(model)) for model in berts]
    pairs_of_berts = [(XNLI, nli(model)) for model in (*berts, UNTRAINED_MODEL)]
    shifted_models = [RELEASED, *[LAST] * paper.identification.fine_tuned]
    identification = [(SUBWORDS, name) for name in most_text(config)] + [(SHIFTED, name) for name in shifted_models]
    parts: dict[str, tuple[str, list[tuple[str, str]], dict[str, Any]]] = {
        "table1": ("translation", [("example_translations", translator(config)), masked], settings),
        "table2": ("translation", [translation, masked], settings),
        "table4": ("transfer", [("transfer", LAST), (XNLI, ALL), (XNLI, LAST)], settings),
        "figure5": ("retrieval_figures", words_of_berts + _masked(berts), of_windows),
        "figure6": ("xnli_figures", pairs_of_berts + _masked(berts), of_windows),
        "figure7": ("translation_figures", [translation, masked], settings),
        "figure8": ("translation_figures", [translation, masked], settings),
        "retrieval": ("retrieval", _retrieval([*pretrained, *paper.equal_epochs()]), settings),
        "nli": ("xnli", _nli(pretrained), settings),
        "languages": ("languages", identification, settings),
        "calibration": ("translation", [translation], settings),
    }
    for of_words, of_pairs, size in zip(("figure1", "figure3"), ("figure2", "figure4"), sizes, strict=False):
        models, of_size = [model for model in pretrained if model.endswith(f"/{size}")], {"study": study_fields, "sizes": [size]}
        parts |= {of_words: ("retrieval_figures", _retrieval(models), of_size), of_pairs: ("xnli_figures", _nli(models), of_size)}
    items_by_name = {name: _item(name, config, *part) for name, part in parts.items()}
    items_by_name |= {"table3": _vocabulary(config), "text": _text(config)}
    items_by_name |= {"accents": _accents(config)} if paper.vocabulary.altered else {}
    return {name: items_by_name[name] for name in captions.items(PAPER) if name in items_by_name}


def study(config: Config) -> Study:
    """The configured pretrained models, translations and names."""
    paper = section(config)
    codes = dict.fromkeys([*config.corpora[paper.pretraining.corpus].languages, *config.corpora[paper.nli.corpus].languages])
    return Study(
        source=paper.source_language,
        encoder=paper.encoder,
        models=paper.pretrained(),
        sizes=paper.pretraining.sizes,
        windows=paper.pretraining.bert.windows,
        translator=translator(config),
        translation=paper.translation.model_dump(exclude={"variants"}),
        nli=paper.nli.languages,
        half=paper.nli.pretrained_half,
        equal_epochs=[*paper.equal_epochs()],
        names={code: languages_table()[code]["name"] for code in codes},
    )


def names(config: Config) -> dict[str, str | int]:
    """Value of each $NAME in claims.yaml: names of a preset's models, and where the shift is added."""
    paper, configured_study = section(config), study(config)
    long, *shorter = (paper.bert_name(window) for window in paper.pretraining.bert.windows)
    less, more = configured_study.sizes
    top = config.encoders[recipes(config)[configured_study.translator].encoder].n_layers() or 12
    layer, weight = configured_study.translation["printed"]
    names_by_key: dict[str, str | int] = {
        "less": less,
        "more": more,
        "long": long,
        "long_title": title(long),
        "encoder": configured_study.encoder,
        "translator": configured_study.translator,
        "layer": min(configured_study.translation["layer"], top),
        "place": place(min(layer, top), weight),
    }
    if paper.identification.fine_tuned:
        names_by_key["fine_tuned"] = LAST
    for short in shorter[:1]:
        windows = f"window {configured_study.windows[1]} against {configured_study.windows[0]}"
        names_by_key |= {"short": short, "short_title": title(short), "windows": windows}
    return names_by_key


def most_text(config: Config) -> list[str]:
    """Names of the recipes that pretrain on most text, and of the BERT with random weights."""
    paper = section(config)
    largest_size = list(paper.pretraining.sizes)[-1]
    return [*(pretraining(model) for model in paper.pretrained() if model.endswith(f"/{largest_size}")), UNTRAINED]


def _retrieval(models: list[str]) -> list[tuple[str, str]]:
    """Needs of word retrieval, (kind, recipe): the models, the released one, random weights; and masked subwords of BERTs."""
    return [(RETRIEVAL, name) for name in (*map(pretraining, models), RELEASED, UNTRAINED)] + _masked(models)


def _nli(models: list[str]) -> list[tuple[str, str]]:
    """Needs of XNLI, (kind, recipe): the models, random weights, the released one; and masked subwords of BERTs."""
    features = [nli(model, features=True) for model in (*models, UNTRAINED_MODEL)]
    tuned = [nli(model) for model in (*models, UNTRAINED_MODEL) if not model.startswith(tuple(STATIC))]
    return [(XNLI, name) for name in (*features, *tuned, ALL, LAST)] + _masked(models)


def _masked(models: list[str]) -> list[tuple[str, str]]:
    """Needs of masked subwords, (kind, recipe), for the masked language models among the models."""
    return [(MASKED, pretraining(model)) for model in models if model.startswith("bert")]


def _vocabulary(config: Config) -> TableOrFigure:
    paper = section(config)
    settings = {
        "corpus": paper.vocabulary.corpus,
        "source": paper.source_language,
        "languages": [paper.source_language, *paper.translation.languages],
    }
    return captions.captioned(PAPER, "table3", "vocabulary", settings=settings, decimals=None, **_subwords(config))


def _accents(config: Config) -> TableOrFigure:
    paper = section(config)
    tokenisations = {name: config.tokenisations[name] for name in paper.vocabulary.altered}
    languages = [paper.source_language, *paper.nli.languages]
    settings = {
        "corpus": paper.vocabulary.corpus,
        "source": paper.source_language,
        "languages": languages,
        "families": dict(zip(languages, families_of(languages), strict=True)),
        "tokenisations": {
            ", ".join(["without accents"] * tokenisation.strip_accents + ["in lower case"] * tokenisation.lower_case): name
            for name, tokenisation in tokenisations.items()
        },
    }
    return captions.captioned(
        PAPER, "accents", "accents", settings=settings, tokenisations=tuple(tokenisations), cites="wu2019", **_subwords(config)
    )


def _text(config: Config) -> TableOrFigure:
    part = section(config).pretraining
    settings = {
        "corpus": part.corpus,
        "languages": config.corpora[part.corpus].languages,
        "sizes": part.sizes,
        "windows": [{"name": title(f"bert-{window}"), **examples(window, part.bert)} for window in part.bert.windows],
    }
    tokens: dict[str, Any] = {"corpora": (part.corpus,), "encoder": part.bert.encoder, "tokenisation": part.tokenisation}
    return captions.captioned(PAPER, "text", "text", settings=settings, decimals=None, **tokens)


def _subwords(config: Config) -> dict[str, Any]:
    """Fields of a TableOrFigure that counts subwords and needs no weights."""
    vocabulary = section(config).vocabulary
    return {
        "corpora": (vocabulary.corpus,),
        "encoder": vocabulary.encoder,
        "tokenisation": vocabulary.tokenisation,
        "tokenizer": True,
    }


def _item(name: str, config: Config, module: str, needs: list[tuple[str, str]], settings: dict[str, Any]) -> TableOrFigure:
    paper = section(config)
    pretrained, single = tuple(paper.pretraining.seeds), OVER_UNITS if name == "languages" else OVER_PAIRS

    def seeds(kind: str, recipe: str) -> tuple[int, ...]:
        if kind in (TRANSLATION, "example_translations") or recipe == RELEASED or name in TRANSLATED:
            return pretrained[:1]
        return pretrained if kind in (RETRIEVAL, MASKED, SUBWORDS) else tuple(paper.seeds)

    item_needs = tuple(Need(kind, recipe, seeds(kind, recipe)) for kind, recipe in needs)
    decimals = 2 if name == "table2" else 1  # convert rates are from 0 to 1
    return captions.captioned(PAPER, name, module, single=single, needs=item_needs, settings=settings, decimals=decimals)
