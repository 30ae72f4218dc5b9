"""Design 001: what is in the context, what is recalled, and that nothing of a session is lost."""

from __future__ import annotations

import inspect
import json
import lzma
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

import commonplace
from commonplace import CompactionFailed, Conflict, NotFound, QueryError, Store
from commonplace.entries.blocks import parse, render
from commonplace.memories import OverviewAndDetail
from commonplace.memories.overview_and_detail.detail import parse_detail, render_detail
from commonplace.memories.overview_and_detail.folder import session_folder
from commonplace.memories.overview_and_detail.merging import merge_texts
from commonplace.memories.overview_and_detail.search import Searched, SearchOptions
from commonplace.memories.overview_and_detail.session import OVERVIEW
from tests.doubles import SECOND, Clock, CountingCore, StoreMachine, SummaryModel

CWD = "/home/alex/app"
FOLDER = "sessions/--home-alex-app--/s1"
START = datetime(2026, 2, 24, 10, 30, tzinfo=UTC)


def remember(store: Store, session: str = "s1", **more: Any) -> OverviewAndDetail:
    """Return the memory of a session; `more` may be what `config.yaml` has below `memory:` (§9)."""
    return OverviewAndDetail(store, session, cwd=CWD, clock=Clock(START + SECOND, SECOND), **more)


def log(store: Store, messages: Sequence[dict[str, Any]], session: str = "s1") -> None:
    """Write a whole log at once, as another program would have done."""
    path = store.root / "sessions" / "--home-alex-app--" / session / "messages.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(message) + "\n" for message in messages)


def talk(turns: int, start: int = 0) -> list[dict[str, Any]]:
    """Return turns of four messages: a question, a call, its result, an answer."""
    messages: list[dict[str, Any]] = []
    for number in range(start, start + turns):
        call = {"type": "tool_use", "id": f"t{number}", "name": "look", "input": {"n": number}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"seen {number}"}
        messages += [
            {"role": "user", "content": f"Please do step {number}. Carefully."},
            {"role": "assistant", "content": [{"type": "text", "text": "Looking."}, call]},
            {"role": "user", "content": [result]},
            {"role": "assistant", "content": f"Step {number} is done."},
        ]
    return messages


# Layout (§3)


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


PIECES = [
    "# Title\n",
    "# Auth design\n",
    "\n",
    "<!--\nMETA:\n- a: 1\n-->\n",
    "```\n",
    "-->",
    "x",
    "\r",
]
contents = st.one_of(
    st.text(st.characters(codec="utf-8")), st.lists(st.sampled_from(PIECES)).map("".join)
)
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


# recall_memory (§4, §5)


def test_recall_answers_in_the_format_of_the_design(store: Store) -> None:
    memory = remember(store)
    log(store, [{"role": "user", "content": f"Line {n}"} for n in range(1, 45)])
    log(store, [{"role": "user", "content": "User asked about auth flow, OAuth2 vs JWT"}])
    detail = store.root / FOLDER / "working-memory" / "detail"
    detail.mkdir(parents=True)
    intro = "# Auth\n\n" + "Text.\n" * 5 + "\n## Decision\n"
    (detail / "auth-design.md").write_text(
        f"{intro}Decided to use JWT tokens for auth with refresh rotation\n"
    )
    assert memory.recall_memory("JWT auth", limit=2) == (
        'Found 2 result(s) for: "JWT auth"\n\n'
        "[1] Source: detail\n"
        "    File: detail/auth-design.md:10\n"
        "    Content: …Decided to use JWT tokens for auth with refresh rotation\n"
        "    Citation: detail/auth-design.md#L10\n\n"
        "[2] Source: messages\n"
        "    Line: 45\n"
        "    Content: User asked about auth flow, OAuth2 vs JWT\n"
        "    Citation: messages.jsonl#L45"
    )


def test_the_tool_is_declared_as_in_the_design() -> None:
    tool = OverviewAndDetail.recall_memory
    parameters = inspect.signature(tool).parameters
    defaults = {name: parameters[name].default for name in ("scope", "limit")}
    assert defaults == {"scope": "all", "limit": 5}
    assert list(parameters)[1:4] == ["query", "scope", "limit"]
    assert inspect.getdoc(tool).startswith(  # type: ignore[union-attr]
        "Search external memory for relevant information.\n\nSearches:\n"
        "- detail/: Summaries and notes you've written\n"
        "- messages.jsonl: Raw conversation history\n\n"
        "Returns: Matching entries with citations."
    )


def test_a_tool_of_ones_own_has_the_configured_limit_too(opened: Store) -> None:
    class Own(OverviewAndDetail):
        def recall_memory(
            self,
            query: str,
            scope: Literal["all", "detail", "messages"] = "all",
            limit: int = 5,
            *,
            all_sessions: bool = False,
        ) -> str:
            found = super().recall_memory(query, scope, limit, all_sessions=all_sessions)
            return f"{limit}: {found}"

    memory = Own(opened, "s1", cwd=CWD, default_limit=3)
    assert memory.recall_memory("tea").startswith("3: Found 0")


def test_nothing_found_is_said(store: Store) -> None:
    memory = remember(store)
    assert memory.recall_memory("anything") == 'Found 0 result(s) for: "anything"'
    assert memory.search(SearchOptions("anything")) == []
    stale = Searched([], ["the answer is stale"])
    assert stale.told("a\nb") == 'Found 0 result(s) for: "a b"\n\nNote: the answer is stale'


