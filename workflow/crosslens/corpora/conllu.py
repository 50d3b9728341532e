"""Strict reader of CoNLL-U files of Universal Dependencies, sentence by sentence.

The conllu library names no line in its errors, accepts truncated files and is several times slower. The tests compare the two.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn

from crosslens.config.labels import UPOS
from crosslens.corpora.lines import read_lines, refuse

UNTAGGED = "_"  # UPOS of treebanks that leave words untagged; also the form of withheld words
VERSION_1 = {"CONJ": "CCONJ"}  # tag of UD 1 -> its name in UD 2
LONGEST = 2**15 - 1  # words of a sentence: heads are int16


class Multiword(NamedTuple):
    """A surface word that covers the syntactic words first to last (1-based, inclusive)."""

    first: int
    last: int
    form: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence. Heads are 1-based, with 0 for the root.

    Lists have one entry per syntactic word, except `multiwords`. Without a tree, `heads` and `relations` are empty.
    """

    id: str
    text: str
    forms: list[str]
    upos: list[str]
    heads: list[int]
    relations: list[str]
    multiwords: list[Multiword]
    empty_nodes: int
    original: str = ""  # `# orig_file_sentence`, the id that translations share in UD_Polish-PUD
    line: int = 0  # number of its first line
    text_fits: bool = True  # whether `# text` agrees with the words, except in spaces, which differ in a few official files


def read_treebank(path: Path) -> Iterator[Sentence]:
    """Yield the sentences of a CoNLL-U file, plain or compressed (.xz, .gz, .bz2), in order.

    Lines with an integer id are the words. Multiword ranges (3-4) are kept separately; empty nodes (8.1), which only the
    enhanced graph uses, are counted and left out. The text is the `# text` line or, without one, the forms joined by spaces. A
    sentence without `# sent_id` has its number in the file as id. Tags of UD 1 become those of UD 2 (CONJ: CCONJ); relations do
    not change.
    Raises DataError, `path:line: expected, found, remedy`, for anything that is not CoNLL-U (see `_Reader`).
    """
    reader = _Reader(path)
    for number, line in read_lines(path):
        sentence = reader.take(number, line)
        if sentence is not None:
            yield sentence
    reader.end()


