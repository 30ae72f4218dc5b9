"""Profile screen: entries by category, corrected in place and forgotten for good."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from commonplace.citation import located
from commonplace.errors import Conflict, InvalidArgument
from commonplace.memories.profile import Profile, users
from commonplace.web.page import Page, page_route

if TYPE_CHECKING:
    from starlette.responses import Response

    from commonplace.memories.profile.reader import ProfileEntry

ADDRESS = "/memory/profile"
MOST = 100
"""Entries on a page."""


def profile(page: Page) -> Response:
    """Return the entries of a profile, of one category or of all."""
    memory, user = _profile(page, page.query.get("user", ""))
    category = page.query.get("category") or None
    past = page.query.get("past") == "1"
    start = _number(page.query.get("start", ""))
    found = memory.entries(category, limit=MOST + 1, start=start, past=past)
    shown = found[:MOST]
    versions = {path: page.store.version(path) for path in {_path(one) for one in shown}}
    by_category: dict[str, list[tuple[ProfileEntry, str | None]]] = {}
    for one in shown:
        by_category.setdefault(one.category, []).append((one, versions[_path(one)]))
    return page.render(
        "profile.html",
        user=user,
        users=users(page.store),
        categories=memory.categories(),
        category=category,
        past=past,
        today=datetime.now(UTC).date(),
        entries=by_category,
        before=page.address(start=str(max(0, start - MOST))) if start else None,
        after=page.address(start=str(start + MOST)) if len(found) > MOST else None,
    )


def correct(page: Page) -> Response:
    """Put other words in the place of an entry; on a conflict show both texts."""
    memory, user = _profile(page, page.form.get("user", ""))
    citation, content = page.form.get("citation", ""), page.form.get("content", "").strip()
    try:
        memory.correct(citation, content, expected_version=page.form.get("version") or None)
    except Conflict:
        path = located(citation)[0]
        entries = memory.entries(limit=10_000, past=True)
        near = [one for one in entries if _path(one) == path]
        return page.render(
            "profile_conflict.html",
            status=409,
            user=user,
            content=content,
            now=next((one for one in near if one.citation == citation), None),
            version=page.store.version(path),
            back=_address(user),
        )
    return page.redirect(f"{_address(user)}#{_anchor(citation)}")


def forget(page: Page) -> Response:
    """Show what would be erased with a text or an entry, and erase it when that is confirmed."""
    memory, user = _profile(page, page.form.get("user", ""))
    what, token = page.form.get("what", "").strip(), page.form.get("token", "")
    if not what:
        raise InvalidArgument(page.text("Say what to forget: a text or a citation."))
    try:
        plan = memory.forget(what, token)
    except Conflict as error:
        # something else would go by now: it is shown anew
        return page.render(
            "forget.html",
            status=409,
            user=user,
            what=what,
            plan=memory.forget(what),
            changed=str(error),
            back=_address(user),
        )
    if plan["erased"]:
        return page.redirect(_address(user))
    return page.render(
        "forget.html", user=user, what=what, plan=plan, changed="", back=_address(user)
    )


def _profile(page: Page, user: str) -> tuple[Profile, str]:
    """Return the profile of a user, of the only one where none is named."""
    return Profile(page.store, user=user or None), user


def _path(entry: ProfileEntry) -> str:
    return located(entry.citation)[0]


def _anchor(citation: str) -> str:
    return citation.partition("#")[2]


def _address(user: str) -> str:
    return f"{ADDRESS}?{urlencode({'user': user})}" if user else ADDRESS


def _number(text: str) -> int:
    return int(text[:9]) if text.isdecimal() else 0


ROUTES = [
    page_route(ADDRESS, profile),
    page_route(f"{ADDRESS}/correct", correct, change=True),
    page_route(f"{ADDRESS}/forget", forget, change=True),
]
