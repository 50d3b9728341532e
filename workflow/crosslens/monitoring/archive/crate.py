"""Metadata of an archive as a Workflow Run RO-Crate: what it holds, which workflow made it, and from which official files."""

import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from crosslens.config.scales import read_yaml
from crosslens.monitoring.archive.contents import Artefacts, tables
from crosslens.runs.machine import revision, versions
from crosslens.sources.layout import Layout
from crosslens.sources.registry import Source

METADATA = "ro-crate-metadata.json"
README, WORKFLOW = "README.md", "Snakefile"
CONTEXT = ["https://w3id.org/ro/crate/1.1/context", {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"}]
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate 0.5",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate 0.5",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate 1.0",
}
SPECIFICATIONS = ["https://w3id.org/ro/crate/1.1", "https://w3id.org/workflowhub/workflow-ro-crate/1.0"]
FORMATS = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".yaml": "application/yaml",
}
Entity = dict[str, Any]


def metadata(
    scale: str, files: Mapping[str, tuple[str, int]], artefacts: Artefacts, sources: Mapping[str, Source], root: Path
) -> Entity:  # fmt: skip
    """Content of ro-crate-metadata.json.

    scale: name of the scale. files: name in the archive -> sha256 and bytes. artefacts: of the scale. root: of the repository.
    """
    citation = read_yaml(root / "CITATION.cff")
    name, author = _user(), _reference("#author")
    licence = f"https://spdx.org/licenses/{citation['license']}"
    figures = [place for place in artefacts.seals if place.endswith(".svg")]
    items = [f"{artefacts.results}/{place}" for place in (*tables(artefacts.seals), *figures)]
    official = _official_files(artefacts, sources)
    first, last = _times(artefacts)
    result: Entity = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"Results of crosslens, {scale} scale",
        "description": "Tables, figures and verdicts of a scale, and what they are rebuilt from; no texts and no weights",
        "license": _reference(licence),
        "datePublished": last,
        "conformsTo": [_reference(profile) for profile in PROFILES],
        "mainEntity": _reference(WORKFLOW),
        "mentions": _reference("#run"),
        "hasPart": [_reference(name) for name in files] + [_reference(file["@id"]) for file in official if _is_web(file)],
    }
    further: dict[str, Entity] = {README: {"about": _reference("./")}}
    further[WORKFLOW] = {
        "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
        "name": citation["title"],
        "version": revision() or citation["version"],
        "programmingLanguage": _reference("#snakemake"),
        "license": _reference(licence),
        "creator": author,
    }
    run = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"Run of crosslens, {scale} scale",
        "description": "Snakemake jobs that made the tables, figures and verdicts; how each was made is in the seal beside it",
        "instrument": _reference(WORKFLOW),
        **({"agent": _reference("#agent")} if name else {}),
        "startTime": first,
        "endTime": last,
        "object": [_reference("configuration.yaml"), *(_reference(file["@id"]) for file in official)],
        "result": [_reference(name) for name in items],
    }
    graph = [
        {
            "@id": METADATA,
            "@type": "CreativeWork",
            "about": _reference("./"),
            "conformsTo": list(map(_reference, SPECIFICATIONS)),
        },
        result,
        *(_file(name, digest, size) | further.get(name, {}) for name, (digest, size) in files.items()),
        *official,
        run,
        {
            "@id": "#snakemake",
            "@type": "ComputerLanguage",
            "name": "Snakemake",
            "identifier": _reference("https://w3id.org/workflowhub/workflow-ro-crate#snakemake"),
            "url": _reference("https://snakemake.readthedocs.io"),
            "version": versions(["snakemake"])["snakemake"],
        },
        {"@id": "#author", "@type": "Organization", "name": citation["authors"][0]["name"]},
        *([{"@id": "#agent", "@type": "Person", "name": name}] if name else []),
        {"@id": licence, "@type": "CreativeWork", "name": citation["license"], "url": licence},
        *({"@id": id, "@type": "CreativeWork", "name": name, "version": id.rpartition("/")[2]} for id, name in PROFILES.items()),
    ]
    return {"@context": CONTEXT, "@graph": graph}


def _file(name: str, digest: str, size: int) -> Entity:
    """Entity of a file of the archive."""
    kind = FORMATS.get(Path(name).suffix, "text/plain")
    return {"@id": name, "@type": "File", "name": name, "encodingFormat": kind, "sha256": digest, "contentSize": str(size)}


def _official_files(artefacts: Artefacts, sources: Mapping[str, Source]) -> list[Entity]:
    """Entities of the official files that were read: by their address or, where they have none, by source and path."""
    layout = Layout(str(artefacts.results / "sources"), sources)
    entities: dict[str, Entity] = {}
    for place in artefacts.seals:
        if place.startswith("sources/"):
            name, path = layout.place(str(artefacts.results / place))
            source = sources[name]
            urls = source.urls_of(path)
            id = urls[0] if urls else f"#{place}"
            digest = next(iter(artefacts.seals[place].digests.values()))
            entities[id] = {
                "@id": id,
                "@type": "File" if urls else "CreativeWork",
                "name": f"{name}/{path}",
                "description": f"{source.title}; licence: {source.licence}",
                "sha256": digest,
            }
    return [*entities.values()]


def _is_web(file: Entity) -> bool:
    return not file["@id"].startswith("#")


def _times(artefacts: Artefacts) -> tuple[str, str]:
    """Start of the first job and end of the last one, in ISO 8601."""
    times = [(record["starttime"], record["endtime"]) for record in artefacts.records.values()]
    first, last = min(time for time, _ in times), max(time for _, time in times)
    return _iso(first), _iso(last)


def _iso(time: float) -> str:
    return datetime.fromtimestamp(int(time), UTC).isoformat()


def _user() -> str:
    """Name of the user, as git has it; "" where it has none."""
    try:
        return subprocess.run(["git", "config", "user.name"], capture_output=True, text=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def _reference(id: str) -> Entity:
    return {"@id": id}
