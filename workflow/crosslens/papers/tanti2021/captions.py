"""tanti2021: captions of the report."""

from crosslens.config.whole import Config
from crosslens.papers.tanti2021.config import Tanti2021, section
from crosslens.papers.tanti2021.layout import FIGURES

TEXTS = {
    "table1": """**Table 1 of the paper: before and after fine-tuning.** The target task, and language
identification (Lang. ID) by a head that is trained on paragraphs while the encoder is frozen, tested on the task's
texts (Target) and on paragraphs (Wiki). Init.: the encoder as it was pre-trained; Fine-T.: fine-tuned for the task.
Controls of ours: Untrained is Init. with random weights; Spelling alone sees no encoder, only letters.

To read off: how far Lang. ID falls from Init. to Fine-T. under the paper's definition, and whether it falls as far
under accuracy and under the converged probes. A language that a probe still identifies has not left the states.""",
    "table2": """**Table 2 of the paper: training against the language.** The rows of table 1 after gradient
reversal (Grad.) and entropy maximisation (Ent.). Controls of ours, where they are configured: No adversary trains at
the same rates without one; True entropy maximises the entropy itself, not equation 1. Adversary (Wiki validation):
the accuracy, on held-out paragraphs, of the language head that the encoder is trained against, before the encoder
moved, after the last epoch, and at its best.

To read off: whether Lang. ID falls below table 1's Fine-T., under each definition, and what it costs the target task.
An adversary that never told the languages apart shows nothing.""",
    "table3": """**Table 3 of the paper: V-measure.** Agreement of k-means on sampled hidden states with labels
and with languages: 1 where each cluster is a class and each class a cluster. k is the number of {clusters}. The
published values of Init. and Fine-T. stand in the captions of figures 3 and 4.

To read off: whether states sort by label after training, and by language before. V-measure rises with k, so read it
beside its value against shuffled truth, which is what chance gives, and beside adjusted mutual information, which is
0 by chance.""",
    "footnote6": """**Footnote 6 of the paper: the fine-tuned model under the scores that others print.** UDPOS:
micro F1 of chunks of bare tags; XNLI: accuracy; beside the paper's value and XTREME's (Hu et al. 2020).

To read off: whether the fine-tuned model is as good as it is known to be. XTREME's F1 is another metric on another UD
version.""",
    "table4": "**Table 4 of the paper: the grid of hyperparameters** that the random search draws from, beside the printed one.",
    "table5": """**Table 5 of the paper: hyperparameters that are used** for each training, beside the printed
ones.

To read off: where this scale departs from the paper. A smaller encoder with fewer steps needs other rates.""",
    "table5_search": """**Table 5 of the paper by random search.** All trials, the best of each experiment first;
the printed choice is the last row of each experiment. The score is macro F1 on the development set of the task, in
all of its languages, as in the paper: not strictly zero-shot.

To read off: whether the search would choose what the paper chose, and by how much the best trial leads.""",
    "dataset_sizes": """**Appendices A and B of the paper: sizes of the splits and of the samples.** A row for
each printed size; a sample of Wikipedia for each task: words for part-of-speech tagging, whole paragraphs for
inference. Then a row for each language, over all splits. Texts read: before those with unknown pieces are dropped.
Cut: at the maximum number of pieces.

To read off: the explanation of each difference, and what each language lost.""",
    "findings": """**What the fall of language identification is made of** (docs/findings.md). Each row changes
one thing and keeps the rest: the metric, the learning rate of the language head, the frozen encoder's dropout,
classes that the truth lacks, the adversary, the scale of the entropy objective. Before and after are without and with
fine-tuning; under adversaries, without and with one.

To read off: which part of the difference is the encoder's and which is the measure's.""",
    "figure2": "**Figure 2 of the paper: the marks of languages and labels** in figures 3 to 6. Relatives stand side by side.",
}
SCATTERED = """**Figure {number} of the paper: t-SNE of sampled hidden states**, {task}, one model a column:
{runs}. From top to bottom: the task's texts by label, the same by language, paragraphs by language.

The sample is that of appendix B: at most {points} points of a label and language (the paper: {printed}), {paragraphs}
of a language's paragraphs (the paper: 100). F1 and V-measure in the headings are those of tables 1 to 3 under the
paper's definition; accuracy is of words, pairs or paragraphs.

To read off: whether points gather by label or by language. t-SNE shows neighbours, not distances: judge by V-measure,
which is computed on the full vectors, and by accuracy.

Scores are means over the seeds {seeds}, unless the configuration names others for a training; the points are of seed
{first}."""
DEFINITIONS = """Definitions. The paper's: macro F1 as the authors' code computes it. For UDPOS that is an F1 of
chunks of equal tags, whose first letter is cut off, so that one wrong word can lose a sentence and 33 languages
become 15; for XNLI, classes that are predicted but never true count as 0, which sets the ceiling that has a row of
its own. Published values belong to this definition only. The others score words (UDPOS) or pairs and paragraphs
(XNLI). Converged probes are logistic regressions on the same states, their penalty chosen on a fifth of the training
sentences; a remark names those whose gradient did not fall below {tolerance}. On random labels they show what a probe
can memorise. Texts and words that are cut at the maximum number of pieces are counted in rows of their own; what is
cut away is not scored."""
CELLS = """In percent. Below each value: n, the number of units (words, pairs, paragraphs) that it rests on, and
its 95 % interval: Student's t over the seeds of a training or, where it has one, {within}. Seeds: {seeds}, unless the
configuration names others for a training."""


def caption(name: str, config: Config) -> str:
    """The caption of an item."""
    paper, seeds = section(config), ", ".join(map(str, config.seeds))
    parts = [_first(name, config, paper, seeds)]
    if name in ("table1", "table2"):
        parts.append(DEFINITIONS.format(tolerance=paper.probe.tolerance))
    if name in ("table1", "table2", "footnote6", "findings"):
        parts.append(CELLS.format(within="a bootstrap over the sentences", seeds=seeds))
    if name == "table3":
        parts.append(CELLS.format(within="over the runs of k-means", seeds=seeds))
    if name not in ("table4", "table5", "figure2"):
        corpora = [task.corpus for key, task in paper.tasks.items() if name not in FIGURES or FIGURES[name][0] == key]
        for corpus in [*corpora, paper.language_corpus]:
            if note := getattr(config.corpora[corpus], "note", None):
                parts.append(f"Note on {corpus}: {note}.")
    return "\n\n".join([*parts, f"Encoder: {paper.encoder}. The paper's is mBERT."])


def _first(name: str, config: Config, paper: Tanti2021, seeds: str) -> str:
    if name not in FIGURES:
        most = paper.clustering.language_clusters
        return TEXTS[name].replace("{clusters}", f"labels, or {most} for languages" if most else "labels or of languages")
    key, runs = FIGURES[name]
    return SCATTERED.format(
        number=name.removeprefix("figure"),
        task="inference (XNLI)" if key == "nli" else "part-of-speech tagging (UDPOS)",
        runs="before and after fine-tuning" if "frozen" in runs else "gradient reversal and entropy maximisation",
        points=paper.tasks[key].points_per_label,  # type: ignore[index]
        printed=50 if key == "nli" else 10,
        paragraphs=paper.clustering.points_per_language,
        seeds=seeds,
        first=config.seeds[0],
    )
