"""Markup that MediaWiki interprets by the language of the wiki: switches, interlanguage links, functions and variants.

The tables are in resources/mediawiki.yaml. A language is the code in a dump's xml:lang, or "" if it is unknown.
"""

import re
from collections.abc import Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from crosslens.config.presets import read_yaml

TABLES = Path(__file__).parents[3] / "resources" / "mediawiki.yaml"
NOTHING = "\1"  # replaces markup that shows nothing but still separates quotes or brackets: '''{{template}}'''
LEFT_OPEN = "\2"  # replaces -{ or }- without its other half
SWITCH = re.compile(r"(__|＿＿)[^\s_＿]+(?:[_＿][^\s_＿]+)*\1")
BARE = str.maketrans("", "", "_＿")
NUMBER = re.compile(r"(-(?=[\d.]))?(\d+|(?=\.\d))(\.\d*)?", re.ASCII)
# Languages that distinguish I from dotted İ, and how functions change a first letter there (languages/Language*.php).
DOTTED = {"ucfirst": ({"az", "kaa", "tr"}, str.maketrans("i", "İ")), "lcfirst": ({"kaa", "tr"}, str.maketrans("Iİ", "ıi"))}
PAIR = re.compile(r"-\{|\}-")
INNERMOST = re.compile(r"-\{([^-}]*(?:(?:-(?!\{)|\}(?!-))[^-}]*)*)\}-")
DEEPEST = 10  # levels of nested variants (LanguageConverter::$mMaxDepth)


@cache
def _tables() -> dict[str, Any]:
    return read_yaml(TABLES)


@cache
def _by_name(table: str) -> dict[str, str]:
    """Function or option of a table, by its names in all languages; names are in lower case if their case does not matter."""
    return {name: function for function, names in _tables()[table].items() for name in names}


@cache
def _switches() -> frozenset[str]:
    """Behaviour switches of all languages without underscores; in lower case if their case does not matter."""
    cases = _tables()["switches"]
    return frozenset(word.translate(BARE) for word in (*map(str.casefold, cases["insensitive"]), *cases["sensitive"]))


def without_switches(line: str) -> str:
    """Remove behaviour switches such as __NOTOC__ from a line; any other __word__ is text and stays.

    Underscores inside a switch are ignored, since editors place them as they like.
    """

    def text(match: re.Match[str]) -> str:
        word = match[0].translate(BARE)
        return match[0] if _switches().isdisjoint((word, word.casefold())) else ""

    return SWITCH.sub(text, line)


@cache
def hidden_prefixes() -> frozenset[str]:
    """Lower-case prefixes of links that show nothing: namespaces of files and categories, and other Wikipedias."""
    names = chain(*_tables()["hidden_links"].values())
    return frozenset(name.replace("_", " ").casefold() for name in names)


# Functions


def function(name: str) -> str | None:
    """Function that a name in any language stands for, if it shows its argument; None for other names.

    The functions are formatnum, lc, uc, lcfirst and ucfirst.
    """
    return _by_name("functions").get(name.lower())


def result(function: str, argument: str, option: str, language: str) -> str:
    """Text that a function makes of a literal argument (includes/parser/CoreParserFunctions.php).

    function: a result of `function`. option: second argument, which only formatnum uses.
    """
    if function == "formatnum":
        options = _by_name("number_options")
        return _number(argument, options.get(option) or options.get(option.lower()), _numbers(language))
    if function in DOTTED:
        languages, letters = DOTTED[function]
        first = argument[:1].translate(letters) if language in languages else argument[:1]
        return (first.upper() if function == "ucfirst" else first.lower()) + argument[1:]
    return argument.lower() if function == "lc" else argument.upper()


class _Numbers(NamedTuple):
    """How a language writes numbers.

    group, decimal: separators. size: digits in a group, except for the last group, which has three. minimum: fewest digits
    before the last group. digits: the ten digits.
    """

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
    """Text with its numbers written as in a language or, with the option raw, as in a program (Language::formatNum).

    option: raw; nosep, which changes only digits and minus signs; or None.
    """
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
    """Replace each -{...}- in a text by what a reader sees, innermost first; no change if the wiki has no variants.

    If the language is unknown, its variants are those that the text names. Markup that shows nothing becomes NOTHING; half of a
    pair becomes LEFT_OPEN.
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
    """Text that a reader sees of FLAG;FLAG|CODE:TEXT;CODE:TEXT (ConverterRule::parse). codes: variants of the wiki.

    A one-way rule a=>CODE:b is shown only if there is no two-way rule.
    """
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
