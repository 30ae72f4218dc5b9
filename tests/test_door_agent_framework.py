"""Providers of the Microsoft Agent Framework: history as their own, recall in a second process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import commonplace
from tests.loop_ticks import turns_while

pytest.importorskip("agent_framework", reason="comes with the extra `agent-framework`")

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    Content,
    InMemoryHistoryProvider,
    Message,
)

from commonplace.doors.agent_framework import Recall, TranscriptHistory, transcript_path


class Client(BaseChatClient[Any]):
    """A model that says what it has read, when it is asked."""

    async def _inner_get_response(
        self,
        *,
        messages: Sequence[Message],
        stream: bool,  # noqa: ARG002 - as the framework calls it
        options: Mapping[str, Any],  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> ChatResponse[Any]:
        asked = "?" in messages[-1].text
        said = "\f".join(one.text for one in messages) if asked else "Noted."
        return ChatResponse(messages=[Message("assistant", [said])])


async def said(store: commonplace.Store, session: str, text: str) -> str:
    """Say something to an agent in a session, and return its answer."""
    providers = [TranscriptHistory(store), Recall(store)]
    agent = Agent(Client(), context_providers=providers)
    return (await agent.run(text, session=AgentSession(session_id=session))).text


PROGRAM = r"""
import asyncio, sys, commonplace
from tests.test_door_agent_framework import said
store = commonplace.open(sys.argv[1])
for session in ("B", "A"):
    answer = asyncio.run(said(store, session, "Which port has the staging server Zephyr-9?"))
    print(answer, end="\v")
"""


@pytest.mark.slow
def test_a_conversation_is_recalled_in_another_process(opened: commonplace.Store) -> None:
    fact = "The staging server Zephyr-9 listens on port 4711."
    assert asyncio.run(said(opened, "A", fact)) == "Noted."
    assert asyncio.run(said(opened, "C", "Is it late?")) == "Is it late?"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(opened.root)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    other, same, _ = done.stdout.split("\v")
    # of other sessions what fits, with its source
    recalled, _ = other.split("\f")
    assert fact in recalled
    assert transcript_path("A") in recalled
    # of its own all
    assert same.split("\f")[:2] == [fact, "Noted."]
    history = asyncio.run(TranscriptHistory(opened).get_messages("A"))
    assert [one.role for one in history] == ["user", "assistant"] * 2
    # what was recalled is not said again
    assert not any(one.text.startswith("<memory>") for one in history)


def test_what_the_session_has_said_is_not_recalled_for_it(opened: commonplace.Store) -> None:
    fact, question = "Zephyr-9 listens on port 4711.", "On which port listens Zephyr-9?"
    asyncio.run(said(opened, "A", fact))
    assert asyncio.run(said(opened, "A", question)).split("\f") == [fact, "Noted.", question]
    # a session of another name has not said it
    assert "<memory>" in asyncio.run(said(opened, "a", question))


contents = st.lists(
    st.sampled_from(["tea", "", "茶\n"])
    | st.builds(lambda a: Content.from_function_call("c", "f", arguments={"a": a}), st.text("ab"))
    | st.builds(lambda r: Content.from_function_result("c", result=r), st.text("ab")),
    max_size=2,
)
messages = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "tool"]),
    contents,
    author_name=st.sampled_from([None, "Li"]),
    message_id=st.sampled_from([None, "1", "2"]),
)


@given(st.lists(st.tuples(st.sampled_from(["a", "A/b"]), st.lists(messages, max_size=3))))
@settings(max_examples=30)
def test_it_keeps_what_their_own_keeps(saved: list[tuple[str, list[Message]]]) -> None:
    async def run(store: commonplace.Store) -> None:
        ours, theirs = TranscriptHistory(store), InMemoryHistoryProvider()
        states: dict[str, dict[str, Any]] = {}
        for session, some in saved:
            state = states.setdefault(session, {})
            await ours.save_messages(session, some)
            await theirs.save_messages(session, some, state=state)
            found = [one.to_dict() for one in await ours.get_messages(session)]
            wanted = await theirs.get_messages(session, state=state)
            assert found == [one.to_dict() for one in wanted]

    with tempfile.TemporaryDirectory() as folder, commonplace.open(folder) as store:
        asyncio.run(run(store))


def test_what_was_said_is_found(opened: commonplace.Store) -> None:
    call = Content.from_function_call("c", "f", arguments={"word": "jasmine"})
    said = [Message("user", ["oolong"], author_name="Li"), Message("assistant", [call])]
    asyncio.run(TranscriptHistory(opened).save_messages(None, said))
    (hit,) = opened.search("oolong", unit="message")
    assert (hit.role, hit.name, hit.path) == ("user", "Li", transcript_path(None))
    assert not opened.search("jasmine")
    assert opened.search("jasmine", tools=True)


def test_a_hundred_at_once(opened: commonplace.Store) -> None:
    history = TranscriptHistory(opened)

    async def run() -> None:
        work = (history.save_messages("s", [Message("user", [f"tea {n}"])]) for n in range(100))
        assert await turns_while(work) > 20

    asyncio.run(run())
    assert opened.status().messages == 100
