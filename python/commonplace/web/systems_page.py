"""Screens of agents with the shared world, the four layers, session memories, and episodes."""

from __future__ import annotations

import difflib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, get_args

from commonplace.byte_sizes import size
from commonplace.errors import CommonplaceError, NotFound
from commonplace.memories.facts_and_episodes.timeline import episodes as episodes_of
from commonplace.memories.facts_and_episodes.timeline import months
from commonplace.memories.four_layers import FourLayers
from commonplace.memories.four_layers.types import Layer
from commonplace.memories.overview_and_detail.branches import Branches
from commonplace.memories.overview_and_detail.detail import parse_detail
from commonplace.memories.overview_and_detail.folder import WORKING_MEMORY, folders_with_memory
from commonplace.memories.world_and_agents.listing import agents as agents_of
from commonplace.memories.world_and_agents.listing import diary, world
from commonplace.web.chips import chips
from commonplace.web.memory_folders import chosen_folder
from commonplace.web.page import Page, page_route
from commonplace.web.paging import after, part

if TYPE_CHECKING:
    from starlette.responses import Response

MOST = 50
"""Entries on a page."""
RENDERED = 20
"""Entries on a page that are rendered."""
DAYS = 10
"""Days of a diary on a page."""
LAYERS: tuple[Layer, ...] = get_args(Layer)


def agents(page: Page) -> Response:
    """Return the shared world beside the memory and the diary of one agent."""
    store, folder = page.store, chosen_folder(page)
    known = agents_of(store, folder)
    agent = page.query.get("agent") or (known[0] if known else "")
    if known and agent not in known:
        raise NotFound(page.text("There is no such page."))
    shared = world(store, folder, limit=RENDERED + 1, after=page.query.get("after", ""))
    topics = part(page, shared, RENDERED, lambda one: one.path, start=0)
    days = diary(store, agent, folder) if agent else []
    memory_path = f"{folder}/agents/{agent}/MEMORY.md".lstrip("/")
    until = page.query.get("until", "")
    older = [one for one in days if not until or one[0].isoformat() < until]
    shown = part(page, older, DAYS, lambda one: one[0].isoformat(), name="until", start=0)
    return page.render(
        "agents.html",
        agents=chips(page, "agent", dict.fromkeys(known, ""), agent, keeps=("folder",)),
        agent=agent,
        world=[(note, _text(page, note.path)) for note in topics.entries],
        topics=topics,
        folder=folder,
        memory_path=memory_path,
        memory=_text(page, memory_path) if agent else "",
        diary=[(day, path, _text(page, path)) for day, path in shown.entries],
        days=shown,
    )


def layers(page: Page) -> Response:
    """Return the entries of a layer, newest first, and what of it was compacted into what."""
    # what it has read of the notes it keeps until they change
    folder = chosen_folder(page)
    memories: dict[str, FourLayers] = page.frame.shared.setdefault("four layers", {})
    memory = memories.setdefault(folder, FourLayers(page.store, folder))
    asked = page.query.get("layer", "")
    layer: Layer = next((one for one in LAYERS if one == asked), "episodic")
    archived = page.query.get("archived") == "1"
    counts = [(one, len(memory.cited(one)), len(memory.archived(one))) for one in LAYERS]
    held = (memory.archived if archived else memory.cited)(layer)[::-1]
    start = after(held, page.query.get("after", ""), lambda one: one[1], newest_first=True)
    shown = part(page, held, MOST, lambda one: one[1], start=start)
    return page.render(
        "layers.html",
        folder=folder,
        counts=counts,
        layer=layer,
        archived=archived,
        entries=[(entry, citation, _moment(entry.timestamp)) for entry, citation in shown.entries],
        part=shown,
    )


def sessions(page: Page) -> Response:
    """Return the sessions that have an overview, details or commits."""
    folders = [one for one in folders_with_memory(page.store) if one > page.query.get("after", "")]
    found = part(page, folders, MOST, str, start=0)
    shown = []
    for folder in found.entries:
        branches = _branches(page, folder)
        log = branches.commits.all()
        details = len([one for one in branches.files(branches.active) if one != "overview.md"])
        shown.append((folder, branches.active, details, len(log), log[-1] if log else None))
    return page.render(
        "session_memories.html",
        sessions=shown,
        part=found,
    )


