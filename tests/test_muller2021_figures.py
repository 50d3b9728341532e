"""muller2021: figures 1 to 8 of made-up records."""

import numpy as np
import pandas as pd
import pytest
from crosslens.jobs.errors import DataError
from crosslens.jobs.records import RECORDS
from crosslens.measures.shared.cka import HEADINGS
from crosslens.papers.muller2021.correlation import spearman_by_layer
from crosslens.papers.muller2021.figures import correlations, similarities
from crosslens.papers.muller2021.names import TARGETS, Study
from crosslens.reports.figures.curves import Curve, panels
from crosslens.reports.figures.save import save
from matplotlib.colors import to_hex, to_rgb

pytestmark = pytest.mark.long

NAMES = {"fr": "French", "de": "German", "tr": "Turkish", "id": "Indonesian", "ar": "Arabic", "es": "Spanish", "ru": "Russian"}
METRICS = {"parsing": "LAS", "pos": "accuracy", "ner": "F1"}
PRETRAINED, UNTRAINED = "muller2021/pretrained", "muller2021/untrained"
DEFINITIONS = ("debiased", "debiased_length_out", "as_printed", "released_kernel", "linear")
BLOCKS = 4
FIGURES = [f"figure{number}" for number in range(1, 9)]
COLUMN = {definition: number for number, definition in enumerate(DEFINITIONS)}


def study(names):
    """Of these parallel languages."""
    corpora = {corpus: [*names] for corpus in ("translations", "treebanks", "entities")}
    return Study(sources=["en"], own={"parsing": "treebanks", "pos": "treebanks", "ner": "entities"}, parallel="translations",
                 domains={}, languages=corpora, names=names, with_subtypes="LAS with subtypes")  # fmt: skip


def figure(name, records, names=NAMES, layers=("1-2",)):
    if name == "figure3":
        return correlations(records, study(names))
    return similarities(name, records, study(names), layers)


def tuned(task, layers="ref"):
    return f"muller2021/{task}/en/{layers}"


def made(seeds=(0, 1, 2), languages=tuple(NAMES), tasks=tuple(METRICS), sets=("init1-2",)):
    """Similarities that rise and fall, and scores; every value is different."""
    draw = np.random.default_rng(0)
    models = [(PRETRAINED, None, (0,)), (UNTRAINED, None, (0,))]
    models += [(tuned(task, layers), task, seeds) for task in tasks for layers in ("ref", *sets)]
    rows = []
    for recipe, task, recipe_seeds in models:
        for seed in recipe_seeds:
            common = {"paper": "muller2021", "recipe": recipe, "seed": seed, "task": task, "split": "test"}
            for language in languages:
                for definition in (*DEFINITIONS, "rbf"):
                    for layer in range(BLOCKS + 1):
                        value = 0.2 + 0.15 * layer - 0.03 * layer**2 + 0.1 * draw.random()
                        place = {
                            "corpus": "translations",
                            "language": language,
                            "layer": layer,
                            "definition": definition,
                            "n": 1000,
                        }
                        band = {"low": value - 0.02 - 0.01 * draw.random(), "high": value + 0.02 + 0.01 * draw.random()}
                        rows.append(common | place | band | {"measure": "cka", "value": value})
                        rows.append(common | place | {"measure": "cka floor", "value": 0.01 * draw.random()})
            if task and recipe == tuned(task):
                for language in ("en", *languages):
                    place = {"corpus": "entities" if task == "ner" else "translations", "language": language}
                    rows.append(common | place | {"measure": "score", "definition": METRICS[task], "value": draw.random()})
    records = pd.DataFrame(rows, columns=RECORDS.names)
    return records.astype({"value": float, "low": float, "high": float}).sample(frac=1, random_state=0)


@pytest.fixture(scope="module")
def records():
    return made()


@pytest.fixture(scope="module")
def figures(records):
    return {name: figure(name, records, NAMES) for name in FIGURES}


