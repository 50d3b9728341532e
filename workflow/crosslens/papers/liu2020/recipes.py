"""liu2020: encoders pretrained from scratch, and training runs on XNLI that start from them or from the released encoder."""

from typing import Any

from crosslens.config.heads import TASK, LanguageModelHead, LinearHead
from crosslens.config.labels import NLI
from crosslens.config.recipes import ENCODER, Data, Edit, Masking, Model, Phase, Recipe, Score, Stage, Static, Term
from crosslens.config.units import Units
from crosslens.config.whole import Config, once
from crosslens.papers.liu2020.config import RELEASED as RELEASED_MODEL
from crosslens.papers.liu2020.config import SENTENCE, Bert, Window, section
from crosslens.papers.liu2020.names import ALL, LAST, PAPER, RELEASED, UNTRAINED, UNTRAINED_MODEL, nli, pretraining

ON_XNLI = "nli"  # task of training runs on XNLI


@once
def recipes(config: Config) -> dict[str, Recipe]:
    """Recipes by name: training runs, and the encoders with which they are compared."""
    paper = section(config)
    pretraining_settings = paper.pretraining
    shared: dict[str, Any] = {"paper": PAPER, "tokenisation": paper.tokenisation}
    all_recipes = [
        Recipe.without_training(RELEASED, encoder=paper.encoder, **shared),
        Recipe.without_training(UNTRAINED, encoder=pretraining_settings.bert.encoder, edit=_blank(config), **shared),
    ]
    languages = tuple(config.corpora[pretraining_settings.corpus].languages)
    for size, sentences in pretraining_settings.sizes.items():
        data = Data(corpus=pretraining_settings.corpus, split="train", languages=languages, texts=sentences)
        all_recipes += [
            _bert(f"{paper.bert_name(window)}/{size}", window, data, config, pretraining_settings.bert.updates)
            for window in pretraining_settings.bert.windows
        ]
        for name, settings in (("glove", pretraining_settings.glove), ("word2vec", pretraining_settings.word2vec)):
            if settings:
                all_recipes.append(_static(f"{name}/{size}", Static(data=data, embeddings=settings), config))
    less_data = data.model_copy(update={"texts": next(iter(pretraining_settings.sizes.values()))})
    all_recipes += [
        _bert(model, pretraining_settings.bert.window, less_data, config, updates)
        for model, updates in paper.equal_epochs().items()
    ]
    all_recipes.append(_nli(ALL, config, encoder=paper.encoder))
    all_recipes.append(_nli(LAST, config, encoder=paper.encoder, half=True, keeps_weights=True))
    for model in paper.pretrained():
        is_bert = model.startswith("bert")
        start: dict[str, Any] = {
            "encoder": pretraining_settings.bert.encoder if is_bert else pretraining_settings.static,
            "pretrained": Model(recipe=pretraining(model), seeds=tuple(pretraining_settings.seeds)),
        }
        all_recipes.append(_nli(nli(model, features=True), config, **start, features=True))
        if is_bert:
            all_recipes.append(_nli(nli(model), config, **start, half=paper.nli.pretrained_half))
    control: dict[str, Any] = {"encoder": pretraining_settings.bert.encoder, "blank": True}  # random weights, not pretrained
    all_recipes.append(_nli(nli(UNTRAINED_MODEL, features=True), config, **control, features=True))
    all_recipes.append(_nli(nli(UNTRAINED_MODEL), config, **control, half=paper.nli.pretrained_half))
    return {recipe.name: recipe for recipe in all_recipes}


def translator(config: Config) -> str:
    """Name of the recipe of the model that translates tokens."""
    model = section(config).translation.model
    return RELEASED if model == RELEASED_MODEL else pretraining(model)


def lower_half(encoder: str, config: Config) -> int:
    """Number of layers in the lower half of an encoder: 6 of 12 (section 4.3)."""
    return int(config.encoders[encoder].n_layers() or 0) // 2


def examples(window: Window, settings: Bert) -> dict[str, Any]:
    """Fields `window` and `within` of a Data, which define how text is divided into examples of a window."""
    size = None if window == SENTENCE else window
    return {"window": size, "within": "text" if window in settings.segments else "page"}


