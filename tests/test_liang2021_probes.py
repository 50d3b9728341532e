"""liang2021: what probes read from language subspaces, on made-up states whose languages, features and genera are known."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import write_states
from crosslens.config.base import languages_table
from crosslens.encoding import stored_states as files
from crosslens.jobs import parquet
from crosslens.jobs.checksums import write_checksums
from crosslens.jobs.errors import DataError
from crosslens.measures import language_groups, language_identification, language_similarity, typology
from crosslens.measures.language_identification import language_pairs_of
from crosslens.measures.shared.coordinates import (
    Coordinates,
    held_out,
    held_out_texts,
    split_texts,
    split_words,
    subspaces,
    words_of_seeds,
)
from crosslens.measures.shared.subject import Subject
from crosslens.numerics import definitions as scores
from crosslens.numerics.streams import stream
from crosslens.numerics.windows import BAND, BEYOND, CONTIGUOUS, FIRST, FOLLOWING, SCATTERED, WINDOWS, Window, windows
from crosslens.papers.liang2021 import figures
from crosslens.papers.liang2021.names import RANDOM_GROUPS
from crosslens.papers.liang2021.probes import measures
from crosslens.papers.liang2021.recipes import recipes
from crosslens.papers.liang2021.tables_and_figures import items
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

WIDTH, TRAIN, TEST, TEXTS = 40, 600, 300, 10
GENERA = {f"{genus}{number}": genus for genus in "abcd" for number in range(3)}
FAMILY = {language: {"a": "one", "b": "one", "c": "two", "d": "three"}[genus] for language, genus in GENERA.items()}
SEEDS = (0, 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """States of two layers: unit variance everywhere, and means near those of genera, the second layer's three times as far."""
    generator = np.random.default_rng(0)
    root = tmp_path_factory.mktemp("states")
    genera = {genus: generator.normal(size=WIDTH) for genus in "abcd"}
    for language, genus in GENERA.items():
        mean = genera[genus] + 0.6 * generator.normal(size=WIDTH)
        states = generator.normal(size=(TRAIN + TEST, WIDTH))
        ids = [f"text{number % TEXTS}" for number in range(len(states))]
        columns = {"split": ["train"] * TRAIN + ["test"] * TEST, "sample": [False] * len(ids), "random": [True] * len(ids)}
        layers = {f"layer_{number}": states + scale * mean for number, scale in ((0, 0.3), (1, 1.0))}
        write_states(root / "text" / f"{language}.parquet", layers, ids, **columns)
    write_checksums(root)
    return root


@pytest.fixture(scope="module")
def given(folder, tmp_path_factory):
    """With a feature that a family decides, one that a genus decides, and one that is drawn."""
    drawn = np.random.default_rng(1).integers(1, 3, len(GENERA))
    rows = [
        {"language": language, "feature": feature, "value": int(value)}
        for number, (language, genus) in enumerate(GENERA.items())
        for feature, value in (("1A", 1 + (genus in "ac")), ("2A", 1 + (genus in "ab")), ("3A", drawn[number]), ("4A", 1))
    ]
    path = tmp_path_factory.mktemp("wals") / "typology.parquet"
    parquet.write(pa.Table.from_pylist(rows), path)
    return Subject(folder, 0, {}, path)


WINDOWED = {
    "corpus": "text", "methods": ["densray", "lda"], "seeds": SEEDS, "share": 0.5, "dimensions": [1, 4, 11, 18], "band": 4,
    "bands": [4, 12, 20], "draws": 3,
}  # fmt: skip


@pytest.fixture(scope="module")
def identified(given):
    rows = language_identification.measure(
        given, **WINDOWED, compared=["inlp", "lsar"], layer_dimension=2, pairs=30, rest_words=200, tolerance=1e-4
    )
    return pd.DataFrame(rows)


def value(records, **where):
    """Mean over seeds."""
    chosen = records[np.logical_and.reduce([records[name] == of for name, of in where.items()])]
    assert len(chosen) == len(SEEDS), where
    return chosen["value"].mean()


