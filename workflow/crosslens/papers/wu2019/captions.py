"""wu2019: captions of pages and the report, below an item's title. Names are explained in resources/terms.yaml."""

OF_ITEMS: dict[str, str] = {
    "overlap": """Of each task and language: the share, in percent, of the test set's subwords that occur in the task's English
training data too, by type and by token; fertility; and, below a value, n, the number of types, subwords or words that it is a
share of or rests on (of typological distance, of features). Texts are read whole, up to 512 subwords, without special subwords.

Below the languages: correlation over languages of overlap with the scores of zero-shot transfer that the paper prints for mBERT
(tables 2 to 6), with the 95 % bootstrap interval over languages, and n languages. They are mBERT's scores, whichever encoder's
subwords are compared.

How to read it: overlap goes with script and family, and so do scores. A plain correlation therefore does not show that overlap
helps; what is left of it given family and script may still stand for other similarities. With fewer than ten languages, and of
named entities there are four, any value is fragile.""",
    "figure3": """Zero-shot scores of our trainings on English against the overlap of subwords between the English training data
and each test set: above by type, below by token. Each point is a language, with the mean over seeds. r is Pearson's correlation
without English, which the second number includes.

How to read it: languages in other scripts stand apart from those in Latin script, so that two groups can make a correlation;
look at each by itself. The table of the overlap has partial correlations.""",
}


def caption(name: str) -> str:
    """The caption of an item."""
    return f"{OF_ITEMS.get(name, '')}\n\nOur choices: docs/wu2019.md."
