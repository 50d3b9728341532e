"""Numbers of the remarks on muller2021, by the remark's name."""

import numpy as np
from crosslens.measures.cka import cka
from crosslens.papers.muller2021.layout import BY_LANGUAGE, LANGUAGES, METRICS

from documents.errata import Facts, Numbers

PAPER = "muller2021"
SOURCES = {"EN": "ENGLISH", "RU": "RUSSIAN", "AR": "ARABIC"}
FIRST, LAST = "delta 0-1", "delta 10-11"  # as tables 6 to 8 count layers
UPPER = ("delta 8-9", LAST)


def _cell(facts: Facts, item: str, row: str, column: str, metric: str | None = None) -> float:
    return facts.value(PAPER, item, row, column, metric)


def _targets(facts: Facts, task: str, source: str, column: str) -> dict[str, float]:
    """Printed cells of the target languages of a source language, without the source language itself."""
    cells = facts.column(PAPER, BY_LANGUAGE[task], column, METRICS[task])
    names = [name for name in LANGUAGES.values() if name != SOURCES[source]]
    return {name: cells[f"{source}->{name}"] for name in names if f"{source}->{name}" in cells}


def means_of_rows(facts: Facts) -> Numbers:
    """Printed means over targets (rows X) and means of the printed rows, by task and source: of REF and of the lowest layers."""
    numbers: Numbers = {}
    understated = []
    for task, metric in METRICS.items():
        for source in SOURCES:
            for name, column, printed_column in (("ref", "REF", "REF"), ("first", FIRST, "delta 1-2")):
                cells = _targets(facts, task, source, column)
                mean, printed = (
                    float(np.mean(list(cells.values()))),
                    _cell(facts, "table1", f"{source}->X", printed_column, metric),
                )
                numbers |= {f"{task}_{source}_{name}": mean, f"{task}_{source}_{name}_printed": printed}
                if name == "first" and len(cells) == len(LANGUAGES) - 1:
                    understated.append(printed - mean)
    return numbers | {"targets": len(LANGUAGES) - 1, "least": min(understated), "most": max(understated)}


def correlation_for_tagging(facts: Facts) -> Numbers:
    """Printed correlation for tagging, in the text and in table 4."""
    return {
        "text": _cell(facts, "text section 4.3", "spearman fine-tuned", "POS"),
        "table": _cell(facts, "table4", "POS", "fine-tuned"),
    }


def sign_of_the_correlation(facts: Facts) -> Numbers:
    """Printed correlation for parsing, and number of positive correlations among all six."""
    cells = [_cell(facts, "table4", task, model) for task in ("Parsing", "POS", "NER") for model in ("fine-tuned", "pretrained")]
    return {
        "printed": _cell(facts, "table4", "Parsing", "fine-tuned"),
        "positive": sum(cell > 0 for cell in cells),
        "cells": len(cells),
    }


def significance(facts: Facts) -> Numbers:
    """Two-sided p of the printed correlations by Student's t, for the number of languages in the caption and for the true one."""
    from scipy.stats import t

    numbers: Numbers = {}
    other_tasks = []
    for task in ("Parsing", "POS", "NER"):
        for model in ("fine-tuned", "pretrained"):
            rho = _cell(facts, "table4", task, model)
            for n in (17, 15):
                p = float(2 * t.sf(abs(rho) * np.sqrt((n - 2) / (1 - rho**2)), n - 2))
                if task == "NER":
                    numbers |= {f"{model.partition('-')[0]}_{n}": p, model.partition("-")[0]: rho}
                else:
                    other_tasks.append(p)
    return numbers | {"others": max(other_tasks)}


