"""Session and tools of the OpenAI Agents SDK: two runs of one session over loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import commonplace
from tests.loop_ticks import BLOCKED, turns_while

pytest.importorskip("agents", reason="comes with the extra `openai-agents`")

from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    RunConfig,
    Runner,
    SQLiteSession,
)
from agents.memory import Session
from openai import AsyncOpenAI

from commonplace.doors.openai_agents import TranscriptSession, memory_tools
from tests.loopback import Answer, Json, JsonServer, running


def completion(asked: Json) -> Answer:
    """Search the memory when asked to, else repeat what was heard, as chat completions do."""
    last = asked["messages"][-1]
    message: Json = {"role": "assistant", "content": f"Heard: {last['content']}"}
    if last["role"] == "user" and "search" in last["content"]:
        call = {"name": "search", "arguments": '{"query": "oolong", "bogus": 1}'}
        calls = [{"id": "c1", "type": "function", "function": call}]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    kind = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    return 200, {**kind, "choices": [choice]}


@pytest.fixture
def model() -> Iterator[JsonServer]:
    with running(JsonServer(completion)) as server:
        yield server


def ask(server: JsonServer, store: commonplace.Store, session: Session, text: str) -> str:
    async def run() -> Any:
        async with AsyncOpenAI(base_url=server.url, api_key="none") as client:
            agent = Agent(
                name="a",
                model=OpenAIChatCompletionsModel("m", client),
                model_settings=ModelSettings(),
                tools=[*memory_tools(store)],
            )
            config = RunConfig(tracing_disabled=True)
            return await Runner.run(agent, text, session=session, run_config=config)

    return str(asyncio.run(run()).final_output)


def test_two_runs_of_one_session(opened: commonplace.Store, model: JsonServer) -> None:
    session = TranscriptSession(opened, "Li Si/1")
    assert isinstance(session, Session)
    ask(model, opened, session, "I like oolong.")
    # as another process has it
    again = TranscriptSession(opened, "Li Si/1")
    ask(model, opened, again, "What do I like?")
    told = [message["content"] for message in model.asked[-1][1]["messages"]]
    assert told == ["I like oolong.", "Heard: I like oolong.", "What do I like?"]
    (hit, *_) = opened.search("oolong")
    assert hit.path == "sessions/openai-agents/+li +si%2f1/messages.jsonl"
    assert hit.time


def test_tools_answer_the_model(opened: commonplace.Store, model: JsonServer) -> None:
    session = TranscriptSession(opened, "s")
    last = ask(model, opened, session, "search for it")
    assert "Error: search has no `bogus`" in last
    names = {tool["function"]["name"] for tool in model.asked[0][1]["tools"]}
    assert names == {"search", "read", "sessions", "remember", "forget", "status"}
    # the call and its answer are items of the session
    kinds = [item.get("type") for item in asyncio.run(session.get_items())]
    assert {"function_call", "function_call_output"} < {*kinds}


def test_it_is_the_session_of_the_sdk(opened: commonplace.Store) -> None:
    items: list[Any] = [
        {"role": "user", "content": "one"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "二\n"}],
        },
        {"type": "function_call_output", "call_id": "c", "output": "x", "timestamp": "mine"},
        {"type": "session_clear"} | {"role": "user", "content": "no mark"},
    ]

    async def run(session: Session) -> list[Any]:
        seen: list[Any] = [await session.pop_item(), await session.get_items()]
        await session.add_items(items)
        await session.add_items([])
        seen += [await session.get_items(limit) for limit in (None, 0, 1, 2, 9)]
        seen += [await session.pop_item(), await session.get_items()]
        await session.clear_session()
        seen.append(await session.get_items())
        await session.add_items(items[:1])
        return [
            *seen,
            await session.get_items(),
            await session.pop_item(),
            await session.pop_item(),
        ]

    theirs = SQLiteSession("s")
    expected = asyncio.run(run(theirs))
    theirs.close()
    assert asyncio.run(run(TranscriptSession(opened, "s"))) == expected


def test_two_that_pop_at_once_get_two_items(opened: commonplace.Store) -> None:
    async def run() -> None:
        one, other = TranscriptSession(opened, "s"), TranscriptSession(opened, "s")
        items: list[Any] = [{"role": "user", "content": f"{number}"} for number in range(20)]
        await one.add_items(items)
        popped: list[Any] = await asyncio.gather(*(each.pop_item() for each in (one, other) * 10))
        assert sorted(one["content"] for one in popped) == sorted(one["content"] for one in items)

    asyncio.run(run())


def test_a_hundred_at_once(opened: commonplace.Store) -> None:
    async def run() -> None:
        session = TranscriptSession(opened, "s")
        items: list[Any] = [{"role": "user", "content": f"{number}"} for number in range(100)]
        assert await turns_while(session.add_items([item]) for item in items) > BLOCKED
        assert len(await session.get_items()) == 100

    asyncio.run(run())
