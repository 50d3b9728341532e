"""Premises of one or two sentences, and hypotheses whose relation to them follows from what the sentences mean.

A sentence makes plain statements (`On Monday the painter works in the library` says e04, `the painter works in the
library`). A hypothesis is such a statement with at most one filler changed, said or denied; `label_of` compares it with
all that the premise states. As in corpora that people wrote, a denial often contradicts and a new word is often neutral, so
that a small encoder learns something from some hundred pairs; but each also occurs under the other labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass

from phrasebook.errors import PhrasebookError
from phrasebook.generate import PATIENCE, Stream, draw, split_of
from phrasebook.grammar import Grammar
from phrasebook.labels import NLI
from phrasebook.realise import Meaning

DENIAL = {"e01": "e20", "e04": "e21", "e05": "e22", "e19": "e12"}
"""The frames that deny plain statements."""
DENIED = ("e01", "e04", "e19")
"""Those that a premise may deny. A thing's quality is denied in hypotheses only, where an opposite denies it as well."""
STATED = {"e02": ("e01", "e05"), "e07": ("e05",), "e14": ("e05",), "e15": ("e04",)}
"""The plain statements that richer frames make; their slots are filled by the slots of the same kinds."""
DECIDING = {
    "e01": ("object",),
    "e04": ("agent",),
    "e05": ("object", "quality"),
    "e06": ("agent",),
    "e16": ("name", "animal"),
    "e19": ("agent", "food"),
}
"""The plain frames, and the slots in which two true statements are free to differ. Other slots are left out: who waits in
the garden is not in the park, what one buys another does not."""
PAIRED = 0.5
"""Share of the premises that have two sentences, about different things."""
CONTRAST = 0.3
"""Share of these whose other sentence is of the same sort."""
DENYING = 0.15
"""Share of the sentences of a premise that deny something, where they may."""
SAID = {"entailment": 0.9, "neutral": 0.75, "contradiction": 0.3}
"""Share of the hypotheses that say rather than deny, where both can be had."""
DRAWS = 100
"""Draws of a sentence before a premise is given up."""
NEAR = 0.25
"""Share of the hypotheses that have no other fillers than the premise, where there are such."""


@dataclass(frozen=True)
class Statement:
    """A plain frame (a key of DECIDING) and its fillers, said or denied."""

    meaning: Meaning
    holds: bool = True


@dataclass(frozen=True)
class Prompt:
    """One or two sentences, and one hypothesis for each label, in random order: (label, meaning)."""

    premise: tuple[Meaning, ...]
    hypotheses: tuple[tuple[str, Meaning], ...]


def prompts(grammar: Grammar, split: str, n: int, seed: int) -> tuple[Prompt, ...]:
    """`n` prompts with different premises, the same in all languages; split: train, dev or test.

    Premises are made of sentences that `split_of` gives to the split: no sentence of a premise is in that of another split.
    """
    stream = Stream(seed, "inference", split)
    found: dict[frozenset[Meaning], Prompt] = {}
    misses = 0
    while len(found) < n:
        prompt = _prompt(grammar, split, stream)
        if prompt and frozenset(prompt.premise) not in found:
            found[frozenset(prompt.premise)] = prompt
            misses = 0
        else:
            misses += 1
        if misses == PATIENCE:
            raise PhrasebookError(
                f"phrasebook: {n} prompts of the {split} split requested, only {len(found)} available; request fewer or add "
                "concepts"
            )
    return tuple(found.values())


def label_of(grammar: Grammar, premise: Sequence[Meaning], hypothesis: Statement) -> str | None:
    """The label of a statement after a premise; None where people might disagree."""
    relations = [_relation(grammar, known, hypothesis) for meaning in premise for known in statements(grammar, meaning)]
    for label in ("entailment", "contradiction", None):
        if label in relations:
            return label
    return "neutral"


def statements(grammar: Grammar, meaning: Meaning) -> Iterator[Statement]:
    """The plain statements that a sentence makes."""
    kinds = dict(grammar.frames[meaning.frame].slots)
    filler_of = {kinds[slot]: filler for slot, filler in meaning.fillers}
    affirmed = {denial: plain for plain, denial in DENIAL.items()}
    for frame in STATED.get(meaning.frame, (affirmed.get(meaning.frame, meaning.frame),)):
        fillers = tuple((slot, filler_of[kind]) for slot, kind in grammar.frames[frame].slots)
        yield Statement(Meaning(frame, fillers), meaning.frame not in affirmed)