@pytest.mark.parametrize("method", ["densray", "lda"])
def test_languages_are_told_by_the_first_n_minus_1_directions_and_not_by_the_next(identified, method):
    own = identified[(identified["layer"] == 1) & (identified["subspace"] == method)]
    at = {(kind, x): value(own, definition=scores.PAIRS, window=kind, x=x)
          for kind in (FIRST, FOLLOWING, SCATTERED, CONTIGUOUS) for x in (1, 4, 11, 18)}  # fmt: skip
    assert at[FIRST, 1] < at[FIRST, 4] < at[FIRST, 11] and at[FIRST, 11] > 0.95
    assert abs(at[FIRST, 18] - at[FIRST, 11]) < 0.02  # saturated: n - 1 = 11
    assert at[FOLLOWING, 1] > 0.6 and at[FOLLOWING, 4] > 0.7  # where the first ones leave some
    # What is orthogonal to LDA's filters is not to the means, unlike what is orthogonal to DensRay's directions.
    near = 0.06 if method == "densray" else 0.15
    assert abs(at[FOLLOWING, 11] - 0.5) < near and at[SCATTERED, 11] - at[FOLLOWING, 11] > 0.06
    assert abs(at[CONTIGUOUS, 11] - 0.5) < near  # the released code's "random" never has the first ones
    bands = [value(own, definition=scores.PAIRS, window=BAND, x=x) for x in (4, 12, 20)]
    assert bands[0] > bands[1] > bands[2] and abs(bands[2] - 0.5) < near
    shuffled = own[own["definition"] == scores.PAIRS_SHUFFLED]
    assert set(shuffled["x"]) == {1, 4, 11, 18} and (abs(shuffled["value"] - 0.5) < 0.08).all()
    rest = [value(own, definition=scores.ONE_AGAINST_REST, window=FIRST, x=x) for x in (1, 11)]
    assert rest[0] < 0.4 and rest[1] > 0.8
    other = {kind: value(own, definition=scores.PAIRS_TEXTS, window=kind, x=11) for kind in (FIRST, FOLLOWING, SCATTERED)}
    assert other[FIRST] > 0.95 and other[SCATTERED] - other[FOLLOWING] > 0.06
    assert own["converged"].all()


def test_other_methods_are_compared_by_their_first_directions(identified):
    for method in ("inlp", "lsar"):
        own = identified[identified["subspace"] == method]
        assert set(own["layer"]) == {1} and set(own["window"]) == {FIRST}
        assert value(own, definition=scores.PAIRS, x=11) > 0.95


def test_fits_and_draws_spread_apart(identified):
    """With one fit the first seed's subspace stays, with one draw its pairs and words: the first seed's values are the same."""
    own = identified[(identified["layer"] == 1) & (identified["subspace"] == "densray") & (identified["window"] == FIRST)]
    tables = {name: own[own["definition"] == name].set_index(["seed", "x"])["value"]
              for name in (scores.PAIRS, scores.PAIRS_ONE_FIT, scores.PAIRS_ONE_DRAW)}  # fmt: skip
    whole, one_fit, one_draw = (tables[name].loc[:, [1, 4, 11, 18]] for name in tables)
    assert np.allclose(whole[0], one_fit[0], atol=0.01) and np.allclose(whole[0], one_draw[0], atol=0.01)
    assert not np.allclose(whole[1], one_fit[1]) and not np.allclose(whole[1], one_draw[1])
    text = figures.spread(identified[identified["layer"] == 1].assign(recipe="r"), "r", "densray")
    assert f"mean over x: {100 * whole.groupby('x').std().mean():.2f} points" in text


def test_lower_layers_are_read_by_few_directions(identified):
    own = identified[(identified["layer"] == 0) & (identified["subspace"] == "densray")]
    assert set(own["window"]) == {FIRST, SCATTERED} and set(own["x"]) == {2}
    last = identified[(identified["layer"] == 1) & (identified["definition"] == scores.PAIRS)]
    assert value(own, window=FIRST, x=2) < value(last, subspace="densray", window=FIRST, x=2)
    assert value(own, window=FIRST, x=2) > value(own, window=SCATTERED, x=2)


