"""Benchmark of questions over transcripts: how turns are split, and how answers are ranked."""

from __future__ import annotations

import json
import lzma
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path
from typing import Any

import pytest
from benches.labelled_turns import Message, Question, Turn, questions, read_turns
from benches.turns import Contender, Figures, FullText, Ours, Ripgrep, figures, fold, ranks

# a made transcript: session, kind of record, text
SAID = [
    ("bread", "user", "Orders placed after midnight get the wrong date. Can you find out why?"),
    ("bread", "assistant", "Let me look at how orders are stored."),
    ("bread", "tool", "orders.py: date.today() # local clock"),
    ("bread", "assistant", "The shop clock runs in UTC while `due_day()` takes local time."),
    ("cake", "user", "Which port should the label printer use?"),
    ("cake", "assistant", "9100. The driver default of 515 is blocked by the firewall."),
    ("bread", "user", "ok, fix it"),
    ("bread", "meta", "Base directory for this skill: /skills. The oven profile is rye-7."),
    ("bread", "assistant", "Fixed in 4c1d2e9: all dates are kept in UTC and shown locally."),
    ("bread", "command", "<command-name>/compact</command-name>"),
    ("bread", "summary", "This session is being continued from a previous conversation. rye-7."),
    ("bread", "user", "[Request interrupted by user]"),
    ("bread", "user", "should we keep the sourdough starter table?"),
    ("bread", "assistant", "No: nothing reads it since the recipes moved to YAML. I'd drop it."),
    ("cake", "user", "<system-reminder>rye-7</system-reminder>what's left before the release?"),
    ("cake", "assistant", "Two things: the allergen list in French, and the price rounding test."),
    ("cake", "user", "CI says: ModuleNotFoundError: No module named 'yeast'"),
    ("cake", "assistant", "The extra was renamed; install `bakery[dough]` and it imports again."),
    ("cake", "subagent", "Oven profile: rye-7."),
    ("cake", "user", "yes"),
    ("cake", "assistant", "Pushed. The pipeline takes 4 minutes now instead of 11."),
]
PROMPTS = [text for _, kind, text in SAID if kind == "user"]
ASKED = [
    Question(*item)
    for item in [
        ("why did late orders land on another day", r"clock runs in UTC", "bread", 1, "cause"),
        ("commit that put every date in UTC", r"4c1d2e9", "bread", 7, "value"),
        ("network port for printing labels", r"\b9100\b", "cake", 5, "value"),
        ("Did we get rid of the starter table?", r"I'd drop it", "bread", 13, "decision"),
        ("what was still open for the release", r"allergen list in French", "cake", 15, "todo"),
        ("module yeast could not be imported", r"bakery\[dough\]", "cake", 17, "error"),
        ("how long does the pipeline take", r"4 minutes", "cake", 20, "value"),
        ("oven profile", r"rye-7", "bread", 8, "value"),
    ]
]


def record(line: int, session: str, kind: str, text: str) -> dict[str, Any]:
    role = "assistant" if kind in {"assistant", "subagent"} else "user"
    block = {"type": "text", "text": text}
    if kind == "tool":
        block = {"type": "tool_result", "tool_use_id": "t", "content": text}
    marks = {"meta": "isMeta", "subagent": "isSidechain", "summary": "isCompactSummary"}
    return {
        "type": role,
        "uuid": f"u{line}",
        "sessionId": session,
        "timestamp": f"2026-01-05T10:{line:02}:00Z",
        "message": {"role": role, "content": [block]},
    } | ({marks[kind]: True} if kind in marks else {})


@pytest.fixture
def lines() -> list[bytes]:
    noise = {"type": "progress", "sessionId": "cake", "uuid": "p"}
    records = [record(line, *said) for line, said in zip(count(1), SAID, strict=False)]
    return [json.dumps(one, separators=(",", ":")).encode() + b"\n" for one in [*records, noise]]


@pytest.fixture
def turns(lines: list[bytes]) -> list[Turn]:
    return read_turns(lines)


