"""A parser trained by the loop: from trees in tokens to heads and relations in predictions."""

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from conftest import LANGUAGES, refused
from crosslens.config.heads import ARC, TASK, LinearHead, ParserHead
from crosslens.config.labels import RELATIONS
from crosslens.config.recipes import ENCODER, Data, Phase, Recipe, Score, Stage, Term
from crosslens.config.tokenisations import Tokenisation
from crosslens.encoding.batches import Padding
from crosslens.encoding.texts import IGNORED, load
from crosslens.encoding.tokens.tokenise import CUT, load_tokenizer, tokenise
from crosslens.jobs import parquet
from crosslens.jobs.records import read_json
from crosslens.measures import attachment
from crosslens.measures.shared.subject import Subject
from crosslens.numerics.definitions import LAS, LAS_SEEN, LAS_WITH_SUBTYPES, UNSEEN_RELATIONS
from crosslens.training.heads.build import build
from crosslens.training.loop import Loop
from crosslens.training.predict import predict, selection_score
from crosslens.training.run import predictions_table, run

SOURCE = Data(corpus="sentences", split="train", languages=("en",))
TEST = Data(corpus="sentences", split="test", languages=LANGUAGES)


def parsing(**changes) -> Recipe:
    term = Term(head=TASK, data=SOURCE, loss="tree")
    stage = Stage(
        name="task", phases=(Phase(terms=(term,), update=(ENCODER, TASK)),), epochs=12, batch=8, encoder_rate=2e-3,
        head_rate=5e-3, new_heads=(TASK,), select_head=TASK, select_data=SOURCE,
    )  # fmt: skip
    parser = ParserHead(labels=RELATIONS, arc=32, relation=16, dropout=0.0)
    settings = {
        "name": "test/parsing", "encoder": "tiny", "tokenisation": "whole", "heads": {TASK: parser}, "stages": (stage,),
        "scores": (Score(head=TASK, data=TEST),), "init_sd": 0.02, "dropout": 0.0, "select_by": "las", "warmup": 0.1,
        "decay": "linear",
    }  # fmt: skip
    return Recipe(**settings | changes)


@pytest.fixture(scope="module")
def texts(tokens):
    def of(data):
        files = [tokens / corpus / f"{language}.{split}.parquet" for corpus, language, split in data.files()]
        return load(files, RELATIONS, (), trees=True)

    return {data: of(data) for data in (SOURCE, TEST)}


@pytest.mark.parametrize("treeless", ["all", "one"])
def test_words_without_trees_cannot_be_parsed(tokens, tmp_path, treeless):
    """Of a corpus that is tagged and no more: in one line, though a single sentence lacks its tree."""
    file = tokens / "sentences" / "en.test.parquet"
    table = pq.read_table(file)
    rows = [
        row | {"heads": [], "relations": []} if treeless == "all" or not n else row for n, row in enumerate(table.to_pylist())
    ]
    path = tmp_path / file.name
    parquet.write(table.from_pylist(rows, schema=table.schema), path, parquet.metadata(file))
    assert len(load([path], RELATIONS, ()))
    with refused(f"{path}: expected a treebank for parsing, found words without trees"):
        load([path], RELATIONS, (), trees=True)


def test_heads_are_counted_among_the_words_that_have_a_subword(encoder_folder):
    row = {"id": "s", "language": "en", "forms": ["the", "\u200b", "dog", "sees"], "upos": ["DET", "X", "NOUN", "VERB"],
           "heads": [3, 4, 4, 0], "relations": ["det", "dep", "nsubj", "root"]}  # fmt: skip
    row["heads"][0] = 2  # on the word without a subword
    table, _ = tokenise(load_tokenizer(encoder_folder), [row], Tokenisation(drop_unknown=False))
    (found,) = table.to_pylist()
    assert found["words"] == ["the", "dog", "sees"]
    assert found["heads"] == [CUT, 3, 0] and found["relations"] == ["det", "nsubj", "root"]


def test_a_parser_learns_and_predicts_trees(bench, texts, log):
    of = parsing()
    trainer = Loop(of, texts, bench.encoder(0.0), seed=0, log=log, device=torch.device("cpu"))
    trained = trainer.run()
    assert trained.history[-1]["loss 0 task tree"] < trained.history[1]["loss 0 task tree"] / 4
    best = max(row["score"] for row in trained.history)
    assert best > 0.8
    found = predict(trained.model, texts[SOURCE], TASK)
    assert selection_score(texts[SOURCE], found, TASK, RELATIONS, "las", "word") == pytest.approx(best)
    table = predictions_table(of, texts, trained).to_pylist()
    assert {row["head"] for row in table} == {TASK, ARC} and len(table) == 2 * len(texts[TEST])
    for row in table:
        if row["head"] == ARC and row["predicted"]:
            heads = row["predicted"]
            assert heads.count(0) == 1 and all(0 <= head <= len(heads) and head != word for word, head in enumerate(heads, 1))


