"""Verdicts on claims: from estimates of effects and controls, and from whether the training runs have learned."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, NamedTuple

from crosslens.jobs.errors import DataError
from crosslens.numerics.estimates import Estimate, holm, moderated
from crosslens.numerics.intervals import LEVEL
from crosslens.reports.claims.claims_file import Claim, ClaimsFile, Control, Effect, Learned, Region, Selection
from crosslens.reports.claims.effects import Effects, Part, excess
from crosslens.reports.claims.evidence import Evidence, Missing, Unconfigured
from crosslens.reports.claims.forest import interval, number

Verdict = Literal["holds", "fails", "undecided", "control fails", "not measured"]
HOLDS: Final = "holds"
FAILS: Final = "fails"
UNDECIDED: Final = "undecided"
CONTROL_FAILS: Final = "control fails"
NOT_MEASURED: Final = "not measured"
YES, NO, UNCLEAR = "yes", "no", "unclear"  # whether a control has the effect too
NOT_COMPARABLE, NOT_LEARNED, ONE_SEED, NO_INTERVAL = "not comparable", "learning not shown", "one seed", "no interval"
RESOLUTION, WIDE, CONTROL_UNCLEAR = "margin below resolution", "wide interval", "control unclear"
NO_CONTROL, INTERPRETATION, PREMISES = "control not measured", "interpretation", "premises undecided"
"""Causes that keep a claim undecided."""


class Comparison(NamedTuple):
    """A control beside the effect that must exceed it.

    excess: the effect less the control; None where the claim has no direction.
    """

    control: Control
    part: Part
    excess: Part | None

    @property
    def answer(self) -> str:
        """Whether the control has the effect too: NO where it lies elsewhere or the effect surely exceeds it, YES, or UNCLEAR."""
        if sure(self.part) > 0 or self.excess is not None and sure(self.excess) < 0:
            return NO
        return YES if sure(self.part) < 0 else UNCLEAR


@dataclass(frozen=True)
class Decision:
    """A claim with its verdict, and the numbers that lead to it.

    parts: effects of the claim.
    controls: effects that must be absent, each beside the effect of the claim that it belongs to.
    cause: what keeps an undecided claim from a verdict, in two or three words: of several the first; else "".
    doubts: name of a part -> cause and reason why it counts as unknown, such as training runs that have not learned.
    level: level with which p is compared.
    items: names of the tables and figures that decide the claim.
    in_print: whether printed numbers alone decide it.
    apart: reasons why our numbers that decide it are not comparable with printed ones.
    left_out: names of optional effects that the scale does not have.
    premises: verdicts on the claims that imply this one.
    """

    claim: Claim
    verdict: Verdict
    reason: str
    parts: Sequence[Part] = ()
    controls: Sequence[Comparison] = ()
    cause: str = ""
    doubts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    level: float = LEVEL
    items: Sequence[str] = ()
    in_print: bool = False
    apart: Sequence[str] = ()
    left_out: Sequence[str] = ()
    premises: Mapping[str, str] = field(default_factory=dict)

    @property
    def needed(self) -> int:
        """Number of effects that must be as claimed."""
        return self.claim.at_least or len(self.parts)

    @property
    def part(self) -> Part | None:
        """The part on which the verdict depends most: the least surely expected of the parts that have to be as claimed."""
        return sorted(self.parts, key=_doubt)[: self.needed][-1] if self.parts else None

    def least_certain(self, number: int) -> list[Part]:
        """So many parts at most, in their order: those that are least surely as claimed."""
        chosen = {id(part) for part in sorted(self.parts, key=_doubt)[-number:]}
        return [part for part in self.parts if id(part) in chosen]

    @property
    def p(self) -> float:
        """The smaller probability of such effects: if the claim were false, or if it were true; nan where none has an error."""
        return min(self.probabilities()) if any(not math.isnan(part.estimate.error) for part in self.parts) else math.nan

    @property
    def tested(self) -> float:
        """Probability `p` of a claim that is tested; nan where all its numbers are exact."""
        return self.p if any(part.estimate.error for part in self.parts) else math.nan

    def probabilities(self, parts: Sequence[Part] | None = None) -> tuple[float, float]:
        """Probabilities of parts as far inside their regions if the claim were false, and as far outside if it were true.

        The claim is true where at least `needed` of its parts lie inside their regions.
        """
        parts = self.parts if parts is None else parts
        known = [part for part in parts if part.name not in self.doubts]
        inside, outside = ([part_p(part) for part in known if _side(part) == side] for side in (-1, 1))
        return at_least(self.needed, inside, len(parts)), at_least(len(parts) - self.needed + 1, outside, len(parts))

    @property
    def supported(self) -> int:
        """The largest number of which it is shown that as many effects are as claimed, at LEVEL."""
        ps = [part_p(part) for part in self.parts if _side(part) < 0 and part.name not in self.doubts]
        return max((u for u in range(1, len(self.parts) + 1) if at_least(u, ps, len(self.parts)) < LEVEL), default=0)

    @property
    def at_large(self) -> str:
        """Verdict on languages at large, of which the measured ones are a sample; "" where no effect is over languages."""
        if not self.parts or any(part.at_large is None for part in self.parts) or self.verdict in (NOT_MEASURED, CONTROL_FAILS):
            return ""
        parts = [replace(part, estimate=part.at_large) for part in self.parts if part.at_large]
        if_false, if_true = self.probabilities(parts)
        return UNDECIDED if min(if_false, if_true) >= LEVEL else HOLDS if if_false < if_true else FAILS

    @property
    def strongest_control(self) -> Comparison | None:
        """The control that shows its effect most surely; None where there is none."""
        order = (YES, UNCLEAR, NO)
        return min(self.controls, key=lambda control: (order.index(control.answer), _doubt(control.part)), default=None)


def decide(claims_file: ClaimsFile, effects: Effects) -> dict[str, Decision]:
    """Decisions on the claims of a claims file, by claim. Levels of central claims are Holm's.

    Raises DataError where a selection mixes numbers of different metrics or definitions.
    """
    measured = {}
    for key, claim in claims_file.claims.items():
        try:
            measured[key] = _measure(_comparable(claim, claims_file, effects.evidence), effects)
        except DataError:  # a damaged table
            raise
        except ValueError as error:
            raise DataError(f"claims.{key}: {error}") from None
    unlearned = Unlearned(claims_file, effects)
    for key, decision in _moderate(measured).items():
        selections = claims_file.sources(decision.claim.effect)
        measured[key] = replace(
            decision,
            doubts=_doubts(decision, unlearned),
            items=list(dict.fromkeys(claims_file.items(decision.claim))),
            in_print=bool(selections) and {selection.source for selection in selections} == {"published"},
            apart=effects.evidence.reasons_apart(selections),
        )
    central = [key for key, claim in claims_file.claims.items() if claim.central and not claim.follows_from]
    levels = dict(zip(central, holm([measured[key].tested for key in central]), strict=True))
    decisions = {}
    for key, decision in measured.items():
        apart = decision.apart if _mixed(claims_file.sources(decision.claim.effect)) else ()
        judged = _judge(replace(decision, level=levels.get(key, LEVEL)), apart)
        omissions = f"without {', '.join(judged.left_out)}, which this scale does not have" if judged.left_out else ""
        decisions[key] = replace(judged, reason="; ".join(filter(None, (judged.reason, omissions))))
    return {key: _implied(decision, decisions) for key, decision in decisions.items()}


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


def _measure(claim: Claim, effects: Effects) -> Decision:
    """A claim with its effects and controls, not yet judged: undecided, or not measured where an effect is missing."""
    if claim.rests_on:
        reason = f"an interpretation, which rests on {', '.join(claim.rests_on)}"
        return Decision(claim, UNDECIDED, reason, cause=INTERPRETATION)
    if not claim.effect:
        return Decision(claim, NOT_MEASURED, claim.note)
    parts: list[Part] = []
    left_out: dict[str, str] = {}
    for effect in claim.effect:
        try:
            parts += effects.parts(effect, claim.claimed)
        except Missing as missing:
            if not (effect.optional and isinstance(missing, Unconfigured)):
                return Decision(claim, NOT_MEASURED, str(missing))
            left_out[effect.name] = str(missing)
    if not parts:
        return Decision(claim, NOT_MEASURED, next(iter(left_out.values())))
    decision = Decision(claim, UNDECIDED, "", parts, left_out=[*left_out])
    controls: list[Comparison] = []
    for control in claim.control:
        try:
            control_parts = effects.parts(control, claim.claimed)
        except Missing as missing:
            if not (control.optional and isinstance(missing, Unconfigured)):
                decision = replace(decision, reason=f"its control is not measured: {missing}", cause=NO_CONTROL)
            continue
        for place, part in enumerate(control_parts):
            own = parts[place] if len(control_parts) == len(parts) else decision.part
            own = next((effect_part for effect_part in parts if effect_part.name == part.name), own)
            controls.append(Comparison(control, part, excess(own, part) if own else None))
    return replace(decision, controls=controls)


def _moderate(decisions: Mapping[str, Decision]) -> dict[str, Decision]:
    """Decisions whose errors over training runs are moderated, those of one task and metric together (`moderated`).

    The difference of an effect and its control keeps its own error, since a control may vary more than the effects do.
    """
    pools: dict[tuple[str, ...], dict[tuple[float, float], Part]] = defaultdict(dict)
    for decision in decisions.values():
        for part in (*decision.parts, *(control.part for control in decision.controls)):
            if part.runs is not None and part.values is not None and part.values.shape[1] > 1:
                pools[part.kind][part.runs.value, part.runs.error] = part
    known: dict[tuple[object, ...], Estimate] = {}
    for kind, pool in pools.items():
        runs = moderated([part.runs for part in pool.values() if part.runs], [part.terms for part in pool.values()])
        known |= {(kind, *place): estimate for place, estimate in zip(pool, runs, strict=True)}

    def with_moderated(part: Part) -> Part:
        runs = known.get((part.kind, part.runs.value, part.runs.error)) if part.runs else None
        return part.with_runs(runs) if runs else part

    return {
        key: replace(
            decision,
            parts=[with_moderated(part) for part in decision.parts],
            controls=[Comparison(control, with_moderated(part), difference) for control, part, difference in decision.controls],
        )
        for key, decision in decisions.items()
    }


def _doubts(decision: Decision, unlearned: "Unlearned") -> dict[str, tuple[str, str]]:
    """Name of a part -> cause and reason why it counts as unknown."""
    doubts = {}
    for part in decision.parts:
        if reason := unlearned(part.recipes):
            doubts[part.name] = (NOT_LEARNED, reason)
        elif part.seeds == 1:
            doubts[part.name] = (ONE_SEED, f"{unlearned.subject([part])} one seed")
    return doubts


def _judge(decision: Decision, apart: Sequence[str]) -> Decision:
    """A decision with its verdict.

    apart: reasons why our numbers are not comparable with the printed ones that the claim sets beside them.
    """
    parts = decision.parts
    if not parts or decision.verdict == NOT_MEASURED:
        return decision
    # Counts that are the printed ones are so whatever they were made of: those of other texts would not be.
    if apart and not all(part.region.side == 0 and part.estimate.error == 0 and _side(part) < 0 for part in parts):
        return replace(decision, cause=NOT_COMPARABLE, reason="; ".join(apart))
    if math.isnan(decision.p) or decision.p >= decision.level:
        cause, reason = _lack(decision)
        return replace(decision, cause=cause, reason=reason)
    if_false, if_true = decision.probabilities()
    if if_true <= if_false:
        return replace(decision, verdict=FAILS, cause="", reason="")
    answers = {answer: [c for c in decision.controls if c.answer == answer] for answer in (YES, UNCLEAR)}
    if answers[YES]:
        reason = f"the control has the effect too: {answers[YES][0].control.says}"
        return replace(decision, verdict=CONTROL_FAILS, cause="", reason=reason)
    if answers[UNCLEAR]:
        unclear = answers[UNCLEAR][0]
        doubt = f"{interval(unclear.excess)} of the effect less the control" if unclear.excess else interval(unclear.part)
        return replace(decision, cause=CONTROL_UNCLEAR, reason=f"it is unclear whether {unclear.control.says}: {doubt}")
    return decision if decision.reason else replace(decision, verdict=HOLDS, cause="", reason="")


def _lack(decision: Decision) -> tuple[str, str]:
    """Cause and reason why a claim is undecided."""
    parts, causes = decision.parts, [cause for cause, _ in decision.doubts.values()]
    if causes:
        cause = NOT_LEARNED if NOT_LEARNED in causes else ONE_SEED
        reasons = dict.fromkeys(reason for own, reason in decision.doubts.values() if own == cause)
        return cause, "; ".join(reasons)
    unknown = [part for part in parts if math.isnan(part.estimate.error)]
    without = [": ".join(filter(None, (part.name, part.lack or "nothing says how much it varies"))) for part in unknown]
    if len(unknown) == len(parts):
        return NO_INTERVAL, "; ".join(without)
    level = "" if decision.level == LEVEL else f" at {100 * (1 - decision.level):.4g} % (Holm)"
    part = decision.part
    assert part is not None
    if part.region.side == 0 and (margin := part.region.within) is not None and not math.isnan(part.estimate.error):
        low, high = part.estimate.interval(decision.level)[1:]
        if (high - low) / 2 >= margin:
            least = max(part.region.of - low, high - part.region.of)
            return RESOLUTION, f"the smallest margin that this run can show{level} is {number(least, 2, plus=False)}"
    count = sum(sure(part, decision.level) < 0 for part in parts)
    several = f"{count} of {len(parts)} effects are as claimed{level}"
    doubt = several if len(parts) > 1 else f"the interval{level}, {interval(part, level=decision.level)}, covers both sides"
    return WIDE, "; ".join([doubt, *without])


def _implied(decision: Decision, decisions: Mapping[str, Decision]) -> Decision:
    """A decision that follows from others: it holds where enough of these do, and fails where too many fail."""
    premises = {key: decisions[key].verdict for key in decision.claim.follows_from}
    if not premises:
        return decision
    needed, counts = decision.claim.at_least or len(premises), Counter(premises.values())
    reason = ", ".join(f"{key} {verdict}" for key, verdict in premises.items())
    result = replace(decision, premises=premises, reason=reason, in_print=all(decisions[key].in_print for key in premises))
    if counts[HOLDS] >= needed:
        return replace(result, verdict=HOLDS)
    if counts[FAILS] + counts[CONTROL_FAILS] > len(premises) - needed:
        return replace(result, verdict=FAILS)
    if counts[NOT_MEASURED] == len(premises):
        return replace(result, verdict=NOT_MEASURED)
    return replace(result, verdict=UNDECIDED, cause=PREMISES)


def at_least(needed: int, ps: Iterable[float], number: int) -> float:
    """Probability of results like these if fewer than `needed` of the null hypotheses were false.

    Of m hypotheses and u needed ones it is (m - u + 1) times the u-th smallest of the single probabilities.

    ps: probabilities of single results under their null hypotheses; nan, and those that are left out, count as 1.
    number: number of all hypotheses.
    Source: Benjamini and Heller (2008).
    """
    ascending = sorted(p for p in ps if not math.isnan(p))
    return min(1.0, (number - needed + 1) * ascending[needed - 1]) if 0 < needed <= len(ascending) else 1.0


def part_p(part: Part) -> float:
    """Level at which the interval of a part ends at the border of its region.

    Of two borders the larger level counts, so that an effect is near a number where two one-sided tests say so (Schuirmann 1987).
    """
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

    def __init__(self, claims_file: ClaimsFile, effects: Effects) -> None:
        self.claims_file, self.effects = claims_file, effects
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
        return [name for name in recipes if self.effects.evidence.facts[name]["trained"]]

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
        return [recipe for pattern in patterns for recipe in self.effects.evidence.training_runs(pattern)]

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
                (part,) = self.effects.parts(effect, region)
                if math.isnan(part.estimate.error):  # the same score with all seeds; texts vary all the same
                    (part,) = self.effects.parts(effect.model_copy(update={"over": "text"}), region)
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
