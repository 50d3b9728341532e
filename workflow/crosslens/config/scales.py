"""The scales of the study: each a profile, the folder of its configuration files, and a folder of results."""

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from yaml.composer import Composer
from yaml.error import MarkedYAMLError

from crosslens.runs.errors import DataError
from crosslens.storage.bounded import read_text

LONGEST = 10**4  # characters of a value of a YAML file
DEEPEST = 50  # lists and sections of a YAML file inside each other
MOST = 10**5  # values of a YAML file, each as often as aliases repeat it


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

    Raises DataError, with file and line, if one of their files, or another in `root` such as an overlay, is not valid YAML.
    """
    for path in sorted(root.glob("*.yaml")):
        read_yaml(path)
    scale_list = []
    for path in sorted(root.glob("*/config.yaml")):
        profile = read_yaml(path)
        if not {"configfile", "executor"} & profile.keys():
            continue
        settings = [read_yaml(root / file) for file in profile.get("configfile", [])]
        results = [content["results"] for content in settings if "results" in content]
        scale_list.append(Scale(path.parent.name, results[-1] if results else "results"))
    return scale_list


class _Loader(Composer, yaml.CSafeLoader):  # libyaml's events, which take a seventh of the time
    """A loader that rejects repeated keys, of which YAML's own takes the last silently, and files that expand too much."""

    def __init__(self, stream: str) -> None:
        Composer.__init__(self)
        yaml.CSafeLoader.__init__(self, stream)
        self.values = self.depth = 0
        self.sizes: dict[yaml.Node | None, int] = {}  # values that a node stands for, once it is complete

    def compose_node(self, parent: Any, index: Any) -> yaml.Node | None:
        event: Any = self.peek_event()
        mark = event.start_mark
        before, self.values, self.depth = self.values, self.values + 1, self.depth + 1
        if self.depth > DEEPEST:
            raise MarkedYAMLError(None, None, f"more than {DEEPEST} lists and sections inside each other", mark)
        node = super().compose_node(parent, index)
        if isinstance(event, yaml.AliasEvent):
            if node not in self.sizes:
                raise MarkedYAMLError(None, None, "an alias of what it stands in", mark)
            self.values = before + self.sizes[node]
        if isinstance(node, yaml.ScalarNode) and len(node.value) > LONGEST:  # numbers of that length take minutes
            raise MarkedYAMLError(None, None, f"a value of more than {LONGEST:,} characters", mark)
        if self.values > MOST:
            raise MarkedYAMLError(None, None, f"more than {MOST:,} values, counting what aliases repeat", mark)
        self.sizes.setdefault(node, self.values - before)
        self.depth -= 1
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        keys: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in keys:
                    raise MarkedYAMLError(None, None, f"key '{key.value:.80}' a second time", key.start_mark)
                keys.add(key.value)
        return node


def read_yaml(path: Path) -> dict[str, Any]:
    """Content of a YAML or JSON file with keys and values.

    Raises DataError, `path:line:column: ...`, if it is not valid, has a key twice, or expands to too many values.
    """
    try:
        content = _Loader(read_text(path)).get_single_data()
    except DataError:
        raise
    except (OSError, RecursionError) as error:
        raise DataError(f"{path}: expected YAML in UTF-8, found none ({' '.join(str(error).split()):.200}); correct it") from None
    except MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
        context = f", {error.context}" if error.context else ""
        raise DataError(f"{place}: not valid YAML{context}: {error.problem!s:.200}; correct it near that line") from None
    except (yaml.YAMLError, ValueError) as error:  # a character that YAML does not have; a date that does not exist
        raise DataError(f"{path}: not valid YAML: {' '.join(str(error).split()):.200}; correct it") from None
    if not isinstance(content, dict):
        raise DataError(f"{path}: expected keys and values in YAML, found {type(content).__name__}; write `key: value` lines")
    return content


def keys_digest(path: Path) -> str:
    """sha256 of the keys and values of a YAML file, independent of comments and layout. Raises DataError if it is not valid."""
    return hashlib.sha256(repr(read_yaml(path)).encode()).hexdigest()