def _relation(grammar: Grammar, known: Statement, other: Statement) -> str | None:
    """What one known statement says of another: a label, or None if it might count either way."""
    frame = known.meaning.frame
    if frame != other.meaning.frame:
        return "neutral"
    fillers = dict(other.meaning.fillers)
    changed = {slot: (filler, fillers[slot]) for slot, filler in known.meaning.fillers if fillers[slot] != filler}
    if not changed:
        return "entailment" if known.holds == other.holds else "contradiction"
    opposed = any(new in grammar.opposites.get(old, ()) for old, new in changed.values())
    if len(changed) == 1 and (opposed or "count" in changed):
        # What is not old need not be new.
        return ("contradiction" if other.holds else "entailment") if known.holds else None
    apart = {slot for slot, (old, new) in changed.items() if new not in grammar.overlaps.get(old, ())}
    # To deny one thing leaves others open; but who does not buy something hardly takes it.
    free = apart - {"act"} if not known.holds else apart & {*DECIDING[frame]}
    return "neutral" if free else None


def _prompt(grammar: Grammar, split: str, stream: Stream) -> Prompt | None:
    """A premise and its hypotheses; None if the draw gives none."""
    plain = stream.pick(sorted(DECIDING))
    first = _of_split(split, lambda: _sentence(grammar, plain, stream))
    if not first:
        return None
    target = next(each for each in statements(grammar, first) if each.meaning.frame == plain)
    premise = [first]
    if stream.chance(PAIRED):
        other, contrast = stream.pick(sorted(DECIDING)), stream.chance(CONTRAST)
        second = _of_split(split, lambda: _contrast(grammar, target, stream) if contrast else _sentence(grammar, other, stream))
        if not second:
            return None
        premise.append(second)
    fillers = [pair for meaning in premise for pair in meaning.fillers]
    things = [filler for slot, filler in fillers if slot != "act"]
    if len(set(things)) < len(things):
        return None
    candidates: dict[str, list[Statement]] = {label: [] for label in NLI}
    for statement in _variants(grammar, target):
        label = label_of(grammar, premise, statement)
        if label:
            candidates[label].append(statement)
    if not all(candidates.values()):
        return None
    words = {filler for _, filler in fillers}
    chosen = [(label, _choice(found, SAID[label], words, stream)) for label, found in candidates.items()]
    return Prompt(
        tuple(stream.shuffled(premise)),
        tuple((label, _said(statement)) for label, statement in stream.shuffled(chosen)),
    )


def _of_split(split: str, drawn: Callable[[], Meaning]) -> Meaning | None:
    """The first of some draws that belongs to the split; few meanings may be left once a quality is given."""
    draws = (drawn() for _ in range(DRAWS))
    return next((meaning for meaning in draws if split_of(meaning) == split), None)


def _sentence(grammar: Grammar, plain: str, stream: Stream) -> Meaning:
    """A sentence that states a plain frame, or now and then denies it if the premise may."""
    frames = [plain, *(frame for frame, stated in STATED.items() if plain in stated)]
    if plain in DENIED and stream.chance(DENYING):
        frames = [DENIAL[plain]]
    return draw(grammar, grammar.frames[stream.pick(frames)], stream)


def _contrast(grammar: Grammar, target: Statement, stream: Stream) -> Meaning:
    """The same act, denied if the target is said, or an opposite quality, of something else.

    So the words of a contradiction are in the premise too.
    """
    frame = target.meaning.frame
    drawn = draw(grammar, grammar.frames[frame if frame not in DENIED or not target.holds else DENIAL[frame]], stream)
    fillers = dict(target.meaning.fillers)
    same = {"act": fillers["act"]} if "act" in fillers else {}
    if opposites := grammar.opposites.get(fillers.get("quality", "")):
        same["quality"] = stream.pick(opposites)
    return Meaning(drawn.frame, tuple((slot, same.get(slot, filler)) for slot, filler in drawn.fillers))


def _variants(grammar: Grammar, target: Statement) -> Iterator[Statement]:
    """The target and all that differs from it in one filler, said and denied; only qualities that have opposites.

    A quality without opposites could not be contradicted without a denial, which would tell labels apart.
    """
    fillers = dict(target.meaning.fillers)
    kinds = dict(grammar.frames[target.meaning.frame].slots)
    options = {
        slot: [each for each in grammar.fillers(kind) if slot != "quality" or each in grammar.opposites]
        for slot, kind in kinds.items()
    }
    if any(filler not in options[slot] for slot, filler in fillers.items()):
        return
    changes: list[dict[str, str]] = [{}]
    changes += [{slot: other} for slot in fillers for other in options[slot] if other not in fillers.values()]
    for change in changes:
        meaning = Meaning(target.meaning.frame, tuple((fillers | change).items()))
        yield Statement(meaning)
        if meaning.frame in DENIAL:
            yield Statement(meaning, holds=False)


def _choice(found: Sequence[Statement], said: float, words: Set[str], stream: Stream) -> Statement:
    """One of the statements: said or denied in a given proportion, now and then with words of the premise only."""
    holds = stream.chance(said)
    found = [each for each in found if each.holds == holds] or found
    near = [each for each in found if all(filler in words for _, filler in each.meaning.fillers)]
    return stream.pick(near if near and stream.chance(NEAR) else found)


def _said(statement: Statement) -> Meaning:
    meaning = statement.meaning
    return meaning if statement.holds else Meaning(DENIAL[meaning.frame], meaning.fillers)
