"""Memory block of LlamaIndex: what left the short-term memory, recalled in a second process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

import commonplace
from tests.loop_ticks import turns_while

pytest.importorskip("llama_index.core", reason="comes with the extra `llama-index`")

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage
from llama_index.core.llms.mock import MockLLMWithChatMemoryOfLastCall
from llama_index.core.memory import Memory

from commonplace.doors.llama_index import TranscriptMemoryBlock

FACT = "The staging server Zephyr-9 listens on port 4711."
QUESTION = "Which port has the staging server Zephyr-9?"
OTHERS = [
    "Apples ripen late in our garden.",
    "My sister plays a wooden flute.",
    "Trains to Lisbon are slow and cheap.",
    "He painted that door bright green.",
    "Snow fell on every mountain pass.",
]


def converse(store: commonplace.Store, session: str, *prompts: str) -> str:
    """Say something in a session, and return all that the model has read the last time."""
    memory = Memory.from_defaults(
        session_id=session,
        # words are enough, and need no tokenizer
        tokenizer_fn=str.split,
        token_limit=60,
        chat_history_token_ratio=0.5,
        token_flush_size=10,
        memory_blocks=[TranscriptMemoryBlock(store)],
    )
    model = MockLLMWithChatMemoryOfLastCall(max_tokens=3)
    engine = SimpleChatEngine.from_defaults(llm=model, memory=memory)
    for prompt in prompts:
        engine.chat(prompt)
    return "\n".join(str(message.content) for message in model.last_chat_messages or [])


PROGRAM = """
import sys, commonplace
from tests.test_door_llama_index import FACT, OTHERS, QUESTION, converse
store = commonplace.open(sys.argv[1])
conversations = {"first": [FACT, *OTHERS], "later": [QUESTION]}
for session in sys.argv[3:]:
    print(converse(store, session, *conversations[sys.argv[2]]), end="\\f")
"""


def run(store: commonplace.Store, conversation: str, *sessions: str) -> list[str]:
    """Converse in a process of its own: the chat store of LlamaIndex is never closed."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(store.root), conversation, *sessions],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    return done.stdout.split("\f")[:-1]


@pytest.mark.slow
def test_a_conversation_is_recalled_in_another_process(opened: commonplace.Store) -> None:
    (read,) = run(opened, "first", "A")
    assert FACT not in read
    assert "<memory>" not in read
    # by another session, and by the one that has lost it
    for read in run(opened, "later", "B", "A"):
        assert FACT in read
        assert "sessions/llama-index/+a/messages.jsonl#L1" in read


def put(block: TranscriptMemoryBlock, session: str | None, *texts: str) -> None:
    asyncio.run(block.aput([ChatMessage(text) for text in texts], True, session))  # noqa: FBT003


def test_each_session_has_its_transcript(opened: commonplace.Store) -> None:
    block = TranscriptMemoryBlock(opened, name="mine", priority=2)
    put(block, "x/1", "oolong", "")
    put(block, None, "jasmine")
    paths = {text: opened.search(text, unit="message")[0].path for text in ("oolong", "jasmine")}
    assert paths == {"oolong": block.path("x/1"), "jasmine": block.path("default")}
    assert opened.status().messages == 2
    assert (block.name, block.priority) == ("mine", 2)


def test_less_is_put_in_where_there_is_no_room(opened: commonplace.Store) -> None:
    block = TranscriptMemoryBlock(opened)
    opened.write("a.md", "# Zephyr staging server\n\nIts port is 4711.\n")
    opened.write("b.md", "# Zephyr staging server\n\n" + "Port and server and staging. " * 20)
    found = asyncio.run(block.aget([ChatMessage("Which port has the staging server Zephyr?")]))
    less = asyncio.run(block.atruncate(found, 60))
    assert less
    assert len(less) <= len(found) - 240
    assert less.endswith("</memory>")
    assert asyncio.run(block.atruncate(found, 10_000)) is None
    assert not asyncio.run(block.aget([]))
    assert not asyncio.run(block.aget([ChatMessage("Good morning.")]))


def test_a_hundred_at_once(opened: commonplace.Store) -> None:
    block = TranscriptMemoryBlock(opened)

    async def run() -> None:
        assert await turns_while(block.aput([ChatMessage(f"tea {n}")]) for n in range(100)) > 20

    asyncio.run(run())
    assert opened.status().messages == 100
