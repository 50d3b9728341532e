"""Titles and captions of tables and figures, read from papers/KEY/captions.yaml."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any, Literal

from crosslens.config.presets import read_yaml
from crosslens.jobs.errors import DataError
from crosslens.papers.wording import interval
from crosslens.reports.paper import TableOrFigure

APPENDIX = "_appendix"  # suffix for a figure with the panels that would make the main figure too large


@cache
def _texts(paper: str) -> dict[str, Any]:
    """Content of a paper's captions.yaml.

    items: title, shows and caption of each table or figure, in page order; a caption has fields in braces.
    shared: texts that captions insert through such fields.
    end: the last paragraph of every caption.
    """
    return read_yaml(Path(__file__).parent / paper / "captions.yaml")


def items(paper: str) -> dict[str, dict[str, str]]:
    """Title, shows and caption of each table or figure of a paper, by name, in the order of its pages."""
    texts: dict[str, dict[str, str]] = _texts(paper)["items"]
    return texts


def captioned(
    paper: str, name: str, module: str, *, form: Literal["table", "figure"] | None = None,
    values: Mapping[str, Any] | None = None, single: str = "the jackknife over texts", **fields: Any,
) -> TableOrFigure:  # fmt: skip
    """A table or figure with its title and caption.

    form: None means a figure if its name begins with "figure", otherwise a table.
    values: values of the caption's fields, besides {interval}, which describes the intervals.
    single: description of the interval of a single seed.
    fields: further fields of TableOrFigure.
    Raises DataError if captions.yaml lacks the table or figure, or if its caption has unknown fields.
    """
    texts = _texts(paper)
    values = {"interval": interval({len(need.seeds) for need in fields.get("needs", ())}, single)} | dict(values or {})
    try:
        title, shows, caption = (items(paper)[name][key] for key in ("title", "shows", "caption"))
        text = _filled(caption, values, texts.get("shared", {}))
    except KeyError as error:
        fields_there = ", ".join([*values, *texts.get("shared", {})])
        raise DataError(
            f"papers/{paper}/captions.yaml: items.{name}: expected title, shows, and a caption with fields in braces among "
            f"{fields_there}, found no {error}"
        ) from None
    caption = "\n\n".join(filter(None, [text, texts.get("end", "")]))
    return TableOrFigure(form or ("figure" if name.startswith("figure") else "table"), title, shows, caption, module, **fields)


def appendix(figure: TableOrFigure, panels: str) -> TableOrFigure:
    """The appendix of a figure. panels: its panels, in words."""
    return replace(figure, title=f"{figure.title}, appendix", shows=f"{figure.shows}, {panels}")


def _filled(text: str, values: Mapping[str, Any], shared: Mapping[str, str]) -> str:
    """A text with its fields replaced by values and by shared texts, whose own fields are replaced too."""
    names = {name for _, name, _, _ in Formatter().parse(text) if name}
    return text.format(**{name: _filled(shared[name], values, shared) if name in shared else values[name] for name in names})
