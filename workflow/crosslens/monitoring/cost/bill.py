"""The bill: the cost of the jobs of a plan, rule by rule."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from crosslens.config.whole import Config
from crosslens.monitoring.cost import work
from crosslens.monitoring.cost.sizes import Shape, Size, Sizes
from crosslens.monitoring.cost.speed import Speed
from crosslens.monitoring.cost.work import Setup, Work
from crosslens.monitoring.plan import Job
from crosslens.papers import papers
from crosslens.recipes import Data, Recipe, Stage
from crosslens.reports.studies import Studies
from crosslens.sources.registry import Source, size_of

START = {"train": 10.0, "train_without_weights": 10.0, "train_trials": 10.0, "states": 10.0, "measure_encoder": 10.0}
"""Seconds until a job that needs torch begins; of others the whole job, unless below."""
OTHERS = {"paragraphs": 60.0, "dump_sample": 60.0, "fetch": 5.0, "measure": 10.0, "measure_states": 20.0, "encoder": 20.0}
OTHER = 5.0
TOKENISED = 20_000  # pieces a second
READ = 20_000  # texts a second
BLOCKS_READ = 1.0  # seconds for a block of a dump
PROBE_RATE = 2e7  # bytes of states times languages a second, of all probes of a training on one thread
PIECE, TEXT, PREDICTED = 5.0, 250.0, 4.0  # bytes on disk of a tokenised piece, of a text, of a predicted word
GUESS = 3.0  # factor of what is neither measured nor counted
UNCOUNTED = 1.5  # of sizes that are estimated


@dataclass
class Line:
    """Cost of the jobs of a rule. Seconds: least, likely, most; encoders: of jobs that ask for GPUs, times those held."""

    rule: str
    jobs: int = 0
    trainings: int = 0
    encoders: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    others: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    longest: float = 0.0  # likely seconds of a job
    memory: int = 0  # MB, the most that a job asks for
    disk: float = 0.0  # bytes
    over: int = 0  # jobs that likely take longer than the time that they ask for
    weights: float = 0.0  # of these, of trained models
    checkpoint: float = 0.0  # bytes, the largest: weights, the best ones and two moments of each

    def add(self, line: "Line") -> None:
        """Add the cost of other jobs."""
        self.jobs, self.trainings = self.jobs + line.jobs, self.trainings + line.trainings
        self.encoders = [a + b for a, b in zip(self.encoders, line.encoders, strict=True)]
        self.others = [a + b for a, b in zip(self.others, line.others, strict=True)]
        self.longest, self.memory = max(self.longest, line.longest), max(self.memory, line.memory)
        self.disk, self.weights = self.disk + line.disk, self.weights + line.weights
        self.over += line.over
        self.checkpoint = max(self.checkpoint, line.checkpoint)


@dataclass(frozen=True)
class Bill:
    """Lines by rule, the sum of all, and the assumptions, in sentences."""

    lines: Sequence[Line]
    total: Line
    assumptions: Sequence[str]


def setup(recipe: Recipe, threads: int, gpus: int = 1) -> Setup:
    """Setup of a recipe's training, its parts on these GPUs."""
    # As crosslens.training.parallel.processes, which imports torch.
    sharing = max(number for number in range(1, gpus + 1) if recipe.parts % number == 0)
    return Setup(recipe.precision, threads, sharing, recipe.encoder_dropout)