def chosen(records, recipe, language, definition, measure="cka"):
    here = records[(records["recipe"] == recipe) & (records["language"] == language)]
    return here[(here["definition"] == definition) & (here["measure"] == measure)].sort_values("layer")


def mean(*key):
    return chosen(*key).groupby("layer")["value"].mean().to_numpy()


def grid(drawn, columns=5):
    """Rows of axes."""
    return [drawn.axes[start : start + columns] for start in range(0, len(drawn.axes), columns)]


def names_of(axis):
    """Names beside an axis -> colour of the subword of line before it."""
    legend = axis.get_legend()
    lines = zip(legend.get_texts(), legend.legend_handles, strict=True)
    return {text.get_text(): to_hex(line.get_color()) for text, line in lines}


def lines_of(axis, dotted=False):
    """(Colour, curve) of the dotted lines of an axis, or of the others."""
    return [(to_hex(line.get_color()), line) for line in axis.get_lines() if (line.get_linestyle() == ":") == dotted]


def line(row, name, column):
    """The curve of the colour of a name."""
    (curve,) = [curve for colour, curve in lines_of(row[column]) if colour == names_of(row[-1])[name]]
    return curve


def band(row, name, column):
    """Lowest and highest of the drawn band at each layer."""
    colour = to_rgb(names_of(row[-1])[name])
    (area,) = [area for area in row[column].collections if tuple(area.get_facecolor()[0][:3]) == pytest.approx(colour)]
    corners = area.get_paths()[0].vertices
    return [[pick(corners[corners[:, 0] == layer, 1]) for layer in range(BLOCKS + 1)] for pick in (min, max)]


def row_names(drawn, columns=5):
    """Names of rows stand above the label of the axis."""
    return [row[0].get_ylabel().rpartition("\n")[0] for row in grid(drawn, columns)]


def assert_line(row, name, column, expected):
    assert line(row, name, column).get_xdata() == pytest.approx(range(BLOCKS + 1))
    assert line(row, name, column).get_ydata() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("definition", DEFINITIONS)
@pytest.mark.parametrize(("name", "languages"), [("figure1", ["ru"]), ("figure5", [*TARGETS])])
def test_figures_1_and_5_draw_mean_similarities_of_three_tasks_and_of_encoders_that_were_not_tuned(
    records, figures, name, languages, definition
):
    rows = grid(figures[name])
    assert len(rows) == len(languages)
    for row, language in zip(rows, languages, strict=True):
        encoders = {"parsing": tuned("parsing"), "POS": tuned("pos"), "NER": tuned("ner")}
        encoders |= {"pretrained": PRETRAINED, "untrained": UNTRAINED}
        assert set(names_of(row[-1])) == set(encoders)
        for label, recipe in encoders.items():
            assert_line(row, label, COLUMN[definition], mean(records, recipe, language, definition))


