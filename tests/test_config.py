"""The configuration: the real ones load, wrong ones end in one readable line, and what is generated is in step."""

import copy
import csv
import lzma
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from crosslens.commands.documents import configuration, reports
from crosslens.config.corpora import DocumentCorpus, TreebankCorpus
from crosslens.config.labels import TOPICS
from crosslens.corpora.sources.places import Layout
from crosslens.corpora.sources.registry import load as load_sources
from crosslens.jobs.errors import DataError
from crosslens.papers import papers
from crosslens.papers.configuration import load, load_fitting
from crosslens.papers.tanti2021.recipes import recipes
from crosslens.reports.studies import Studies

REPOSITORY = Path(__file__).parents[1]
PRESETS = {
    "published": ["config.yaml"],
    "demo": ["config.yaml", "demo/overlay.yaml"],
    "laptop": ["config.yaml", "laptop/overlay.yaml"],
    "second model": ["config.yaml", "laptop/overlay.yaml", "laptop/extracted.yaml", "laptop/frozen.yaml", "laptop/decoder.yaml"],
    "third model": ["config.yaml", "laptop/overlay.yaml", "laptop/extracted.yaml", "laptop/frozen.yaml", "laptop/english.yaml"],
    "rehearsal": ["config.yaml", "rehearsal/overlay.yaml"],
    "tests": ["config.yaml", "tests/workflow/overlay.yaml"],
}
MIRROR = REPOSITORY.parent / "shared" / "mirror" / "languages"
PAPER = "papers.tanti2021"
POS, NLI, SEARCH = f"{PAPER}.tasks.pos", f"{PAPER}.tasks.nli", f"{PAPER}.search.experiments"
SEVERAL = f"{POS}.runs.several_languages"
GONE = object()


def merged(preset: str) -> dict[str, Any]:
    """Configuration of a preset, overlaid as Snakemake does."""
    _, *overlays = PRESETS[preset]
    return reports.configuration(REPOSITORY, *overlays)


def changed(path: str, value: Any) -> dict[str, Any]:
    """The tests' own configuration with one key changed; GONE leaves it out. `/` separates the parts of a path."""
    values = copy.deepcopy(merged("tests"))
    *folders, key = path.split("/")
    node = values
    for folder in folders:
        node = node[folder]
    if value is GONE:
        del node[key]
    else:
        node[key] = value
    return values


# --- the real ones --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", PRESETS)
def test_real_configurations_load_and_fit_the_schema(preset):
    values = merged(preset)
    if preset in ("demo", "laptop"):
        assert yaml.safe_load((REPOSITORY / preset / "config.yaml").read_text())["configfile"] == PRESETS[preset]
    assert load(values).papers.tanti2021.encoder in values["encoders"]
    jsonschema.validate(values, configuration.schema(), jsonschema.Draft202012Validator)


def test_a_file_may_serve_several_languages_and_two_archives_have_files_of_one_name():
    archives = {"archive": "a.zip", "train_archive": "b.zip", "train_source": "synthetic"}
    files = {"train": "all.conllu", "dev": "dev.conllu", "test": "all.conllu"}
    corpus = {"kind": "treebank", "source": "synthetic", "languages": ["de", "en"], "files": files, **archives}
    assert len(list(TreebankCorpus(**corpus).stored())) == 5
    with pytest.raises(ValueError, match="found all.conllu for two splits of en"):
        TreebankCorpus(**corpus | {"train_archive": "a.zip"})


def test_an_overlay_replaces_values_section_by_section_and_lists_whole():
    demo, published = load(merged("demo")), load(merged("published"))
    assert demo.corpora["udpos"].source == "synthetic" and published.corpora["udpos"].source != "synthetic"
    assert len(demo.corpora["udpos"].languages) < len(published.corpora["udpos"].languages)
    assert demo.tokenisations["without_unknown"].drop_unknown == published.tokenisations["without_unknown"].drop_unknown
    assert "mbert" in demo.encoders


@pytest.mark.parametrize("task", ["pos", "nli"])
def test_null_leaves_a_control_out(task):
    runs = [set(load(changed(f"papers/tanti2021/tasks/{task}/runs/{name}", value)).papers.tanti2021.tasks[task].runs)
            for name, value in (("untrained", {"batch": 8}), ("untrained", None), ("no_adversary", {"batch": 8}))]  # fmt: skip
    assert runs[0] - runs[1] == {"untrained"}
    assert runs[2] - runs[0] == {"no_adversary"}
    published = load(merged("published")).papers.tanti2021.tasks[task].runs
    assert set(published) - runs[0] == {"no_adversary", "true_entropy"}  # null in the tests' overlay


