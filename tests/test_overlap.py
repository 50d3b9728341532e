"""Overlap of subwords and correlation over languages, against plain computations; wu2019's table and figure of them."""

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from crosslens.config.tokenisations import Tokenisation
from crosslens.corpora.schema import TYPOLOGY, write
from crosslens.encoding.encoders import folder as folders
from crosslens.encoding.encoders import packaged
from crosslens.encoding.encoders.folder import Description
from crosslens.encoding.tokens.counts import Counts, Vocabulary
from crosslens.encoding.tokens.tokenise import load_tokenizer, write_tokens
from crosslens.jobs.checksums import write_checksums
from crosslens.numerics.correlation import over_languages, partial
from crosslens.numerics.estimates import correlation
from crosslens.papers.configuration import load
from crosslens.papers.inputs import Inputs
from crosslens.papers.wu2019 import figure3, overlap
from crosslens.papers.wu2019.names import DEFINITIONS, TASKS
from crosslens.papers.wu2019.overlap import ALL, TOKEN, TYPE, WORDS, Texts, by_token, by_type, distance, of_words
from crosslens.papers.wu2019.scores import ZERO_SHOT, printed_scores
from crosslens.papers.wu2019.tables_and_figures import items
from crosslens.reports.cells import Published, where
from goldens import assert_golden
from scipy import stats
from sklearn.linear_model import LinearRegression
from transformers import AutoTokenizer

PUBLISHED = Published.read(Path(__file__).parents[1] / "resources/published/wu2019.csv")


def test_overlap_of_multisets():
    generator = np.random.default_rng(0)
    for size in (1, 5, 40):
        train, test = (generator.poisson(0.7, size) for _ in range(2))
        test[0] += 1
        ours, theirs = (Counter(np.repeat(np.arange(size), counts).tolist()) for counts in (train, test))
        assert by_type(train, test) == pytest.approx(len(ours.keys() & theirs.keys()) / len(theirs))
        assert by_token(train, test) == pytest.approx(np.mean([subword in ours for subword in theirs.elements()]))
    assert np.isnan([by_type(train, 0 * test), by_token(train, 0 * test)]).all()


def test_subwords_of_words():
    kept = ["the", "##ing", "▁der", "Ġand", "a1", "ün", "नम", "##ो।क"]
    left = ["1984", "##99", "a", "##s", "▁a", "字", "...", "##-", "▁", "", "€5", "##", "Ġ"]
    assert of_words([*kept, *left]).tolist() == [True] * len(kept) + [False] * len(left)


def test_distance_counts_features_of_both():
    assert distance({"1A": 1, "2A": 2, "3A": 3}, {"1A": 1, "2A": 1, "4A": 1}) == (0.5, 2)
    assert distance({"1A": 1}, {"1A": 1}) == (0.0, 1)
    assert np.isnan(distance({"1A": 1}, {})[0])


@pytest.mark.parametrize("ranks", [False, True])
@pytest.mark.parametrize("n", [4, 9, 30])
def test_correlation_over_languages_is_scipys_with_the_interval_and_p_of_claims(n, ranks):
    x, y = np.random.default_rng(n).normal(size=(2, n))
    families = [f"family {number // 2}" for number in range(n)]
    found, claimed = over_languages(x, y, families, ranks=ranks), correlation(x, y, ranks=ranks, families=families)
    assert (found.r, found.n) == (pytest.approx((stats.spearmanr if ranks else stats.pearsonr)(x, y).statistic), n)
    expected = [*claimed.interval()[1:], claimed.p(0.0)] if n >= 8 else [np.nan] * 3
    assert np.allclose([found.low, found.high, found.p], expected, equal_nan=True)


@pytest.mark.parametrize(("n", "count"), [(6, 1), (12, 3), (40, 4)])
def test_partial_correlation_is_that_of_residuals(n, count):
    generator = np.random.default_rng(n)
    covariates = generator.normal(size=(n, count))
    x, y = generator.normal(size=(2, n)) + covariates @ generator.normal(size=count)
    rest = [values - LinearRegression().fit(covariates, values).predict(covariates) for values in (x, y)]
    r = stats.pearsonr(*rest).statistic
    p = 2 * stats.t.sf(abs(r) * np.sqrt((n - 2 - count) / (1 - r * r)), n - 2 - count)
    found = partial(x, y, covariates)
    assert (found.r, found.p) == (pytest.approx(r), pytest.approx(p))
    assert np.isnan([found.low, found.high]).all()  # resamples have fewer languages, and covariates explain more of them
    # The inverse of the correlation matrix has it too, and combinations of covariates take no degree of freedom.
    precision = np.linalg.inv(np.corrcoef(np.vstack([x, y, covariates.T])))
    assert found.r == pytest.approx(-precision[0, 1] / np.sqrt(precision[0, 0] * precision[1, 1]))
    again = partial(x, y, np.column_stack([covariates, covariates.sum(1), np.ones(n)]))
    assert (again.r, again.p) == (pytest.approx(r), pytest.approx(p))


