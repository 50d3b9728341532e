"""tanti2021: hyperparameters and measures, each with its source in the paper."""

from collections.abc import Sequence
from itertools import chain
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, field_validator, model_validator

from crosslens.config.base import Count, Language, Rate, Section, Share, nearest, or_null, without_null
from crosslens.config.corpora import ParagraphCorpus
from crosslens.config.training import Decay, LengthPools, Positive, Seeds, Training
from crosslens.config.whole import Config, PaperSection
from crosslens.corpora.sources.registry import load
from crosslens.jobs.quantities import shortened

Weight = Annotated[float, Field(gt=0, lt=1)]
PAPER_RUNS = ("frozen", "finetuned", "gradient_reversal", "entropy_maximisation")
RunName = Literal[
    "frozen", "finetuned", "gradient_reversal", "entropy_maximisation",
    "untrained", "no_adversary", "true_entropy", "frozen_dropout", "finetuned_dropout",  # our controls
    "several_languages",
]  # fmt: skip


class Run(Section):
    """Hyperparameters of one training run (table 5)."""

    init_sd: Positive = Field(0.01, description="Standard deviation of the initial weights of new heads.")
    batch: Count = Field(32, description="Examples per step.")
    encoder_rate: Rate | None = Field(None, description="Learning rate for the encoder (null: frozen).")
    head_rate: Rate = Field(1e-3, description="Learning rate for the heads.")
    reversal: Positive | None = Field(None, description="Factor lambda for gradient reversal (null: none).")
    uniformity: Weight | None = Field(
        None,
        description="Weight w in the entropy-maximisation loss, (1 - w) x label loss + w x language loss; if null, entropy is "
        "not maximised.",
    )
    entropy: Literal["equation_1", "negative_entropy"] = Field(
        "equation_1",
        description="Language loss in entropy maximisation: that of equation 1 or the negative entropy.",
    )
    language_head_rate: Rate | None = Field(
        None,
        description="Learning rate for the language head trained after the task (null: `head_rate`).",
    )
    adversary_rate: Rate | None = Field(
        None,
        description="Learning rate for the adversarial language head (null: `head_rate`).",
    )
    adversary_epochs: int = Field(
        0,
        ge=0,
        description="Epochs in which the adversarial head is trained alone before the encoder is updated.",
    )
    encoder_dropout_when_frozen: bool | None = Field(
        None, description="Overrides `training.encoder_dropout_when_frozen` for this run."
    )
    languages: list[Language] = Field(
        [],
        description=(
            "Training languages; [] means `source_language` alone. Each of n contributes at most 1/n as many "
            "examples as `source_language` has."
        ),
    )
    seeds: Seeds | None = Field(None, description="Random seeds for this run (null: the top-level `seeds`).")
    reinitialise: Literal["none", "all"] = Field(
        "none",
        description="Parts of the encoder re-initialised before training.",
    )

    @model_validator(mode="after")
    def _adversary(self) -> Self:
        if self.reversal is None and self.uniformity is None and (self.adversary_rate or self.adversary_epochs):
            raise ValueError("adversary_rate, adversary_epochs: expected reversal or uniformity too: set one or remove these")
        if self.entropy != "equation_1" and self.uniformity is None:
            raise ValueError("entropy: expected uniformity, its weight, too: set it or remove entropy")
        return self


class TantiTraining(Training):
    """Settings for all training runs."""

    RECIPE = ("dropout", "select_by", "encoder_dropout_when_frozen", "length_pools")

    epochs: Count = Field(5, description="Epochs for the task.")
    language_epochs: Count = Field(5, description="Epochs for the language head.")
    language_head_rates: list[Rate] = Field(
        [],
        description="Learning rates for extra language heads, whose scores are written to results/findings.csv.",
    )
    dropout: Share = Field(0.1, description="Dropout rate before each head.")
    decay: Decay = "none"
    select_by: Literal["paper", "token"] = Field(
        "token",
        description=(
            "Criterion for the best epoch: macro F1 as in the authors' code (`paper`) or over the classes in "
            "the gold labels (`token`)."
        ),
    )
    encoder_dropout_when_frozen: bool = Field(
        True,
        description="Applies dropout in a frozen encoder. If false, its hidden states are computed only once.",
    )
    length_pools: LengthPools = False  # authors' code: dataset.py

    @field_validator("language_head_rates")
    @classmethod
    def _one_digit(cls, rates: list[float]) -> list[float]:
        names = {f"{rate:.0e}" for rate in rates}
        if len(names) < len(rates) or {float(name) for name in names} != set(rates):
            raise ValueError("expected rates with one significant digit such as 1.0e-3, each once: heads are named after them")
        return rates


