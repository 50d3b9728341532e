"""The scales of the study: each a profile, the folder of its configuration files, and a folder of results."""

from pathlib import Path
from typing import Any, NamedTuple

import yaml
from yaml.error import MarkedYAMLError

from crosslens.errors import DataError


class Scale(NamedTuple):
    """A scale. profile: what follows --profile; results: its folder, below the root."""

    profile: str
    results: str

    @property
    def name(self) -> str:
        """The last part of its folder of results: demo; results/ itself is that of the published study."""
        return "published" if self.results == "results" else Path(self.results).name


def scales(root: Path) -> list[Scale]:
    """Scales of all profiles below `root`.

    Raises DataError, with file and line, where one of their files is not YAML, or another in `root`, such as an overlay.
    """
    for path in sorted(root.glob("*.yaml")):
        read_yaml(path)
    found = []
    for path in sorted(root.glob("*/config.yaml")):
        profile = read_yaml(path)
        if not {"configfile", "executor"} & profile.keys():
            continue
        settings = [read_yaml(root / file) for file in profile.get("configfile", [])]
        results = [each["results"] for each in settings if "results" in each]
        found.append(Scale(path.parent.name, results[-1] if results else "results"))
    return found


class _Loader(yaml.SafeLoader):
    """Refuses a key that is there twice, of which YAML's own takes the last in silence."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise MarkedYAMLError(None, None, f"key '{key.value}' a second time", key.start_mark)
                seen.add(key.value)
        return node


def read_yaml(path: Path) -> dict[str, Any]:
    """The keys of a YAML file. Raises DataError, `path:line:column: ...`, where it is none or has a key twice."""
    try:
        found = yaml.load(path.read_text("utf-8"), _Loader)
    except (OSError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{path}: expected YAML in UTF-8, found none ({' '.join(str(error).split())}); correct it") from None
    except MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
        since = f" {error.context}" if error.context else ""
        raise DataError(f"{place}: expected YAML, found a fault{since}: {error.problem}; correct it near that line") from None
    except (yaml.YAMLError, ValueError) as error:  # a character that YAML does not have; a date that does not exist
        raise DataError(f"{path}: expected YAML, found a fault: {' '.join(str(error).split())}; correct it") from None
    if not isinstance(found, dict):
        raise DataError(f"{path}: expected keys and values in YAML, found {type(found).__name__}; write `key: value` lines")
    return found