@pytest.mark.parametrize(("task", "rest"), [("nli", "pos"), ("pos", "nli")])
def test_null_leaves_a_task_out_with_its_figures_and_searches(task, rest):
    values = changed(f"papers/tanti2021/tasks/{task}", None)
    values["papers"]["tanti2021"]["search"]["experiments"] = ["pos/frozen", "nli/frozen"]
    studies = Studies(load(values), papers())
    assert {recipe.task for paper, recipe in studies.recipes.values() if paper.key == "tanti2021"} == {rest}
    assert {name.split("/")[1] for name, (paper, _) in studies.trials.items() if paper.key == "tanti2021"} == {rest}
    figures = {name for name, (_, _, item) in studies.items.items() if item.form == "figure" and "/" not in name}
    assert figures == {"figure2", *{"pos": ["figure3", "figure5"], "nli": ["figure4", "figure6"]}[rest]}


def test_a_paper_that_does_not_fit_is_left_out_alone():
    config, misfits = load_fitting(changed("papers/muller2021/pairs", [[3]]), "mine.yaml")
    assert config.papers.muller2021 is None and config.papers.tanti2021 and config.papers.wu2019
    assert misfits == {
        "muller2021": "mine.yaml: papers.muller2021.pairs: expected layer numbers up to 2, which encoders.random has, found 3: "
        "name layers of this encoder"
    }


def test_sources_of_an_overlay_stand_beside_the_others():
    config = load(merged("tests") | {"sources": {"my-data": {"title": "Mine, all"}}})
    sources = load_sources(additions=config.sources)
    assert sources.keys() - load_sources().keys() == {"my-data"}
    assert (sources["my-data"].name, sources["my-data"].mirror, sources["my-data"].urls_of("a/b")) == ("Mine", ["my-data"], [])
    with pytest.raises(DataError, match=r"config.yaml: sources.my-data.title: expected a value, found none"):
        load(merged("tests") | {"sources": {"my-data": {}}})
    config = load(merged("tests") | {"sources": {"ud-2.7": {"title": "Mine"}}})
    with pytest.raises(DataError, match=r"sources.ud-2.7: expected an id that .* does not have"):
        load_sources(additions=config.sources)


# --- wrong ones -----------------------------------------------------------------------------------------------------------

