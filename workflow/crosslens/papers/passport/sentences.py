"""The five sentences of a passport, filled by rule, after warnings about unknown subwords and measures at their baselines.

A sentence whose numbers were not measured is left out.
"""

from collections.abc import Iterator

import pandas as pd

from crosslens.config.base import languages_table
from crosslens.jobs.quantities import listed
from crosslens.numerics.intervals import Interval
from crosslens.papers.passport.facts import MAJORITY, SUMMARY, Passport, measures, name_of
from crosslens.papers.passport.terms import UNKNOWN

NOTICEABLE = 0.05  # smallest share of unknown subwords, or change of a share, that counts
BEST = 3  # number of languages that a sentence names as the best
WORST = 5  # number of languages whose share of unknown subwords a sentence gives, or more if more are above MAJORITY


def sentences(passport: Passport) -> list[str]:
    """Sentences on the numbers, in page order: warnings, meaning, language, centring, languages that fail, and use."""
    rules = (warnings, _meaning, _language, _centring, _failing, _use)
    return [text for rule in rules for text in rule(passport)]


def _text(passport: Passport) -> Iterator[str]:
    shares = passport.languages("premium", "", UNKNOWN)["here"].sort_values(ascending=False, kind="stable")
    large_shares = shares[shares > NOTICEABLE]
    if len(large_shares):
        n = max(WORST, (shares > MAJORITY).sum())
        worst, rest = large_shares.iloc[:n], large_shares.iloc[n:]
        parts = [f"{name_of(str(language))} {percent(share)}" for language, share in worst.items()]
        parts += [f"at most {percent(rest.iloc[0])} in {len(rest)} more"] if len(rest) else []
        too_small = " Unknown subwords shorten texts and make the premium too small." if passport.premium_too_small() else ""
        yield (
            f"Text: the tokenizer does not know some characters; more than {100 * NOTICEABLE:.0f}\N{NO-BREAK SPACE}% of the "
            f"subwords of {len(large_shares)} of {len(shares)} languages are unknown: {listed(parts)}. These languages stay in "
            "all means, although their values describe only the text that the tokenizer knows, and mean little where that is "
            f"less than half.{too_small}"
        )


def warnings(passport: Passport) -> Iterator[str]:
    """Yield sentences on what makes other numbers meaningless: unknown subwords, and measures at their baselines."""
    yield from _text(passport)
    yield from _at_baselines(passport)


def _at_baselines(passport: Passport) -> Iterator[str]:
    """Yield a sentence if measures of meaning are at their baselines, as they are for an encoder with random weights."""
    layers = {measure: passport.last(key) for key, measure in measures().items() if measure.better == "higher"}
    measured = [measure for measure, layer in layers.items() if passport.value(measure.key, layer)]
    low = [measure.title for measure in measured if passport.at_baseline(measure, layers[measure])]
    if passport.encoder.get("source") == "random" or (low and len(low) == len(measured)):
        yield "Baselines: no measure of meaning is above its baseline; the encoder is no better than one with random weights."
    elif low:
        yield f"Baselines: at the last layer the encoder is no better than its baseline in {listed(low)}."


def _meaning(passport: Passport) -> Iterator[str]:
    last, first, summary, untrained = (
        passport.value("neighbours", str(passport.depth)),
        passport.value("neighbours", "0"),
        passport.value("neighbours", SUMMARY),
        passport.value("neighbours", str(passport.depth), baseline="random weights"),
    )
    if last and first and untrained:
        is_low = passport.at_baseline(measures()["neighbours"], str(passport.depth))
        than = "no better than the baseline:" if is_low else "against"
        layer = f"; the best layer, chosen on other languages, gives {percent(summary.value)}" if summary else ""
        best = "" if is_low else _best(passport)
        yield (
            f"Meaning: at the last layer, averaged over families, {percent(last.value)} of sentences have their translation as "
            f"nearest neighbour among all sentences of English and their own language, {than} {percent(untrained.value)} with "
            f"random weights and {percent(first.value)} at layer 0{layer}.{best}"
        )


