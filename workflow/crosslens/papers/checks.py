"""Checks of a paper's section against the rest of the configuration, shared by several papers. Each raises ValueError."""

from collections.abc import Iterable

from crosslens.config.whole import Config


def expect_tokenisation(config: Config, key: str, tokenisation: str) -> None:
    """Check that a tokenisation, the value of `key`, is configured."""
    if tokenisation not in config.tokenisations:
        raise ValueError(f"{key}: expected one of {', '.join(config.tokenisations)}, found '{tokenisation}'")


def expect_layers(config: Config, key: str, encoder: str, numbers: Iterable[int], expected: str, remedy: str) -> None:
    """Check that an encoder has layers with all these numbers; an encoder of unknown depth passes.

    expected, remedy: parts of the error message: what the numbers are, and how to correct them.
    """
    n_layers = config.encoders[encoder].n_layers()
    if above := [number for number in numbers if n_layers and number > n_layers]:
        raise ValueError(f"{key}: expected {expected} up to {n_layers}, which encoders.{encoder} has, found {above[0]}: {remedy}")


def expect_training_data(config: Config, key: str, corpus: str, languages: Iterable[str], sources: str) -> None:
    """Check that a corpus has training data in all these languages. sources: key under which the languages are configured."""
    trained = {language for language, split in config.corpora[corpus].parts() if split == "train"}
    if missing := [language for language in dict.fromkeys(languages) if language not in trained]:
        raise ValueError(
            f"{key}: corpora.{corpus} has no training data for {', '.join(missing)}: add files for train there, or remove it "
            f"from {sources}"
        )
