"""Search of a session (`recall_memory`): format, scope, limits, snippets and citations."""

from __future__ import annotations

import inspect
from typing import Any, Literal

import pytest

import commonplace
from commonplace import NotFound, QueryError, Store
from commonplace.memories import OverviewAndDetail
from commonplace.memories.overview_and_detail.search import SearchOptions, SessionHits
from tests.memories.overview_and_detail.helpers import CWD, FOLDER, log, remember


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
            **more: Any,
        ) -> str:
            found = super().recall_memory(query, scope, limit, **more)
            return f"{limit}: {found}"

    memory = Own(opened, "s1", cwd=CWD, default_limit=3)
    assert memory.recall_memory("tea").startswith("3: Found 0")


def test_nothing_found_is_reported(store: Store) -> None:
    memory = remember(store)
    assert memory.recall_memory("anything") == 'Found 0 result(s) for: "anything"'
    assert memory.search(SearchOptions("anything")) == []
    stale = SessionHits([], ["the answer is stale"])
    assert stale.render("a\nb") == 'Found 0 result(s) for: "a b"\n\nNote: the answer is stale'


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
    assert list(signature.parameters) == [
        *("query", "scope", "limit"),
        *("all_sessions", "mode", "context"),
    ]
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


def test_what_is_in_the_context_is_not_recalled(store: Store) -> None:
    memory = remember(store)
    talk = [("user", "Where is the ferry?"), ("assistant", "The ferry is at pier 7.")]
    log(store, [{"role": role, "content": text} for role, text in [*talk, *talk, *talk]])
    assert {one.line_number for one in memory.search(SearchOptions("ferry", 9))} == set(range(1, 7))
    memory.build_context("You help.", turns=2)
    assert {one.line_number for one in memory.search(SearchOptions("ferry", 9))} == {1, 2}
    # the question just asked is in the context as well
    memory.append({"role": "user", "content": "ferry?"})
    assert {one.line_number for one in memory.search(SearchOptions("ferry", 9))} == {1, 2}
    assert "L7" not in memory.recall_memory("ferry")


def test_what_matches_is_returned_and_its_neighbours_only_as_context(opened: Store) -> None:
    memory = remember(opened)
    texts = ["What is next?", "The hero image is too large.", "Shall I compress it?", "Yes.", "Ok."]
    log(opened, [{"role": "user", "content": text} for text in texts])
    (one,) = memory.search(SearchOptions("hero image"))
    assert (one.citation, one.context) == ("messages.jsonl#L2", ())
    shown = memory.recall_memory("hero image", context=1)
    assert shown.startswith('Found 1 result(s) for: "hero image"')
    assert shown.splitlines()[-2:] == [
        "    Context: L1 user: What is next?",
        "    Context: L3 user: Shall I compress it?",
    ]


def test_a_part_of_a_word_is_found_by_grep(opened: Store) -> None:
    memory = remember(opened)
    log(opened, [{"role": "user", "content": text} for text in ("Hi.", "The authentication?", "x")])
    memory.write_detail("auth", "Uses an authenticator.")
    assert memory.recall_memory("AUTHENTICAT").startswith("Found 0")
    found = memory.recall_memory("AUTHENTICAT", mode="grep", context=1)
    assert found.startswith('Found 2 result(s) for: "AUTHENTICAT"')
    assert "Citation: detail/auth.md#L" in found
    assert found.endswith(
        "    Content: The authentication?\n    Citation: messages.jsonl#L2\n"
        "    Context: L1 user: Hi.\n    Context: L3 user: x"
    )
    assert "Source: messages" not in memory.recall_memory("authenticat", "detail", mode="grep")
    log(opened, [{"role": "user", "content": "authentic authentication"}], session="s2")
    everywhere = memory.recall_memory("authenticat", mode="grep", all_sessions=True)
    assert everywhere.startswith("Found 3")
    memory.build_context("", 9)
    assert "Found 1" in memory.recall_memory("authenticat", mode="grep")
    for bad in ({"mode": "regex"}, {"context": -1}, {"mode": "grep", "context": 21}):
        with pytest.raises(QueryError):
            memory.recall_memory("x", **bad)


def test_a_query_of_two_words_prefers_what_holds_both(opened: Store) -> None:
    memory = remember(opened)
    # billing is in half of the messages, and beside all of them
    texts = ["Look at the billing page.", "It is done."] * 300
    texts[::20] = ["Look at the billing handler."] * 30
    texts[11::60] = ["The handler?"] * 10
    roles = ("user", "assistant")
    log(opened, [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)])
    found = memory.search(SearchOptions("billing handler", 10, ["messages"]))
    assert [one.text for one in found] == ["Look at the billing handler."] * 10
