"""Token translation by a random masked language model: outputs against whole passes with a hook, records against the texts."""

import shutil
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import torch
from crosslens.encoding.encoders.folder import LANGUAGE_MODEL
from crosslens.encoding.encoders.load import load_encoder
from crosslens.encoding.shift import Shift, shifted
from crosslens.encoding.texts import load_subwords
from crosslens.encoding.tokens.tokenise import load_tokenizer
from crosslens.jobs import records
from crosslens.jobs.checksums import write_checksums
from crosslens.jobs.errors import DataError
from crosslens.measures import example_translations, translation
from crosslens.measures.shared import masked_outputs, shift_grid
from crosslens.measures.shared.shift_data import Mean, mean_states
from crosslens.measures.shared.shift_terms import (
    BLEU_1,
    CONVERT_RATE,
    ELSEWHERE,
    FREQUENT,
    IN_DICTIONARY,
    MASKED,
    NO_SHIFT,
    PROBABILITY,
    RANDOM,
    SHARES,
    SHIFT,
    THIRD,
    TRANSLATIONS,
)
from crosslens.measures.shared.subject import Subject
from crosslens.training.heads.language_model import LanguageModel
from crosslens.training.trained import load_language_model
from safetensors.torch import save_file
from study import edit
from test_retrieval import muse_folder  # noqa: F401

MEAN = {"corpus": "pairs", "split": "dev", "weighting": "tokens", "specials": False}
OTHER = {"corpus": "sentences", "split": "test", "weighting": "texts", "specials": True}
DIRECTIONS = [["en", "de"], ["en", "zh"], ["zh", "en"]]


@pytest.fixture(scope="module")
def folder(encoder_folder, tmp_path_factory):
    """The tiny encoder with a random head."""
    made = tmp_path_factory.mktemp("translator") / "encoder"
    shutil.copytree(encoder_folder, made)
    head = LanguageModel.of(load_encoder(made))
    head.initialise(torch.Generator().manual_seed(0))
    torch.manual_seed(0)
    save_file({name: value + 0.1 * torch.randn_like(value) for name, value in head.state_dict().items()}, made / LANGUAGE_MODEL)
    write_checksums(made)
    return made


@pytest.fixture(scope="module")
def dev_tokens(tokens, tmp_path_factory):
    """The tokens, with a split dev."""
    made = tmp_path_factory.mktemp("tokens") / "all"
    shutil.copytree(tokens, made)
    for path in made.glob("*/*.validation.parquet"):
        shutil.copy(path, path.with_name(path.name.replace("validation", "dev")))
    for corpus in made.iterdir():
        write_checksums(corpus)
    return {corpus: made / corpus for corpus in ("pairs", "sentences")}


@pytest.fixture(scope="module")
def measured(folder, dev_tokens, muse_folder):  # noqa: F811
    """Records of the kind."""
    rows = translation.measure(
        Subject(folder, 0, dev_tokens, dictionaries={"muse": muse_folder}), corpora={}, pairs="pairs", directions=DIRECTIONS,
        means=[MEAN, OTHER], weights=[1.0, 3.0],
        negative_weights=[-3.0], layer=1, masked_source="en", segments=True, dictionaries=["muse"], seed=0,
    )  # fmt: skip
    return pd.DataFrame(list(rows), columns=records.RECORDS.names)


def named(model, subwords, second, shift) -> np.ndarray:
    """What is named in each place of a single text, with a hook."""
    encoder, head = model
    types = (torch.arange(len(subwords)) >= second).long()
    with torch.inference_mode(), shifted(encoder, shift):
        states = encoder(
            input_ids=torch.from_numpy(subwords.astype(np.int64))[None], token_type_ids=types[None]
        ).last_hidden_state
        return head(states[0]).argmax(-1).numpy()


def single(texts, i):
    return texts.subwords[texts.subword_offsets[i] : texts.subword_offsets[i + 1]], texts.second[i]


def test_outputs_are_those_of_whole_passes(folder, dev_tokens):
    model = load_language_model(folder, [])
    texts = load_subwords([dev_tokens["pairs"] / "en.test.parquet"])
    vector = torch.from_numpy(np.random.default_rng(0).standard_normal(32))
    cells = {(layer, weight): Shift(layer, weight, vector) for layer in (1, 2) for weight in (-2.0, 0.0, 4.0)}
    guesses = translation.translate(*model, texts, cells, True)
    assert len({values.tobytes() for values in guesses.values()}) > 3  # shifts change what is named
    for key, shift in cells.items():
        outputs = [named(model, *single(texts, i), shift)[1:-1] for i in range(len(texts))]
        np.testing.assert_array_equal(guesses[key], np.concatenate(outputs))


