"""tanti2021: records with the paper's names for items and definitions."""

import pandas as pd

from crosslens.papers.tanti2021.names import IN_RECORDS, SPELLING, recipe_name


def named(records: pd.DataFrame, wiki: str) -> pd.DataFrame:
    """Records over all languages together, with items and definitions renamed as in the paper.

    records: records of measures, one row per score.
    wiki: key of the corpus of paragraphs.
    """
    renamed = records[records["language"] == "all"].reset_index(drop=True)
    suffix = (renamed["corpus"] == wiki).map({True: ", wiki", False: ", target"})
    languages = renamed["item"].str.startswith("language")
    renamed["item"] = renamed["item"].where(~languages, renamed["item"] + suffix)
    renamed.loc[renamed["measure"] == "adversary", "item"] = "adversary, wiki"
    renamed["definition"] = renamed["definition"].replace(IN_RECORDS)
    renamed.loc[renamed["measure"] == SPELLING, "recipe"] = renamed["task"].map(lambda task: recipe_name(task, SPELLING))
    return renamed