@pytest.mark.parametrize("definition", DEFINITIONS)
@pytest.mark.parametrize(("name", "task"), [("figure2", "ner"), ("figure6", "parsing"), ("figure7", "pos"), ("figure8", "ner")])
def test_figures_2_and_6_to_8_draw_a_task_with_and_without_re_initialised_layers(records, figures, name, task, definition):
    languages = ["ru"] if name == "figure2" else [*TARGETS, "ru"]
    rows = grid(figures[name])
    assert len(rows) == len(languages)
    for row, language in zip(rows, languages, strict=True):
        encoders = {"REF": tuned(task), "re-init. 1-2": tuned(task, "init1-2")}
        encoders |= {"pretrained": PRETRAINED, "untrained": UNTRAINED}
        assert set(names_of(row[-1])) == set(encoders)
        for label, recipe in encoders.items():
            assert_line(row, label, COLUMN[definition], mean(records, recipe, language, definition))


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_figure_4_draws_languages_of_the_ner_encoder_and_of_those_that_were_not_tuned(records, figures, definition):
    assert row_names(figures["figure4"]) == ["NER", "pretrained", "untrained"]
    for row, recipe in zip(grid(figures["figure4"]), (tuned("ner"), PRETRAINED, UNTRAINED), strict=True):
        assert set(names_of(row[-1])) == {NAMES[code] for code in TARGETS}
        for code in TARGETS:
            assert_line(row, NAMES[code], COLUMN[definition], mean(records, recipe, code, definition))


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_figure_3_draws_the_correlations_by_layer_and_their_intervals(records, figures, definition):
    assert row_names(figures["figure3"]) == ["parsing", "POS", "NER"]
    for row, task in zip(grid(figures["figure3"]), METRICS, strict=True):
        for label, recipe in (("fine-tuned", tuned(task)), ("pretrained", PRETRAINED), ("untrained", UNTRAINED)):
            expected = spearman_by_layer(records, task, study(NAMES), definition=definition, recipe=recipe)
            assert_line(row, label, COLUMN[definition], expected["rho"])
            low, high = band(row, label, COLUMN[definition])
            assert low == pytest.approx(expected["low"]) and high == pytest.approx(expected["high"])
    assert figures["figure3"].get_supxlabel().startswith("7 languages")


def test_bands_are_the_range_over_seeds(records, figures):
    (row,) = grid(figures["figure1"])
    for definition, column in COLUMN.items():
        low, high = band(row, "NER", column)
        values = chosen(records, tuned("ner"), "ru", definition).groupby("layer")["value"]
        assert low == pytest.approx(values.min()) and high == pytest.approx(values.max())


@pytest.mark.parametrize(("seeds", "label", "recipe"), [((0, 1), "pretrained", PRETRAINED), ((3,), "NER", tuned("ner"))])
def test_the_band_of_a_single_seed_is_its_jackknife_interval(seeds, label, recipe):
    records = made(seeds)
    (row,) = grid(figure("figure1", records, NAMES))
    for definition, column in COLUMN.items():
        here = chosen(records, recipe, "ru", definition)
        low, high = band(row, label, column)
        assert low == pytest.approx(here["low"]) and high == pytest.approx(here["high"])


def test_dotted_lines_are_the_mean_similarities_of_shuffled_pairs(records, figures):
    (row,) = grid(figures["figure1"])
    for definition, column in COLUMN.items():
        dotted = {colour: curve.get_ydata() for colour, curve in lines_of(row[column], dotted=True)}
        assert len(dotted) == 5
        for label, recipe in (("NER", tuned("ner")), ("untrained", UNTRAINED)):
            assert dotted[names_of(row[-1])[label]] == pytest.approx(mean(records, recipe, "ru", definition, "cka floor"))


def test_pairs_and_seeds_stand_below(figures):
    text = " ".join(figures["figure1"].get_supxlabel().split())
    of_controls = "range over 3 seeds or, of a single seed, 95 % jackknife interval over documents"
    assert text == f"1,000 sentence pairs. Bands: {of_controls}. Dotted: shuffled pairs."


def test_where_russian_is_absent_figures_1_and_2_take_the_first_target_and_say_so(records):
    there = records[~records["language"].isin(["ru", "fr"])]
    for name in ("figure1", "figure2"):
        drawn = figure(name, there, NAMES)
        assert "English and German:" in drawn.get_suptitle()
        assert_line(*grid(drawn), "NER" if name == "figure1" else "REF", 0, mean(there, tuned("ner"), "de", "debiased"))


def test_absent_languages_have_no_row_and_the_others_keep_their_colours(records, figures):
    there = records[records["language"] != "de"]
    assert row_names(figure("figure8", there, NAMES)) == ["French", "Turkish", "Indonesian", "Arabic", "Russian"]
    before, after = (names_of(grid(drawn)[0][-1]) for drawn in (figures["figure4"], figure("figure4", there, NAMES)))
    assert after == {name: colour for name, colour in before.items() if name != "German"}


