"""Paths of the phrasebook's files, as in the official distributions."""

import itertools
from collections.abc import Collection, Iterator, Sequence

from phrasebook.tables import language_facts

DATE = "20260101"  # of the generated dumps
MLDOC = {
    "de": "german",
    "en": "english",
    "es": "spanish",
    "fr": "french",
    "it": "italian",
    "ja": "japanese",
    "ru": "russian",
    "zh": "chinese",
}
"""MLDoc's names of its languages."""
SIB200 = {"train": 3, "dev": 1, "test": 1}  # how many times `parallel` a split of SIB-200 has
ENTITIES = {
    "de": {split: f"conll-2003-german/deu.{file}" for split, file in (("train", "train"), ("dev", "testa"), ("test", "testb"))},
    "en": {split: f"conll-2003/eng.{file}" for split, file in (("train", "train"), ("dev", "testa"), ("test", "testb"))},
    "es": {split: f"conll-2002/esp.{file}" for split, file in (("train", "train"), ("dev", "testa"), ("test", "testb"))},
    "zh": {split: f"msra/msra_{split}_bio.txt" for split in ("train", "test")},
}
"""Files of the shared tasks' named entities, by language and split; MSRA has no dev."""


def paths(languages: Sequence[str], train_languages: Collection[str]) -> Iterator[str]:
    """Paths of all files that are written for some languages; train_languages also have a treebank for training."""
    for code in languages:
        row = language_facts()[code]
        for split in ("train", "dev", "test") if code in train_languages else ("dev", "test"):
            yield f"ud/UD_{row['name']}-Phrasebook/{code}_phrasebook-ud-{split}.conllu"
            yield f"ud-1.4/UD_{row['name']}/{code}-ud-{split}.conllu"
        yield f"ud/UD_{row['name']}-PhrasebookPUD/{code}_phrasebookpud-ud-test.conllu"
        stem = f"wikipedia/{row['wikipedia']}/{DATE}/{row['wikipedia']}-{DATE}-pages-articles-multistream"
        yield f"{stem}.xml.bz2"
        yield f"{stem}-index.txt.bz2"
        yield from ENTITIES.get(code, {}).values()
        yield from (sib200_path(code, split) for split in SIB200)
        if code in MLDOC:
            yield from (f"mldoc/{MLDOC[code]}.{split}" for split in ("train.1000", "dev", "test"))
        if code != "en":
            for pair, part in itertools.product((f"en-{code}", f"{code}-en"), ("0-5000", "5000-6500")):
                yield f"muse/dictionaries/{pair}.{part}.txt"
        yield f"cc-100/{row['cc100']}.txt.xz"
        yield f"text/{code}.txt"
    if "en" in languages:
        yield "reuters/rcv1.tar.xz"
    if {*languages} & {*MLDOC} - {"en"}:
        yield "reuters/rcv2.tar.xz"
    if languages:
        yield "multinli/multinli_1.0.zip"
        yield "xnli/XNLI-1.0.zip"
        yield "xnli-mt/XNLI-MT-1.0.zip"
        yield "wikiann/panx_dataset.zip"
        yield "wili-2018/wili-2018.zip"
        yield from (f"wals-2020/cldf/{table}.csv" for table in ("languages", "parameters", "codes", "values"))


def sib200_path(code: str, split: str) -> str:
    """Path of a language's split in SIB-200, named as in FLORES-200: sib-200/data/annotated/deu_Latn/test.tsv."""
    row = language_facts()[code]
    name = {"zh": "zho_Hans"}.get(code, f"{row['iso639_3']}_{row['script']}")
    return f"sib-200/data/annotated/{name}/{split}.tsv"
