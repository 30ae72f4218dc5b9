"""Listing of agents, world notes and diaries, for a person who looks at all of them."""

from __future__ import annotations

from datetime import date
from typing import NamedTuple

from commonplace.memories.world_and_agents import topics
from commonplace.store import Store


class WorldNote(NamedTuple):
    """A note that all agents share; `modified` is in seconds since 1970."""

    topic: str
    path: str
    modified: float


def agents(store: Store, folder: str = "") -> list[str]:
    r"""Return the ids of the agents that have a memory or a diary, in alphabetical order.

    >>> import commonplace, tempfile
    >>> from commonplace.memories import WorldAndAgents
    >>> store = commonplace.open(tempfile.mkdtemp())
    >>> _ = WorldAndAgents(store, "planner").remember("The ferry was late.")
    >>> agents(store)
    ['planner']
    """
    base = f"{_base(folder)}agents/"
    names = (entry.path.removeprefix(base).split("/") for entry in store.list(base))
    known = {parts[0] for parts in names if parts[1:] == ["MEMORY.md"] or "daily" in parts[1:2]}
    return sorted(known)


def world(store: Store, folder: str = "", *, limit: int = 100, after: str = "") -> list[WorldNote]:
    """Return the notes of the shared world, by path.

    Args:
        store: Where they are.
        folder: Where the layout begins.
        limit: Most notes to return.
        after: The path of a note: only those behind it.
    """
    base = f"{_base(folder)}world"
    found = [one for one in store.list(base) if one.kind == "note" and one.path > after][:limit]
    return [
        WorldNote(
            topics.unmarked(topics.name_of(base, one.path), store.read(one.path))[0],
            one.path,
            one.modified,
        )
        for one in found
    ]


def diary(store: Store, agent: str, folder: str = "") -> list[tuple[date, str]]:
    """Return the days of an agent's diary with the paths of their pages, newest first."""
    base = f"{_base(folder)}agents/{agent}/daily/"
    pages = []
    for entry in store.list(base):
        name = entry.path.removeprefix(base).removesuffix(".md")
        try:
            day = date.fromisoformat(name)
        except ValueError:
            continue
        # there are other ways to write a day
        if day.isoformat() == name:
            pages.append((day, entry.path))
    return sorted(pages, reverse=True)


def _base(folder: str) -> str:
    return f"{folder.strip('/')}/".lstrip("/")
