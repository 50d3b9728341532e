"""Facts shown with tables and figures: encoder, seeds and corpora, and how these differ from the full study."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

from crosslens.config.corpora import Corpus
from crosslens.config.encoders import Encoder
from crosslens.config.presets import Preset
from crosslens.config.whole import Config
from crosslens.corpora.sources.registry import Source
from crosslens.jobs.quantities import counted, listed
from crosslens.measures.kinds import KINDS, named_corpora
from crosslens.reports.paper import Paper, TableOrFigure
from crosslens.reports.studies import Studies

APART = {"source", "archive", "train_source", "train_archive", "texts_source", "language_sources", "note"}
"""Keys of a corpus that the comparison with the full study ignores; it compares the titles of sources instead."""

PRINTED = Path(__file__).parents[3] / "resources" / "published"  # PAPER.csv has the cells that a paper printed


class Uses(NamedTuple):
    """Encoders, corpora and seeds behind some numbers, as ordered sets: dictionaries with None as values."""

    encoders: dict[str, None]
    corpora: dict[str, None]
    seeds: dict[int, None]

    def __or__(self, uses: "Uses") -> "Uses":
        return Uses(self.encoders | uses.encoders, self.corpora | uses.corpora, self.seeds | uses.seeds)


@dataclass(frozen=True)
class About:
    """Facts about the studies of a preset, compared with the full study.

    here: studies of the preset.
    there: studies of config.yaml without overlays, the full study.
    sources: sources of data by name.
    """

    here: Studies
    there: Studies
    sources: Mapping[str, Source]
    _published: dict[str, Uses] = field(default_factory=dict)  # cache of `_published_uses`, by paper

    @property
    def config(self) -> Config:
        """Configuration of the preset."""
        return self.here.config

    @property
    def published(self) -> Config:
        """Configuration of the full study."""
        return self.there.config

    @property
    def rehearsal(self) -> str:
        """Warning that no number of a rehearsal is a result; "" for a study."""
        if not (n := self.config.rehearse):
            return ""
        return f"REHEARSAL: training runs ended after {n} updates and passes of encoders after {n} texts: no number is a result"

    @property
    def preset(self) -> str:
        """Name of the preset."""
        return Preset("", self.config.results).name

    def page(self, paper: Paper, items: Mapping[str, TableOrFigure], report: bool) -> dict[str, Any]:
        """Settings of a page with some tables and figures of a paper (crosslens.reports.pages), as plain values.

        items: tables and figures of the page by name.
        report: whether the page shows all tables and figures of the paper.
        """
        uses = reduce(Uses.__or__, (self.uses(paper, item) for item in items.values()))
        facts = {
            "Encoder": "; ".join(f"{key}: {_with_revision(self.config.encoders[key])}" for key in uses.encoders),
            "Seeds": self._seeds(paper, uses),
            "Preset": f"{self.preset}, in {self.config.results}",
        }
        searches = {name: item for name, item in paper.items(self.config).items() if item.searched} if report else {}
        return {
            "paper": paper.key,
            "study": paper.about,
            "report": report,
            "title": f"Tables and figures of {paper.key}" if report else _heading(*items.values()),
            "preset": self.preset,
            "facts": {name: text for name, text in facts.items() if text},
            "corpora": {key: self._corpus(paper, key) for key in uses.corpora},
            "apart": self.apart(paper, uses),
            "further": {f"{self.config.results}/{paper.path(name)}.html": _heading(item) for name, item in searches.items()},
            "items": [
                {
                    "heading": _heading(item),
                    "caption": f"**{self.rehearsal}.** {item.caption}" if self.rehearsal else item.caption,
                    "decimals": item.decimals,
                    "decides": list(item.decides),
                }
                for item in items.values()
            ],
        }

    def origin(self, paper: Paper, item: TableOrFigure) -> str:
        """One line with the paper, title, preset and encoders of a figure, printed on its picture."""
        encoders = dict.fromkeys(self.encoder(key) for key in self.uses(paper, item).encoders)
        title = item.title[:1].lower() + item.title[1:]
        encoder = f"encoder: {listed(encoders)}" if encoders else ""
        return "; ".join(filter(None, [self.rehearsal, f"{paper.key}, {title}", f"{self.preset} preset", encoder]))

    def encoder(self, key: str) -> str:
        """Short description of an encoder of the preset, by its key."""
        return _encoder(self.config.encoders[key])

    def uses(self, paper: Paper, item: TableOrFigure) -> Uses:
        """Encoders, corpora and seeds behind a table or figure of the preset."""
        return _uses(self.here, paper, item)

    def apart(self, paper: Paper, uses: Uses) -> list[str]:
        """Reasons why numbers are not comparable with the paper's: a rehearsal, other encoders or other corpora.

        If the paper printed no numbers, a rehearsal is the only possible reason.
        """
        return [*filter(None, [self.rehearsal]), *self._other_data(paper, uses)]

    def _other_data(self, paper: Paper, uses: Uses) -> list[str]:
        """Reasons that name encoders and corpora unlike those of the full study; none if the paper printed no numbers."""
        if self.here is self.there or not (PRINTED / f"{paper.key}.csv").is_file():
            return []
        section = self.published.paper(paper.key)
        if section is None:
            return ["config.yaml does not have this study"]
        published_weights, reasons = [_weights(self.published.encoders[key]) for key in self._published_uses(paper).encoders], []
        encoders = [self.config.encoders[key] for key in uses.encoders]
        if other_encoders := [_encoder(encoder) for encoder in encoders if _weights(encoder) not in published_weights]:
            reasons.append(f"the encoder is {listed(other_encoders)}, not {_encoder(self.published.encoders[section.encoder])}")
        if different := [key for key in uses.corpora if self._differences(paper, key)]:
            corpora, verb = ("corpora", "differ") if len(different) > 1 else ("corpus", "differs")
            reasons.append(f"the {corpora} {listed(different)} {verb} from the paper's")
        return reasons

    def departures(self, paper: Paper, uses: Uses) -> str:
        """One line on the seeds, languages and numbers of training texts that differ from the full study; "" if none do."""
        if self.here is self.there or not self.published.paper(paper.key):
            return ""
        languages, texts = [], []
        for key, differences in ((key, self._differences(paper, key)) for key in uses.corpora):
            here, there = self.config.corpora[key], self.published.corpora.get(key)
            if "study" in differences:
                languages.append(f"{key} {len(here.languages)}")
            elif there and "languages" in differences:
                languages.append(f"{key} {len({*here.languages} & {*there.languages})} of {len(there.languages)}")
            if differences and (most := _most_texts(here)) and most != _most_texts(there):
                texts.append(f"{key} {most:,}")
        seeds = self._seeds(paper, uses)
        parts = {
            "seeds": seeds if "(" in seeds else "",
            "languages": ", ".join(languages),
            "training texts of each language, at most": ", ".join(texts),
        }
        return "; ".join(f"{name}: {text}" for name, text in parts.items() if text)

    def _seeds(self, paper: Paper, uses: Uses) -> str:
        """Seeds as text, followed by those of the full study if they differ."""
        here = sorted(uses.seeds)
        published_seeds = getattr(self.published.paper(paper.key), "seeds", None) or self.published.seeds
        there = f" (the full study: {', '.join(map(str, published_seeds))})"
        return ", ".join(map(str, here)) + there * bool(here and here != sorted(published_seeds))

    def _published_uses(self, paper: Paper) -> Uses:
        """Encoders and corpora of a paper in the full study; the seeds are only those of its tables and figures."""
        if paper.key not in self._published:
            config, items = self.published, paper.items(self.published).values()
            recipes = paper.recipes(config).values()
            corpora = [corpus for recipe in recipes for corpus, _, _ in recipe.files()]
            corpora += [corpus for samples in paper.samples(config).values() for corpus in samples.corpora]
            measured = [settings for recipe in recipes for settings in paper.measures(recipe, config).values()]
            corpora += [corpus for settings in measured for corpus in named_corpora(settings)]
            trained = Uses(dict.fromkeys(recipe.encoder for recipe in recipes), dict.fromkeys(corpora), {})
            self._published[paper.key] = reduce(Uses.__or__, (_uses(self.there, paper, item) for item in items), trained)
        return self._published[paper.key]

    def _corpus(self, paper: Paper, key: str) -> str:
        """Description of a corpus: source of its texts, differences from the full study, languages, limits and note."""
        corpus, differences = self.config.corpora[key], self._differences(paper, key)
        number, codes = len(corpus.languages), ", ".join(corpus.languages)
        origin = [differences.pop("origin", listed(self._titles(corpus)))]
        languages = [f"{differences.pop('languages', counted(number, 'language'))}: {codes}"]
        limits = [f"at most {most:,} {split} texts a language" for split, most in getattr(corpus, "limits", {}).items()]
        return "; ".join(filter(None, [*origin, *differences.values(), *languages, *limits, getattr(corpus, "note", None)]))

    def _differences(self, paper: Paper, key: str) -> dict[str, str]:
        """Differences of a corpus from the full study, as text by kind: study (not in it), origin, languages or settings."""
        here, there = self.config.corpora[key], self.published.corpora.get(key)
        if there is None or self.published.paper(paper.key) is None or key not in self._published_uses(paper).corpora:
            return {"study": "not a corpus of the full study"}
        differences, (titles, published_titles) = {}, (self._titles(corpus) for corpus in (here, there))
        if titles != published_titles:
            differences["origin"] = f"{listed(titles)} instead of {listed(published_titles)}"
        common, added = len(set(here.languages) & set(there.languages)), len(set(here.languages) - set(there.languages))
        if added or common < len(there.languages):
            differences["languages"] = (
                f"{common} of the paper's {len(there.languages)} languages{f' and {added} more' if added else ''}"
            )
        if not differences and here.model_dump(exclude=APART) != there.model_dump(exclude=APART):
            differences["settings"] = "with other settings than in the full study"
        return differences

    def _titles(self, corpus: Corpus) -> list[str]:
        """Names of the distributions that the texts come from."""
        return sorted({self.sources[name].name for name in corpus.sources()})


def _uses(studies: Studies, paper: Paper, item: TableOrFigure) -> Uses:
    """Encoders, corpora and seeds behind a table or figure of a paper, as configured in some studies."""
    recipes = [studies.recipe(need.recipe)[1] for need in item.needs]
    settings = [
        studies.settings(studies.measure(paper.key, need), need.recipe) if need.kind in KINDS else {} for need in item.needs
    ]
    measured = [need for need in item.needs if need.kind in KINDS]
    samples = [studies.sampled(need.recipe) for need in measured if KINDS[need.kind].source != "predictions"]
    corpora = [corpus for recipe in recipes for corpus, _, _ in recipe.files()]
    corpora += [corpus for name in [*samples, *item.samples] if name for corpus in studies.samples[name].corpora]
    corpora += [corpus for of_measure in settings for corpus in named_corpora(of_measure)]
    seeds = [  # seeds in the settings of a measure, for its own samples, or else those of training runs
        of_measure.get("seeds") or (need.seeds if recipe.trains() else ())
        for need, recipe, of_measure in zip(item.needs, recipes, settings, strict=True)
    ]
    return Uses(
        dict.fromkeys([*(recipe.encoder for recipe in recipes), *filter(None, [item.encoder])]),
        dict.fromkeys([*corpora, *item.corpora, *filter(None, [item.typology])]),
        dict.fromkeys(seed for group in seeds for seed in group),
    )


def _most_texts(corpus: Corpus | None) -> int | None:
    """Limit on the training texts, or paragraphs, of each language of a corpus; None if there is no limit."""
    limit: int | None = getattr(corpus, "limits", {}).get("train") or getattr(corpus, "paragraphs", None)
    return limit


def _heading(item: TableOrFigure) -> str:
    return f"{item.title}. {item.shows}"


def _weights(encoder: Encoder) -> dict[str, Any]:
    """Settings that distinguish an encoder: all but the corpora to which its vocabulary is trimmed."""
    return encoder.model_dump(exclude={"corpora"})


def _with_revision(encoder: Encoder) -> str:
    revision = getattr(encoder, "revision", "")
    return f"{_encoder(encoder)}{', revision ' * bool(revision)}{revision[:12]}"


def _encoder(encoder: Encoder) -> str:
    """Short description of an encoder, such as its id on the hub."""
    match encoder.source:
        case "hub":
            return encoder.id
        case "packaged":
            return f"{encoder.id} (quantised to 4 bits)"
        case "folder":
            return Path(encoder.path).name
        case "vocabulary":
            return f"the vocabulary of {encoder.vocabulary}"
        case "random":
            return f"our own {f'{encoder.layers}-layer BERT' if encoder.layers else 'word embeddings'}"
