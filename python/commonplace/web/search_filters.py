"""Filters of the search screen: what can be chosen, and the search filter that a choice makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from commonplace._core import SearchFilter
from commonplace.errors import QueryError
from commonplace.web.session_table import shared_sessions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from commonplace.web.page import Page

SYSTEMS = {
    "profile": ("Profile", ("MEMORY.md", "memory", "users")),
    "facts": ("Facts and episodes", ("facts", "episodes")),
    "layers": ("Four layers", ("facts", "episodes", "procedures", "archive")),
    "world": ("World and agents", ("world", "agents")),
    "sessions": ("Overview and detail", ("sessions",)),
}
"""Name and places of each memory system at the root of a store, as it lays them out by default."""
SOURCES = {"note": "Notes", "message": "Conversations"}
ROLES = {"user": "Said by you", "assistant": "Said by the model"}
SINCE = {"1d": "Past day", "1w": "Past week", "4w": "Past four weeks", "52w": "Past year"}
MOST_PROJECTS = 40


@dataclass(frozen=True)
class Choice:
    """One filter as a list to choose from: the name of its field, and labels by value."""

    name: str
    label: str
    options: Mapping[str, str]
    chosen: str


def choices(page: Page) -> list[Choice]:
    """Return the filters that there are, with what the address chooses."""
    projects = {name: name for name in _projects(page)}
    systems = {name: page.text(label) for name, (label, _) in SYSTEMS.items()}

    def named(table: Mapping[str, str]) -> dict[str, str]:
        return {value: page.text(label) for value, label in table.items()}

    offered = [
        ("source", "Anything", named(SOURCES)),
        ("project", "Any project", projects),
        ("system", "Any memory", systems),
        ("role", "Anybody", named(ROLES)),
        ("since", "Any time", named(SINCE)),
    ]
    found = []
    for name, label, options in offered:
        chosen = page.query.get(name, "")
        if chosen and chosen not in options:
            # a link may name another project, role or time
            options |= {chosen: chosen}
        found.append(Choice(name, page.text(label), options, chosen))
    return found


def given_filter(query: Mapping[str, str], folders: Iterable[str] = ()) -> SearchFilter:
    """Return the search filter that the fields of an address make.

    Args:
        query: The fields.
        folders: Where memories lie beside the root.

    Raises:
        QueryError: Nothing can pass it.
        ValueError: A field has no such value.

    >>> given_filter({"project": "tea", "role": "user"})
    SearchFilter(prefix=('sessions/tea',), role='user')
    """
    fields: dict[str, Any] = {
        name: query[name] for name in ("source", "role", "since") if query.get(name)
    }
    project, system = query.get("project"), query.get("system")
    if system:
        if system not in SYSTEMS:
            raise QueryError(f"there is no memory system {system!r:.40}")
        # what a system keeps are notes, beside the transcripts of the same sessions
        places = SYSTEMS[system][1]
        below = [f"{folder}/{place}" for folder in folders for place in places]
        fields |= {"prefix": [*places, *below], "source": fields.get("source", "note")}
    if project:
        # of a system as well: the notes that it keeps beside the sessions
        fields["prefix"] = [f"sessions/{project}"]
    return SearchFilter(**fields)


def contradiction(query: Mapping[str, str]) -> str | None:
    """Return why nothing can pass all the filters of an address; None where something can.

    >>> contradiction({"project": "tea", "system": "profile"})
    'This memory is not divided by project.'
    >>> contradiction({"project": "tea", "role": "user"})
    """
    source, system = query.get("source"), query.get("system")
    if system and source == "message":
        return "A memory is made of notes, not of conversations."
    if query.get("role") and (system or source == "note"):
        return "Notes have no speaker; only conversations do."
    if query.get("project") and system and system != "sessions":
        return "This memory is not divided by project."
    return None


def _projects(page: Page) -> list[str]:
    """Return the projects with most sessions, by name."""
    return sorted([*shared_sessions(page.frame).of().projects][:MOST_PROJECTS])
