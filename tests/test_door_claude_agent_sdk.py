"""Session store of the Claude Agent SDK: its own conformance suite, ids seen twice, search."""

from __future__ import annotations

import asyncio
import tempfile
from typing import Any

import pytest

import commonplace
from tests.loop_ticks import BLOCKED, turns_while

pytest.importorskip("claude_agent_sdk", reason="comes with the extra `doors`")

from claude_agent_sdk.testing import run_session_store_conformance
from claude_agent_sdk.types import SessionKey

from commonplace.doors.claude_agent_sdk import SessionStore

KEY: SessionKey = {"project_key": "-home-me-App", "session_id": "0198c1d2-7aaa"}


def entry(number: int, **more: Any) -> Any:
    said = {"role": "user", "content": f"The ferry number {number} leaves at noon."}
    return {
        "type": "user",
        "uuid": f"u{number}",
        "sessionId": "0198c1d2-7aaa",
        "message": said,
    } | more


def test_conformance() -> None:
    def fresh() -> Any:
        return SessionStore(commonplace.open(tempfile.mkdtemp(), watch=False))

    asyncio.run(run_session_store_conformance(fresh))


def test_an_entry_comes_in_once(opened: commonplace.Store) -> None:
    async def run() -> None:
        first, second = SessionStore(opened), SessionStore(opened)
        await first.append(KEY, [entry(1), entry(2)])
        await second.append(KEY, [entry(2), entry(3), {"type": "mode"}])
        await first.append(KEY, [entry(3), {"type": "mode"}])
        mode = {"type": "mode"}
        assert await first.load(KEY) == [entry(1), entry(2), entry(3), mode, mode]

    asyncio.run(run())


def test_sessions_are_searched(opened: commonplace.Store) -> None:
    asyncio.run(SessionStore(opened).append(KEY, [entry(7)]))
    (hit,) = opened.search("when does the ferry leave")
    assert hit.path == "sessions/%2dhome-me-+app/0198c1d2-7aaa/messages.jsonl"


def test_a_hundred_at_once(opened: commonplace.Store) -> None:
    store = SessionStore(opened)

    async def run() -> None:
        assert (
            await turns_while(store.append(KEY, [entry(number)]) for number in range(100)) > BLOCKED
        )
        loaded = await store.load(KEY)
        assert {one["uuid"] for one in loaded or ()} == {f"u{number}" for number in range(100)}

    asyncio.run(run())