def test_absent_tasks_and_encoders_have_no_curve():
    records = made(tasks=("pos",), sets=())
    records = records[records["recipe"] != UNTRAINED]
    for name, left in (("figure1", {"POS", "pretrained"}), ("figure7", {"REF", "pretrained"})):
        assert set(names_of(grid(figure(name, records, NAMES))[0][-1])) == left
    assert row_names(figure("figure3", records, NAMES)) == [""]  # one task: a row that needs no name


def test_a_curve_without_values_is_left_out(records):
    undefined = records.copy()
    undefined.loc[(undefined["recipe"] == UNTRAINED) & (undefined["measure"] == "cka"), "value"] = np.nan
    (row,) = grid(figure("figure1", undefined, NAMES))
    assert "untrained" not in names_of(row[-1])


def test_an_absent_definition_has_no_column(records):
    drawn = figure("figure5", records[records["definition"] == "debiased"], NAMES)
    assert len(grid(drawn, 1)) == len(TARGETS)
    assert drawn.axes[0].get_title(loc="left") == HEADINGS["debiased"].replace(" (", "\n(")


def test_further_sets_of_layers_have_curves_of_their_own():
    records = made(sets=("init1-2", "init3-4"))
    (row,) = grid(figure("figure2", records, NAMES, ("1-2", "3-4")))
    assert_line(row, "re-init. 3-4", 0, mean(records, tuned("ner", "init3-4"), "ru", "debiased"))
    assert len(set(names_of(row[-1]).values())) == 5  # colours


@pytest.mark.parametrize(
    ("name", "kept", "message"),
    [
        (
            "figure1",
            lambda table: table["task"].isna(),
            "one of ru for at least one of muller2021/parsing/en/ref, muller2021/pos/en/ref",
        ),
        (
            "figure4",
            lambda table: table["language"].isin(["ru", "es"]),
            "fr, de, tr, id, ar for at least one of muller2021/ner/en/ref",
        ),
        (
            "figure6",
            lambda table: table["task"] == "pos",
            "for at least one of muller2021/parsing/en/ref, muller2021/parsing/en/init1-2",
        ),
        ("figure3", lambda table: table["language"].isin(["en", "fr", "de", "tr", "ar"]), "at least five other languages"),
        ("figure3", lambda table: table["measure"] == "score", "at least five other languages"),
        ("figure2", lambda table: table["measure"] == "none", "figure2: expected records of CKA"),
    ],
)
def test_an_empty_figure_is_refused_with_what_is_missing(records, name, kept, message):
    with pytest.raises(DataError, match=name) as refusal:
        figure(name, records[kept(records)], NAMES)
    assert message in str(refusal.value) and "\n" not in str(refusal.value)


def test_the_same_records_in_another_order_give_the_same_bytes(tmp_path, records):
    for number in (0, 1):
        save(figure("figure2", records.sample(frac=1, random_state=number), NAMES), tmp_path / f"{number}.svg", "")
    for suffix in ("svg", "png"):
        assert (tmp_path / f"0.{suffix}").read_bytes() == (tmp_path / f"1.{suffix}").read_bytes()


def flat(value, name):
    values = np.full(3, value)
    return Curve(np.arange(3), values, values, values, {"color": "#000000"}, name)


def test_a_value_alone_is_a_mark():
    alone = Curve(np.arange(3), np.array([np.nan, 0.4, np.nan]), *[np.full(3, np.nan)] * 2, {"color": "#000000"}, "alone")
    axis = panels({"": {"": [flat(0.3, "line"), alone]}}, "", "", ylabel="", ylim=(0, 1)).axes[0]
    looks = [(line.get_marker(), line.get_linestyle()) for line in axis.lines]
    assert looks == [("None", "-"), ("o", "None")]
    marks = {text.get_text(): (mark.get_marker(), mark.get_linestyle())
             for text, mark in zip(axis.get_legend().get_texts(), axis.get_legend().legend_handles, strict=True)}  # fmt: skip
    assert marks == {"line": looks[0], "alone": looks[1]}
