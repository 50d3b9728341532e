"""Metadata of an archive as a Workflow Run RO-Crate: what it holds, which workflow made it, and from which official files."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from crosslens.commands.archive.artefacts import Artefacts, is_table
from crosslens.config.presets import read_yaml
from crosslens.corpora.sources.places import Layout
from crosslens.corpora.sources.registry import Source
from crosslens.jobs.machine import revision, versions

METADATA = "ro-crate-metadata.json"
README, WORKFLOW = "README.md", "Snakefile"
CONTEXT = ["https://w3id.org/ro/crate/1.1/context", {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"}]
SPECIFICATIONS = ["https://w3id.org/ro/crate/1.1", "https://w3id.org/workflowhub/workflow-ro-crate/1.0"]
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate 0.5",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate 0.5",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate 1.0",
}
FORMATS = {
    ".csv": "text/csv", ".html": "text/html", ".json": "application/json", ".md": "text/markdown", ".png": "image/png",
    ".parquet": "application/vnd.apache.parquet", ".svg": "image/svg+xml", ".yaml": "application/yaml",
}  # fmt: skip
Entity = dict[str, Any]


def metadata(
    preset: str, files: Mapping[str, tuple[str, int]], artefacts: Artefacts, sources: Mapping[str, Source], root: Path
) -> Entity:  # fmt: skip
    """Content of ro-crate-metadata.json.

    preset: name of the preset.
    files: name in the archive -> SHA-256 and size in bytes.
    artefacts: artefacts of the preset.
    root: folder of the repository.
    """
    citation = read_yaml(root / "CITATION.cff")
    licence = f"https://spdx.org/licenses/{citation['license']}"
    official = _official_files(artefacts, sources)
    on_the_web = [id for id in official if not id.startswith("#")]
    times = [(record["starttime"], record["endtime"]) for record in artefacts.records.values()]
    first, last = _iso(min(start for start, _ in times)), _iso(max(end for _, end in times))
    items = [f"{artefacts.results}/{place}" for place in artefacts.checksum_files if is_table(place) or place.endswith(".svg")]
    entities = {name: _file(name, digest, size) for name, (digest, size) in files.items()} | official
    entities[README]["about"] = _reference("./")
    entities[WORKFLOW] |= {
        "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
        "name": citation["title"],
        "version": revision() or citation["version"],
        "programmingLanguage": _reference("#snakemake"),
        "license": _reference(licence),
        "creator": _reference("#author"),
    }
    entities[METADATA] = {
        "@type": "CreativeWork",
        "about": _reference("./"),
        "conformsTo": [_reference(id) for id in SPECIFICATIONS],
    }
    entities["./"] = {
        "@type": "Dataset",
        "name": f"Results of crosslens, {preset} preset",
        "description": "Tables, figures and verdicts of a preset, and what they are rebuilt from; no texts and no weights",
        "license": _reference(licence),
        "datePublished": last,
        "conformsTo": [_reference(id) for id in PROFILES],
        "mainEntity": _reference(WORKFLOW),
        "mentions": _reference("#run"),
        "hasPart": [_reference(id) for id in (*files, *on_the_web)],
    }
    entities["#run"] = {
        "@type": "CreateAction",
        "name": f"Run of crosslens, {preset} preset",
        "description": "Snakemake jobs that made the tables, figures and verdicts; their checksum files say how each was made",
        "instrument": _reference(WORKFLOW),
        "startTime": first,
        "endTime": last,
        "object": [_reference(id) for id in ("configuration.json", *official)],
        "result": [_reference(id) for id in items],
    }
    entities["#snakemake"] = {
        "@type": "ComputerLanguage",
        "name": "Snakemake",
        "identifier": _reference("https://w3id.org/workflowhub/workflow-ro-crate#snakemake"),
        "url": _reference("https://snakemake.readthedocs.io"),
        "version": versions(["snakemake"])["snakemake"],
    }
    entities["#author"] = {"@type": "Organization", "name": citation["authors"][0]["name"]}
    entities[licence] = {"@type": "CreativeWork", "name": citation["license"], "url": licence}
    entities |= {id: {"@type": "CreativeWork", "name": name, "version": id.rpartition("/")[2]} for id, name in PROFILES.items()}
    return {"@context": CONTEXT, "@graph": [{"@id": id} | entity for id, entity in entities.items()]}


def _file(name: str, digest: str, size: int) -> Entity:
    """Entity of a file of the archive."""
    kind = FORMATS.get(Path(name).suffix, "text/plain")
    return {"@type": "File", "name": name, "encodingFormat": kind, "sha256": digest, "contentSize": str(size)}


def _official_files(artefacts: Artefacts, sources: Mapping[str, Source]) -> dict[str, Entity]:
    """Entities of the official files that were read: by their address or, if they have none, by source and path."""
    layout = Layout(str(artefacts.results / "sources"), sources)
    entities: dict[str, Entity] = {}
    for place in filter(lambda place: place.startswith("sources/"), artefacts.checksum_files):
        name, path = layout.place(str(artefacts.results / place))
        source = sources[name]
        urls = source.urls_of(path)
        entities[urls[0] if urls else f"#{place}"] = {
            "@type": "File" if urls else "CreativeWork",
            "name": f"{name}/{path}",
            "description": f"{source.title}; licence: {source.licence}",
            "sha256": next(iter(artefacts.checksum_files[place].digests.values())),
        }
    return entities


def _iso(time: float) -> str:
    return datetime.fromtimestamp(int(time), UTC).isoformat()


def _reference(id: str) -> Entity:
    return {"@id": id}
