"""Verdicts on claims: what estimates of effects and controls say of them, where the trainings that they compare have learned."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from crosslens.numerics.estimates import Estimate, add_errors, holm
from crosslens.numerics.intervals import LEVEL
from crosslens.reports.claims.contrasts import Contrasts, Part
from crosslens.reports.claims.evidence import Missing, Unconfigured
from crosslens.reports.claims.ledger import Claim, Control, Effect, Learned, Ledger, Region
from crosslens.runs.errors import DataError

Verdict = Literal["holds", "fails", "undecided", "control fails", "not measured"]
HOLDS: Final = "holds"
FAILS: Final = "fails"
UNDECIDED: Final = "undecided"
CONTROL_FAILS: Final = "control fails"
NOT_MEASURED: Final = "not measured"


@dataclass(frozen=True)
class Decision:
    """What is known of a claim.

    parts: its effects; controls: those that must not be there, with what they show; p: probability of the parts if the truth were
    no nearer to the claim's region than its border, nan where none is known; level: at which it is decided; items: tables and
    figures that decide it; in_print: whether it is decided by what was printed alone;
    left_out: optional effects of which the scale has nothing.
    """

    claim: Claim
    verdict: Verdict
    reason: str
    parts: Sequence[Part] = ()
    controls: Sequence[tuple[Control, Part]] = ()
    p: float = math.nan
    level: float = LEVEL
    items: Sequence[str] = ()
    in_print: bool = False
    left_out: Sequence[str] = ()

    @property
    def part(self) -> Part | None:
        """The part that the claim hangs on: the one that is least surely as expected."""
        return max(self.parts, key=_doubt) if self.parts else None

    @property
    def tested(self) -> float:
        """p, nan where all numbers are exact, which is no test."""
        return self.p if any(part.estimate.error for part in self.parts) else math.nan


def decide(ledger: Ledger, contrasts: Contrasts) -> dict[str, Decision]:
    """A decision for each claim, at levels after Holm for those that are central.

    Raises DataError where a selection mixes numbers of different metrics or definitions.
    """
    measured = {}
    for key, claim in ledger.claims.items():
        try:
            measured[key] = _measured(_comparable(claim, ledger, contrasts.evidence.apart), contrasts)
        except DataError:  # a damaged table
            raise
        except ValueError as error:
            raise DataError(f"claims.{key}: {error}") from None
    central = [key for key, claim in ledger.claims.items() if claim.central]
    levels = dict(zip(central, holm([measured[key].tested for key in central]), strict=True))
    unlearned = Unlearned(ledger, contrasts)
    decisions = {}
    for key, decision in measured.items():
        sources = {source.source for source in ledger.sources(decision.claim)}
        apart = contrasts.evidence.apart if len(sources) > 1 and "published" in sources else ()
        decision = replace(
            decision,
            level=levels.get(key, LEVEL),
            items=list(dict.fromkeys(ledger.items(decision.claim))),
            in_print=sources == {"published"},
        )
        decisions[key] = _with_what_lacks(_decided(decision, unlearned, apart))
    return decisions


def _comparable(claim: Claim, ledger: Ledger, apart: Sequence[str]) -> Claim:
    """A claim without the effects that compare printed numbers with ours where these are not comparable, if others decide it.

    apart: why they are not.
    """
    if not apart:
        return claim
    kept = [effect for effect in claim.effect if not _mixes(effect, ledger)]
    return claim.model_copy(update={"effect": kept}) if kept else claim


def _mixes(effect: Effect, ledger: Ledger) -> bool:
    sources = {ledger.selection(effect.shared(place), selector).source for place, selector in effect.selectors()}
    return len(sources) > 1 and "published" in sources


def _with_what_lacks(decision: Decision) -> Decision:
    """A decision whose reason names the effects without which it was made."""
    if not decision.left_out:
        return decision
    lacks = f"without {', '.join(decision.left_out)}, which this scale does not have"
    return replace(decision, reason="; ".join(filter(None, (decision.reason, lacks))))


def _measured(claim: Claim, contrasts: Contrasts) -> Decision:
    """The effects of a claim and its controls, without a verdict but that something is missing."""
    if claim.kind == "interpretation":
        rests = f", which rests on {', '.join(claim.rests_on)}" if claim.rests_on else ""
        return Decision(claim, UNDECIDED, f"an interpretation{rests}")
    if not claim.effect:
        return Decision(claim, NOT_MEASURED, claim.note)
    parts: list[Part] = []
    left_out: dict[str, str] = {}
    for effect in claim.effect:
        try:
            parts += contrasts.parts(effect, claim.expected)
        except Missing as missing:
            if not (effect.optional and isinstance(missing, Unconfigured)):
                return Decision(claim, NOT_MEASURED, str(missing))
            left_out[effect.name] = str(missing)
    if not parts:
        return Decision(claim, NOT_MEASURED, next(iter(left_out.values())))
    controls: list[tuple[Control, Part]] = []
    reason = ""
    for control in claim.control:
        try:
            controls += [(control, part) for part in contrasts.parts(control, claim.expected)]
        except Missing as missing:
            if control.optional and isinstance(missing, Unconfigured):
                continue
            reason = f"its control is not measured: {missing}"
    return Decision(claim, UNDECIDED, reason, parts, controls, _p(claim, parts), left_out=[*left_out])


def _decided(decision: Decision, unlearned: "Unlearned", apart: Sequence[str]) -> Decision:
    """A decision with its verdict. apart: why its numbers cannot be compared with printed ones, where they are."""
    claim, parts = decision.claim, decision.parts
    if not parts or decision.verdict == NOT_MEASURED:
        return decision
    reasons = [*apart, *(unlearned(part.recipes) for part in parts)]
    reasons += [f"{unlearned.trained(part.recipes)} one seed" for part in parts if part.seeds == 1]
    reasons += ["one family of languages" for part in parts if part.families == 1]
    if reasons := list(dict.fromkeys(filter(None, reasons))):
        return replace(decision, reason="; ".join(reasons))
    if math.isnan(decision.p):
        return replace(decision, reason="; ".join(_without_interval(parts)))
    if decision.p >= decision.level:
        at = "" if decision.level == LEVEL else f" at {100 * (1 - decision.level):.4g} % (Holm)"
        number = sum(sure(part, decision.level) < 0 for part in parts)
        some = f"{number} of {len(parts)} parts are as claimed{at}" if len(parts) > 1 else f"the interval{at} covers both sides"
        return replace(decision, reason="; ".join([some, *_without_interval(parts)]))
    there, _ = _probabilities(claim, parts)
    if decision.p == there:
        for control, part in decision.controls:
            if sure(part) < 0 and not _beyond(decision.part, part):
                return replace(decision, verdict=CONTROL_FAILS, reason=f"the effect is there too: {control.says}")
        if decision.reason:
            return decision
        return replace(decision, verdict=HOLDS, reason="")
    return replace(decision, verdict=FAILS, reason="")


def _beyond(part: Part | None, control: Part) -> bool:
    """Whether an effect surely exceeds that of its control in the direction that is claimed.

    None does of what is claimed to lie between two numbers. Their errors are taken to be independent.
    """
    low, high = part.region.ends if part else (0, 0)
    if part is None or math.isfinite(low) and math.isfinite(high):
        return False
    more = part.estimate.value - control.estimate.value
    difference = add_errors(Estimate(more, 0.0), part.estimate, control.estimate)
    return more * (1 if math.isfinite(low) else -1) > 0 and difference.p(0) < LEVEL


def _without_interval(parts: Sequence[Part]) -> list[str]:
    """Why parts have no interval."""
    lacking = [part for part in parts if math.isnan(part.estimate.error)]
    return [": ".join(filter(None, (part.name, part.lack or "nothing says how much it varies"))) for part in lacking]


def _p(claim: Claim, parts: Sequence[Part]) -> float:
    """The smaller of the probabilities of the claim and of its opposite; nan where no part has an error."""
    there, not_there = _probabilities(claim, parts)
    return min(there, not_there) if any(not math.isnan(part.estimate.error) for part in parts) else math.nan


def _probabilities(claim: Claim, parts: Sequence[Part]) -> tuple[float, float]:
    """Probabilities of so many parts inside their regions, and of so many outside, if fewer were.

    That at least u of m hypotheses are false has the probability (m - u + 1) times the u-th smallest (Benjamini and Heller 2008).
    """
    needed = claim.at_least or len(parts)
    inside = [part_p(part) for part in parts if _side(part) < 0]
    outside = [part_p(part) for part in parts if _side(part) > 0]
    return _at_least(needed, inside, len(parts)), _at_least(len(parts) - needed + 1, outside, len(parts))


def _at_least(needed: int, ps: Iterable[float], number: int) -> float:
    known = sorted(p for p in ps if not math.isnan(p))
    return min(1.0, (number - needed + 1) * known[needed - 1]) if 0 < needed <= len(known) else 1.0


def part_p(part: Part) -> float:
    """The level at which the interval of a part ends at the border of its region: the farther of two where it lies inside."""
    if part.estimate.error == 0:
        return 0.0
    return max(part.estimate.p(end) for end in part.region.ends if math.isfinite(end))


def _side(part: Part) -> int:
    """-1: the value lies inside the region; 1: outside; 0: it is not known."""
    low, high = part.region.ends
    if math.isnan(part.estimate.value):
        return 0
    return -1 if low < part.estimate.value < high else 1


def sure(part: Part, level: float = LEVEL) -> int:
    """-1: the interval lies inside the region; 1: outside; 0: it includes a border, or is not known."""
    return _side(part) if part_p(part) < level else 0


def _doubt(part: Part) -> float:
    """From -1, surely as claimed, to 1, surely not; 0 where nothing is known."""
    p = part_p(part)
    return 0 if math.isnan(p) else _side(part) * (1 - p)


class Unlearned:
    """Which trainings count as having learned nothing, and why."""

    def __init__(self, ledger: Ledger, contrasts: Contrasts) -> None:
        self.ledger, self.contrasts = ledger, contrasts
        self.reasons: dict[str, str] = {}

    def __call__(self, recipes: Iterable[str]) -> str:
        """Why one of some trainings is not known to have learned; "" where all have."""
        return next(filter(None, map(self._reason, self._trained(recipes))), "")

    def trained(self, recipes: Iterable[str]) -> str:
        """Subject and verb of a sentence about those of some trainings that train an encoder."""
        names = self._trained(recipes)
        return f"{names[0]} has" if len(names) == 1 else "a training of an encoder has"

    def _trained(self, recipes: Iterable[str]) -> list[str]:
        return [name for name in recipes if self.contrasts.evidence.facts[name]["trained"]]

    def _reason(self, recipe: str) -> str:
        if recipe not in self.reasons:
            entries = [(learned, name) for learned in self.ledger.learned for name in learned.selections
                       if recipe in self._named(learned, name)]  # fmt: skip
            reasons = (self._of(recipe, learned, name) for learned, name in entries)
            self.reasons[recipe] = next(filter(None, reasons), "") if entries else f"no floor is stated for {recipe}"
        return self.reasons[recipe]

    def _named(self, learned: Learned, name: str) -> Sequence[str]:
        patterns = self.ledger.selection(learned.of, name).recipes or ()
        return [recipe for pattern in patterns for recipe in self.contrasts.evidence.named(pattern)]

    def _of(self, recipe: str, learned: Learned, name: str) -> str:
        for level, floor in learned.above.items():
            constant = isinstance(floor, int | float)
            region = Region(above=float(floor)) if isinstance(floor, int | float) else Region(above=0)
            effect = Effect(
                of=learned.of,
                plus=[{"selection": name, "recipe": recipe}],
                minus=[] if constant else [floor],
                over=learned.over,
                scale=learned.scale,
            )
            try:
                (part,) = self.contrasts.parts(effect, region)
            except Missing as missing:
                return f"{recipe} has no score beside {level}: {missing}"
            if sure(part) >= 0:
                score = part.estimate.value
                than = f"{score:.1f}, {level} {floor:g}" if constant else f"{score:+.1f} points"
                return f"{recipe} is not {'surely ' if _side(part) < 0 else ''}above {level} ({than})"
        return ""
