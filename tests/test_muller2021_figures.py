"""muller2021: figures 1 to 8 of made-up records."""

import numpy as np
import pandas as pd
import pytest
from crosslens.config.base import families_of
from crosslens.jobs.errors import DataError
from crosslens.jobs.records import RECORDS
from crosslens.papers.muller2021.correlation import spearman_by_layer
from crosslens.papers.muller2021.figures import COLUMNS, PARTS, correlations, similarities
from crosslens.papers.muller2021.names import Study
from goldens import assert_golden_curves

pytestmark = pytest.mark.long

NAMES = {"fr": "French", "de": "German", "tr": "Turkish", "id": "Indonesian", "ar": "Arabic", "es": "Spanish", "ru": "Russian"}
METRICS = {"parsing": "LAS", "pos": "accuracy", "ner": "F1"}
PRETRAINED, UNTRAINED = "muller2021/pretrained", "muller2021/untrained"
DEFINITIONS = ("debiased", "debiased_length_out", "as_printed", "released_kernel", "linear")
BLOCKS = 4


def study(names):
    """Of these parallel languages."""
    corpora = {corpus: [*names] for corpus in ("translations", "treebanks", "entities")}
    return Study(sources=["en"], own={"parsing": "treebanks", "pos": "treebanks", "ner": "entities"}, parallel="translations",
                 domains={}, languages=corpora, names=names,
                 families=dict(zip(names, families_of(names), strict=True)), with_subtypes="LAS with subtypes")  # fmt: skip


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
            common = {"paper": "muller2021", "recipe": recipe, "seed": seed, "task": task, "split": "test", "n": 1000}
            for language in languages:
                for definition in (*DEFINITIONS, "rbf"):
                    for layer in range(BLOCKS + 1):
                        value = 0.2 + 0.15 * layer - 0.03 * layer**2 + 0.1 * draw.random()
                        place = {"corpus": "translations", "language": language, "layer": layer, "definition": definition}
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
    """With two of the five definitions."""
    whole = made()
    return whole[whole["definition"].isin(["debiased", "linear", *METRICS.values()])]


def rows_and_names(drawn, columns):
    """Names of the rows, above the labels of their axes, and those of the curves of the first row."""
    rows = [axis.get_ylabel().rpartition("\n")[0] for axis in drawn.axes[::columns]]
    return rows, {text.get_text() for text in drawn.legends[0].get_texts()}


@pytest.mark.parametrize("name", [f"figure{number}" for number in range(1, 9)])
def test_curves_of_mean_similarities_their_bands_and_those_of_shuffled_pairs(records, name):
    """Figures 5 to 8 have a row for each language, of which two are enough here."""
    few = records if name in ("figure3", "figure4") else records[records["language"].isin(["fr", "ru"])]
    assert_golden_curves(figure(name, few), f"muller2021/{name}")


def test_each_definition_has_a_column():
    drawn = figure("figure1", made())
    titles = [axis.get_title(loc="left").replace("\n", " ") for axis in drawn.axes]
    assert titles == [COLUMNS[definition].replace("\n", " ") for definition in DEFINITIONS]


def test_correlations_by_layer_are_those_of_the_table(records):
    drawn = figure("figure3", records)
    expected = spearman_by_layer(records, "pos", study(NAMES), definition="linear", recipe=tuned("pos"))["r"]
    assert any(line.get_ydata() == pytest.approx(expected) for line in drawn.axes[3].get_lines())


@pytest.mark.parametrize("seeds", [(0, 1), (3,)])
def test_the_band_of_a_single_seed_is_its_jackknife_interval(seeds):
    records = made(seeds)
    here = records[(records["recipe"] == PRETRAINED) & (records["language"] == "ru") & (records["measure"] == "cka")]
    here = here[here["definition"] == "debiased"].sort_values("layer")
    bands = [path.vertices[:, 1] for area in figure("figure1", records).axes[0].collections for path in area.get_paths()]
    assert any(set(here["low"]) | set(here["high"]) <= set(corners) for corners in bands)


def test_where_russian_is_absent_figures_1_and_2_take_the_first_target_and_say_so(records):
    there = records[~records["language"].isin(["ru", "fr"])]
    for name in ("figure1", "figure2"):
        assert "English and German:" in figure(name, there).get_suptitle()


def test_absent_languages_tasks_and_encoders_have_no_curve(records):
    there = records[records["language"] != "de"]
    assert rows_and_names(figure("figure8", there), 2)[0] == ["French", "Turkish", "Indonesian", "Arabic", "Russian"]
    few = made(tasks=("pos",), sets=())
    few = few[(few["recipe"] != UNTRAINED) & few["definition"].isin(["debiased", "accuracy"])]
    for name, names in (("figure1", {"POS", "pretrained"}), ("figure7", {"REF", "pretrained"})):
        assert rows_and_names(figure(name, few), 1)[1] == names
    undefined = few.copy()
    undefined.loc[(undefined["recipe"] == PRETRAINED) & (undefined["measure"] == "cka"), "value"] = np.nan
    assert rows_and_names(figure("figure1", undefined), 1)[1] == {"POS"}


def test_further_sets_of_layers_have_curves_of_their_own():
    drawn = figure("figure2", made(sets=("init1-2", "init3-4")), NAMES, ("1-2", "3-4"))
    names = rows_and_names(drawn, len(DEFINITIONS))[1]
    assert names == {"REF", "re-init. 1-2", "re-init. 3-4", "pretrained", "untrained"}


def test_a_set_of_layers_has_one_look_in_all_tasks_and_the_appendix_has_the_other_definitions(records):
    looks = [
        {text.get_text(): line.get_color() for text, line in zip(legend.get_texts(), legend.legend_handles, strict=True)}
        for name in ("figure5", "figure6", "figure7")
        for legend in figure(name, records[records["language"] == "fr"]).legends
    ]
    of_tasks, *edited = looks
    assert [of_figure.pop("REF") for of_figure in edited] == [of_tasks["parsing"], of_tasks["POS"]]
    assert edited[0] == edited[1] and len({*edited[0].values(), *of_tasks.values()}) == len(edited[0] | of_tasks)
    assert [definition for part in PARTS.values() for definition in part] == list(COLUMNS)


@pytest.mark.parametrize(
    ("name", "kept", "message"),
    [
        ("figure4", lambda table: table["language"].isin(["ru", "es"]), "fr, de, tr, id, ar for at least one of"),
        ("figure6", lambda table: table["task"] == "pos", "muller2021/parsing/en/ref, muller2021/parsing/en/init1-2"),
        ("figure3", lambda table: table["language"].isin(["en", "fr", "de", "tr"]), "at least four other languages"),
    ],
)  # fmt: skip
def test_an_empty_figure_is_refused_with_what_is_missing(records, name, kept, message):
    with pytest.raises(DataError, match=name) as refusal:
        figure(name, records[kept(records)], NAMES)
    assert message in str(refusal.value) and "\n" not in str(refusal.value)
