"""Paths and settings of artefacts, from the configuration and the papers. `Graph` (plan.py) builds its steps from them."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from crosslens.config.base import languages_table, nearest
from crosslens.config.corpora import Corpus, OfficialCorpus
from crosslens.config.encoders import Encoder
from crosslens.config.presets import keys_digest, read_yaml
from crosslens.config.recipes import Recipe
from crosslens.config.whole import PaperSection
from crosslens.corpora.sources.mirrors import content_in_mirror, in_mirrors
from crosslens.corpora.sources.pins import digests
from crosslens.corpora.sources.places import Layout
from crosslens.corpora.sources.registry import Source
from crosslens.corpora.sources.registry import load as load_sources
from crosslens.jobs.bounded import read_text
from crosslens.jobs.checksums import identities
from crosslens.jobs.digest_cache import Contents
from crosslens.jobs.errors import DataError
from crosslens.jobs.fingerprint import Fingerprints, pins
from crosslens.measures.kinds import expected_settings, kind_of
from crosslens.papers import papers
from crosslens.papers.configuration import WholeConfig, load
from crosslens.reports.about import About
from crosslens.reports.paper import MODEL_FILES, Need, Paper, TableOrFigure
from crosslens.reports.studies import Studies

LANGUAGES = "resources/languages.csv"
LANGUAGE_TABLES = (LANGUAGES, "resources/synthetic/languages.csv")  # synthetic corpora read only the rows of their languages
SOURCE_KEYS = ("source", "train_source", "texts_source", "vocabulary")  # keys of corpora and encoders that name a source


@dataclass(frozen=True, eq=False)
class Artefacts:
    """Paths, settings and digests of the artefacts of a configuration.

    values: contents of the configuration files, merged but not validated. root: folder of the repository. contents: digests of
    files outside the results folder. misfits: key of each paper that does not fit the configuration -> reason.
    """

    config: WholeConfig
    values: Mapping[str, Any]
    root: Path
    contents: Contents = field(default_factory=Contents)
    misfits: Mapping[str, str] = field(default_factory=dict)

    @property
    def results(self) -> str:
        """Results folder."""
        return self.config.results

    @cached_property
    def fingerprint(self) -> Callable[[str], str]:
        """Function that returns the fingerprint of a code file, which depends on what the code does but not on its comments."""
        return cache(Fingerprints(self.root))

    @cached_property
    def pinned(self) -> Callable[[str], str]:
        """Function that returns a digest of the packages that an environment pins, whether or not conda is used."""
        return cache(lambda name: pins(self.root / "envs" / f"{name}.yaml"))

    @cached_property
    def studies(self) -> Studies:
        """Training runs, samples, measures, tables and figures of all papers, by name."""
        return Studies(self.config, papers())

    @cached_property
    def sources(self) -> dict[str, Source]:
        """Sources of official files by name. Raises DataError if a corpus or an encoder names an unknown source."""
        sources = load_sources(additions=self.config.sources)
        for place, entry in self._entries.items():
            for name in sorted(entry.sources() - sources.keys()):
                key = next((key for key in SOURCE_KEYS if getattr(entry, key, None) == name), "language_sources")
                raise DataError(
                    f"{place}.{key}: expected an entry of resources/sources.yaml, or of sources in an overlay, found "
                    f"'{name}'{nearest(name, sources)}"
                )
        return sources

    @cached_property
    def official(self) -> Layout:
        """Paths of official files below the results folder."""
        return Layout(f"{self.results}/sources", self.sources)

    @cached_property
    def about(self) -> About:
        """Facts of this preset and of the full study, for pages and tables."""
        published = read_yaml(self.root / "config.yaml")
        is_published = published == self.values
        return About(self.studies, self.studies if is_published else Studies(load(published), papers()), self.sources)

    def check(self) -> None:
        """Raise DataError, before anything is planned, if a source is unknown or a comparison has the name of an encoder."""
        _ = self.sources, self.compared

    # Files of the repository, and official files.

    def content(self, file: str) -> str:
        """Name and content digest of a file of the repository, in one string; "" if the file is missing."""
        return self._content(self.root / file, file)

    def contents_of(self, files: Iterable[str]) -> dict[str, str]:
        """Facts on the content of files of the repository, one per file, so that a changed file is the reason for a rerun."""
        return {f"content{number}": self.content(file) for number, file in enumerate(files)}

    def rows(self, table: str, keys: Iterable[str]) -> str:
        """Name of a table of the repository and digest of those of its rows that begin with one of the keys, in one string."""
        header, *lines = read_text(self.root / table).splitlines()
        text = "\n".join([header, *(line for line in lines if line.partition(",")[0] in keys)])
        return f"rows of {table} {sha256(text.encode()).hexdigest()}"

    @cached_property
    def grammar(self) -> list[str]:
        """Files of the repository from which the synthetic corpora are generated, except LANGUAGE_TABLES."""
        languages = sorted({*self.config.synthetic.languages, *self.config.synthetic.train_languages})
        tables = sorted(path.relative_to(self.root).as_posix() for path in (self.root / "resources/synthetic").glob("*.csv"))
        texts = [f"resources/synthetic/{code}/{name}" for code in languages for name in ("frames.txt", "lexicon.csv")]
        return [table for table in tables if table not in LANGUAGE_TABLES] + texts

    def fetched_sources(self) -> list[str]:
        """Names of the sources whose official files a corpus, an encoder or a tokenisation needs, except `synthetic`."""
        of_tokenisations = {
            file.split("/")[0] for tokenisation in self.config.tokenisations.values() for file in tokenisation.official()
        }
        return sorted(of_tokenisations.union(*(entry.sources() for entry in self._entries.values())) - {"synthetic"})

    def copy_in_mirror(self, source: str, path: str) -> str:
        """sha256 of the mirror's copy of an official file without URL and published digest, so that changes are noticed.

        If no mirror has the file, this is the pinned digest, or "" without one. For any other file it is "". Raises DataError
        if the copy differs from what was pinned.
        """
        entry, file = self.sources[source], f"{source}/{path}"
        if entry.url or entry.known(path).published:
            return ""
        try:
            return content_in_mirror(file, in_mirrors(self.config.mirror, entry.mirror), self.contents, self._pins.get(file))
        except OSError as error:
            raise DataError(str(error)) from error

    def has_digest(self, file: str, digests: Collection[str]) -> bool:
        """Whether an official file has a published digest, or one of `digests` is pinned for it."""
        source, path = self.official.place(file)
        return bool(self.sources[source].known(path).published) or self._pins.get(f"{source}/{path}") in digests

    # Corpora, encoders and tokens.

    def corpus_files(self, *corpora: str) -> list[str]:
        """Paths of all files of some corpora, in order."""
        files = []
        for name in corpora:
            corpus = self.config.corpora[name]
            files += [f"{self.results}/corpora/{name}/{language}.{split}.parquet" for language, split in corpus.stored()]
            files += [f"{self.results}/corpora/{name}/typology.parquet"] if corpus.kind == "typology" else []
        return files

    def corpus_outputs(self, *corpora: str) -> list[str]:
        """Outputs of the jobs that build some corpora: the folder of an official corpus, the single files of any other."""
        outputs = []
        for name in corpora:
            is_whole = isinstance(self.config.corpora[name], OfficialCorpus)
            outputs += [f"{self.results}/corpora/{name}"] if is_whole else self.corpus_files(name)
        return outputs

    def looked_up(self, corpus: str) -> dict[str, Any]:
        """Rows of resources/languages.csv that a corpus's reader looks up, by language, as a fact; empty if it uses none."""
        entry, table = self.config.corpora[corpus], languages_table()
        looks_up = entry.kind in ("entities", "documents", "typology")
        return {"languages": {code: table[code] for code in entry.languages} if looks_up else {}}

    def shares_of_train(self, corpus: str) -> dict[str, Any]:
        """Languages of a corpus whose validation split is a share of train, and how that share is sampled."""
        entry: Any = self.config.corpora[corpus]
        languages = sorted(set(entry.parts()) - set(entry.stored()))
        shared: dict[str, Any] = {"languages": [language for language, _ in languages]}
        if languages:
            shared |= {"share": entry.validation_share, "by": getattr(entry, "validation_by", "text"), "seed": entry.seed}
        return shared

    def described(self, encoder: str) -> dict[str, Any]:
        """Settings of an encoder: its entry in the configuration and, if packaged, version and digest of its package."""
        entry = self.config.encoders[encoder]
        return {"encoder": entry.model_dump(exclude={"depth"}), "package": self.official.package(entry)}

    def own_files(self, encoder: str, files: Sequence[str]) -> dict[str, str]:
        """Facts on the content of files in a user's encoder folder, one per file; each is "" for any other encoder."""
        entry = self.config.encoders[encoder]
        paths = [Path(entry.path, file) if entry.source == "folder" else None for file in files]
        return {f"content{number}": self._content(path, str(path)) if path else "" for number, path in enumerate(paths)}

    def tokens_of(self, encoder: str, tokenisation: str, corpora: Iterable[str]) -> list[str]:
        """Token folders of some corpora, each once. An encoder that shares another's tokenizer uses the other's folders."""
        tokenizer = self.config.encoders[encoder].shares() or encoder
        return [f"{self.results}/tokens/{tokenizer}/{tokenisation}/{corpus}" for corpus in dict.fromkeys(corpora)]

    # Training runs and measures.

    def recipe(self, name: str) -> Recipe:
        """Recipe with a given name; for trials that share a job, the first trial. Raises DataError for an unknown name."""
        return self.studies.recipe(name)[1]

    def learns(self, name: str) -> bool:
        """Whether a training run learns weights, rather than only re-initialising some at random."""
        return bool(self.recipe(name).stages or self.recipe(name).static)

    def trained_on(self, recipe: Recipe) -> list[str]:
        """Token folders that a recipe reads."""
        return self.tokens_of(recipe.encoder, recipe.tokenisation, [corpus for corpus, _, _ in recipe.files()])

    def pretrained(self, recipe: Recipe, seed: str) -> list[str]:
        """Weights file of the model from which a training run starts; empty if it starts from those in its encoder's folder."""
        model = recipe.pretrained
        return [f"{self.results}/models/{model.recipe}/seed{model.seed(int(seed))}/model.safetensors"] if model else []

    def weights(self, recipe: str, seed: str) -> list[str]:
        """Weights files in loading order: of the model from which a training run starts, if any, then its own if it trains.

        Raises DataError for a recipe that trains but does not keep its weights.
        """
        entry = self.recipe(recipe)
        if entry.trains() and not entry.keeps_weights:
            raise DataError(f"{recipe}: expected a recipe whose weights are kept, since its encoder is run again (keeps_weights)")
        trained = [f"{self.results}/models/{recipe}/seed{seed}/model.safetensors"] if entry.trains() else []
        return self.pretrained(entry, seed) + trained

    def samples_of(self, recipe: str) -> str:
        """Name of the samples whose states are stored for a recipe's model. Raises DataError if its paper has none for it."""
        samples = self.studies.sampled(recipe)
        if samples is None:
            raise DataError(f"states/{recipe}: expected a recipe for which its paper draws words or texts (Paper.sampled)")
        return samples

    def sampled_tokens(self, name: str) -> list[str]:
        """Token folders from which words or texts are sampled. name: name of the samples."""
        samples = self.studies.samples[name]
        return self.tokens_of(samples.encoder, samples.tokenisation, samples.corpora)

    def model_files(self, recipe: str, kind: str, seeds: Iterable[int]) -> list[str]:
        """Files of one kind (a key of MODEL_FILES) of a recipe, one per seed; for trials that share a job, its folders."""
        folders = [f"{self.results}/models/{recipe}/seed{seed}" for seed in seeds]
        return folders if recipe in self.studies.trials else [f"{folder}/{MODEL_FILES[kind]}" for folder in folders]

    def measure_settings(self, kind: str, recipe: str) -> dict[str, Any]:
        """Settings of a measure of a recipe. If its kind has a setting `training`, they list the recipe's training files."""
        settings = self.studies.settings(kind, recipe)
        if "training" not in expected_settings(kind.partition("@")[0]):
            return {**settings}
        return {"training": [file for file in self.recipe(recipe).files() if file[2] == "train"], **settings}

    def measured(self, kind: str, recipe: str, seed: str, settings: Mapping[str, Any]) -> dict[str, str | list[str]]:
        """Files that a measure reads, by name; they depend on what its kind measures. seed: "" if one file covers all seeds."""
        described, entry = kind_of(kind), self.recipe(recipe)
        seeds = self.studies.seeds(recipe)
        inputs: dict[str, str | list[str]] = {}
        match described.source:
            case "states":
                inputs["states"] = f"{self.results}/states/{recipe}/seed{seed}"
            case "samples":
                inputs["samples"] = f"{self.results}/samples/{self.samples_of(recipe)}"
            case "predictions":
                inputs |= {file: self.model_files(recipe, file, seeds) for file in ("predictions", "history")}
            case "encoder":
                readings = settings.get("corpora", {}).items()
                inputs |= {"encoder": f"{self.results}/encoders/{entry.encoder}", "weights": self.weights(recipe, seed)}
                inputs["tokens"] = [self.tokens_of(entry.encoder, reading, [name])[0] for name, reading in readings]
                inputs["dictionaries"] = self.corpus_outputs(*settings.get("dictionaries", ()))
        if described.tokens:
            is_sampled = described.source in ("states", "samples")
            inputs["tokens"] = self.sampled_tokens(self.samples_of(recipe)) if is_sampled else self.trained_on(entry)
        return inputs | ({"typology": self.corpus_files(settings["typology"])} if described.typology else {})

    def need_files(self, asker: str, need: Need) -> list[str]:
        """Files that a need refers to: one per seed if its measure is computed by seed, otherwise one for all seeds.

        asker: key of the paper with the need. Raises DataError for an unknown kind or recipe.
        """
        if need.kind in MODEL_FILES:
            return self.model_files(need.recipe, need.kind, need.seeds)
        measure = self.studies.measure(asker, need)
        place = f"{self.results}/measures/{measure}/{need.recipe}"
        return [f"{place}/seed{seed}.parquet" for seed in need.seeds] if kind_of(measure).by_seed else [f"{place}.parquet"]

    # Tables and figures, and the pages that show them.

    def item_tokens(self, paper: Paper, item: TableOrFigure) -> dict[str, str]:
        """Token folders that a table or figure reads, by CORPUS or, for further tokenisations, by CORPUS/TOKENISATION."""
        section = self._section(paper)
        encoder, tokenisation = item.encoder or section.encoder, item.tokenisation or section.tokenisation
        tokens = {corpus: self.tokens_of(encoder, tokenisation, [corpus])[0] for corpus in item.corpora}
        for further in item.tokenisations:
            tokens |= {f"{corpus}/{further}": self.tokens_of(encoder, further, [corpus])[0] for corpus in item.corpora}
        return tokens

    def item_inputs(self, paper: Paper, item: TableOrFigure) -> dict[str, list[str]]:
        """Inputs of a table or figure, by name."""
        trained = [need for need in item.needs if self.recipe(need.recipe).trains()]
        records, histories = (
            dict.fromkeys(file for need in trained for file in self.model_files(need.recipe, kind, need.seeds))
            for kind in ("record", "history")
        )
        folder = f"{self.results}/{'encoders' if item.weights else 'tokenizers'}"
        return {
            "needs": [file for need in item.needs for file in self.need_files(paper.key, need)],
            "records": list(records),
            "histories": list(histories),
            "published": self.existing(printed(paper.key)),
            "cited": self.existing(printed(item.cites)) if item.cites else [],
            "tokens": list(self.item_tokens(paper, item).values()),
            "samples": [f"{self.results}/samples/{name}" for name in item.samples],
            "tokenizer": [f"{folder}/{item.encoder or self._section(paper).encoder}"] if item.tokenizer else [],
            "typology": self.corpus_files(item.typology) if item.typology else [],
        }

    def item_settings(self, paper: Paper, name: str, item: TableOrFigure) -> dict[str, Any]:
        """Settings of a table or figure. A table also gets the reasons why it cannot be compared with the paper's, and a figure
        the line that states its origin.
        """
        needs = [
            {"kind": need.kind, "recipe": need.recipe, "seeds": list(need.seeds), "files": len(self.need_files(paper.key, need))}
            for need in item.needs
        ]
        is_figure, about = item.form == "figure", self.about
        return {
            "paper": paper.key,
            "item": name,
            "module": item.module,
            "needs": needs,
            "corpora": list(self.item_tokens(paper, item)),
            "samples": list(item.samples),
            "settings": dict(item.settings),
            **({"origin": about.origin(paper, item)} if is_figure else {"apart": about.apart(paper, about.uses(paper, item))}),
        }

    def existing(self, *files: str) -> list[str]:
        """Given files that exist in the repository."""
        return [file for file in files if (self.root / file).is_file()]

    @cached_property
    def pages(self) -> dict[str, tuple[Paper, dict[str, TableOrFigure]]]:
        """Paper, tables and figures of each page, by its path below the results: single pages, then a report per paper."""
        items = self.studies.items
        pages = {place: (paper, {name: item}) for place, (paper, name, item) in items.items() if item.page}
        for paper in self.studies.papers:
            regular = {name: item for owner, name, item in items.values() if owner is paper and item.page and not item.searched}
            pages |= {paper.path("report"): (paper, regular)} if regular else {}
        return pages

    @property
    def passports(self) -> list[str]:
        """Names of the encoders that have a passport."""
        section: Any = self.config.paper("passport")
        return list(section.encoders) if section else []

    @cached_property
    def compared(self) -> dict[str, tuple[str, ...]]:
        """Encoders in each comparison of passports, by its name. Raises DataError if a single passport has that name too."""
        section: Any = self.config.paper("passport")
        comparisons = {"-".join(names): tuple(names) for names in section.compare} if section else {}
        if doubled := [name for name in comparisons if name in self.passports]:
            raise DataError(
                f"papers.passport.compare: {doubled[0]} is also the name of an encoder; give one of them another name"
            )
        return comparisons

    def built_tables(self) -> dict[str, str]:
        """Identity of the checksum file of each existing table, by the table's path below the results folder without .csv."""
        items = self.studies.items.items()
        tables = {f"{self.results}/{place}.csv": place for place, (_, _, item) in items if item.form == "table"}
        return {tables[file]: identity for file, identity in identities(map(Path, tables)).items()}

    @cached_property
    def claims_files(self) -> dict[str, list[str]]:
        """Claims file, and table of printed values if it exists, of each paper that has claims, by the paper's key."""
        keys = [paper.key for paper in self.studies.papers if self.existing(claims_file(paper.key))]
        return {key: self.existing(claims_file(key), printed(key)) for key in keys}

    @cached_property
    def claims_settings(self) -> dict[str, Any]:
        """Settings of each paper's claims, by its key, such as the tables and records that decide them (`Plan.settings`)."""
        # Not at the top: this import is slow, and few runs plan claims.
        from crosslens.reports.claims.claims_file import read_claims_file
        from crosslens.reports.claims.inputs import Plan

        plan, settings = Plan(self.about), {}
        for paper in (paper for paper in self.studies.papers if paper.key in self.claims_files):
            files = self.claims_files[paper.key]
            settings[paper.key] = plan.settings(paper, read_claims_file(self.root / files[0], plan.names(paper)), files)
        return settings

    @cached_property
    def evidence(self) -> dict[str, str]:
        """Identity of the checksum file of each existing table or record that decides claims, by its path."""
        from crosslens.reports.claims.inputs import evidence_files

        return identities(file for settings in self.claims_settings.values() for file in evidence_files(settings["evidence"]))

    @cached_property
    def _entries(self) -> dict[str, Corpus | Encoder]:
        """All corpora and encoders, since they may name sources, by their keys in the configuration."""
        corpora: dict[str, Corpus | Encoder] = {f"corpora.{name}": corpus for name, corpus in self.config.corpora.items()}
        return corpora | {f"encoders.{name}": encoder for name, encoder in self.config.encoders.items()}

    @cached_property
    def _pins(self) -> dict[str, str]:
        return digests()

    def _section(self, paper: Paper) -> PaperSection:
        section = self.config.paper(paper.key)
        assert section is not None, paper.key  # it has items
        return section

    def _content(self, path: Path, name: str) -> str:
        """The given name and the digest of a file outside the results; "" if it is missing. Comments in YAML do not count."""
        try:
            is_yaml = path.suffix == ".yaml"
            return f"{name} {self.contents(path, keys_digest, 'keys of ') if is_yaml else self.contents(path)}"
        except (FileNotFoundError, NotADirectoryError):
            return ""
        except OSError as error:
            raise DataError(str(error)) from error


def printed(paper: str) -> str:
    """Path of the table with the values printed in a paper. paper: its key."""
    return f"resources/published/{paper}.csv"


def claims_file(paper: str) -> str:
    """Path of a paper's claims file. paper: its key."""
    return f"workflow/crosslens/papers/{paper}/claims.yaml"