WRONG = [  # key, its value, the key that the message names if it is another, and a part of the message
    ("sedes", [1], "", "unknown key; did you mean 'seeds'?"),
    (f"{POS}.runs.fintuned", {"batch": 3}, "", "found 'fintuned'; did you mean 'finetuned'?"),
    (f"{POS}.runs.finetuned.batch", 2.5, "", "found 2.5"),
    (f"{POS}.runs.finetuned.batch", 0, "", "greater than or equal to 1, found 0"),
    (f"{PAPER}.training.dropout", float("nan"), "", "finite number, found nan"),
    ("corpora.udpos.files", {"train": 3}, "corpora.udpos.files.train", "valid string or input should be a valid list or"),
    ("corpora.udpos.languages", [False], "corpora.udpos.languages.0", "found False; YAML reads yes, no, on and off as truth"),
    ("threads", True, "threads", "expected a number, found True (YAML reads yes, no, on and off as truth values)"),
    ("seeds", [], "", "at least 1 item"),
    ("papers", GONE, "", "expected a value, found none"),
    ("encoders.random.source", "randon", "encoders.random", "found 'randon'; did you mean 'random'?"),
    (
        "encoders.e5-large",
        {"corpora": ["xnli"]},
        "",
        "expected a `source`, found none: this preset does not define e5-large; set its `source`, or remove e5-large",
    ),
    ("corpora.udpso", {"languages": ["en"]}, "", "expected a `kind`, found none: this preset does not define udpso; set its"),
    ("encoders.mbert.id", "../../etc", "", "expected a name on the hub"),
    ("corpora.udpos.languages", ["en", "de", "en"], "", "expected each entry once, found 'en' a second time"),
    (
        "corpora.udpos.languages",
        ["en", "xx"],
        "corpora.udpos",
        "resources/languages.csv, found xx: correct the codes",
    ),
    ("corpora.wikipedia.shares", {"train": 0.5, "test": 0.4}, "corpora.wikipedia", "expected a sum of 1, found 0.9"),
    ("corpora.udpos.files", {"train": "{code}.x", "test": {"en": ["a"], "de": ["b"]}}, "corpora.udpos", "expected files for tr"),
    ("corpora.udpos.files", {"train": "{code}.x", "test": "{code}.x"}, "corpora.udpos", "de.x for two splits"),
    ("corpora.wikipedia.file", "{wikki}.xml", "corpora.wikipedia", "expected no names in braces other than {code}"),
    ("corpora.xnli_all.limits", {"train": 10, "test": 5}, "corpora.xnli_all", "expected `parallel: true`, since"),
    ("synthetic.languages", ["de", "en"], "", "expected ar, es, fr, hi, tr too, read by corpora.udpos.languages"),
    ("synthetic.languages", ["de", "sw"], "", "expected synthetic languages (ar, "),
    ("papers.muller2021.pairs", [[1], [2, 3]], "", "expected layer numbers up to 2, which encoders.random has, found 3"),
    (f"{PAPER}.source_language", "tr", "", "corpora.udpos has no training data for 'tr': add it there"),
    ("corpora.wikipedia.languages", ["en", "tr"], f"{PAPER}.language_corpus", "has no de, which corpora.udpos tests; de, which"),
    (f"{PAPER}.encoder", "mbert-vocabulary", "", "expected an encoder with weights, found 'mbert-vocabulary'"),
    (f"{POS}.corpus", "udpso", "", "found 'udpso'; did you mean 'udpos'?"),
    (f"{POS}.corpus", "xnli", "", "expected a corpus of kind 'treebank', found 'xnli' of kind 'pairs'"),
    (f"{PAPER}.language_corpus", "mldoc", "", "corpora.mldoc has no de.train, de.validation: name files"),
    (f"{POS}.state", "pooler", "", "expected 'hidden': the pooler's output represents a text, not a word"),
    (f"{NLI}.runs.finetuned", None, NLI, "runs: expected the paper's four, found no finetuned; only controls can be omitted"),
    (SEARCH, ["pos/no_adversary"], "", "expected a task/run of tasks, found 'pos/no_adversary'"),
    ("corpora.udpos.files", {"train": "{code}-train", "test": "{code}-test"}, SEARCH, "'pos/frozen' is scored on dev"),
    (f"{SEVERAL}.languages", ["en", "tr"], "", "in tr: add"),
    (f"{SEVERAL}.languages", ["de"], "", "expected source_language"),
    ("encoders.random.hidden", 31, "encoders.random", "hidden: expected a multiple of heads (2), found 31"),
]


@pytest.mark.parametrize(("key", "value", "place", "message"), WRONG)
def test_a_wrong_configuration_ends_in_a_line_that_names_the_key(key, value, place, message):
    with pytest.raises(DataError) as caught:
        load(changed(key.replace(".", "/"), value), "demo/overlay.yaml")
    lines = str(caught.value).split("\n")
    assert all(line.startswith("demo/overlay.yaml: ") for line in lines)
    assert any(line.startswith(f"demo/overlay.yaml: {place or key}: ") and message in line for line in lines), lines


def test_every_wrong_key_is_named_at_once():
    values = changed("sedes", [1])
    values["threads"] = "two"
    with pytest.raises(DataError) as caught:
        load(values)
    assert sorted(str(caught.value).split("\n")) == [
        "config.yaml: sedes: unknown key; did you mean 'seeds'?",
        "config.yaml: threads: input should be a valid integer, unable to parse string as an integer, found 'two'",
    ]


# --- what is generated ----------------------------------------------------------------------------------------------------


