"""liang2021: settings of the measures of hidden states for figures 1, 2, 3 and 5."""

from collections.abc import Mapping
from typing import Any

from crosslens.config.base import WALS_FAMILIES, languages_table
from crosslens.config.recipes import Recipe
from crosslens.config.whole import Config
from crosslens.papers.liang2021.config import section
from crosslens.papers.liang2021.names import RANDOM_GROUPS, pretrained

IDENTIFICATION, TYPOLOGY, SIMILARITY = "language_identification", "typology", "language_similarity"
GROUPS = "language_groups"


def measures(recipe: Recipe, config: Config) -> dict[str, Mapping[str, Any]]:
    """Settings of the measures of an encoder's hidden states, by kind.

    The `compared` methods and the groups of languages are measured only for the paper's encoder.
    """
    paper, probing = section(config), section(config).probing
    main = recipe.name == pretrained(paper.encoder)
    corpus = str(paper.texts[recipe.encoder])
    languages = config.corpora[corpus].languages
    fits = {"corpus": corpus, "seeds": probing.seeds or paper.seeds, "share": probing.share, "draws": probing.draws}
    windows = fits | probing.model_dump(include={"methods", "dimensions", "bands", "band"})
    table = {language: languages_table()[language] for language in languages}
    classes = {  # those of WALS, as in the paper
        "genus": {language: row["genus"] for language, row in table.items()},
        "family": {language: WALS_FAMILIES.get(row["family"], row["family"]) for language, row in table.items()},
    }
    typology, similarity = probing.typology, probing.similarity
    settings: dict[str, Mapping[str, Any]] = {
        IDENTIFICATION: windows
        | probing.model_dump(include={"pairs", "rest_words", "layer_dimension", "tolerance"})
        | {"compared": probing.compared if main else []},
        TYPOLOGY: windows
        | typology.model_dump(exclude={"corpus", "probes"})
        | {"typology": typology.corpus, "family": classes["family"], "tolerance": probing.tolerance}
        | {"multinomial": typology.probes == "multinomial"},
        SIMILARITY: windows | similarity.model_dump() | {"classes": classes},
    }
    if main:
        groups = {name: codes for name, codes in probing.groups.languages.items() if codes}
        share = None if probing.share is None else probing.groups.share
        settings[GROUPS] = fits | {
            "share": share, "groups": groups, "random": RANDOM_GROUPS, "size": probing.groups.size,
            "bands": probing.groups.bands, "method": probing.methods[0], "tolerance": probing.tolerance,
        }  # fmt: skip
    return settings