def test_every_cell_that_is_asked_for_has_records(measured):
    rates = measured[measured["measure"] == CONVERT_RATE]
    columns = ["definition", "subspace", "layer", "weight"]
    cells = {place: set(each[columns].itertuples(index=False, name=None)) for place, each in rates.groupby(["item", "split"])}
    main, other = Mean(**MEAN).name, Mean(**OTHER).name
    grid = {(NO_SHIFT, main, 0, 0.0)} | {(SHIFT, main, layer, weight) for layer in (1, 2) for weight in (1.0, 3.0)}
    compared = {(RANDOM, main, 1), (THIRD, main, 1), (SHIFT, other, 1)}
    controls = {(*place, weight) for place in compared for weight in (1.0, 3.0)} | {
        (RANDOM, main, 2, 3.0),
        (SHIFT, main, 1, -3.0),
        (FREQUENT, main, 0, 0.0),
    }
    directions = [f"{source}->{target}" for source, target in DIRECTIONS]
    assert cells == {
        (item, split): grid | controls if split == "test" else grid for item in directions for split in ("dev", "test")
    }
    assert len(rates) == sum(map(len, cells.values()))
    assert (measured["low"].dropna() <= measured["value"][measured["low"].notna()] + 1e-9).all()


def test_scores_are_those_of_the_outputs(measured, folder, dev_tokens):
    """Of one cell, by sets and loops."""
    model = load_language_model(folder, [])
    texts = {code: load_subwords([dev_tokens["pairs"] / f"{code}.test.parquet"]) for code in ("de", "en")}
    means = mean_states(model[0], dev_tokens, ["de", "en"], [Mean(**MEAN)], True)[Mean(**MEAN)]
    shift = Shift(2, 3.0, (means["de"] - means["en"])[2])
    outputs = [named(model, *single(texts["en"], i), shift)[1:-1].tolist() for i in range(len(texts["en"]))]
    inside = {code: [single(each, i)[0][1:-1].tolist() for i in range(len(each))] for code, each in texts.items()}
    special = {2, 3}
    source, target = ({subword for text in inside[code] for subword in text} - special for code in ("en", "de"))
    flat = [subword for text in outputs for subword in text]
    both, n = sum(subword in source & target for subword in flat), len(flat)
    matches = sum(sum((Counter(one) & Counter(other)).values()) for one, other in zip(outputs, inside["de"], strict=True))
    penalty = min(1, np.exp(1 - sum(map(len, inside["de"])) / n))
    expected = {
        CONVERT_RATE: sum(subword in target - source for subword in flat) / (n - both),
        BLEU_1: penalty * matches / n,
        SHARES["common"]: both / n,
        SHARES["neither"]: sum(subword not in source | target for subword in flat) / n,
        SHARES["unchanged"]: np.mean(np.array(flat) == np.concatenate(inside["en"])),
    }
    place = {"item": "en->de", "split": "test", "definition": SHIFT, "subspace": Mean(**MEAN).name, "layer": 2, "weight": 3.0}
    chosen = measured[(measured[list(place)] == pd.Series(place)).all(axis=1)].set_index("measure")["value"]
    for measure, value in expected.items():
        assert chosen[measure] == pytest.approx(value), measure
    assert sum(chosen[SHARES[kind]] for kind in ("source", "target", "common", "neither")) == pytest.approx(1)


def test_a_dictionary_judges_converted_subwords_of_the_first_mean(measured):
    """Under the shift at the layer of table 2 alone; of how many it does, and where none is converted, nothing."""
    of_words = measured[measured["measure"].isin([IN_DICTIONARY, TRANSLATIONS, ELSEWHERE])]
    assert set(of_words["layer"]) == {1} and set(of_words["split"]) == {"test"}
    assert set(of_words["subspace"]) == {Mean(**MEAN).name}
    converted = measured[(measured["measure"] == SHARES["target"]) & (measured["split"] == "test") & (measured["layer"] == 1)]
    converted = converted[(converted["definition"] == SHIFT) & (converted["subspace"] == Mean(**MEAN).name)]
    numbers = (converted["value"] * converted["n"]).round().groupby([converted["item"], converted["weight"]]).first()
    shares = of_words.set_index(["measure", "item", "weight"])
    for (item, weight), number in numbers[numbers > 0].items():
        if weight > 0:
            assert shares.loc[(IN_DICTIONARY, item, weight), "n"] == number
    judged = {measure: shares.loc[measure, "n"] for measure in (TRANSLATIONS, ELSEWHERE)}
    assert (judged[TRANSLATIONS] == judged[ELSEWHERE]).all() and len(judged[TRANSLATIONS])
    assert (judged[TRANSLATIONS] == (shares.loc[IN_DICTIONARY, "value"] * shares.loc[IN_DICTIONARY, "n"]).round()).all()


