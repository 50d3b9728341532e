"""pires2019: the training runs, a tagger for each source language, and the encoder as it was pretrained."""

from typing import Any

from crosslens.config.heads import TASK, LinearHead
from crosslens.config.labels import UPOS
from crosslens.config.recipes import ENCODER, Data, Phase, Recipe, Score, Stage, Term
from crosslens.config.whole import Config, once
from crosslens.papers.pires2019.config import section

PRETRAINED = "pires2019/pretrained"


def recipe_name(source: str) -> str:
    """Name of a training run, which stands in its records."""
    return f"pires2019/pos/{source}"


@once
def recipes(config: Config) -> dict[str, Recipe]:
    """Training runs by name."""
    paper = section(config)
    shared: dict[str, Any] = {"paper": "pires2019", "encoder": paper.encoder, "tokenisation": paper.tokenisation}
    taggers = [_tagger(source, config, shared) for source in paper.source_languages]
    return {recipe.name: recipe for recipe in [Recipe.without_training(PRETRAINED, **shared), *taggers]}


def _tagger(source: str, config: Config, shared: dict[str, Any]) -> Recipe:
    """A tagger that is trained on one language and tested on all."""
    paper = section(config)
    train, validation = (Data(corpus=paper.corpus, split=split, languages=(source,)) for split in ("train", "validation"))
    test = Data(corpus=paper.corpus, split="test", languages=tuple(config.corpora[paper.corpus].languages))
    stage = Stage(
        name="task",
        phases=(Phase(terms=(Term(head=TASK, data=train),), update=(ENCODER, TASK)),),
        epochs=paper.epochs,
        batch=paper.batch,
        encoder_rate=paper.rate,
        head_rate=paper.rate,
        new_heads=(TASK,),
        select_head=TASK,
        select_data=validation,
        keep="last",  # the paper names no choice of an epoch
    )
    return Recipe(
        name=recipe_name(source), task="pos", source=source, heads={TASK: LinearHead(labels=UPOS)}, stages=(stage,),
        scores=(Score(head=TASK, data=test),), keeps_weights=False,  # nothing reads its hidden states
        init_sd=0.02,  # BERT's own
        dropout=0.1, warmup=0.1, decay="linear",  # appendix A
        **shared,
    )  # fmt: skip
