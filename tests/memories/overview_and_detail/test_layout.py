"""Layout of a session: its folder, the overview template and the detail notes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import commonplace
from commonplace import Conflict, Store
from commonplace.memories import OverviewAndDetail
from commonplace.memories.overview_and_detail.detail import parse_detail, render_detail
from commonplace.memories.overview_and_detail.folder import session_folder
from commonplace.memories.overview_and_detail.session import OVERVIEW
from tests.memories.overview_and_detail.helpers import CWD, FOLDER, contents, remember


def test_a_session_has_its_folder(store: Store) -> None:
    memory = remember(store)
    memory.append({"role": "user", "content": "Hi"})
    memory.write_overview("# Working Memory\n")
    memory.write_detail("auth-design", "JWT.")
    memory.commit("first")
    assert [entry.path for entry in store.list()] == [
        f"{FOLDER}/messages.jsonl",
        f"{FOLDER}/working-memory/commits.md",
        f"{FOLDER}/working-memory/detail/auth-design.md",
        f"{FOLDER}/working-memory/overview.md",
    ]


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        ("/home/alex/app", "--home-alex-app--"),
        ("/home/alex/app/", "--home-alex-app--"),
        ("/home/./alex/x/../app", "--home-alex-app--"),
        ("/srv", "--srv--"),
        ("/数据/项目", "--数据-项目--"),
    ],
)
def test_a_folder_is_called_by_its_path(cwd: str, name: str) -> None:
    assert session_folder(cwd, "s1") == f"sessions/{name}/s1"


def test_the_current_folder_is_the_default(
    store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert OverviewAndDetail(store, "s1").folder == session_folder(tmp_path, "s1")


parts = st.text(st.sampled_from("ab-_. ~:$é中\u0301\u200b"), min_size=1, max_size=4)
ways = st.lists(parts, max_size=3).map(lambda names: "/" + "/".join(names))


@settings(deadline=None)
@given(st.lists(ways, min_size=2, max_size=6))
@example(["/my/app", "/my-app", "/", "/root", "/" + "a" * 300, "/" + "b" * 300, "/-x", "/x-"])
@example(["/a b", "/a:b", "/a-b", "/a/b", "/e\u0301", "/é"])
def test_no_two_working_folders_share_sessions(
    tmp_path_factory: pytest.TempPathFactory, cwds: list[str]
) -> None:
    normal = {str(Path(cwd).resolve()) if ".." in cwd else cwd.rstrip("/") or "/" for cwd in cwds}
    exact = {"/" + "/".join(p for p in cwd.split("/") if p not in {"", "."}) for cwd in normal}
    exact = {cwd for cwd in exact if ".." not in cwd.split("/")}
    folders = {session_folder(cwd, "s1") for cwd in exact}
    assert len(folders) == len(exact)
    with commonplace.open(tmp_path_factory.getbasetemp() / "names", watch=False) as store:
        for folder in folders:
            store.write(f"{folder}/x.md", "x")


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "a\n", "-x", "a."])
def test_a_session_id_is_a_plain_name(name: str) -> None:
    with pytest.raises(ValueError, match="session id"):
        session_folder(CWD, name)


def test_the_overview_begins_as_the_template(store: Store) -> None:
    assert remember(store).read_overview() == (
        "# Working Memory\n\n"
        "## Current Task\n<!-- What are you working on? -->\n\n"
        "## Key Decisions\n<!-- Important decisions made and why -->\n\n"
        "## Known Context\n<!-- Project structure, tech stack, key files -->\n\n"
        "## Pending Issues\n<!-- Blockers or open questions -->\n\n"
        "## Recent Operations\n<!-- Quick summary of recent actions -->\n"
    )


def test_the_template_is_that_of_the_design(shared: Path) -> None:
    (design,) = (shared / "seeds").glob("001*")
    assert f"```markdown\n{OVERVIEW}```\n" in design.read_text(encoding="utf-8")


# Notes


def test_a_note_has_title_and_comment(store: Store) -> None:
    memory = remember(store)
    done = memory.write_detail("auth-design", "## Decision\n\nJWT.", ["authentication", "jwt"])
    assert done["success"]
    assert done["citation"] == "detail/auth-design.md#L1"
    assert done["version"] == store.version(done["path"])
    assert store.read(f"{FOLDER}/working-memory/detail/auth-design.md") == (
        "# Auth design\n\n<!--\nMETA:\n"
        '- created: "2026-02-24T10:30:01Z"\n- keywords: ["authentication", "jwt"]\n-->\n\n'
        "## Decision\n\nJWT.\n"
    ).replace('", "', '","')
    again = memory.write_detail("auth-design.md", "PASETO.", expected_version=done["version"])
    assert memory.read_detail("auth-design").created == "2026-02-24T10:30:01Z"
    assert store.read(again["path"], done["version"]).endswith("JWT.\n")
    with pytest.raises(Conflict):
        memory.write_detail("auth-design", "lost", expected_version=done["version"])
    assert memory.read_detail("detail/auth-design.md").content == "PASETO."


def test_a_note_of_the_appendix_is_read(store: Store) -> None:
    memory = remember(store)
    store.write(
        f"{FOLDER}/working-memory/detail/auth.md",
        "# Authentication Design\n\n<!--\nMETA:\ncreated: 2024-01-15T10:30:00Z\n"
        'keywords: ["authentication", "jwt"]\n-->\n\n## Decision\n\nUsing tokens.\n',
    )
    note = memory.read_detail("auth")
    assert (note.created, note.keywords) == ("2024-01-15T10:30:00Z", ("authentication", "jwt"))
    assert note.content == "# Authentication Design\n\n## Decision\n\nUsing tokens."
    assert "detail/auth.md#L9" in memory.recall_memory("jwt")
    store.write(f"{FOLDER}/working-memory/detail/bare.md", "only text\n")
    assert memory.read_detail("bare").content == "only text\n"


words = st.lists(st.text(st.characters(codec="utf-8"), min_size=1))


@given(contents, words)
@example("# Auth design\nx", [])
@example("# T\n<!--\nMETA:\n- a: 1\n-->\n", ["-->"])
def test_any_note_comes_back(content: str, keywords: list[str]) -> None:
    note = parse_detail("auth-design", render_detail("auth-design", content, "now", keywords))
    assert note.content == content
    assert note.created == "now"
    assert note.keywords == tuple(keywords)


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".x", "x\ny"])
def test_a_note_has_the_name_of_one_file(store: Store, name: str) -> None:
    with pytest.raises(ValueError, match="has a name"):
        remember(store).write_detail(name, "x")
