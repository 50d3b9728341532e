"""The plan of the study: all its artefacts, and the inputs, settings and code from which each is made.

Each method of `Graph` describes one kind of artefact and returns the `Step` that makes it. Its docstring begins with the path of
the artefact below the results folder; words in capitals are arguments of the method. The methods follow the order of the steps.
The rules call them and add the resources that a job needs: threads, memory, time and GPUs.

`Studies` (crosslens/reports/studies.py) lists the training runs, measures, tables and figures that the papers ask for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crosslens.config.corpora import OfficialCorpus, ParagraphCorpus
from crosslens.config.encoders import FolderEncoder
from crosslens.config.recipes import Recipe
from crosslens.graph.artefacts import LANGUAGE_TABLES, LANGUAGES, Artefacts, printed
from crosslens.jobs.errors import DataError
from crosslens.measures.kinds import kind_of
from crosslens.reports import spread
from crosslens.reports.paper import MODEL_FILES

ENDINGS = {"table": (".csv", ".csv.json"), "figure": (".svg", ".png", ".svg.csv", ".svg.json")}
"""Endings of the files of a table and of a figure: first the file that users ask for, last its record."""
STYLE = "workflow/crosslens/reports/page.css"
PAGE = ("workflow/crosslens/reports/page.html.j2", STYLE, "resources/terms.yaml")
SCOREBOARD = {"template": "workflow/crosslens/reports/scoreboard.html.j2", "style": STYLE}
CLAIMS = ("workflow/crosslens/reports/claims/claims.html.j2", STYLE)
PASSPORT = {
    "style": STYLE,
    "pretraining": "resources/pretraining.yaml",
    "languages": LANGUAGES,
    "measures": "workflow/crosslens/papers/passport/measures.yaml",
}
Files = str | Sequence[str]
RECIPE = ("heads", "losses", "texts", "phases", "stages", "watched", "scores", "others")  # groups of a recipe's settings


@dataclass(frozen=True)
class Step:
    """How an artefact is made.

    script: name of a script in workflow/scripts. environment: name of a file in envs.
    inputs: files and folders by name; those outside the results folder are files of the repository.
    settings: plain values that the script gets in addition to its inputs.
    modules: modules that the script imports by a computed name, such as a measure's, as paths below crosslens without .py.
    facts: anything else that determines the result, by name, such as the content of a file of the repository.
    """

    script: str
    environment: str
    inputs: Mapping[str, Files] = field(default_factory=dict)
    settings: Any = None
    modules: Sequence[str] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def code(self) -> list[str]:
        """Code files of the repository that make the artefact, together with everything that they import."""
        return [f"workflow/scripts/{self.script}.py", *(f"workflow/crosslens/{module}.py" for module in self.modules)]

    def files(self) -> list[str]:
        """Paths of all inputs."""
        return [file for files in self.inputs.values() for file in ([files] if isinstance(files, str) else files)]


class Graph(Artefacts):
    """Steps of a configuration, with a method for each kind of artefact."""

    def params(self, step: Step) -> dict[str, Any]:
        """Everything that determines what a step makes, except its inputs. Snakemake reruns the step if any value changes."""
        code = " ".join(map(self.fingerprint, step.code))
        return {"code": code, "settings": step.settings, "environment": self.pinned(step.environment), **step.facts}

    # From official files to tokens.

    def fetch(self, source: str, path: str) -> Step:
        """sources/SOURCE/PATH: an official file."""
        facts = {"changed": self.copy_in_mirror(source, path)}
        return Step("fetch", "corpora", settings=self.official.facts(source, path), facts=facts)

    def dump_sample(self, source: str, blocks: str, seed: str, dump: str) -> Step:
        """sources/SOURCE-sample/BLOCKS-SEED/DUMP.xml.bz2: some blocks of a Wikipedia dump, as a small dump."""
        index, file = f"{self.results}/sources/{source}/{dump}-index.txt.bz2", f"{dump}.xml.bz2"
        return Step("dump_sample", "corpora", {"index": index}, self.official.facts(source, file))

    def synthetic(self) -> Step:
        """sources/synthetic/...: generated corpora in the official formats."""
        settings = {"synthetic": self.config.synthetic.model_dump(), "folder": f"{self.results}/sources/synthetic"}
        languages = {*self.config.synthetic.languages, *self.config.synthetic.train_languages}
        facts = {"languages": [self.rows(table, languages) for table in LANGUAGE_TABLES]} | self.contents_of(self.grammar)
        return Step("synthetic", "corpora", {"tables": [*LANGUAGE_TABLES, *self.grammar]}, settings, facts=facts)

    def corpus(self, corpus: str) -> Step:
        """corpora/CORPUS/: typed rows of a corpus, all languages and splits."""
        entry = self.config.corpora[corpus]
        assert isinstance(entry, OfficialCorpus)
        rows = {"limits": entry.limits, "seed": entry.seed, "texts": self.official.texts(entry)}
        rows |= entry.model_dump(include=set(entry.READS))
        settings = {"reader": entry.READER, "parts": self.official.parts(entry), "rows": rows}
        inputs = {"official": self.official.of_corpus(entry)}
        return Step("corpus", "corpora", inputs, settings, [f"corpora/{entry.READER}"], self.looked_up(corpus))

    def paragraphs(self, corpus: str, language: str) -> Step:
        """corpora/CORPUS/LANGUAGE.SPLIT.parquet: sampled paragraphs of a language, all splits."""
        entry = self.config.corpora[corpus]
        assert isinstance(entry, ParagraphCorpus)
        keys = {"form", "paragraphs", "minimum_characters", "shares", "per_page", "candidates", "seed"}
        inputs, facts = {"dump": self.official.dump(entry, language)}, self.contents_of(["resources/mediawiki.yaml"])
        return Step("paragraphs", "corpora", inputs, entry.model_dump(include=keys), facts=facts)

    def typology(self, corpus: str) -> Step:
        """corpora/CORPUS/typology.parquet: features of languages in WALS."""
        entry = self.config.corpora[corpus]
        inputs, settings = {"official": self.official.of_corpus(entry)}, {"languages": entry.languages}
        return Step("typology", "corpora", inputs, settings, facts=self.looked_up(corpus))

    def inventory(self) -> Step:
        """corpora.csv: the contents of every corpus."""
        corpora = self.config.corpora
        settings = {
            "files": self.corpus_files(*corpora),
            "corpora": {name: {"kind": corpus.kind, "source": corpus.source} for name, corpus in corpora.items()},
        }
        return Step("inventory", "corpora", {"corpora": self.corpus_outputs(*corpora)}, settings)

    def tokenizer(self, encoder: str) -> Step:
        """tokenizers/ENCODER/: an encoder without its weights. Its tokenizer may be trimmed to texts or learnt from them."""
        entry = self.config.encoders[encoder]
        inputs = {
            "hub": self.official.of_encoder(entry, "DESCRIPTION"),
            "shared": [f"{self.results}/tokenizers/{shared}"] if (shared := entry.shares()) else [],
            "texts": self.corpus_outputs(*entry.corpora),
        }
        settings = self.described(encoder) | {"texts": self.corpus_files(*entry.corpora)}
        return Step("tokenizer", "encoders", inputs, settings, facts=self.own_files(encoder, FolderEncoder.DESCRIPTION))

    def encoder(self, encoder: str) -> Step:
        """encoders/ENCODER/: an encoder in a folder that transformers can load."""
        hub = self.official.of_encoder(self.config.encoders[encoder], "WEIGHTS")
        inputs = {"hub": hub, "tokenizer": f"{self.results}/tokenizers/{encoder}"}
        settings = self.described(encoder) | {"rehearse": self.config.rehearse}
        return Step("encoder", "encoders", inputs, settings, facts=self.own_files(encoder, FolderEncoder.WEIGHTS))

    def tokens(self, encoder: str, tokenisation: str, corpus: str) -> Step:
        """tokens/ENCODER/TOKENISATION/CORPUS/: the texts of a corpus as subwords."""
        entry = self.config.tokenisations[tokenisation]
        if (entry.alters() or entry.whole_text) and self.config.encoders[encoder].trimmed():
            raise DataError(
                f"tokenisations.{tokenisation}: expected an encoder with its whole vocabulary, since texts are altered or whole, "
                f"found {encoder}, which has the subwords of unaltered words alone; set encoders.{encoder}.corpora to []"
            )
        inputs = {
            "tokenizer": f"{self.results}/tokenizers/{encoder}",
            "corpus": self.corpus_outputs(corpus),
            "punkt": self.official.of_tokenisation(entry),
        }
        settings = {
            "tokenisation": entry.model_dump(exclude_defaults=True),
            "files": self.corpus_files(corpus),
            "parts": list(self.config.corpora[corpus].stored()),
            "shared": self.shares_of_train(corpus),
        }
        return Step("tokens", "encoders", inputs, settings)

    def sample(self, samples: str) -> Step:
        """samples/SAMPLES/: the words, or texts, whose hidden states a paper measures."""
        settings = self.studies.samples[samples].model_dump(mode="json")
        return Step("sample", "encoders", {"tokens": self.sampled_tokens(samples)}, settings)

    # Models, their hidden states and what is measured.

    def training(self, recipe: str, seed: str) -> Step:
        """models/RECIPE/seedSEED/: predictions of a trained model, and its weights if anything reads them."""
        entry, measures = self.recipe(recipe), f"{self.results}/measures"
        artefacts = [entry.artefact] if entry.artefact else []
        inputs = {
            "encoder": f"{self.results}/encoders/{entry.encoder}",
            "tokens": self.trained_on(entry),
            "artefact": [f"{measures}/{file.kind}/{file.recipe}/seed{file.seed}.parquet" for file in artefacts],
            "pretrained": self.pretrained(entry, seed),
        }
        return Step("train", "encoders", inputs, facts=groups(entry))

    def trials(self, recipe: str, seed: str) -> Step:
        """models/RECIPE/seedSEED/: the trials of a hyperparameter search that share a job."""
        entry, (_, trials) = self.recipe(recipe), self.studies.trials[recipe]
        inputs = {"encoder": f"{self.results}/encoders/{entry.encoder}", "tokens": self.trained_on(entry)}
        return Step("train_trials", "encoders", inputs, [trial.settings() for trial in trials])

    def states(self, recipe: str, seed: str) -> Step:
        """states/RECIPE/seedSEED/: hidden states of sampled words or texts, from a trained or only pretrained encoder."""
        entry, samples = self.recipe(recipe), self.samples_of(recipe)
        inputs = {
            "encoder": f"{self.results}/encoders/{entry.encoder}",
            "model": self.weights(recipe, seed),
            "samples": f"{self.results}/samples/{samples}",
            "tokens": self.sampled_tokens(samples),
        }
        settings = {
            "samples": self.studies.samples[samples].model_dump(mode="json"),
            "units": entry.units.model_dump(),
            **self.config.states.model_dump(),
        }
        return Step("states", "encoders", inputs, settings)

    def measure(self, kind: str, recipe: str, seed: str = "") -> Step:
        """measures/KIND/RECIPE.parquet or, for kinds that are measured by seed, measures/KIND/RECIPE/seedSEED.parquet."""
        paper, entry = self.studies.recipe(recipe)
        module, source, seeds = kind.partition("@")[0], kind_of(kind).source, self.studies.seeds(recipe)
        settings = self.measure_settings(kind, recipe)
        return Step(
            script="measure",
            environment="encoders" if source == "encoder" else "measures",
            inputs=self.measured(kind, recipe, seed, settings),
            settings={
                "module": module,
                "common": {"paper": paper.key, "encoder": entry.encoder, "task": entry.task},
                "measure": settings,
                "seeds": [int(seed)] if seed else list(seeds[:1] if source == "samples" else seeds),
            },
            modules=[f"measures/{module}"],
        )

    # Tables and figures, and the pages that show them.

    def item(self, item: str) -> Step:
        """ITEM.csv: a table of our values and the published ones. Or ITEM.svg, .png and .svg.csv: a figure and its data."""
        paper, name, entry = self.studies.items[item]
        cited = self.content(printed(entry.cites)) if entry.cites else ""
        return Step(
            script=entry.form,
            environment={"table": "measures", "figure": "figures"}[entry.form],
            inputs=self.item_inputs(paper, entry),
            settings=self.item_settings(paper, name, entry),
            modules=[f"papers/{paper.key}/{entry.module}"],
            facts={"published": self.content(printed(paper.key)), "cited": cited},
        )

    def page(self, page: str) -> Step:
        """PAGE.html: a table or figure with its caption, or the report with all tables and figures of a paper."""
        paper, items = self.pages[page]
        files = [f"{self.results}/{paper.path(name)}{ENDINGS[item.form][0]}" for name, item in items.items()]
        template, style, terms = PAGE
        is_report = page not in self.studies.items
        claims = self.claims_files.get(paper.key, [])[:1] if is_report else []  # a report states the main result
        tables = spread.tables(self.root, self.about.preset, map(paper.path, items))
        several = [path.relative_to(self.root).as_posix() for path in tables]  # committed tables over several seeds
        inputs = {
            "shown": files,
            "records": [f"{file}.json" for file in files],
            "template": template,
            "style": style,
            "several": several,
            "terms": terms,
            "claims": claims,
        }
        settings = self.about.page(paper, items, report=is_report) | {"names": dict(paper.names(self.config)) if claims else {}}
        facts = self.contents_of(PAGE) | {"several": [*map(self.content, several)], "claims": [*map(self.content, claims)]}
        return Step("page", "figures", inputs, settings, facts=facts)

    def scores(self, paper: str) -> Step:
        """scores/PAPER.parquet: all records behind the tables and figures of a paper."""
        items = [item for owner, _, item in self.studies.items.values() if owner.key == paper and not item.searched]
        needs = [need for item in items for need in item.needs if need.kind not in MODEL_FILES]
        measured = [need for need in needs if kind_of(self.studies.measure(paper, need)).records]
        return Step(
            "gather", "measures", {"records": sorted({file for need in measured for file in self.need_files(paper, need)})}
        )

    def passport(self, encoder: str) -> Step:
        """passport/ENCODER.html, .svg, .png and .json: the page of an encoder, its picture and its exchange file."""
        table = f"{self.results}/passport/{encoder}.csv"
        return self._passport_page("passport", {"table": table, "record": f"{table}.json"})

    def comparison(self, pair: str) -> Step:
        """passport/PAIR.html, .csv, .svg and .png: the passports of some encoders, side by side."""
        tables = [f"{self.results}/passport/{encoder}.csv" for encoder in self.compared[pair]]
        return self._passport_page("comparison", {"tables": tables, "records": [f"{file}.json" for file in tables]})

    def _passport_page(self, script: str, tables: Mapping[str, Files]) -> Step:
        """Page of one passport or of several. script: also the name of the template. tables: tables and records, by name."""
        self.config.expect_study()
        template = f"workflow/crosslens/papers/passport/{script}.html.j2"
        facts = {"template": self.content(template)} | self.contents_of(PASSPORT.values())
        return Step(script, "figures", {"template": template, **PASSPORT, **tables}, facts=facts)

    def scoreboard(self) -> Step:
        """scoreboard.csv and .html: printed cells next to ours. It uses the tables that exist, and none is built for it."""
        self.config.expect_study()
        published = [printed(paper.key) for paper in self.studies.papers]
        inputs = {"published": self.existing(*published), **SCOREBOARD}
        modules = [f"papers/{paper.key}/paper" for paper in self.studies.papers]
        facts = {name: self.content(file) for name, file in SCOREBOARD.items()} | self.contents_of(published)
        return Step("scoreboard", "figures", inputs, {"heading": f"Scoreboard: {self.results}"}, modules, facts)

    def claims(self) -> Step:
        """claims.csv and .html, and the front page index.html: verdicts on claims, from the tables and records that exist."""
        self.config.expect_study()
        texts = self.claims_texts
        modules = [
            f"papers/{key}/claims" for key in self.claims_files if self.existing(f"workflow/crosslens/papers/{key}/claims.py")
        ]
        inputs = {"scoreboard": f"{self.results}/scoreboard.html", "texts": texts}
        facts = {"languages": self.content(LANGUAGES), "evidence": self.evidence} | self.contents_of(texts)
        return Step("claims", "figures", inputs, {"papers": self.claims_settings, "texts": texts}, modules, facts)

    @property
    def claims_texts(self) -> list[str]:
        """Claims files and printed values of all papers, then the template and style of the claims page."""
        return [*(file for files in self.claims_files.values() for file in files), *CLAIMS]


def groups(recipe: Recipe) -> dict[str, str]:
    """Settings of a recipe in groups, each a fact: Snakemake then names the groups that changed as the reason for a rerun."""
    settings = recipe.settings()
    heads, stages, scores = settings.pop("heads"), settings.pop("stages"), settings.pop("scores")
    phases = [stage.pop("phases") for stage in stages]
    losses = [[phase.pop("terms") for phase in of_stage] for of_stage in phases]
    texts = [[[term.pop("data") for term in terms] for terms in of_stage] for of_stage in losses]
    watched = [{key: stage.pop(key) for key in ("select_data", "watch") if key in stage} for stage in stages]
    values = (heads, losses, texts, phases, stages, watched, scores, settings)
    return {name: f"{name}: {value}" for name, value in zip(RECIPE, values, strict=True)}
