"""Profile screen: entries by category, corrected in place and forgotten for good."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from commonplace.citation import located
from commonplace.errors import Conflict, InvalidArgument
from commonplace.memories.profile import Profile, users
from commonplace.web.chips import chips
from commonplace.web.memory_folders import chosen_folder, memory_address
from commonplace.web.page import Page, page_route, whole_number
from commonplace.web.paging import after, part

if TYPE_CHECKING:
    from starlette.responses import Response

    from commonplace.memories.profile.reader import ProfileEntry

ADDRESS = "/memory/profile"
MOST = 100
"""Entries on a page."""
MOST_READ = 1_000_000
MOST_PASSAGES = 50
"""Passages on a page of what would be erased."""
LONGEST_PASSAGE = 4_000
"""Characters of a passage there; its citation leads to the whole."""


def profile(page: Page) -> Response:
    """Return the entries of a profile, of one category or of all."""
    memory, folder, user = _profile(page)
    category = page.query.get("category") or None
    past = page.query.get("past") == "1"
    # read whole in any case; a place is told by the last entry that was shown
    found = memory.entries(category, limit=MOST_READ, past=past)
    start = after(found, page.query.get("after", ""), _citation)
    shown = part(page, found, MOST, _citation, start=start)
    versions = {path: page.store.version(path) for path in {_path(one) for one in shown.entries}}
    by_category: dict[str, list[tuple[ProfileEntry, str | None]]] = {}
    for one in shown.entries:
        by_category.setdefault(one.category, []).append((one, versions[_path(one)]))
    return page.render(
        "profile.html",
        folder=folder,
        user=user,
        users=chips(
            page, "user", dict.fromkeys(users(page.store, folder), ""), user, keeps=("folder",)
        ),
        categories=chips(
            page,
            "category",
            {name: f"{count:,}" for name, count in memory.categories().items()},
            category or "",
            keeps=("folder", "user", "past"),
        ),
        past=past,
        today=datetime.now(UTC).date(),
        entries=by_category,
        part=shown,
    )


def correct(page: Page) -> Response:
    """Put other words in the place of an entry; on a conflict show both texts."""
    memory, folder, user = _profile(page)
    citation, content = page.form.get("citation", ""), page.form.get("content", "").strip()
    try:
        memory.correct(citation, content, expected_version=page.form.get("version") or None)
    except Conflict:
        path = located(citation)[0]
        entries = memory.entries(limit=MOST_READ, past=True)
        near = [one for one in entries if _path(one) == path]
        return page.render(
            "profile_conflict.html",
            status=409,
            folder=folder,
            user=user,
            content=content,
            now=next((one for one in near if one.citation == citation), None),
            version=page.store.version(path),
            back=_back(page, folder, user),
        )
    return page.redirect(f"{_back(page, folder, user)}#{_anchor(citation)}")


def forget(page: Page) -> Response:
    """Show all that would be erased with a text or an entry; erase it when that is confirmed."""
    memory, folder, user = _profile(page)
    what, token = page.form.get("what", "").strip(), page.form.get("token", "")
    if not what:
        raise InvalidArgument(page.text("Say what to forget: a text or a citation."))
    changed = False
    if token:
        try:
            memory.forget(what, token)
        except Conflict:
            # something else would go by now: it is shown anew
            changed = True
        else:
            return page.redirect(_back(page, folder, user))
    plan = memory.plan_forget(what)
    start = min(max(whole_number(page.form.get("start", "0")), 0), len(plan.passages))
    is_empty = not (plan.passages or plan.files or plan.revisions)
    return page.render(
        "forget.html",
        status=409 if changed else 200,
        folder=folder,
        user=user,
        what=what,
        plan=None if is_empty else plan,
        start=start,
        most=MOST_PASSAGES,
        longest=LONGEST_PASSAGE,
        similar=memory.forget(what).get("similar", []) if is_empty else [],
        changed=changed,
        back=_back(page, folder, user),
    )


def _profile(page: Page) -> tuple[Profile, str, str]:
    """Return the profile that is asked for, with its folder and its user; both may be empty."""
    folder, user = chosen_folder(page), (page.form or page.query).get("user", "")
    return Profile(page.store, user=user or None, folder=folder), folder, user


def _citation(entry: ProfileEntry) -> str:
    return entry.citation


def _path(entry: ProfileEntry) -> str:
    return entry.citation.rpartition("#")[0]


def _anchor(citation: str) -> str:
    return citation.partition("#")[2]


def _back(page: Page, folder: str, user: str) -> str:
    """Return the address that a change goes back to: the part of the list that it came from."""
    given: str = page.form.get("back", "")
    is_own = given.partition("?")[0] == ADDRESS
    return given if is_own else memory_address(ADDRESS, folder=folder, user=user)


ROUTES = [
    page_route(ADDRESS, profile),
    page_route(f"{ADDRESS}/correct", correct, change=True),
    page_route(f"{ADDRESS}/forget", forget, change=True),
]
