"""Presets of the study. Each has a profile, which names its configuration files, and a results folder."""

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from yaml.error import MarkedYAMLError

from crosslens.jobs.bounded import read_text
from crosslens.jobs.errors import DataError


class Preset(NamedTuple):
    """A preset. profile: value of --profile. results: results folder, relative to the repository."""

    profile: str
    results: str

    @property
    def name(self) -> str:
        """Last part of the results folder, such as demo; published for the full study, whose folder is results itself."""
        return "published" if self.results == "results" else Path(self.results).name


def read_presets(root: Path) -> list[Preset]:
    """Presets of all profiles below `root`. Raises DataError, with file and line, if a file named by one is not valid YAML."""
    preset_list = []
    for path in sorted(root.glob("*/config.yaml")):
        try:
            profile = read_yaml(path)
        except DataError:  # another program's file; Snakemake itself refuses an invalid profile
            continue
        if not {"configfile", "executor"} & profile.keys():
            continue
        settings = [read_yaml(root / file) for file in profile.get("configfile", [])]
        results = [content["results"] for content in settings if "results" in content]
        preset_list.append(Preset(path.parent.name, results[-1] if results else "results"))
    return preset_list


def read_yaml(path: Path) -> dict[str, Any]:
    """Content of a YAML or JSON file, which must be a mapping.

    Raises DataError, `path:line:column: ...`, if it is not valid or has a key twice: YAML would silently keep the last value.
    """
    try:
        loader = yaml.CSafeLoader(read_text(path))  # libyaml, seven times as fast as the loader in Python
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
    """Raise MarkedYAMLError if a mapping inside a node has a key twice. checked: ids of nodes to skip, as aliases repeat them."""
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