def _best(passport: Passport) -> str:
    """A sentence on the languages with most translations as nearest neighbours; "" if all have the same share."""
    shares = passport.languages("neighbours", str(passport.depth))["here"].sort_values(ascending=False, kind="stable")
    texts = [f"{name_of(str(language))} {percent(share)}" for language, share in shares.items()]
    return f" The best languages are {listed(texts[:BEST])}." if len({*shares.map(percent)}) > 1 else ""


def _language(passport: Passport) -> Iterator[str]:
    probe, first, last = (
        passport.value("identification", str(passport.depth)),
        passport.value("share", "0"),
        passport.value("share", str(passport.depth)),
    )
    if probe and first and last:
        yield (
            f"Language: a linear probe identifies the language of {percent(probe.value)} of sentences at the last layer"
            f"{_untrained(passport, 'identification')}, and the share of variance explained by language {_change(first, last)} "
            f"from layer 0 to the last{_untrained(passport, 'share')}."
        )


def _centring(passport: Passport) -> Iterator[str]:
    last = str(passport.depth)
    raw, centred = (passport.value("neighbours", last, f"strong, {how}") for how in ("raw", "centred"))
    if raw and centred:
        untrained = passport.value("neighbours", last, "strong, centred", "random weights")
        hidden = centred.value - max(raw.value, untrained.value if untrained else 0) >= NOTICEABLE
        advice = "the means of the languages hide meaning that is shared" if hidden else "this does not help"
        effect = _change(raw, centred)
        yield (
            f"Centring: with each language's mean subtracted, the share of translations that are nearest neighbours {effect}"
            f"{_untrained(passport, 'neighbours', 'strong, centred')}: {advice}."
        )


def _untrained(passport: Passport, key: str, definition: str | None = None) -> str:
    """The share with random weights at the last layer, in brackets; "" if it was not measured."""
    share = passport.value(key, str(passport.depth), definition, "random weights")
    return f" (random weights: {percent(share.value)})" if share else ""


def _failing(passport: Passport) -> Iterator[str]:
    shares = passport.languages("neighbours", str(passport.depth), "own, raw")["here"].sort_values(ascending=False)
    strong = passport.languages("neighbours", str(passport.depth))["here"]
    if shares.empty or strong.empty:
        return
    apart = [name_of(str(language)) for language in shares[shares > MAJORITY].index]
    names = f"all {len(shares)} languages" if len(apart) == len(shares) else listed(apart) if apart else "no language"
    text = f"Languages: in {names} the nearest neighbour of most sentences is in their own language, not in English"
    latin, different = _by_script(strong)
    if len(latin) and len(different):
        text += (
            f"; in languages written in Latin script, like English, the nearest neighbour is the translation in "
            f"{percent(latin.mean())} of cases, in the others in {percent(different.mean())} (means over languages)"
        )
    yield f"{text}."


def _use(passport: Passport) -> Iterator[str]:
    last = str(passport.depth)
    english, rest = passport.value("topic", last, column="en"), passport.value("topic", last)
    if english and rest:
        chance = passport.value("topic", last, baseline="formula")
        erased = passport.value("topic", last, "erased")
        baseline = f", where always guessing the largest topic scores {percent(chance.value)}" if chance else ""
        effect = f"; with the language erased, the others' accuracy {_change(rest, erased)}" if erased else ""
        yield (
            f"Use: a topic classifier trained on English is right on {percent(english.value)} of English sentences and on "
            f"{percent(rest.value)} in the other languages{baseline}{effect}."
        )


def _by_script(values: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Values of the languages in Latin script, and in other scripts; languages of unknown script are in neither."""
    scripts = pd.Series({code: languages_table().get(str(code), {}).get("script", "") for code in values.index}, dtype=str)
    return values[scripts == "Latn"], values[(scripts != "Latn") & (scripts != "")]


def _change(before: Interval, after: Interval) -> str:
    """Words for the change of a share, with both values."""
    first, second = percent(before.value), percent(after.value)
    if first == second:
        return f"stays at {first}"
    return f"{'rises' if after.value > before.value else 'falls'} from {first} to {second}"


def percent(share: float) -> str:
    """A share in percent, with one decimal if it is below ten."""
    return f"{100 * share:.{int(0 < abs(share) < 0.0995)}f}\N{NO-BREAK SPACE}%"
