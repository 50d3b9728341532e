"""The Jinja templates of all pages."""

from pathlib import Path

from jinja2 import Environment, StrictUndefined, Template
from markdown_it import MarkdownIt

STYLE = Path(__file__).with_name("page.css")


def read_template(path: Path) -> Template:
    """Jinja template from a file; it escapes values and raises an error for an undefined name.

    `style` is the style sheet of all pages. Two filters turn Markdown into HTML: `markdown` into paragraphs, `inline` into
    text within a line.
    """
    jinja = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    markdown = MarkdownIt("commonmark", {"html": False})
    jinja.globals["style"] = STYLE.read_text("utf-8")
    jinja.filters["markdown"] = markdown.render
    jinja.filters["inline"] = markdown.renderInline
    return jinja.from_string(path.read_text("utf-8"))
