"""NLI prompts: premises of one or two sentences, and hypotheses whose labels follow from what the sentences mean.

A sentence makes plain statements: `On Monday the painter works in the library` states e04, `the painter works in the library`.
A hypothesis affirms or denies such a statement, with at most one filler changed. `label_of` compares it with all statements of
the premise. As in corpora that people wrote, a denial is often a contradiction and a new word is often neutral, so that a small
encoder can learn from a few hundred pairs. But each also occurs under the other labels.
"""

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass

from synthetic.generate import Stream, different, draw, split_of
from synthetic.grammar import Grammar
from synthetic.realise import Meaning

NLI = ("entailment", "neutral", "contradiction")  # labels, as MultiNLI and XNLI write them
DENIAL = {"e01": "e20", "e04": "e21", "e05": "e22", "e19": "e12"}  # plain frame -> frame that denies it
DENIED = ("e01", "e04", "e19")
"""Plain frames that a premise may deny. A quality (e05) is denied only in hypotheses, where an opposite also denies it."""
STATED = {"e02": ("e01", "e05"), "e07": ("e05",), "e14": ("e05",), "e15": ("e04",)}
"""Richer frame -> plain frames that it states. Their slots get the fillers of its slots of the same kinds."""
DECIDING = {
    "e01": ("object",),
    "e04": ("agent",),
    "e05": ("object", "quality"),
    "e06": ("agent",),
    "e16": ("name", "animal"),
    "e19": ("agent", "food"),
}
"""Plain frame -> slots in which two statements may differ and both be true. Other slots are left out: someone who waits in
the garden is not in the park, and what one person buys another does not."""
PAIRED = 0.5  # share of the premises that have two sentences, about different things
CONTRAST = 0.3  # share of these in which the second sentence contrasts with the first
DENYING = 0.15  # share of a premise's sentences that deny something, among those that may
AFFIRMED = {"entailment": 0.9, "neutral": 0.75, "contradiction": 0.3}
"""Label -> share of its hypotheses that affirm rather than deny, if both are possible."""
DRAWS = 100  # attempts to draw a sentence before a premise is given up
NEAR = 0.25  # share of the hypotheses that only have fillers of the premise, if there are such


@dataclass(frozen=True)
class Statement:
    """A plain frame (a key of DECIDING) and its fillers, affirmed or denied."""

    meaning: Meaning
    holds: bool = True


@dataclass(frozen=True)
class Prompt:
    """A premise of one or two sentences and, in random order, one hypothesis for each label: (label, meaning)."""

    premise: tuple[Meaning, ...]
    hypotheses: tuple[tuple[str, Meaning], ...]


def prompts(grammar: Grammar, split: str, n: int, seed: int) -> tuple[Prompt, ...]:
    """`n` prompts with different premises, the same in all languages. split: train, dev or test.

    Premises consist of sentences that `split_of` assigns to the split, so that no two splits share a premise's sentence.
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
    """Label of a hypothesis, given a premise; None if people might disagree."""
    relations = [_relation(grammar, statement, hypothesis) for meaning in premise for statement in statements(grammar, meaning)]
    for label in ("entailment", "contradiction", None):
        if label in relations:
            return label
    return "neutral"


def statements(grammar: Grammar, meaning: Meaning) -> Iterator[Statement]:
    """Yield the plain statements that a sentence makes."""
    kinds = dict(grammar.frames[meaning.frame].slots)
    filler_of = {kinds[slot]: filler for slot, filler in meaning.fillers}
    affirmed = {denial: plain for plain, denial in DENIAL.items()}
    for frame in STATED.get(meaning.frame, (affirmed.get(meaning.frame, meaning.frame),)):
        fillers = tuple((slot, filler_of[kind]) for slot, kind in grammar.frames[frame].slots)
        yield Statement(Meaning(frame, fillers), meaning.frame not in affirmed)


def _relation(grammar: Grammar, stated: Statement, hypothesis: Statement) -> str | None:
    """Label of a hypothesis, given one statement of the premise; None if it is ambiguous."""
    frame = stated.meaning.frame
    if frame != hypothesis.meaning.frame:
        return "neutral"
    fillers = dict(hypothesis.meaning.fillers)
    changed = {slot: (filler, fillers[slot]) for slot, filler in stated.meaning.fillers if fillers[slot] != filler}
    if not changed:
        return "entailment" if stated.holds == hypothesis.holds else "contradiction"
    opposed = any(new in grammar.opposites.get(old, ()) for old, new in changed.values())
    if len(changed) == 1 and (opposed or "count" in changed):
        # A thing that is not old need not be new.
        return ("contradiction" if hypothesis.holds else "entailment") if stated.holds else None
    apart = {slot for slot, (old, new) in changed.items() if new not in grammar.overlaps.get(old, ())}
    # To deny one thing leaves others open. But someone who does not buy something hardly takes it.
    free = apart - {"act"} if not stated.holds else apart & {*DECIDING[frame]}
    return "neutral" if free else None


def _prompt(grammar: Grammar, split: str, stream: Stream) -> Prompt | None:
    """Draw a premise and its hypotheses; None if they do not suit."""
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
    """First of DRAWS random meanings that belongs to the split; None without one, since a quality may leave few meanings."""
    draws = (draw_meaning() for _ in range(DRAWS))
    return next((meaning for meaning in draws if split_of(meaning) == split), None)


def _sentence(grammar: Grammar, plain: str, stream: Stream) -> Meaning:
    """Draw a sentence that states a plain frame or, now and then, denies it, if a premise may do so."""
    frames = [plain, *(frame for frame, stated in STATED.items() if plain in stated)]
    if plain in DENIED and stream.chance(DENYING):
        frames = [DENIAL[plain]]
    return draw(grammar, grammar.frames[stream.pick(frames)], stream)


def _contrast(grammar: Grammar, target: Statement, stream: Stream) -> Meaning:
    """Draw a sentence about something else with the target's act, denied if the target affirms it, or an opposite quality.

    The words of a contradiction are then in the premise too.
    """
    frame = target.meaning.frame
    meaning = draw(grammar, grammar.frames[frame if frame not in DENIED or not target.holds else DENIAL[frame]], stream)
    fillers = dict(target.meaning.fillers)
    same = {"act": fillers["act"]} if "act" in fillers else {}
    if opposites := grammar.opposites.get(fillers.get("quality", "")):
        same["quality"] = stream.pick(opposites)
    return Meaning(meaning.frame, tuple((slot, same.get(slot, filler)) for slot, filler in meaning.fillers))


def _variants(grammar: Grammar, target: Statement) -> Iterator[Statement]:
    """Yield the target and all statements that differ from it in one filler, affirmed and denied.

    Only qualities with opposites occur. Others could be contradicted only by a denial, which would give the label away.
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
    """Pick a statement, affirmed with probability `share` and, with probability NEAR, with no other fillers than `words`."""
    holds = stream.chance(share)
    options = [option for option in options if option.holds == holds] or options
    near = [option for option in options if all(filler in words for _, filler in option.meaning.fillers)]
    return stream.pick(near if near and stream.chance(NEAR) else options)


def _sentence_of(statement: Statement) -> Meaning:
    meaning = statement.meaning
    return meaning if statement.holds else Meaning(DENIAL[meaning.frame], meaning.fillers)