def test_documentation_gives_type_range_default_and_meaning():
    """Each key once, without what its default shows; the keys that sections share come before them."""
    text = configuration.keys().replace("\N{NO-BREAK SPACE}", " ")
    for line in (
        "- `threads: 2`: CPU threads per training run or hidden-state extraction.",
        "- `depth: null` (integer): Number of layers, required for wu2019's encoder unless "
        "`papers.wu2019.identification` is null.",
        "- `maximum: 128` (≥ 8, ≤ 2048): Maximum number of subwords per input, including special tokens.",
        "- `folder: cldf`: Folder in the source that contains the tables.",
        "- `weights: [0.0, 0.1, ..., 3.0]`: Candidate shift weights. One is selected on development data.",
        "- `state: hidden` (`hidden|pooler`): Input to the heads for a sentence pair: the first token's last hidden state or, "
        "as in the authors' code, the pooler output.",
        "- `language_corpus` (required): Corpus of paragraphs for training the language head.",
        "Shared keys whose defaults differ here: `warmup: 0.1`.",
        "### `kind: typology`",
        "### `source: random`",
    ):
        assert f"\n{line}\n" in text
    assert text.count("\n- `train_archive: null`: ") == text.count("\n- `gpu_step: captured` ") == 1


def test_parts_of_treebanks():
    plan = {"kind": "treebank", "source": "ud-2.7", "languages": ["de", "en"]}
    files = {"train": "{code}-train", "test": "{code}-test"}
    corpus = TreebankCorpus.model_validate(plan | {"files": files})
    assert list(corpus.parts()) == [("de", "test"), ("en", "train"), ("en", "validation"), ("en", "test")]
    corpus = TreebankCorpus.model_validate(plan | {"files": files | {"dev": {"de": ["de-dev"]}}})
    assert list(corpus.parts())[:2] == [("de", "dev"), ("de", "test")] and ("en", "dev") not in corpus.parts()
    corpus = TreebankCorpus.model_validate(plan | {"files": files | {"dev": "{code}-dev"}})
    assert list(corpus.parts())[2:] == [("en", "train"), ("en", "validation"), ("en", "dev"), ("en", "test")]
    assert corpus.sources() == {"ud-2.7"}


# --- corpora --------------------------------------------------------------------------------------------------------------


def test_published_treebanks_in_their_order():
    corpus = load(merged("published")).corpora["wu2019_parsing"]
    assert corpus.files_of("cs", "train") == [f"*/cs_{name}-ud-train.conllu" for name in ("pdt", "cac", "cltt", "fictree")]
    assert corpus.files_of("sl", "test") == ["*/sl_ssj-ud-test.conllu", "*/sl_sst-ud-test.conllu"]
    assert corpus.files_of("sl", "validation") == ["*/sl_ssj-ud-dev.conllu"]  # sl_sst has none in UD 2.2
    tagging = load(merged("published")).corpora["wu2019_tagging"]
    assert tagging.files_of("fa", "test") == ["*/UD_Persian/fa-ud-test.conllu"]


def test_published_corpora_have_the_papers_languages():
    corpora = load(merged("published")).corpora
    numbers = {"wu2019_tagging": 15, "wu2019_parsing": 31, "mldoc": 8, "sib200": 38, "wili": 99, "xnli_translated": 15,
               "wikiann": 17, "pud": 16, "udpos_xtreme": 33, "panx": 40, "wikipedia_mbert": 104, "cc100": 100,
               "xnli_all": 15, "liu2020_text": 15, "muse": 12}  # fmt: skip
    assert {name: len(corpora[name].languages) for name in numbers} == numbers
    studied = {
        code for name in ("wu2019_tagging", "wu2019_parsing", "xnli_translated", "conll2002") for code in corpora[name].languages
    }
    assert set(corpora["sib200"].languages) == studied - {"la"}
    ner = [language for name in ("conll2002", "conll2003", "conll2003_german", "msra") for language in corpora[name].languages]
    assert sorted(ner) == ["de", "en", "es", "nl", "zh"]


def test_a_language_of_ones_own_stands_beside_those_of_another_source():
    values = merged("demo")
    values["sources"] = {"mine": {"title": "Mine"}}
    own = {"language_sources": {"sv": "mine"}}
    for name, files in {"udpos": {"files": {"test": {"en": ["en.conllu"], "sv": ["sv.conllu"]}, "train": "en-train.conllu"}},
                        "wikipedia": {"files": {"sv": "sv.xml.bz2"}}}.items():  # fmt: skip
        values["corpora"][name] |= {"languages": ["en", "sv"], **own, **files}
    config = load_fitting(values)[0]
    corpora, sources = config.corpora, load_sources(additions=config.sources)
    assert corpora["udpos"].sources() == corpora["wikipedia"].sources() == {"synthetic", "mine"}
    parts = Layout("s", sources).parts(corpora["udpos"])[""]
    assert parts["sv.test"] == ["s/mine/sv.conllu"] and parts["en.train"] == ["s/synthetic/en-train.conllu"]
    assert Layout("s", sources).of_corpus(corpora["wikipedia"])[1] == "s/mine/sv.xml.bz2"
    assert "language_sources" not in load(merged("demo")).corpora["udpos"].model_dump()


