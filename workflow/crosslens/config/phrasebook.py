"""The phrasebook's corpora: their languages and sizes."""

import itertools
from collections.abc import Iterator

from pydantic import Field, field_validator

from crosslens.config.base import LANGUAGES_CSV, Count, Language, Section, languages_table

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
ENTITIES = {
    "de": {split: f"conll-2003-german/deu.{file}" for split, file in (("train", "train"), ("dev", "testa"), ("test", "testb"))},
    "en": {split: f"conll-2003/eng.{file}" for split, file in (("train", "train"), ("dev", "testa"), ("test", "testb"))},
    "es": {split: f"conll-2002/esp.{file}" for split, file in (("train", "train"), ("dev", "testa"), ("test", "testb"))},
    "zh": {split: f"msra/msra_{split}_bio.txt" for split in ("train", "test")},
}
"""Files of the shared tasks' named entities, by language and split; MSRA has no dev."""


class Phrasebook(Section):
    """How much the phrasebook writes."""

    languages: list[Language] = Field([], description="languages; each is a folder of resources/phrasebook")
    train_languages: list[Language] = Field(["en"], description="languages that also have a training treebank")
    train: Count = Field(800, description="sentences per training language")
    dev: Count = Field(150, description="sentences per language")
    test: Count = Field(150, description="sentences per language")
    parallel: Count = Field(150, description="sentences of the parallel treebanks")
    articles: Count = Field(80, description="articles of a dump; 60 give about 150 paragraphs")
    inference_train: Count = Field(300, description="prompts (a premise, three hypotheses) in MultiNLI's format, in English")
    inference_dev: Count = Field(50, description="prompts per language in XNLI's format, and in MultiNLI's in English")
    inference_test: Count = Field(50, description="prompts per language in XNLI's format")
    records: Count = Field(
        40,
        description="records per language and split in the other formats; three times as many sentences and news documents in "
        "train",
    )
    documents: Count = Field(
        10, description="documents of running text per language, each of about 20 sentences; what they say differs by language"
    )
    seed: int = Field(0, ge=0, description="seed for everything that is generated")

    @field_validator("languages", "train_languages")
    @classmethod
    def _has_folders(cls, languages: list[str]) -> list[str]:
        known = sorted(path.parent.name for path in LANGUAGES_CSV.parent.glob("phrasebook/*/frames.txt"))
        unknown = [code for code in languages if code not in known]
        if unknown:
            raise ValueError(
                f"{', '.join(unknown)} not among the phrasebook's languages ({', '.join(known)}): docs/new-language.md says how "
                "to write one; other languages need real data, for instance at the laptop scale"
            )
        return languages

    def files(self) -> Iterator[str]:
        """Paths of all files that are written, as in the official distributions."""
        for code in self.languages:
            row = languages_table()[code]
            for split in ("train", "dev", "test") if code in self.train_languages else ("dev", "test"):
                yield f"ud/UD_{row['name']}-Phrasebook/{code}_phrasebook-ud-{split}.conllu"
                yield f"ud-1.4/UD_{row['name']}/{code}-ud-{split}.conllu"
            yield f"ud/UD_{row['name']}-PhrasebookPUD/{code}_phrasebookpud-ud-test.conllu"
            stem = f"wikipedia/{row['wikipedia']}/{DATE}/{row['wikipedia']}-{DATE}-pages-articles-multistream"
            yield f"{stem}.xml.bz2"
            yield f"{stem}-index.txt.bz2"
            yield from ENTITIES.get(code, {}).values()
            if code in MLDOC:
                yield from (f"mldoc/{MLDOC[code]}.{split}" for split in ("train.1000", "dev", "test"))
            if code != "en":
                for pair, part in itertools.product((f"en-{code}", f"{code}-en"), ("0-5000", "5000-6500")):
                    yield f"muse/dictionaries/{pair}.{part}.txt"
            yield f"cc-100/{row['cc100']}.txt.xz"
            yield f"text/{code}.txt"
        if "en" in self.languages:
            yield "reuters/rcv1.tar.xz"
        if {*self.languages} & {*MLDOC} - {"en"}:
            yield "reuters/rcv2.tar.xz"
        if self.languages:
            yield "multinli/multinli_1.0.zip"
            yield "xnli/XNLI-1.0.zip"
            yield "xnli-mt/XNLI-MT-1.0.zip"
            yield "wikiann/panx_dataset.zip"
            yield "wili-2018/wili-2018.zip"
            yield from (f"wals-2020/cldf/{table}.csv" for table in ("languages", "parameters", "codes", "values"))