@pytest.mark.parametrize(
    ("query", "more"),
    [("", {}), ("x", {"scope": "world"}), ("x", {"limit": 0}), ("x", {"limit": -1})],
)
def test_a_wrong_search_is_an_error(store: Store, query: str, more: dict[str, Any]) -> None:
    with pytest.raises(QueryError):
        remember(store).recall_memory(query, **more)


def test_scope_and_limit(opened: Store) -> None:
    memory = remember(opened, default_limit=3)
    log(opened, [{"role": "user", "content": f"the ferry number {n}"} for n in range(10)])
    memory.write_detail("ferry", "The ferry leaves at nine.")
    assert "Found 1 result(s)" in memory.recall_memory("ferry", scope="detail")
    assert "Source: detail" not in memory.recall_memory("ferry", scope="messages", limit=20)
    assert "Found 3 result(s)" in memory.recall_memory("ferry")
    assert "Found 5 result(s)" in memory.recall_memory("ferry", limit=5)
    signature = inspect.signature(memory.recall_memory)
    assert list(signature.parameters) == ["query", "scope", "limit", "all_sessions"]
    assert signature.parameters["limit"].default == 3
    assert memory.recall_memory.__doc__ == OverviewAndDetail.recall_memory.__doc__
    assert len(memory.search(SearchOptions("ferry"))) == 3
    assert [r.source for r in memory.search(SearchOptions("ferry", 9, ["detail"]))] == ["detail"]
    assert len(memory.search(SearchOptions("ferry", 1))) == 1
    off = remember(opened, enabled=False)
    assert off.recall_memory("ferry").endswith("Note: memory is not enabled")
    assert [m["role"] for m in off.build_context("be kind", 1)] == ["system", "user"]


@pytest.mark.parametrize("limit", [2, 5, 20])
def test_many_weak_messages_do_not_starve_a_note(opened: Store, limit: int) -> None:
    memory = remember(opened)
    log(opened, [{"role": "user", "content": f"token token {n}"} for n in range(1000)])
    filler = "Other matters stand here, of rivers and of trains. " * 20
    memory.write_detail("design", f"{filler}\nThe refresh token is rotated.\n{filler}")
    found = memory.search(SearchOptions("token", limit))
    assert len(found) == limit
    assert "detail" in {result.source for result in found}


@pytest.mark.parametrize("limit", [2, 5, 20])
def test_many_weak_notes_do_not_starve_a_message(opened: Store, limit: int) -> None:
    memory = remember(opened)
    notes = "\n".join(f"## Token {n}\n\ntoken token\n" for n in range(1000))
    memory.write_detail("tokens", notes)
    log(opened, [{"role": "user", "content": "by the way, and at length, about a token " * 9}])
    found = memory.search(SearchOptions("token", limit))
    assert len(found) == limit
    assert "messages" in {result.source for result in found}


def test_a_snippet_is_short_and_around_the_match(opened: Store) -> None:
    memory = remember(opened)
    said = "lorem ipsum\n" * 200 + "the needle is here\n" + "dolor sit\n" * 200
    log(opened, [{"role": "user", "content": said}])
    memory.write_detail("hay", said)
    for result in memory.search(SearchOptions("needle")):
        assert "the needle is here" in result.text
        assert len(result.text) <= 300
        assert "\n" not in result.text


@pytest.mark.parametrize("arrow", ["a --> b", "--> b", "<!-- a --> b", "META: --> b"])
def test_an_arrow_is_not_the_end_of_the_comment(opened: Store, arrow: str) -> None:
    memory = remember(opened)
    filler = "words that go on\n\n" * 40
    memory.write_detail("states", f"{filler}The zebra {arrow} giraffe.\n")
    (found,) = memory.search(SearchOptions("zebra"))
    assert found.text == f"…The zebra {arrow} giraffe."
    assert memory.read_citation(found.citation).startswith("The zebra")
    memory.write_detail("x", "# A --> B\n\nshort text", ["tiger"])
    (found,) = memory.search(SearchOptions("tiger"))
    assert (found.text, found.line_number) == ("short text", 9)


def test_citations_resolve(opened: Store) -> None:
    memory = remember(opened)
    log(
        opened,
        [{"role": "user", "content": "About the pier"}, {"role": "assistant", "content": "x"}],
    )
    memory.write_detail("pier", "## Old\n\nnothing\n\n## Where\n\nThe pier is north. " + "y" * 3000)
    found = memory.search(SearchOptions("pier north", 2))
    cited = {result.source: result.citation for result in found}
    assert cited == {"detail": "detail/pier.md#L15", "messages": "messages.jsonl#L1"}
    assert memory.read_citation("messages.jsonl#L1") == "user: About the pier"
    shown = memory.read_citation("detail/pier.md#L15")
    assert shown.startswith("The pier is north. yyy")
    assert shown.endswith("[… 1020 more characters: start=2000]")
    assert memory.read_citation("detail/pier.md#L15", start=2000).strip() == "y" * 1019
    for wrong in ["messages.jsonl#L3", "detail/pier.md#L99", "detail/none.md#L1"]:
        with pytest.raises(NotFound):
            memory.read_citation(wrong)
    for wrong in ["pier", "facts/user.md#L1", "detail/../../x.md#L1"]:
        with pytest.raises((QueryError, commonplace.Refused)):
            memory.read_citation(wrong)


