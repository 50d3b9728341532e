"""pires2019: its table and its figure, each with what it needs and how the report tells of it."""

from crosslens.config.whole import Config, once
from crosslens.papers.pires2019.config import section
from crosslens.papers.pires2019.recipes import PRETRAINED, recipe_name
from crosslens.reports.paper import Item, Need

TABLE_2 = """**Table 2 of the paper: accuracy of part-of-speech tagging.** Rows: the language of the training data; columns:
that of the test set."""
TUNED = "muller2021/pos/en/ref"
FIGURE_3 = """**Figure 3 of the paper: are translations neighbours?** Share of the English sentences, moved by the mean
difference to another language, whose nearest sentence of that language is the translation, by layer."""


@once
def items(config: Config) -> dict[str, Item]:
    """Items by name."""
    sources = {recipe_name(source): source.upper() for source in section(config).source_languages}
    made = {
        "table2": Item(
            form="table",
            title="Table 2",
            shows="Part-of-speech tagging across languages",
            caption=TABLE_2,
            module="tables",
            needs=tuple(Need("classification", recipe, tuple(config.seeds)) for recipe in sources),
            settings={"sources": sources},
        ),
        "figure3": Item(
            form="figure",
            title="Figure 3",
            shows="Translations as nearest neighbours",
            caption=FIGURE_3,
            module="figures",
            needs=(Need("nearest_translation", PRETRAINED, tuple(config.seeds[:1])),),
        ),
    }
    if other := config.paper("muller2021"):  # of a recipe of another paper, which does not ask for this kind
        asked = {"corpus": other.parallel, "reference": "en"}  # type: ignore[attr-defined]
        made["figure3_tuned"] = Item(
            form="figure",
            title="Figure 3, fine-tuned",
            shows="Translations as nearest neighbours in a tagger of muller2021",
            caption=f"{FIGURE_3} Here in the encoder that muller2021 fine-tuned for tagging.",
            module="figures",
            needs=(Need("nearest_translation", TUNED, tuple(config.seeds[:1]), settings=asked),),
        )
    return made