def three_similarities(facts: Facts) -> Numbers:
    """CKA of independent Gaussian states of 1,000 pairs in 768 dimensions by definition, and of states with different means."""
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(2, 1000, 768))
    means = 3 * generator.normal(size=(2, 768))
    names = {"printed": "as_printed", "released": "released_kernel", "linear": "linear", "debiased": "debiased"}
    numbers = {name: cka(x, y, definition) for name, definition in names.items()}
    return numbers | {
        "with_means": cka(x + means[0], y + means[1], "as_printed"),
        "text": _cell(facts, "text section 4.2", "cross-lingual similarity at layer 5, EN-RU", "parsing"),
    }


def upper_layers(facts: Facts) -> Numbers:
    """Losses of tagging in target languages: from Arabic with layers 11 and 12, from Russian with layers 7 and 8."""
    arabic, russian = _targets(facts, "pos", "AR", LAST), _targets(facts, "pos", "RU", "delta 6-7")
    romance = {name: russian.pop(name) for name in ("FRENCH", "ITALIAN", "PORTUGUESE", "SPANISH")}
    return {
        "arabic": len(arabic),
        "arabic_down": sum(delta < 0 for delta in arabic.values()),
        "arabic_mean": -float(np.mean(list(arabic.values()))),
        "arabic_printed": -_cell(facts, "table1", "AR->X", "delta 11-12", "accuracy"),
        "arabic_own": abs(_cell(facts, "table7", "AR->ARABIC", LAST)),
        "romance_least": -max(romance.values()),
        "romance_most": -min(romance.values()),
        "others": len(russian),
        "others_mean": -float(np.mean(list(russian.values()))),
    }


def one_setting(facts: Facts) -> Numbers:
    """F1 of English entities without re-initialised layers (REF) in four tables, and the range of these."""
    cells = [
        _cell(facts, "table1", "EN->EN", "REF", "F1"),
        _cell(facts, "table2", "EN->EN", "REF", "F1"),
        _cell(facts, "table5", "ENGLISH TEST", "REF", "F1"),
        _cell(facts, "table8", "EN->ENGLISH", "REF", "F1"),
    ]
    return {
        **{f"table{number}": cell for number, cell in zip((1, 2, 5, 8), cells, strict=True)},
        "range": max(cells) - min(cells),
    }


def two_test_sets(facts: Facts) -> Numbers:
    """Scores of the same models on the test sets of table 5 and of tables 6 and 7."""
    numbers: Numbers = {}
    for name, task, language in (
        ("french", "parsing", "FRENCH"),
        ("arabic", "parsing", "ARABIC"),
        ("indonesian", "pos", "INDONESIAN"),
        ("arabic_tagging", "pos", "ARABIC"),
    ):
        numbers |= {
            f"{name}_5": _cell(facts, "table5", language, "REF", METRICS[task]),
            name: _cell(facts, BY_LANGUAGE[task], f"EN->{language}", "REF"),
        }
    lowest = _cell(facts, "table5", "ARABIC", "1-2", "accuracy")
    return numbers | {
        "first_5": lowest - numbers["arabic_tagging_5"],
        "first": _cell(facts, "table7", "EN->ARABIC", FIRST),
    }


def tables_5_and_8(facts: Facts) -> Numbers:
    """Losses of F1 in English entities from re-initialising the two lowest layers, in tables 5 and 8."""
    scores = [_cell(facts, "table5", "ENGLISH TEST", column, "F1") for column in ("REF", "1-2")]
    costs = scores[0] - scores[1], -_cell(facts, "table8", "EN->ENGLISH", FIRST)
    return {"table5": costs[0], "table8": costs[1], "difference": costs[0] - costs[1]}


def zero_shot_arabic(facts: Facts) -> Numbers:
    """Scores in Arabic of models trained on Russian, on Arabic and on English."""
    numbers: Numbers = {}
    for task in ("parsing", "pos"):
        numbers |= {f"{task}_{source}": _cell(facts, BY_LANGUAGE[task], f"{source}->ARABIC", "REF") for source in SOURCES}
    return numbers | {"above": numbers["pos_RU"] - numbers["pos_AR"]}


