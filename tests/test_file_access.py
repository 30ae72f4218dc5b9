"""File access rule: no Python module opens files below a root; only the core does.

The core opens beneath one handle, through no link, and only plain files. Python opens a file by
its path only where that lies outside of every root, and those places are listed here with the
reason. ruff (TID251) bans the functions, which it can resolve; this test finds methods as well.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import commonplace

PACKAGE = Path(commonplace.__file__).parent
MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def words(text: str) -> set[str]:
    return set(text.split())


# Modules of which whatever is called may open a file by its path.
BANNED_MODULES = words(
    "os.path shutil tempfile glob fileinput linecache dbm shelve sqlite3 subprocess zipfile "
    "tarfile gzip bz2 lzma"
)
BANNED = words(
    "open io.open io.open_code io.FileIO codecs.open numpy.memmap numpy.load numpy.save "
    "numpy.savez numpy.loadtxt numpy.fromfile"
)
# Of `os` whatever is not one of these, which take a descriptor or nothing.
OF_OS = words(
    "PathLike environ fspath getpid fstat pread pwrite lseek SEEK_SET read write ftruncate close "
    "curdir linesep sep urandom "
    "cpu_count get_terminal_size strerror register_at_fork _exit"
)
# Of a path these look at its name only, or (the last three) are known by the number of arguments.
OF_NAMES = words(
    "absolute as_posix as_uri cwd expanduser from_uri full_match group home is_absolute "
    "is_relative_to is_reserved joinpath match relative_to with_name with_segments with_stem "
    "with_suffix copy move replace"
)
METHODS = {"copy_into", "move_into", "tofile"} | {
    name for name in dir(Path) if callable(getattr(Path, name)) and not name.startswith("_")
} - OF_NAMES

# Where files are opened by their path, what is called there, and why it is outside of every root.
ALLOWED = {
    "side_files.py": ({"io.FileIO"}, "wraps descriptors that the core has opened"),
    "store.py": ({"is_dir"}, "looks for the root itself, above which there is none"),
    "doors/mcp/stdio.py": (
        {"os.fdopen", "os.dup", "os.dup2"},
        "standard output, which it takes for its answers",
    ),
    "conflict/tables.py": ({"read_text"}, "rules that are part of the package"),
    "extraction/linear_model.py": (
        {"read_bytes", "gzip.decompress"},
        "weights that are part of the package",
    ),
    "conflict/classifier.py": (
        {"read_bytes", "gzip.decompress"},
        "weights that are part of the package",
    ),
    "engines/memory.py": ({"read_bytes"}, "what the core reads"),
    "engines/archive.py": (
        {"open", "root /"},
        "its index, and the root it was opened with",
    ),
    "engines/archive_check.py": ({"open"}, "the index of the archive, which tantivy opens"),
    "engines/archive_index.py": (
        {"exists", "is_file", "read_text", "rglob", "stat"},
        "the folder of tantivy: its size, files of a version before; what is told of memory",
    ),
    "engines/archive_list.py": ({"os.fsync"}, "a side file that the core has opened"),
    "engines/archive_part.py": (
        {"iterdir", "mkdir", "os.access", "symlink_to", "tempfile.TemporaryDirectory"},
        "the folder of tantivy, which opens its files itself",
    ),
    "extraction/rule_tables.py": ({"read_text"}, "rules that are part of the package"),
    "cli/memory_commands.py": ({"is_file"}, "a conversation named on the command line"),
    "cli/write_commands.py": (
        {"exists", "rmdir"},
        "the root itself, made for an import of nothing",
    ),
    "cli/options.py": ({"read_bytes"}, "a file named on the command line"),
    "doors/capture.py": (
        {"is_file", "is_dir", "stat", "iterdir", "open"},
        "transcripts of other programs",
    ),
    "doors/doctor.py": (
        {"subprocess.run", "subprocess.TimeoutExpired"},
        "runs hooks as other programs do",
    ),
    "doors/install.py": ({"read_text"}, "the skill that is part of the package"),
    "doors/chat_export.py": ({"exists", "write_bytes"}, "a new file for other programs"),
    "doors/okf.py": (
        {"exists", "is_dir", "is_symlink", "iterdir", "mkdir", "read_bytes", "write_bytes"},
        "a new folder for other programs, and one of theirs",
    ),
    "doors/opencode_plugin.py": ({"read_text"}, "a plugin that is part of the package"),
    "doors/plugins.py": (
        {"exists", "iterdir", "mkdir", "write_text"},
        "a new folder for other programs",
    ),
    "doors/project_folder.py": (
        {"is_dir", "is_file", "read_text", "resolve"},
        "the folder in which an agent works, and its repository",
    ),
    "doors/settings_file.py": (
        {
            "exists",
            "glob",
            "is_dir",
            "iterdir",
            "mkdir",
            "os.fchmod",
            "os.fdopen",
            "os.fsync",
            "os.path.realpath",
            "read_bytes",
            "replace",
            "rmdir",
            "stat",
            "tempfile.mkstemp",
            "unlink",
        },
        "settings of other programs",
    ),
    "cli/pager.py": ({"subprocess.Popen", "subprocess.PIPE"}, "runs the pager of the user"),
    "adapters/local.py": ({"open", "is_file", "read_bytes", "resolve"}, "the folder of a model"),
    "memories/four_layers/json_files.py": (
        {"read_bytes", "exists", "mkdir", "write_bytes", "replace"},
        "a folder that is imported from or exported to",
    ),
    "memories/world_and_agents/agent_file.py": (
        {"read_bytes"},
        "the description of an agent, which lies beside its memory",
    ),
    "memories/overview_and_detail/folder.py": ({"os.path.abspath"}, "names a folder, opens none"),
    "web/application.py": ({"read_bytes", "iterdir"}, "static files that are part of the package"),
    "web/translations.py": ({"read_text", "iterdir"}, "texts that are part of the package"),
    "files.py": ({"read_bytes"}, "what the core reads"),
    "longmemeval.py": ({"read_bytes"}, "labelled questions"),
    "service/objects.py": (
        {
            "hardlink_to",
            "is_dir",
            "iterdir",
            "mkdir",
            "os.fdopen",
            "os.fsync",
            "os.open",
            "read_bytes",
            "replace",
            "stat",
            "tempfile.NamedTemporaryFile",
            "tempfile.mkstemp",
            "unlink",
        },
        "what the service keeps itself, beside the roots of its tenants",
    ),
    "service/stores.py": ({"iterdir", "mkdir"}, "the folder that holds the roots of tenants"),
    "service/replica.py": (
        {
            "is_dir",
            "is_file",
            "mkdir",
            "open",
            "os.scandir",
            "os.stat_result",
            "replace",
            "rmdir",
            "stat",
            "unlink",
            "write_bytes",
        },
        "copies of roots, in a folder that this process has made and nobody else knows",
    ),
    "service/replicas.py": (
        {"os.open", "iterdir", "mkdir", "open", "shutil.rmtree", "tempfile.mkdtemp"},
        "the folder that holds the copies",
    ),
    "evaluation.py": (
        {
            "open",
            "stat",
            "mkdir",
            "write_bytes",
            "unlink",
            "tempfile.TemporaryDirectory",
            "gzip.GzipFile",
        },
        "labelled questions, and a root of its own that it fills",
    ),
    "cli/demo/__init__.py": (
        {"tempfile.TemporaryDirectory", "shutil.copytree", "exists", "iterdir"},
        "an example that it unpacks into a new folder",
    ),
    "cli/demo/runner.py": ({"open", "root /"}, "plays the person who edits by hand"),
    "cli/demo/four_layers.py": ({"read_text", "root /"}, "shows what it has exported"),
}


def called(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and name of everything in a module that opens, or looks at, a file by its path."""
    tree = ast.parse(source)
    modules = imported(tree)
    # a function of that name which the module defines itself
    modules |= {node.name: "" for node in tree.body if isinstance(node, ast.FunctionDef)}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    arguments = {id(node.func): len(node.args) for node in calls}
    for node in ast.walk(tree):
        name = None
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            name = modules.get(node.id, node.id)
        elif isinstance(node, ast.Attribute):
            name = full_name(node, modules)
            if name is None and is_of_path(node.attr, arguments.get(id(node))):
                yield node.lineno, node.attr
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and is_root(node.left):
            yield node.lineno, "root /"
        if isinstance(node, ast.expr) and name is not None and is_banned(name):
            yield node.lineno, name


