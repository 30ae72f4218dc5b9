"""Memory screens: what each of the five systems holds, in its own terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.web import profile_page, systems_page
from commonplace.web.memory_folders import chosen_folder
from commonplace.web.note_index import shared_index
from commonplace.web.page import Page, page_route

if TYPE_CHECKING:
    from starlette.responses import Response

TITLE, ADDRESS = "Memory", "/memory"

SYSTEMS = (
    (
        "Profile",
        profile_page.ADDRESS,
        "What is known of a user, by category: since when, and who said it.",
        ("MEMORY.md", "memory", "users"),
    ),
    (
        "World and agents",
        "/memory/agents",
        "Facts that all agents share, and a memory and a diary for each agent.",
        ("world", "agents"),
    ),
    (
        "Four layers",
        "/memory/layers",
        "Episodes, facts and rules, and what was compacted into what.",
        ("episodes", "facts", "procedures", "archive"),
    ),
    (
        "Overview and detail",
        "/memory/sessions",
        "The overview, the details and the commits of a session.",
        ("sessions",),
    ),
    (
        "Facts and episodes",
        "/memory/episodes",
        "What happened, month by month, beside the files of facts.",
        ("episodes", "facts", "archive/episodes"),
    ),
)
"""Title, address, what it is about, and where its files lie."""


def memory(page: Page) -> Response:
    """Return the five systems, each with whether it has files here."""
    index, folder = shared_index(page.frame), chosen_folder(page)
    base = f"{folder}/" if folder else ""
    systems = []
    for title, address, what, places in SYSTEMS:
        # what sessions have lies at the root only
        names = places if address == "/memory/sessions" else [base + place for place in places]
        systems.append((title, address, what, any(map(index.holds, names)), names))
    return page.render("memory.html", systems=systems, folder=folder)


ROUTES = [page_route(ADDRESS, memory), *profile_page.ROUTES, *systems_page.ROUTES]