class _Reader:
    """The sentence that is being read, and the checks of each line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.line = 0
        self.sentences = 0
        self.ids: set[str] = set()
        self.begin()

    def begin(self) -> None:
        """Start an empty sentence."""
        self.id = self.text = self.original = ""
        self.forms: list[str] = []
        self.surface: list[str] = []  # forms as written: a multiword token instead of its words
        self.upos: list[str] = []
        self.heads: list[int] = []
        self.relations: list[str] = []
        self.multiwords: list[Multiword] = []
        self.empty_nodes = 0
        self.first_line = 0

    def fail(self, fault: str, expected: str, line: int | None = None) -> NoReturn:
        """Raise DataError for a fault. line: its number; None for the current line."""
        refuse(self.path, line or self.line, fault, expected)

    def take(self, number: int, line: str) -> Sentence | None:
        """Read one line. A blank line ends the sentence, which is then returned."""
        self.line = number
        if not line:
            return self.finish() if self.first_line else None
        self.first_line = self.first_line or number
        if line[0] == "#":
            self.comment(line)
        else:
            self.token(line)
        return None

    def comment(self, line: str) -> None:
        """Keep the id, the text and the original id from a comment."""
        name, _, value = line[1:].partition("=")
        name = name.strip()
        if name in ("text", "sent_id") and getattr(self, name.removeprefix("sent_")):
            self.fail(f"a second {name} in a sentence", "one in each, and a blank line after every sentence")
        if name == "text":
            self.text = value.strip()
        elif name == "sent_id":
            self.id = value.strip()
            if self.id in self.ids:
                self.fail(f"sent_id {self.id} a second time", "a new sent_id")
            self.ids.add(self.id)
        elif name == "orig_file_sentence":
            self.original = value.strip()

    def token(self, line: str) -> None:
        """Read the line of a word, a multiword range or an empty node."""
        columns = line.split("\t")
        if len(columns) != 10:
            self.fail(f"{len(columns)} columns", "10 tab-separated columns")
        index, form, _, upos, _, _, head, relation, _, _ = columns
        position = len(self.forms) + 1
        if not index.isascii() or not index.isdigit():
            self.other(index, form, position)
            return
        if _whole(index) != position:
            self.fail(f"id {index[:20]}", f"id {position}")
        if not form.strip():
            self.fail("an empty form" if not form else "a form of white space", "a form")
        upos = VERSION_1.get(upos, upos)
        if upos not in UPOS and upos != UNTAGGED:
            self.fail(f"UPOS '{upos}'", f"one of {' '.join(sorted(UPOS))} or _")
        has_tree = not (head == relation == UNTAGGED)
        if position > 1 and has_tree != bool(self.heads):
            self.fail(f"head '{head}'", "a tree of all words of a sentence, or of none")
        if has_tree and (not head.isascii() or not head.isdigit()):
            self.fail(f"head '{head}'", "an integer as head")
        if has_tree and (relation.split() != [relation] or relation == "_" or not relation.isprintable()):
            self.fail(f"relation '{relation}'", "a relation to the head")
        if not self.multiwords or position > self.multiwords[-1].last:
            self.surface.append(form)
        self.forms.append(form)
        self.upos.append(upos)
        if has_tree:
            self.heads.append(_whole(head))
            self.relations.append(relation)

    def other(self, index: str, form: str, position: int) -> None:
        """Read a multiword range, which comes just before its first word, or an empty node, which comes just after its word.

        position: number of the next word.
        """
        first, mark, second = index.partition("-") if "-" in index else index.partition(".")
        if not (mark and first.isascii() and first.isdigit() and second.isascii() and second.isdigit()):
            self.fail(f"id '{index}'", "an integer, a range such as 3-4 or an empty node such as 8.1")
        if mark == ".":
            if _whole(first) != position - 1:
                self.fail(f"empty node {index}", f"an empty node {position - 1}.1 or later")
            self.empty_nodes += 1
            return
        previous = self.multiwords[-1].last if self.multiwords else 0
        if _whole(first) != position or position <= previous or not position < _whole(second) <= LONGEST:
            self.fail(f"range {index}", f"a range that begins at {max(position, previous + 1)} and ends later")
        if not form.strip():
            self.fail(f"range {index} with an empty form", "a form")
        self.surface.append(form)
        self.multiwords.append(Multiword(int(first), int(second), form))

    def finish(self) -> Sentence:
        """Check that the sentence is complete and a tree, return it, and start an empty one."""
        words = len(self.forms)
        start = self.first_line
        if not words:
            self.fail("comments without words", "words after the comments", start)
        if words > LONGEST:
            self.fail(f"{words} words", f"at most {LONGEST} words in a sentence", start)
        if self.multiwords and self.multiwords[-1].last > words:
            last = self.multiwords[-1]
            self.fail(f"range {last.first}-{last.last}", f"a range within the {words} words of the sentence", start)
        if max(self.heads, default=0) > words:
            place = max(range(words), key=self.heads.__getitem__)
            self.fail(f"head of word {place + 1} beyond the last word", f"heads from 0 to {words}", start)
        if self.heads and self.heads.count(0) != 1:
            self.fail(f"{self.heads.count(0)} roots", "one word with head 0", start)
        if not _is_tree(self.heads):
            self.fail("heads that form a cycle", "a tree", start)
        self.sentences += 1
        sentence = Sentence(
            self.id or str(self.sentences),
            self.text or " ".join(self.forms),
            self.forms,
            self.upos,
            self.heads,
            self.relations,
            self.multiwords,
            self.empty_nodes,
            self.original,
            start,
            self.fits(),
        )
        self.begin()
        return sentence

    def fits(self) -> bool:
        """Whether `# text` agrees with the words, spaces apart; also true without `# text` or if words are withheld."""
        return not self.text or UNTAGGED in self.surface or "".join(self.text.split()) == "".join("".join(self.surface).split())

    def end(self) -> None:
        """Check that the file does not end within a sentence."""
        if self.first_line:
            self.fail("the end of the file: it is truncated", "a blank line after every sentence")


def _whole(digits: str) -> int:
    """Integer of a word's id or head; LONGEST + 1 for six digits or more, since Python refuses to read thousands of digits."""
    return int(digits) if len(digits) < 6 else LONGEST + 1


def _is_tree(heads: Sequence[int]) -> bool:
    """Whether every word reaches the root 0. heads: 1-based, in range."""
    reaches = bytearray(len(heads) + 1)
    reaches[0] = 1
    for word in range(1, len(heads) + 1):
        path: list[int] = []
        while not reaches[word]:
            if len(path) > len(heads):
                return False
            path.append(word)
            word = heads[word - 1]
        for step in path:
            reaches[step] = 1
    return True