def test_a_parser_of_subtypes_names_the_relations_of_its_training_data(tokens, encoder_folder, tmp_path, log):
    """From training to scores, recomputed by hand; what a test set has beside them has no class."""

    def relations(language, split):
        file = tokens / "sentences" / f"{language}.{split}.parquet"
        return [name for of in pq.read_table(file, columns=["relations"])["relations"].to_pylist() for name in of]

    labels = sorted(set(relations("en", "train")))
    assert "nmod:poss" in labels and "case:loc" not in labels and "case:loc" in relations("zh", "test")
    parser = ParserHead(labels=(), subtypes=True, arc=32, relation=16, dropout=0.0)
    corpora, made = {"sentences": tokens / "sentences"}, tmp_path / "model"
    run(parsing(heads={TASK: parser}), 0, encoder_folder, corpora, made, threads=1, log=log)
    assert read_json(made / "record.json")["recipe"]["heads"][TASK]["labels"] == labels
    given = Subject(made, 0, corpora)
    rows = attachment.measure(given, head=TASK, arcs=ARC, relations=(), training=SOURCE.files())
    found = {(row["language"], row["definition"]): row["value"] for row in rows}
    assert found["en", LAS_WITH_SUBTYPES] > 0.2 and LAS_SEEN not in {name for _, name in found}
    table = pq.read_table(made / "predictions.parquet").to_pandas()
    for language in LANGUAGES:
        part, gold = table[table["language"] == language], relations(language, "test")
        predicted, heads = (part[part["head"] == name].explode(["gold", "predicted"]) for name in (TASK, ARC))
        assert predicted["gold"].to_list() == [labels.index(name) if name in labels else IGNORED for name in gold]
        attached = (heads["gold"] == heads["predicted"]).to_numpy()
        names = [labels[number] for number in predicted["predicted"]]
        whole, bare = (np.array([one.split(":")[:parts] == other.split(":")[:parts]
                                 for one, other in zip(gold, names, strict=True)]) for parts in (2, 1))  # fmt: skip
        by_hand = {LAS_WITH_SUBTYPES: (whole & attached).mean(), LAS: (bare & attached).mean(),
                   UNSEEN_RELATIONS: np.mean([name not in labels for name in gold])}  # fmt: skip
        assert {definition: found[language, definition] for definition in by_hand} == pytest.approx(by_hand)


def part_of_batch(texts, settings, which=slice(None), **term):
    """A head with drawn weights, what some of seven sentences add to the batch's loss, and the batch."""
    of, chosen = texts[SOURCE], np.arange(7)
    words = of.word_rows(chosen)
    labels = {kind: torch.from_numpy(values[words]) for kind, values in of.labels.items()}
    sizes = torch.from_numpy(np.diff(of.word_offsets)[chosen])
    states = torch.randn(len(words), 8, generator=torch.Generator().manual_seed(0))
    known, sentences = int((labels[ARC] != IGNORED).sum()), len(chosen)
    (head,) = build({TASK: settings}, 8, 1, dropout=0.0, sd=0.02, subspaces={}).values()
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.normal_(0, 0.3, generator=torch.Generator().manual_seed(1))
        part = np.arange(sentences)[which]
        at = torch.from_numpy(np.isin(np.repeat(np.arange(sentences), sizes), part))
        there = {kind: values[at] for kind, values in labels.items()}
        asked = Term(head=TASK, data=SOURCE, loss="tree" if settings.kind == "parser" else "cross_entropy", **term)
        value = float(head.term_loss(asked, states[at], Padding.of(sizes[part]), there, words=known, sentences=sentences))
    return head, value, (states, labels, sizes, known, sentences)


def test_the_relations_loss_is_divided_by_words_or_by_words_plus_two_a_sentence(texts):
    """And micro-batches add up to the whole batch."""
    whole = {}
    for divisor in ("words", "words_plus_two"):
        parser = ParserHead(labels=RELATIONS, arc=6, relation=4, dropout=0.0, relation_divisor=divisor)
        head, whole[divisor], (states, labels, sizes, known, sentences) = part_of_batch(texts, parser)
        parts = [part_of_batch(texts, parser, which)[1] for which in (slice(0, 3), slice(3, None))]
        assert sum(parts) == pytest.approx(whole[divisor], rel=1e-5)
    padding = Padding.of(sizes)
    scores = head(padding.padded(states), padding.inside)
    arcs = head.loss(scores, padding.padded(labels[ARC], IGNORED), torch.full(padding.inside.shape, IGNORED)).item()
    relations = whole["words"] * known - arcs
    assert whole["words_plus_two"] == pytest.approx(arcs / known + relations / (known + 2 * sentences), rel=1e-5)
    assert whole["words_plus_two"] < whole["words"]


def test_the_tag_loss_is_divided_once_or_twice(texts):
    (once, (*_, known, _)), (twice, _) = (
        part_of_batch(texts, LinearHead(labels=RELATIONS), divided_twice=how)[1:] for how in (False, True)
    )
    assert known > 10 and twice == pytest.approx(once / known)


def test_las_counts_words_whose_head_is_known(texts):
    of = texts[TEST]
    right = {TASK: of.labels[TASK].copy(), ARC: of.labels[ARC].copy()}
    assert selection_score(of, right, TASK, RELATIONS, "las", "word") == 1
    known = of.labels[ARC] != IGNORED
    wrong = {TASK: right[TASK], ARC: right[ARC].copy()}
    wrong[ARC][known.nonzero()[0][:10]] += 1
    assert selection_score(of, wrong, TASK, RELATIONS, "las", "word") == pytest.approx(1 - 10 / known.sum())
