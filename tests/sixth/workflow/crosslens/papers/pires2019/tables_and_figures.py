"""pires2019: the table and the figures, each with its needs and the settings of its module."""

from crosslens.config.whole import Config, once
from crosslens.papers import captions
from crosslens.papers.muller2021 import config as muller2021
from crosslens.papers.pires2019.config import section
from crosslens.papers.pires2019.recipes import PRETRAINED, recipe_name
from crosslens.reports.paper import Need, TableOrFigure

PAPER = "pires2019"
TUNED = "muller2021/pos/en/ref"


@once
def items(config: Config) -> dict[str, TableOrFigure]:
    """Tables and figures by name."""
    sources = {recipe_name(source): source.upper() for source in section(config).source_languages}
    items_by_name = {
        "table2": captions.captioned(
            PAPER,
            "table2",
            "tables",
            needs=tuple(Need("classification", recipe, tuple(config.seeds)) for recipe in sources),
            settings={"sources": sources},
        ),
        "figure3": captions.captioned(
            PAPER,
            "figure3",
            "figures",
            needs=(Need("nearest_translation", PRETRAINED, tuple(config.seeds[:1])),),
        ),
    }
    if config.paper("muller2021"):  # of a recipe of another paper, which does not ask for this kind
        settings = {"corpus": muller2021.section(config).parallel, "reference": "en"}
        items_by_name["figure3_tuned"] = captions.captioned(
            PAPER,
            "figure3_tuned",
            "figures",
            needs=(Need("nearest_translation", TUNED, tuple(config.seeds[:1]), settings=settings),),
        )
    return items_by_name