class Task(Section):
    """Settings for one task."""

    corpus: str = Field(description="Corpus of treebanks (for pos) or sentence pairs (for nli).")
    state: Literal["hidden", "pooler"] = Field(
        "hidden",
        description=(
            "Input to the heads for a sentence pair: the first token's last hidden state or, as in the "
            "authors' code, the pooler output."
        ),
    )
    segments: bool = Field(False, description="Assigns token type 1 to the hypothesis.")
    points_per_label: Count = Field(10, description="Points sampled per language and label.")
    runs: dict[RunName, Run] = Field(
        description="Training runs by name: the paper's four (table 5) and our controls.",
        json_schema_extra=or_null,
    )

    @field_validator("runs", mode="before")
    @classmethod
    def _without_null(cls, runs: Any) -> Any:
        if not isinstance(runs, dict):
            return runs
        # Unknown names are kept, so that validation reports them.
        return {
            name: {} if run is None else run for name, run in runs.items() if run is not None or name not in get_args(RunName)
        }

    @model_validator(mode="after")
    def _paper_runs(self) -> Self:
        missing = [run for run in PAPER_RUNS if run not in self.runs]
        if missing:
            raise ValueError(f"runs: expected the paper's four, found no {', '.join(missing)}; only controls can be omitted")
        return self


class Search(Section):
    """Random search over the grid in table 4 (appendix D), with results in results/table5_search.csv."""

    experiments: list[Annotated[str, Field(pattern=r"^(pos|nli)/[a-z_]+$")]] = Field(
        [],
        description="Experiments to search, such as pos/finetuned.",
    )
    trials: Count = Field(20, description="Hyperparameter combinations sampled per experiment.")
    trials_per_job: Count = Field(
        1,
        description="Trials per job, which share hidden states if the encoder is frozen without dropout.",
    )
    init_sd: list[Positive] = Field([1e-1, 1e-2, 1e-3], description="Candidate values.")
    batch: list[Count] = Field([64, 32, 16], description="Candidate values.")
    head_rate: list[Rate] = Field([1e-1, 1e-2, 1e-3, 1e-4], description="Candidate values.")
    encoder_rate: list[Rate] = Field([1e-3, 1e-4, 1e-5, 1e-6], description="Candidate values.")
    reversal: list[Positive] = Field([0.1, 0.3, 0.5, 0.7], description="Candidate values.")
    uniformity: list[Weight] = Field([0.1, 0.3, 0.5, 0.7], description="Candidate values.")
    seed: int = Field(0, ge=0, description="Seed for sampling.")


class Probe(Section):
    """The logistic-regression probe, trained to convergence, and its controls."""

    train_words: Count = Field(500, description="Training and test words (texts for nli) per language.")
    test_words: Count = Field(
        400,
        description="Training and test words (texts for nli) per language.",
    )
    penalties: list[Positive] = Field(
        [0.01, 0.1, 1.0, 10.0, 100.0],
        min_length=1,
        description="Candidate values of C, scikit-learn's inverse regularisation.",
    )
    tolerance: Positive = Field(1e-6, description="Largest gradient component at convergence.")


class UnitTexts(Section):
    """Probes that identify a paragraph's language from one word or the whole paragraph, with results in results/units.csv."""

    train_texts: Count = Field(500, description="Maximum numbers of training and test paragraphs per language.")
    test_texts: Count = Field(400, description="Maximum numbers of training and test paragraphs per language.")


