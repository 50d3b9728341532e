"""Files that a run of the workflow builds, and artefacts that it may take from another results folder."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product

from crosslens.config.corpora import OfficialCorpus, ParagraphCorpus
from crosslens.graph.plan import ENDINGS, Graph, Step
from crosslens.jobs.errors import DataError


def items_of(graph: Graph, *keys: str, searched: bool = False) -> list[str]:
    """Tables and figures of some papers with their pages, and the papers' reports and files of scores.

    keys: keys of the papers. searched: return the tables and figures of the hyperparameter searches instead; these have neither
    report nor scores. Raises DataError for a paper that does not fit the configuration.
    """
    if reasons := [graph.misfits[key] for key in keys if key in graph.misfits]:
        raise DataError("\n".join(reasons))
    files = [
        f"{graph.results}/{place}{ending}"
        for place, (paper, _, item) in graph.studies.items.items()
        if paper.key in keys and item.searched == searched
        for ending in (ENDINGS[item.form][0], ".html")
    ]
    chosen = [paper for paper in graph.studies.papers if paper.key in keys and not searched]
    files += [f"{graph.results}/{paper.path('report')}.html" for paper in chosen if paper.path("report") in graph.pages]
    return files + [f"{graph.results}/scores/{paper.key}.parquet" for paper in chosen]


def shown(graph: Graph) -> list[str]:
    """All tables (.csv) and figures (.svg): the files that users ask for."""
    return [f"{graph.results}/{place}{ENDINGS[item.form][0]}" for place, (_, _, item) in graph.studies.items.items()]


def replaced(graph: Graph, arguments: Sequence[str]) -> dict[str, list[str]]:
    """Files to build in place of some targets, by the target as the user typed it; other targets are left out.

    A figure is built together with its page, which would otherwise show the old figure. In a rehearsal, a file of the study is
    replaced by that of the rehearsal. Nothing is replaced if an option such as --forcerun or --until selects jobs by file.
    arguments: command line of Snakemake.
    """
    if any(re.match(r"--(force|forcerun|until|omit-from)\b|-[A-Za-z]*[fRUO]", argument) for argument in arguments):
        return {}
    figures = [place for place, (_, _, item) in graph.studies.items.items() if item.form == "figure"]
    pages = {f"{graph.results}/{place}{end}": f"{graph.results}/{place}.html" for place in figures for end in ENDINGS["figure"]}
    study, files = f"{graph.config.counterpart}/", {}
    for target in arguments:
        is_of_study = graph.config.rehearse and target.startswith(study) and not target.startswith(f"{graph.results}/")
        file = f"{graph.results}/{target.removeprefix(study)}" if is_of_study else target
        if is_of_study or file in pages:
            files[target] = [file, pages[file]] if file in pages else [file]
    return files


def preparation(graph: Graph) -> dict[str, Callable[[], Step]]:
    """Functions that return the step of each artefact built before training, by the artefact's path below the results."""
    config, official, results = graph.config, graph.official, f"{graph.results}/"
    corpora, encoders = config.corpora, config.encoders
    steps: dict[str, Callable[[], Step]] = {f"sources/synthetic/{file}": graph.synthetic for file in config.synthetic.files()}
    for file in official.fetched(corpora.values(), encoders.values(), config.tokenisations.values()):
        steps[file.removeprefix(results)] = partial(graph.fetch, *official.place(file))
    for name, corpus in corpora.items():
        if isinstance(corpus, OfficialCorpus):
            steps[f"corpora/{name}"] = partial(graph.corpus, name)
        elif isinstance(corpus, ParagraphCorpus):
            parts = corpus.stored()
            steps |= {f"corpora/{name}/{code}.{split}.parquet": partial(graph.paragraphs, name, code) for code, split in parts}
            for code in corpus.languages if corpus.blocks else ():
                dump, numbers = corpus.file_of(code).removesuffix(".xml.bz2"), (str(corpus.blocks), str(corpus.seed))
                place = official.dump(corpus, code).removeprefix(results)
                steps[place] = partial(graph.dump_sample, corpus.source_of(code), *numbers, dump)
        else:
            steps[f"corpora/{name}/typology.parquet"] = partial(graph.typology, name)
    steps |= {f"tokenizers/{name}": partial(graph.tokenizer, name) for name in encoders}
    steps |= {f"encoders/{name}": partial(graph.encoder, name) for name in encoders}
    for names in product(encoders, config.tokenisations, corpora):
        steps[f"tokens/{'/'.join(names)}"] = partial(graph.tokens, *names)
    return steps | {f"samples/{name}": partial(graph.sample, name) for name in graph.studies.samples}
