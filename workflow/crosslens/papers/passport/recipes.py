"""passport: recipes for each encoder unchanged, and with random weights in layers and embeddings; nothing is trained."""

from crosslens.config.recipes import Edit, Recipe
from crosslens.config.whole import Config, once
from crosslens.papers.passport.config import section

PAPER = "passport"


def pretrained(encoder: str) -> str:
    """Name of the recipe for an unchanged encoder."""
    return f"{PAPER}/{encoder}"


def untrained(encoder: str) -> str:
    """Name of the recipe for an encoder with random weights."""
    return f"{PAPER}/{encoder}/random"


@once
def recipes(config: Config) -> dict[str, Recipe]:
    """Recipes by name."""
    paper = section(config)
    recipes_by_name = {}
    for encoder in paper.encoders:
        for name, edit in ((pretrained(encoder), Edit()), (untrained(encoder), Edit(layers="all", embeddings=True))):
            recipes_by_name[name] = Recipe.without_training(
                name, paper=PAPER, encoder=encoder, tokenisation=paper.tokenisation, edit=edit
            )  # fmt: skip
    return recipes_by_name
