"""Sentences as CoNLL-U files, laid out like the treebanks of Universal Dependencies."""

from collections.abc import Iterator, Sequence

from synthetic.realise import Sentence

DOCUMENT = 10  # sentences in a document of the treebank


def conllu(sentences: Sequence[Sentence], split: str, english: Sequence[Sentence] | None = None) -> str:
    """CoNLL-U file of sentences, in documents of ten. A sent_id such as `train-d003-s07` is the same in all languages.

    english: the translations (same order), for the comment `text_en` of parallel sets; None: no such comment.
    """
    lines: list[str] = []
    for index, sentence in enumerate(sentences):
        document, position = divmod(index, DOCUMENT)
        name = f"{split}-d{document + 1:03d}"
        if position == 0:
            lines += [f"# newdoc id = {name}", f"# newpar id = {name}-p01"]
        lines += [f"# sent_id = {name}-s{position + 1:02d}", f"# text = {sentence.text}"]
        if english is not None:
            lines.append(f"# text_en = {english[index].text}")
        lines += [*_token_lines(sentence), ""]
    return "".join(line + "\n" for line in lines)


def _token_lines(sentence: Sentence) -> Iterator[str]:
    """Yield the lines of a sentence, ten columns each.

    SpaceAfter=No of a multiword token is on the line of its range, not on those of its words.
    """
    for token in sentence.tokens:
        misc = "_" if token.space_after else "SpaceAfter=No"
        multiword = token.last > token.first
        if multiword:
            yield "\t".join((f"{token.first}-{token.last}", token.form, *"_______", misc))
        for number in range(token.first, token.last + 1):
            word = sentence.words[number - 1]
            cells = (str(number), word.form, word.lemma, word.upos, "_", "_", str(word.head), word.relation, "_")
            yield "\t".join((*cells, "_" if multiword else misc))