def _blank(config: Config) -> Edit:
    """The edit that sets random weights, from which masked language models are pretrained."""
    return Edit(layers="all", embeddings=True, sd=section(config).pretraining.bert.init_sd)


def _static(model: str, static: Static, config: Config) -> Recipe:
    part = section(config).pretraining
    return Recipe(
        name=pretraining(model), paper=PAPER, task="pretraining", encoder=part.static, tokenisation=part.tokenisation,
        static=static, heads={}, stages=(), scores=(), init_sd=None, dropout=0.0,
    )  # fmt: skip


def _bert(model: str, window: Window, data: Data, config: Config, updates: int) -> Recipe:
    """Recipe that pretrains a masked language model from random weights.

    An update has the same number of subwords, whatever the window and the data.
    """
    part = section(config).pretraining
    settings = part.bert
    cut = examples(window, settings)
    stage = Stage(
        name="pretraining",
        phases=(
            Phase(
                terms=(Term(head=TASK, data=data.model_copy(update=cut)),),
                update=(ENCODER, TASK),
                updates=-(-updates // settings.evaluations),
            ),
        ),
        epochs=settings.evaluations,
        batch=settings.subwords,
        batch_of="subwords",
        encoder_rate=settings.rate,
        head_rate=settings.rate,
        new_heads=(TASK,),
        select_head=TASK,
        select_data=data.model_copy(update={"split": "validation", "masked": True, **cut}),
        keep="last",
    )
    return Recipe(
        name=pretraining(model),
        paper=PAPER,
        task="pretraining",
        encoder=settings.encoder,
        tokenisation=part.tokenisation,
        edit=_blank(config),
        heads={TASK: LanguageModelHead()},
        masking=Masking(share=settings.masked),
        stages=(stage,),
        scores=(),
        init_sd=None,
        dropout=0.0,
        select_by="subwords",
        decays="matrices",
        **settings.of_recipe(),
    )


def _nli(
    name: str, config: Config, *, encoder: str, pretrained: Model | None = None, features: bool = False,
    half: bool = False, keeps_weights: bool = False, blank: bool = False,
) -> Recipe:  # fmt: skip
    """Recipe that trains on the source language and is scored on the dev and test sets of all languages.

    pretrained: model to start from; None: the encoder itself. features: whether only a head is trained, on frozen states of the
    pair. half: whether the embeddings and the lower half of the layers are frozen. blank: whether it starts from random
    weights, with the settings for our own pretrained models.
    """
    paper = section(config)
    settings, corpus = paper.nli, config.corpora[paper.nli.corpus]
    source = (paper.source_language,)
    train, dev = (Data(corpus=settings.corpus, split=split, languages=source) for split in ("train", "dev"))
    tests = [Data(corpus=settings.corpus, split=split, languages=tuple(corpus.languages)) for split in ("dev", "test")]
    head_rate = settings.features_rate if features else settings.head_rate or settings.rate
    rate, epochs = settings.rate, settings.epochs
    if features:
        rate, epochs = 0.0, settings.features_epochs
    elif pretrained or blank:
        rate, epochs = settings.pretrained_rate or rate, settings.pretrained_epochs or epochs
    stage = Stage(
        name="task",
        phases=(
            Phase(
                terms=(Term(head=TASK, data=train),),
                update=(TASK,) if features else (ENCODER, TASK),
                frozen_layers=lower_half(encoder, config) if half else None,
            ),
        ),
        epochs=epochs,
        batch=settings.batch,
        encoder_rate=rate,
        head_rate=head_rate,
        new_heads=(TASK,),
        select_head=TASK,
        select_data=dev,
    )
    segments = settings.segments and not features
    return Recipe(
        name=name,
        paper=PAPER,
        task=ON_XNLI,
        source=paper.source_language,
        keeps_weights=keeps_weights,
        encoder=encoder,
        pretrained=pretrained,
        edit=_blank(config) if blank else Edit(),
        tokenisation=settings.tokenisation,
        units=Units(unit="text", state="pair" if features else "hidden", segments=segments),
        heads={TASK: LinearHead(labels=NLI, hidden=settings.features_hidden if features else 0)},
        stages=(stage,),
        scores=tuple(Score(head=TASK, data=data) for data in tests),
        init_sd=0.02,
        select_by="accuracy",
        decays="matrices",
        **settings.of_recipe(),
    )
