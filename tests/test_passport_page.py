"""The page of a passport: what it says of made-up encoders, of those with gaps, and how it looks in a browser."""

import re
from pathlib import Path

import pandas as pd
import passports
import pytest
from browser import CHROMIUM, browser
from crosslens.papers.passport import page as pages
from crosslens.papers.passport.facts import Passport, measures
from crosslens.papers.passport.figure import figure
from crosslens.papers.passport.pretraining import Pretraining
from crosslens.papers.passport.sentences import sentences
from crosslens.reports.figures.save import save
from test_samples import check_words

PASSPORT = Path(pages.__file__).parent
PRETRAINING = Pretraining(
    {"xlm-r": {"languages": "en de es ru"}}, {passports.ENCODER["id"]: {"languages": "xlm-r", "parallel": True}}
)


def html(passport: Passport, folder: Path) -> str:
    """The page of a passport with its picture."""
    save(figure(passport), folder / "picture.svg", "passport")
    picture = (folder / "picture.svg").read_bytes()
    return pages.page(passport, picture, PRETRAINING, PASSPORT / "passport.html.j2")


def text_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html.partition("</head>")[2]).split())


@pytest.fixture(scope="module")
def passport(tmp_path_factory: pytest.TempPathFactory) -> Passport:
    return Passport.read(passports.write(tmp_path_factory.mktemp("passport")))


def without(passport: Passport, *keys: str) -> Passport:
    """A passport without some measures."""
    return Passport(passport.table[~passport.table["metric"].isin(keys)], passport.record)


def test_the_page_says_which_encoder_it_is_of(passport: Passport, tmp_path: Path) -> None:
    said = text_of(html(passport, tmp_path))
    for fact in ("commit 614241f622f5", "118 M parameters", "12 layers × 384", "Unigram, 250,037 subwords",
                 "positions 512", "coverage 4 of 32 languages", "parallel text yes", "passport 1.0",
                 "snakemake -- results/passport/e5.csv", "SIB-200, commit c0c0c0c0c0c0, test: 204 sentences in 32 languages",
                 "own prompt and pooling (the passport does not read them)"):  # fmt: skip
        assert fact in said


def test_a_line_of_the_table_has_value_interval_floor_and_worst_languages(passport: Passport, tmp_path: Path) -> None:
    line = pages._line(passport, measures()["neighbours"])
    values = [passports.value_of("neighbours", "strong, raw", 12, language) for language in ("tzm", "nqo", "gn")]
    names = re.findall(r"(.+?) (0\.\d\d)(?:, )?", line["worst"])
    assert [number for _, number in names] == [f"{value:.2f}" for value in values]
    mean = passport.value("neighbours", "12")
    assert mean is not None
    assert (line["last"], line["interval"]) == (f"{mean.value:.2f}", f"{mean.low:.2f} to {mean.high:.2f}")
    assert (line["first"], line["baseline"], line["baseline_kind"]) == ("0.01", "0.02", "random weights")
    assert pages._line(passport, measures()["premium"])["first"] == "–"
    assert pages._line(passport, measures()["premium"])["worst"].endswith("1.60")  # the highest are the worst
    assert pages._line(passport, measures()["identification"])["worst"] == ""


def passport_with(passport: Passport, values: dict[str, float], **place: str) -> Passport:
    """A passport with other values of some languages; place: columns that tell the rows."""
    table = passport.table.copy()
    chosen = (table[[*place]] == [*place.values()]).all(axis=1) & table["column"].isin(values)
    assert chosen.sum() >= len(values)
    table.loc[chosen, "here"] = table.loc[chosen, "column"].map(values)
    return Passport(table, passport.record)


def test_the_floor_that_is_hardest_to_pass_stands_beside_a_value(passport: Passport) -> None:
    place = {"metric": "topic", "definition": "raw", "layer": "12", "baseline_kind": "random weights"}
    passports_by_baseline = [passport_with(passport, {"families": value}, **place) for value in (0.1, 0.9)]
    baselines = [pages._line(part, measures()["topic"])["baseline_kind"] for part in passports_by_baseline]
    assert baselines == ["formula", "random weights"]
    assert pages._line(passport, measures()["share"])["baseline_kind"] == "random weights"  # shuffled languages share no variance
    genealogy = {"metric": "genealogy", "layer": "12", "baseline_kind": "random weights"}
    same_as_random = pages._line(passport_with(passport, {"languages": 0.4}, **genealogy), measures()["genealogy"])
    assert (same_as_random["baseline"], same_as_random["remarks"]) == ("0.40", ["random weights", "no different"])


def passport_with_unknown(passport: Passport, shares: dict[str, float]) -> Passport:
    """A passport with shares of unknown subwords in some languages."""
    rows = passport.table[passport.table["definition"] == "premium"].drop_duplicates("column")
    rows = rows.assign(definition="unknown share", here=rows["column"].map(shares).fillna(0.0), baseline_kind="")
    return Passport(pd.concat([passport.table, rows]), passport.record)


def test_unknown_subwords_are_told_before_all_else(passport: Passport) -> None:
    assert not sentences(passport)[0].startswith("Text")
    text, *rest = sentences(passport_with_unknown(passport, {"th": 0.6, "am": 0.95}))
    assert "of 2 of 32 languages are unknown: Amharic 95 % and Thai 60 %. These" in text.replace("\N{NO-BREAK SPACE}", " ")
    assert rest == sentences(passport)