def rate_outside_the_grid(facts: Facts) -> Numbers:
    """Printed learning rate for entities, the grid in the text, and whether it includes the rate."""
    table = facts.published[PAPER].table
    grid = next(
        value
        for item, row, value in zip(table["item"], table["row"], table["value"], strict=True)
        if (item, row) == ("text A.1.1", "learning rates of the grid")
    )
    rates = [float(rate) for rate in str(grid).split(";")]
    rate = _cell(facts, "table3", "learning rate", "NER")
    return {"rate": f"{rate:g}", "grid": ", ".join(f"{value:g}" for value in rates), "inside": rate in rates}


def domains(facts: Facts) -> Numbers:
    """Losses from re-initialising layers 3 and 4, and 1 and 2, in other domains and in French (table 2, which counts from 0)."""
    numbers: Numbers = {}
    pos = facts.published[PAPER].table
    pos = pos[(pos["item"] == "table2") & (pos["metric"] == "accuracy") & (pos["column"] == "delta 2-3")]
    values = dict(zip(pos["row"], pos["value"].astype(float), strict=True))
    french = [value for row, value in values.items() if row.startswith("EN->FR")]
    english = [value for row, value in values.items() if row.startswith("EN->EN ")]
    numbers |= {
        "french_least": max(french),
        "french_most": min(french),
        "english_least": max(english),
        "english_most": min(english),
    }
    for name, row in (("tweets", "EN->EN UGC"), ("translated", "EN->FR TRAN.")):
        for task, metric in (("parsing", "LAS"), ("tagging", "accuracy")):
            ref, low, middle = (_cell(facts, "table2", row, column, metric) for column in ("REF", FIRST, "delta 2-3"))
            numbers |= {
                f"{name}_{task}_first": -100 * low / ref,
                f"{name}_{task}": middle,
                f"{name}_{task}_share": -100 * middle / ref,
            }
    return numbers


def two_initialisations(facts: Facts) -> Numbers:
    """Standard deviations of PyTorch's default initialisation, 1 / sqrt(3 n) for n inputs; that of BERT's is 0.02."""
    return {f"inputs_{n}": 1 / float(np.sqrt(3 * n)) for n in (768, 3072)}


def noise_of_upper_layers(facts: Facts) -> Numbers:
    """Counts of deltas of layers 9 to 12 in tables 6 to 8: all, below 1 point, positive; and standard deviations over seeds."""
    numbers: Numbers = {}
    small, deviations = [], []
    for task in METRICS:
        deltas = [
            value
            for source in SOURCES
            for column in UPPER
            for value in (
                _targets(facts, task, source, column)
                | {"own": _cell(facts, BY_LANGUAGE[task], f"{source}->{SOURCES[source]}", column)}
            ).values()
        ]
        small.append(sum(abs(delta) < 1 for delta in deltas))
        numbers |= {"deltas": len(deltas), f"{task}_positive": sum(delta > 0 for delta in deltas)}
        deviations.append(
            _cell(facts, "table5", {"parsing": "Parsing", "pos": "POS", "ner": "NER"}[task], "max", "std across seeds (caption)")
        )
    spanish, slovenian = _cell(facts, "table8", "EN->SPANISH", "delta 2-3"), _cell(facts, "table8", "AR->SLOVENIAN", "delta 4-5")
    return numbers | {
        "fewest_small": min(small),
        "most_small": max(small),
        "least_deviation": min(deviations),
        "most_deviation": max(deviations),
        "spanish": spanish,
        "slovenian": slovenian,
    }


def doubtful_cells(facts: Facts) -> Numbers:
    """Numbers of cells in our copy of the tables, and of those with a note on how they were read."""
    table = facts.published[PAPER].table
    notes = table["note"].fillna("")
    has_note = notes.str.contains("OCR|doubtful|restored", regex=True)
    return {
        "cells": len(table),
        "noted": int(has_note.sum()),
        "restored": int(notes.str.contains("restored").sum()),
        "missing": int(table["value"].isna().sum()),
    }
