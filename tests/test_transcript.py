"""Transcripts: durable appends, every known format, and reported bad lines."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import orjson
import pytest

import commonplace
from commonplace import Store

PLAIN = [
    {"role": "user", "content": "Where is the ferry?", "timestamp": "2026-02-01T08:00:00Z"},
    {"role": "assistant", "content": "At the pier.", "timestamp": "2026-02-01T08:00:05Z"},
]
CLAUDE_CODE = [
    {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
    {
        "type": "user",
        "uuid": "1",
        "sessionId": "s",
        "timestamp": "2026-02-01T08:00:00Z",
        "message": {"role": "user", "content": "Where is the ferry?"},
    },
    {
        "type": "assistant",
        "uuid": "2",
        "sessionId": "s",
        "timestamp": "2026-02-01T08:00:05Z",
        "message": {
            "id": "a",
            "role": "assistant",
            "content": [
                {"type": "text", "text": "At the pier."},
                {"type": "tool_use", "id": "t", "name": "look", "input": {"where": "harbour"}},
            ],
        },
    },
]
CODEX = [
    {"timestamp": "2026-02-01T07:59:00Z", "type": "session_meta", "payload": {"id": "s"}},
    {
        "timestamp": "2026-02-01T08:00:00Z",
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "Where is the ferry?"}],
        },
    },
    {
        "timestamp": "2026-02-01T08:00:05Z",
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "At the pier."}],
        },
    },
]
PI = [
    {"type": "session", "id": "s", "timestamp": "2026-02-01T07:59:00Z"},
    *(
        {"type": "message", "id": str(number), "timestamp": line["timestamp"], "message": line}
        for number, line in enumerate(PLAIN)
    ),
]
OPENAI = [
    {"role": "user", "content": "Where is the ferry?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "t", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "t", "content": "harbour"},
    {"role": "assistant", "content": "At the pier."},
]


def test_append_and_read_by_line(store: Store, root: Path) -> None:
    log = store.transcript("sessions/s1")
    assert log.path == "sessions/s1/messages.jsonl"
    assert log.append({"role": "user", "content": "Call me 阿莉 🙂\nplease", "name": "Li"}) == 1
    assert log.append({"role": "assistant", "content": [{"type": "text", "text": "Sure."}]}) == 2
    first, second = log
    assert (first.line, first.role, first.name) == (1, "user", "Li")
    assert first.text == "Call me 阿莉 🙂\nplease"
    assert second.text == "Sure."
    assert log[2].text == "Sure."
    assert first.timestamp
    assert len((root / log.path).read_bytes().splitlines()) == 2


def test_append_keeps_what_it_is_given(store: Store, root: Path) -> None:
    log = store.transcript("s.jsonl")
    message = {"role": "user", "content": "x", "timestamp": "2026-01-01T00:00:00Z", "mood": [1, 2]}
    log.append(message)
    assert json.loads((root / "s.jsonl").read_text()) == message


def test_append_refuses_what_is_no_message(store: Store) -> None:
    log = store.transcript("s")
    with pytest.raises(ValueError, match="role"):
        log.append({"content": "x"})
    with pytest.raises((ValueError, TypeError)):
        log.append({"role": "user", "content": object()})
    assert store.version(log.path) is None


def test_a_line_that_is_not_there(store: Store) -> None:
    log = store.transcript("s")
    with pytest.raises(commonplace.NotFound):
        log[1]
    log.append({"role": "user", "content": "x"})
    for line in (0, 2):
        with pytest.raises(commonplace.CommonplaceError):
            log[line]


def test_bad_lines_are_counted_and_good_ones_served(store: Store, root: Path) -> None:
    log = store.transcript("s")
    log.append({"role": "user", "content": "walrus one"})
    with (root / log.path).open("ab") as file:
        file.write(b'not json\n{"role": "user", "content": "walrus two"}\n{"role": "user", "cont')
    scan = store.grep("walrus")
    assert [match.line for match in scan] == [1, 3]
    assert scan.bad_line_count >= 1
    assert [hit.line for hit in store.search("walrus")] == [1, 3]
    assert [message.line for message in log] == [1, 3]


def test_messages_are_found_beside_notes(store: Store) -> None:
    store.write("a.md", "walrus in a note\n")
    store.transcript("s").append({"role": "user", "name": "Li", "content": "walrus in a message"})
    assert {hit.source for hit in store.search("walrus")} == {"note", "message"}
    hit = store.search("walrus", source="message")[0]
    assert (hit.citation, hit.role, hit.name) == ("s/messages.jsonl#L1", "user", "Li")


def test_a_message_is_found_by_its_neighbours(store: Store) -> None:
    log = store.transcript("s")
    log.append({"role": "user", "content": "Which colour shall the boat have?", "session": "a"})
    log.append({"role": "assistant", "content": "Turquoise.", "session": "a"})
    assert 2 in [hit.line for hit in store.search("boat colour")]


def test_grep_sees_the_characters_that_escapes_mean(store: Store, root: Path) -> None:
    (root / "s.jsonl").write_text(
        '{"role": "user", "content": "\\u4e2d\\u6587 \\"quoted\\" a\\/b"}\n'
    )
    for pattern in ("中文", '"quoted"', "a/b"):
        assert [match.line for match in store.grep(pattern)] == [1]
    assert not list(store.grep("u4e2d"))
    assert not list(store.grep("content"))


def test_tools_are_searched_only_when_asked(store: Store) -> None:
    block = {"type": "tool_use", "id": "t", "name": "look", "input": {"where": "lighthouse"}}
    store.transcript("s").append({"role": "assistant", "content": [block]})
    assert not list(store.grep("lighthouse"))
    assert [match.line for match in store.grep("lighthouse", tools=True)] == [1]
    assert not store.search("lighthouse")
    assert [hit.line for hit in store.search("lighthouse", tools=True)] == [1]


def test_grep_filters(store: Store) -> None:
    log = store.transcript("s")
    for day, role in ((1, "user"), (2, "assistant"), (3, "user")):
        log.append({"role": role, "content": "walrus", "timestamp": f"2026-02-0{day}T12:00:00Z"})

    def lines(**options: Any) -> list[int]:
        return [match.line for match in store.grep("walrus", **options)]

    assert lines(role="user") == [1, 3]
    assert lines(since="2026-02-02") == [2, 3]
    assert lines(until="2026-02-02") == [1]
    assert lines(newest_first=True) == [3, 2, 1]
    assert lines(newest_first=True, limit=1) == [3]


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("plain", PLAIN),
        ("claude", CLAUDE_CODE),
        ("codex", CODEX),
        ("pi", PI),
        ("openai", OPENAI),
    ],
)
def test_import_of_known_formats(
    store: Store, tmp_path: Path, name: str, lines: list[dict[str, Any]]
) -> None:
    source = tmp_path / f"{name}.jsonl"
    source.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    log = store.transcript(f"sessions/{name}")
    seen: list[int] = []
    imported = log.load(source, seen.append)
    assert imported.path == log.path
    pairs = [(message.role, message.text) for message in log if message.text]
    assert ("user", "Where is the ferry?") in pairs
    assert ("assistant", "At the pier.") in pairs
    assert imported.messages == len(list(log))
    assert not imported.bad_line_count
    assert all(step <= source.stat().st_size for step in seen)
    assert store.search("ferry", source="message")


def test_import_of_nothing_known(store: Store, tmp_path: Path) -> None:
    source = tmp_path / "x.jsonl"
    source.write_text('{"a": 1}\n[2]\n')
    with pytest.raises(commonplace.FormatError):
        store.transcript("s").load(source)
    with pytest.raises(FileNotFoundError):
        store.transcript("s").load(tmp_path / "none.jsonl")
    assert store.version("s/messages.jsonl") is None


def test_import_counts_bad_lines(store: Store, tmp_path: Path) -> None:
    source = tmp_path / "x.jsonl"
    source.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in PLAIN) + b"{torn\n")
    imported = store.transcript("s").load(source)
    assert (imported.messages, imported.bad_line_count, imported.bad_lines) == (2, 1, [3])


def lines_of(messages: list[dict[str, Any]]) -> bytes:
    return b"".join(orjson.dumps(message) + b"\n" for message in messages)


def test_import_again_brings_only_what_is_new(store: Store, tmp_path: Path) -> None:
    source, log = tmp_path / "x.jsonl", store.transcript("s")
    source.write_bytes(lines_of(CLAUDE_CODE))
    assert log.load(source).messages == 2
    again = log.load(source)
    assert (again.messages, again.skipped["already there"]) == (0, 2)
    with source.open("ab") as file:
        file.write(lines_of(PLAIN[:1]))
    assert log.load(source).messages == 1
    assert [message.role for message in log] == ["user", "assistant", "user"]


def test_import_goes_on_after_a_crash(store: Store, root: Path, tmp_path: Path) -> None:
    source, log = tmp_path / "x.jsonl", store.transcript("s")
    source.write_bytes(lines_of(PLAIN))
    log.load(source)
    whole = (root / log.path).read_bytes()
    (root / log.path).write_bytes(whole[:-20])
    assert log.load(source).messages == 1
    assert [message.text for message in log] == [line["content"] for line in PLAIN]
    assert log.load(source).messages == 0


def test_import_redacts_secrets(store: Store, tmp_path: Path) -> None:
    source, log = tmp_path / "x.jsonl", store.transcript("s")
    source.write_bytes(lines_of([{"role": "user", "content": "the password is Tr0ub4dor&3."}]))
    assert log.load(source).redacted == {"password": 1}
    assert log[1].text == "the password is [redacted: password]."
    assert store.status().redactions == {"password": 1}
    # known again, whichever way it is imported
    assert log.load(source, keep_secrets=True).messages == 0
    kept = store.transcript("kept")
    assert kept.load(source, keep_secrets=True).redacted == {}
    assert kept[1].text == "the password is Tr0ub4dor&3."
    assert kept.load(source).messages == 0


def test_import_does_not_mix_two_sources(store: Store, root: Path, tmp_path: Path) -> None:
    source, log = tmp_path / "x.jsonl", store.transcript("s")
    source.write_bytes(lines_of(PLAIN))
    log.append({"role": "user", "content": "mine"})
    before = (root / log.path).read_bytes()
    with pytest.raises(commonplace.Conflict, match="import into a new file"):
        log.load(source)
    assert (root / log.path).read_bytes() == before


def test_import_takes_regular_files_only(store: Store, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.jsonl")
    for odd in (tmp_path, tmp_path / "fifo.jsonl", Path("/dev/zero")):
        with pytest.raises(commonplace.Refused) as refused:
            store.transcript("s").load(odd)
        assert refused.value.code == "type"
    (tmp_path / "x.jsonl").write_bytes(lines_of(PLAIN))
    with pytest.raises(commonplace.CommonplaceError):
        store.transcript("../out").load(tmp_path / "x.jsonl")


def test_import_ends_with_what_progress_raises(store: Store, tmp_path: Path) -> None:
    source = tmp_path / "x.jsonl"
    source.write_bytes(lines_of(PLAIN) * 20_000)

    def stop(read: int) -> None:
        raise RuntimeError(f"enough at {read}")

    log = store.transcript("s")
    with pytest.raises(RuntimeError, match="enough at"):
        log.load(source, stop)
    assert log.load(source).messages + len(log.messages()) >= 40_000
    assert len(log.messages()) == 40_000


def test_a_range_of_messages(store: Store) -> None:
    log = store.transcript("s")
    for number in range(5):
        log.append({"role": "user", "content": str(number)})
    assert [message.text for message in log.messages(2, 3)] == ["1", "2", "3"]
    assert [message.text for message in log.messages(4)] == ["3", "4"]
    assert log.messages(9) == []


def test_what_is_no_object_is_no_message(store: Store) -> None:
    log = store.transcript("sessions/s1")
    no_message: Any
    for no_message in ("hello", 5, None, ["role"], b"{}"):
        with pytest.raises(commonplace.InvalidArgument, match="a message is an object"):
            log.append(no_message)
        with pytest.raises(commonplace.InvalidArgument, match="a message is an object"):
            log.extend([PLAIN[0], no_message])
    # one message in place of several
    with pytest.raises(commonplace.InvalidArgument, match="a message is an object"):
        log.extend(PLAIN[0])  # type: ignore[arg-type]
    assert not store.list()
