"""Files of LongMemEval, on a small sample made here: the data itself cannot be shipped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commonplace import cli
from commonplace.errors import FormatError
from commonplace.evaluation import evaluate
from commonplace.longmemeval import questions


def said(role: str, content: str, *, answer: bool = False) -> dict[str, Any]:
    return {"role": role, "content": content} | ({"has_answer": True} if answer else {})


def question(name: str = "q1", **fields: Any) -> dict[str, Any]:
    sessions = {
        "s1": [said("user", "I adopted a cat."), said("assistant", "What is its name?")],
        "s2": [
            said("user", "I named my cat Pebble.", answer=True),
            said("assistant", "A fine name."),
        ],
        "s3": [said("user", "How do I bake bread?"), said("assistant", "With flour and time.")],
    }
    return {
        "question_id": name,
        "question_type": "single-session-user",
        "question": "Which name did I give my cat Pebble?",
        "answer": "Pebble",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": list(sessions),
        "haystack_dates": [f"2023/05/2{day} (Sat) 02:21" for day in range(3)],
        "haystack_sessions": list(sessions.values()),
        "answer_session_ids": ["s2"],
    } | fields


def write(path: Path, *asked: Any) -> Path:
    path.write_text(json.dumps(asked))
    return path


def test_each_question_has_a_group(tmp_path: Path) -> None:
    file = write(tmp_path / "longmemeval_s.json", question(), question("q2_abs"))
    (group,) = questions(file)
    assert group["documents"][2] == {
        "id": "s2#0",
        "text": "I named my cat Pebble.",
        "speaker": "user",
        "session": "s2",
        "time": "2023-05-21T02:21:00Z",
    }
    assert group["queries"][0]["relevant"] == ["s2#0"]
    assert group["queries"][0]["sessions"] == ["s2"]


@pytest.mark.parametrize("unit", ["message", "turn", "session"])
def test_the_scores_of_a_file(tmp_path: Path, unit: Any) -> None:
    run = tmp_path / "run.jsonl"
    file = write(tmp_path / "longmemeval_s.json", question())
    (scores,) = evaluate([], unit=unit, longmemeval=[file], run=run)
    assert (scores.set, scores.groups, scores.documents) == ("longmemeval_s", 1, 6)
    assert scores.queries == scores.any_at_1 == scores.mrr == 1
    best = json.loads(run.read_text())["ranked"][0]
    assert best == ("s2" if unit == "session" else "s2#0")


def test_a_question_labelled_by_session_alone(tmp_path: Path) -> None:
    asked = question()
    del asked["haystack_sessions"][1][0]["has_answer"]
    file = write(tmp_path / "x.json", asked)
    by_message, by_session = (
        evaluate([], unit=unit, longmemeval=[file])[0] for unit in ("message", "session")
    )
    assert (by_message.queries, by_session.queries) == (0, 1)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "not JSON"),
        ("{}", "no list of questions"),
        ("[1]", "question 1: not of LongMemEval"),
        ('[{"question_id": "a"}]', "question 1: .*haystack_session_ids"),
        (json.dumps([question(haystack_dates=[])]), "question 1: .*ValueError"),
    ],
)
def test_a_file_that_is_not_of_longmemeval(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(FormatError, match=told):
        list(questions(tmp_path / "x.json"))


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "longmemeval_s.json", question())
    assert cli.run(["eval", "--longmemeval", str(file), "--unit", "session", "--json"]) == 0
    (scores,) = json.loads(capsys.readouterr().out)
    assert scores["any_at_1"] == 1