class Biller:
    """Prices jobs of a configuration."""

    def __init__(self, config: Config, speed: Speed, sources: Mapping[str, Source]) -> None:
        self.config, self.speed, self.sources, self.sizes = config, speed, sources, Sizes(config)
        self.studies = Studies(config, papers())
        self.unknown = 0  # files whose size nobody knows
        self.estimated = False  # whether any size is

    def bill(self, jobs: Sequence[Job]) -> Bill:
        """Bill of all jobs."""
        lines: dict[str, Line] = {}
        for job in jobs:
            lines.setdefault(job.rule, Line(job.rule)).add(self.line(job))
        total = Line("all")
        for line in lines.values():
            total.add(line)
        ordered = sorted(lines.values(), key=lambda line: (-line.encoders[1], -line.others[1]))
        sentences = self._assumptions()
        if total.over:
            rules = ", ".join(f"{line.over} of {line.rule}" for line in ordered if line.over)
            sentences.append(
                f"Time limits: {rules} likely take longer than they ask for. Trainings go on where they were cut; for "
                "others raise it, as in --set-resources tokens:runtime=600 (minutes)."
            )
        return Bill(ordered, total, sentences)

    def line(self, job: Job) -> Line:
        """Cost of a job."""
        line = Line(job.rule, 1, memory=job.asked.get("mem_mb", 0))
        if job.rule in START:
            computed, spread = self._encoder_job(job, line)
            likely = START[job.rule] + computed
            gpus = self._held(job)
            line.encoders = [seconds * gpus for seconds in (likely / spread, likely, likely * spread)]
        else:
            likely = self._other_job(job, line)
            line.others = [likely / GUESS, likely, likely * GUESS]
        line.longest = likely
        line.over = int(likely > 60 * job.asked.get("runtime", 10**9))
        return line

    def _held(self, job: Job) -> int:
        """GPUs that a job takes, at work or not."""
        return self.speed.gpus(job.asked.get("gpu", 1))

    def _encoder_job(self, job: Job, line: Line) -> tuple[float, float]:
        """Seconds, and the factor that they are uncertain by; the sizes of stored files go into the line."""
        recipes = self.recipes_of(job)
        shape = self.sizes.shape(recipes[0].encoder)
        if job.rule.startswith("train"):
            line.trainings = len(recipes)
            line.weights = sum(_weights(recipe, shape) for recipe in recipes)
            line.checkpoint = 16.0 * shape.parameters * any(recipe.trains_encoder() for recipe in recipes)
            line.disk, seconds, all_counted, shared = line.weights, 0.0, True, set[Data]()
            for recipe in recipes:
                done = self._training(recipe, shape, None if recipe.trains_encoder() else shared)
                line.disk += done.words * PREDICTED
                seconds += self.speed.seconds(done, shape, setup(recipe, job.threads, self._held(job)))
                all_counted &= done.counted
            return seconds, self._spread(all_counted)
        done, spread = (self._states if job.rule == "states" else self._measured)(job, recipes[0], shape, line)
        return self.speed.seconds(done, shape, Setup(self.config.states.precision, job.threads)), spread

    def recipes_of(self, job: Job) -> Sequence[Recipe]:
        """Recipes of a job that runs an encoder: one, or those of the trials that share it."""
        name = job.wildcards["recipe"]
        return self.studies.trials[name][1] if name in self.studies.trials else [self.studies.recipe(name)[1]]

    def update(self, recipe: Recipe, stage: Stage, job: Job) -> float:
        """Seconds of an update of a stage of a training, a mean over its phases."""
        shape, with_setup = self.sizes.shape(recipe.encoder), setup(recipe, job.threads, self._held(job))
        once, twice = (
            self.speed.seconds(done, shape, with_setup)
            for done in work.of_update(recipe, stage, shape, partial(self.size, recipe))
        )
        return (twice - once) / len(stage.phases)

    def size(self, recipe: Recipe, data: Data) -> Size:
        """Size of the texts that a recipe reads."""
        return self.sizes.of(data, recipe.encoder, recipe.reading)

    def _training(self, recipe: Recipe, shape: Shape, computed: set[Data] | None) -> Work:
        return work.of(recipe, shape, partial(self.size, recipe), computed)

    def _spread(self, is_counted: bool) -> float:
        self.estimated |= not is_counted
        return self.speed.factor * (1 if is_counted else UNCOUNTED)

    def _states(self, job: Job, recipe: Recipe, shape: Shape, line: Line) -> tuple[Work, float]:
        """Passes over the texts that words are drawn from; the size of their states goes into the line."""
        draws = self.studies.draws[str(self.studies.drawn(recipe.name))]
        done, numbers = Work(), 0.0
        for corpus, draw in draws.corpora.items():
            for language in draw.languages:
                for split in draw.splits():
                    size = self.sizes.tokens(draws.encoder, draws.reading, corpus, language, split)
                    units = size.words if draws.unit == "word" else size.texts
                    sampled = split == draw.sample_split
                    requested = draw.random_words.get(split, 0) + (draw.sample_per_language or 0) * sampled
                    requested += (draw.sample_per_label or 0) * len(draws.labels) * sampled
                    number_drawn = size.texts if draw.means else min(requested, units)
                    texts = min(size.texts, number_drawn)
                    layers = shape.layers + 1 if draw.means or draw.all_layers else 1 + len(self.config.states.layers)
                    done.passed += texts * size.length * shape.products(size.length)
                    done.counted &= size.counted
                    numbers += number_drawn * layers * shape.hidden
        line.disk = numbers * (2 if self.config.states.stored == "float16" else 4)
        return done, self._spread(done.counted)

    def _probe_work(self, job: Job) -> float:
        """Bytes of the states that probes read, times the languages that they tell apart."""
        recipe, states = self.recipes_of(job)[0], Line("states")
        self._states(job, recipe, self.sizes.shape(recipe.encoder), states)
        draws = self.studies.draws[str(self.studies.drawn(recipe.name))]
        return states.disk * max(len(draw.languages) for draw in draws.corpora.values())

    def _measured(self, job: Job, recipe: Recipe, shape: Shape, line: Line) -> tuple[Work, float]:
        """Passes over the texts that a measure reads; over pairs again for each weight that it tries."""
        settings = self.studies.settings(job.wildcards["kind"], recipe.name)
        done = Work()
        for corpus, reading in settings.get("corpora", {}).items():
            languages = getattr(self.config.corpora[corpus], "languages", [])
            times = 1.0
            if corpus == settings.get("pairs"):
                times += len(settings.get("weights", [1])) * len(settings.get("directions", languages)) / max(len(languages), 1)
            for language in languages:
                size = self.sizes.tokens(recipe.encoder, reading, corpus, language, "test")
                done.passed += times * size.pieces * shape.products(size.length)
        line.disk = 1e6
        return done, self._spread(False) * GUESS / UNCOUNTED

    def _other_job(self, job: Job, line: Line) -> float:
        """Seconds; the sizes of stored files go into the line."""
        likely, at = OTHERS.get(job.rule, OTHER), job.wildcards
        line.disk = 2e5
        if job.rule == "tokens":
            tokens = [
                self.sizes.tokens(at["encoder"], at["reading"], at["corpus"], language, split)
                for language, split in self.config.corpora[at["corpus"]].parts()
            ]
            pieces = Size.total(tokens).pieces
            likely, line.disk = likely + pieces / TOKENISED, pieces * PIECE
        elif job.rule in ("corpus", "paragraphs"):
            parts = [part for part in self.config.corpora[at["corpus"]].parts() if part[0] == at.get("language", part[0])]
            texts = sum(self.sizes.rows(at["corpus"], *part)[0] for part in parts)
            blocks = getattr(self.config.corpora[at["corpus"]], "blocks", None) or 0
            likely, line.disk = likely + texts / READ + blocks * BLOCKS_READ, texts * TEXT
        elif job.rule in ("fetch", "dump_sample"):
            size = size_of(os.path.relpath(job.output[0], f"{self.config.results}/sources"), self.sources).bytes
            self.unknown += size is None
            line.disk = float(size or 0)
        elif job.rule == "measure_states" and at["kind"] == "probes":
            likely += self._probe_work(job) / PROBE_RATE
        elif job.rule == "encoder":
            line.disk = 4 * self.sizes.shape(at["encoder"]).parameters
        return likely

    def _assumptions(self) -> list[str]:
        sentences = [
            f"Speed: {self.speed.about}. True hours lie between the likely ones over {self.speed.factor:g} and times that."
        ]
        if self.estimated:
            sentences.append(
                f"Sizes: some texts are not tokenised yet. Theirs are estimated from the configuration and published sizes, "
                f"which widens the range {UNCOUNTED:g} times. Ask again once tokens are built."
            )
        sentences.append(
            f"Other jobs (no encoder runs) are guesses, true within {GUESS:g} times. Downloads are not timed"
            + (f", and {self.unknown} files of unknown size are not in the sum." if self.unknown else ".")
        )
        return sentences


def _weights(recipe: Recipe, shape: Shape) -> float:
    """Bytes of the weights that a training keeps."""
    changed = recipe.edit.changes() or recipe.trains_encoder() or recipe.static is not None
    return 4.0 * shape.parameters if recipe.keeps_weights and changed else 0.0