def test_correlations_without_a_value():
    x, y, alone = np.arange(4.0), np.array([1.0, 3.0, 2.0, 5.0]), ["a", "b", "c", "d"]
    for found, remark in (
        (over_languages(x[:2], y[:2], alone[:2]), "2 languages, at least 4"),
        (over_languages(x[:0], y[:0], []), "0 languages, at least 4"),
        (over_languages(x, np.ones(4), alone), "undefined: one of the two does not vary"),
        (partial(x, y, np.array([[0, 1], [1, 1], [1, 0], [0, 0]])), "4 languages given 2 covariates, at least 5"),
        (partial(x, y, x[:, None]), "nothing varies beside the covariates"),
    ):
        assert np.isnan([found.r, found.low, found.high, found.p]).all() and remark in found.remark


def test_overlap_needs_no_weights_and_has_corpora_of_its_own(values):
    published = load(values)
    made = items(published)["overlap"]
    assert (made.encoder, made.tokenisation, made.typology, made.needs) == ("mbert-vocabulary", "uncut", "wals", ())
    assert made.settings["trains"] == {"topic": "mldoc", "nli": "xnli_translated", "ner": "conll2003", "pos": "wu2019_tagging",
                                       "parsing": "wu2019_parsing"}  # fmt: skip
    assert {task: len(tests) for task, tests in made.settings["tests"].items()} == {
        "topic": 8, "nli": 15, "ner": 5, "pos": 15, "parsing": 31,
    }  # fmt: skip
    changed = {"corpora": {"topic": None, "pos": ["pud", "muller2021_ud"]}, "typology": None}
    made = items(load(changed_overlap(values, changed)))["overlap"]
    assert made.settings["trains"]["pos"] == "muller2021_ud" and made.typology is None
    assert made.settings["tests"]["pos"]["sl"] == "muller2021_ud" and made.settings["tests"]["pos"]["de"] == "pud"
    assert list(made.settings["tests"]) == ["nli", "ner", "pos", "parsing"]
    without = items(load(values | {"papers": values["papers"] | {"wu2019": values["papers"]["wu2019"] | {"overlap": None}}}))
    assert not {"overlap", "figure3"} & set(without)


def changed_overlap(values, change):
    study = values["papers"]["wu2019"]
    return values | {"papers": values["papers"] | {"wu2019": study | {"overlap": study["overlap"] | change}}}


def test_printed_scores():
    count = {task: {metric: len(scores) for metric, scores in printed_scores(PUBLISHED, task).items()} for task in TASKS}
    assert count == {
        "topic": {"accuracy": 8}, "nli": {"accuracy": 15}, "ner": {"F1": 5}, "pos": {"accuracy": 15},
        "parsing": {"LAS": 31, "UAS": 31},
    }  # fmt: skip
    parsing = printed_scores(PUBLISHED, "parsing")
    assert parsing["LAS"]["zh"] == PUBLISHED.value("table6", "zh*", "mBERT(Z)", "LAS")
    assert parsing["UAS"]["en"] == PUBLISHED.value("table6", "en", "mBERT(Z)", "UAS")
    assert printed_scores(PUBLISHED, "nli")["accuracy"]["de"] == PUBLISHED.value("table3", ZERO_SHOT, "de")


# Of texts: the synthetic corpus's sentences with a random encoder's vocabulary.

FACTS = {
    "de": {"name": "German", "family": "Indo-European", "genus": "Germanic", "script": "Latn"},
    "en": {"name": "English", "family": "Indo-European", "genus": "Germanic", "script": "Latn"},
    "zh": {"name": "Chinese", "family": "Sino-Tibetan", "genus": "Chinese", "script": "Hans"},
}


@pytest.fixture(scope="module")
def inputs(corpora, encoder_folder, tmp_path_factory) -> Inputs:
    """The item's inputs: tokens of test sets and of English training data, and values of three features."""
    folder = tmp_path_factory.mktemp("overlap")
    tokenisation = Tokenisation(maximum=512, drop_unknown=False)
    for name in ("de.test", "en.test", "zh.test", "en.train"):
        write_tokens(
            load_tokenizer(encoder_folder),
            corpora / f"sentences/{name}.parquet",
            folder / f"{name}.parquet",
            tokenisation,
            name[3:],
        )
    values = [("de", "1A", 1), ("de", "2A", 1), ("en", "1A", 1), ("en", "2A", 2), ("zh", "1A", 3)]
    rows = [
        {"language": language, "wals": "", "genus": "", "family": "", "feature": name, "name": "", "value": value, "label": ""}
        for language, name, value in values
    ]
    write(pa.Table.from_pylist(rows, TYPOLOGY), folder / "typology.parquet", TYPOLOGY, {})
    return Inputs([], [], PUBLISHED, {"sentences": folder}, {}, encoder_folder, folder / "typology.parquet")


TEXTS = Texts("en", {"pos": "sentences"}, {"pos": dict.fromkeys(FACTS, "sentences")}, FACTS)