def test_masked_subwords(measured, folder, dev_tokens):
    masked = measured[measured["definition"] == MASKED]
    assert set(masked["language"]) == {"en", "de", "zh"}
    model = load_language_model(folder, [])
    texts = {code: load_subwords([dev_tokens["pairs"] / f"{code}.test.parquet"]) for code in ("de", "en")}
    hidden, whole = masked_outputs.hide(texts["en"], 4, len(model[1].bias)), texts["en"]
    inner = {code: {subword for i in range(len(each)) for subword in single(each, i)[0]} - {2, 3} for code, each in texts.items()}
    german = sorted(inner["de"] - inner["en"])
    hits, others, probabilities = 0, 0, []
    for i in range(len(hidden)):
        subwords, second = single(hidden, i)
        before = single(whole, whole.ids.index(hidden.ids[i]))[0]
        place, subword = hidden.positions[i], hidden.labels["task"][i]
        assert (subwords != before).nonzero()[0].tolist() == [place] and subwords[place] == 4 and before[place] == subword
        with torch.inference_mode():
            types = (torch.arange(len(subwords)) >= second).long()[None]
            states = model[0](input_ids=torch.from_numpy(subwords.astype(np.int64))[None], token_type_ids=types).last_hidden_state
            logits = model[1](states[0, place][None])[0]
        hits += int(logits.argmax() == subword)
        others += int(logits.argmax()) in german
        probabilities.append(float(logits.softmax(-1)[german].sum()))
    assert 0.1 < len(hidden) / (whole.lengths.sum() - 2 * len(whole)) < 0.2 and set(masked["n"]) == {len(hidden)}
    by_language = masked.set_index(["language", "measure"])["value"]
    assert by_language["en", "accuracy"] == pytest.approx(hits / len(hidden))
    assert by_language["de", SHARES["target"]] == pytest.approx(others / len(hidden))
    assert by_language["de", PROBABILITY] == pytest.approx(np.mean(probabilities), rel=1e-4)


def test_an_encoder_without_a_mask_fails_before_its_work(folder, dev_tokens, tmp_path, monkeypatch):
    shutil.copytree(folder, tmp_path / "encoder")
    edit(tmp_path / "encoder/tokenizer.json", ("[MASK]", "[HIDE]"))
    edit(tmp_path / "encoder/tokenizer_config.json", ("[MASK]", "[HIDE]"), ("mask_token", "hiding"))
    monkeypatch.setattr(translation, "mean_states", None)
    with pytest.raises(DataError, match="expected a tokenizer with a mask"):
        list(translation.measure(
            Subject(tmp_path / "encoder", 0, dev_tokens), corpora={}, pairs="pairs", directions=DIRECTIONS, means=[MEAN],
            weights=[1.0], negative_weights=[], layer=1, masked_source="en", segments=True, dictionaries=[], seed=0,
        ))  # fmt: skip


def test_the_third_language_is_neither():
    assert shift_grid.third(["en", "de", "zh"], "en", "de") == "zh" and shift_grid.third(["en", "de", "zh"], "en", "zh") == "de"
    assert shift_grid.third(["en", "de", "zh"], "zh", "en") == "de" and shift_grid.third(["en", "de"], "en", "de") is None


def test_samples_are_the_outputs_of_their_pairs(folder, dev_tokens):
    options = {"pairs": "pairs", "directions": [["en", "zh"]], "means": MEAN, "weights": [2.0], "layer": 1, "segments": True}
    by_number = pd.DataFrame(example_translations.measure(Subject(folder, 0, dev_tokens), corpora={}, numbers=[3, 1], **options))
    assert by_number[["number", "weight"]].to_numpy().tolist() == [[3, 0.0], [3, 2.0], [1, 0.0], [1, 2.0]]
    model, names = load_language_model(folder, []), load_tokenizer(folder)
    texts = {code: load_subwords([dev_tokens["pairs"] / f"{code}.test.parquet"]) for code in ("en", "zh")}
    means = mean_states(model[0], dev_tokens, ["en", "zh"], [Mean(**MEAN)], True)[Mean(**MEAN)]
    for row in by_number.itertuples():
        shift = Shift(1, row.weight, (means["zh"] - means["en"])[1])
        subwords = named(model, *single(texts["en"], row.number - 1), shift)[1:-1]
        assert row.output == " ".join(names.id_to_token(int(subword)) for subword in subwords) and row.n == len(subwords)
        own, other = (single(texts[code], row.number - 1)[0][1:-1] for code in ("en", "zh"))
        assert row.text == " ".join(names.id_to_token(int(subword)) for subword in own)
        assert row.reference == " ".join(names.id_to_token(int(subword)) for subword in other)
    with pytest.raises(DataError, match="numbers of pairs up to 24, found 25"):
        list(example_translations.measure(Subject(folder, 0, dev_tokens), corpora={}, numbers=[25], **options))
