"""Export of sessions in the form of ChatGPT: imported again, they are equal."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import commonplace
from commonplace.cli import run
from commonplace.doors.chat_export import export_chats
from commonplace.errors import Refused

contents = st.one_of(
    st.lists(st.sampled_from(["tea", "茶\n", ""]), max_size=2).map(
        lambda parts: {"content_type": "text", "parts": parts}
    ),
    st.sampled_from(
        [
            {"content_type": "code", "text": "x = 1", "language": "python"},
            {"content_type": "execution_output", "text": "1"},
            {"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "c"}]},
            {"content_type": "multimodal_text", "parts": [{"x": "image"}, "look", {"text": "t"}]},
        ]
    ),
)
# what a node holds, and how many of its nodes before it stand between it and its parent
nodes = st.tuples(
    st.sampled_from(["user", "assistant", "tool", "system", None]),
    contents,
    st.integers(0, 3),
    st.sampled_from(["all", "python"]),
    st.booleans(),
)


def conversation(number: int, rows: list[Any]) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    path: list[str] = []
    for row, (role, content, back, recipient, hidden) in enumerate(rows):
        own = f"c{number}n{row}"
        del path[max(len(path) - back, 1) :]
        parent = path[-1] if path else None
        message = role and {
            "id": own,
            "author": {"role": role, "name": "n"} if back == 2 else {"role": role},
            "create_time": 1_697_000_000.25 + row if back != 1 else None,
            "content": content,
            "recipient": recipient,
            "metadata": {"is_visually_hidden_from_conversation": True} if hidden else {},
        }
        mapping[own] = {"id": own, "parent": parent, "children": [], "message": message}
        if parent:
            mapping[parent]["children"].append(own)
        path.append(own)
    made = {"conversation_id": f"c{number}-x", "title": "Birds", "create_time": 1.7e9 + number}
    return made | {"mapping": mapping}


def sessions(store: commonplace.Store) -> dict[str, str]:
    return {one.path: store.read(one.path) for one in store.sessions()}


@given(st.lists(st.lists(nodes, min_size=1, max_size=6), min_size=1, max_size=3))
@settings(max_examples=12)
def test_an_export_of_chatgpt_comes_back_equal(chats: list[list[Any]]) -> None:
    with TemporaryDirectory() as folder:
        first, second = Path(folder, "first.json"), Path(folder, "second.json")
        first.write_text(json.dumps([conversation(n, rows) for n, rows in enumerate(chats)]))
        with commonplace.open(Path(folder, "a")) as store:
            store.import_sessions(first)
            wanted = sessions(store)
            assert export_chats(store, second) == len(wanted)
        with commonplace.open(Path(folder, "b")) as other:
            if wanted:
                other.import_sessions(second)
            assert sessions(other) == wanted


LINES = [
    {"role": "user", "content": "Which port?", "timestamp": "2026-01-02T03:04:05Z", "id": "u"},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "name": "grep", "input": {"pattern": "zephyr"}},
            {"type": "text", "text": "4711."},
        ],
    },
]


def test_the_words_of_other_sessions_come_back(
    opened: commonplace.Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for session in ("sessions/app/one", "sessions/other/two"):
        opened.append(f"{session}/messages.jsonl", "\n".join(map(json.dumps, LINES)))
    file = str(tmp_path / "chats.json")
    arguments = ["export", "chatgpt", file, "--prefix", "sessions/app"]
    assert run(["--root", str(opened.root), *arguments]) == 0
    assert ": 1 session\n" in capsys.readouterr().out
    with commonplace.open(tmp_path / "other") as other:
        other.import_sessions(file)
        found = other.search("zephyr OR port OR look OR 4711", tools=True, unit="message")
        assert {hit.text for hit in found} >= {"Which port?", "Let me look.", "4711."}
        assert other.search("zephyr", tools=True)
        (asked,) = other.search("port", unit="message", until="2026-01-03", since="2026-01-02")
        assert (asked.role, asked.text) == ("user", "Which port?")
    with pytest.raises(Refused, match="is there"):
        export_chats(opened, Path(file))


def test_what_lies_in_another_transcript_is_exported_too(
    opened: commonplace.Store, tmp_path: Path
) -> None:
    opened.append("sessions/a/messages.jsonl", json.dumps(LINES[0]))
    copy = {"type": "copy", "of": "sessions/a/messages.jsonl#L1-L1", "count": 1}
    gone = {"type": "copy", "of": "sessions/gone/messages.jsonl#L1", "count": 1}
    lines = [copy, gone, {"role": "user", "content": "And now?"}]
    opened.append("sessions/b/messages.jsonl", "\n".join(map(json.dumps, lines)))
    file = tmp_path / "chats.json"
    assert export_chats(opened, file, "sessions/b") == 1
    (made,) = json.loads(file.read_text())
    texts = [node["message"]["content"]["parts"] for node in made["mapping"].values()]
    assert texts == [["Which port?"], ["And now?"]]
