"""Documents: their examples run, and their names, links and commands exist."""

from __future__ import annotations

import contextlib
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
import unicodedata
from pathlib import Path

import pytest

import commonplace
from commonplace.cli import load_commands
from commonplace.memories import find_system, system_names
from commonplace.tools import tools_of

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = {
    str(path.relative_to(ROOT)): path.read_text()
    for path in [
        *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
        *sorted(DOCS.rglob("*.md")),
    ]
}
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", [page for page, text in PAGES.items() if BLOCK.search(text)])
def test_the_blocks_of_a_page_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python blocks share one namespace; console blocks show what the commands print."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("COMMONPLACE_ROOT", raising=False)
    namespace: dict[str, object] = {}
    exports: list[str] = []
    text = PAGES[page]
    for block in BLOCK.finditer(text):
        # as many line ends as stand before the block, so that a failure names its line
        lines = text[: block.start()].count("\n") + 1
        if block[1] == "python":
            try:
                exec(compile("\n" * lines + block[2], page, "exec"), namespace)  # noqa: S102
            except ModuleNotFoundError as error:
                if not page.startswith("docs/how-to/doors/"):
                    raise
                pytest.skip(f"{error.name} is not installed; it comes with the extra `doors`")
        else:
            run_console(block[2], exports)


def run_console(block: str, exports: list[str]) -> None:
    """Run each `$` line by bash and compare what a terminal shows.

    `…` stands for anything in its line, and alone in a line for any lines.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        # a line that ends in a backslash goes on behind the next prompt
        command, _, expected = part.replace("\\\n> ", "").partition("\n")
        if command.startswith("export "):
            exports.append(command)
        script = "\n".join([*exports, command])
        done = subprocess.run(
            ["/bin/bash", "-c", script],
            env={**os.environ, "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        pattern = "\n".join(
            "(?s:.*)" if line == "…" else re.escape(line).replace("…", ".*")
            for line in expected.rstrip().split("\n")
        )
        assert re.fullmatch(pattern, done.stdout.rstrip()), f"{command}\n{done.stdout}"


@pytest.mark.parametrize("command", load_commands())
def test_every_command_is_on_the_page_of_the_command_line(command: str) -> None:
    assert re.search(rf"`{command}[ `]", PAGES["docs/how-to/command-line.md"])


def test_makefile_and_documents_agree() -> None:
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page, text in PAGES.items():
        assert set(re.findall(r"(?:^|[$`] ?)make ([a-z-]+)", text, re.MULTILINE)) <= targets, page


@pytest.mark.parametrize(("page", "most"), [("README.md", 150), ("ARCHITECTURE.md", 200)])
def test_what_is_read_first_is_short(page: str, most: int) -> None:
    assert len(PAGES[page].splitlines()) <= most


def test_no_page_cites_what_a_reader_does_not_have() -> None:
    for page, text in PAGES.items():
        assert not re.search(r"§|\bdesign 00\d", text), page


# The table of features: system, feature, where it lives, its tests.
TABLE = PAGES["docs/reference/features.md"]
FEATURES = [line.strip("| ").split(" | ") for line in TABLE.splitlines() if line.endswith("` |")]
NAMES = re.compile(r"`([\w.]+)`")
TESTS = {
    name
    for path in (ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"^(?:def )?([Tt]est\w+)(?:\(| =)", path.read_text(), re.MULTILINE)
}


def test_the_table_of_features_is_found() -> None:
    assert len(FEATURES) > 50


@pytest.mark.parametrize("row", FEATURES, ids=lambda row: row[-3])
def test_each_feature_lives_where_the_table_says(row: list[str]) -> None:
    where, tests = NAMES.findall(row[-2]), NAMES.findall(row[-1])
    assert where
    assert tests
    for name in where:
        with contextlib.suppress(AttributeError, ImportError):
            pkgutil.resolve_name(f"commonplace.memories.{name}")
            continue
        pkgutil.resolve_name(f"commonplace.{name}")
    assert set(tests) <= TESTS


@pytest.mark.parametrize("name", system_names())
def test_every_tool_is_in_the_table(name: str) -> None:
    system = find_system(name)
    tools = {f"{system.__name__}.{tool}" for tool in tools_of(system)}
    assert tools <= set(NAMES.findall(TABLE))


def test_every_module_is_in_the_architecture() -> None:
    package = Path(commonplace.__file__).parent
    named = set(re.findall(r"`(\w+)/?`", PAGES["ARCHITECTURE.md"]))
    for path in package.rglob("*.py"):
        unit, *inner = path.relative_to(package).with_suffix("").parts
        # of a system each module is named, of another folder only the folder
        wanted = set(inner) if unit == "memories" else {unit}
        assert wanted - {"__init__", "__main__"} <= named, path


def test_links_lead_somewhere() -> None:
    for page, text in PAGES.items():
        for link in re.findall(r"\]\(([^)#:\s]+)[^):]*\)", text):
            assert (ROOT / page).parent.joinpath(link).exists(), f"{page}: {link}"


def anchors(text: str) -> set[str]:
    """Return the anchors of a page: of its headings, as the site makes them, and of its objects."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    objects = re.findall(r"^::: ([\w.]+)$", prose, re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    plain = (
        unicodedata.normalize("NFKD", heading).encode("ascii", "ignore") for heading in headings
    )
    words = (re.sub(r"[^\w\s-]", "", heading.decode()).strip().lower() for heading in plain)
    return {*objects, *(re.sub(r"[-\s]+", "-", heading) for heading in words)}


def test_links_into_a_page_lead_to_a_heading() -> None:
    for page, text in PAGES.items():
        for path, anchor in re.findall(r"\]\(([^)#:\s]*)#([^)\s]+)\)", text):
            target = os.path.normpath(Path(page).parent / path) if path else page
            assert anchor in anchors(PAGES[target]), f"{page}: {path}#{anchor}"


def test_every_page_is_in_the_site() -> None:
    project = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]
    listed = re.findall(r"[\w/-]+\.md", str(project["nav"]))
    assert sorted(listed) == sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
