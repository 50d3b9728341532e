"""Checks that the sections of several papers make against the rest of the configuration. Each raises ValueError."""

from collections.abc import Iterable

from crosslens.config.whole import Config


def expect_tokenisation(config: Config, key: str, tokenisation: str) -> None:
    """The tokenisation that a key names is configured."""
    if tokenisation not in config.tokenisations:
        raise ValueError(f"{key}: expected one of {', '.join(config.tokenisations)}, found '{tokenisation}'")


def expect_layers(config: Config, key: str, encoder: str, numbers: Iterable[int], expected: str, remedy: str) -> None:
    """An encoder has all the blocks or layers of these numbers.

    expected, remedy: parts of the message: what the numbers are, and what to do.
    """
    blocks = config.encoders[encoder].blocks()
    if above := [number for number in numbers if blocks and number > blocks]:
        raise ValueError(f"{key}: expected {expected} up to {blocks}, which encoders.{encoder} has, found {above[0]}: {remedy}")


def expect_training_data(config: Config, key: str, corpus: str, languages: Iterable[str], sources: str) -> None:
    """A corpus has training data in all these languages. sources: key that names them."""
    trained = {language for language, split in config.corpora[corpus].parts() if split == "train"}
    if missing := [language for language in dict.fromkeys(languages) if language not in trained]:
        raise ValueError(
            f"{key}: corpora.{corpus} has no training data for {', '.join(missing)}: add files for train there, or remove it "
            f"from {sources}"
        )
