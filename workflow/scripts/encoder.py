"""Put an encoder into a Hugging Face folder, its vocabulary trimmed to the corpora where the configuration says so."""

from pathlib import Path

from crosslens import logs
from crosslens.config.encoders import Encoder
from crosslens.encoders.build import build
from pydantic import TypeAdapter


def main(snakemake):
    """Read the rule's object, write the folder."""
    log = logs.start(snakemake.log[0], title=f"encoder {snakemake.wildcards.encoder}")
    settings = TypeAdapter(Encoder).validate_python(snakemake.params.settings)
    hub, texts = ([Path(path) for path in paths] for paths in (snakemake.input.hub, snakemake.params.texts))
    build(settings, texts, Path(snakemake.output[0]), log, hub)


if __name__ == "__main__":
    main(snakemake)  # type: ignore[name-defined]  # noqa: F821
