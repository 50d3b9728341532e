"""Facts beside tables and figures: encoder, seeds, corpora, and how these differ from the published study's."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple

from crosslens.config.corpora import Corpus
from crosslens.config.encoders import Encoder
from crosslens.config.scales import Scale
from crosslens.config.whole import Config
from crosslens.measures.kinds import named_corpora
from crosslens.reports.paper import Item, Paper
from crosslens.reports.studies import Studies
from crosslens.sources.registry import Source

APART = {"source", "archive", "train_source", "train_archive", "texts_source", "note"}
"""Keys of a corpus that two of the same texts may differ in; sources are compared by their titles."""


class Uses(NamedTuple):
    """What numbers are made of: keys of encoders and of corpora, and the seeds of trainings; as keys, in their order."""

    encoders: dict[str, None]
    corpora: dict[str, None]
    seeds: dict[int, None]

    def __or__(self, other: "Uses") -> "Uses":
        return Uses(self.encoders | other.encoders, self.corpora | other.corpora, self.seeds | other.seeds)


@dataclass(frozen=True)
class About:
    """The studies of a scale, and those of config.yaml alone, as they were published."""

    here: Studies
    there: Studies
    sources: Mapping[str, Source]
    _published: dict[str, Uses] = field(default_factory=dict)  # by paper

    @property
    def config(self) -> Config:
        """Configuration of the scale."""
        return self.here.config

    @property
    def published(self) -> Config:
        """Configuration of the published study."""
        return self.there.config

    def page(self, paper: Paper, items: Mapping[str, Item], report: bool) -> dict[str, Any]:
        """The settings of a page of some items of a paper (crosslens.reports.pages), as plain values. report: whether of all."""
        uses = reduce(Uses.__or__, (self.uses(paper, item) for item in items.values()))
        scale = Scale("", self.config.results).name
        facts = {
            "Encoder": "; ".join(f"{key}: {_with_revision(self.config.encoders[key])}" for key in uses.encoders),
            "Seeds": self._seeds(paper, uses),
            "Scale": f"{scale}, in {self.config.results}",
        }
        searches = {name: item for name, item in paper.items(self.config).items() if item.searched} if report else {}
        return {
            "paper": paper.key,
            "study": paper.about,
            "report": report,
            "title": f"Tables and figures of {paper.key}" if report else _heading(*items.values()),
            "scale": scale,
            "facts": {name: text for name, text in facts.items() if text},
            "corpora": {key: self._corpus(paper, key) for key in uses.corpora},
            "apart": self.apart(paper, uses),
            "further": {f"{self.config.results}/{paper.path(name)}.html": _heading(item) for name, item in searches.items()},
            "items": [
                {
                    "title": item.title,
                    "heading": _heading(item),
                    "caption": item.caption,
                    "decimals": item.decimals,
                }
                for item in items.values()
            ],
        }

    def uses(self, paper: Paper, item: Item) -> Uses:
        """What an item is made of."""
        return _uses(self.here, paper, item)

    def apart(self, paper: Paper, used: Uses) -> list[str]:
        """Why numbers are not comparable with the paper's: another encoder or other corpora than in the published study."""
        if self.here is self.there:
            return []
        section = self.published.paper(paper.key)
        if section is None:
            return ["config.yaml does not have this study"]
        theirs, reasons = [_weights(self.published.encoders[key]) for key in self._there(paper).encoders], []
        ours = [self.config.encoders[key] for key in used.encoders]
        if others := [_encoder(encoder) for encoder in ours if _weights(encoder) not in theirs]:
            reasons.append(f"the encoder is {_listed(others)}, not {_encoder(self.published.encoders[section.encoder])}")
        if different := [key for key in used.corpora if self._differences(paper, key)]:
            corpora, differ = ("corpora", "differ") if len(different) > 1 else ("corpus", "differs")
            reasons.append(f"the {corpora} {_listed(different)} {differ} from the paper's")
        return reasons

    def _seeds(self, paper: Paper, used: Uses) -> str:
        """Seeds in words, with those of the published study where they are others."""
        here, theirs = sorted(used.seeds), getattr(self.published.paper(paper.key), "seeds", None) or self.published.seeds
        there = f" (the published study: {', '.join(map(str, theirs))})" if here and here != sorted(theirs) else ""
        return ", ".join(map(str, here)) + there

    def _there(self, paper: Paper) -> Uses:
        """What a paper is made of in the published study, but for seeds."""
        if paper.key not in self._published:
            config, items = self.published, paper.items(self.published).values()
            recipes = paper.recipes(config).values()
            corpora = [corpus for recipe in recipes for corpus, _, _ in recipe.files()]
            corpora += [corpus for draws in paper.draws(config).values() for corpus in draws.corpora]
            corpora += [
                corpus
                for recipe in recipes
                for settings in paper.measures(recipe, config).values()
                for corpus in named_corpora(settings)
            ]
            trained = Uses(dict.fromkeys(recipe.encoder for recipe in recipes), dict.fromkeys(corpora), {})
            self._published[paper.key] = reduce(Uses.__or__, (_uses(self.there, paper, item) for item in items), trained)
        return self._published[paper.key]

    def _corpus(self, paper: Paper, key: str) -> str:
        """A corpus in words: where its texts come from, its languages, and how it differs from the published study's."""
        corpus, differences = self.config.corpora[key], self._differences(paper, key)
        number, codes = len(corpus.languages), ", ".join(corpus.languages)
        origin = [differences.pop("origin", _listed(self._titles(corpus)))]
        languages = [f"{differences.pop('languages', f'{number} languages' if number > 1 else '1 language')}: {codes}"]
        limits = [f"at most {most:,} {split} texts a language" for split, most in getattr(corpus, "limits", {}).items()]
        return "; ".join(filter(None, [*origin, *differences.values(), *languages, *limits, getattr(corpus, "note", None)]))

    def _differences(self, paper: Paper, key: str) -> dict[str, str]:
        """How a corpus differs from the published study's, by what differs: origin, languages, or other settings."""
        here, there = self.config.corpora[key], self.published.corpora.get(key)
        if there is None or self.published.paper(paper.key) is None or key not in self._there(paper).corpora:
            return {"study": "not a corpus of the published study"}
        found, (ours, theirs) = {}, (self._titles(each) for each in (here, there))
        if ours != theirs:
            found["origin"] = f"{_listed(ours)} instead of {_listed(theirs)}"
        common, added = len(set(here.languages) & set(there.languages)), len(set(here.languages) - set(there.languages))
        if added or common < len(there.languages):
            found["languages"] = (
                f"{common} of the paper's {len(there.languages)} languages{f' and {added} more' if added else ''}"
            )
        if not found and here.model_dump(exclude=APART) != there.model_dump(exclude=APART):
            found["settings"] = "with other settings than in the published study"
        return found

    def _titles(self, corpus: Corpus) -> list[str]:
        """Names of the distributions that the texts come from."""
        return sorted({self.sources[name].name for name in corpus.sources()})


