"""Search filters: one object for search, grep and recall, or its fields as keyword arguments."""

from __future__ import annotations

import ast
import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

import commonplace
from commonplace import SearchFilter, Store, search_filter
from commonplace.cli.options import FILTER
from commonplace.recall import HybridSearch
from tests.doubles import letter_embedder

# what engines ask a filter is no field of it
FIELDS = {name for name in vars(SearchFilter) if not name.startswith("_")} - {
    "admits",
    "is_open",
    "session_transcripts",
}


@pytest.fixture
def spoken(store: Store) -> Store:
    log = store.transcript("sessions/s")
    for day, role in ((1, "user"), (2, "assistant"), (3, "user")):
        time = f"2026-02-0{day}T12:00:00Z"
        session = f"s{day % 2}"
        log.append({"role": role, "content": "walrus", "timestamp": time, "session": session})
    store.write("facts/a.md", "---\ndate: 2026-02-02\ncategory: animals\n---\n\nwalrus\n")
    store.write("b.md", "walrus\n")
    return store


CASES: list[tuple[dict[str, Any], set[str], set[str]]] = [
    # a filter, the files that search finds, and those that grep finds
    ({}, {"s1", "s2", "s3", "a", "b"}, {"s1", "s2", "s3", "a", "b"}),
    ({"prefix": "facts"}, {"a"}, {"a"}),
    ({"prefix": ["facts/", "b.md"]}, {"a", "b"}, {"a", "b"}),
    ({"source": "note"}, {"a", "b"}, {"a", "b"}),
    ({"source": "message"}, {"s1", "s2", "s3"}, {"s1", "s2", "s3"}),
    ({"role": "user"}, {"s1", "s3"}, {"s1", "s3"}),
    ({"session": "s0"}, {"s2"}, {"s2"}),
    # a section has the date of its note, a line of a note has none
    ({"since": "2026-02-02"}, {"s2", "s3", "a"}, {"s2", "s3"}),
    ({"until": date(2026, 2, 2)}, {"s1"}, {"s1"}),
    ({"role": "user", "since": datetime(2026, 2, 2, tzinfo=UTC)}, {"s3"}, {"s3"}),
]


def name(path: str, line: int) -> str:
    return f"s{line}" if path.startswith("sessions") else path[-4:-3]


@pytest.mark.parametrize(("fields", "searched", "grepped"), CASES, ids=str)
def test_search_grep_and_recall_mean_the_same(
    spoken: Store, fields: dict[str, Any], searched: set[str], grepped: set[str]
) -> None:
    made = SearchFilter(**fields)
    recall = HybridSearch(spoken, letter_embedder(), duplicates=1)
    for given in (fields, {"filter": made}):
        hits = spoken.search("walrus", **given)
        assert {name(hit.path, hit.first_line) for hit in hits} == searched
        matches = spoken.grep("walrus", **given)
        assert {name(match.path, match.line) for match in matches} == grepped
        # no word is found: these are found by their vectors alone, and held to the same filter
        recalled = recall.search("swarulx", **given)
        assert {name(one.hit.path, one.hit.first_line) for one in recalled} == searched
    keep = spoken.predicate(made) or (lambda _: True)
    documents = [
        hit
        for path in ("sessions/s/messages.jsonl", "facts/a.md", "b.md")
        for hit in spoken.documents(path)
    ]
    assert {name(hit.path, hit.first_line) for hit in documents if keep(hit)} == searched


def test_what_grep_cannot_compare(spoken: Store) -> None:
    assert [hit.path for hit in spoken.search("walrus", category="animals")] == ["facts/a.md"]
    with pytest.raises(commonplace.QueryError, match=r"grep reads lines.*use search") as refused:
        spoken.grep("walrus", category="animals")
    assert refused.value.code == "filter"


