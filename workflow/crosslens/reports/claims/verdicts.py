"""Verdicts on claims: from estimates of effects and controls, and from whether the training runs have learned."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Literal, NamedTuple

from crosslens.jobs.errors import DataError
from crosslens.jobs.quantities import number
from crosslens.numerics.estimates import Estimate, holm, moderated
from crosslens.numerics.intervals import LEVEL
from crosslens.reports.claims.claims_file import Claim, ClaimsFile, Control, Effect, Learned, Region, Selection
from crosslens.reports.claims.effects import Effects, Functions, Part, excess
from crosslens.reports.claims.evidence import Evidence, Missing, Unconfigured
from crosslens.reports.claims.forest import interval

Verdict = Literal["holds", "fails", "undecided", "control fails", "not measured"]
HOLDS: Final = "holds"
FAILS: Final = "fails"
UNDECIDED: Final = "undecided"
CONTROL_FAILS: Final = "control fails"
NOT_MEASURED: Final = "not measured"
YES, NO, UNCLEAR = "yes", "no", "unclear"  # whether a control has the effect too
NOT_COMPARABLE, NOT_LEARNED, ONE_SEED, NO_INTERVAL = "not comparable", "learning not shown", "one seed", "no interval"
RESOLUTION, WIDE, JOINTLY = "margin below resolution", "wide interval", "not after Holm's correction"
CONTROL_UNCLEAR, NO_CONTROL = "control unclear", "control not measured"
INTERPRETATION, PREMISES = "interpretation", "premises undecided"
"""Causes that keep a claim undecided."""


class Comparison(NamedTuple):
    """A control, compared with the effect that must exceed it.

    part: effect of the control.
    excess: effect of the claim minus that of the control; None if the claim has no direction.
    """

    control: Control
    part: Part
    excess: Part | None

    @property
    def answer(self) -> str:
        """Whether the control has the effect too: NO if it surely lies elsewhere or is surely exceeded, else YES or UNCLEAR."""
        if sure(self.part) > 0 or self.excess is not None and sure(self.excess) < 0:
            return NO
        return YES if sure(self.part) < 0 else UNCLEAR


@dataclass(frozen=True)
class Decision:
    """A claim with its verdict, and the numbers that lead to it.

    central: whether the claim is one of the paper's central claims, which are tested jointly.
    parts: effects of the claim.
    controls: controls, each compared with the effect of the claim that it belongs to.
    cause: what keeps an undecided claim from a verdict, in two or three words; the first of several, "" if it is decided.
    level: level with which p is compared.
    in_print: whether printed numbers alone decide it.
    apart: reasons why our numbers that decide it are not comparable with printed ones.
    left_out: names of optional effects that the preset does not have.
    """

    claim: Claim
    central: bool
    verdict: Verdict = UNDECIDED
    reason: str = ""
    parts: Sequence[Part] = ()
    controls: Sequence[Comparison] = ()
    cause: str = ""
    level: float = LEVEL
    in_print: bool = False
    apart: Sequence[str] = ()
    left_out: Sequence[str] = ()

    @property
    def needed(self) -> int:
        """Number of effects that must be as claimed."""
        return self.claim.at_least or len(self.parts)

    @property
    def part(self) -> Part | None:
        """The part on which the verdict depends most: of the `needed` parts that are most surely as claimed, the least sure."""
        return sorted(self.parts, key=_doubt)[: self.needed][-1] if self.parts else None

    def least_certain(self, number: int) -> list[Part]:
        """The parts that are least surely as claimed, at most `number` of them, in their order in the claim."""
        chosen = {id(part) for part in sorted(self.parts, key=_doubt)[-number:]}
        return [part for part in self.parts if id(part) in chosen]

    @property
    def p(self) -> float:
        """The smaller probability of such effects, if the claim were false or if it were true; nan if no error is known."""
        return min(self.probabilities(self.parts)) if any(part.estimate.error >= 0 for part in self.parts) else math.nan

    @property
    def tested(self) -> float:
        """Probability `p` of a claim that needs a test; nan if all its numbers are exact."""
        return self.p if any(part.estimate.error for part in self.parts) else math.nan

    def probabilities(self, parts: Sequence[Part]) -> tuple[float, float]:
        """Probability of parts so far inside their regions if the claim were false, and so far outside if it were true.

        The claim is true if at least `needed` of its parts lie inside their regions.
        """
        inside, outside = ([part_p(part) for part in parts if _side(part) == side and not part.cause] for side in (-1, 1))
        return at_least(self.needed, inside, len(parts)), at_least(len(parts) - self.needed + 1, outside, len(parts))

    def verdict_on(self, parts: Sequence[Part], level: float) -> Verdict:
        """Verdict that some parts give at a level, regardless of controls: holds, fails or undecided."""
        if_false, if_true = self.probabilities(parts)
        if min(if_false, if_true) >= level:
            return UNDECIDED
        return HOLDS if if_false < if_true else FAILS

    @property
    def supported(self) -> int:
        """The largest number k for which a test at LEVEL shows that at least k effects are as claimed."""
        ps = [part_p(part) for part in self.parts if _side(part) < 0 and not part.cause]
        return max((u for u in range(1, len(self.parts) + 1) if at_least(u, ps, len(self.parts)) < LEVEL), default=0)

    @property
    def at_large(self) -> str:
        """Verdict on languages in general, with the measured ones as a sample; "" if an effect is not over languages."""
        if not self.parts or any(part.at_large is None for part in self.parts) or self.verdict in (NOT_MEASURED, CONTROL_FAILS):
            return ""
        parts = [
            replace(part, fixed=part.at_large, runs=None, cause="" if part.cause == NO_INTERVAL else part.cause)
            for part in self.parts
            if part.at_large
        ]
        return self.verdict_on(parts, LEVEL)

    @property
    def strongest_control(self) -> Comparison | None:
        """The control that shows its effect most surely; None if there is none."""
        order = (YES, UNCLEAR, NO)
        return min(self.controls, key=lambda control: (order.index(control.answer), _doubt(control.part)), default=None)


def decide(claims_file: ClaimsFile, evidence: Evidence, functions: Functions) -> dict[str, Decision]:
    """Decisions on the claims of a claims file, by claim. Central claims are tested at Holm's levels.

    Raises DataError if a selection mixes numbers of different metrics or definitions.

    functions: name -> function of the paper's claims.py.
    """
    effects, measured = Effects(evidence, functions), {}
    for key, claim in claims_file.claims.items():
        try:
            measured[key] = _measure(_comparable(claim, evidence), key in claims_file.central, effects)
        except DataError:  # a damaged table
            raise
        except ValueError as error:
            raise DataError(f"claims.{key}: {error}") from None
    learning = Learning(claims_file.learned, effects)
    judgeable = {
        key: replace(decision, parts=[_with_cause(part, learning) for part in decision.parts])
        for key, decision in _moderate(measured).items()
    }
    tested = {key: decision.tested for key, decision in judgeable.items() if decision.central and decision.parts}
    levels = dict(zip(tested, holm([*tested.values()]), strict=True))
    decisions = {key: _judge(replace(decision, level=levels.get(key, LEVEL))) for key, decision in judgeable.items()}
    return {key: _implied(decision, decisions) for key, decision in decisions.items()}


def _comparable(claim: Claim, evidence: Evidence) -> Claim:
    """A claim without the effects that combine our numbers with printed ones, if the two are not comparable.

    If no effects would be left, the claim keeps all.
    """
    effects = [effect for effect in claim.effect if not (_mixed(effect.selections) and evidence.reasons_apart(effect.selections))]
    return claim.model_copy(update={"effect": effects}) if effects else claim


def _mixed(selections: Sequence[Selection]) -> bool:
    """Whether some selections have both our numbers and printed ones."""
    sources = {selection.source for selection in selections}
    return len(sources) > 1 and "published" in sources


def _measure(claim: Claim, central: bool, effects: Effects) -> Decision:
    """A claim with its effects and controls, not yet judged: undecided, or not measured if an effect is missing."""
    selections = claim.selections
    in_print = {selection.source for selection in selections} == {"published"}
    decision = Decision(claim, central, in_print=in_print, apart=effects.evidence.reasons_apart(selections))
    if claim.rests_on:
        reason = f"an interpretation, which rests on {', '.join(claim.rests_on)}"
        return replace(decision, cause=INTERPRETATION, reason=reason)
    parts: list[Part] = []
    left_out: dict[str, str] = {}
    for effect in claim.effect:
        try:
            parts += effects.parts(effect)
        except Missing as missing:
            if not (effect.optional and isinstance(missing, Unconfigured)):
                return replace(decision, verdict=NOT_MEASURED, reason=str(missing))
            left_out[effect.name] = str(missing)
    if not parts:
        return replace(decision, verdict=NOT_MEASURED, reason=next(iter(left_out.values()), claim.note))
    decision = replace(decision, parts=parts, left_out=[*left_out])
    controls: list[Comparison] = []
    for control in claim.control:
        try:
            control_parts = effects.parts(control)
        except Missing as missing:
            if not (control.optional and isinstance(missing, Unconfigured)):
                decision = replace(decision, reason=f"its control is not measured: {missing}", cause=NO_CONTROL)
            continue
        for place, part in enumerate(control_parts):
            counterpart = parts[place] if len(control_parts) == len(parts) else decision.part
            counterpart = next((effect_part for effect_part in parts if effect_part.name == part.name), counterpart)
            controls.append(Comparison(control, part, excess(counterpart, part) if counterpart else None))
    return replace(decision, controls=controls)


def _moderate(decisions: Mapping[str, Decision]) -> dict[str, Decision]:
    """Decisions with moderated errors over training runs; those of one task and metric are moderated together (`moderated`).

    The difference between an effect and its control keeps its own error, since a control may vary more than the effects do.
    """
    pools: dict[tuple[str, ...], dict[tuple[float, float], Part]] = defaultdict(dict)
    for decision in decisions.values():
        for part in (*decision.parts, *(control.part for control in decision.controls)):
            if part.runs is not None and part.values is not None and part.values.shape[1] > 1:
                pools[part.kind][part.runs.value, part.runs.error] = part
    runs: dict[tuple[object, ...], Estimate] = {}
    for kind, pool in pools.items():
        estimates = moderated([part.runs for part in pool.values() if part.runs], [part.terms for part in pool.values()])
        runs |= {(kind, *place): estimate for place, estimate in zip(pool, estimates, strict=True)}

    def with_moderated(part: Part) -> Part:
        estimate = runs.get((part.kind, part.runs.value, part.runs.error)) if part.runs else None
        return replace(part, runs=estimate) if estimate else part

    return {
        key: replace(
            decision,
            parts=[with_moderated(part) for part in decision.parts],
            controls=[control._replace(part=with_moderated(control.part)) for control in decision.controls],
        )
        for key, decision in decisions.items()
    }


def _with_cause(part: Part, learning: "Learning") -> Part:
    """A part with what keeps it from deciding anything: a training run that has not learned, a single seed, or no interval."""
    trained = learning.trained(part.recipes)
    if lack := next(filter(None, map(learning.lack, trained)), ""):
        return replace(part, cause=NOT_LEARNED, lack=lack)
    if part.seeds == 1:
        return replace(
            part, cause=ONE_SEED, lack=f"{trained[0] if len(trained) == 1 else 'a training run of an encoder'} has one seed"
        )
    if math.isnan(part.estimate.error):
        return replace(part, cause=NO_INTERVAL, lack=part.lack or "how much it varies is not known")
    return part


def _judge(decision: Decision) -> Decision:
    """A decision with its verdict and the reason for it."""
    if not decision.parts:
        return decision
    verdict, cause, reason = _verdict(decision)
    omissions = f"without {', '.join(decision.left_out)}, which this preset does not have" if decision.left_out else ""
    return replace(decision, verdict=verdict, cause=cause, reason="; ".join(filter(None, (reason, omissions))))


def _verdict(decision: Decision) -> tuple[Verdict, str, str]:
    """Verdict, its cause if it is undecided, and the reason for it."""
    parts = decision.parts
    # Counts that equal the printed ones are evidence whatever they come from, since other texts would have other counts.
    equal = all(part.region.side == 0 and part.estimate.error == 0 and _side(part) < 0 for part in parts)
    if decision.apart and _mixed(decision.claim.selections) and not equal:
        return UNDECIDED, NOT_COMPARABLE, "; ".join(decision.apart)
    verdict = decision.verdict_on(parts, decision.level)
    if verdict == UNDECIDED:
        return UNDECIDED, *_lack(decision)
    if verdict == FAILS:
        return FAILS, "", ""
    answers = {comparison.answer: comparison for comparison in reversed(decision.controls)}
    if YES in answers:
        return CONTROL_FAILS, "", f"the control has the effect too: {answers[YES].control.says}"
    if UNCLEAR in answers:
        control, part, difference = answers[UNCLEAR]
        doubt = f"{interval(difference.estimate)} of the effect less the control" if difference else interval(part.estimate)
        return UNDECIDED, CONTROL_UNCLEAR, f"it is unclear whether {control.says}: {doubt}"
    return (UNDECIDED, decision.cause, decision.reason) if decision.cause else (HOLDS, "", "")


def _lack(decision: Decision) -> tuple[str, str]:
    """Cause and reason why the effects of a claim leave it undecided."""
    parts, decisive = decision.parts, decision.part
    for cause in (NOT_LEARNED, ONE_SEED):
        if lacks := dict.fromkeys(part.lack for part in parts if part.cause == cause):
            return cause, "; ".join(lacks)
    without = [": ".join(filter(None, (part.name, part.lack))) for part in parts if part.cause == NO_INTERVAL]
    if decisive is None or len(without) == len(parts):
        return NO_INTERVAL, "; ".join(without)
    if alone := {HOLDS: "hold", FAILS: "fail"}.get(decision.verdict_on(parts, LEVEL)):
        return JOINTLY, f"by itself it would {alone}: p = {decision.p:.2g}, but the joint test asks for {decision.level:.2g}"
    level = "" if decision.level == LEVEL else f" at {100 * (1 - decision.level):.4g} % (Holm)"
    region = decisive.region
    _, low, high = decisive.estimate.interval(decision.level)
    half_width = (high - low) / 2
    if region.within is not None and not decisive.cause and half_width >= region.within:
        least = max(region.of - low, high - region.of)
        return RESOLUTION, f"the smallest margin that this run can show{level} is {number(least, 2, plus=False)}"
    count = sum(sure(part, decision.level) < 0 for part in parts)
    doubt = f"the interval{level}, {interval(decisive.estimate, decision.level)}, covers both sides"
    if len(parts) > 1:
        doubt = f"{count} of {len(parts)} effects are as claimed{level}"
    if not decisive.cause:
        distance = number(half_width, 2, plus=False)
        without.append(f"this run can show only effects at least about {distance} from the limit of their region")
    return WIDE, "; ".join([doubt, *without])


def _implied(decision: Decision, decisions: Mapping[str, Decision]) -> Decision:
    """A decision that follows from others: it holds if enough of these do, and fails if too many fail."""
    premises = {key: decisions[key].verdict for key in decision.claim.follows_from}
    if not premises:
        return decision
    needed, counts = decision.claim.at_least or len(premises), Counter(premises.values())
    reason = ", ".join(f"{key} {verdict}" for key, verdict in premises.items())
    result = replace(decision, reason=reason, in_print=all(decisions[key].in_print for key in premises))
    if counts[HOLDS] >= needed:
        return replace(result, verdict=HOLDS)
    if counts[FAILS] + counts[CONTROL_FAILS] > len(premises) - needed:
        return replace(result, verdict=FAILS)
    if counts[NOT_MEASURED] == len(premises):
        return result
    return replace(result, verdict=UNDECIDED, cause=PREMISES)


def at_least(needed: int, ps: Iterable[float], number: int) -> float:
    """Probability of results like these if fewer than `needed` of the null hypotheses were false.

    With m hypotheses and u needed ones it is (m - u + 1) times the u-th smallest of the single probabilities, at most 1.

    ps: probability of each result under its null hypothesis; nan, and results that are left out, count as 1.
    number: number of all hypotheses.
    Source: Benjamini and Heller (2008).
    """
    ascending = sorted(p for p in ps if not math.isnan(p))
    return min(1.0, (number - needed + 1) * ascending[needed - 1]) if 0 < needed <= len(ascending) else 1.0


def part_p(part: Part) -> float:
    """Level at which the interval of a part ends exactly at the border of its region; 0 for an exact number.

    With two borders the larger level counts, so an effect is near a number if two one-sided tests say so (Schuirmann 1987).
    """
    if part.estimate.error == 0:
        return 0.0
    return max(part.estimate.p(end) for end in part.region.ends if math.isfinite(end))


def _side(part: Part) -> int:
    """Return -1 if the value lies inside the region, 1 if it lies outside, 0 if it is unknown."""
    low, high = part.region.ends
    if math.isnan(part.estimate.value):
        return 0
    return -1 if low < part.estimate.value < high else 1


def sure(part: Part, level: float = LEVEL) -> int:
    """Return -1 if the interval lies inside the region, 1 if it lies outside, 0 if it includes a border or is unknown."""
    return _side(part) if part_p(part) < level else 0


def _doubt(part: Part) -> tuple[float, float]:
    """Doubt about a part, to sort by: from -1, surely as claimed, to 1, surely not; 0 if nothing is known.

    The second number orders parts that are equally sure: how far the value lies outside its region, negative inside.
    """
    p, value = part_p(part), part.estimate.value
    low, high = part.region.ends
    outside = 0.0 if math.isnan(value) else max(low - value, value - high)
    return 0.0 if math.isnan(p) else _side(part) * (1 - p), outside


class Learning:
    """Whether training runs of encoders have learned anything."""

    def __init__(self, levels: Sequence[Learned], effects: Effects) -> None:
        self.levels, self.effects, self.lack = levels, effects, cache(self._lack)

    def trained(self, recipes: Iterable[str]) -> list[str]:
        """Names of these training runs that train an encoder."""
        return [name for name in recipes if self.effects.evidence.facts[name]["trained"]]

    def _lack(self, recipe: str) -> str:
        """Reason why a training run is not known to have learned, as a clause; "" if it has."""
        scores = [(learned, score) for learned in self.levels for score in learned.selections if recipe in self._runs(score)]
        lacks = (self._shortfall(recipe, learned, score._replace(recipes=(recipe,))) for learned, score in scores)
        return next(filter(None, lacks), "") if scores else f"no baseline is stated for {recipe}"

    def _runs(self, score: Selection) -> set[str]:
        return {name for pattern in score.recipes or () for name in self.effects.evidence.training_runs(pattern)}

    def _shortfall(self, recipe: str, learned: Learned, score: Selection) -> str:
        """The first level that a training run's score is not surely above, as a clause; "" if it is above all."""
        for level, floor in learned.above.items():
            beside = isinstance(floor, Selection)
            region, minus = Region(above=0 if beside else floor), [floor] if beside else []
            effect = Effect(plus=[score], minus=minus, over=learned.over, claimed=region)
            try:
                (part,) = self.effects.parts(effect)
                if math.isnan(part.estimate.error):  # all seeds have the same score; its error is then over texts
                    (part,) = self.effects.parts(effect.model_copy(update={"over": "text"}))
            except Missing as missing:
                return f"{recipe} has no score to compare with {level}: {missing}"
            if sure(part) < 0:
                continue
            value, is_above = part.estimate.value, _side(part) < 0
            _, low, high = part.estimate.interval()
            ends = "" if math.isnan(low) else f" [{low:.1f}, {high:.1f}]"
            comparison = f"lead: {value:+.1f}{ends} points" if beside else f"{value:.1f}{ends} against {floor:g}"
            if is_above and math.isnan(part.estimate.error):
                return f"the score of {recipe} has no interval, so it is not shown to exceed {level} ({comparison})"
            return f"{recipe} is not {'clearly ' * is_above}above {level} ({comparison})"
        return ""
