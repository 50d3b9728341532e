"""passport: the table of each encoder, with the measures that it needs."""

from pathlib import Path

from crosslens.config.base import LANGUAGES_CSV
from crosslens.config.presets import read_yaml
from crosslens.config.whole import Config, once
from crosslens.papers.passport.config import section
from crosslens.papers.passport.recipes import PAPER, pretrained, untrained
from crosslens.papers.passport.terms import PIVOT
from crosslens.reports.paper import Need, TableOrFigure

KINDS = ("alignment", "language_geometry", "topic_transfer")


def sentences(encoder: str) -> str:
    """Name of the samples of an encoder's sentences."""
    return f"{PAPER}/{encoder}"


@once
def items(config: Config) -> dict[str, TableOrFigure]:
    """Tables by name, which is the key of the encoder."""
    paper = section(config)
    facts, sources = read_yaml(Path(__file__).with_name("measures.yaml")), read_yaml(LANGUAGES_CSV.with_name("sources.yaml"))
    measures = {
        key: {name: values[name] for name in ("title", "version", "better", "minimum", "maximum")}
        for key, values in facts.items()
    }
    return {
        encoder: TableOrFigure(
            "table",
            title=f"Passport of {encoder}",
            shows="Where an encoder keeps language and where meaning",
            caption="",
            module="tables",
            needs=tuple(
                Need(kind, recipe, seeds)
                for recipe, seeds in ((pretrained(encoder), (0,)), (untrained(encoder), tuple(paper.seeds)))
                for kind in KINDS
            ),
            settings={
                "recipe": pretrained(encoder), "parallel": paper.parallel, "pivot": PIVOT, "block": paper.block,
                "measures": measures, "topics": paper.topics, "kinship": paper.kinship(config),
                "commit": sources.get(config.corpora[paper.parallel].source, {}).get("version"),
                "seeds": list(paper.seeds), "encoder": config.encoders[encoder].model_dump(),
            },
            corpora=(paper.parallel,),
            samples=(sentences(encoder),),
            encoder=encoder,
            tokenizer=True,
            weights=True,
            page=False,
        )
        for encoder in paper.encoders
    }  # fmt: skip
