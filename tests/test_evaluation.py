"""`commonplace eval` on labelled sets so small that the right metrics are known."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest

from commonplace.cli import run as run_command
from commonplace.errors import FormatError
from commonplace.evaluation import evaluate, message, metrics, note_path, quantile, write_corpus

NOTES: dict[str, Any] = {
    "documents": [
        {"id": "cat", "text": "The cat sat on the mat.\n"},
        {"id": "dog", "text": "# Loud\n\nThe dog barked.\n\n# Late\n\nThe dog slept.\n"},
        {"id": 3, "text": "A boat.", "heading": "Sea\nand sand", "path": "docs/sea?#boat"},
    ],
    "queries": [
        {"text": "cat", "relevant": ["cat"]},
        {"text": "dog", "relevant": ["dog", "cat"]},
        {"text": "zebra", "relevant": [3]},
        {"text": "  ", "relevant": [3]},
    ],
}
TALK: dict[str, Any] = {
    "documents": [
        {"id": 0, "text": "Where is the\nferry?", "speaker": "user", "session": "a", "time": ""},
        {"id": 1, "text": "At the pier.", "speaker": "assistant", "session": "a"},
        {"id": 2, "text": "我对花生过敏。", "speaker": "Li", "session": 7, "time": "8 May, 2023"},
    ],
    "queries": [{"text": "花生", "relevant": [2]}, {"text": "ferry", "relevant": [0]}],
}


def write_set(path: Path, *groups: dict[str, Any]) -> Path:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(group) + "\n" for group in groups)
    return path


def test_known_values(tmp_path: Path) -> None:
    run = tmp_path / "run.jsonl"
    files = [
        write_set(tmp_path / "notes.jsonl", NOTES),
        write_set(tmp_path / "talk.jsonl.gz", TALK, TALK),
    ]
    notes, talk = evaluate(files, run=run)
    assert (notes.set, notes.groups, notes.documents, notes.queries) == ("notes", 1, 3, 4)
    assert (talk.set, talk.groups, talk.documents, talk.queries) == ("talk", 2, 6, 4)
    ideal = 1 + 1 / math.log2(3)
    assert notes.any_at_1 == 2 / 4
    assert notes.recall_at_5 == (1 + 0.5) / 4
    assert notes.ndcg_at_10 == pytest.approx((1 + 1 / ideal) / 4)
    assert notes.mrr == 2 / 4
    assert talk.ndcg_at_10 == talk.mrr == talk.any_at_1 == 1
    assert 0 < notes.p50_ms <= notes.p99_ms
    lines = [json.loads(line) for line in run.read_text().splitlines()]
    assert lines[0] == {"set": "notes", "group": 0, "query": "cat", "ranked": ["cat"]}
    assert lines[1]["ranked"] == ["dog"]
    assert lines[2]["ranked"] == lines[3]["ranked"] == []
    assert [line["group"] for line in lines] == [0, 0, 0, 0, 0, 0, 1, 1]


def test_long_documents_leave_room_for_others(tmp_path: Path) -> None:
    long = "".join(f"# Part {number}\n\nwalrus walrus walrus\n\n" for number in range(50))
    documents = [{"id": "long", "text": long}]
    documents += [{"id": f"n{number}", "text": f"one walrus {number}\n"} for number in range(30)]
    group = {"documents": documents, "queries": [{"text": "walrus", "relevant": ["n1"]}]}
    run = tmp_path / "run.jsonl"
    evaluate([write_set(tmp_path / "x.jsonl", group)], run=run)
    ranked = json.loads(run.read_text())["ranked"]
    assert len(ranked) == len(set(ranked)) == 20


def test_documents_become_a_persons_files(tmp_path: Path) -> None:
    layout = write_corpus([*NOTES["documents"], *TALK["documents"]], tmp_path)
    assert layout.notes["docs/sea-#boat.md"] == 3
    assert layout.messages == [0, 1, 2]
    assert (tmp_path / "docs/sea-#boat.md").read_text() == "# Sea and sand\n\nA boat."
    assert (tmp_path / "000000.md").read_text() == "The cat sat on the mat.\n"
    lines = (tmp_path / "messages.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"role": "user", "content": "Where is the\nferry?", "session": "a"},
        {"role": "assistant", "content": "At the pier.", "session": "a"},
        {
            "role": "user",
            "name": "Li",
            "content": "我对花生过敏。",
            "timestamp": "8 May, 2023",
            "session": "7",
        },
    ]


def test_a_message_without_a_speaker() -> None:
    assert message({"id": 1, "text": "x", "session": "s"}) == {
        "role": "user",
        "content": "x",
        "session": "s",
    }


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("docs/a.md", "docs/a.md"),
        ("/etc/../x", "etc/x.md"),
        ("...", "note.md"),
        ("a\nb:c", "a-b-c.md"),
        ("é" * 200, "é" * 75 + ".md"),
        ("-rf/~home", "rf/home.md"),
    ],
)
def test_note_paths_are_legal(wanted: str, expected: str) -> None:
    taken: set[str] = set()
    assert note_path(wanted, taken) == expected
    assert note_path(wanted.upper(), taken) != expected


def test_metrics_by_hand() -> None:
    ranked = ["x", "a", "y", "z", "w", "b"]
    values = metrics(ranked, ["a", "b", "c"])
    assert (values["any_at_1"], values["any_at_5"], values["any_at_10"]) == (0, 1, 1)
    assert (values["recall_at_5"], values["recall_at_10"]) == (1 / 3, 2 / 3)
    assert values["mrr"] == 1 / 2
    gain = 1 / math.log2(3) + 1 / math.log2(7)
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert values["ndcg_at_10"] == pytest.approx(gain / ideal)
    assert set(metrics([], ["a"]).values()) == {0.0}
    assert set(metrics(["a"], []).values()) == {0.0}


def test_quantiles() -> None:
    assert quantile([3, 1, 2], 0.5) == 2
    assert quantile(range(1, 101), 0.99) == 99
    assert quantile([], 0.5) == 0


@pytest.mark.parametrize("text", ["not json", "[1]", '{"documents": []}'])
def test_a_file_that_is_no_set(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.jsonl").write_text(text)
    with pytest.raises(FormatError, match=r"x\.jsonl, line 1"):
        evaluate([tmp_path / "x.jsonl"])


def test_a_shared_set(shared: Path) -> None:
    scores = evaluate([shared / "data/labelled/cookbook-docs.jsonl.gz"])[0]
    assert (scores.documents, scores.queries) == (232, 100)
    assert scores.ndcg_at_10 >= 0.75


CHAT: dict[str, Any] = {
    "documents": [
        {"id": number, "text": text, "speaker": speaker, "session": session}
        for number, (session, speaker, text) in enumerate(
            [
                ("a", "user", "Where does the ferry leave?"),
                ("a", "assistant", "I look it up."),
                ("a", "assistant", "From pier 7, at noon."),
                ("a", "user", "And the bus?"),
                ("b", "assistant", "Welcome back."),
                ("b", "Li", "The walrus sleeps."),
                ("b", "Mo", "So does the bus driver."),
            ]
        )
    ],
    "queries": [{"text": "pier noon", "relevant": [2]}, {"text": "walrus", "relevant": [5]}],
}


def test_answers_by_turn_and_by_session(tmp_path: Path) -> None:
    layout = write_corpus(CHAT["documents"], tmp_path)
    # a turn begins with a user, and with another session; in a chat of two with each message
    assert list(layout.turns.values()) == [0, 0, 0, 3, 4, 5, 6]
    file = write_set(tmp_path / "chat.jsonl", CHAT)
    run = tmp_path / "run.jsonl"
    for unit, ranked in (("message", [2, 5]), ("turn", [0, 5]), ("session", ["a", "b"])):
        (scores,) = evaluate([file], unit=unit, run=run)  # type: ignore[arg-type]
        assert scores.any_at_1 == 1, unit
        first = [json.loads(line)["ranked"][0] for line in run.read_text().splitlines()]
        assert first == ranked


def test_a_set_without_sessions_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [write_set(tmp_path / "notes.jsonl", NOTES), write_set(tmp_path / "chat.jsonl", CHAT)]
    for unit, in_units in (("message", [0, 0]), ("turn", [0, 7]), ("session", [0, 7])):
        assert run_command(["eval", *map(str, files), "--unit", unit, "--json"]) == 0
        out, err = capsys.readouterr()
        assert [scores["in_units"] for scores in json.loads(out)] == in_units
        assert (f"notes has no {unit}s: " in err) == (unit != "message")
        assert "chat has no" not in err


def test_notes_are_their_own_session(tmp_path: Path) -> None:
    (scores,) = evaluate([write_set(tmp_path / "notes.jsonl", NOTES)], unit="session")
    assert scores.any_at_1 == 2 / 4
