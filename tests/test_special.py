"""Special subwords around texts and pairs, as tokenizers add them: none is taken for an ordinary subword, or vice versa."""

from collections import Counter
from functools import partial
from itertools import chain
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import vocabularies
from conftest import pair_rows, paragraph_rows, refused, save_tokenizer, sentence_rows
from crosslens.config.recipes import Masking
from crosslens.config.tokenisations import Tokenisation
from crosslens.corpora import schema
from crosslens.corpora.words import words as split_words
from crosslens.encoding.batches import collate
from crosslens.encoding.encoders.special import special_subwords
from crosslens.encoding.extract import text_means
from crosslens.encoding.occurrences import Spelling, find
from crosslens.encoding.packing import in_windows
from crosslens.encoding.shift import inner_subwords
from crosslens.encoding.texts import Edges, Texts, load, load_subwords
from crosslens.encoding.tokens.tokenise import load_tokenizer, write_tokens
from crosslens.encoding.unit_states import pair_extents, unspecial
from crosslens.measures.shared.conversion import vocabulary
from crosslens.training.masking import masked
from crosslens.training.word2vec import Sentences
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

SUBWORDS = ["<pad>", "<s>", "</s>", "<unk>", "<mask>"]
TEMPLATES = {  # text, pair, numbers of special subwords before, between and after
    "BERT": ("<s> $A </s>", "<s> $A </s> $B </s>", Edges(1, 1, 1)),
    "RoBERTa": ("<s> $A </s>", "<s> $A </s> </s> $B </s>", Edges(1, 2, 1)),
    "a beginning alone": ("<s> $A", "<s> $A <s> $B", Edges(1, 1, 0)),
    "two before": ("<s> </s> $A </s>", "<s> </s> $A </s> $B </s>", Edges(2, 1, 1)),
    "two after": ("<s> $A </s> </s>", "<s> $A </s> <s> $B </s> </s>", Edges(1, 2, 2)),
    "the same before and after": ("</s> $A </s>", "</s> $A </s> $B </s>", Edges(1, 1, 1)),
}
SENTENCES = [row for language in ("de", "en") for row in sentence_rows(language, "train", 20)]


@pytest.fixture(params=TEMPLATES)
def tokenizer(request) -> Tokenizer:
    text, pair, _ = TEMPLATES[request.param]
    tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=SUBWORDS, show_progress=False)
    tokenizer.train_from_iterator([row["text"] for row in SENTENCES], trainer)
    numbers = [(subword, tokenizer.token_to_id(subword)) for subword in ("<s>", "</s>")]
    tokenizer.post_processor = processors.TemplateProcessing(single=text, pair=pair, special_tokens=numbers)
    tokenizer.template = request.param
    return tokenizer


def written(tokenizer: Tokenizer, rows, columns, folder):
    """The file of a corpus's tokens."""
    save_tokenizer(tokenizer, folder)
    schema.write(rows, folder / "corpus", columns, {})
    write_tokens(load_tokenizer(folder), folder / "corpus", folder / "tokens", Tokenisation(maximum=200), "train")
    return folder / "tokens"


