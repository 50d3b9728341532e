"""tanti2021: sizes beside the printed ones and what explains them; what languages lost."""

from pathlib import Path

from crosslens.config.samples import Samples, Sampling
from crosslens.corpora.schema import write
from crosslens.encoding.samples import write as write_samples
from crosslens.encoding.tokens.schema import SPECIAL, TOKENS
from crosslens.jobs.checksums import write_checksums
from crosslens.papers.inputs import Inputs
from crosslens.papers.tanti2021.names import LABELS, UNITS
from crosslens.papers.tanti2021.sizes import table
from crosslens.reports.cells import Published
from goldens import assert_golden

PUBLISHED = Published.read(Path(__file__).parents[1] / "resources/published/tanti2021.csv")
UDPOS = {
    "kind": "treebank", "source": "synthetic", "languages": ["en", "de"], "limits": {"test": 3},
    "files": {"train": "{code}-train.conllu", "test": "{code}-test.conllu"},
}  # fmt: skip
XNLI = {
    "kind": "pairs", "source": "xnli", "languages": ["en", "de"], "train_source": "multinli",
    "files": {"train": "train.jsonl", "test": "xnli.test.tsv"},
}  # fmt: skip
WIKIPEDIA = {
    "kind": "paragraphs", "source": "wikipedia", "file": "{wiki}/20210420.xml", "languages": ["en", "de"], "paragraphs": 10,
}  # fmt: skip
AUTHORS = {
    "kind": "documents", "source": "wiki-lang-id", "languages": ["en", "de"], "source_languages": ["en", "de"],
    "files": {split: f"{split}.csv" for split in ("train", "validation", "dev", "test")},
}  # fmt: skip


def tokens(folder, sizes, unknown=0, cut=0, tags=("NOUN", "VERB"), label=""):
    """Token files of so many texts, each of two words; sizes: file -> texts."""
    for name, n in sizes.items():
        row = {"language": name[:2], "page": "", "subwords": [0, 5, 6, 2], "words": ["a", "b"], "positions": [1, 2],
               "labels": list(tags), "heads": [], "relations": [],
               "label": label, "second": 0, "cut": False, "cut_words": 0}  # fmt: skip
        rows = [{"id": str(i)} | row for i in range(n)]
        counts = {"texts": n, "unknown": unknown, "cut_texts": cut, "cut_words": 3 * cut, SPECIAL: [1, 1, 1]}
        write(rows, folder / f"{name}.parquet", TOKENS, counts)
    write_checksums(folder)
    return str(folder)


def counted(corpora, samples, folders, sampled=Path()):
    """The table. samples: task -> what is drawn, of tokens, into a folder `drawn`."""
    tokens = dict(zip(corpora, map(Path, folders), strict=True))
    for task, settings in samples.items():
        write_samples(settings, tokens, sampled / task)
    listed = {task: {"name": task} | settings.model_dump(include={"corpora"}) for task, settings in samples.items()}
    settings = {"corpora": corpora, "samples": listed, "drop_unknown": True}
    return table("dataset_sizes", Inputs([], [], PUBLISHED, tokens, {task: sampled / task for task in samples}), settings)


def test_sizes_of_a_small_study(tmp_path):
    """One line for each printed size, what explains it, and what each language lost."""
    folders = [
        tokens(tmp_path / "u", {"en.train": 8, "en.validation": 2, "en.test": 3, "de.test": 3}, unknown=1),
        tokens(tmp_path / "x", {"en.train": 351_340, "en.test": 4, "de.test": 4}, unknown=2, cut=1, tags=("", ""),
               label="neutral"),
        tokens(tmp_path / "w", {f"{code}.{split}": n for code, dev in (("en", 1), ("de", 0)) for split, n in
                                (("train", 7), ("validation", 1), ("dev", dev), ("test", 1))}, tags=("", "")),
    ]  # fmt: skip
    label, language = (Sampling(languages=("en", "de"), **cap) for cap in ({"sample_per_label": 2}, {"sample_per_language": 3}))
    samples = {
        task: Samples(
            encoder="e", tokenisation="r", unit=UNITS[task], labels=LABELS[task], corpora={key: label, "wiki": language}
        )
        for task, key in (("pos", "ud"), ("nli", "nli"))
    }
    made = counted({"ud": UDPOS, "nli": XNLI, "wiki": WIKIPEDIA}, samples, folders, tmp_path / "samples")
    assert_golden(made, "tanti2021/sizes")


def test_the_authors_own_paragraphs_have_their_splits(tmp_path):
    """No share, no number of paragraphs and no dump is named as a reason."""
    sizes = {
        f"{code}.{split}": number for code in ("en", "de") for split, number in (("train", 7), ("validation", 1), ("test", 1))
    }
    folder = tokens(tmp_path / "w", sizes, unknown=1, tags=("", ""))
    sampled = {
        "ud": Sampling(languages=("en",), sample_per_label=1),
        "wiki": Sampling(languages=("en", "de"), sample_per_language=1),
    }
    samples = {"pos": Samples(encoder="e", tokenisation="r", unit="word", labels=LABELS["pos"], corpora=sampled)}
    udpos = tokens(tmp_path / "u", {"en.test": 1})
    made = counted({"ud": UDPOS, "wiki": AUTHORS}, samples, [udpos, folder], tmp_path / "samples")
    lines = {(row.row, row.column, row.metric): row for row in made.itertuples()}
    train = lines["Wikipedia", "train", "paragraphs"]
    assert (train.here, train.published, train.remark) == (14, 115_500, "2 of 33 languages; 2 texts dropped for unknown subwords")
    assert lines["Wikipedia", "validation", "paragraphs"].remark == train.remark
    assert lines["Wikipedia, de", "all splits", "paragraphs"].remark == "25.0 % of the paragraphs read have unknown subwords"


def test_a_task_that_is_left_out():
    remarks = set(counted({}, {}, [])["remark"])
    assert remarks == {f"{name} is not configured" for name in ("UDPOS", "XNLI", "Wikipedia")}
