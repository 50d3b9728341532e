"""The documentation: links, the site's table of contents, and what pages say of commands. `make site` builds it."""

import re
import shutil
from pathlib import Path

import pytest
from crosslens.commands.documents import reports
from crosslens.papers import KEYS

REPOSITORY = Path(__file__).parents[1]
MAKEFILE = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
COPIED = re.search(r"^PAGES := (.+)$", MAKEFILE, re.MULTILINE)[1].split()  # what the site consists of
PAGES = sorted(
    page.relative_to(REPOSITORY).as_posix()
    for name in COPIED
    for page in ([REPOSITORY / name] if name.endswith(".md") else sorted((REPOSITORY / name).glob("**/*.md")))
)

ON_SITE = sorted(["index.md", *("overview.md" if page == "README.md" else page for page in PAGES)])  # names on the site
DESCRIBED = [key for key in KEYS if f"docs/procedure/{key}.md" in PAGES]  # a paper may be without a page; the passport is none


def text_of(page: str | Path) -> str:
    """A page without its code."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    return re.sub(r"`[^`\n]+`", "`code`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))


def headings(page: str | Path) -> set[str]:
    """Anchors of a page, as GitHub makes them."""
    found = re.findall(r"^#+ (.+)$", (REPOSITORY / page).read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def broken(page: str) -> list[str]:
    """Links of a page that lead nowhere, or to something that the site does not have."""
    wrong = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if re.match(r"https?://", link):
            continue
        name, _, anchor = link.partition("#")
        target = (REPOSITORY / page).parent.joinpath(name).resolve() if name else REPOSITORY / page
        here = target.relative_to(REPOSITORY)
        on_site = any(here.as_posix() == copied or Path(copied) in here.parents for copied in COPIED)
        if not target.is_file() or not on_site or (anchor and anchor not in headings(here)):
            wrong.append(f"{page}: {link}")
    return wrong


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_pages_of_the_site(page):
    assert broken(page) == []


@pytest.mark.parametrize("page", PAGES)
def test_lists_begin_after_an_empty_line(page):
    """Else the site shows them as text, unlike GitHub."""
    lines = text_of(page).splitlines()
    item = re.compile(r"\s*(?:[-*]|\d+\.) ")
    pairs = zip(lines, lines[1:], strict=False)
    begun = [(before, line) for before, line in pairs if item.match(line) and not item.match(before)]
    assert [line for before, line in begun if before.strip() and before[0] != " "] == []


def test_every_page_is_in_the_table_of_contents():
    listed = re.findall(r": (\S+\.md)$", (REPOSITORY / "docs/site/mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == ON_SITE


def test_links_to_committed_tables_lead_to_reports_on_the_site(tmp_path):
    shutil.copytree(REPOSITORY / "docs", tmp_path / "docs")
    reports.write(REPOSITORY, tmp_path)
    text = (tmp_path / "docs/results.md").read_text(encoding="utf-8")
    assert "[6](results/laptop/muller2021/report.html#table6)" in text and "demo-float32/table1.csv" in text
    links = re.findall(r"\]\((results/[^)#]+)#(\w+)\)", text)
    pages = {link: (tmp_path / "docs" / link).read_text(encoding="utf-8") for link, _ in links}
    assert all(f'<details class="item" id="{anchor}"' in pages[link] for link, anchor in links) and len(links) > 15


def test_every_command_of_make_is_documented():
    there = set(re.findall(r"^([a-z-]+):.*##", MAKEFILE, re.MULTILINE)) - {"help"}
    text = (REPOSITORY / "docs/commands.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `make ([a-z-]+)", text, re.MULTILINE)) == there


@pytest.mark.parametrize("key", DESCRIBED)
def test_the_tests_that_a_procedures_table_names_are_there(key):
    """docs/procedure/PAPER.md."""
    table = text_of(f"docs/procedure/{key}.md").partition("## Point by point")[2].partition("\n## ")[0]
    named = set(re.findall(r"(test_\w+)::(test_\w+)", table))
    files = (REPOSITORY / "tests").rglob("test_*.py")
    there = {(file.stem, name) for file in files for name in re.findall(r"^def (test_\w+)", file.read_text("utf-8"), re.M)}
    assert len(named) > 15 and named <= there, named - there