def session(page: Page) -> Response:
    """Return overview, details and commits of a session, or a note as it was in a commit."""
    folder = page.path["folder"]
    if folder not in folders_with_memory(page.store):
        raise NotFound(page.text("There is no such page."))
    branches = _branches(page, folder)
    branch = page.query.get("branch") or branches.active
    if branch not in branches.names():
        raise NotFound(page.text("There is no such page."))
    workspace = branches.workspace(branch)
    values: dict[str, Any] = {
        "then": None,
        "file": "",
        "difference": [],
        "commit": None,
        "files": None,
    }
    if name := page.query.get("commit"):
        commit = branches.commits.find(name)
        file = page.query.get("file") or next(iter(commit.files), "")
        then = branches.text(commit, file) if file else ""
        now = _text(page, f"{workspace}/{file}")
        values = {
            "commit": commit,
            "files": chips(
                page, "file", dict.fromkeys(commit.files, ""), file, keeps=("branch", "commit")
            ),
            "file": file,
            "then": then,
            "difference": _difference(then, now),
        }
    paths = [one for one in branches.files(branch) if one != "overview.md"]
    details = part(page, paths, MOST, str, name="detail")
    commits = part(page, branches.log(branch)[::-1], MOST, lambda one: one.id, name="before")
    return page.render(
        "session_memory.html",
        folder=folder,
        session=folder.rpartition("/")[2],
        branches=chips(page, "branch", dict.fromkeys(branches.names(), ""), branch),
        branch=branch,
        active=branches.active,
        workspace=workspace,
        overview=_text(page, f"{workspace}/overview.md"),
        notes=[
            (path, parse_detail(path.rpartition("/")[2], _text(page, f"{workspace}/{path}")))
            for path in details.entries
        ],
        details=details,
        commits=commits,
        **values,
    )


def episodes(page: Page) -> Response:
    """Return the months, and the entries of one."""
    folder = chosen_folder(page)
    known = months(page.store, folder)
    name = page.query.get("month") or (known[0].name if known else "")
    month = next((one for one in known if one.name == name), None)
    if known and month is None:
        raise NotFound(page.text("There is no such page."))
    found = list(episodes_of(page.store, month)) if month else []
    start = after(found, page.query.get("after", ""), lambda one: one.citation)
    shown = part(page, found, RENDERED, lambda one: one.citation, start=start)
    behind = page.query.get("facts", "")
    listed = page.store.list(f"{folder}/facts".lstrip("/"))
    facts = [one for one in listed if one.kind == "note" and one.path > behind]
    return page.render(
        "episodes.html",
        folder=folder,
        months=chips(
            page,
            "month",
            {one.name: size(one.size) for one in known},
            month.name if month else "",
            keeps=("folder",),
        ),
        month=month,
        episodes=shown,
        facts=part(page, facts, MOST, lambda one: one.path, name="facts", start=0),
    )


def _branches(page: Page, folder: str) -> Branches:
    return Branches(page.store, f"{folder}/{WORKING_MEMORY}", lambda: datetime.now(UTC))


def _text(page: Page, path: str) -> str:
    """Return the text of a file; empty where it is gone, and why where it cannot be read."""
    try:
        return page.store.read(path)
    except NotFound:
        return ""
    except CommonplaceError as error:
        return str(error)


def _moment(milliseconds: float) -> float | None:
    """Return a time in seconds; None for one that no calendar has."""
    seconds = milliseconds / 1000
    return seconds if 0 < seconds < datetime.max.replace(tzinfo=UTC).timestamp() else None


def _difference(then: str, now: str) -> list[tuple[str, str]]:
    """Return the lines of a unified diff with what each is."""
    kinds = {"+": "added", "-": "removed", "@": "place"}
    lines = difflib.unified_diff(then.splitlines(), now.splitlines(), lineterm="", n=2)
    return [(kinds.get(line[:1], "same"), line) for line in list(lines)[2:]]


ROUTES = [
    page_route("/memory/agents", agents),
    page_route("/memory/layers", layers),
    page_route("/memory/sessions", sessions),
    page_route("/memory/session/{folder:path}", session),
    page_route("/memory/episodes", episodes),
]