class Clustering(Section):
    """V-measure of k-means clusters of the appendix B samples."""

    runs: Count = Field(10, description="K-means runs over which the V-measure is averaged.")
    points_per_language: Count = Field(100, description="Wikipedia points per language.")
    language_clusters: Count | None = Field(
        None, description="Clusters in the comparison with languages (null: one per language)."
    )


class Tsne(Section):
    """t-SNE projection of the appendix B samples, using scikit-learn 0.23's defaults."""

    perplexity: Positive = Field(30.0, description="Perplexity.")
    learning_rate: Positive = Field(200.0, description="Learning rate.")
    iterations: Annotated[int, Field(ge=250)] = Field(1000, description="Iterations.")
    seed: int = Field(0, ge=0, description="Random seed.")


class Tanti2021(PaperSection):
    """Settings for Tanti et al. (2021)."""

    language_corpus: str = Field(description="Corpus of paragraphs for training the language head.")
    source_language: Language = Field("en", description="Language of the training data for both tasks.")
    training: TantiTraining = Field(TantiTraining(), description="Settings for all training runs.")
    tasks: dict[Literal["pos", "nli"], Task] = Field(
        min_length=1, description="The paper's two tasks.", json_schema_extra=or_null
    )
    search: Search = Field(Search(), description="Random search.")
    probe: Probe = Field(Probe(), description="The probe.")
    units: UnitTexts = Field(UnitTexts(), description="Probes for words and for whole texts.")
    clustering: Clustering = Field(Clustering(), description="k-means.")
    tsne: Tsne = Field(Tsne(), description="t-SNE.")

    _named = field_validator("tasks", mode="before")(without_null)

    def check(self, config: Config) -> None:
        """Raise ValueError if keys contradict each other or the corpora and encoders that they name.

        Most kinds of missing data are reported together, one line per key.
        """
        here, problems = "papers.tanti2021", list[str]()
        config.expect_corpus(f"{here}.language_corpus", self.language_corpus, "paragraphs", "documents")
        paragraphs = config.corpora[self.language_corpus]
        parts = set(paragraphs.parts())
        splits = ("train", "validation", "test")
        if lacking := [f"{code}.{split}" for code in paragraphs.languages for split in splits if (code, split) not in parts]:
            raise ValueError(
                f"{here}.language_corpus: expected {', '.join(splits)} in every language, but corpora.{self.language_corpus} has "
                f"no {', '.join(lacking)}: name files there, add languages to source_languages, or choose another corpus"
            )
        for task, settings in self.tasks.items():
            config.expect_corpus(f"{here}.tasks.{task}.corpus", settings.corpus, {"pos": "treebank", "nli": "pairs"}[task])
            texts = {*config.corpora[settings.corpus].parts()}
            if (self.source_language, "train") not in texts:
                problems.append(
                    f"{here}.source_language: corpora.{settings.corpus} has no training data for '{self.source_language}': "
                    "add it there to languages and source_languages, or choose another language"
                )
            if task == "pos" and settings.state == "pooler":
                raise ValueError(f"{here}.tasks.pos.state: expected 'hidden': the pooler's output represents a text, not a word")
            for run_name, run in settings.runs.items():
                for split in ("train", "validation"):
                    if lacking := [code for code in run.languages if (code, split) not in texts]:
                        raise ValueError(
                            f"{here}.tasks.{task}.runs.{run_name}.languages: corpora.{settings.corpus} has no {split} texts in "
                            f"{', '.join(lacking)}: add to its source_languages, or remove here"
                        )
                if run.languages and (self.source_language, "train") in texts and self.source_language not in run.languages:
                    raise ValueError(
                        f"{here}.tasks.{task}.runs.{run_name}.languages: expected source_language, {self.source_language}, among "
                        f"them, found {', '.join(run.languages)}"
                    )
                if run.seeds is not None and (run.seeds[:1] != config.seeds[:1] or not set(run.seeds) <= set(config.seeds)):
                    key = f"{here}.tasks.{task}.runs.{run_name}.seeds"
                    raise ValueError(f"{key}: expected a subset of seeds, {config.seeds[0]} first, found {run.seeds}")
        problems += self._unlearned(config)
        corpora_by_experiment = {
            f"{task}/{run}": settings.corpus for task, settings in self.tasks.items() for run in settings.runs
        }
        for name in self.experiments():
            key = f"{here}.search.experiments"
            if name not in corpora_by_experiment:
                raise ValueError(f"{key}: expected a task/run of tasks, found '{name}'{nearest(name, corpora_by_experiment)}")
            if all(split != "dev" for _, split in config.corpora[corpora_by_experiment[name]].parts()):
                problems.append(
                    f"{key}: '{name}' is scored on dev, but corpora.{corpora_by_experiment[name]} has none: name it under files, "
                    "or add to your overlay `papers: { tanti2021: { search: { experiments: [] } } }`"
                )
        if problems:
            raise ValueError("\n".join(dict.fromkeys(problems)))

    def _unlearned(self, config: Config) -> list[str]:
        """A list of at most one error: that tasks test languages which the language heads never learn, with the lines to add.

        The language heads would leave words of these languages unscored, and the probe would count them as wrong.
        """
        paragraphs, unlearned = config.corpora[self.language_corpus], dict[str, list[str]]()
        for task, settings in self.tasks.items():
            if codes := [code for code in config.corpora[settings.corpus].languages if code not in paragraphs.languages]:
                unlearned[task] = codes
        if not unlearned:
            return []
        codes, here = list(dict.fromkeys(chain.from_iterable(unlearned.values()))), f"corpora.{self.language_corpus}"
        lacking = "; ".join(f"{shortened(unlearned[task])}, which corpora.{self.task(task).corpus} tests" for task in unlearned)
        keys, remark = f"languages: [{', '.join([*paragraphs.languages, *codes])}]", ""
        if isinstance(paragraphs, ParagraphCorpus):
            if absent := _without_file(paragraphs, codes):
                keys += f", files: {{ {', '.join(f'{code}: FILE' for code in absent)} }}"
                files = shortened([*map(paragraphs.file_of, absent)])
                remark = f" with a FILE of {paragraphs.source}, which has no {files}; or choose another language_corpus"
            else:
                files = shortened([*map(paragraphs.file_of, codes)])
                remark = f", which reads {files} of {paragraphs.source} (`files: {{ {codes[0]}: FILE }}` there names another)"
        remedy = f"`corpora: {{ {self.language_corpus}: {{ {keys} }} }}`{remark}"
        if len(unlearned) < len(self.tasks):
            tasks = ", ".join(f"{task}: null" for task in unlearned)
            remedy += f"; or, to omit the task, `papers: {{ tanti2021: {{ tasks: {{ {tasks} }} }} }}`"
        return [
            f"papers.tanti2021.language_corpus: {here}, from which the language heads learn, has no {lacking}: add to your "
            f"overlay {remedy}"
        ]

    def experiments(self) -> list[str]:
        """Experiments of configured tasks to search, each as task/run."""
        return [name for name in self.search.experiments if name.split("/")[0] in self.tasks]

    def task(self, name: str) -> Task:
        """Settings of a task. Raises KeyError for an unknown name."""
        return self.tasks[name]  # type: ignore[index]

    def run(self, task: str, name: str) -> Run:
        """Settings of a training run. Raises KeyError for an unknown task or run."""
        return self.task(task).runs[name]  # type: ignore[index]

    def run_of(self, recipe: str) -> tuple[str, str]:
        """Task and run to which a recipe, or a trial of its search, belongs. Raises KeyError for an unknown name."""
        for task, settings in self.tasks.items():
            for run in settings.runs:
                name = f"tanti2021/{task}/{run}"
                if recipe == name or recipe.startswith(f"{name}/"):
                    return task, run
        raise KeyError(f"no recipe '{recipe}'")


def _without_file(corpus: ParagraphCorpus, languages: Sequence[str]) -> list[str]:
    """Languages whose file is known to be missing from their source, by the source's list of files."""
    sources = load()
    return [
        language
        for language in languages
        if (source := sources.get(corpus.source_of(language))) and not source.has(corpus.file_of(language))
    ]


PAPER_SECTION = Tanti2021
section = Tanti2021.of