def test_subspaces_are_fitted_on_a_share_of_words_that_no_probe_sees(folder):
    paths = {path.stem: path for path in sorted((folder / "text").glob("*.parquet"))}
    fits = subspaces(paths, 1, ["densray"], words_of_seeds(paths, "train", SEEDS, 0.5), 0.5)
    assert not np.allclose(fits[0]["densray"].basis[:, 0], fits[1]["densray"].basis[:, 0])
    alone = subspaces(paths, 1, ["densray"], words_of_seeds(paths, "train", [1], 0.5), 0.5)
    assert np.array_equal(alone[1]["densray"].basis, fits[1]["densray"].basis)  # whatever other seeds there are
    states = held_out(paths, 1, words_of_seeds(paths, "test", SEEDS, 0.5))[0]
    train, test = split_words(states, 0)
    assert {(len(train[name]), len(test[name])) for name in states} == {(240, 60)}
    for name in states:
        rows = {tuple(row) for row in np.concatenate([train[name], test[name]])}
        assert rows == {tuple(row) for row in states[name]}
    few = split_words(states, 0, 50)
    assert {(len(few[0][name]), len(few[1][name])) for name in states} == {(40, 10)}
    assert language_pairs_of(states, 7, 3) == language_pairs_of(list(states), 7, 3) != language_pairs_of(states, 7, 4)
    assert len(set(language_pairs_of(states, 10**6, 0))) == 12 * 11 // 2


def test_without_a_share_no_two_seeds_read_the_same_text(folder):
    paths = {path.stem: path for path in sorted((folder / "text").glob("*.parquet"))}
    fit_words, test_words = (words_of_seeds(paths, split, SEEDS, None) for split in ("train", "test"))
    states, texts = held_out(paths, 1, test_words), held_out_texts(paths, test_words)
    for language, path in paths.items():
        of_seeds = [set(texts[seed][language]) for seed in SEEDS]
        assert set.union(*of_seeds) == set(files.read_random_texts(path, "test"))
        assert sum(map(len, of_seeds)) == TEXTS and max(map(len, of_seeds)) - min(map(len, of_seeds)) <= 1
        whole = {tuple(row) for row in files.read_random(path, 1, "test")}
        assert {tuple(row) for seed in SEEDS for row in states[seed][language]} == whole
        assert all(len(states[seed][language]) == len(texts[seed][language]) for seed in SEEDS)
    fits = subspaces(paths, 1, ["densray"], fit_words, None)
    for seed in SEEDS:
        subspace = fits[seed]["densray"]
        words = [files.read_random(path, 1, "train")[fit_words[seed][name]] for name, path in paths.items()]
        assert np.allclose(subspace.centre, np.mean([vectors.mean(0, dtype=float) for vectors in words], axis=0), atol=1e-5)
    with pytest.raises(DataError, match="expected a test text for each of 100 seeds"):
        words_of_seeds(paths, "test", range(100), None)


def test_languages_with_a_single_text_are_not_split_by_text(folder):
    states = {"a": np.ones((4, 2)), "b": np.ones((4, 2))}
    train, test = split_texts(states, {"a": np.array(["x"] * 4), "b": np.array(["x", "x", "y", "y"])}, 0)
    assert [*train] == [*test] == ["b"]


def test_texts_are_held_out_whole(folder):
    paths = {path.stem: path for path in sorted((folder / "text").glob("*.parquet"))}
    states = held_out(paths, 1, words_of_seeds(paths, "test", SEEDS, 0.5))[0]
    texts = held_out_texts(paths, words_of_seeds(paths, "test", SEEDS, 0.5))[0]
    assert all(len(texts[language]) == TEST and len(set(texts[language])) == TEXTS for language in states)
    train, test = split_texts(states, texts, 0)
    for language, vectors in states.items():
        text_of = {tuple(row): text for row, text in zip(vectors, texts[language], strict=True)}
        seen, unseen = ({text_of[tuple(row)] for row in part[language]} for part in (train, test))
        assert not seen & unseen and (len(seen), len(unseen)) == (8, 2)
        assert len(train[language]) + len(test[language]) == TEST


