"""The tables of the synthetic corpus that are shared by all languages: concepts, frames, and the languages themselves.

Source: resources/synthetic; its README.md describes the format of each file.
"""

import csv
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TABLES = Path(__file__).resolve().parents[2] / "resources" / "synthetic"
DIGITS = ("number", "year")  # slots that are filled with digits in all languages


class SyntheticCorpusError(ValueError):
    """A wrong line: the message has file, line, what was expected and what to do."""


def check(holds: object, place: str, fault: str) -> None:
    """Raise SyntheticCorpusError unless `holds` is true.

    place: file and line. fault: what is there instead, what was expected, and what to do.
    """
    if not holds:
        raise SyntheticCorpusError(f"{place}: {fault}")


@dataclass(frozen=True)
class Frame:
    """The pattern of a meaning: (slot, kind) pairs in the order of the table."""

    name: str
    register: str
    slots: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Animal:
    """Facts about an animal: concepts of the kinds quality_animal, landform and diet."""

    qualities: tuple[str, ...]
    landforms: tuple[str, ...]
    diets: tuple[str, ...]


@dataclass(frozen=True)
class Language:
    """Properties of a language: its name in treebanks, spaces between words, names of wiki namespaces."""

    code: str
    name: str
    spaces: bool
    file: str
    category: str
    talk: str
    redirect: str

    @property
    def space(self) -> str:
        """Space between two words; empty in scripts without spaces."""
        return " " if self.spaces else ""


@cache
def language_facts() -> dict[str, dict[str, str]]:
    """Rows of resources/languages.csv by the code of the language: its names in the official distributions."""
    with open(TABLES.parent / "languages.csv", encoding="utf-8", newline="") as stream:
        return {row["code"]: row for row in csv.DictReader(stream)}


def languages_present() -> tuple[str, ...]:
    """Codes of the languages that have a folder with both tables, sorted."""
    folders = {path.parent for path in TABLES.glob("*/frames.txt")}
    return tuple(sorted(folder.name for folder in folders if (folder / "lexicon.csv").exists()))


def lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (place, line), in NFC, for each line that is neither empty nor a comment."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, UnicodeDecodeError) as error:
        raise SyntheticCorpusError(
            f"{path}: {error}, expected a table of the synthetic corpus in UTF-8; see its README.md"
        ) from None
    for number, line in enumerate(unicodedata.normalize("NFC", text).splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            yield f"{path}:{number}", line


def rows(path: Path, header: str) -> Iterator[tuple[str, list[str]]]:
    """Yield (place, cells) for each row of a comma-separated table below the expected header."""
    numbered_lines = lines(path)
    place, first = next(numbered_lines, (f"{path}:1", ""))
    check(first.strip() == header, place, f"header `{first.strip()}`, expected `{header}`; restore the first line")
    width = header.count(",") + 1
    for place, line in numbered_lines:
        cells = [cell.strip() for cell in next(csv.reader([line]))]
        check(len(cells) == width, place, f"{len(cells)} cells, expected {width} ({header}); quote a cell that has commas")
        yield place, cells


@cache
def read_concepts(tables: Path = TABLES) -> Mapping[str, tuple[str, ...]]:
    """Kinds of each concept, such as a thing or an act, in the order of concepts.csv. They say which slots it may fill."""
    concepts: dict[str, tuple[str, ...]] = {}
    for place, (name, kinds) in rows(tables / "concepts.csv", "concept,kinds"):
        check(name not in concepts, place, f"concept `{name}` a second time, expected once; remove one of the lines")
        concepts[name] = tuple(kinds.split())
    return concepts


@cache
def read_frames(tables: Path = TABLES) -> Mapping[str, Frame]:
    """Frames by name, in the order of frames.csv."""
    kinds = {kind for kinds in read_concepts(tables).values() for kind in kinds} | set(DIGITS)
    frames: dict[str, Frame] = {}
    for place, (name, register, slots, _) in rows(tables / "frames.csv", "frame,register,slots,example"):
        check(name not in frames, place, f"frame `{name}` a second time, expected once; remove one of the lines")
        pairs = tuple((slot, kind) for slot, _, kind in (pair.partition("=") for pair in slots.split()))
        for slot, kind in pairs:
            check(slot and kind in kinds, place, f"slot `{slot}={kind}`, expected slot=kind with a kind of concepts.csv; fix it")
        frames[name] = Frame(name, register, pairs)
    return frames


@cache
def read_animals(tables: Path = TABLES) -> Mapping[str, Animal]:
    """Animals by concept, from animals.csv."""
    concepts = read_concepts(tables)
    animals = {}
    for place, (name, *cells) in rows(tables / "animals.csv", "animal,qualities,landforms,diets"):
        for kind, cell in zip(("wild", "quality_animal", "landform", "diet"), (name, *cells), strict=True):
            for word in cell.split() or [""]:
                check(kind in concepts.get(word, ()), place, f"`{word}`, expected a concept of kind {kind}; correct it")
        animals[name] = Animal(*(tuple(cell.split()) for cell in cells))
    return animals


@cache
def read_related(relation: str, tables: Path = TABLES) -> Mapping[str, tuple[str, ...]]:
    """Related concepts of each concept. Each pair is listed once in the table and holds both ways.

    relation: opposites or overlaps, the name of the table.
    """
    concepts = read_concepts(tables)
    related: dict[str, tuple[str, ...]] = {}
    for place, (name, partners) in rows(tables / f"{relation}.csv", f"concept,{relation}"):
        for partner in partners.split() or [""]:
            is_new = partner not in (name, *related.get(name, ()))
            of_one_kind = {*concepts.get(name, ())} & {*concepts.get(partner, ())}
            check(
                is_new and of_one_kind,
                place,
                f"`{name}` and `{partner}`, expected two concepts of one kind, each pair once; correct it",
            )
            related[name] = (*related.get(name, ()), partner)
            related[partner] = (*related.get(partner, ()), name)
    return related


@cache
def read_languages(tables: Path = TABLES) -> Mapping[str, Language]:
    """Languages by code, from languages.csv."""
    languages = {}
    header = "language,name,spaces,file,category,talk,redirect"
    for place, (code, name, spaces, *names) in rows(tables / "languages.csv", header):
        check(spaces in ("yes", "no"), place, f"spaces `{spaces}`, expected yes or no; say whether words are set apart")
        languages[code] = Language(code, name, spaces == "yes", *names)
    return languages
