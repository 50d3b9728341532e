"""Paths of the synthetic corpus's files, named as in the official distributions."""

import itertools
from collections.abc import Collection, Iterator, Sequence

from synthetic.tables import language_facts

DATE = "20260101"  # of the generated dumps
MLDOC = dict(
    de="german", en="english", es="spanish", fr="french", it="italian", ja="japanese", ru="russian", zh="chinese"
)  # MLDoc's names of its languages
SIB200 = {"train": 3, "dev": 1, "test": 1}  # size of a split of SIB-200, as a multiple of the size `parallel`
SHARED_TASKS = {"de": "conll-2003-german/deu", "en": "conll-2003/eng", "es": "conll-2002/esp"}
FILES = {"train": "train", "dev": "testa", "test": "testb"}
ENTITIES = {code: {split: f"{stem}.{file}" for split, file in FILES.items()} for code, stem in SHARED_TASKS.items()} | {
    "zh": {split: f"msra/msra_{split}_bio.txt" for split in ("train", "test")},
}
"""Files of the shared tasks' named entities, by language and split; MSRA has no dev."""


def paths(languages: Sequence[str], train_languages: Collection[str]) -> Iterator[str]:
    """Paths of all files that are written for some languages; train_languages also have a treebank for training."""
    for code in languages:
        row = language_facts()[code]
        for split in ("train", "dev", "test") if code in train_languages else ("dev", "test"):
            yield treebank_path(code, split)
            yield old_treebank_path(code, split)
        yield treebank_path(code, "parallel")
        yield from dump_paths(code)
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


def treebank_path(code: str, split: str) -> str:
    """Path of a split: ud/UD_German-Phrasebook/de_phrasebook-ud-test.conllu; the parallel set is named like PUD."""
    name = language_facts()[code]["name"]
    if split == "parallel":
        return f"ud/UD_{name}-PhrasebookPUD/{code}_phrasebookpud-ud-test.conllu"
    return f"ud/UD_{name}-Phrasebook/{code}_phrasebook-ud-{split}.conllu"


def old_treebank_path(code: str, split: str) -> str:
    """Path of a split in UD 1.4: ud-1.4/UD_German/de-ud-test.conllu."""
    return f"ud-1.4/UD_{language_facts()[code]['name']}/{code}-ud-{split}.conllu"


def dump_paths(code: str) -> tuple[str, str]:
    """Paths of a language's dump and of its index."""
    wiki = language_facts()[code]["wikipedia"]
    stem = f"wikipedia/{wiki}/{DATE}/{wiki}-{DATE}-pages-articles-multistream"
    return f"{stem}.xml.bz2", f"{stem}-index.txt.bz2"


def sib200_path(code: str, split: str) -> str:
    """Path of a language's split in SIB-200, named as in FLORES-200: sib-200/data/annotated/deu_Latn/test.tsv."""
    row = language_facts()[code]
    name = {"zh": "zho_Hans"}.get(code, f"{row['iso639_3']}_{row['script']}")
    return f"sib-200/data/annotated/{name}/{split}.tsv"