def test_windows():
    made = {kind: windows([kind], [1, 10, 30], 40, 11, size=10, draws=50, seed=0) for kind in WINDOWS}
    assert [window.draws[0].tolist() for window in made[FIRST]] == [list(range(x)) for x in (1, 10, 30)]
    assert [window.draws[0].tolist() for window in made[FOLLOWING]] == [[1], list(range(10, 20)), list(range(30, 40))]
    assert [window.draws[0].tolist() for window in made[BAND]] == [list(range(10)), list(range(20, 30))]
    (one, ten) = made[CONTIGUOUS]  # of 30 none that starts after the first 30 has room
    assert min(draw[0] for draw in ten.draws) >= 10 and max(draw[-1] for draw in ten.draws) <= 39 and len(ten.draws) == 50
    assert all((np.diff(draw) == 1).all() and len(draw) == 10 for draw in ten.draws)
    assert min(draw[0] for draw in one.draws) >= 1 and all(len(draw) == 1 for draw in one.draws)
    (beyond,) = made[BEYOND]
    assert beyond.x == 10 and min(draw[0] for draw in beyond.draws) >= 11 and max(draw[-1] for draw in beyond.draws) <= 39
    assert all(len(set(draw.tolist())) == window.x for window in made[SCATTERED] for draw in window.draws)
    assert min(draw[0] for draw in made[SCATTERED][1].draws) == 0
    again = windows([SCATTERED], [10], 40, 11, size=10, draws=50, seed=0)[0]
    assert all(np.array_equal(a, b) for a, b in zip(again.draws, made[SCATTERED][1].draws, strict=True))


# Typology.


@pytest.fixture(scope="module")
def told(given):
    rows = typology.measure(
        given, **WINDOWED, typology="wals", family=FAMILY, features=None, words=100, held_out_words=100, folds=3,
        layer_dimension=4, tolerance=1e-4, multinomial=False,
    )  # fmt: skip
    return pd.DataFrame(rows)


def test_features_are_learnt_by_learning_languages(told):
    """Of the same languages shuffled values are told as well as true ones; of families that are held out neither is."""
    own = told[(told["layer"] == 1) & (told["subspace"] == "densray") & (told["window"] == FIRST)]
    same, mixed = (value(own, definition=name, x=11) for name in (scores.FEATURES, scores.FEATURES_SHUFFLED))
    held = value(own, definition=scores.FEATURES_HELD_OUT, x=11)
    levels = told[(told["layer"] == 1) & (told["definition"] == scores.FEATURES_MAJORITY)].drop_duplicates("seed")
    majority = value(levels, definition=scores.FEATURES_MAJORITY)
    assert min(same, mixed) > 0.85 > 0.75 > max(held, majority)
    assert set(told["n"]) == {3}  # 4A has one value
    assert set(told[told["definition"] == scores.FEATURES_HELD_OUT]["window"]) == {FIRST, SCATTERED}


@pytest.mark.parametrize("multinomial", [False, True])
def test_micro_f1_is_scikit_learns(folder, multinomial):
    """Features of two and three values, in the split of words and with families held out, against both of its defaults."""
    paths = {path.stem: path for path in sorted((folder / "text").glob("*.parquet"))}
    subspace = subspaces(paths, 1, ["densray"], words_of_seeds(paths, "train", [0], 1.0), 1.0)[0]["densray"]
    train, test = split_words(held_out(paths, 1, words_of_seeds(paths, "test", [0], 1.0))[0], 0, 100)
    shown = [Window(FIRST, 3, (np.arange(3),)), Window(SCATTERED, 2, (np.array([0, 5]), np.array([2, 4])))]
    read = Coordinates.of(subspace, train, test, shown)
    values = {language: 1 + number % 3 for number, language in enumerate(GENERA)}
    known = {"1A": values, "2A": {language: value for language, value in values.items() if value < 3}}
    for parts in (None, typology.folds_of(train, FAMILY, 3, 0)):
        found = typology.micro_f1(read, known, parts, 1e-6, multinomial=multinomial)
        assert found.values.shape == (2, 3) and found.gradient <= 1e-6
        for row, name in enumerate(known):
            for place, draw in enumerate(read.columns):
                right = total = 0
                for part in parts or [[]]:
                    inside = [language for language in known[name] if language not in part]
                    asked = [language for language in known[name] if language in part] if parts else inside
                    asked = [language for language in asked if known[name][language] in {known[name][one] for one in inside}]
                    if not asked:
                        continue
                    x, y = (np.concatenate([part[language][:, draw] for language in names]).astype(float)
                            for part, names in ((read.train, inside), (read.test, asked)))  # fmt: skip
                    gold = np.repeat(
                        [known[name][language] for language in asked], [len(read.test[language]) for language in asked]
                    )
                    classes = np.repeat([known[name][one] for one in inside], [len(read.train[one]) for one in inside])
                    model = LogisticRegression(tol=1e-8, solver="newton-cholesky")  # lbfgs ends before it has converged
                    model = (model if multinomial else OneVsRestClassifier(model)).fit(x, classes)
                    right, total = right + (model.predict(y) == gold).sum(), total + len(gold)
                assert found.values[row, place] == pytest.approx(right / total, abs=0.002)


