"""Names of recipes, what they resolve to, and the hidden states that are asked of them."""

from crosslens.config.states import Draw
from crosslens.config.whole import Config
from crosslens.papers.muller2021 import recipes as muller2021
from crosslens.papers.tanti2021 import draws as tanti2021_draws
from crosslens.papers.tanti2021 import recipes as tanti2021
from crosslens.recipes import Recipe

_made: list[tuple[Config, dict[str, Recipe]]] = []  # of the last configuration, since rules ask for one recipe at a time


def resolve(name: str, config: Config) -> Recipe:
    """The recipe of a name, such as tanti2021/pos/finetuned. Raises KeyError for a name that is none."""
    if not (_made and _made[0][0] is config):
        kept = tanti2021.recipes(config) | muller2021.recipes(config)
        _made[:] = [(config, kept | tanti2021.trials(config) | muller2021.trials(config))]
    return _made[0][1][name]


def names(config: Config) -> list[str]:
    """Names of all recipes but trials."""
    return [*tanti2021.recipes(config), *muller2021.recipes(config)]


def trial_names(config: Config) -> list[str]:
    """Names of the trials of hyperparameter searches, whose predictions on dev sets are all that is kept."""
    return [*tanti2021.trials(config), *muller2021.trials(config)]


def draws(name: str, config: Config) -> dict[str, Draw]:
    """Corpora and words whose hidden states are stored under a recipe's model."""
    recipe = resolve(name, config)
    if recipe.paper == muller2021.PAPER:
        return muller2021.draws(config)
    assert recipe.task is not None
    return tanti2021_draws.draws(recipe.task, config)
