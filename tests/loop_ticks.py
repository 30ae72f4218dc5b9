"""Measure of an event loop: whether it still turns while calls of a door run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable

BLOCKED = 3
"""Turns of a loop that is blocked, at most; how often a free one turns depends on the machine."""


async def turns_while(work: Iterable[Awaitable[object]]) -> int:
    """Run all of it at once, and return how often the loop turned meanwhile."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    counting = asyncio.create_task(count())
    try:
        await asyncio.gather(*work)
    finally:
        counting.cancel()
    return turns