def test_families_are_held_out_whole_and_each_language_once():
    for seed in range(5):
        parts = typology.folds_of(list(GENERA), FAMILY, 2, seed)
        assert sorted(sum(parts, [])) == sorted(GENERA) and len(parts) == 2
        assert all(len({number for number, part in enumerate(parts) for language in part if FAMILY[language] == family}) == 1
                   for family in set(FAMILY.values()))  # fmt: skip
        assert [len(part) for part in parts] == [6, 6]
    assert len(typology.folds_of(list(GENERA), FAMILY, 9, 0)) == 3


def test_the_most_frequent_value_is_that_of_the_other_languages():
    known = {"1A": {"a0": 1, "a1": 1, "a2": 1, "c0": 2, "c1": 1, "d0": 3}}
    parts = [["a0", "a1", "a2"], ["c0", "c1"], ["d0"]]
    # Held out: three of value 1, of which the rest has one as it has of 2 and 3, the lowest wins; c1, of value 1;
    # values of c0 and d0 nobody else has.
    assert typology.majority(known, parts).tolist() == [1.0]
    assert typology.majority({"1A": {"a0": 2, "a1": 1, "c0": 2, "d0": 2}}, parts).tolist() == [1.0]  # a's rest has one value
    assert typology.majority({"1A": {"a0": 1, "c0": 2}}, parts).tolist() == []
    seen = typology.shuffled(known, 0)
    assert sorted(seen["1A"].values()) == [1, 1, 1, 1, 2, 3] and seen != typology.shuffled(known, 1)


# Similarity.


def test_clusters_agree_with_genera(given):
    rows = language_similarity.measure(
        given, **WINDOWED, classes={"genus": GENERA, "family": FAMILY}, layer_dimension=4, shuffles=20
    )
    found = pd.DataFrame(rows)
    own = found[(found["layer"] == 1) & (found["subspace"] == "densray") & (found["item"] == "genus")]
    first = own[(own["window"] == FIRST) & (own["x"] == 4)]
    chance = value(first, definition=scores.V_CHANCE)
    assert value(first, definition=scores.V_CENTRED) > chance + 0.3 and 0.2 < chance < 0.8  # no correction for chance
    beyond = own[own["window"] == BEYOND]
    assert value(beyond, definition=scores.V_CENTRED) < value(first, definition=scores.V_CENTRED)
    assert value(beyond, definition=scores.AMI_CENTRED) < value(beyond, definition=scores.V_CENTRED) - 0.2
    # As the released code has it: single linkage, cosine, on coordinates that are not centred (LS_figure1n3.py, lines 17-25).
    paths = {path.stem: path for path in sorted((given.folder / "text").glob("*.parquet"))}
    subspace = subspaces(paths, 1, ["densray"], words_of_seeds(paths, "train", SEEDS, 0.5), 0.5)[0]["densray"]
    means = np.array(
        [vectors.mean(0, dtype=float) for vectors in held_out(paths, 1, words_of_seeds(paths, "test", SEEDS, 0.5))[0].values()]
    )
    for centred, name in ((False, scores.V_UNCENTRED), (True, scores.V_CENTRED)):
        points = (means - subspace.centre * centred) @ subspace.basis[:, :4]
        clusters = fcluster(linkage(points, method="single", metric="cosine"), 4, criterion="maxclust")
        expected = language_similarity.v_measure_score([GENERA[language] for language in paths], clusters)
        row = first[(first["definition"] == name) & (first["seed"] == 0)]
        assert row["value"].item() == pytest.approx(expected)
    assert 1 not in set(found["x"]) and set(found[found["window"] == FIRST]["x"]) == {4, 11, 18}  # of one coordinate only ties
    alone = {"a": "x", "b": "y", "c": "x", "eo": "", "vo": ""}
    assert language_similarity.with_company(alone) == {"a": "x", "c": "x"}


