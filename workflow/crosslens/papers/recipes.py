"""Names of recipes, what they resolve to, and the hidden states that are asked of them."""

from crosslens.config.states import Draw
from crosslens.config.whole import Config
from crosslens.papers.muller2021 import recipes as muller2021
from crosslens.papers.tanti2021 import draws as tanti2021_draws
from crosslens.papers.tanti2021 import recipes as tanti2021
from crosslens.recipes import Recipe


def resolve(name: str, config: Config) -> Recipe:
    """The recipe of a path-like name, such as tanti2021/pos/finetuned. Raises KeyError for a name that is none."""
    paper = name.split("/")[0]
    if paper == "tanti2021":
        return tanti2021.recipe(name, config)
    if paper == "muller2021":
        return muller2021.recipe(name, config)
    raise KeyError(f"no recipe '{name}'")


def names(config: Config) -> list[str]:
    """Names of all recipes whose weights are kept."""
    return [*tanti2021.names(config), *muller2021.names(config)]


def trial_names(config: Config) -> list[str]:
    """Names of the trials of hyperparameter searches, whose predictions on dev sets are all that is kept."""
    return [*tanti2021.trials(config), *muller2021.trials(config)]


def draws(name: str, config: Config) -> dict[str, Draw]:
    """Corpora and words whose hidden states are stored under a recipe's model."""
    if name.startswith("muller2021/"):
        return muller2021.draws(config)
    return tanti2021_draws.draws(name.split("/")[1], config)
