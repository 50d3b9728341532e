"""Verdicts on claims: from estimates of effects and controls, and from whether the training runs have learned."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final, Literal

from crosslens.jobs.errors import DataError
from crosslens.numerics.estimates import Estimate, add_errors, holm
from crosslens.numerics.intervals import LEVEL
from crosslens.reports.claims.claims_file import Claim, ClaimsFile, Control, Effect, Learned, Region, Selection
from crosslens.reports.claims.contrasts import Contrasts, Part
from crosslens.reports.claims.evidence import Evidence, Missing, Unconfigured
from crosslens.reports.claims.forest import interval

Verdict = Literal["holds", "fails", "undecided", "control fails", "not measured"]
HOLDS: Final = "holds"
FAILS: Final = "fails"
UNDECIDED: Final = "undecided"
CONTROL_FAILS: Final = "control fails"
NOT_MEASURED: Final = "not measured"
YES, NO, UNCLEAR = "yes", "no", "unclear"  # whether a control has the effect too
AS_CLAIMED, ELSEWHERE, ON_BOTH_SIDES = "as claimed", "elsewhere", "on both sides"  # where intervals lie
NOT_COMPARABLE, NOT_LEARNED, ONE_SEED, ONE_FAMILY = "not comparable", "learning not shown", "one seed", "one family"
NO_INTERVAL, WIDE, NO_CONTROL, INTERPRETATION = "no interval", "wide interval", "control not measured", "interpretation"


@dataclass(frozen=True)
class Decision:
    """A claim with its verdict, and the numbers that lead to it.

    parts: effects of the claim.
    controls: effects that must be absent, each after its entry in the claims file.
    cause: what keeps an undecided claim from a verdict, in two or three words: one of the constants from NOT_COMPARABLE to
    INTERPRETATION, of several the first; else "".
    p: the smaller of the probabilities of such effects if the claim were false and if it were true; nan where no effect has an
    error.
    level: level with which p is compared.
    items: names of the tables and figures that decide the claim.
    in_print: whether printed numbers alone decide it.
    apart: reasons why our numbers that decide it are not comparable with printed ones.
    left_out: names of optional effects that the scale does not have.
    tendency: where the 95 % intervals of an undecided claim lie, AS_CLAIMED, ELSEWHERE, or CONTROL_FAILS where a control has the
    effect too, if they only lack seeds, families of languages or Holm's level; else "".
    """

    claim: Claim
    verdict: Verdict
    reason: str
    parts: Sequence[Part] = ()
    controls: Sequence[tuple[Control, Part]] = ()
    cause: str = ""
    p: float = math.nan
    level: float = LEVEL
    items: Sequence[str] = ()
    in_print: bool = False
    apart: Sequence[str] = ()
    left_out: Sequence[str] = ()
    tendency: str = ""

    @property
    def part(self) -> Part | None:
        """The part on which the verdict depends most: the least surely expected of the parts that have to be as claimed."""
        needed = self.claim.at_least or len(self.parts)
        return sorted(self.parts, key=_doubt)[:needed][-1] if self.parts else None

    def least_certain(self, number: int) -> list[Part]:
        """So many parts at most, in their order: those that are least surely as claimed."""
        chosen = {id(part) for part in sorted(self.parts, key=_doubt)[-number:]}
        return [part for part in self.parts if id(part) in chosen]

    def sides(self) -> dict[str, list[Part]]:
        """Parts by where their 95 % intervals lie: AS_CLAIMED, ELSEWHERE, or ON_BOTH_SIDES, also if unknown."""
        names = {-1: AS_CLAIMED, 1: ELSEWHERE, 0: ON_BOTH_SIDES}
        return {name: [part for part in self.parts if sure(part) == side] for side, name in names.items()}

    @property
    def strongest_control(self) -> tuple[Control, Part] | None:
        """The control that shows its effect most surely; None where there is none."""
        return min(self.controls, key=lambda control: _doubt(control[1]), default=None)

    @property
    def tested(self) -> float:
        """Probability `p` of a claim that is tested; nan where all its numbers are exact."""
        return self.p if any(part.estimate.error for part in self.parts) else math.nan


def decide(claims_file: ClaimsFile, contrasts: Contrasts) -> dict[str, Decision]:
    """Decisions on the claims of a claims file, by claim. Levels of central claims are Holm's.

    Raises DataError where a selection mixes numbers of different metrics or definitions.
    """
    measured = {}
    for key, claim in claims_file.claims.items():
        try:
            measured[key] = _measure(_comparable(claim, claims_file, contrasts.evidence), contrasts)
        except DataError:  # a damaged table
            raise
        except ValueError as error:
            raise DataError(f"claims.{key}: {error}") from None
    central = [key for key, claim in claims_file.claims.items() if claim.central]
    levels = dict(zip(central, holm([measured[key].tested for key in central]), strict=True))
    unlearned = Unlearned(claims_file, contrasts)
    decisions = {}
    for key, decision in measured.items():
        selections = claims_file.sources(decision.claim.effect)
        decision = replace(
            decision,
            level=levels.get(key, LEVEL),
            items=list(dict.fromkeys(claims_file.items(decision.claim))),
            in_print={selection.source for selection in selections} == {"published"},
            apart=contrasts.evidence.reasons_apart(selections),
        )
        decisions[key] = _with_omissions(_judge(decision, unlearned, decision.apart if _mixed(selections) else ()))
    return decisions


def _comparable(claim: Claim, claims_file: ClaimsFile, evidence: Evidence) -> Claim:
    """A claim without the effects that set our numbers beside printed ones, where these are not comparable.

    A claim that would have no effects left keeps all.
    """
    effects = []
    for effect in claim.effect:
        selections = claims_file.sources([effect])
        if not (_mixed(selections) and evidence.reasons_apart(selections)):
            effects.append(effect)
    return claim.model_copy(update={"effect": effects}) if effects else claim


def _mixed(selections: Sequence[Selection]) -> bool:
    """Whether our numbers and printed ones are among some selections."""
    sources = {selection.source for selection in selections}
    return len(sources) > 1 and "published" in sources


def _with_omissions(decision: Decision) -> Decision:
    """A decision whose reason names the optional effects that were left out."""
    if not decision.left_out:
        return decision
    omissions = f"without {', '.join(decision.left_out)}, which this scale does not have"
    return replace(decision, reason="; ".join(filter(None, (decision.reason, omissions))))


def _measure(claim: Claim, contrasts: Contrasts) -> Decision:
    """A claim with its effects and controls, not yet judged: undecided, or not measured where an effect is missing."""
    if claim.kind == "interpretation":
        rests = f", which rests on {', '.join(claim.rests_on)}" if claim.rests_on else ""
        return Decision(claim, UNDECIDED, f"an interpretation{rests}", cause=INTERPRETATION)
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
    cause = NO_CONTROL if reason else ""
    p = math.nan if all(math.isnan(part.estimate.error) for part in parts) else min(_probabilities(claim, parts))
    return Decision(claim, UNDECIDED, reason, parts, controls, cause, p, left_out=[*left_out])


def _judge(decision: Decision, unlearned: "Unlearned", apart: Sequence[str]) -> Decision:
    """A decision with its verdict.

    apart: reasons why our numbers are not comparable with the printed ones that the claim sets beside them.
    """
    claim, parts = decision.claim, decision.parts
    if not parts or decision.verdict == NOT_MEASURED:
        return decision
    # Counts that are the printed ones are so whatever they were made of: those of other texts would not be.
    equal_counts = claim.kind == "equality" and all(part.estimate.error == 0 and _side(part) < 0 for part in parts)
    single = [part for part in parts if part.seeds == 1]
    reasons = {
        NOT_COMPARABLE: () if equal_counts else apart,
        NOT_LEARNED: list(filter(None, dict.fromkeys(unlearned(part.recipes) for part in parts))),
        ONE_SEED: [f"{unlearned.subject(single)} one seed"] if single else (),
        ONE_FAMILY: ["one family of languages"] if any(part.families == 1 for part in parts) else (),
    }
    if causes := [cause for cause, texts in reasons.items() if texts]:
        tendency = "" if causes[0] in (NOT_COMPARABLE, NOT_LEARNED) else _tendency(decision)
        return replace(decision, cause=causes[0], reason="; ".join(chain(*reasons.values())), tendency=tendency)
    if math.isnan(decision.p):
        return replace(decision, cause=NO_INTERVAL, reason="; ".join(_without_interval(parts)))
    if decision.p >= decision.level:
        level = "" if decision.level == LEVEL else f" at {100 * (1 - decision.level):.4g} % (Holm)"
        number = sum(sure(part, decision.level) < 0 for part in parts)
        several = f"{number} of {len(parts)} parts are as claimed{level}"
        doubt = several if len(parts) > 1 else f"the interval{level}, {interval(parts[0], decision.level)}, covers both sides"
        reason = "; ".join([doubt, *_without_interval(parts)])
        return replace(decision, cause=WIDE, reason=reason, tendency=_tendency(decision))
    p_if_false, _ = _probabilities(claim, parts)
    if decision.p == p_if_false:
        for control, part in decision.controls:
            if control_answer(decision, part) == YES:
                return replace(
                    decision, verdict=CONTROL_FAILS, cause="", reason=f"the control has the effect too: {control.says}"
                )
        if decision.reason:
            return decision
        return replace(decision, verdict=HOLDS, reason="")
    return replace(decision, verdict=FAILS, cause="", reason="")


def _tendency(decision: Decision) -> str:
    """Where the 95 % intervals of the effects lie: AS_CLAIMED, ELSEWHERE, or "" where neither is true of enough of them.

    It is CONTROL_FAILS where they lie as claimed and a control has the effect too.
    """
    sides, needed = decision.sides(), decision.claim.at_least or len(decision.parts)
    if len(sides[AS_CLAIMED]) >= needed:
        answers = {control_answer(decision, control) for _, control in decision.controls}
        return CONTROL_FAILS if YES in answers else AS_CLAIMED
    return ELSEWHERE if len(sides[ELSEWHERE]) > len(decision.parts) - needed else ""


def control_answer(decision: Decision, control: Part) -> str:
    """Whether a control has the effect too: YES, NO where it lies elsewhere or the effect surely exceeds it, or UNCLEAR."""
    if sure(control) > 0 or _exceeds(decision.part, control):
        return NO
    return YES if sure(control) < 0 else UNCLEAR


def _exceeds(part: Part | None, control: Part) -> bool:
    """Whether an effect surely exceeds its control in the direction that is claimed, with errors taken to be independent.

    An effect that is claimed to lie between two numbers has no direction, and exceeds nothing.
    """
    low, high = part.region.ends if part else (0, 0)
    if part is None or math.isfinite(low) and math.isfinite(high):
        return False
    excess = part.estimate.value - control.estimate.value
    difference = add_errors(Estimate(excess, 0.0), part.estimate, control.estimate)
    return excess * (1 if math.isfinite(low) else -1) > 0 and difference.p(0) < LEVEL


def _without_interval(parts: Sequence[Part]) -> list[str]:
    """Reasons why some parts have no interval, one for each such part."""
    unknown = [part for part in parts if math.isnan(part.estimate.error)]
    return [": ".join(filter(None, (part.name, part.lack or "nothing says how much it varies"))) for part in unknown]


def _probabilities(claim: Claim, parts: Sequence[Part]) -> tuple[float, float]:
    """Probabilities of parts that are as far inside their regions if the claim were false, and as far outside if it were true.

    The claim is true where at least `at_least` of its parts, or all of them, lie inside their regions.
    """
    needed = claim.at_least or len(parts)
    inside = [part_p(part) for part in parts if _side(part) < 0]
    outside = [part_p(part) for part in parts if _side(part) > 0]
    return _at_least(needed, inside, len(parts)), _at_least(len(parts) - needed + 1, outside, len(parts))


def _at_least(needed: int, ps: Iterable[float], number: int) -> float:
    """Probability of results like these if fewer than `needed` of the null hypotheses were false.

    Of m hypotheses and u needed ones it is (m - u + 1) times the u-th smallest of the single probabilities.

    ps: probabilities of single results under their null hypotheses; nan, and those that are left out, count as 1.
    number: number of all hypotheses.
    Source: Benjamini and Heller (2008).
    """
    ascending = sorted(p for p in ps if not math.isnan(p))
    return min(1.0, (number - needed + 1) * ascending[needed - 1]) if 0 < needed <= len(ascending) else 1.0


def part_p(part: Part) -> float:
    """Level at which the interval of a part ends at the border of its region; of two borders, the larger level counts."""
    if part.estimate.error == 0:
        return 0.0
    return max(part.estimate.p(end) for end in part.region.ends if math.isfinite(end))


def _side(part: Part) -> int:
    """-1 where the value lies inside the region, 1 where it lies outside, 0 where it is unknown."""
    low, high = part.region.ends
    if math.isnan(part.estimate.value):
        return 0
    return -1 if low < part.estimate.value < high else 1


def sure(part: Part, level: float = LEVEL) -> int:
    """-1 where the interval lies inside the region, 1 where it lies outside, 0 where it includes a border or is unknown."""
    return _side(part) if part_p(part) < level else 0


def _doubt(part: Part) -> tuple[float, float]:
    """Doubt about a part: from -1, surely as claimed, to 1, surely not; 0 where nothing is known.

    Parts that are equally sure differ by how far their values lie outside their regions, which is negative inside.
    """
    p, value = part_p(part), part.estimate.value
    low, high = part.region.ends
    outside = 0.0 if math.isnan(value) else max(low - value, value - high)
    return 0.0 if math.isnan(p) else _side(part) * (1 - p), outside


class Unlearned:
    """Reasons why training runs count as having learned nothing."""

    def __init__(self, claims_file: ClaimsFile, contrasts: Contrasts) -> None:
        self.claims_file, self.contrasts = claims_file, contrasts
        self.reasons: dict[str, str] = {}

    def __call__(self, recipes: Iterable[str]) -> str:
        """Reason why one of these training runs is not known to have learned; "" where all have learned."""
        return next(filter(None, map(self._reason, self._encoder_training_runs(recipes))), "")

    def subject(self, parts: Iterable[Part]) -> str:
        """Subject and verb of a sentence about the training runs of an encoder that parts rest on: "TRAINING has".

        Of a part that rests on several training runs it is not known about which one the sentence is true.
        """
        names = list(dict.fromkeys(tuple(self._encoder_training_runs(part.recipes)) for part in parts))
        if any(len(names_of_part) != 1 for names_of_part in names):
            return "a training of an encoder has"
        return f"{names[0][0]} has" if len(names) == 1 else f"{len(names)} trainings of an encoder have"

    def _encoder_training_runs(self, recipes: Iterable[str]) -> list[str]:
        return [name for name in recipes if self.contrasts.evidence.facts[name]["trained"]]

    def _reason(self, recipe: str) -> str:
        if recipe not in self.reasons:
            entries = [(learned, name) for learned in self.claims_file.learned for name in learned.selections
                       if recipe in self._training_runs(learned, name)]  # fmt: skip
            reasons = (self._shortfall(recipe, learned, name) for learned, name in entries)
            self.reasons[recipe] = next(filter(None, reasons), "") if entries else f"no floor is stated for {recipe}"
        return self.reasons[recipe]

    def _training_runs(self, learned: Learned, name: str) -> Sequence[str]:
        """Training runs of a selection that an entry of `learned` names."""
        patterns = self.claims_file.selection(learned.of, name).recipes or ()
        return [recipe for pattern in patterns for recipe in self.contrasts.evidence.training_runs(pattern)]

    def _shortfall(self, recipe: str, learned: Learned, name: str) -> str:
        """The first level that a training run's score is not surely above, as a sentence; "" where it is above all."""
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
                if math.isnan(part.estimate.error):  # the same score with all seeds; texts vary all the same
                    (part,) = self.contrasts.parts(effect.model_copy(update={"over": "text"}), region)
            except Missing as missing:
                return f"{recipe} has no score beside {level}: {missing}"
            if sure(part) >= 0:
                score = part.estimate.value
                comparison = f"{score:.1f}, {level} {floor:g}" if constant else f"{score:+.1f} points"
                if _side(part) < 0 and math.isnan(part.estimate.error):
                    place = f"{score:.1f}, above {level} ({floor:g})" if constant else f"{score:.1f} points above {level}"
                    return (
                        f"whether {recipe} has learned is open: {learned.says} is {place}, but has no interval, "
                        "so that another run's could be below"
                    )
                return f"{recipe} is not {'surely ' if _side(part) < 0 else ''}above {level} ({comparison})"
        return ""