def test_groups_have_subspaces_of_their_own(given):
    groups = {"a and b": [name for name, genus in GENERA.items() if genus in "ab"]}
    rows = language_groups.measure(
        given, corpus="text", groups=groups, random=RANDOM_GROUPS, size=4, method="densray", seeds=SEEDS, share=1.0,
        bands=[2, 3, 9], draws=3, tolerance=1e-4,
    )  # fmt: skip
    found = pd.DataFrame(rows)
    assert set(found["item"]) == {"a and b", RANDOM_GROUPS} and set(found["n"]) == {15, 6}
    for name in set(found["item"]):
        own = found[found["item"] == name]
        assert value(own, window=BAND, x=2) > 0.8 > 0.58 > value(own, window=BAND, x=9)


def test_random_groups_draw_the_words_that_named_groups_of_the_same_languages_draw(given):
    options = {"corpus": "text", "size": 4, "method": "densray", "share": 0.5, "bands": [2, 3], "draws": 3, "tolerance": 1e-4}
    order = np.random.default_rng(stream(7, "languages")).permutation(sorted(GENERA))
    rows = language_groups.measure(
        given, groups={"named": sorted(map(str, order[:4]))}, random=RANDOM_GROUPS, seeds=[7], **options
    )
    named, drawn = (found.drop(columns="item").reset_index(drop=True) for _, found in pd.DataFrame(rows).groupby("item"))
    assert len(named) > 2
    pd.testing.assert_frame_equal(named, drawn)


# Figures.


def test_items_ask_for_the_measures_of_both_encoders(config):
    shown, made = items(config), recipes(config)
    assert {need.recipe for need in shown["figure3"].needs} == {
        "liang2021/pretrained/mbert", "liang2021/pretrained/xlmr", "liang2021/untrained/mbert"
    }  # fmt: skip
    assert {need.recipe for need in shown["figure1"].needs} == {"liang2021/pretrained/mbert"}
    assert {need.recipe for need in shown["figure1_appendix"].needs} == {"liang2021/pretrained/xlmr"}
    settings = measures(made["liang2021/pretrained/mbert"], config)
    groups = settings["language_groups"]["groups"]
    assert [len(languages) for languages in groups.values()] == [9, 10, 10] and "vi" not in groups["Austronesian"]
    assert {languages_table()[code]["family"] for code in groups["Austronesian"]} == {"Austronesian"}
    assert settings["language_identification"]["compared"] and not measures(made["liang2021/pretrained/xlmr"], config)[
        "language_identification"]["compared"]  # fmt: skip


def test_figures_show_what_was_measured(identified, told, given):
    similar = pd.DataFrame(language_similarity.measure(
        given, **WINDOWED, classes={"genus": GENERA, "family": FAMILY}, layer_dimension=4, shuffles=3
    ))  # fmt: skip
    records = pd.concat([table.assign(recipe="r") for table in (identified, told, similar)])
    settings = {
        "encoders": {"r": "tiny"}, "untrained": {"r": "u"}, "compared": ["inlp", "lsar"],
        "methods": ["densray", "lda"], "band": 4,
        "layer_dimensions": {"language_identification": 2, "typology": 4, "language_similarity": 4},
    }  # fmt: skip

    def of_densray(table, **places):
        own = table[(table["layer"] == 1) & (table["subspace"] == "densray")]
        return own[np.logical_and.reduce([own[name] == of for name, of in places.items()])]

    by_dimension = figures.by_dimension(records, settings).axes
    pairs = of_densray(identified, definition=scores.PAIRS)
    genera = of_densray(similar, definition=scores.V_CENTRED, item="genus")
    level = value(pairs, window=SCATTERED, x=4)
    for axis, expected in (
        (by_dimension[0], {x: value(pairs, window=FIRST, x=x) for x in (1, 2, 4, 11, 18)}),
        (by_dimension[-2], {x: value(genera, window=FIRST, x=x) for x in (4, 11, 18)}),
        (figures.by_band(records, settings).axes[0], {x: value(pairs, window=BAND, x=x) - level for x in (4, 12, 20)}),
    ):
        line = axis.get_lines()[0]
        assert dict(zip(line.get_xdata(), line.get_ydata(), strict=True)) == pytest.approx(expected)
    assert figures.by_layer(records, settings).axes[0].get_lines()[0].get_xdata().tolist() == [0, 1]
    names = [text.get_text() for text in figures.of_methods(records, settings).legends[0].get_texts()]
    assert names == ["DensRay", "LDA", "INLP", "LSAR", "random directions"]