def test_other_sessions_are_searched_when_asked(opened: Store) -> None:
    one, two = remember(opened), remember(opened, "s2")
    two.write_detail("ferry", "The ferry leaves at nine.")
    log(opened, [{"role": "user", "content": "which ferry?"}], "s2")
    two.write_overview("# Working Memory\n\nferry\n")
    two.branch("other")
    assert one.search(SearchOptions("ferry")) == []
    found = one.search(SearchOptions("ferry"), all_sessions=True)
    elsewhere = "sessions/--home-alex-app--/s2"
    assert {result.citation for result in found} == {
        f"{elsewhere}/working-memory/detail/ferry.md#L9",
        f"{elsewhere}/messages.jsonl#L1",
    }
    for result in found:
        assert "ferry" in one.read_citation(result.citation)
    assert "Found 2 result(s)" in one.recall_memory("ferry", all_sessions=True)


# The context (§7.1)


def test_the_context_is_prompt_overview_and_last_turns(store: Store) -> None:
    memory = remember(store)
    log(store, talk(5))
    context = memory.build_context("Be kind.", turns=2)
    assert context[:2] == [
        {"role": "system", "content": "Be kind."},
        {"role": "system", "content": OVERVIEW},
    ]
    assert context[2:] == talk(2, 3)
    assert memory.build_context("x", turns=0)[2:] == []
    assert memory.build_context("x", turns=99)[2:] == talk(5)
    memory.append({"role": "user", "content": "And now?", "mood": "good"})
    assert memory.build_context("x", 1)[2:] == [{"role": "user", "content": "And now?"}]


def test_an_empty_session_has_a_context(store: Store) -> None:
    assert len(remember(store).build_context("x")) == 2
    assert remember(store).compact() == []


