"""tanti2021: records under the paper's own names."""

import pandas as pd

from crosslens.papers.tanti2021.layout import IN_RECORDS, SPELLING, recipe_name


def named(records: pd.DataFrame, wiki: str) -> pd.DataFrame:
    """Records over all languages, items and definitions by the paper's names; wiki: the corpus of paragraphs."""
    named = records[records["language"] == "all"].reset_index(drop=True)
    where = (named["corpus"] == wiki).map({True: ", wiki", False: ", target"})
    languages = named["item"].str.startswith("language")
    named["item"] = named["item"].where(~languages, named["item"] + where)
    named.loc[named["measure"] == "adversary", "item"] = "adversary, wiki"
    named["definition"] = named["definition"].replace(IN_RECORDS)
    named.loc[named["measure"] == SPELLING, "recipe"] = named["task"].map(lambda task: recipe_name(task, SPELLING))
    return named
