"""resources/languages.csv: codes, and agreement with WALS."""

import csv
import io
import lzma
import re

import pytest
from conftest import MIRROR
from crosslens.config.base import LANGUAGES_CSV, WALS_FAMILIES

needs_mirror = pytest.mark.skipif(not (MIRROR / "wals").is_dir(), reason="needs WALS in ../shared/mirror/wals")
COLUMNS = ["code", "name", "family", "genus", "script", "iso639_3", "glottocode", "wals", "wikipedia", "cc100"]

# The 104 of google-research/bert, multilingual.md, as Wikipedia codes; zh_classical is lzh in our table.
MBERT = """af sq ar an hy ast az ba eu bar be bn bpy bs br bg my ca ceb ce zh zh_classical cv hr cs da nl en et fi fr gl ka de el
gu ht he hi hu is io id ga it ja jv kn kk ky ko la lv lt lmo nds lb mk mg ms ml mr min ne new no nn oc fa pms pl pt pa
ro ru sco sr sh scn sk sl azb es su sw sv tl tg ta tt te tr uk ur uz vi vo war cy fy pnb yo th mn""".split()
# The 100 of liang2021's code for XLM-R, as files of CC-100.
XLMR = """af am ar as az be bg bn bn_rom br bs ca cs cy da de el en eo es et eu fa fi fr fy ga gd gl gu ha he hi hi_rom hr hu hy
id is it ja jv ka kk km kn ko ku ky la lo lt lv mg mk ml mn mr ms my my_zaw ne nl no om or pa pl ps pt ro ru sa sd si
sk sl so sq sr su sv sw ta ta_rom te te_rom th tl tr ug uk ur ur_rom uz vi xh yi zh-Hans zh-Hant""".split()
PAPERS = {
    "tanti2021": "af ar bg de el en es et eu fa fi fr he hi hu id it ja kk ko mr nl pt ru ta te th tl tr ur vi yo zh",
    "wu2019": "ar bg ca cs da de el en es et fa fi fr he hi hr hu id it ja ko la lv nl no pl pt ro ru sk sl sv sw th tr uk ur vi "
    "zh",
    "muller2021": "ar cs de en es fi fr hi id it ja pl pt ru sl tr zh",
    "liu2020": "ar bg de el en es fr hi ru sw th tr ur vi zh",
}
PASSPORT = {"gn", "nqo", "quy", "tzm", "zu"}  # of FLORES-200, in neither encoder's list
NOT_IN_WALS = {"an", "bpy", "eo", "io", "la", "lmo", "lzh", "nqo", "pnb", "sa", "scn", "sco", "vo"}
CONSTRUCTED = {"eo", "io", "vo"}
WITHOUT_GENUS = CONSTRUCTED | {"la"}
WITHOUT_GLOTTOCODE = {"vo"}
# WALS gives a larger or a smaller language: ISO 639-3 of ours -> of WALS.
OTHER_ISO = {"bos": "hbs", "hrv": "hbs", "srp": "hbs", "nno": "nor", "nob": "nor", "als": "sqi", "lvs": "lav"}
OTHER_ISO |= {"orm": "hae", "pus": "pst", "grn": "gug"}