@pytest.fixture
def contenders(tmp_path: Path, lines: list[bytes], turns: list[Turn]) -> Iterator[list[Contender]]:
    made: list[Contender] = [
        Ours(tmp_path, lines, turns),
        FullText(turns),
        Ripgrep(tmp_path, turns),
    ]
    yield made
    for contender in made:
        contender.close()


def test_a_turn_begins_at_the_prompt_of_a_person(turns: list[Turn]) -> None:
    prompts = [turn.messages[0].text for turn in turns]
    reminded, interrupted = PROMPTS.index(SAID[14][2]), PROMPTS.index(SAID[11][2])
    expected = [*PROMPTS]
    expected[reminded] = "what's left before the release?"
    del expected[interrupted]
    assert prompts == expected
    assert [message.line for message in turns[0].messages] == [1, 2, 4]
    # the sessions are interleaved
    assert [message.line for message in turns[2].messages] == [7, 9]


def test_what_nobody_said_is_in_no_turn(turns: list[Turn]) -> None:
    text = "\n".join(turn.text for turn in turns)
    assert "rye-7" not in text
    assert "local clock" not in text
    assert "<" not in text


def test_a_turn_ranks_no_lower_than_its_message(contenders: list[Contender]) -> None:
    for contender in contenders:
        found = ranks(contender, ASKED)
        assert all(turn and turn <= message for message, turn in found if message)
        assert found[-1] == (None, None)  # only what nobody said answers the last question


def test_the_turns_that_answer_are_found(contenders: list[Contender]) -> None:
    found = {one.name: figures([turn for _, turn in ranks(one, ASKED[:-1])]) for one in contenders}
    assert found["commonplace"].few == found["FTS5"].few == 1
    assert found["ripgrep"].few >= 0.85


def test_python_stands_in_for_ripgrep(
    tmp_path: Path, turns: list[Turn], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Ripgrep(tmp_path, turns)
    monkeypatch.setattr("shutil.which", lambda _: None)
    python = Ripgrep(tmp_path, turns)
    for question in ASKED:
        assert python.search(question.question) == program.search(question.question)


def test_turns_keep_the_place_of_their_best_message() -> None:
    first, second = (
        Turn([Message("s", line, f"u{line}", "") for line in range(start, start + 3)])
        for start in (1, 4)
    )
    ranked = [second.messages[2], first.messages[0], second.messages[0], first.messages[2]]
    assert fold(ranked, [first, second]) == [second, first]


def test_figures_count_what_is_not_found() -> None:
    assert figures([1, 5, 6, None]) == Figures(0.25, 0.5)


@pytest.mark.parametrize("writer", ["", "2-"])
def test_the_halves_are_of_one_size_and_differ(writer: str) -> None:
    seen, unseen = questions(f"{writer}seen"), questions(f"{writer}unseen")
    both = [*seen, *unseen]
    assert len(seen) == len(unseen) == 40
    assert len({question.question for question in both}) == 80
    assert len({question.line for question in both}) == 80
    assert max(Counter(question.session for question in both).values()) <= 8
    for question in both:
        re.compile(question.pattern)
        assert not question.answered_by(question.question)


@pytest.mark.shared
@pytest.mark.slow
def test_a_pattern_matches_few_turns(shared: Path) -> None:
    with lzma.open(shared / "data/speed/claude-code-sessions.jsonl.xz") as transcript:
        turns = [(turn.messages, turn.text) for turn in read_turns(transcript)]
    assert len(turns) == 437
    names = ("seen", "unseen", "more", "2-seen", "2-unseen")
    for question in chain.from_iterable(map(questions, names)):
        answers = [messages for messages, text in turns if question.answered_by(text)]
        assert len(answers) <= 3, question.line
        prompts = {(prompt.session, prompt.line) for prompt, *_ in answers}
        assert (question.session, question.line) in prompts
        # messages are scored by the same pattern, so each answer is in one message
        for messages in answers:
            assert any(question.answered_by(one.text) for one in messages), question.line
