"""Turns as callers see them: hits of a search, the filter `exclude`, and the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import commonplace
from commonplace import Store, cli
from commonplace.recall import HybridSearch

PATH = "sessions/web/2026-01-22-5f3a/messages.jsonl"
TALK = [
    {"type": "session", "host": "plain", "id": "s1", "title": "Fix the \x1b[31mclock"},
    {"role": "user", "content": "Why did late orders land on another day?"},
    {"role": "assistant", "content": "Let me look at the orders."},
    {"role": "assistant", "content": "The clock runs in UTC; late orders take local time."},
    {"role": "user", "content": "Thanks, and the label printer?"},
    {"role": "assistant", "content": "It listens on port 9100."},
]


@pytest.fixture
def store(root: Path) -> Store:
    file = root / PATH
    file.parent.mkdir(parents=True)
    lines = [
        line | {"timestamp": f"2026-01-22T08:00:0{at}Z", "session": "s1"}
        for at, line in enumerate(TALK)
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return commonplace.open(root)


def test_a_hit_is_a_turn(store: Store) -> None:
    hit = store.search("late orders")[0]
    assert (hit.source, hit.is_turn, hit.citation) == ("message", True, f"{PATH}#L2-L4")
    assert (hit.first_line, hit.line, hit.end_line) == (2, 4, 4)
    assert hit.prompt == TALK[1]["content"]
    assert hit.text == TALK[3]["content"]
    assert (hit.role, hit.time, hit.session) == ("assistant", "2026-01-22T08:00:03Z", "s1")
    assert (hit.project, hit.title) == ("web", "Fix the [31mclock")


def test_the_score_of_a_turn_is_explained_by_its_prompt_and_its_reply(store: Store) -> None:
    notes = "# Orders\n\nLate orders of the shop.\n"
    store.write("notes/orders.md", notes)
    query = "late orders clock"
    (hit,) = [hit for hit in store.search(query) if hit.citation == f"{PATH}#L2-L4"]
    lines = store.explain(query, hit.citation).splitlines()
    assert lines[0] == f"{PATH}#L2-L4 scores {hit.score:.4f}"
    prompt, reply = (
        next(line for line in lines if part in line) for part in ("prompt, line", "reply, line")
    )
    # the last message of the reply, not the narration before it
    assert prompt.split(", ")[1].startswith("line 2:")
    assert reply.split(", ")[1].startswith("line 4:")
    parts = sorted(float(line.split()[0]) for line in (prompt, reply))
    rescored = [float(line.split()[0]) for line in lines if "session rescoring" in line]
    assert hit.score == pytest.approx(parts[1] + 0.3 * parts[0] + sum(rescored), abs=2e-4)
    # the words of both are explained
    assert sum(line.strip().startswith("0 = clock") for line in lines) == 1
    # one message, a section, and a path written in another way
    assert store.explain(query, f"{PATH}#L2").startswith(f"{PATH}#L2 scores")
    assert store.explain(query, "notes/orders.md#L1-L3").startswith("notes/orders.md#L1 scores")
    assert store.explain(query, f"./{hit.citation}").splitlines() == lines
    section = store.explanation(query, "notes/orders.md#L1", unit="message")
    assert section.citation == "notes/orders.md#L1"
    with pytest.raises(ValueError, match='unit is "turn" or "message"'):
        store.explain(query, "notes/orders.md#L1", unit="day")  # type: ignore[arg-type]


def test_a_report_with_all_words_comes_before_a_short_message_with_half(root: Path) -> None:
    steps = " ".join(f"step{number} done" for number in range(20))
    turns = [
        ("And now?", "The oven door, the oven door."),
        ("Go on.", f"Report: {steps}. The oven door was cold, the hinge was bent."),
    ]
    for number in range(30):
        hinge = ", with the hinge" if number % 5 == 0 else ""
        turns.append((f"What of item{number}?", f"It is item{number}{hinge}."))
    roles = ("user", "assistant")
    lines = [
        {"role": role, "content": text}
        for turn in turns
        for role, text in zip(roles, turn, strict=True)
    ]
    (root / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    store = commonplace.open(root)
    query = "cold oven door hinge"
    best = store.search(query)[0]
    assert best.citation == "a.jsonl#L3-L4"
    explained = store.explanation(query, best.citation)
    assert "for words in its text" in explained.text
    total = sum(word.score for word in explained.words) + explained.session
    assert total == pytest.approx(best.score, abs=1e-4)


def test_by_message_each_is_a_hit(store: Store) -> None:
    hits = store.search("late orders", unit="message")
    assert {(hit.source, hit.is_turn) for hit in hits} == {("message", False)}
    assert {hit.citation for hit in hits} >= {f"{PATH}#L{line}" for line in (2, 3, 4)}
    assert {(hit.prompt, hit.title, hit.project) for hit in hits} == {(None, None, "web")}
    with pytest.raises(ValueError, match='unit is "turn" or "message", not "session"'):
        store.search("late", unit="session")  # type: ignore[call-overload]


def test_lines_in_the_context_are_left_out(store: Store) -> None:
    for of in (PATH, "sessions/web/", "s1"):
        known = [(of, 2, 4)]
        assert [hit.first_line for hit in store.search("late orders", exclude=known)] == [5]
        found = HybridSearch(store).search("late orders", exclude=known)
        assert not {one.hit.first_line for one in found} & {2, 3, 4}
    assert not store.search("late orders", exclude=[("s1", 1, 9)])
    assert commonplace.SearchFilter(exclude=[("s1", 1, 9)]).exclude == (("s1", 1, 9),)


def test_copies_in_the_context_are_left_out(store: Store) -> None:
    fork = [
        {"type": "session", "host": "plain", "id": "s2"},
        {"type": "copy", "of": f"{PATH}#L2-L4", "count": 3},
        {"role": "user", "content": "And which day is right?", "session": "s2"},
        {"type": "copy", "of": f"{PATH}#L5-L6", "count": 2},
        {"role": "assistant", "content": "The day of the shop.", "session": "s2"},
    ]
    path = store.root / "sessions/web/fork/messages.jsonl"
    path.parent.mkdir()
    path.write_text("".join(json.dumps(line) + "\n" for line in fork))

    def found(*known: tuple[str, int, int]) -> set[int]:
        hits = store.search("late orders label printer port", exclude=known)
        return {hit.first_line for hit in hits if hit.path == PATH}

    assert found() == {2, 5}
    assert found(("s2", 1, 2**63 - 1)) == set()
    assert found(("sessions/web/fork/messages.jsonl", 1, 9)) == set()
    assert found(("sessions/web/fork", 1, 9)) == set()
    assert found(("s2", 1, 3)) == {5}
    assert found(("s2", 3, 9)) == {2}


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ([("s1", 0, 3)], commonplace.QueryError),
        ([("s1", 3, 2)], commonplace.QueryError),
        ([("", 1, 2)], commonplace.QueryError),
        ([("s1", 1)], ValueError),
        ([("s1", -1, 2)], ValueError),
        ([("s1", "1", 2)], TypeError),
        (7, TypeError),
    ],
)
def test_what_excludes_nothing(store: Store, given: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        store.search("late", exclude=given)


def test_grep_takes_no_lines_to_exclude(store: Store) -> None:
    with pytest.raises(commonplace.QueryError, match="exclude"):
        store.grep("late", exclude=[("s1", 1, 2)])


def test_the_command_line_shows_turns(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")

    def run(*arguments: str, code: int = 0) -> str:
        capsys.readouterr()
        assert cli.run(["--root", str(store.root), "search", "late orders", *arguments]) == code
        return capsys.readouterr().out

    first, prompt, passage, citation, *_ = run().splitlines()
    assert first.startswith(" 1 2026-01-22 · web · Fix the [31mclock")
    assert prompt == "   > Why did late orders land on another day?"
    assert passage == "   The clock runs in UTC; late orders take local time."
    assert citation == f"   {PATH}#L2-L4"
    assert f"{PATH}#L3 " in run("--unit", "message")
    (hit,) = json.loads(run("--json", "--exclude", f"{PATH}#L5-L9"))["hits"]
    assert (hit["prompt"], hit["citation"]) == (TALK[1]["content"], f"{PATH}#L2-L4")
    run("--exclude", "s1", code=1)
    # a title that the host did not give is the first prompt, and is not shown twice
    log = store.transcript("sessions/web/2026-01-23-s2")
    log.append({"role": "user", "content": "Where did the late parcels go?\nI miss two."})
    log.append({"role": "assistant", "content": "To the depot."})
    log.append({"role": "user", "content": "And the late letters?"})
    shown = run("parcels letters depot", "--session", "2026-01-23-s2")
    assert shown.count("Where did the late parcels go?") == 2
    assert shown.count("> Where") == 1
