"""Tables and figures of synthetic inputs: an item of a scale as the code makes it under its configuration, without data.

The numbers mean nothing. The lines of a table, their names and their remarks are those of a run.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import product
from math import cos, sin
from pathlib import Path
from types import ModuleType
from typing import Any
from zlib import crc32

import pandas as pd
import pyarrow as pa
from crosslens.config.heads import LANGUAGE, TASK
from crosslens.config.recipes import Recipe
from crosslens.corpora import schema
from crosslens.corpora.sources.registry import load as load_sources
from crosslens.encoding import samples
from crosslens.encoding.tokens.schema import TOKENS
from crosslens.jobs import parquet
from crosslens.jobs.checksums import checksummed, write_checksums
from crosslens.jobs.records import RECORDS
from crosslens.measures import clusters, projection
from crosslens.measures.shared import change_terms, cka, identification_terms, masked_baselines, shift_terms
from crosslens.measures.shared.shift_data import Mean
from crosslens.numerics import definitions as d
from crosslens.numerics.windows import BAND, BEYOND, CONTIGUOUS, FIRST, FOLLOWING, SCATTERED, WINDOWS, of_layer
from crosslens.papers import papers
from crosslens.papers.configuration import load
from crosslens.papers.inputs import Inputs
from crosslens.papers.liu2020 import retrieval
from crosslens.reports.about import About
from crosslens.reports.cells import Published, set_apart
from crosslens.reports.paper import MODEL_FILES, Need, Paper, TableOrFigure
from crosslens.reports.studies import Studies
from crosslens.training.run import PREDICTIONS
from matplotlib.figure import Figure

PUBLISHED = Path(__file__).parents[1] / "resources/published"
CUT = (d.CUT_TEXTS, d.CUT_WORDS)
MEASURES = {d.UNSEEN_RELATIONS: "unseen"}  # of shares that are no scores
TREES = (d.LAS, d.UAS, d.LAS_WITHOUT_PUNCTUATION, d.UAS_WITHOUT_PUNCTUATION, d.LAS_WITHOUT_ROOTS)
PROBES = {"target": (d.PROBE_ACROSS, d.PROBE_WITHIN, d.PROBE_RANDOM), "paragraphs": (d.PROBE_ACROSS, d.PROBE_RANDOM)}
WIDTH = 768  # of hidden states
NO_BANDS = {FIRST, FOLLOWING, CONTIGUOUS, BEYOND, SCATTERED}
WINDOWED = {
    "language_identification": [
        ("language", d.PAIRS, {*WINDOWS}), ("language", d.PAIRS_TEXTS, NO_BANDS), ("language", d.PAIRS_SHUFFLED, {FIRST}),
        ("language", d.ONE_AGAINST_REST, {FIRST, SCATTERED}),
    ],
    "typology": [("typology", d.FEATURES, {*WINDOWS}), ("typology", d.FEATURES_SHUFFLED, {FIRST, SCATTERED})],
    "language_similarity": [
        (item, definition, kinds)
        for item in ("genus", "family") for definition, kinds in ((d.V_CENTRED, {*WINDOWS}), (d.V_CHANCE, {FIRST}))
    ],
}  # fmt: skip
"""Kind -> item, definition and windows of its records."""
SUBWORDS = ["[CLS]", "[SEP]", "[UNK]", "the", "##se", "9", "we"]


@dataclass(frozen=True)
class SyntheticInputs(Inputs):
    """Inputs whose records are in memory, by kind of measure."""

    by_kind: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    def records(self, *kinds: str) -> pd.DataFrame:
        """The records of some kinds of measures, or of all."""
        return pd.concat([self.by_kind[kind] for kind in kinds or self.by_kind], ignore_index=True)


class Preset:
    """The tables of a scale. values: its configuration; published: that of config.yaml alone; folder: for files."""

    def __init__(self, values: Mapping[str, Any], published: Mapping[str, Any], folder: Path) -> None:
        self.config, self.folder = load(dict(values)), folder
        self.studies = Studies(self.config, papers())
        self.papers = {paper.key: paper for paper in self.studies.papers}
        self.about = About(self.studies, Studies(load(dict(published)), papers()), load_sources())

    def table(self, key: str, name: str, *, cut: float, empty: bool = False, factor: float = 1.0) -> pd.DataFrame:
        """A table as its rule writes it.

        cut: share of the texts and words that are cut; empty: whether there are no scores; factor: of the scores, which are from
        0.3 to 0.7 without it and never above 1.
        """
        paper, item = self.papers[key], self.papers[key].items(self.config)[name]
        cells = self._module(key, item).table(name, self._inputs(paper, item, cut, empty, factor), item.settings)
        return set_apart(cells, self.about.apart(paper, self.about.uses(paper, item)))

    def figure(self, key: str, name: str) -> Figure:
        """A figure as its rule draws it."""
        paper, item = self.papers[key], self.papers[key].items(self.config)[name]
        figure: Figure = self._module(key, item).figure(name, self._inputs(paper, item), item.settings)
        return figure

    def _module(self, key: str, item: TableOrFigure) -> ModuleType:
        return import_module(f"crosslens.papers.{key}.{item.module}")

    def _inputs(
        self, paper: Paper, item: TableOrFigure, cut: float = 0.0, empty: bool = False, factor: float = 1.0
    ) -> SyntheticInputs:  # fmt: skip
        section = self.config.paper(paper.key)
        files = [[self._file(paper, need, seed) for seed in need.seeds] for need in item.needs]
        return SyntheticInputs(
            needs=item.needs, files=files, published=Published.read(PUBLISHED / f"{paper.key}.csv"),
            by_kind=self._by_kind(paper, item, cut, empty, factor),
            tokens={corpus: self._tokens(corpus, cut) for corpus in item.corpora},
            samples={name: self._samples(name) for name in item.samples},
            tokenizer=self._tokenizer(item.encoder or section.encoder) if item.tokenizer else None,
            typology=self._typology(item.typology) if item.typology else None,
        )  # fmt: skip

    def _by_kind(self, paper: Paper, item: TableOrFigure, cut: float, empty: bool, factor: float) -> dict[str, pd.DataFrame]:
        """Records of an item by kind of measure."""
        measured = [need for need in item.needs if need.kind not in (*MODEL_FILES, "projection")]
        by_kind: dict[str, list[dict[str, Any]]] = {need.kind: [] for need in measured}
        for need in measured if not empty else ():
            recipe = self.studies.recipe(need.recipe)[1]
            settings = self.studies.settings(self.studies.measure(paper.key, need), need.recipe)
            common = {"paper": paper.key, "encoder": recipe.encoder, "task": recipe.task, "recipe": recipe.name}
            for seed in need.seeds:
                records = self._records(need.kind, recipe, settings, cut, factor)
                by_kind[need.kind] += [common | {"seed": seed} | row for row in records]
        return {kind: pa.Table.from_pylist(rows, schema=RECORDS).to_pandas() for kind, rows in by_kind.items()}

    # Records of measures.

    def _records(
        self, kind: str, recipe: Recipe, settings: Mapping[str, Any], cut: float, factor: float = 1.0
    ) -> Iterator[dict[str, Any]]:
        """Records of a measure for a training run, with values of no meaning."""
        for number, place in enumerate(self._places(kind, recipe, settings), crc32(recipe.name.encode())):
            value = cut if place["measure"] in ("cut", "unseen") else min(1.0, factor * (0.3 + 0.4 * (number * 37 % 97) / 97))
            ends = {} if place["measure"] in ("cut", "unseen", "adversary") else {"low": value - 0.01, "high": value + 0.01}
            yield {"split": "test", "language": "all", "value": value, "n": 1000} | ends | place

    def _places(self, kind: str, recipe: Recipe, settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Measure, definition and place of each record."""
        match kind:
            case "classification" | "attachment" | "spans":
                yield from _scores(kind, recipe, settings)
            case "similarity":
                targets = [code for code in self.config.corpora[settings["corpus"]].languages if code != settings["reference"]]
                definitions, layers = (*cka.DEFINITIONS, cka.LENGTH_OUT), range(self._blocks(recipe.encoder) + 1)
                for definition, language, layer in product(definitions, targets, layers):
                    place = {"item": kind, "corpus": settings["corpus"], "language": language, "layer": layer}
                    yield from (place | {"measure": measure, "definition": definition} for measure in ("cka", "cka floor"))
            case "change":
                weights = {"item": "weights", "measure": change_terms.WEIGHTS, "definition": change_terms.TRAINED}
                yield from (weights | {"layer": layer} for layer in range(self._blocks(recipe.encoder) + 1))
                for corpus, layer in product(settings["corpora"], range(self._blocks(recipe.encoder) + 1)):
                    place = {"item": "states", "corpus": corpus, "layer": layer, "measure": change_terms.STATES}
                    for code, name in product(
                        self.config.corpora[corpus].languages, (change_terms.TRAINED, change_terms.LOWER_HALF)
                    ):
                        yield place | {"language": code, "definition": name}
            case "sentence_probes":
                place = {"measure": "probe", "item": "language", "corpus": settings["corpus"], "definition": d.PROBE_WITHIN}
                for layer in range(self._blocks(recipe.encoder) + 1):
                    yield place | {"layer": layer, "gradient": 0.0, "converged": True}
            case "probes":
                for corpus, definitions in PROBES.items():
                    place = {"measure": "probe", "item": "language", "corpus": settings[corpus]}
                    convergence = {"gradient": 0.1, "converged": False}
                    yield from (place | convergence | {"definition": definition} for definition in definitions)
            case "units":
                for item, definition in product(("language of words", "language of texts"), (d.PROBE_ACROSS, d.PROBE_RANDOM)):
                    place = {"measure": "probe", "item": item, "corpus": next(iter(settings["corpora"]))}
                    yield place | {"definition": definition, "gradient": 0.1, "converged": False}
            case "spelling":
                for corpus in PROBES:
                    yield {"measure": kind, "item": "language", "corpus": settings[corpus], "definition": d.ACCURACY}
            case "clusters":
                target, paragraphs = settings["corpora"]
                for item, corpus in (("labels", target), ("language", target), ("language", paragraphs)):
                    place = {"measure": kind, "item": item, "corpus": corpus}
                    groups = ("", f"; {clusters.TRAINING}", f"; {clusters.OTHERS}")
                    suffixes = groups if item == "labels" and settings.get("source_language") else groups[:1]
                    definitions = product(suffixes, (d.V_MEASURE, d.AMI, d.V_CHANCE))
                    yield from (place | {"definition": f"{definition}{suffix}"} for suffix, definition in definitions)
            case "adversary":
                watched = any(stage.watch for stage in recipe.stages)
                for definition in (d.ADVERSARY_START, d.ADVERSARY_END, d.ADVERSARY_BEST) if watched else ():
                    yield {"measure": kind, "item": settings["head"], "split": "validation", "definition": definition}
            case "language_identification" | "typology" | "language_similarity":
                yield from self._windows(kind, recipe, settings)
            case "language_groups":
                for name, seed in product([*settings["groups"], settings["random"]], settings["seeds"]):
                    place = {"measure": kind, "item": name, "corpus": settings["corpus"], "seed": seed, "definition": d.PAIRS}
                    place |= {"layer": self._blocks(recipe.encoder), "subspace": settings["method"]}
                    yield from (place | {"window": BAND, "x": x} for x in settings["bands"])
                    yield place | {"window": BEYOND, "x": 2}
            case "retrieval":
                languages = [code for code in self.config.corpora[next(iter(settings["corpora"]))].languages if code != "en"]
                last = self._blocks(recipe.encoder)
                layers = [*product(range(last), retrieval.OF_LAYERS), *product([last], retrieval.OF_LAST)]
                for language, item in ((code, item) for code in languages for item in (f"en-{code}", f"{code}-en")):
                    place = {"measure": "word retrieval", "item": item, "language": language}
                    yield from (place | {"layer": layer, "definition": definition} for layer, definition in layers)
                    # Of words alone, and so the same for all models.
                    yield from (place | {"definition": definition, "value": 0.5} for definition in retrieval.OF_WORDS)
            case "masked":
                for definition in (
                    masked_baselines.MODEL,
                    masked_baselines.BIGRAM,
                    masked_baselines.MAJORITY,
                    masked_baselines.GAIN,
                ):
                    yield {"measure": masked_baselines.MASKED, "item": kind, "split": "validation", "definition": definition}
            case "transfer":
                for definition in (shift_terms.SELECTED, shift_terms.ONE_WEIGHT, shift_terms.ORACLE, shift_terms.RANDOM_SELECTED):
                    place = {"layer": settings["layer"], "definition": definition}
                    for number, language in enumerate(settings["languages"]):
                        of_language = place | {"language": language, "weight": number / 10}
                        yield of_language | {"measure": shift_terms.ACCURACY}
                        yield of_language | {
                            "measure": shift_terms.GAIN,
                            "low": None,
                            "high": None,
                        }  # as where no prediction differs
                    yield place | {"measure": shift_terms.GAIN}
            case "language_of_subwords":
                codes = self.config.corpora[next(iter(settings["corpora"]))].languages
                for definition, language in product((identification_terms.EVERY, identification_terms.SEVERAL), ("all", *codes)):
                    place = {"item": "language of subwords", "measure": shift_terms.ACCURACY, "language": language}
                    yield place | {"definition": definition, "converged": True}
                    yield place | {"definition": f"{definition}; {identification_terms.CHANCE}"}
                    if language == "all":
                        yield place | {"definition": f"{definition}; {identification_terms.ALONE}"}
            case "language_after_shift":
                layers = range(settings["layer"], self._blocks(recipe.encoder) + 1)
                unshifted = [
                    f"{shift}; {identification_terms.UNSHIFTED_PROBE}" for shift in (shift_terms.SHIFT, shift_terms.RANDOM)
                ]
                definitions = (shift_terms.NO_SHIFT, shift_terms.SHIFT, shift_terms.RANDOM, *unshifted)
                for language, layer, definition in product(settings["languages"], layers, definitions):
                    place = {"item": "language", "measure": shift_terms.ACCURACY, "language": language, "layer": layer}
                    yield place | {"definition": definition, "converged": True}
            case "translation":
                yield from self._translated(recipe, settings)
            case _:
                raise NotImplementedError(f"{kind}: say here what it records")

    def _translated(self, recipe: Recipe, settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Of token translation."""
        layers, weights = range(1, self._blocks(recipe.encoder) + 1), settings["weights"]
        judged = {language for corpus in settings["dictionaries"] for language in self.config.corpora[corpus].languages}
        layer = min(settings["layer"], layers[-1])
        first, *others = (Mean(**mean).name for mean in settings["means"])
        everywhere = [(shift_terms.SHIFT, at, weight, first) for at, weight in product(layers, weights)]
        tested = [(shift_terms.SHIFT, layer, weight, first) for weight in settings["negative_weights"]]
        tested += [(shift_terms.SHIFT, layer, weight, mean) for weight, mean in product(weights, others)]
        tested += [(name, layer, weight, first) for name, weight in product((shift_terms.RANDOM, shift_terms.THIRD), weights)]
        scores = (shift_terms.CONVERT_RATE, shift_terms.BLEU_1)
        for source, target in settings["directions"]:
            place = {"item": f"{source}->{target}", "language": target}
            for split, cells, measures in (
                ("dev", everywhere, scores),
                (
                    "test",
                    [(shift_terms.NO_SHIFT, 0, 0.0, first), *everywhere, *tested],
                    (*scores, shift_terms.WITHOUT_PENALTY, *shift_terms.SHARES.values()),
                ),
            ):
                for (definition, at, weight, mean), measure in product(cells, measures):
                    of_cell = {"split": split, "definition": definition, "layer": at, "weight": weight, "subspace": mean}
                    yield place | of_cell | {"measure": measure}
            frequent = {"definition": shift_terms.FREQUENT, "layer": 0, "weight": 0.0, "subspace": first}
            yield from (place | frequent | {"measure": measure} for measure in scores)
            of_dictionary = (shift_terms.IN_DICTIONARY, shift_terms.TRANSLATIONS, shift_terms.ELSEWHERE)
            for weight, measure in product(weights, of_dictionary if {source, target} & judged else ()):
                of_cell = {"definition": shift_terms.SHIFT, "layer": layer, "weight": weight, "subspace": first}
                yield place | of_cell | {"measure": measure}
            for measure in (shift_terms.SHARES["target"], shift_terms.PROBABILITY) if source == settings["masked_source"] else ():
                yield place | {"definition": shift_terms.MASKED, "measure": measure}

    def _windows(self, kind: str, recipe: Recipe, settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """What probes, or groups of languages, record by window of a subspace's coordinates."""
        last = self._blocks(recipe.encoder)
        rank = len(self.config.corpora[settings["corpus"]].languages) - 1
        options = {name: settings[name] for name in ("dimensions", "bands", "layer_dimension")}
        for layer, method, seed in product(range(last + 1), settings["methods"], settings["seeds"]):
            windows = of_layer(layer == last, **options, width=WIDTH, rank=rank, size=settings["band"], draws=1, seed=seed)
            for window, (item, definition, kinds) in product(windows, WINDOWED[kind]):
                if window.kind in kinds and (layer == last or not kinds <= {FIRST, SCATTERED} or kind == "typology"):
                    yield {"measure": kind, "item": item, "definition": definition, "corpus": settings["corpus"], "seed": seed,
                           "layer": layer, "subspace": method, "window": window.kind, "x": window.x}  # fmt: skip

    def _blocks(self, encoder: str) -> int:
        return self.config.encoders[encoder].n_layers() or 12

    # Files.

    def _file(self, paper: Paper, need: Need, seed: int) -> Path:
        """File of a need that is read beside records: the points of a projection, or a file of a training run."""
        recipe = self.studies.recipe(need.recipe)[1]
        if need.kind == "projection":
            corpora = self.studies.settings(self.studies.measure(paper.key, need), need.recipe)["corpora"]
            return self._points(recipe, seed, corpora)
        return self._training(recipe, seed) / MODEL_FILES.get(need.kind, "")

    def _points(self, recipe: Recipe, seed: int, corpora: Sequence[str]) -> Path:
        """Twenty points of each language on a spiral, a turn for each label."""
        path, labels = self.folder / "points" / recipe.name / f"seed{seed}.parquet", recipe.heads[TASK].labels
        if not path.exists():
            rows = []
            for corpus in corpora:
                for number, (language, point) in enumerate(product(self.config.corpora[corpus].languages, range(20))):
                    angle, label = number * 2.4, number % len(labels)
                    place = {"x": (label + point / 20) * cos(angle), "y": (label + point / 20) * sin(angle)}
                    names = {"recipe": recipe.name, "seed": seed, "corpus": corpus, "label": labels[label], "language": language}
                    rows.append(names | place)
            parquet.write(pa.Table.from_pylist(rows, schema=projection.SCHEMA), path)
        return path

    def _training(self, recipe: Recipe, seed: int) -> Path:
        """Files of a training run that tables read beside measures: predictions of languages, and the history of an epoch."""
        folder = self.folder / "models" / recipe.name / f"seed{seed}"
        if not folder.exists():
            rows = []
            for data in (score.data for score in recipe.scores if score.head == LANGUAGE):
                place = blank(PREDICTIONS) | {"head": LANGUAGE, "corpus": data.corpus, "split": data.split}
                for number, language in enumerate(data.languages):
                    rows.append(place | {"language": language, "id": language, "gold": [number], "predicted": [number // 2]})
            parquet.write(pa.Table.from_pylist(rows, schema=PREDICTIONS), folder / MODEL_FILES["predictions"])
            losses = {f"loss {i} {name}": 0.5 for i, name in enumerate(("task cross_entropy", "language uniformity"))}
            distances = {f"distance {layer}": 0.1 for layer in range(1, self._blocks(recipe.encoder) + 1)}
            epoch = {"stage": "task", "epoch": 1, "best_epoch": 1, "n distance": 100, **losses, **distances}
            with checksummed(folder / MODEL_FILES["history"]) as temporary:
                pd.DataFrame([epoch]).to_csv(temporary, index=False)
        return folder

    def _tokens(self, corpus: str, cut: float) -> Path:
        """Two texts of each language and split."""
        folder = self.folder / f"tokens-{cut}" / corpus
        if not folder.exists():
            tokens = {"subwords": [0, 3, 5, 2, 6, 1], "words": ["the", "9", "we"], "positions": [1, 2, 4], "labels": ["X"] * 3}
            for language, split in self.config.corpora[corpus].parts():
                rows = [blank(TOKENS) | tokens | {"id": f"{split}-{i}", "language": language} for i in range(2)]
                counts = {"texts": 2, "unknown": int(10 * cut), "cut_texts": int(10 * cut), "cut_words": int(10 * cut)}
                counts["special"] = [1, 1, 1]
                schema.write(rows, folder / f"{language}.{split}.parquet", TOKENS, counts)
            write_checksums(folder)
        return folder

    def _samples(self, name: str) -> Path:
        folder = self.folder / "samples" / name
        if not folder.exists():
            for corpus, draw in self.studies.samples[name].corpora.items():
                for language in draw.languages:
                    row = blank(samples.SCHEMA) | {"language": language, "split": draw.sample_split, "sample": True}
                    parquet.write(pa.Table.from_pylist([row], schema=samples.SCHEMA), folder / corpus / f"{language}.parquet")
            write_checksums(folder)
        return folder

    def _tokenizer(self, encoder: str) -> Path:
        folder = self.folder / "tokenizers" / encoder
        if not folder.exists():
            special = [{"content": name, "id": number, "special": True} for number, name in enumerate(SUBWORDS[:3])]
            content = {"model": {"vocab": {name: number for number, name in enumerate(SUBWORDS)}}, "added_tokens": special}
            folder.mkdir(parents=True)
            for name, value in (("tokenizer.json", content), ("config.json", {"num_hidden_layers": self._blocks(encoder)})):
                (folder / name).write_text(json.dumps(value), encoding="utf-8")
            write_checksums(folder)
        return folder

    def _typology(self, corpus: str) -> Path:
        path = self.folder / "typology.parquet"
        languages = self.config.corpora[corpus].languages
        rows = [{"language": code, "feature": "1A", "value": 1 + number % 2} for number, code in enumerate(languages)]
        parquet.write(pa.Table.from_pylist(rows), path)
        return path


def blank(columns: pa.Schema) -> dict[str, Any]:
    """A row of a schema whose numbers are 0 and whose texts and lists are empty."""
    return {field.name: [] if pa.types.is_list(field.type) else pa.array([0]).cast(field.type)[0].as_py() for field in columns}


def _scores(kind: str, recipe: Recipe, settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Records of predictions: each head on each of its texts."""
    for score in recipe.scores:
        definitions: Sequence[str] = ()
        if kind == "classification":
            definitions = settings["definitions"].get(score.head, ())
        elif score.head == settings["head"]:
            misc = [d.F1_MISC_AS_O] if any(tag.endswith("-MISC") for tag in settings.get("labels", ())) else []
            spans = [d.F1, d.F1_STRICT, d.F1_BY_WINDOW, *misc, d.ACROSS_WINDOWS]
            seen = [d.LAS_SEEN, d.UNSEEN_RELATIONS] if settings.get("training") else []  # relations with subtypes
            definitions = [*([*TREES, *seen] if kind == "attachment" else spans), *CUT]
        place = {"item": score.head, "corpus": score.data.corpus, "split": score.data.split}
        for definition in definitions:
            languages = ["all"] if kind == "classification" else []
            languages += [] if definition == d.TRANSFER else score.data.languages
            measure = "cut" if definition in (*CUT, d.ACROSS_WINDOWS) else MEASURES.get(definition, "score")
            yield from (place | {"measure": measure, "definition": definition, "language": code} for code in languages)