def test_counts_are_those_of_the_tokenizer(inputs, corpora, encoder_folder, tmp_path):
    tokenizer = AutoTokenizer.from_pretrained(encoder_folder)
    vocabulary = Vocabulary.read(encoder_folder)
    assert vocabulary.subwords == tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    unigram = Description({}, packaged._tokenizer_json([*((name, 0.0) for name in packaged.SPECIALS), ("▁a", -1.0)], {}), {})
    folders.write(unigram, tmp_path)
    write_checksums(tmp_path)
    assert Vocabulary.read(tmp_path) == Vocabulary([*packaged.SPECIALS, "▁a"], [0, 1, 2, 4], 3)
    forms = pq.read_table(corpora / "sentences/de.test.parquet")["forms"].to_pylist()
    counted = Counter(number for words in forms for number in tokenizer(words, is_split_into_words=True).input_ids)
    for name in ("[CLS]", "[SEP]"):
        del counted[tokenizer.convert_tokens_to_ids(name)]
    assert counted.total() == Counts.read(inputs.tokens["sentences"] / "de.test.parquet", vocabulary).subwords
    found = Counts.read(inputs.tokens["sentences"] / "de.test.parquet", vocabulary)
    assert found.unknown == counted.pop(tokenizer.unk_token_id, 0)
    assert {number: count for number, count in enumerate(found.known) if count} == counted
    assert (found.words, found.cut_texts) == (sum(map(len, forms)), 0)


def test_table(inputs):
    table = overlap.table("overlap", inputs, TEXTS._asdict())
    measured = where(overlap.overlaps(inputs, TEXTS), definition=ALL).set_index("language")
    of_languages = table[~table["row"].str.contains(",")]
    assert {tuple(line) for line in of_languages[["metric", "definition"]].to_numpy()} == {
        *((metric, definition) for metric in (TYPE, TOKEN) for definition in (ALL, WORDS)),
        ("fertility", ""), ("unknown subwords", ""), ("typological distance", ""),
    }  # fmt: skip
    assert set(of_languages["row"]) == set(FACTS)
    line = where(table, row="de", metric=TOKEN, definition=ALL).iloc[0]
    assert (line["here"], line["n"]) == (round(100 * measured.loc["de", TOKEN], 2), measured.loc["de", "tokens"])
    distances = where(table, metric="typological distance").set_index("row")
    assert distances["here"].to_dict() == {"de": 0.5, "en": 0.0, "zh": 1.0} and distances["n"].to_dict() == {
        "de": 2,
        "en": 2,
        "zh": 1,
    }
    # Of three languages two have a printed score of tagging; zh has none.
    found = table[table["row"].str.contains(",")]
    assert set(found["n"]) == {1, 2} and found["here"].isna().all() and found["remark"].str.startswith("undefined").all()
    assert set(found["row"]) == {"type overlap, accuracy", "token overlap, accuracy"}


def test_correlations_with_printed_scores(inputs):
    """Of made-up overlaps in the languages of table 6."""
    scores, generator = printed_scores(PUBLISHED, "parsing"), np.random.default_rng(0)
    codes, rows = [*scores["LAS"], "th"], []
    for code in codes:
        for definition in (ALL, WORDS):
            drawn = dict(zip((TYPE, TOKEN, "fertility"), generator.uniform(size=3), strict=True))
            rows.append({"task": "parsing", "language": code, "definition": definition} | drawn)
    measured = pd.DataFrame(rows)
    facts = {code: {"family": "Indo-European", "genus": "Slavic", "script": "Latn"} for code in codes}
    for number, code in enumerate(codes):
        facts[code]["family"] = "Uralic" if number % 3 else "Indo-European"
        facts[code]["script"] = "Latn" if number % 2 else "Cyrl"
    distances = {code: (0.1 * number, 5) for number, code in enumerate(codes)}
    lines = overlap._correlations(measured, "UAS", scores["UAS"], distances, Texts("en", {}, {}, facts))
    assert_golden(pd.DataFrame(lines), "wu2019/correlations")


def test_figure_3(inputs):
    values = {"de": 0.5, "en": 0.9, "zh": 0.2, "fr": 0.7}  # of French there is no overlap
    records = pd.DataFrame([
        {"recipe": "wu2019/pos/en/full", "split": "test", "definition": DEFINITIONS["pos"], "language": code, "seed": seed,
         "value": value}
        for code, value in values.items() for seed in (0, 1)
    ])  # fmt: skip
    measured = where(overlap.overlaps(inputs, TEXTS), definition=ALL)
    figure = figure3.figure_of(measured, records, {"pos": "wu2019/pos/en/full"}, TEXTS)
    shown = [axis for axis in figure.axes if axis.get_title(loc="left")]
    assert len(shown) == 2
    for axis, column in zip(shown, (TYPE, TOKEN), strict=True):
        offsets = {tuple(np.round(collection.get_offsets()[0], 6)) for collection in axis.collections}
        expected = {(100 * measured.set_index("language").loc[code, column], 100 * values[code]) for code in FACTS}
        assert offsets == {tuple(np.round(point, 6)) for point in expected}
        hollow = [collection for collection in axis.collections if not len(collection.get_facecolor())]
        assert [collection.get_offsets()[0][1] for collection in hollow] == [90.0]
        assert axis.get_title(loc="left").endswith("n = 2, too few for r")
        assert max(*axis.get_xlim(), *axis.get_ylim()) <= 100
