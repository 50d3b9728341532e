"""passport: facts needed to compare two passports, for the record: encoder, sentences, versions and digests."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from crosslens.encoding.parallel_texts import unmeasurable
from crosslens.encoding.samples import SampledWords, read
from crosslens.encoding.tokens.counts import Vocabulary
from crosslens.encoding.tokens.schema import counts
from crosslens.jobs import parquet
from crosslens.jobs.bounded import parse_json
from crosslens.jobs.checksums import verified
from crosslens.jobs.fingerprint import Fingerprints
from crosslens.measures.shared.parallel import NOT_MEASURED
from crosslens.papers.inputs import Inputs
from crosslens.papers.passport.premium import ids_of
from crosslens.papers.passport.tables_and_figures import KINDS
from crosslens.reports.cells import where

VERSION = "1.0"
ROOT = Path(__file__).parents[4]
ELSEWHERE = {
    "Language identification of single words": "the texts are whole sentences",
    "Strong alignment with the encoder's own prompt and pooling": "the passport does not read them",
}
MODULES = (*(f"measures/{kind}" for kind in KINDS), "papers/passport/premium")


def description(name: str, inputs: Inputs, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Facts of a passport; None for those that no file states. settings: from `passport.tables_and_figures.items`."""
    assert inputs.tokenizer is not None
    (folder,) = inputs.samples.values()
    sentences, training = (read(folder / settings[corpus]) for corpus in ("parallel", "topics"))
    languages = sorted({*sentences.languages.tolist()})
    tokens = inputs.tokens[settings["parallel"]]
    ids = ids_of(sentences, languages[0])
    fingerprint = Fingerprints(ROOT, cached=False)
    return {
        "version": VERSION,
        "name": name,
        "corpus": settings["parallel"],
        "commit": settings["commit"],
        "split": "test",
        "languages": languages,
        "n": len(ids),
        "seeds": settings["seeds"],
        "sentences_sha256": _digest(ids),
        "inputs_sha256": _digest([*_texts(tokens, sorted(settings["kinship"])), *_rows(training)]),
        "code_sha256": _digest(fingerprint(f"workflow/crosslens/{module}.py") for module in MODULES),
        "subwords_sha256": _digest(_sheet(tokens, languages, Vocabulary.read(inputs.tokenizer))),
        "measures": {key: facts["version"] for key, facts in settings["measures"].items()},
        "cut": {
            code: part["cut_texts"] for code, part in counts(tokens, "test").items() if part["cut_texts"] and code in languages
        },
        "languages_not_measured": unmeasurable(tokens, sorted(settings["kinship"]), settings["pivot"]) | _refused(inputs, False),
        "not_measured": ELSEWHERE | _refused(inputs, True),
        "encoder": _encoder(inputs.tokenizer, settings["encoder"]),
    }


def _refused(inputs: Inputs, whole: bool) -> dict[str, str]:
    """Language -> reason why the encoder's measures refused it; if `whole`, measure -> reason why it refused everything."""
    records = where(inputs.records(), definition=NOT_MEASURED, recipe=inputs.needs[0].recipe)
    records = records[(records["language"] == "all") == whole]
    return dict(zip(records["measure" if whole else "language"], records["item"], strict=True))


def _encoder(folder: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Facts about an encoder, from its folder and its entry in the configuration."""
    config, tokenizer, names, source = (
        parse_json(verified(folder / f"{name}.json").read_bytes(), f"{folder}/{name}.json")
        for name in ("config", "tokenizer", "tokenizer_config", "source")
    )
    rotary = any(key.startswith("rope") or key == "global_rope_theta" for key in config)
    relative = config.get("relative_attention", False)
    return {
        "id": settings.get("id") or settings.get("path"),
        "revision": settings.get("revision"),
        "source": settings["source"],
        "parameters": source["parameters"],
        "layers": config["num_hidden_layers"],
        "width": config["hidden_size"],
        "class": next(iter(config.get("architectures") or []), config["model_type"]),
        "tokenizer": tokenizer["model"]["type"],
        "vocabulary": source["vocabulary"],
        "trimmed": bool(settings.get("corpora")) and settings["source"] != "random",
        "positions": "rotary" if rotary else "relative" if relative else config.get("max_position_embeddings"),
        "pad": config.get("pad_token_id"),
        "mask": _text(names.get("mask_token")),
        "prenorm": source.get("prenorm"),
        "causal": settings.get("causal", False),
    }


def _text(token: Any) -> str | None:
    """A token as text; tokenizer_config.json may have it as a dictionary."""
    content: str | None = token["content"] if isinstance(token, dict) else token
    return content


def _rows(sentences: SampledWords) -> Iterable[str]:
    """Yield the id of each sentence, followed by its text."""
    for pair in zip(sentences.texts.tolist(), sentences.words.tolist(), strict=True):
        yield from pair


def _texts(tokens: Path, languages: list[str]) -> Iterable[str]:
    """Yield the id of each parallel sentence, followed by its text, even in languages that were not measured."""
    for language in languages:
        table = parquet.read(tokens / f"{language}.test.parquet", columns=["id", "words"])
        for id, words in zip(table["id"].to_pylist(), table["words"].to_pylist(), strict=True):
            yield f"{language}/{id}"
            yield " ".join(words)


def _sheet(tokens: Path, languages: list[str], vocabulary: Vocabulary) -> Iterable[str]:
    """Yield each language and the subwords of its first sentence, whose digest reveals changes in the tokenizer library."""
    for language in languages:
        subwords = parquet.read(tokens / f"{language}.test.parquet", columns=["subwords"])["subwords"][0].as_py()
        yield language
        yield from (vocabulary.subwords[subword] for subword in subwords)


def _digest(parts: Iterable[str]) -> str:
    """SHA-256 of texts, each followed by a null character, which none contains."""
    state = hashlib.sha256()
    for part in parts:
        state.update(part.encode() + b"\0")
    return state.hexdigest()