def test_a_filter_is_a_value() -> None:
    made = SearchFilter(prefix=("a", "b"), since="2026-02-01", role="user", tools=True)
    same = SearchFilter(prefix=["a", "b"], since=1769904000, role="user", tools=True)
    shown = "SearchFilter(prefix=('a', 'b'), since=1769904000.0, role='user', tools=True)"
    assert made == same
    assert hash(made) == hash(same)
    assert made != SearchFilter(prefix=("a", "b"))
    assert repr(made) == shown
    assert eval(shown) == made  # noqa: S307 - what it shows makes it again
    assert repr(SearchFilter()) == "SearchFilter()"
    unset: Any = dict.fromkeys(FIELDS)
    assert SearchFilter(**unset) == SearchFilter()
    with pytest.raises(AttributeError):
        made.role = "assistant"


@pytest.mark.parametrize(
    ("fields", "error", "told"),
    [
        ({"prefix": []}, ValueError, "names no folder"),
        ({"source": "tool"}, ValueError, 'is "note" or "message", not "tool"'),
        ({"since": "yesterweek"}, ValueError, "no date or time; write 2026-02-01"),
        ({"since": float("nan")}, ValueError, "finite number of seconds"),
        ({"since": True}, TypeError, "expected a time, got bool"),
        ({"until": b"2026"}, TypeError, "a time is a datetime"),
        ({"since": 2, "until": 1}, commonplace.QueryError, "swap them"),
        ({"role": ""}, commonplace.QueryError, "leave it out"),
        ({"role": 1}, TypeError, "expected text"),
        ({"rol": "user"}, TypeError, "rol"),
        ({"filter": SearchFilter(), "role": "user"}, TypeError, "put it into the SearchFilter"),
    ],
    ids=str,
)
def test_what_is_no_filter(
    store: Store, fields: dict[str, Any], error: type[Exception], told: str
) -> None:
    for call in (store.search, store.grep, HybridSearch(store).search):
        with pytest.raises(error, match=told):
            call("walrus", **fields)


def test_every_field_is_everywhere(store: Store) -> None:
    assert set(FILTER) == set(FIELDS)
    (typed,) = [
        node
        for node in ast.walk(ast.parse(Path(search_filter.__file__).read_text()))
        if isinstance(node, ast.ClassDef)
    ]
    assert {
        ast.unparse(line.target) for line in typed.body if isinstance(line, ast.AnnAssign)
    } == FIELDS
    for field in FIELDS:
        # a query sets these itself (tests/test_query_language.py)
        told = f"{field} is an argument of the search, beside the query"
        told += f" (on a command line --{field} x)"
        notes = [f"{field}:x was searched as text: {told}"]
        own = field in {"role", "session", "category"}
        if own:
            unknown = 'no session "x"; an id needs 4 or more characters; '
            unknown += "`commonplace sessions` lists their ids"
            notes = [unknown] * (field == "session")
        assert store.search(f"walrus {field}:x").notes == notes
    assert store.search("walrus http://x a:b title:x").notes == []


def test_the_command_line_gives_search_and_grep_one_filter(
    spoken: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    from commonplace import cli  # noqa: PLC0415

    given = ["--json", "--source", "message", "--since", "2026-02-02", "--session", "s0"]
    for command in ("search", "grep"):
        assert cli.run(["--root", str(spoken.root), command, "walrus", *given]) == 0
        out = json.loads(capsys.readouterr().out)
        (found,) = out["hits"] if command == "search" else [out]
        assert found["citation"] == "sessions/s/messages.jsonl#L2"
    places = ["--prefix", "b.md", "--prefix", "facts", "-c"]
    assert cli.run(["--root", str(spoken.root), "grep", "walrus", "sessions", *places]) == 0
    assert capsys.readouterr().out == "5\n"
    assert cli.run(["--root", str(spoken.root), "grep", "walrus", "--category", "x"]) == 2
    assert "only sections have a category; use search" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("exclude", "shown"),
    [
        (["a"], "'a'"),
        (3, "3"),
        ("a", "'a'"),
        ([("a", 1)], "('a', 1)"),
        ([("a", "b", 1)], "('a', 'b'"),
    ],
)
def test_what_excludes_no_lines_is_refused_with_its_form(
    store: Store, exclude: Any, shown: str
) -> None:
    with pytest.raises(commonplace.errors.InvalidArgument) as error:
        store.search("tea", exclude=exclude)
    assert "its first and its last line" in str(error.value)
    assert shown in str(error.value)