def test_the_authors_own_paragraphs_are_one_line_away():
    """All splits of the study's languages come from one archive, of a known id, and no dump is read."""
    values = merged("published")
    values["papers"]["tanti2021"]["language_corpus"] = "wiki_lang_id"
    config, sources = load(values), load_sources()
    corpus = config.corpora["wiki_lang_id"]
    assert corpus.languages == config.corpora["wikipedia"].languages and set(corpus.parts()) == set(
        config.corpora["wikipedia"].parts()
    )
    assert Layout("s", sources).of_corpus(corpus) == ["s/wiki-lang-id/wiki_lang_id_v1.0.zip"]
    assert Layout("s", sources).facts("wiki-lang-id", "wiki_lang_id_v1.0.zip") == {
        "urls": ["https://raw.githubusercontent.com/mtanti/mbert-language-specificity/7b64d0a91e9aa23eb3ace8c5c19262e2574f24d7/"
                 "wiki_lang_id_v1.0.zip"],
        "git_blob": "9e3eebe367c00e93ff2edea71a27d330c0e686d2", "sha256": None, "size": None, "manual": None,
        "mirror": ["wiki-lang-id"],
    }  # fmt: skip
    read = {corpus for recipe in recipes(config).values() for corpus, _, _ in recipe.files()}
    assert read == {"udpos", "xnli", "wiki_lang_id"}
    assert "papers.tanti2021.language_corpus to wiki_lang_id" in sources["wikipedia"].manual


def test_the_lines_for_languages_without_running_text_name_files_that_their_source_has():
    values = merged("laptop")
    values["corpora"]["xnli"]["languages"].append("vi")
    lines = ", vi], files: { vi: FILE } } }` with a FILE of ud-2.7, which has no UD_Vietnamese-PUD/vi_pud-ud-test.conllu; or"
    with pytest.raises(DataError, match=re.escape(lines)):
        load(values)
    values = merged("published")
    values["corpora"]["wikipedia"]["languages"] = ["en", "de"]
    with pytest.raises(
        DataError, match=r"has no af, ar, bg and 28 more, which .*, which reads afwiki/.* and 28 more of wiki"
    ) as caught:
        load(values)
    assert len(str(caught.value)) < 1000


def test_documents_have_labels_of_one_kind():
    values = {
        "kind": "documents",
        "source": "mldoc",
        "languages": ["de"],
        "source_languages": [],
        "files": {"test": "{lower}.test"},
    }
    texts = {"texts_source": "reuters", "texts": {"de": "rcv2.tar.xz"}}
    made = [DocumentCorpus.model_validate(values | each) for each in ({}, texts, {"labels": ["a", "b"]})]
    assert [corpus.topics for corpus in made] == [(), TOPICS, ("a", "b")]
    with pytest.raises(ValueError, match="labels: expected none beside texts_source"):
        DocumentCorpus.model_validate(values | texts | {"labels": ["a", "b"]})


@pytest.mark.skipif(not MIRROR.is_dir(), reason="needs the facts in ../shared/mirror/languages")
def test_wu2019_has_the_treebanks_of_its_sources():
    """Lists of the authors' evaluate.sh and of Ahmad et al.'s prepare_data.py, as the mirror holds them."""
    corpora = load(merged("published")).corpora

    def rows(name: str) -> list[dict[str, str]]:
        with lzma.open(MIRROR / f"{name}.tsv.xz", "rt", encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream, delimiter="\t"))

    for task, name in (("parsing", "wu2019_parsing"), ("xnli", "xnli_translated"), ("mldoc", "mldoc")):
        (languages,) = [row["languages"].split() for row in rows("wu-dredze-2019-tasks") if row["task"] == task]
        assert corpora[name].languages == languages
    parsing = corpora["wu2019_parsing"]
    for row in rows("ahmad-2019-treebanks"):
        of_language = [name.split("-")[1].lower() for name in row["treebanks"].split()]
        assert parsing.treebanks[row["language"]] == [f"{row['language']}_{name}" for name in of_language]