def imported(tree: ast.Module) -> dict[str, str]:
    """Return what the imported names of a module stand for."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                top = one.name.split(".")[0]
                names[one.asname or top] = one.name if one.asname else top
        elif isinstance(node, ast.ImportFrom):
            names |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    return names


def full_name(node: ast.expr, modules: dict[str, str]) -> str | None:
    """Return what an expression of imported names stands for; None when it is something else."""
    if isinstance(node, ast.Name):
        return modules.get(node.id)
    if isinstance(node, ast.Attribute):
        inner = full_name(node.value, modules)
        # a class that was imported: its methods are methods
        is_class = inner is not None and inner.rpartition(".")[2][:1].isupper()
        return None if inner is None or is_class else f"{inner}.{node.attr}"
    return None


def is_banned(name: str) -> bool:
    module, _, function = name.rpartition(".")
    if module == "os" and function != "path":
        return function not in OF_OS and function.islower()
    return name in BANNED or module in BANNED_MODULES


def is_of_path(method: str, arguments: int | None) -> bool:
    """Say whether an attribute is a method of paths that opens, or looks at, a file."""
    # str.replace takes two arguments, and dict.copy none
    return method in METHODS or (method in {"replace", "move", "copy"} and arguments == 1)


def is_root(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "root"


@pytest.mark.parametrize("module", MODULES)
def test_only_listed_modules_open_files(module: str) -> None:
    found = list(called((PACKAGE / module).read_text()))
    allowed, why = ALLOWED.get(module, (set(), ""))
    others = [f"{module}:{line}: {name}" for line, name in found if name not in allowed]
    assert not others, "opened by path; see Files, SideFiles and Transcript"
    # and no more is allowed than there is
    assert allowed <= {name for _, name in found}, why


FORMS = """
import io, os, shutil, numpy as np, os.path as paths
from os import open as opener
from pathlib import Path
open("a")
io.open("a")
os.open("a", 0)
opener("a", 0)
look = os.stat
os.path.exists("a")
paths.getsize("a")
shutil.copy("a", "b")
np.memmap("a")
Path("a").open("rb")
Path.open(file)
self._path.read_bytes()
file.write_text("x")
file.iterdir()
file.rename("b")
file.replace(other)
file.lstat()
file.hardlink_to("b")
[*map(Path.unlink, files)]
store.root / "a.md"
io.FileIO("a")
"""
HARMLESS = """
import os, orjson, commonplace
from dataclasses import replace
from datetime import datetime
def open(): ...
open()
commonplace.open("memory")
os.environ["HOME"], os.getpid(), os.fspath(path), os.pread(3, 1, 0)
text.replace("a", "b")
replace(use, reads=1)
moment.replace(tzinfo=None)
known.copy()
store.move("a.md", "b.md")
path.with_name("b").relative_to(folder)
path / "b"
"""


@pytest.mark.parametrize("form", [line for line in FORMS.splitlines()[4:] if line])
def test_each_form_is_caught(form: str) -> None:
    imports = "\n".join(FORMS.splitlines()[:4])
    assert list(called(f"{imports}\n{form}")), form


def test_what_opens_nothing_is_not_caught() -> None:
    assert list(called(HARMLESS)) == []


def test_the_linter_bans_the_functions_too() -> None:
    project = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text())
    lint = project["tool"]["ruff"]["lint"]
    banned = lint["flake8-tidy-imports"]["banned-api"]
    assert {"os.open", "os.rename", "io.open", "shutil", "tempfile", "os.path"} <= set(banned)
    for module, codes in lint["per-file-ignores"].items():
        if "TID251" in codes and module.startswith("python/"):
            assert module.removeprefix("python/commonplace/") in ALLOWED
