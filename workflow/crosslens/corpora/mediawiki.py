"""What MediaWiki's parser takes from the language of a wiki: switches, links to other Wikipedias, functions and variants.

The tables are those of resources/mediawiki.yaml. A language is the code in a dump's xml:lang; "" where it is unknown.
"""

import re
from collections.abc import Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from crosslens.config.scales import read_yaml

TABLES = Path(__file__).parents[3] / "resources" / "mediawiki.yaml"
NOTHING = "\1"  # what shows nothing, but is something between quotes or brackets: '''{{template}}'''
LEFT_OPEN = "\2"  # half of what should be a pair
OPTIONS = ("raw", "nosep")  # of formatnum
NUMBER = re.compile(r"(-(?=[\d.]))?(\d+|(?=\.\d))(\.\d*)?", re.ASCII)
LONGEST = 500  # characters that padding may come to (CoreParserFunctions::pad)
# Languages in which I has no dot, unlike İ, and how their first letters change (languages/Language*.php).
DOTTED = {"ucfirst": ({"az", "kaa", "tr"}, str.maketrans("i", "İ")), "lcfirst": ({"kaa", "tr"}, str.maketrans("Iİ", "ıi"))}
PAIR = re.compile(r"-\{|\}-")
INNERMOST = re.compile(r"-\{((?:[^-}]|-(?!\{)|\}(?!-))*+)\}-")
DEEPEST = 10  # variants inside each other (LanguageConverter::$mMaxDepth)


@cache
def _tables() -> dict[str, Any]:
    return read_yaml(TABLES)


@cache
def _switches() -> frozenset[str]:
    """Switches of all languages as they are compared, in lower case where their case does not matter."""
    cases = _tables()["switches"]
    return frozenset(map(_bare, (*map(str.casefold, cases["insensitive"]), *cases["sensitive"])))


def _bare(switch: str) -> str:
    """A switch without underscores, which editors set as they like."""
    return switch.translate({ord("_"): None, ord("＿"): None})


def is_switch(word: str) -> bool:
    """Whether a word between two underscores is a behaviour switch, such as __NOTOC__; any other one is text."""
    return not _switches().isdisjoint({_bare(word), _bare(word.casefold())})


@cache
def interlanguage_prefixes() -> frozenset[str]:
    """Prefixes of links to other Wikipedias, in lower case."""
    return frozenset(_tables()["interlanguage"])


# Functions


@cache
def _functions() -> dict[str, str]:
    """Functions, and options of formatnum, by their names in all languages; in lower case where their case does not matter."""
    return {name: function for function, names in _tables()["functions"].items() for name in names}


def function(name: str) -> str | None:
    """The function of a name in any language that shows its argument: formatnum, lc, uc, ucfirst and the like; None for others."""
    function = _functions().get(name.lower())
    return None if function in OPTIONS else function


def result(function: str, argument: str, *options: str, language: str) -> str:
    """What a function shows of a literal argument (includes/parser/CoreParserFunctions.php)."""
    if function == "formatnum":
        option = next(iter(options), "")
        return _number(argument, _functions().get(option) or _functions().get(option.lower()), _numbers(language))
    if function in DOTTED:
        languages, letters = DOTTED[function]
        first = argument[:1].translate(letters) if language in languages else argument[:1]
        return (first.upper() if function == "ucfirst" else first.lower()) + argument[1:]
    if function in ("lc", "uc"):
        return argument.lower() if function == "lc" else argument.upper()
    length, padding = (*options, *("", "0")[len(options) :])[:2]
    missing = min(int(length[:9]) if length.isdecimal() else 0, LONGEST) - len(argument)
    padding = (padding * missing)[: max(missing, 0)]
    return padding + argument if function == "padleft" else argument + padding


class _Numbers(NamedTuple):
    """How a language writes numbers: see the table."""

    group: str = ","
    decimal: str = "."
    size: int = 3
    minimum: int = 1
    digits: str = "0123456789"


@cache
def _numbers(language: str) -> _Numbers:
    for style in _tables()["numbers"]:
        if language in style["languages"]:
            return _Numbers(**{key: value for key, value in style.items() if key != "languages"})
    return _Numbers() if language else _Numbers(group="")


def _number(text: str, option: str | None, style: _Numbers) -> str:
    """Text whose numbers are written as in a language, or, with the option raw, as in a program (Language::formatNum)."""
    if option == "raw":
        plain = text.translate(str.maketrans(style.digits + "\N{MINUS SIGN}", "0123456789-"))
        return plain.replace(style.group, "").replace(style.decimal, ".").replace(",", "")

    def written(match: re.Match[str]) -> str:
        minus, whole, decimals = (part or "" for part in match.groups())
        if option != "nosep":
            if len(whole) >= 3 + style.minimum:
                whole = re.sub(rf"(?<=.)(?=(?:.{{{style.size}}})*...$)", style.group, whole)
            decimals = decimals.replace(".", style.decimal)
        return (minus + whole + decimals).translate(str.maketrans("0123456789-", style.digits + "\N{MINUS SIGN}"))

    return NUMBER.sub(written, text)


# Variants


def with_variants(text: str, language: str) -> str:
    """Text with what a reader sees of each -{...}-, innermost first; unchanged where the wiki has no variants.

    Where the language is unknown, its variants are those that the text names. What shows nothing becomes NOTHING, and the half of
    a pair LEFT_OPEN.
    Departure: of several variants the first is shown, whatever order the wiki prefers (ConverterRule::getRuleConvertedStr).
    """
    if not PAIR.search(text):
        return text
    variants = _tables()["variants"]
    codes = variants.get(language, []) if language else [code for code in chain(*variants.values()) if f"{code}:" in text]
    for _ in range(DEEPEST if codes else 0):
        text = INNERMOST.sub(lambda match: _variant(match[1], codes), text)
    return PAIR.sub(LEFT_OPEN, text) if codes else text


def _variant(content: str, codes: Sequence[str]) -> str:
    """What shows of FLAG;FLAG|CODE:TEXT;CODE:TEXT (ConverterRule::parse). A rule a=>CODE:b shows where there is no other one."""
    before, bar, after = content.partition("|")
    text = after if bar else content
    flags = set(re.split(r"\s*;\s*", before.strip())) & {*"ATRD-HN", *codes} if bar else set()
    if "R" not in flags and (flags & {*"N-H"} or flags == {"T"}):
        return NOTHING
    if flags & {"R", *codes}:
        return text
    if "D" in flags:
        return NOTHING
    both_ways, one_way = list[str](), list[str]()
    for rule in re.split(rf";\s*(?=(?:[^;]*?=>\s*)?(?:{'|'.join(codes)})\s*:|\s*$)", text, flags=re.IGNORECASE):
        name, colon, shown = map(str.strip, rule.partition(":"))
        code = name.rpartition("=>")[2].strip().lower()
        if colon and code not in codes:
            return text
        if colon and (shown or code != name.lower()):
            (both_ways if code == name.lower() else one_way).append(shown)
    return next(chain(both_ways, one_way), text)
