"""Running text in windows: what stands next to what, from pages to windows."""

import logging
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import LANGUAGES, as_texts
from crosslens.config.heads import TASK, LanguageModelHead
from crosslens.config.recipes import ENCODER, Data, Edit, Phase, Recipe, Stage, Term
from crosslens.config.tokenisations import Tokenisation
from crosslens.corpora import schema
from crosslens.corpora.sampling import write_paragraphs
from crosslens.encoding.encoders.folder import mask_subword
from crosslens.encoding.encoders.load import load_encoder
from crosslens.encoding.packing import first_texts, in_windows
from crosslens.encoding.texts import Texts, load_subwords
from crosslens.encoding.tokens.tokenise import load_tokenizer, write_tokens
from crosslens.training.batches import phase_batches
from crosslens.training.loop import Loop
from crosslens.training.run import load_data
from synthetic.grammar import read_grammar
from synthetic.running import text

TOKENISATION = Tokenisation(maximum=512, sentences="all_marks", each_sentence=True, drop_unknown=False)
PAGE = Data(corpus="text", split="train", languages=LANGUAGES, window=24)
SENTENCE = Data(corpus="text", split="train", languages=LANGUAGES, window=10, within="text")


HELD_OUT = PAGE.model_copy(update={"split": "test", "masked": True})
SHARES = {"train": 0.9, "test": 0.1}