@pytest.fixture(scope="module")
def table() -> list[dict[str, str]]:
    with open(LANGUAGES_CSV, encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        assert reader.fieldnames == COLUMNS
        return list(reader)


def column(table: list[dict[str, str]], name: str) -> list[str]:
    return [row[name] for row in table if row[name]]


def test_codes(table: list[dict[str, str]]) -> None:
    codes = column(table, "code")
    assert len(codes) == len(table) and codes == sorted(set(codes))
    for row in table:
        assert re.fullmatch(r"[a-z]{2,3}(_[a-z]+)?", row["code"])
        assert re.fullmatch(r"[a-z]{3}", row["iso639_3"])
        assert re.fullmatch(r"[A-Z][a-z]{3}", row["script"])
        assert re.fullmatch(r"[a-z0-9]{4}\d{4}", row["glottocode"]) or row["code"] in WITHOUT_GLOTTOCODE
        assert re.fullmatch(r"[a-z]{3}|", row["wals"])
        assert row["name"] and row["family"] and row["name"] == row["name"].strip()
        assert row["wikipedia"] or row["cc100"] or row["code"] in PASSPORT
    for name in ("name", "wikipedia", "cc100"):
        assert len(column(table, name)) == len(set(column(table, name)))


def test_varieties_are_those_of_cc100(table: list[dict[str, str]]) -> None:
    """A code with _ is another way of writing a language, which only CC-100 has apart."""
    by_code = {row["code"]: row for row in table}
    varieties = [row for row in table if "_" in row["code"]]
    assert len(varieties) == 7
    for row in varieties:
        language = by_code[row["code"].split("_")[0]]
        assert row["cc100"] and not row["wikipedia"]
        assert all(row[name] == language[name] for name in ("family", "genus", "iso639_3", "glottocode", "wals"))


def test_languages_of_the_papers(table: list[dict[str, str]]) -> None:
    wikipedias = {name.removesuffix("wiki") for name in column(table, "wikipedia")}
    assert len(set(MBERT)) == 104 and set(MBERT) <= wikipedias
    assert len(set(XLMR)) == 100 and set(XLMR) <= set(column(table, "cc100"))
    extra = {row["code"] for row in table} - set(MBERT) - set(XLMR)
    assert extra == {"lzh", "zh_hant"} | PASSPORT  # zh_classical and zh-Hant
    for paper, codes in PAPERS.items():
        assert set(codes.split()) <= set(column(table, "code")), paper
    assert len(PAPERS["wu2019"].split()) == 39 and len(PAPERS["tanti2021"].split()) == 33


def test_families_of_what_wals_lacks(table: list[dict[str, str]]) -> None:
    assert {row["code"] for row in table if not row["wals"]} == NOT_IN_WALS
    assert {row["code"] for row in table if not row["genus"]} == WITHOUT_GENUS
    assert {row["code"] for row in table if row["family"] == "Constructed"} == CONSTRUCTED
    of_wals = {(row["family"], row["genus"]) for row in table if row["wals"]} | {("Mande", "Western Mande")}  # Bambara's there
    for row in table:
        if not row["wals"] and row["code"] not in WITHOUT_GENUS:
            assert (row["family"], row["genus"]) in of_wals


@needs_mirror
def test_wals_says_the_same(table: list[dict[str, str]]) -> None:
    """Of WALS v2020.4, whose codes are corrected; v2020 has the values of the same languages."""
    by_version = {}
    for version in ("v2020", "v2020.4"):
        with lzma.open(MIRROR / "wals" / version / "cldf" / "languages.csv.xz") as stream:
            reader = csv.DictReader(io.TextIOWrapper(stream, encoding="utf-8", newline=""))
            by_version[version] = {row["ID"]: row for row in reader}
    for row in table:
        if row["wals"]:
            wals = by_version["v2020.4"][row["wals"]]
            family = WALS_FAMILIES.get(row["family"], row["family"])
            assert (family, row["genus"]) == (wals["Family"], wals["Genus"]), row["code"]
            assert OTHER_ISO.get(row["iso639_3"], row["iso639_3"]) in wals["ISO_codes"].split(), row["code"]
            assert row["wals"] in by_version["v2020"], row["code"]


@needs_mirror
def test_mbert_languages_map_as_in_the_table_at_hand(table: list[dict[str, str]]) -> None:
    with lzma.open(MIRROR / "languages" / "mbert-wals.tsv.xz", "rt", encoding="utf-8") as stream:
        published = {row["wikipedia_code"]: row for row in csv.DictReader(stream, delimiter="\t")}
    ours = {row["wikipedia"].removesuffix("wiki"): row for row in table}
    for code, row in published.items():
        assert ours[code]["iso639_3"] == row["iso639_3_individual"], code
        assert ours[code]["wals"] in (row["wals_ids"].split() or [""]), code
