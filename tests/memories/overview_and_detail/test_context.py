"""The context of a session: prompt, overview and last turns."""

from __future__ import annotations

import json

from commonplace import Store
from commonplace.memories.overview_and_detail.session import OVERVIEW
from tests.doubles import CountingCore
from tests.memories.overview_and_detail.helpers import FOLDER, log, remember, talk


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
