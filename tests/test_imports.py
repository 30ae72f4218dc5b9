"""Import directions between packages, and the cost of `import commonplace`."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import commonplace

PACKAGE = Path(commonplace.__file__).parent

# A module may import what stands in the rows above it, and nothing beside or below.
ROWS = [
    {"_core", "errors", "locks", "typed_dict"},
    {
        "arguments",
        "byte_sizes",
        "calendar_names",
        "chat_spelling",
        "citation",
        "letter_ranges",
        "paths",
        "redaction",
        "timestamps",
    },
    {
        "embedded_text",
        "longmemeval",
        "protocols",
        "records",
        "search_filter",
        "side_files",
        "file_stamp",
        "transcript",
    },
    {"import_ledger", "settings", "tombstones"},
    {"engines"},
    {"files", "progress"},
    {"sessions"},
    {"erasure"},
    {"archival"},
    {"store"},
    {"entries", "extraction", "conflict"},
    {"recall"},
    {"tools"},
    {"memories"},
    {"reflection"},
    {"adapters", "doors", "evaluation"},
    {"service"},
    {"__init__"},
    {"web"},
    {"cli"},
    {"__main__"},
]
# what comes with extras, and loads when it is first needed
FOREIGN = {
    "agent_framework",
    "agents",
    "anthropic",
    "claude_agent_sdk",
    "deepagents",
    "google",
    "langgraph",
    "llama_index",
    "mcp",
    "openai",
    "prometheus_client",
    "pydantic",
    "pydantic_ai",
    "pydantic_ai_harness",
    "sentence_transformers",
    "starlette",
    "tokenizers",
    "urllib3",
    "uvicorn",
}
ONLY_THE_COMMAND_LINE = {"argparse", "rich", "shtab"}


def imported(path: Path, *, names: bool = False) -> set[str]:
    """Return the full names of what a module imports when it runs, not only for types.

    Args:
        path: The file of the module.
        names: Add to each module the name that is imported from it.
    """
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (names or node.module == "commonplace"):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


RUST = Path(__file__).parents[1] / "rust" / "core" / "src"
# A folder of the core may use what stands before it, and nothing behind.
LAYERS = [
    "error",
    "hamming",
    "memory_limit",
    "parallel",
    "simd",
    "sync",
    "text",
    "files",
    "filter",
    "messages",
    "grep",
    "index",
    "catalog",
    "search",
    "store",
]
MODULES = sorted(PACKAGE.rglob("*.py"))


def unit(path: Path) -> str:
    """Return the name of a module in `ROWS`: its own, or that of its folder."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_go_one_way(path: Path) -> None:
    rank = next(number for number, row in enumerate(ROWS) if unit(path) in row)
    below = set().union(*ROWS[:rank])
    own = path.relative_to(PACKAGE).with_suffix("").parts
    for name in imported(path):
        if name == "commonplace":
            assert "__init__" in below
        elif name.startswith("commonplace."):
            part = tuple(name.split(".")[1:])
            assert part[0] in below or beside(own, part), f"{path.name} imports {name}"


def beside(own: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Say whether a module may import another of its folder.

    Folders of `memories` are systems, which know nothing of each other but the registry and
    their base class; only its `__init__` gathers them.
    """
    if other in {("memories", "registry"), ("memories", "forget_tool")}:
        return own[0] == "memories"
    shared = 2 if own[0] == "memories" and own[1:] != ("__init__",) else 1
    return len(own) > 1 and own[:shared] == other[:shared]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_sdk_outside_adapters_and_doors(path: Path) -> None:
    roots = {name.split(".")[0] for name in imported(path)}
    assert not roots & FOREIGN or unit(path) in {"adapters", "doors", "service", "web"}
    if unit(path) != "cli":
        assert not roots & ONLY_THE_COMMAND_LINE


def test_core_uses_what_stands_above_it() -> None:
    found = {path.stem for path in RUST.iterdir() if path.name != "lib.rs"}
    assert found == set(LAYERS)
    for source in RUST.rglob("*.rs"):
        own = source.relative_to(RUST).parts[0].removesuffix(".rs")
        used = re.findall(r"\bcrate::([a-z_]+)", source.read_text())
        above = LAYERS if own == "lib" else LAYERS[: LAYERS.index(own) + 1]
        assert set(used) <= set(above), source


# what stands below the files: a limit of the process, and two error codes
SYSTEM = {"files/platform", "memory_limit.rs", "error.rs"}


def test_only_the_platform_layer_names_a_system() -> None:
    for source in RUST.rglob("*.rs"):
        code = source.read_text().partition("#[cfg(test)]\nmod tests")[0]
        name = source.relative_to(RUST).as_posix()
        if not name.startswith(tuple(SYSTEM)):
            assert not re.search(r"\b(?:rustix|libc|windows_sys|std::os)::", code), name


def test_import_brings_no_command_line_and_no_sdk() -> None:
    program = "import sys, commonplace; print(*{name.split('.')[0] for name in sys.modules})"
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, capture_output=True, check=True, text=True)
    slow = {"asyncio", "numpy", "pydantic"}
    assert not set(run.stdout.split()) & (FOREIGN | ONLY_THE_COMMAND_LINE | slow)
