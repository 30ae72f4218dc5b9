"""Folders of a store in which the layout of a memory begins."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from commonplace.errors import NotFound
from commonplace.web.chips import Chips, chips
from commonplace.web.note_index import NoteIndex, shared_index

if TYPE_CHECKING:
    from commonplace.web.page import Page

MARKS = {"agents", "episodes", "procedures", "users", "world"}
"""Folders by which a memory is told from other notes, beside the note `MEMORY.md`."""
PARTS = {"agents", "archive", "sessions", "users"}
"""Folders of a memory, in which no other memory begins but that of an agent."""


def memory_folders(index: NoteIndex) -> list[str]:
    """Return the folders below the root in which memories lie, in order."""
    return index.layouts(_begin)


def _begin(folders: Collection[str], files: Collection[str]) -> list[str]:
    found = set()
    for path in folders:
        above, _, name = path.rpartition("/")
        if name in MARKS and above and _is_place(above, own=name == "episodes"):
            found.add(above)
        if path and _is_place(path) and f"{path}/MEMORY.md" in files:
            found.add(path)
    return sorted(found)


def known_folders(page: Page) -> list[str]:
    """Return the folders below the root in which memories lie, as a page offers them."""
    return memory_folders(shared_index(page.frame))


def _is_place(path: str, *, own: bool = False) -> bool:
    """Say whether a memory may begin in a folder.

    Args:
        path: The folder.
        own: Whether it may be what an agent of `FourLayers(shared=False)` has for itself.
    """
    *above, _ = path.split("/")
    return path.rpartition("/")[2] not in PARTS and not PARTS.intersection(
        above[:-1] if own and above and above[-1] == "agents" else above
    )


def folder_chips(page: Page) -> Chips:
    """Return the folders below the root in which memories lie, to choose from."""
    chosen = page.query.get("folder", "").strip("/")
    return chips(page, "folder", dict.fromkeys(known_folders(page), ""), chosen, label="{}/".format)


def chosen_folder(page: Page) -> str:
    """Return the folder whose memories are asked for; empty for the root.

    Raises:
        NotFound: No memory lies there.
    """
    folder: str = (page.form or page.query).get("folder", "").strip("/")
    if folder and folder not in known_folders(page):
        raise NotFound(page.text("There is no memory in this folder."))
    return folder


def memory_address(address: str, **given: str) -> str:
    """Return the address of a memory screen, with what of its query is not empty.

    >>> memory_address("/memory/profile", folder="team", user="")
    '/memory/profile?folder=team'
    """
    values = {name: value for name, value in given.items() if value}
    return f"{address}?{urlencode(values)}" if values else address
