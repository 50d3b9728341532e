"""News documents with topics: the indices of MLDoc, and the archives of Reuters RCV1 and RCV2 that they refer to.

Formats: facebookresearch/MLDoc (mldoc-indices, generate_documents.py) and the XML of RCV1 (Lewis et al. 2004, section 3). Four
fields of everyday life stand for Reuters' four main topics. The same sentence frames are used for all topics, which differ in
how often they name the places and things of a field. So no single word identifies the topic with certainty.
"""

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from synthetic.archives import lined, tarred, xz
from synthetic.generate import Stream, different, draw
from synthetic.grammar import Grammar
from synthetic.paths import MLDOC
from synthetic.realise import Meaning, Sentence, realise
from synthetic.tables import Frame

CODES = {"home": ("CCAT", "C15"), "travel": ("ECAT", "E12"), "learning": ("GCAT", "GPOL"), "errands": ("MCAT", "M14")}
"""Our topic -> a main topic of Reuters and a subtopic of it."""
TOPICS = tuple(CODES)
FIELDS = {
    "home": {"place": ("house", "kitchen", "garden"), "thing": ("chair", "table", "lamp", "bed", "cup")},
    "travel": {"place": ("street", "station", "hotel"), "thing": ("car", "bicycle", "bag", "hat", "key")},
    "learning": {"place": ("school", "library", "office"), "thing": ("book", "letter", "newspaper", "picture", "clock")},
    "errands": {"place": ("market", "park", "hospital"), "thing": ("flower", "shirt", "box", "knife", "phone")},
}
"""Places and things of each topic; together they are all places and things of the synthetic corpus."""
OWN = 0.85  # share of a document's places and things that are drawn from its topic's; the others are drawn from all
FOLDERS = {"de": "FDG", "es": "REUTES", "fr": "REUTFR", "it": "REUTIT", "ja": "FDJA", "ru": "REUTCY", "zh": "FDCH"}
"""Beginning of the names of a language's folders in RCV2."""
FOLDER = 20  # documents in a folder
FIRST_DAY = datetime.date(1996, 8, 20)  # of RCV1, which has a folder for each day
SPLITS = {"train.1000": 3, "dev": 1, "test": 1}
"""Size of a split, as a multiple of `records`. train.1000 keeps its name, whatever its size."""


@dataclass(frozen=True)
class Document:
    """A news document. place: its number in the language's archive, from 0."""

    language: str
    place: int
    topics: tuple[str, ...]
    sentences: tuple[str, ...]

    @property
    def path(self) -> str:
        """Folder and file as in the archive of the language: FDG1/10000."""
        number = 10_000 * (1 + [*MLDOC].index(self.language)) + self.place
        if self.language == "en":
            return f"{self.date:%Y%m%d}/{number}newsML"
        return f"{FOLDERS[self.language]}{1 + self.place // FOLDER}/{number}"

    @property
    def date(self) -> datetime.date:
        """The date of publication."""
        return FIRST_DAY + datetime.timedelta(days=self.place // FOLDER)

    @property
    def xml(self) -> bytes:
        """The document's file as in Reuters' archives, with the first sentence as its title; RCV1 is in Latin-1."""
        encoding = "iso-8859-1" if self.language == "en" else "utf-8"
        title, text = escape(self.sentences[0]), "".join(f"<p>{escape(sentence)}</p>\n" for sentence in self.sentences)
        number = self.path.split("/")[1].removesuffix("newsML")
        codes = "".join(f"  <code code={quoteattr(code)}>\n  </code>\n" for topic in self.topics for code in CODES[topic])
        xml = (
            f'<?xml version="1.0" encoding="{encoding}" ?>\n'
            f'<newsitem itemid="{number}" id="root" date="{self.date}" xml:lang="{self.language}">\n'
            f"<title>{title}</title>\n<headline>{title}</headline>\n<text>\n{text}</text>\n<metadata>\n"
            '<codes class="bip:countries:1.0">\n  <code code="EEC">\n  </code>\n</codes>\n'
            f'<codes class="bip:topics:1.0">\n{codes}</codes>\n'
            f'<dc element="dc.date.published" value="{self.date}"/>\n</metadata>\n</newsitem>\n'
        )
        return xml.encode(encoding)


def mldoc(grammars: Sequence[Grammar], records: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield (path, content) of mldoc/LANGUAGE.SPLIT, reuters/rcv1.tar.xz (English) and reuters/rcv2.tar.xz (other languages).

    The topics of a split are balanced. The archives also have documents of two topics, which no index names.
    """
    archives: dict[str, dict[str, bytes]] = {}
    for grammar in grammars:
        code = grammar.language.code
        if code not in MLDOC:
            continue
        news = documents(grammar, records, seed)
        names = [document.path.replace("/", "-") for document in news]
        for split, times in SPLITS.items():
            chosen, names = names[: times * records], names[times * records :]
            shuffled = Stream(seed, "mldoc", split, code).shuffled(chosen)
            yield f"mldoc/{MLDOC[code]}.{split}", lined(shuffled)
        archive, folder = ("rcv1", "rcv1") if code == "en" else ("rcv2", f"RCV2_Multilingual_Corpus/{MLDOC[code]}")
        archives.setdefault(archive, {}).update({f"{folder}/{document.path}.xml": document.xml for document in news})
    for archive, members in archives.items():
        yield f"reuters/{archive}.tar.xz", xz(tarred(members))


def documents(grammar: Grammar, records: int, seed: int) -> tuple[Document, ...]:
    """Documents of all splits in turn, whose topics alternate, and then one document for every two neighbouring topics."""
    stream = Stream(seed, "mldoc", grammar.language.code)
    indexed = [(TOPICS[place % len(TOPICS)],) for place in range(sum(SPLITS.values()) * records)]
    mixed = [(topic, TOPICS[place - 1]) for place, topic in enumerate(TOPICS)]
    subjects: list[tuple[str, ...]] = [*indexed, *mixed]

    def draw_text(place: int) -> tuple[str, ...]:
        return tuple(sentence.text for topic in subjects[place] for sentence in passage(grammar, topic, stream))

    texts = different(draw_text, len(subjects), "news documents")
    return tuple(
        Document(grammar.language.code, place, topics, text)
        for place, (topics, text) in enumerate(zip(subjects, texts, strict=True))
    )


def passage(grammar: Grammar, topic: str, stream: Stream) -> tuple[Sentence, ...]:
    """Four to six everyday sentences that name places or things, mostly those of a topic."""
    frames = topical(grammar)
    return tuple(realise(grammar, meaning_of(grammar, topic, frames, stream)) for _ in range(stream.between(4, 6)))


def topical(grammar: Grammar) -> list[Frame]:
    """Everyday frames that name places or things; every topic has some of both."""
    kinds = FIELDS[TOPICS[0]]
    return [f for f in grammar.frames.values() if f.register == "everyday" and any(kind in kinds for _, kind in f.slots)]


def meaning_of(grammar: Grammar, topic: str, frames: Sequence[Frame], stream: Stream) -> Meaning:
    """Random meaning of one of some frames, with places and things mostly from the topic's."""
    field, frame = FIELDS[topic], stream.pick(frames)
    fillers = dict(draw(grammar, frame, stream).fillers)
    fillers |= {slot: stream.pick(field[kind]) for slot, kind in frame.slots if kind in field and stream.chance(OWN)}
    return Meaning(frame.name, tuple(fillers.items()))
