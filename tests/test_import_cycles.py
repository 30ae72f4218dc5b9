"""Import cycles: no modules of the core, and none of the package, import each other in a circle.

A module is a file. What counts as an import of another one:

- Rust: each path that names it or something in it, by `crate::`, `super::`, `self::` or the name of
  a child, in a `use` or in the code. What a module passes on (`pub use`) counts where it is
  defined. Not counted is what a file takes from the `mod.rs` above it: the files of a folder are
  one module that was cut (`impl Store` in five files), and its head declares the types that they
  share. What a head takes from its children counts, and so does what siblings take from each other.
- Python: each import that runs, also in a function; not those for types alone. To import a name
  from a package is to import its `__init__`, unless the name is a module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import commonplace
from tests.test_imports import RUST, imported

Name = tuple[str, ...]
Graph = dict[Name, set[Name]]


# Circles


def reached(graph: Graph, start: Name) -> set[Name]:
    found: set[Name] = set()
    ahead = [start]
    while ahead:
        for name in graph[ahead.pop()] - found:
            found.add(name)
            ahead.append(name)
    return found


def circles(graph: Graph) -> set[frozenset[Name]]:
    """Return the sets of modules that reach each other, without those of one module."""
    behind = {name: reached(graph, name) for name in graph}
    return {
        frozenset(other for other in behind[name] if name in behind[other])
        for name in graph
        if name in behind[name]
    }


# Rust

NOT_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|(?<!\w)b?r(#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\.[^']*|[^'\\])'""",
    re.DOTALL,
)
TESTS = re.compile(
    r"#\[cfg\((?:test|all\(test,[^\]]*\))\)\]\s*(?:pub(?:\([a-z]+\))? )?mod \w+\s*(;|\{)"
)
USE = re.compile(r"\b(pub(?:\([a-z: ]+\))? )?use ([^;]+);")
PATH = re.compile(r"(?<![\w:.])[a-z_]\w*(?:\s*::\s*\w+)+")


def code_of(source: str) -> str:
    """Return the source without comments, texts and unit tests."""
    code = NOT_CODE.sub(" ", source)
    while found := TESTS.search(code):
        end, depth = found.end(), int(found[1] == "{")
        while depth:
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
        code = code[: found.start()] + code[end:]
    return code


def paths_of(tree: str) -> Iterator[str]:
    """Yield the paths of a `use`.

    >>> list(paths_of("crate::a::{self, b::{C, D as E}}"))
    ['crate::a::self', 'crate::a::b::C', 'crate::a::b::D']
    """
    start = depth = 0
    for at, character in enumerate(tree + ","):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and not depth:
            head, brace, inner = tree[start:at].strip().partition("{")
            if brace:
                yield from (head + path for path in paths_of(inner.rpartition("}")[0]))
            elif head:
                yield re.sub(r"\s+as\s+\w+", "", head)
            start = at + 1


def absolute(path: str, own: Name, modules: Mapping[Name, str]) -> Name:
    """Return the path from the root of the crate; empty if it leads out of the crate."""
    first, *rest = names = path.replace(" ", "").replace("\n", "").split("::")
    if first == "crate":
        return tuple(rest)
    if first not in {"self", "super"}:
        return (*own, *names) if (*own, first) in modules else ()
    while names and names[0] in {"self", "super"}:
        own = own[:-1] if names.pop(0) == "super" else own
    return (*own, *names)


def modules_of(crate: Path) -> dict[Name, str]:
    """Return the code of each file by the name of its module; that of the crate is empty."""
    modules = {}
    for path in crate.rglob("*.rs"):
        *parts, last = path.relative_to(crate).with_suffix("").parts
        modules[*parts, *([] if last in {"mod", "lib"} else [last])] = code_of(path.read_text())
    return modules


def rust_graph(crate: Path) -> Graph:
    modules = modules_of(crate)
    passed_on = {
        (*own, target[-1]): target
        for own, code in modules.items()
        for public, tree in USE.findall(code)
        for target in [absolute(path, own, modules) for path in paths_of(tree)]
        if public and target
    }

    def home(target: Name) -> Name:
        """Return the module in which something is defined."""
        for length in range(len(target) + 1):
            origin = passed_on.get(target[:length])
            if origin and target[:length] not in modules and origin != target[:length]:
                return home((*origin, *target[length:]))
        return next(target[:n] for n in range(len(target), -1, -1) if target[:n] in modules)

    graph: Graph = {}
    for own, code in modules.items():
        private = [
            path for public, tree in USE.findall(code) if not public for path in paths_of(tree)
        ]
        named = [*private, *PATH.findall(USE.sub(" ", code))]
        targets = {home(target) for path in named if (target := absolute(path, own, modules))}
        graph[own] = {target for target in targets if own[: len(target)] != target}
    return graph


def test_no_circle_in_the_core() -> None:
    found = {frozenset("::".join(name) for name in circle) for circle in circles(rust_graph(RUST))}
    assert not found, f"circles of imports: {sorted(map(sorted, found))}"


def test_circles_of_rust_are_found(tmp_path: Path) -> None:
    files = {
        "lib.rs": "pub mod a; pub mod b; mod c; mod d;",
        # over a re-export, and by a path in the code
        "a.rs": "use crate::b::{self, Y};\npub struct X;",
        "b/mod.rs": "pub(crate) mod inner; pub use inner::Y; fn y() { inner::y() }",
        "b/inner.rs": "use super::Head; pub struct Y(crate::a::X);",
        # said, but not used: in a comment, a text, a test
        "c.rs": """
            // crate::d::D
            const T: &str = "crate::d::D";
            #[cfg(test)]
            mod tests { use crate::d::D; }
        """,
        "d.rs": "use crate::c::T;",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    graph = rust_graph(tmp_path)
    assert graph["a",] == {("b",), ("b", "inner")}
    assert graph["b", "inner"] == {("a",)}
    assert graph["c",] == set()
    assert circles(graph) == {frozenset({("a",), ("b",), ("b", "inner")})}


# Python


def python_graph(package: Path) -> Graph:
    # the native module imports nothing
    modules: dict[Name, Path] = {(package.name, "_core"): Path("/dev/null")}
    for path in package.rglob("*.py"):
        *parts, last = path.relative_to(package.parent).with_suffix("").parts
        modules[*parts, *([] if last == "__init__" else [last])] = path
    graph: Graph = {}
    for own, path in modules.items():
        names = [tuple(name.split(".")) for name in imported(path, names=True)]
        targets = {name if name in modules else name[:-1] for name in names}
        graph[own] = {target for target in targets if target in modules and target != own}
    return graph


def test_no_circle_in_the_package() -> None:
    graph = python_graph(Path(commonplace.__file__).parent)
    assert len(graph) > 50
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(".".join(name) for name in error.args[1]))


def test_a_circle_of_python_is_found(tmp_path: Path) -> None:
    package = tmp_path / "toy"
    package.mkdir()
    (package / "__init__.py").write_text("from toy.a import x")
    (package / "a.py").write_text("def f():\n    from toy import b")
    (package / "b.py").write_text("from toy import x")
    assert circles(python_graph(package)) == {frozenset({("toy",), ("toy", "a"), ("toy", "b")})}