def plain(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode(text, add_special_tokens=False).ids


@pytest.fixture
def running(tokenizer, tmp_path) -> Texts:
    return load_subwords([written(tokenizer, paragraph_rows(SENTENCES), schema.PARAGRAPHS, tmp_path)])


@pytest.fixture
def ordinary(tokenizer) -> list[list[int]]:
    """The subwords of each text without special ones."""
    return [plain(tokenizer, row["text"]) for row in paragraph_rows(SENTENCES)]


def test_they_are_counted_by_their_mask(tokenizer, running):
    subwords = special_subwords(tokenizer)
    assert running.edges == tuple(map(len, subwords)) == TEMPLATES[tokenizer.template][2]
    assert [*subwords.before, *subwords.after] == tokenizer.encode("").ids
    assert running.take(np.array([1, 0])).edges == running.edges


def test_the_others_are_all_there(tokenizer, running, ordinary):
    batch = collate(running, np.arange(len(running)), 2)  # padded with the subword that ends a text
    inside = unspecial(batch)
    assert [row[mask].tolist() for row, mask in zip(batch.input_ids, inside, strict=True)] == ordinary


class Squares(torch.nn.Linear):
    """An encoder whose states of a subword are its number and the square of it, so that means tell which subwords they are of."""

    config = SimpleNamespace(pad_token_id=2)

    def forward(self, input_ids, **options):
        return SimpleNamespace(hidden_states=[torch.stack([input_ids, input_ids**2], -1)])


def test_means_of_texts_are_of_all_the_others(tokenizer, ordinary, tmp_path):
    texts = load([written(tokenizer, paragraph_rows(SENTENCES), schema.PARAGRAPHS, tmp_path)], [], [], "text")
    means = text_means(Squares(1, 1), texts)["layer_0"]
    assert np.allclose(means, [[np.mean(subwords), np.mean(np.square(subwords))] for subwords in ordinary], rtol=1e-6)


def test_pairs(tokenizer, tmp_path):
    rows = pair_rows(SENTENCES)
    texts = load([written(tokenizer, rows, schema.PAIRS, tmp_path)], [], ["de", "en"])
    batch = collate(texts, np.arange(len(texts)), 2)
    for mask, side in zip(pair_extents(batch), ("premise", "hypothesis"), strict=True):
        sides = [subwords[row].tolist() for subwords, row in zip(batch.input_ids, mask, strict=True)]
        assert sides == [plain(tokenizer, row[side]) for row in rows]
    assert torch.equal(unspecial(batch), torch.stack(pair_extents(batch)).any(0))


def test_windows_have_each_of_the_others_once(tokenizer, running, ordinary):
    windows = in_windows(running, 12, np.zeros(len(running)))
    inside = np.ones(len(windows.subwords), bool)
    inside[windows.end_rows()] = False
    assert windows.subwords[inside].tolist() == list(chain(*ordinary))
    assert set(windows.lengths[:-1]) == {12}
    assert np.array_equal(windows.subwords[windows.end_rows()], np.tile(tokenizer.encode("").ids, (len(windows), 1)))


def test_what_is_learnt_or_asked_for_is_never_special_and_reaches_the_end(tokenizer, running, ordinary):
    everything = Masking(share=1.0, masked=1.0, random=0.0)
    labels = masked(running, 0, everything, 4, 300).labels["task"]
    assert labels.tolist() == list(chain(*ordinary))
    inner = inner_subwords(running)
    owners = np.repeat(np.arange(len(inner)), np.diff(inner.word_offsets))
    assert inner.subwords[inner.subword_offsets[owners] + inner.positions].tolist() == list(chain(*ordinary))
    assert [[int(name) for name in names] for names in Sentences(running, 0)] == ordinary
    assert np.flatnonzero(vocabulary(running, 300)).tolist() == sorted(set(chain(*ordinary)))


MARKED = {  # vocabularies that say where words begin or end
    "WordPiece": vocabularies.wordpiece,
    "Metaspace always": partial(vocabularies.metaspace, scheme="always"),
    "Metaspace never": partial(vocabularies.metaspace, scheme="never"),
    "Gemma": vocabularies.gemma,
    "byte-level": vocabularies.byte_level,
    "end of word": vocabularies.end_of_word_bpe,
}


def bos_alone(make, folder) -> Texts:
    """Running text of a tokenizer that adds a beginning alone."""
    tokenizer = make([row["text"] for row in SENTENCES])
    numbers = [(subword, tokenizer.token_to_id(subword)) for subword in ("<s>", "</s>")]
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=numbers)
    return load_subwords([written(tokenizer, paragraph_rows(SENTENCES), schema.PARAGRAPHS, folder)])


@pytest.mark.parametrize("kind", MARKED)
def test_occurrences_are_those_of_a_plain_search(kind, tmp_path):
    texts = bos_alone(MARKED[kind], tmp_path)
    spelling = Spelling(load_tokenizer(tmp_path))
    running = [word for row in paragraph_rows(SENTENCES) for word in split_words(row["text"])]
    words = sorted({word.lower() for word in running if word.isalpha()})
    places = find(texts, words, spelling, spaced=True)
    counts = {
        word: int(count) for word, count in zip(words, np.bincount(places.words, minlength=len(words)), strict=True) if count
    }
    assert counts == dict(Counter(word.lower() for word in running if word in {*words, *(word.capitalize() for word in words)}))


def test_a_vocabulary_without_marks_is_refused_where_words_are_looked_for(tmp_path):
    model, trainer = models.Unigram(), partial(trainers.UnigramTrainer, unk_token="<unk>")
    unmarked = partial(vocabularies.trained, model=model, trainer=trainer, pre_tokenizer=pre_tokenizers.WhitespaceSplit())
    texts = bos_alone(unmarked, tmp_path)
    with refused("expected a tokenizer whose subwords say where words begin or end, found none"):
        find(texts, ["der"], Spelling(load_tokenizer(tmp_path)), spaced=True)