def recipe(data: Data, **changes) -> Recipe:
    phase = Phase(terms=(Term(head=TASK, data=data),), update=(ENCODER, TASK), updates=40)
    stage = Stage(
        name="pretraining", phases=(phase,), epochs=3, batch=480, batch_of="subwords", encoder_rate=3e-3, head_rate=3e-3,
        new_heads=(TASK,), select_head=TASK, select_data=HELD_OUT, keep="last",
    )  # fmt: skip
    return Recipe(
        name="tests/packing", encoder="tiny", tokenisation="tests", heads={TASK: LanguageModelHead()}, stages=(stage,), scores=(),
        init_sd=None, dropout=0.0, select_by="subwords", edit=Edit(layers="all", embeddings=True), clip=1.0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def files(encoder_folder, tmp_path_factory) -> dict[tuple[str, str, str], Path]:
    """Tokens of the synthetic corpus's pages, by way of all steps."""
    folder = tmp_path_factory.mktemp("pages")
    for name, content in text([read_grammar(language) for language in LANGUAGES], 60, 0):
        source, language = folder / Path(name).name, Path(name).stem
        source.write_bytes(content)
        outputs = {split: folder / f"corpus/{language}.{split}.parquet" for split in SHARES}
        write_paragraphs(
            source, outputs, language=language, form="lines", paragraphs=180, minimum_characters=1, shares=SHARES,
            per_page="all", candidates=1, seed=0,
        )  # fmt: skip
        for split, path in outputs.items():
            write_tokens(load_tokenizer(encoder_folder), path, folder / f"tokens/{path.name}", TOKENISATION, split)
    return {key: folder / f"tokens/{key[1]}.{key[2]}.parquet" for data in (PAGE, HELD_OUT) for key in data.files()}


@pytest.fixture(scope="module")
def whole(files) -> Texts:
    return load_subwords([files[key] for key in PAGE.files()])


def inner(texts: Texts, row: int) -> list[int]:
    """Subwords of a text without special ones."""
    found: list[int] = texts.subwords[texts.subword_offsets[row] + 1 : texts.subword_offsets[row + 1] - 1].tolist()
    return found


def test_neighbours_in_a_window_are_neighbours_on_a_page(files, whole):
    """From the file of a language to windows: each is a stretch of one document, as it stands there, and none is lost."""
    windows = load_data(recipe(PAGE), files, 0)[PAGE]
    folder = files["text", "en", "train"].parents[1]
    for language in LANGUAGES:
        documents = (folder / f"{language}.txt").read_text(encoding="utf-8").removesuffix("\n\n").split("\n\n")
        rows = schema.read(folder / f"corpus/{language}.train.parquet").to_pylist()
        pages = dict.fromkeys(row["page"] for row in rows)
        for page in list(pages)[:-1]:  # of the last one the end may be missing
            assert [row["text"] for row in rows if row["page"] == page] == documents[int(page) - 1].split("\n")
        texts = [row for row, its in enumerate(whole.languages) if its == language]
        subwords = {
            page: [subword for row in texts if whole.ids[row].split("#")[0] == page for subword in inner(whole, row)]
            for page in pages
        }
        chosen = [inner(windows, row) for row, its in enumerate(windows.languages) if its == language]
        expected = [running[start : start + 22] for running in subwords.values() for start in range(0, len(running), 22)]
        assert chosen == expected
    assert windows.lengths.max() == 24 and (windows.lengths < 24).any()


def test_segments_are_slices_of_sentences(files, whole):
    windows = load_data(recipe(SENTENCE), files, 0)[SENTENCE]
    sentences = [inner(whole, row) for row in range(len(whole))]
    expected = [sentence[start : start + 8] for sentence in sentences for start in range(0, len(sentence), 8)]
    assert [inner(windows, row) for row in range(len(windows))] == expected
    assert {
        (windows.subwords[start], windows.subwords[end - 1])
        for start, end in zip(windows.subword_offsets, windows.subword_offsets[1:], strict=False)
    } == {(whole.subwords[0], whole.subwords[whole.subword_offsets[1] - 1])}


@pytest.mark.parametrize("data", [PAGE, SENTENCE])
def test_updates_have_as_many_subwords_with_any_window(files, data):
    made, texts = recipe(data), load_data(recipe(data), files, 0)
    batches = [batch for epoch in range(3) for batch in phase_batches(made, made.stages[0], 0, epoch, texts, 0)[0]]
    assert len(batches) == 120
    assert np.mean([texts[data].lengths[batch].sum() for batch in batches]) == pytest.approx(480, rel=0.03)
    turns = np.concatenate(batches)[: len(texts[data])]
    assert len(set(turns.tolist())) == len(turns)  # none twice before all came


def test_stretches_are_those_of_a_loop():
    generator = np.random.default_rng(0)
    for _ in range(50):
        rows = [[1, *generator.integers(3, 99, generator.integers(0, 9)).tolist(), 2] for _ in range(generator.integers(1, 12))]
        stretches = np.cumsum(generator.random(len(rows)) < 0.4)
        windows = in_windows(as_texts(rows), 5, stretches)
        expected = []
        for stretch in dict.fromkeys(stretches.tolist()):
            running = [subword for row, its in zip(rows, stretches, strict=True) if its == stretch for subword in row[1:-1]]
            expected += [[1, *running[start : start + 3], 2] for start in range(0, len(running), 3)]
        assert [
            windows.subwords[windows.subword_offsets[i] : windows.subword_offsets[i + 1]].tolist() for i in range(len(windows))
        ] == expected


def test_less_text_is_the_first_of_each_language(whole):
    few = first_texts(whole, 5)
    assert few.languages == [language for language in LANGUAGES for _ in range(5)]
    assert [few.ids[i] for i in range(5)] == [whole.ids[i] for i in range(5)]
    assert np.array_equal(few.pages[:5], whole.pages[:5])
    assert first_texts(whole, 10**6).ids == whole.ids  # too little text: all of it, none twice


def test_a_model_learns_from_windows_of_pages(files, encoder_folder):
    made = recipe(PAGE)
    loop = Loop(
        made, load_data(made, files, 0), load_encoder(encoder_folder), seed=0, log=logging.getLogger("tests"),
        device=torch.device("cpu"), mask=mask_subword(encoder_folder),
    )  # fmt: skip
    history = pd.DataFrame(loop.run().history)
    losses = history["loss 0 task cross_entropy"].dropna().to_numpy()
    assert losses[0] < np.log(600) + 0.5 and losses[-1] < losses[0] - 1
    gold = loop.texts[HELD_OUT].labels[TASK]
    share = np.bincount(gold).max() / len(gold)  # of the most frequent subword, named everywhere
    assert history["score"].iloc[-1] > share + 3 * np.sqrt(share * (1 - share) / len(gold))
    assert history["score"].iloc[0] < 0.05 and (history["subwords_a_second"].iloc[1:] > 0).all()
