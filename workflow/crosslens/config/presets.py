"""The presets of the study: each a profile, the folder of its configuration files, and a folder of results."""

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from yaml.error import MarkedYAMLError

from crosslens.jobs.bounded import read_text
from crosslens.jobs.errors import DataError


class Preset(NamedTuple):
    """A preset. profile: what follows --profile; results: its folder, below the root."""

    profile: str
    results: str

    @property
    def name(self) -> str:
        """The last part of its folder of results: demo; results/ itself is that of the full study."""
        return "published" if self.results == "results" else Path(self.results).name


def read_presets(root: Path) -> list[Preset]:
    """Presets of all profiles below `root`. Raises DataError, with file and line, if a file that one names is not valid YAML."""
    preset_list = []
    for path in sorted(root.glob("*/config.yaml")):
        try:
            profile = read_yaml(path)
        except DataError:  # of another program; Snakemake itself refuses a profile that is not valid
            continue
        if not {"configfile", "executor"} & profile.keys():
            continue
        settings = [read_yaml(root / file) for file in profile.get("configfile", [])]
        results = [content["results"] for content in settings if "results" in content]
        preset_list.append(Preset(path.parent.name, results[-1] if results else "results"))
    return preset_list


def read_yaml(path: Path) -> dict[str, Any]:
    """Content of a YAML or JSON file with keys and values.

    Raises DataError, `path:line:column: ...`, if it is not valid or has a key twice, of which YAML takes the last silently.
    """
    try:
        loader = yaml.CSafeLoader(read_text(path))  # libyaml, which takes a seventh of the time
        node = loader.get_single_node()
        _expect_each_key_once(node, set())
        content = loader.construct_document(node) if node else None
    except OSError as error:
        raise DataError(f"{path}: expected YAML, found none ({error.strerror}); correct the path") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else path
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        reading = ", ".join(filter(None, ("not valid YAML", getattr(error, "context", None))))
        raise DataError(f"{place}: {reading}: {problem}; correct it near that line") from None
    if not isinstance(content, dict):
        raise DataError(f"{path}: expected keys and values in YAML, found {type(content).__name__}; write `key: value` lines")
    return content


def _expect_each_key_once(node: Any, checked: set[int]) -> None:
    """Raise MarkedYAMLError where a mapping inside a node has a key twice. checked: nodes that an alias may repeat."""
    if not isinstance(node, yaml.CollectionNode) or id(node) in checked:
        return
    checked.add(id(node))
    keys = set()
    for part in node.value:
        key, value = part if isinstance(node, yaml.MappingNode) else (None, part)
        if isinstance(key, yaml.ScalarNode) and key.value in keys:
            raise MarkedYAMLError(problem=f"key '{key.value}' a second time", problem_mark=key.start_mark)
        keys.add(key.value if isinstance(key, yaml.ScalarNode) else id(part))
        _expect_each_key_once(value, checked)


def keys_digest(path: Path) -> str:
    """sha256 of the keys and values of a YAML file, independent of comments and layout. Raises DataError if it is not valid."""
    return hashlib.sha256(repr(read_yaml(path)).encode()).hexdigest()
