"""Memory service of the Google ADK: a conversation that is recalled in a second process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

import commonplace
from tests.loop_ticks import BLOCKED, turns_while

pytest.importorskip("google.adk.memory", reason="comes with the extra `google-adk`")

from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.load_memory_tool import load_memory_tool
from google.genai.types import Content, FunctionCall, Part

from commonplace.doors.google_adk import TranscriptMemoryService

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
ME: dict[str, Any] = {"app_name": "App", "user_id": "Li Si/1"}


class Model(BaseLlm):
    """Asks the memory when a person asks, and repeats what it was told."""

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: ARG002 - as the ADK calls it
    ) -> AsyncGenerator[LlmResponse, None]:
        last: Any = (llm_request.contents[-1].parts or [])[-1]
        if last.function_response:
            part = Part(text=f"Memory: {last.function_response.response}")
        elif "?" in last.text:
            part = Part(function_call=FunctionCall(name="load_memory", args={"query": last.text}))
        else:
            part = Part(text="Noted.")
        yield LlmResponse(content=Content(role="model", parts=[part]))


async def converse(store: commonplace.Store, text: str) -> str:
    """Say something in a session of its own, and return the answer."""
    sessions, memory = InMemorySessionService(), TranscriptMemoryService(store)
    agent = LlmAgent(name="helper", model=Model(model="m"), tools=[load_memory_tool])
    runner = Runner(app_name="App", agent=agent, session_service=sessions, memory_service=memory)
    session = await sessions.create_session(**ME)
    answer = ""
    said = Content(role="user", parts=[Part(text=text)])
    async for event in runner.run_async(
        user_id=ME["user_id"], session_id=session.id, new_message=said
    ):
        answer = "".join(part.text or "" for part in (event.content or said).parts or [])
    whole = await sessions.get_session(**ME, session_id=session.id)
    assert whole
    for _ in range(2):
        # a session may be added several times
        await memory.add_session_to_memory(whole)
    return answer


PROGRAM = """
import asyncio, sys, warnings, commonplace
warnings.simplefilter("ignore")
from tests.test_door_google_adk import converse
print(asyncio.run(converse(commonplace.open(sys.argv[1]), "Which tea do I like?")))
"""


@pytest.mark.slow
def test_a_conversation_is_recalled_in_another_process(opened: commonplace.Store) -> None:
    assert asyncio.run(converse(opened, "I like oolong tea.")) == "Noted."
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(opened.root)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    assert "I like oolong tea." in done.stdout
    texts = [hit.text for hit in opened.search("oolong", unit="message", role="user")]
    assert texts.count("I like oolong tea.") == 1


def event(number: int, text: str) -> Event:
    content = Content(role="user", parts=[Part(text=text)])
    return Event(id=f"e{number}", author="user", content=content, timestamp=1_770_000_000 + number)


def test_users_and_applications_are_apart(opened: commonplace.Store) -> None:
    async def run() -> None:
        memory = TranscriptMemoryService(opened)
        await memory.add_events_to_memory(
            **ME, events=[event(1, "我喜欢乌龙茶。"), event(1, "again")]
        )
        mine = await memory.search_memory(**ME, query="乌龙茶")
        assert [entry.timestamp for entry in mine.memories] == ["2026-02-02T02:40:01+00:00"]
        for other in ({"user_id": "Li Si"}, {"user_id": "li si/1"}, {"app_name": "app"}):
            assert not (await memory.search_memory(**(ME | other), query="乌龙茶")).memories
        assert not (await memory.search_memory(**ME, query=" ")).memories

    asyncio.run(run())


def test_a_memory_is_added_as_it_is(opened: commonplace.Store) -> None:
    async def run() -> None:
        memory = TranscriptMemoryService(opened)
        content = Content(role="user", parts=[Part(text="Allergic to nuts.")])
        entry = MemoryEntry(content=content, author="doctor", timestamp="2026-01-02T03:04:05Z")
        await memory.add_memory(**ME, memories=[entry])
        (found,) = (await memory.search_memory(**ME, query="nuts")).memories
        assert (found.author, found.timestamp) == ("doctor", "2026-01-02T03:04:05Z")
        with pytest.raises(NotImplementedError):
            await memory.delete_memory(**ME, memory_id=found.id)

    asyncio.run(run())


def test_a_hundred_at_once(opened: commonplace.Store) -> None:
    memory = TranscriptMemoryService(opened)

    async def run() -> None:
        work = (
            memory.add_events_to_memory(**ME, events=[event(number, f"tea {number}")])
            for number in range(100)
        )
        assert await turns_while(work) > BLOCKED

    asyncio.run(run())
    assert opened.status().messages == 100
