"""Premises of one or two sentences, and hypotheses whose relation to them follows from what the sentences mean.

A sentence makes plain statements (`On Monday the painter works in the library` says e04, `the painter works in the
library`). A hypothesis is such a statement with at most one filler changed, said or denied; `label_of` compares it with
all that the premise states. As in corpora that people wrote, a denial often contradicts and a new word is often neutral, so
that a small encoder learns something from some hundred pairs; but each also occurs under the other labels.
"""

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass

from synthetic.generate import Stream, different, draw, split_of
from synthetic.grammar import Grammar
from synthetic.realise import Meaning

NLI = ("entailment", "neutral", "contradiction")  # labels, as MultiNLI and XNLI write them
DENIAL = {"e01": "e20", "e04": "e21", "e05": "e22", "e19": "e12"}  # the frames that deny plain statements
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
PAIRED = 0.5  # share of the premises that have two sentences, about different things
CONTRAST = 0.3  # share of these whose other sentence is of the same sort
DENYING = 0.15  # share of the sentences of a premise that deny something, where they may
AFFIRMED = {"entailment": 0.9, "neutral": 0.75, "contradiction": 0.3}
"""Share of the hypotheses that affirm rather than deny, where both are possible."""
DRAWS = 100  # draws of a sentence before a premise is given up
NEAR = 0.25  # share of the hypotheses that have no other fillers than the premise, where there are such


@dataclass(frozen=True)
class Statement:
    """A plain frame (a key of DECIDING) and its fillers, affirmed or denied."""

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
    prompts_by_premise: dict[frozenset[Meaning], Prompt] = {}

    def draw_premise(_: int) -> frozenset[Meaning] | None:
        prompt = _prompt(grammar, split, stream)
        if prompt is None:
            return None
        premise = frozenset(prompt.premise)
        prompts_by_premise.setdefault(premise, prompt)
        return premise

    premises = different(draw_premise, n, f"prompts of the {split} split")
    return tuple(prompts_by_premise[premise] for premise in premises)


def label_of(grammar: Grammar, premise: Sequence[Meaning], hypothesis: Statement) -> str | None:
    """The label of a statement after a premise; None where people might disagree."""
    relations = [_relation(grammar, statement, hypothesis) for meaning in premise for statement in statements(grammar, meaning)]
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


def _relation(grammar: Grammar, stated: Statement, hypothesis: Statement) -> str | None:
    """The label of a hypothesis after one statement of the premise; None if it is ambiguous."""
    frame = stated.meaning.frame
    if frame != hypothesis.meaning.frame:
        return "neutral"
    fillers = dict(hypothesis.meaning.fillers)
    changed = {slot: (filler, fillers[slot]) for slot, filler in stated.meaning.fillers if fillers[slot] != filler}
    if not changed:
        return "entailment" if stated.holds == hypothesis.holds else "contradiction"
    opposed = any(new in grammar.opposites.get(old, ()) for old, new in changed.values())
    if len(changed) == 1 and (opposed or "count" in changed):
        # A thing that is denied to be old need not be new.
        return ("contradiction" if hypothesis.holds else "entailment") if stated.holds else None
    apart = {slot for slot, (old, new) in changed.items() if new not in grammar.overlaps.get(old, ())}
    # Denying one thing leaves others open; but someone who does not buy something hardly takes it.
    free = apart - {"act"} if not stated.holds else apart & {*DECIDING[frame]}
    return "neutral" if free else None


def _prompt(grammar: Grammar, split: str, stream: Stream) -> Prompt | None:
    """A premise and its hypotheses; None if the draw gives none."""
    plain = stream.pick(sorted(DECIDING))
    first = _of_split(split, lambda: _sentence(grammar, plain, stream))
    if not first:
        return None
    target = next(statement for statement in statements(grammar, first) if statement.meaning.frame == plain)
    premise = [first]
    if stream.chance(PAIRED):
        second_frame, contrast = stream.pick(sorted(DECIDING)), stream.chance(CONTRAST)
        second = _of_split(
            split, lambda: _contrast(grammar, target, stream) if contrast else _sentence(grammar, second_frame, stream)
        )
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
    chosen = [(label, _choice(options, AFFIRMED[label], words, stream)) for label, options in candidates.items()]
    return Prompt(
        tuple(stream.shuffled(premise)),
        tuple((label, _sentence_of(statement)) for label, statement in stream.shuffled(chosen)),
    )


def _of_split(split: str, draw_meaning: Callable[[], Meaning]) -> Meaning | None:
    """The first of DRAWS draws that belongs to the split; None if none does, as few meanings may remain with one quality."""
    draws = (draw_meaning() for _ in range(DRAWS))
    return next((meaning for meaning in draws if split_of(meaning) == split), None)


def _sentence(grammar: Grammar, plain: str, stream: Stream) -> Meaning:
    """A sentence that states a plain frame, or now and then denies it if the premise may."""
    frames = [plain, *(frame for frame, stated in STATED.items() if plain in stated)]
    if plain in DENIED and stream.chance(DENYING):
        frames = [DENIAL[plain]]
    return draw(grammar, grammar.frames[stream.pick(frames)], stream)


def _contrast(grammar: Grammar, target: Statement, stream: Stream) -> Meaning:
    """The act of the target, denied if the target affirms it, or an opposite quality, of something else.

    So the words of a contradiction are in the premise too.
    """
    frame = target.meaning.frame
    meaning = draw(grammar, grammar.frames[frame if frame not in DENIED or not target.holds else DENIAL[frame]], stream)
    fillers = dict(target.meaning.fillers)
    same = {"act": fillers["act"]} if "act" in fillers else {}
    if opposites := grammar.opposites.get(fillers.get("quality", "")):
        same["quality"] = stream.pick(opposites)
    return Meaning(meaning.frame, tuple((slot, same.get(slot, filler)) for slot, filler in meaning.fillers))


def _variants(grammar: Grammar, target: Statement) -> Iterator[Statement]:
    """The target and all statements that differ from it in one filler, affirmed and denied; only qualities with opposites.

    A quality without opposites could not be contradicted without a denial, which would tell labels apart.
    """
    fillers = dict(target.meaning.fillers)
    kinds = dict(grammar.frames[target.meaning.frame].slots)
    options = {
        slot: [filler for filler in grammar.fillers(kind) if slot != "quality" or filler in grammar.opposites]
        for slot, kind in kinds.items()
    }
    if any(filler not in options[slot] for slot, filler in fillers.items()):
        return
    changes: list[dict[str, str]] = [{}]
    changes += [{slot: filler} for slot in fillers for filler in options[slot] if filler not in fillers.values()]
    for change in changes:
        meaning = Meaning(target.meaning.frame, tuple((fillers | change).items()))
        yield Statement(meaning)
        if meaning.frame in DENIAL:
            yield Statement(meaning, holds=False)


def _choice(options: Sequence[Statement], share: float, words: Set[str], stream: Stream) -> Statement:
    """One of the statements, affirmed with probability `share`, and with probability NEAR only with words of the premise."""
    holds = stream.chance(share)
    options = [option for option in options if option.holds == holds] or options
    near = [option for option in options if all(filler in words for _, filler in option.meaning.fillers)]
    return stream.pick(near if near and stream.chance(NEAR) else options)


def _sentence_of(statement: Statement) -> Meaning:
    meaning = statement.meaning
    return meaning if statement.holds else Meaning(DENIAL[meaning.frame], meaning.fillers)
