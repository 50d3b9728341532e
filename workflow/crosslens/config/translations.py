"""Ids that texts share with their translations in other languages."""

import re

PARALLEL = re.compile(r"[a-z]+_(pud/|partut/)(?:[a-z]+_partut-ud-)?")


def shared_id(id: str) -> str:
    """The id that a text shares with its translations: its own id, without the language in the name of a treebank.

    Translations have the same id in corpora of pairs (XNLI's pairID) and in treebanks that are read as parallel ones. If a
    language has several treebanks, the ids from parallel ones (PUD and ParTUT) also name the language. So ar_pud/n01001011
    becomes pud/n01001011, and en_partut/en_partut-ud-9 becomes partut/9.
    """
    match = PARALLEL.match(id)
    return f"{match[1]}{id[match.end() :]}" if match else id