def _uses(studies: Studies, paper: Paper, item: Item) -> Uses:
    """What an item of a paper is made of, in some studies."""
    recipes = [studies.recipe(need.recipe)[1] for need in item.needs]
    settings = [
        studies.settings(studies.measure(paper.key, need), need.recipe) if need.kind in studies.kinds else {}
        for need in item.needs
    ]
    measured = [need for need in item.needs if need.kind in studies.kinds]
    drawn = [studies.drawn(need.recipe) for need in measured if studies.kinds[need.kind].source != "predictions"]
    corpora = [corpus for recipe in recipes for corpus, _, _ in recipe.files()]
    corpora += [corpus for name in [*drawn, *item.draws] if name for corpus in studies.draws[name].corpora]
    corpora += [corpus for asked in settings for corpus in named_corpora(asked)]
    seeds = [  # of trainings, or those that a measure with draws of its own names
        asked.get("seeds") or (need.seeds if recipe.trains() else ())
        for need, recipe, asked in zip(item.needs, recipes, settings, strict=True)
    ]
    return Uses(
        dict.fromkeys([*(recipe.encoder for recipe in recipes), *_encoders(item)]),
        dict.fromkeys([*corpora, *_corpora(item)]),
        dict.fromkeys(seed for group in seeds for seed in group),
    )


def _encoders(item: Item) -> list[str]:
    """Of an item's own."""
    return [item.encoder] if item.encoder else []


def _corpora(item: Item) -> list[str]:
    """That an item reads itself."""
    return [*item.corpora, *([item.typology] if item.typology else [])]


def _heading(item: Item) -> str:
    return f"{item.title}. {item.shows}"


def _weights(encoder: Encoder) -> dict[str, Any]:
    """What distinguishes an encoder: all but the corpora to which its vocabulary is trimmed."""
    return encoder.model_dump(exclude={"corpora"})


def _with_revision(encoder: Encoder) -> str:
    revision = getattr(encoder, "revision", "")
    return f"{_encoder(encoder)}{', revision ' * bool(revision)}{revision[:12]}"


def _encoder(encoder: Encoder) -> str:
    """An encoder in words."""
    match encoder.source:
        case "hub":
            return encoder.id
        case "packaged":
            return f"{encoder.id} (quantised to 4 bits)"
        case "folder":
            return f"the one in {encoder.path}"
        case "vocabulary":
            return f"the vocabulary of {encoder.vocabulary}"
        case "random":
            return (
                f"a BERT of {encoder.layers} layers, from random weights"
                if encoder.layers
                else "word embeddings, from random weights"
            )


def _listed(names: Iterable[str]) -> str:
    """a, b and c."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
