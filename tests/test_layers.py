"""The library's rooms: in layers, each with one thought, without a circle."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

WORKFLOW = Path(__file__).parents[1] / "workflow"
LAYERS = (  # from the ground up: a room imports from those of earlier lines and from itself
    ("crosslens.jobs",),
    ("synthetic",),
    ("crosslens.config",),
    ("crosslens.numerics",),
    ("crosslens.corpora",),
    ("crosslens.encoding",),
    ("crosslens.training",),
    ("crosslens.measures",),
    ("crosslens.api",),
    ("crosslens.reports",),
    ("crosslens.papers",),
    ("crosslens.graph",),
    ("crosslens.commands",),
)
ROOMS = 15  # at most


def modules() -> dict[str, Path]:
    """Files of the packages by the dotted name of the module."""
    paths = [path for package in ("crosslens", "synthetic") for path in (WORKFLOW / package).rglob("*.py")]
    return {".".join(path.relative_to(WORKFLOW).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


MODULES = modules()


def imports(path: Path) -> Iterator[str]:
    """Modules of the packages that a file imports anywhere, also late or for type checking."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names] + [str(node.module)]
        else:
            continue
        yield from (name for name in names if name in MODULES and name not in ("crosslens", "synthetic"))


def room(module: str) -> str:
    """The room of a module: crosslens.training, synthetic."""
    return ".".join(module.split(".")[: 2 if module.startswith("crosslens.") else 1])


def test_no_module_imports_itself_through_others() -> None:
    graph = defaultdict(set, {name: set(imports(path)) - {name} for name, path in MODULES.items()})
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_every_room_has_its_layer() -> None:
    rooms = {room(name) for name in MODULES} - {"crosslens"}
    assert rooms == {name for layer in LAYERS for name in layer}
    assert len([name for name in rooms if name.startswith("crosslens.")]) <= ROOMS
    assert [path.name for path in (WORKFLOW / "crosslens").glob("[!_]*") if path.is_file()] == []


def test_rooms_import_from_lower_layers_alone() -> None:
    """The synthetic corpus lies below what reads it, and knows nothing of the library."""
    height = {name: number for number, layer in enumerate(LAYERS) for name in layer} | {"crosslens": 0}
    wrong = [
        f"{module} imports {other}"
        for module, path in MODULES.items()
        for other in imports(path)
        if room(other) != room(module) and (height[room(other)] >= height[room(module)] or room(module) == "synthetic")
    ]
    assert not wrong
