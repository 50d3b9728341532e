"""Names of recipes, and what they resolve to."""

from crosslens.config.whole import Config
from crosslens.papers.tanti2021 import recipes as tanti2021
from crosslens.recipes import Recipe


def resolve(name: str, config: Config) -> Recipe:
    """The recipe of a path-like name, such as tanti2021/pos/finetuned. Raises KeyError for a name that is none."""
    if name.split("/")[0] == "tanti2021":
        return tanti2021.recipe(name, config)
    raise KeyError(f"no recipe '{name}'")


def names(config: Config) -> list[str]:
    """Names of all recipes whose weights are kept."""
    return list(tanti2021.names(config))


def trial_names(config: Config) -> list[str]:
    """Names of the trials of hyperparameter searches, whose predictions on dev sets are all that is kept."""
    return list(tanti2021.trials(config))
