"""Search screen: notes, answered turns and statements in one list, as the reader types."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from commonplace.web.addresses import lines_address
from commonplace.web.memory_place import known_folders
from commonplace.web.note_index import shared_index
from commonplace.web.page import Page, page_route, whole_number
from commonplace.web.score_parts import ScorePart, bar, explained_parts
from commonplace.web.search_filters import choices, given_filter
from commonplace.web.session_table import shared_sessions

if TYPE_CHECKING:
    from starlette.responses import Response

    from commonplace._core import Hit, SearchFilter

TITLE, ADDRESS = "Search", "/"
FEW, MANY = 20, 200
BAR = 72
"""Width of the bar of the best hit; those of others are shorter by their score."""


@dataclass(frozen=True)
class Result:
    """A hit as the list shows it."""

    hit: Hit
    kind: str
    """`turn`, `message`, `statement` (a list item of a note) or `note` (a section)."""
    address: str
    parts: list[ScorePart]
    bar: list[tuple[float, float, int]]


def search(page: Page) -> Response:
    """Return the hits of a query, or the empty form; for a script the list alone."""
    query = page.query.get("q", "").strip()
    limit = min(max(whole_number(page.query.get("n", str(FEW))), 1), MANY)
    results: list[Result] = []
    values: dict[str, Any] = {
        "query": query,
        "results": results,
        "more": None,
        "notes": [],
        "choices": choices(page),
    }
    if query:
        began = time.perf_counter()
        # one more than is shown says whether there are more
        hits = page.store.search(query, limit + 1, filter=_filter(page))
        results += [_result(page, query, hit, hits[0].score) for hit in hits[:limit]]
        values |= {
            "notes": hits.notes,
            "confidence": hits.confidence,
            "took": (time.perf_counter() - began) * 1000,
        }
        if len(hits) > limit and limit < MANY:
            values["more"] = page.address(n=str(min(limit + 2 * FEW, MANY)))
    if page.is_part:
        return page.render("search_results.html", **values)
    return page.render("search.html", counts=lambda: _counts(page), **values)


def _filter(page: Page) -> SearchFilter:
    folders = known_folders(page) if page.query.get("system") else ()
    return given_filter(page.query, folders)


def _counts(page: Page) -> tuple[int, int, int]:
    """Return how many notes, sessions and messages there are."""
    listed = shared_sessions(page.frame).of()
    return shared_index(page.frame).notes(), len(listed.sessions), listed.messages


def _result(page: Page, query: str, hit: Hit, best: float) -> Result:
    if hit.source != "note":
        kind = "turn" if hit.is_turn else "message"
    else:
        kind = "statement" if hit.text.lstrip().startswith(("- ", "* ", "+ ")) else "note"
    # of what is archived no parts are known
    parts = [] if hit.archived else explained_parts(page.store, query, hit.citation)
    width = BAR * hit.score / best if best > 0 else 0.0
    return Result(hit, kind, lines_address(hit), parts, bar(parts, width))


ROUTES = [page_route(ADDRESS, search)]
