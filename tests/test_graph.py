"""The graph of artefacts at every preset, without Snakemake: what each is made from, with which settings and with which code."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from crosslens.config.recipes import Recipe
from crosslens.graph.plan import ENDINGS, RECIPE, Graph, Step, groups
from crosslens.graph.targets import items_of, preparation, replaced, shown
from crosslens.jobs.errors import DataError
from crosslens.measures.kinds import KINDS, kind_of
from crosslens.papers.configuration import load
from crosslens.reports.paper import MODEL_FILES
from study import REPOSITORY
from test_config import merged

PRESETS = ("published", "laptop", "demo")
Steps = dict[str, Callable[[], Step]]


def graph_of(preset: str, **keys: Any) -> Graph:
    values = merged(preset) | keys
    return Graph(load(values), values, REPOSITORY)


@pytest.fixture(scope="module", params=PRESETS)
def graph(request: pytest.FixtureRequest) -> Graph:
    return graph_of(request.param)


@pytest.fixture(scope="module")
def steps(graph: Graph) -> Steps:
    """All artefacts by their places below the results."""
    return preparation(graph) | dict(models(graph)) | dict(reports(graph))


def models(graph: Graph) -> Iterator[tuple[str, Callable[[], Step]]]:
    studies = graph.studies
    for name in studies.recipes:
        for seed in map(str, studies.seeds(name)):
            folder, make = f"{name}/seed{seed}", partial(graph.training, name, seed)
            files = [*MODEL_FILES.values(), *(["model.safetensors"] if graph.recipe(name).keeps_weights else [])]
            yield from ((f"models/{folder}/{file}", make) for file in files)
            yield f"states/{folder}", partial(graph.states, name, seed)
    for name in studies.trials:
        yield from ((f"models/{name}/seed{seed}", partial(graph.trials, name, str(seed))) for seed in studies.seeds(name))
    needs = [(paper, need) for paper, _, item in studies.items.values() for need in item.needs if need.kind in KINDS]
    asked = {(studies.measure(paper.key, need), need.recipe) for paper, need in needs}
    asked |= {(recipe.artefact.kind, recipe.artefact.recipe) for _, recipe in studies.recipes.values() if recipe.artefact}
    for kind, name in asked:
        if kind_of(kind).by_seed:
            for seed in studies.seeds(name):
                yield f"measures/{kind}/{name}/seed{seed}.parquet", partial(graph.measure, kind, name, str(seed))
        else:
            yield f"measures/{kind}/{name}.parquet", partial(graph.measure, kind, name)


def reports(graph: Graph) -> Iterator[tuple[str, Callable[[], Step]]]:
    for place, (_, _, item) in graph.studies.items.items():
        yield from ((f"{place}{ending}", partial(graph.item, place)) for ending in ENDINGS[item.form])
    yield from ((f"{place}.html", partial(graph.page, place)) for place in graph.pages)
    yield from ((f"scores/{paper.key}.parquet", partial(graph.scores, paper.key)) for paper in graph.studies.papers)
    yield from ((f"passport/{name}.html", partial(graph.passport, name)) for name in graph.passports)
    yield from ((f"passport/{pair}.html", partial(graph.comparison, pair)) for pair in graph.compared)
    yield from (("corpora.csv", graph.inventory), ("scoreboard.html", graph.scoreboard), ("claims.csv", graph.claims))


def reached(graph: Graph, steps: Steps, targets: list[str]) -> dict[str, Step]:
    """Steps behind some files by place; each of their inputs has a step, or is a file of the repository."""
    waiting, found = list(targets), {}
    while waiting:
        place = waiting.pop().removeprefix(f"{graph.results}/")
        if place not in found and not (REPOSITORY / place).is_file():
            assert place in steps, place
            found[place] = steps[place]()
            waiting += found[place].files()
    return found


def test_all_items_are_made_from_artefacts_of_the_graph(graph, steps):
    keys = [paper.key for paper in graph.studies.papers]
    targets = [*items_of(graph, *keys), *items_of(graph, *keys, searched=True), "corpora.csv", "claims.csv", "scoreboard.html"]
    found = reached(graph, steps, [*targets, *(f"passport/{name}.html" for name in [*graph.passports, *graph.compared])])
    assert {place.split("/")[0] for place in found} >= {
        "sources", "corpora", "tokenizers", "encoders", "tokens", "samples", "models", "states", "measures", "scores", "passport",
    }  # fmt: skip
    for step in found.values():
        assert all((REPOSITORY / file).is_file() for file in [*step.code, f"envs/{step.environment}.yaml"])
        assert json.loads(json.dumps(step.settings)) is not ...  # plain values


def test_what_a_training_and_a_measure_are_made_from():
    graph = graph_of("demo", states={"layers": [1]})
    training = graph.training("tanti2021/pos/finetuned", "0")
    assert training.inputs == {
        "encoder": "results/demo/encoders/e5-small",
        "tokens": [
            "results/demo/tokens/e5-small/without_unknown/udpos",
            "results/demo/tokens/e5-small/without_unknown/wikipedia",
        ],
        "artefact": [],
        "pretrained": [],
    }
    probes = graph.measure("probes", "tanti2021/pos/finetuned", "0")
    assert probes.inputs == {"states": "results/demo/states/tanti2021/pos/finetuned/seed0"}
    assert (probes.code, probes.environment) == (
        ["workflow/scripts/measure.py", "workflow/crosslens/measures/probes.py"],
        "measures",
    )
    assert probes.settings["seeds"] == [0] and probes.settings["common"]["task"] == "pos"
    assert graph.states("tanti2021/pos/finetuned", "0").settings["layers"] == [1]


def test_the_groups_of_a_recipe_hold_all_of_its_settings(graph):
    recipes = [recipe for _, recipe in graph.studies.recipes.values()]
    recipes += [trial for _, trials in graph.studies.trials.values() for trial in trials]
    assert all(tuple(groups(recipe)) == RECIPE for recipe in recipes)
    settings = {json.dumps(recipe.settings()) for recipe in recipes}
    assert len({json.dumps(groups(recipe)) for recipe in recipes}) == len(settings) == len(recipes)


def leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Places of the plain values in nested ones."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not pairs:
        yield place
    for key, part in pairs:
        yield from leaves(part, (*place, key))


@pytest.mark.parametrize("name", ["tanti2021/pos/gradient_reversal", "tanti2021/pos/entropy_maximisation"])
def test_a_change_of_any_setting_changes_one_group(name):
    recipe = graph_of("published").recipe(name)
    places = [*leaves(recipe.settings())]
    assert len(places) > 50
    for *path, last in places:
        settings = recipe.settings()
        part: Any = settings
        for key in path:
            part = part[key]
        part[last] = "another"
        other: Any = type("Other", (), {"settings": lambda self, settings=settings: settings})()
        before, after = groups(recipe), groups(other)
        assert sum(before[group] != after[group] for group in RECIPE) == 1, (path, last)


def test_a_phase_that_moves_to_another_stage_changes_the_groups():
    recipe = next(recipe for _, recipe in graph_of("published").studies.recipes.values() if len(recipe.stages) > 1)
    first, second, *rest = recipe.stages
    moved = [
        first.model_copy(update={"phases": (*first.phases, *second.phases)}),
        second.model_copy(update={"phases": ()}),
    ]
    assert groups(recipe) != groups(Recipe.model_construct(**{**dict(recipe), "stages": (*moved, *rest)}))


def test_blocks_of_a_dump_from_another_source_are_sampled_by_that_sources_index():
    values = merged("published")
    corpus = values["corpora"]["wikipedia"] | {"languages": ["de", "en"], "language_sources": {"de": "mine"}, "blocks": 600}
    values |= {"sources": {"mine": {"title": "Mine"}}, "corpora": {"wikipedia": corpus}, "papers": {}}
    graph = Graph(load(values), values, REPOSITORY)
    steps = {place: make() for place, make in preparation(graph).items()}
    stem, index = "dewiki/20210420/dewiki-20210420-pages-articles-multistream", "-index.txt.bz2"
    sample = steps[f"sources/mine-sample/600-0/{stem}.xml.bz2"]
    assert sample.inputs == {"index": f"results/sources/mine/{stem}{index}"} and sample.settings["mirror"] == ["mine"]
    indices = [step.inputs["index"] for step in steps.values() if step.script == "dump_sample"]
    assert indices == [file for file in graph.official.of_corpus(graph.config.corpora["wikipedia"]) if file.endswith(index)]


def test_kinds_of_measures_are_modules_with_a_function_measure():
    folder = REPOSITORY / "workflow/crosslens/measures"
    texts = {path.stem: path.read_text() for path in folder.glob("*.py")}
    assert {*KINDS} == {name for name, text in texts.items() if "\ndef measure(" in text}
    without_records = {name for name, kind in KINDS.items() if not kind.records}
    assert without_records == {name for name, text in texts.items() if "\nSCHEMA = " in text}


def test_a_figure_comes_with_its_page_and_a_rehearsal_has_files_of_its_own():
    graph = graph_of("demo")
    assert "results/demo/figure2.svg" in shown(graph)
    png, page = "results/demo/figure2.png", "results/demo/figure2.html"
    assert replaced(graph, ["-n", png, "results/demo/table1.csv"]) == {png: [png, page]}
    for option in ("-f", "-nR", "--until", "--omit-from=x"):
        assert replaced(graph, [option, png]) == {}
    rehearsal = graph_of("published", rehearse=20)
    assert replaced(rehearsal, ["results/table2.csv"]) == {"results/table2.csv": ["results/rehearsal/table2.csv"]}


def test_what_concludes_from_a_study_is_refused_in_its_rehearsal():
    graph = graph_of("published", rehearse=20)
    for make in (graph.claims, graph.scoreboard, partial(graph.passport, "mbert")):
        with pytest.raises(DataError, match="expected the results of a study, found those of its rehearsal"):
            make()


def test_a_pair_of_passports_with_the_name_of_an_encoder_is_refused():
    values = merged("published")
    section, encoders = values["papers"]["passport"], values["encoders"]
    pair = "-".join(section["compare"][0])
    encoders[pair] = encoders[section["encoders"][0]]
    section["encoders"] = [*section["encoders"], pair]
    with pytest.raises(DataError, match=f"{pair} is also the name of an encoder; give one of them another name"):
        Graph(load(values), values, REPOSITORY).check()