def test_no_result_comes_without_its_call(store: Store) -> None:
    memory = remember(store)
    log(
        store,
        [
            {"role": "tool", "tool_call_id": "lost", "content": "an orphan"},
            *talk(1)[2:],
            {"type": "progress", "data": 1},
            {"role": "user", "content": "OpenAI's shape?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "type": "function"}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "yes"},
        ],
    )
    given = memory.build_context("x")[2:]
    assert given[0] == {"role": "assistant", "content": "Step 0 is done."}
    assert [message["role"] for message in given[1:]] == ["user", "assistant", "tool"]
    assert given[2]["tool_calls"] == [{"id": "c1", "type": "function"}]


def test_no_call_comes_without_its_result(store: Store) -> None:
    """What a session was broken off in must not make the next one fail."""
    memory = remember(store)
    use = {"type": "tool_use", "name": "look", "input": {}}
    text = {"type": "text", "text": "I look."}
    done = {"type": "tool_result", "tool_use_id": "b", "content": "a pier"}
    lost = {"type": "function", "function": {"name": "look", "arguments": "{}"}}
    log(
        store,
        [
            {"role": "user", "content": "Where?"},
            {"role": "assistant", "content": [text, {**use, "id": "a"}, {**use, "id": "b"}]},
            {"role": "user", "content": [done]},
            {"role": "assistant", "content": [{**use, "id": "c"}]},
            {"role": "assistant", "content": None, "tool_calls": [{**lost, "id": "d"}]},
            {"role": "assistant", "content": "One more.", "tool_calls": [{**lost, "id": "e"}]},
            {"role": "assistant", "content": "Odd.", "tool_calls": ["e", {}, None]},
            {"role": "assistant", "content": [{"type": ["tool_use"]}], "tool_calls": "e"},
            {"role": "user", "content": "Still there?"},
        ],
    )
    assert memory.build_context("x")[2:] == [
        {"role": "user", "content": "Where?"},
        {"role": "assistant", "content": [text, {**use, "id": "b"}]},
        {"role": "user", "content": [done]},
        {"role": "assistant", "content": "One more."},
        {"role": "assistant", "content": "Odd."},
        {"role": "assistant", "content": [{"type": ["tool_use"]}]},
        {"role": "user", "content": "Still there?"},
    ]


def test_logs_of_other_agents_make_a_context(store: Store) -> None:
    memory = remember(store)
    text = [{"type": "text", "text": "At the pier."}]
    call = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
    log(
        store,
        [
            {"type": "user", "sessionId": "s", "message": {"role": "user", "content": "Where?"}},
            {"type": "assistant", "message": {"id": "a", "role": "assistant", "content": text}},
            {"type": "response_item", "payload": call},
            {
                "type": "response_item",
                "payload": {"type": "function_call_output", "call_id": "c", "output": "a pier"},
            },
        ],
    )
    given = memory.build_context("x")[2:]
    assert given[:2] == [
        {"role": "user", "content": "Where?"},
        {"role": "assistant", "content": text},
    ]
    assert given[2]["tool_calls"][0]["function"] == {"name": "look", "arguments": "{}"}
    assert given[3] == {"role": "tool", "content": "a pier", "tool_call_id": "c"}


def test_a_context_costs_its_turns_and_not_the_log(opened: Store) -> None:
    log(opened, talk(10_000))
    engine = CountingCore(opened)
    memory = remember(opened)
    assert memory.build_context("x", turns=5)[2:] == talk(5, 9_995)
    assert engine.handed < 200
    engine.handed = 0
    memory.append({"role": "user", "content": "Next"})
    assert len(memory.build_context("x", turns=1)) == 3
    assert engine.handed < 80


def test_a_log_that_is_made_shorter_is_no_trouble(opened: Store) -> None:
    memory = remember(opened)
    log(opened, talk(50))
    memory.build_context("x")
    path = opened.root / FOLDER / "messages.jsonl"
    path.write_text("\n\n" + json.dumps({"role": "user", "content": "Only this"}) + "\n")
    assert memory.build_context("x")[2:] == [{"role": "user", "content": "Only this"}]
    path.unlink()
    assert memory.build_context("x")[2:] == []


# The overview


@pytest.mark.parametrize("count", [-1, -10])
def test_a_number_of_turns_is_not_negative(store: Store, count: int) -> None:
    memory = remember(store)
    memory.append({"role": "user", "content": "Stay in the context."})
    for ask in (lambda: memory.compact(count), lambda: memory.build_context("x", count)):
        with pytest.raises(ValueError, match=f"0 or more, not {count}"):
            ask()
    assert memory.compacted == 0


def test_the_overview_is_edited_by_section(store: Store) -> None:
    memory = remember(store)
    memory.patch_overview("Current Task", "Ship the login.")
    memory.patch_overview("Risks", "None known.")
    done = memory.patch_overview("Current Task", "Ship the logout.")
    assert done["previous"] != done["version"]
    assert (
        memory.read_overview()
        == OVERVIEW.replace("<!-- What are you working on? -->", "Ship the logout.")
        + "\n## Risks\nNone known.\n"
    )
    version = store.version(f"{FOLDER}/working-memory/overview.md")
    memory.write_overview("# Working Memory\n", expected_version=version)
    with pytest.raises(Conflict):
        memory.write_overview("lost", expected_version=version)
    with pytest.raises(Conflict):
        memory.patch_overview("Risks", "lost", expected_version=version)
    version = store.version(f"{FOLDER}/working-memory/overview.md")
    memory.patch_overview("Risks", "One.", expected_version=version)
    assert memory.read_overview() == "# Working Memory\n\n## Risks\nOne.\n"


def test_a_section_is_found_as_a_model_writes_it(store: Store) -> None:
    memory = remember(store)
    memory.patch_overview("## current task", "Ship the login.")
    assert "## Current Task\nShip the login.\n\n## Key" in memory.read_overview()
    store.write(f"{FOLDER}/working-memory/overview.md", "## a\n1\n\n## A\n2\n")
    memory.patch_overview("A", "3")
    assert memory.read_overview() == "## a\n1\n\n## A\n3\n"


@pytest.mark.parametrize(
    ("section", "content"),
    [
        ("Current Task", "```\nopen"),
        ("Current Task", "<!-- open"),
        ("Current Task", "## Another\nx"),
        ("Current Task", "# Above\nx"),
        ("Current Task", "x\n---"),
        ("a\n## b", "x"),
        ("", "x"),
        ("##", "x"),
    ],
)
def test_a_section_does_not_swallow_what_follows(store: Store, section: str, content: str) -> None:
    memory = remember(store)
    with pytest.raises(ValueError, match="a section has a heading"):
        memory.patch_overview(section, content)
    assert memory.read_overview() == OVERVIEW


def test_what_a_person_left_open_is_not_replaced_with_its_section(store: Store) -> None:
    memory = remember(store)
    path = f"{FOLDER}/working-memory/overview.md"
    text = "## Task\n```\ncode\n\n## Decisions\nall of them\n"
    store.write(path, text)
    for section in ("Task", "Decisions"):
        with pytest.raises(ValueError, match="left open"):
            memory.patch_overview(section, "short")
    assert store.read(path) == text


def test_the_overview_stays_short(store: Store) -> None:
    memory = remember(store, overview_limit=500)
    with pytest.raises(ValueError, match="500 characters"):
        memory.write_overview("x" * 501)
    with pytest.raises(ValueError, match="500 characters"):
        memory.patch_overview("Current Task", "x" * 400)
    assert memory.read_overview() == OVERVIEW
    store.write(f"{FOLDER}/working-memory/overview.md", "a line\n" * 100)
    shown = memory.build_context("x")[1]["content"]
    assert shown == "a line\n" * 71 + "[… 204 more characters in overview.md]\n"


# Compaction


def test_a_note_that_a_person_named_is_read(store: Store) -> None:
    memory = remember(store)
    for number in range(3):
        memory.append({"role": "user", "content": f"Question {number}."})
    (name,) = memory.compact(1)
    kept = memory.build_context("x")
    folder = f"{FOLDER}/working-memory/detail"
    store.write(f"{folder}/2026-02-24-summary (copy).md", memory.read_citation(f"{name}#L1"))
    store.write(f"{folder}/c#.md", "# C sharp\n\nzebra\n")
    assert memory.build_context("x") == kept
    assert "- detail/c#.md: 17 B" in memory.context("metadata")
    (found,) = memory.search(SearchOptions("zebra"))
    assert memory.read_citation(found.citation) == "zebra\n"


def test_two_that_compact_at_once_both_end(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, other = remember(store), remember(store)
    for number in range(3):
        memory.append({"role": "user", "content": f"Question {number}."})

    def late(*given: Any, **more: Any) -> str:
        monkeypatch.undo()
        other.compact(1)
        return render_detail(*given, **more)

    monkeypatch.setattr(f"{OverviewAndDetail.__module__}.session.render_detail", late)
    assert memory.compact(1) == ["detail/2026-02-24-summary-2.md"]
    assert memory.compacted == 2


def test_old_turns_leave_the_context_for_a_note(store: Store) -> None:
    memory = remember(store)
    log(store, talk(12))
    raw = store.read(f"{FOLDER}/messages.jsonl")
    assert memory.compact(keep_turns=4) == ["detail/2026-02-24-summary.md"]
    note = memory.read_detail("2026-02-24-summary")
    assert note.meta["lines"] == [1, 32]
    assert note.keywords == ("summary",)
    assert "- Please do step 3. → Step 3 is done. (messages.jsonl#L13)\n" in note.content
    assert note.content.endswith("Made of messages.jsonl#L1 to messages.jsonl#L32.\n")
    assert memory.build_context("x")[2:] == talk(4, 8)
    assert memory.read_citation("messages.jsonl#L13") == "user: Please do step 3. Carefully."
    assert memory.compact(keep_turns=4) == []
    log(store, talk(3, 12))
    assert memory.compact(keep_turns=4) == ["detail/2026-02-24-summary-2.md"]
    assert memory.read_detail("2026-02-24-summary-2").meta["lines"] == [33, 44]
    assert memory.build_context("x")[2:] == talk(4, 11)
    assert memory.compact(keep_turns=0) == ["detail/2026-02-24-summary-3.md"]
    assert memory.build_context("x")[2:] == []
    assert store.read(f"{FOLDER}/messages.jsonl").startswith(raw)
    assert "Source: detail" in memory.recall_memory("step 3")


def test_a_model_writes_the_summary_and_cannot_cite_what_is_not_there(store: Store) -> None:
    memory = remember(store)
    log(store, talk(2))
    model = SummaryModel("- all steps done (messages.jsonl#L5)\n- and more (messages.jsonl#L99)")
    memory.compact(keep_turns=1, model=model)
    content = memory.read_detail("2026-02-24-summary").content
    assert "- all steps done\n- and more\n" in content
    assert "user (messages.jsonl#L1): Please do step 0. Carefully." in model.asked[0][1].text


def test_a_failed_summary_changes_nothing_and_goes_on_later(opened: Store) -> None:
    memory = remember(opened)
    log(opened, talk(120))
    model = SummaryModel("- the first fifty steps went well", "")
    with pytest.raises(CompactionFailed):
        memory.compact(keep_turns=10, model=model)
    # the first summary is whole, and what it stands for has left
    assert memory.compacted == 200
    assert len(memory.build_context("x", turns=99)) == 2 + 4 * 70
    assert len(memory.compact(keep_turns=10)) == 2
    assert memory.compacted == 440
    assert memory.build_context("x", turns=99)[2:] == talk(10, 110)


def test_a_mark_that_a_person_wrote_hides_nothing(store: Store) -> None:
    memory = remember(store)
    log(store, talk(2))
    folder = f"{FOLDER}/working-memory/detail"
    store.write(f"{folder}/x-summary.md", "# X\n\n<!--\nMETA:\n- lines: [1, 999999]\n-->\n")
    store.write(f"{folder}/y-summary.md", "# Y\n\n<!--\nMETA:\n- lines: all\n-->\n")
    assert memory.build_context("x")[2:] == talk(2)


def test_turns_without_a_word_are_compacted(store: Store) -> None:
    memory = remember(store)
    log(store, [*talk(1)[2:3], *talk(1)])
    assert memory.compact(keep_turns=1) == ["detail/2026-02-24-summary.md"]
    content = memory.read_detail("2026-02-24-summary").content
    assert "only tools were at work (messages.jsonl#L1)" in content
    assert memory.compacted == 1


# Commit, branch, merge, context (§10.2)


def test_a_commit_can_be_read_again(store: Store) -> None:
    memory = remember(store)
    memory.write_detail("auth", "JWT.")
    first = memory.commit("Decided on JWT\n\nNext: rotation.")
    assert first["success"]
    assert first["files"] == ["detail/auth.md"]
    memory.write_detail("auth", "PASETO.")
    memory.write_overview("# Working Memory\n")
    second = memory.commit("Changed our mind")
    shown = memory.context("commit", first["commit"])
    assert "Decided on JWT\n\nNext: rotation." in shown
    assert "- detail/auth.md" in shown
    assert memory.context("commit", f"{first['commit']}:detail/auth.md").endswith("JWT.\n")
    told = memory.context("branch")
    assert told.index("Changed our mind") < told.index("Decided on JWT")
    assert "… and 1 more commits: ask with limit=2" in memory.context("branch", limit=1)
    assert memory.branches.commits.find(second["commit"][:6]).parent == first["commit"]
    log_note = store.read(f"{FOLDER}/working-memory/commits.md")
    assert log_note.startswith("# Commits\n\n## Decided on JWT\n<!--\nMETA:\n- id: ")
    for wrong in ["", "zzz", f"{first['commit']}:overview.md"]:
        with pytest.raises(NotFound):
            memory.context("commit", wrong)
    with pytest.raises(ValueError, match="few words"):
        memory.commit(" ")


def test_commits_of_two_at_once_are_two_entries_of_one_log(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, other = (OverviewAndDetail(store, "s1", cwd=CWD, clock=lambda: START) for _ in range(2))
    append, ids = Store.append, []

    def late(*given: Any, **more: Any) -> Any:
        monkeypatch.undo()
        ids.append(other.commit("Halfway.")["commit"])
        return append(*given, **more)

    for _ in range(2):
        monkeypatch.setattr(Store, "append", late)
        ids.append(memory.commit("Halfway.")["commit"])
    assert store.read(f"{FOLDER}/working-memory/commits.md").count("# Commits\n") == 1
    assert [commit.id for commit in memory.branches.log("main")] == ids
    assert [commit.parent for commit in memory.branches.log("main")] == [None, *ids[:-1]]
    assert all("Halfway." in memory.context("commit", one) for one in ids)


def test_a_branch_is_apart_until_it_is_merged(store: Store) -> None:
    memory = remember(store)
    memory.write_overview(OVERVIEW)
    memory.write_detail("auth", "JWT is used.")
    memory.branch("try-oauth", "See whether OAuth is simpler")
    assert memory.branches.active == "try-oauth"
    memory.write_detail("oauth", "OAuth needs a provider.")
    memory.patch_overview("Current Task", "Trying OAuth.")
    assert "oauth.md" in memory.recall_memory("provider")
    memory.commit("OAuth works")
    # another process sees the same branch
    assert remember(store).branches.active == "try-oauth"
    memory.branch("main")
    assert "Found 0" in memory.recall_memory("provider")
    assert memory.read_overview() == OVERVIEW
    memory.patch_overview("Pending Issues", "Logout.")
    done = memory.merge("try-oauth", "OAuth it is")
    assert done["taken"] == ["detail/oauth.md", "overview.md"]
    assert done["conflicts"] == []
    assert "Trying OAuth." in memory.read_overview()
    assert "Logout." in memory.read_overview()
    assert "oauth.md" in memory.recall_memory("provider")
    status = memory.context()
    assert status.startswith("On branch main.\n* main: ")
    assert "- try-oauth: 2 entries" in status
    assert "  for: See whether OAuth is simpler" in status
    assert "Notes: detail/auth.md, detail/oauth.md, overview.md" in status
    assert memory.merge("try-oauth")["taken"] == []


def test_what_both_changed_is_kept_twice(store: Store) -> None:
    memory = remember(store)
    memory.write_detail("plan", "## Database\n\nOpen.\n\n## Cache\n\nOpen.")
    memory.branch("b")
    memory.write_detail("plan", "## Database\n\nSQLite.\n\n## Cache\n\nNone.")
    memory.branch("main")
    memory.write_detail("plan", "## Database\n\nPostgres.\n\n## Cache\n\nOpen.")
    done = memory.merge("b")
    assert done["conflicts"] == ["detail/plan.md: Database"]
    blocks = {block.title: block.text for block in parse(memory.read_detail("plan").content)}
    assert blocks == {
        "Database": "Postgres.", "Database (from branch b)": "SQLite.", "Cache": "None.",
    }  # fmt: skip
    told = memory.context("commit", done["commit"])
    assert "conflict, both kept: detail/plan.md: Database" in told
    before = store.read(f"{FOLDER}/working-memory/detail/plan.md")
    assert memory.merge("b")["conflicts"] == []
    assert store.read(f"{FOLDER}/working-memory/detail/plan.md") == before


def test_deletions_are_merged_and_never_lost(store: Store) -> None:
    memory = remember(store)
    for name in ("gone", "edited-here", "edited-there"):
        memory.write_detail(name, "as it was")
    memory.branch("b")
    inner = memory.branches.workspace()
    store.delete(f"{inner}/detail/gone.md")
    store.delete(f"{inner}/detail/edited-here.md")
    memory.write_detail("edited-there", "edited")
    memory.branch("main")
    memory.write_detail("edited-here", "edited")
    store.delete(f"{FOLDER}/working-memory/detail/edited-there.md")
    done = memory.merge("b")
    assert done["conflicts"] == [
        "detail/edited-here.md: deleted in b, changed in main: kept",
        "detail/edited-there.md: deleted in main, changed in b: taken",
    ]
    assert memory.branches.files("main") == ["detail/edited-here.md", "detail/edited-there.md"]
    assert store.history(f"{FOLDER}/working-memory/detail/gone.md")


def test_a_branch_of_a_branch_merges_into_its_origin(store: Store) -> None:
    memory = remember(store)
    memory.write_detail("a", "one")
    memory.branch("b")
    memory.branch("c")
    memory.write_detail("a", "two")
    assert memory.merge("c")["branch"] == "b"
    assert memory.branches.active == "b"
    assert memory.read_detail("a").content == "two"
    memory.merge("b")
    assert memory.branches.active == "main"
    assert memory.read_detail("a").content == "two"
    memory.branch("b")
    assert memory.merge("main")["branch"] == "b"


@pytest.mark.parametrize("name", ["", "a/b", "..", "Main", "x" * 65, "a b", "-a", "a."])
def test_a_branch_has_a_plain_name(store: Store, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be a branch"):
        remember(store).branch(name)
    with pytest.raises(NotFound):
        remember(store).merge(name)


def test_a_log_that_others_wrote_to_is_a_conflict(store: Store) -> None:
    memory = remember(store)
    first = memory.commit("one", expected_version="absent")
    second = remember(store).branch("b", expected_version=first["version"])
    for deed in (memory.commit, memory.branch, memory.merge):
        with pytest.raises(Conflict):
            deed("b", expected_version=first["version"])
    assert memory.merge("b", expected_version=second["version"])["branch"] == "main"


def test_main_is_not_merged_into_itself(store: Store) -> None:
    with pytest.raises(ValueError, match="into itself"):
        remember(store).merge("main")


def test_a_merge_that_fails_midway_is_repeated(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = remember(store)
    memory.write_detail("one", "## A\n\n1")
    memory.write_detail("two", "## A\n\n1")
    memory.branch("b")
    memory.write_detail("one", "## A\n\nb")
    memory.write_detail("two", "## A\n\nb")
    memory.branch("main")
    memory.write_detail("one", "## A\n\nm")
    update = Store.update

    def fails(store: Store, path: str, change: Any) -> Any:
        if path.endswith("two.md"):
            raise OSError("power cut")
        return update(store, path, change)

    monkeypatch.setattr(Store, "update", fails)
    with pytest.raises(OSError, match="power cut"):
        memory.merge("b")
    monkeypatch.undo()
    memory.merge("b")
    assert memory.read_detail("one").content == "## A\n\nm\n\n## A (from branch b)\n\nb"
    assert memory.read_detail("two").content == "## A\n\nb"


def test_a_branch_that_was_not_finished_begins_anew(store: Store) -> None:
    memory = remember(store)
    memory.write_detail("a", "one")
    store.write(f"{FOLDER}/working-memory/branches/b/detail/half.md", "half")
    memory.branch("b")
    assert memory.branches.files("b") == ["detail/a.md"]


@pytest.mark.parametrize("when", ["files", "_keep"])
def test_a_branch_that_another_opens_meanwhile_is_left_alone(
    store: Store, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    memory, other = remember(store), remember(store)
    memory.write_detail("plan", "The plan.")
    ask = getattr(other.branches, when)

    def late(name: str) -> Any:
        monkeypatch.undo()
        memory.branch("try")
        memory.write_detail("plan", "Another plan.")
        memory.write_detail("idea", "An idea.")
        return ask(name)

    monkeypatch.setattr(other.branches, when, late)
    with pytest.raises(Conflict):
        other.branch("try")
    assert memory.read_detail("plan").content == "Another plan."
    assert memory.read_detail("idea").content == "An idea."
    assert [commit.kind for commit in memory.branches.log("try")] == ["branch"]


def test_the_log_of_commits_may_be_edited(store: Store) -> None:
    memory = remember(store)
    memory.commit("one")
    path = f"{FOLDER}/working-memory/commits.md"
    store.append(path, "\n## A remark by hand\n\nlooks good")
    memory.commit("two")
    assert [commit.message for commit in memory.branches.commits.all()] == ["one", "two"]
    lines = store.read(path).split("\n")
    assert [lines[commit.line - 1] for commit in memory.branches.commits.all()] == [
        "## one",
        "## two",
    ]
    assert memory.branches.commits.all() == remember(store).branches.commits.all()
    store.delete(path)
    assert memory.branches.active == "main"
    assert memory.branches.commits.all() == []
    memory.commit("one")
    store.append(path, "\n```\nan open fence")
    with pytest.raises(commonplace.FormatError, match="fence"):
        memory.commit("three")


def test_the_context_is_looked_at_from_far_and_near(store: Store) -> None:
    memory = remember(store)
    log(store, talk(3))
    memory.write_detail("auth", "JWT.", ["jwt", "auth"])
    assert memory.context("log", limit=2) == (
        "user: seen 2 (messages.jsonl#L11)\n"
        "assistant: Step 2 is done. (messages.jsonl#L12)\n"
        '… earlier: context("log", "10")'
    )
    assert "(messages.jsonl#L10)" in memory.context("log", "10", 1)
    assert memory.context("log", limit=99).startswith("user: Please do step 0. Carefully.")
    assert "detail/auth.md: " in memory.context("metadata")
    assert "created 2026-02-24T10:30:01Z, keywords: jwt, auth" in memory.context("metadata")
    for level, name in [("all", ""), ("log", "x")]:
        with pytest.raises(QueryError):
            memory.context(level, name)  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="1 or more"):
        memory.context(limit=0)
    with pytest.raises(NotFound):
        memory.context("branch", "none")


sections = st.dictionaries(
    st.sampled_from(["A", "B", "C"]), st.text("xyz", min_size=1, max_size=3), max_size=3
)


@given(sections, sections, sections)
def test_a_merge_loses_nothing(
    base: dict[str, str], ours: dict[str, str], theirs: dict[str, str]
) -> None:
    def note(held: dict[str, str]) -> str:
        return "# N\n\n" + "\n".join(render(title, text) for title, text in held.items())

    merged, clashes = merge_texts(note(base), note(ours), note(theirs), "b")
    found = Counter(block.text for block in parse(merged))
    for side, other in ((ours, theirs), (theirs, ours)):
        for title, text in side.items():
            # what one side wrote is there, unless the other took out what was common
            if text != base.get(title):
                assert found[text], (title, text, merged)
            elif other.get(title) == text:
                assert found[text]
    titles = {title for title in "ABC" if ours.get(title) != theirs.get(title)}
    assert {c for c in clashes if c in "ABC"} <= titles
    # once more changes nothing
    assert merge_texts(note(base), merged, note(theirs), "b")[0] == merged or not clashes


@given(contents, contents, contents)
@example("", "```", "0\r# 0")
@example("## A\n\n1\n", "## A\n\n```\nours", "## A\n\n1\n\n## B\n\n2\n")
def test_a_merge_of_any_texts_keeps_both(base: str, ours: str, theirs: str) -> None:
    merged, _ = merge_texts(base, ours, theirs, "b")
    if ours != base and theirs not in {base, ours}:
        held = merged + "".join(block.text for block in parse(merged))
        for line in {*ours.split("\n"), *theirs.split("\n")} - set(base.split("\n")):
            assert line.strip("# >\r") in held


# Any text, and edits by hand

names = st.sampled_from(["auth", "key-decisions"])
said = contents.filter(bool)


class Sessions(StoreMachine):
    """Tools, edits by hand and branches in any order, beside a plain dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = remember(self.store)
        self.notes: dict[str, dict[str, str]] = {"main": {}}
        self.overview = {"main": OVERVIEW}
        self.said: list[str] = []

    @property
    def active(self) -> str:
        return self.memory.branches.active

    @rule(name=names, content=contents)
    def write(self, name: str, content: str) -> None:
        self.memory.write_detail(name, content)
        self.notes[self.active][name] = content

    @rule(name=names, content=contents)
    def edit_by_hand(self, name: str, content: str) -> None:
        path = Path(self.root, self.memory.branches.workspace(), "detail", f"{name}.md")
        path.parent.mkdir(parents=True, exist_ok=True)
        text = f"# By hand\n\n{content}"
        path.write_text(text, encoding="utf-8", newline="")
        self.notes[self.active][name] = parse_detail(name, text).content

    @rule(name=names)
    def delete_by_hand(self, name: str) -> None:
        path = Path(self.root, self.memory.branches.workspace(), "detail", f"{name}.md")
        path.unlink(missing_ok=True)
        self.notes[self.active].pop(name, None)

    @rule(content=contents)
    def write_overview(self, content: str) -> None:
        self.memory.write_overview(content)
        self.overview[self.active] = content

    @rule(text=said)
    def say(self, text: str) -> None:
        self.memory.append({"role": "user", "content": text})
        self.said.append(text)

    @rule(message=contents)
    def commit(self, message: str) -> None:
        if message.strip():
            done = self.memory.commit(message)
            assert self.memory.branches.commits.find(done["commit"]).message == message

    @rule(name=st.sampled_from(["main", "try", "other"]))
    def branch(self, name: str) -> None:
        before = self.active
        self.memory.branch(name)
        self.notes.setdefault(name, dict(self.notes[before]))
        self.overview.setdefault(name, self.overview[before])

    @invariant()
    def files_and_dictionary_agree(self) -> None:
        for name in ("auth", "key-decisions"):
            if name in self.notes[self.active]:
                held = self.notes[self.active][name]
                assert self.memory.read_detail(name).content == held
            else:
                with pytest.raises(NotFound):
                    self.memory.read_detail(name)
        assert self.memory.read_overview() == self.overview[self.active]
        given = self.memory.build_context("x", turns=1000)[2:]
        assert [message["content"] for message in given] == self.said


TestSessions = Sessions.TestCase
TestSessions.settings = settings(max_examples=15, stateful_step_count=15, deadline=None)


# A long session


def replay(store: Store, source: Path) -> OverviewAndDetail:
    """Load a session, compact it, and look that everything can still be found."""
    memory = remember(store)
    memory.messages.load(source)
    raw = store.read(f"{FOLDER}/messages.jsonl")
    everything = memory.build_context("x", turns=10_000)[2:]
    notes = memory.compact(keep_turns=3)
    assert notes
    recent = memory.build_context("x", turns=10_000)[2:]
    assert 0 < len(recent) < len(everything)
    assert recent[-1] == everything[-1]
    assert recent[0]["role"] == "user"
    called: set[str] = set()
    for message in recent:
        for block in message["content"] if isinstance(message["content"], list) else []:
            if block.get("type") == "tool_use":
                called.add(block["id"])
            assert block.get("type") != "tool_result" or block["tool_use_id"] in called
    lines: list[int] = []
    for note in notes:
        first, last = memory.read_detail(note).meta["lines"]
        lines += [first, last]
        content = memory.read_detail(note).content
        assert len(content) < 7000
        for line in {first, last}:
            assert memory.read_citation(f"messages.jsonl#L{line}")
    assert lines == sorted(lines)
    assert store.read(f"{FOLDER}/messages.jsonl") == raw
    return memory


@pytest.mark.shared
def test_a_real_session_is_compacted_and_recalled(
    opened: Store, shared: Path, tmp_path: Path
) -> None:
    packed = shared / "data" / "speed" / "claude-code-sessions.jsonl.xz"
    wanted = b'"sessionId":"1284c080-f9cd-45f8-9942-ff58f5c517e5"'
    source = tmp_path / "session.jsonl"
    with lzma.open(packed) as lines:
        source.write_bytes(b"".join(line for line in lines if wanted in line.replace(b" ", b"")))
    memory = replay(opened, source)
    asked = next(m for m in memory.messages if m.role == "user" and len(m.said) > 40)
    found = memory.search(SearchOptions(asked.said[:200], 10))
    assert f"messages.jsonl#L{asked.line}" in {result.citation for result in found}
    assert {result.source for result in found} == {"detail", "messages"}


def test_a_session_of_our_own_is_compacted_and_recalled(opened: Store, tmp_path: Path) -> None:
    source = tmp_path / "session.jsonl"
    said = talk(60)
    said[80]["content"] = "The staging password rotation broke the Frankfurt deploy."
    source.write_text("".join(json.dumps(message) + "\n" for message in said))
    memory = replay(opened, source)
    found = memory.search(SearchOptions("What broke the deploy in Frankfurt?"))
    assert {result.source for result in found} == {"detail", "messages"}
    assert "messages.jsonl#L81" in {result.citation for result in found}


def test_what_tools_took_and_gave_comes_after_what_was_said(store: Store) -> None:
    memory = OverviewAndDetail(store, "s1", cwd=CWD)
    call = {"type": "tool_use", "id": "1", "name": "bash", "input": {"cmd": "ls walrus"}}
    memory.append({"role": "assistant", "content": [call]})
    memory.append({"role": "user", "content": "Where is the walrus?"})
    found = memory.search(SearchOptions("walrus"))
    assert [(one.source, one.line_number) for one in found] == [("messages", 2), ("messages", 1)]
    assert [one.line_number for one in memory.search(SearchOptions("walrus", limit=1))] == [2]
