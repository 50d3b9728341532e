"""tanti2021: captions of pages and the report, below an item's title. Names in tables are explained in resources/terms.yaml."""

from collections.abc import Sequence

from crosslens.config.whole import Config
from crosslens.papers.tanti2021.config import section
from crosslens.papers.tanti2021.layout import FIGURES
from crosslens.papers.wording import interval
from crosslens.reports.paper import Need

TEXTS = {
    "table1": """The target task, and language identification (Lang. ID) by a head that is trained on paragraphs with the
encoder frozen and tested on the task's texts (Target) and on paragraphs (Wiki).

How to read it: how far does Lang. ID fall from Init. to Fine-T. under the paper's definition, and does it fall as far in
accuracy and with the converged probes? Where a probe still identifies the language, it is still represented in the states.""",
    "table2": """The rows of table 1 after gradient reversal (Grad.) and entropy maximisation (Ent.), and of the language head
that the encoder is trained against (Adversary).

How to read it: does Lang. ID fall below Fine-T. of table 1, under each definition, and what does this cost the target task? An
adversary that never learnt to distinguish the languages is no evidence.""",
    "table3": """Agreement of k-means clusters of sampled hidden states with labels and with languages: 100 if clusters and
classes coincide. k is the number of {clusters}. The published values of Init. and Fine-T. are from the captions of figures 3
and 4.

How to read it: do states group by label after training, and by language before? V-measure rises with k, so compare it with its
value against shuffled truth, which is its chance level, and with adjusted mutual information, whose chance level is 0.""",
    "footnote6": """UDPOS: micro F1 of chunks of bare tags; XNLI: accuracy; next to the paper's and XTREME's (Hu et al. 2020).

How to read it: is the fine-tuned model as good as it is known to be? XTREME's F1 is a different metric on a different UD
version.""",
    "table4": "The grid of the random search, next to the printed one; each row is a hyperparameter.",
    "table5": """Hyperparameters of each training, next to the printed ones.

How to read it: where does this scale depart from the paper? A smaller encoder with fewer steps needs other learning rates.""",
    "table5_search": """All trials, the best of each experiment first; the printed choice is the last row of each experiment. The
published score of a trial is that of the authors' log, for the same hyperparameters. The score is macro F1 on the development set
of the task, in all of its languages, as in the paper: not strictly zero-shot.

How to read it: would the search choose what the paper chose, and by what margin does the best trial lead?""",
    "languages": """Scores of the target task in each language by itself. The paper prints none; the published ones are in the
authors' repository, in results.csv of each experiment.

How to read it: where a score of tables 1 and 2 differs from the printed one, in which languages does it?""",
    "epochs": """Scores on held-out texts before the first epoch (0) and after each: of the task's head in English, then of the
new language head on paragraphs. Published values are in the authors' repository, in train_history.csv of each experiment;
entropies of a language head's output, and scores of adversaries, are theirs alone. In percent, entropies in nats; 95 % interval:
{interval}.

How to read it: do the heads learn as fast as the authors' did, and is the same epoch the best? A language head whose entropy is
still near 3.50, that of 33 languages taken for equally likely, has hardly learnt.""",
    "dataset_sizes": """A row for each printed size; a sample of Wikipedia for each task: words for part-of-speech tagging, whole
paragraphs for natural language inference. Then a row for each language, over all splits. Texts read: before texts with unknown
pieces (subwords that the vocabulary lacks) are dropped. Cut: truncated at the maximum number of subwords.

How to read it: each difference is explained, and the rows by language show what each language lost.""",
    "findings": """Each row changes one thing and keeps the rest: the metric, the learning rate of the language head, the frozen
encoder's dropout, classes absent from the truth, the adversary, the scale of the entropy objective. Before and after are without
and with fine-tuning; for adversaries, without and with one. See docs/findings.md.

How to read it: which part of the difference is due to the encoder, and which to the measure?""",
    "figure2": "Marks of figures 3 to 6. Colours show families of languages (WALS); each language is named above its small map.",
}
SCATTERED = """t-SNE of sampled hidden states, one column per model. From top to bottom: the task's texts by label; the same
points by language, in a small map for each, where those of all languages are grey; paragraphs by language.

The sample is that of appendix B: at most {points} points per label and language (the paper: {printed}), {paragraphs} paragraphs
per language (the paper: 100). F1 and V-measure in the headings are those of tables 1 to 3 under the paper's definition, chance is
V-measure against shuffled truth, and accuracy is over words, pairs or paragraphs. Seeds of the scores:
{seeds}; of the points: {first}.

How to read it: do points group by label or by language? Where states do not show the language, its points are spread over its
small map like the grey ones. t-SNE preserves neighbourhoods, not distances: rely on V-measure, which is computed on the full
vectors, and on accuracy."""
CELLS = """In percent. Below each value: its 95 % interval, {interval}; and n, the number of units (words, pairs, paragraphs) on
which it is based."""
SINGLE = {"table3": "Student's t over the k-means runs", "epochs": "none"}  # interval of a single seed where it is not over texts


def caption(name: str, needs: Sequence[Need], config: Config) -> str:
    """The caption of an item of some needs."""
    paper, most = section(config), section(config).clustering.language_clusters
    tasks = [FIGURES[name][0]] if name in FIGURES else list(paper.tasks)
    parts = [TEXTS.get(name, SCATTERED)]
    parts += [CELLS] * (name in ("table1", "table2", "table3", "footnote6", "findings", "languages"))
    return "\n\n".join(parts).format(
        clusters=f"labels, or {most} for languages" if most else "labels or of languages",
        interval=interval({len(need.seeds) for need in needs}, *([SINGLE[name]] if name in SINGLE else [])),
        points=paper.task(tasks[0]).points_per_label,
        printed=50 if tasks[0] == "nli" else 10,
        paragraphs=paper.clustering.points_per_language,
        seeds=", ".join(map(str, sorted({seed for need in needs for seed in need.seeds}))),
        first=config.seeds[0],
    )
