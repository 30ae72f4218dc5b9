"""Labels of injected pieces: what a person calls useless is a set that evaluation reads."""

from __future__ import annotations

from pathlib import Path

import pytest

import commonplace
from commonplace import Store
from commonplace.doors.hook_log import HookLog
from commonplace.doors.injection_labels import FILE, InjectionLabels, prompt_of
from commonplace.errors import InvalidArgument
from commonplace.evaluation import evaluate

QUERY = "when does the last ferry leave"


@pytest.fixture
def memory(opened: Store) -> Store:
    opened.write("ferry.md", "The last ferry leaves at nine.\n")
    opened.write("pier.md", "The ferry pier was painted last year.\n")
    log = opened.transcript("sessions/app/2026-02-01-s1")
    log.append({"role": "user", "content": "What is a pier?", "session": "s1"})
    log.append({"role": "assistant", "content": "A place for a ferry.", "session": "s1"})
    return opened


def label_file(store: Store) -> Path:
    return store.root / ".commonplace" / FILE


def test_evaluation_reads_the_labels(memory: Store) -> None:
    labels = InjectionLabels(memory)
    shown = ["ferry.md#L1", "pier.md#L1", "sessions/app/2026-02-01-s1/messages.jsonl#L1-L2"]
    labels.mark("a", QUERY, shown, "pier.md#L1")
    (group,) = labels.groups()
    assert group["queries"] == [
        {"text": QUERY, "relevant": [shown[0], shown[2]], "useless": ["pier.md#L1"]}
    ]
    assert {one["id"] for one in group["documents"]} >= {*shown}
    (scores,) = evaluate([label_file(memory)])
    assert (scores.queries, scores.any_at_1, scores.useless_at_3) == (1, 1, 1)


def test_of_an_injection_that_was_all_useless_only_that_is_measured(memory: Store) -> None:
    labels = InjectionLabels(memory)
    labels.mark("a", QUERY, ["pier.md#L1"], "pier.md#L1")
    (scores,) = evaluate([label_file(memory)])
    assert (scores.queries, scores.mrr, scores.useless_at_3) == (0, 0, 1)


def test_a_label_is_taken_back(memory: Store) -> None:
    labels = InjectionLabels(memory)
    shown = ["ferry.md#L1", "pier.md#L1"]
    labels.mark("a", QUERY, shown, shown[0])
    labels.mark("b", QUERY, shown, shown[0])
    labels.mark("a", QUERY, shown, shown[1])
    assert labels.useless("a") == {*shown}
    labels.mark("a", QUERY, shown, shown[0], useless=False)
    labels.mark("a", QUERY, shown, shown[1], useless=False)
    assert labels.useless("a") == set()
    assert labels.useless("b") == {shown[0]}
    with pytest.raises(InvalidArgument, match="none of the pieces"):
        labels.mark("a", QUERY, shown, "other.md#L1")
    with pytest.raises(InvalidArgument, match="what was asked"):
        labels.mark("a", " ", shown, shown[0])


def test_what_is_forgotten_is_no_label_any_more(memory: Store) -> None:
    labels = InjectionLabels(memory)
    labels.mark("a", QUERY, ["pier.md#L1"], "pier.md#L1")
    with label_file(memory).open("a") as file:
        file.write("torn {")
    assert len(labels.groups()) == 1
    memory.forget("painted last year")
    assert labels.groups() == []


def test_a_secret_in_a_prompt_is_not_kept(memory: Store) -> None:
    labels = InjectionLabels(memory)
    labels.mark("a", "ferry, the password is q7Rt2Lm9x.", ["ferry.md#L1"], "ferry.md#L1")
    assert "q7Rt2Lm9x" not in label_file(memory).read_text()


def test_the_prompt_is_found_in_the_session(memory: Store) -> None:
    log = memory.transcript("sessions/app/2026-02-02-s2")
    for minute, text in ((0, "Hello there."), (7, QUERY), (30, "And on Sunday?")):
        stamp = f"2026-02-02T10:{minute:02}:00Z"
        log.append({"role": "user", "content": text, "session": "s2", "timestamp": stamp})
    entry = {"event": "prompt", "session": "s2", "time": "2026-02-02T10:07:01Z"}
    assert prompt_of(memory, entry) == QUERY
    assert prompt_of(memory, {**entry, "time": "2026-02-02T11:00:00Z"}) == ""
    assert prompt_of(memory, {**entry, "session": "nowhere"}) == ""
    assert prompt_of(memory, {**entry, "event": "session start"}) == ""


def test_the_log_is_read_newest_first_and_by_cursor(opened: Store) -> None:
    log = HookLog(opened)
    for number in range(5):
        log.add(host="h", session=str(number), event="prompt", shown=[], characters=number)
    log.captured(host="h", session="5", event="session end", messages=3, paths=[])
    found = log.newest(10)
    # within one second their order among files is not known
    assert [one["session"] for one in found if "messages" not in one] == list("43210")
    assert sum(one.get("messages", 0) for one in found) == 3
    rest = log.newest(10, found[1]["id"])
    assert rest == found[2:]
    assert [one["id"] for one in log.newest(2)] == [one["id"] for one in found[:2]]
    assert log.newest(10, "gone") == []
    entry = next(one for one in found if one["session"] == "3")
    assert log.entry(entry["id"]) == {name: value for name, value in entry.items() if name != "id"}
    assert log.entry("gone") is None


def test_a_new_process_reads_them(memory: Store) -> None:
    InjectionLabels(memory).mark("a", QUERY, ["ferry.md#L1"], "ferry.md#L1")
    memory.close()
    with commonplace.open(memory.root) as again:
        assert InjectionLabels(again).useless("a") == {"ferry.md#L1"}