def test_all_languages_that_are_mostly_unknown_are_named_and_the_others_counted(passport: Passport) -> None:
    mostly = dict.fromkeys(["am", "ar", "bn", "ja", "ko", "zh"], 0.9)
    text = sentences(passport_with_unknown(passport, mostly | {"vi": 0.3, "yo": 0.1}))[0].replace("\N{NO-BREAK SPACE}", " ")
    assert all(f"{name} 90 %" in text for name in ("Amharic", "Arabic", "Bengali", "Japanese", "Korean", "Chinese"))
    assert "and at most 30 % in 2 more" in text


def test_a_premium_that_unknown_subwords_make_too_small_is_marked(passport: Passport) -> None:
    few, many = (passport_with_unknown(passport, {"th": share}) for share in (0.4, 0.6))
    of_bytes = passport_with(many, {"th": 3.0}, metric="premium", definition="premium", baseline_kind="")  # above its baseline
    for part, is_marked in ((few, False), (many, True), (of_bytes, False)):
        remarks = pages._line(part, measures()["premium"])["remarks"]
        assert ("make the premium too small" in sentences(part)[0]) == is_marked == ("too small" in " ".join(remarks))


def test_sentences_follow_their_rules(passport: Passport) -> None:
    meaning, language, centring, failing, use = (text.replace("\N{NO-BREAK SPACE}", " ") for text in sentences(passport))
    assert "against 1.6 % with random weights and 1.0 % at layer 0" in meaning
    assert "at the last layer (random weights: 98 %)" in language
    assert "falls from 52 % to 15 % from layer 0 to the last (random weights: 10 %)" in language
    assert "The best languages are" in meaning
    assert "rises from 69 % to 92 %: the means of the languages hide meaning" in centring
    assert "the nearest neighbour of most sentences is in their own language" in failing and "no language" not in failing
    assert "where always guessing the largest topic scores 25 %" in use and "with the language erased, the others'" in use


def test_centring_helps_where_it_exceeds_random_weights(passport: Passport) -> None:
    is_centred = (passport.table["definition"] == "strong, centred") & (passport.table["baseline_kind"] == "")
    untrained = passport.table[is_centred].assign(baseline_kind="random weights")
    said = sentences(Passport(pd.concat([passport.table, untrained]), passport.record))
    assert "(random weights: 92\N{NO-BREAK SPACE}%): this does not help" in " ".join(said)


def test_what_is_worse_than_its_baseline_is_at_it(passport: Passport) -> None:
    premium = measures()["premium"]
    assert not passport.at_baseline(premium, "")
    assert passport_with(passport, {"families": 0.1}, metric="premium", baseline_kind="formula").at_baseline(premium, "")


def test_cut_and_unmeasured_languages_are_listed(passport: Passport, tmp_path: Path) -> None:
    facts = passport.facts | {"cut": {"am": 3}, "languages_not_measured": {"ta": "45 of 204 sentences were cut"}}
    table = passport.table.copy()
    is_thai = (table["metric"] == "cka") & (table["column"] == "th") & (table["layer"] == "12")
    table.loc[is_thai, "here"] = float("nan")
    said = text_of(html(Passport(table, passport.record | {"passport": facts}), tmp_path))
    assert "Amharic 3." in said and "Tamil (45 of 204 sentences were cut)" in said and "in 32 of 33 languages" in said
    assert "CKA, debiased in Thai (no value at the last layer, where its states do not vary)" in said


def test_languages_that_fail_are_named(passport: Passport) -> None:
    strong = {"metric": "neighbours", "definition": "strong, raw", "layer": "12"}
    failing = passport_with(passport, dict.fromkeys(["am", "ha", "th", "ta"], 0.0), **strong)
    assert pages._line(failing, measures()["neighbours"])["worst"] == "Amharic, Hausa, Thai, Tamil: 0.00"
    picture = figure(passport)
    picture.draw_without_rendering()
    check_words(picture)  # names of dots lie on no other


def test_an_encoder_at_its_baselines_is_told(passport: Passport) -> None:
    random = Passport(
        passport.table, passport.record | {"passport": passport.facts | {"encoder": passport.encoder | {"source": "random"}}}
    )
    assert sentences(random)[0].startswith("Baselines: no measure of meaning is above its baseline")
    place = {"metric": "neighbours", "baseline_kind": "random weights", "layer": "12"}
    (text, meaning) = sentences(passport_with(passport, {"families": 0.7}, **place))[:2]
    assert text == "Baselines: at the last layer the encoder is no better than its baseline in Strong alignment."
    assert "no better than the baseline: 70" in meaning and "best languages" not in meaning


def test_what_has_no_value_is_told_and_leaves_no_sentence(passport: Passport, tmp_path: Path) -> None:
    bare = without(passport, "neighbours", "topic", "share")
    assert sentences(bare) == []
    said = text_of(html(bare, tmp_path))
    for title in ("Strong alignment", "Topic transfer", "Language share of variance"):
        assert f"{title} (no value could be computed)" in said


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_the_page_works_in_a_browser(passport: Passport, tmp_path: Path) -> None:
    """At 1,100 pixels, less the scroll bar of the window, the table fits with all its remarks."""
    path = tmp_path / "e5.html"
    table = passport.table.copy()
    table.loc[table["baseline_kind"] == "random weights", "here"] = 2.0  # at its baselines, which makes the longest remarks
    marked = passport_with_unknown(Passport(table, passport.record), {"th": 0.6})
    path.write_text(html(marked, tmp_path), "utf-8")
    with browser() as tab:
        for width in (400, 1085, 1280):
            window = tab.show(path, width)
            assert (window.errors, window.requests, window.overflow) == ([], [], 0)
            hidden = tab._value("(box => box.scrollWidth - box.clientWidth)(document.querySelector('table').parentNode)")
            assert (hidden > 0) == (width == 400)
