"""Markup that MediaWiki reads by the language of a wiki: switches, links to other Wikipedias, functions and variants.

The tables are those of resources/mediawiki.yaml. A language is the code in a dump's xml:lang; "" where it is unknown.
"""

import re
from collections.abc import Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from crosslens.config.presets import read_yaml

TABLES = Path(__file__).parents[3] / "resources" / "mediawiki.yaml"
NOTHING = "\1"  # what shows nothing, but is something between quotes or brackets: '''{{template}}'''
LEFT_OPEN = "\2"  # half of what should be a pair
SWITCH = re.compile(r"(__|＿＿)[^\s_＿]+(?:[_＿][^\s_＿]+)*\1")
BARE = str.maketrans("", "", "_＿")
NUMBER = re.compile(r"(-(?=[\d.]))?(\d+|(?=\.\d))(\.\d*)?", re.ASCII)
# Languages in which I has no dot, unlike İ, and how their first letters change (languages/Language*.php).
DOTTED = {"ucfirst": ({"az", "kaa", "tr"}, str.maketrans("i", "İ")), "lcfirst": ({"kaa", "tr"}, str.maketrans("Iİ", "ıi"))}
PAIR = re.compile(r"-\{|\}-")
INNERMOST = re.compile(r"-\{([^-}]*(?:(?:-(?!\{)|\}(?!-))[^-}]*)*)\}-")
DEEPEST = 10  # variants inside each other (LanguageConverter::$mMaxDepth)


@cache
def _tables() -> dict[str, Any]:
    return read_yaml(TABLES)


@cache
def _by_name(table: str) -> dict[str, str]:
    """Functions, or options of one, by their names in all languages; in lower case where their case does not matter."""
    return {name: function for function, names in _tables()[table].items() for name in names}


@cache
def _switches() -> frozenset[str]:
    """Behaviour switches of all languages without underscores, in lower case where their case does not matter."""
    cases = _tables()["switches"]
    return frozenset(word.translate(BARE) for word in (*map(str.casefold, cases["insensitive"]), *cases["sensitive"]))


def without_switches(line: str) -> str:
    """A line without switches such as __NOTOC__, whose inner underscores editors set as they like; another __word__ is text."""

    def text(match: re.Match[str]) -> str:
        word = match[0].translate(BARE)
        return match[0] if _switches().isdisjoint((word, word.casefold())) else ""

    return SWITCH.sub(text, line)


@cache
def hidden_prefixes() -> frozenset[str]:
    """Prefixes, in lower case, of links that show nothing: namespaces of files and categories, and other Wikipedias."""
    names = chain(*_tables()["hidden_links"].values())
    return frozenset(name.replace("_", " ").casefold() for name in names)


# Functions


def function(name: str) -> str | None:
    """The function of a name in any language that shows its argument: formatnum, lc, uc, lcfirst or ucfirst; None for others."""
    return _by_name("functions").get(name.lower())


def result(function: str, argument: str, option: str, language: str) -> str:
    """Text that a function makes of a literal argument (includes/parser/CoreParserFunctions.php)."""
    if function == "formatnum":
        options = _by_name("number_options")
        return _number(argument, options.get(option) or options.get(option.lower()), _numbers(language))
    if function in DOTTED:
        languages, letters = DOTTED[function]
        first = argument[:1].translate(letters) if language in languages else argument[:1]
        return (first.upper() if function == "ucfirst" else first.lower()) + argument[1:]
    return argument.lower() if function == "lc" else argument.upper()


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
                ends = range(len(whole) - 3, 0, -style.size)
                whole = style.group.join([*(whole[max(end - style.size, 0) : end] for end in reversed(ends)), whole[-3:]])
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
    """Text shown of FLAG;FLAG|CODE:TEXT;CODE:TEXT (ConverterRule::parse). A rule a=>CODE:b shows where there is no other one."""
    *before, text = content.split("|", 1)
    flags = {flag.strip() for flag in "".join(before).split(";")} & {*"ATRD-HN", *codes}
    if "R" not in flags and (flags & {*"N-H"} or flags == {"T"} or "D" in flags and flags.isdisjoint(codes)):
        return NOTHING
    if flags & {"R", *codes}:
        return text
    both_ways, one_way = list[str](), list[str]()
    for rule in re.split(rf";\s*+(?=(?:[^;]*?=>\s*)?(?:{'|'.join(codes)})\s*:|$)", text, flags=re.IGNORECASE):
        name, colon, variant = map(str.strip, rule.partition(":"))
        code = name.rpartition("=>")[2].strip().lower()
        if colon and code not in codes:
            return text
        if colon and (variant or code != name.lower()):
            (both_ways if code == name.lower() else one_way).append(variant)
    return next(chain(both_ways, one_way), text)
