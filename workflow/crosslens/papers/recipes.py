"""Names of recipes, and what they resolve to."""

from crosslens.config.whole import Config
from crosslens.papers.tanti2021 import recipes as tanti2021
from crosslens.recipes import Recipe


def resolve(name: str, config: Config) -> Recipe:
    """The recipe of a path-like name, such as tanti2021/pos/finetuned. Raises KeyError for a name that is none."""
    paper, task, run = name.split("/")
    if (paper, task) == ("tanti2021", "pos"):
        return tanti2021.pos(name, run, config)
    raise KeyError(f"no recipe '{name}'")


def names(config: Config) -> list[str]:
    """Names of all recipes of the configuration."""
    return [f"tanti2021/pos/{run}" for run in config.papers.tanti2021.runs]
