"""Search screen: notes, answered turns and statements in one list, as the reader types."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from commonplace.web.addresses import lines_address
from commonplace.web.memory_folders import known_folders
from commonplace.web.note_index import shared_index
from commonplace.web.page import Page, page_route, whole_number
from commonplace.web.score_parts import ScorePart, bar, explained_parts
from commonplace.web.search_filters import choices, contradiction, given_filter
from commonplace.web.session_table import shared_sessions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from commonplace._core import Hit, SearchFilter, Session
    from commonplace.recall import HybridHit

TITLE, ADDRESS = "Search", "/"
FEW, MANY = 20, 200
"""Hits on a page, and on all pages of a query."""
RECENT = 5
"""Sessions below the empty search."""
BAR = 72
"""Width of the bar of the best hit; those of others are shorter by their score."""


@dataclass(frozen=True)
class Result:
    """A hit as the list shows it."""

    hit: Hit | HybridHit
    kind: str
    """`turn`, `message`, `statement` (a list item of a note) or `note` (a section)."""
    address: str
    parts: list[ScorePart]
    bar: list[tuple[float, float, int]]


def search(page: Page) -> Response:
    """Return the hits of a query, or the empty form; for a script the list alone."""
    query = page.query.get("q", "").strip()
    start = min(max(whole_number(page.query.get("from", "0")), 0), MANY - FEW)
    results: list[Result] = []
    values: dict[str, Any] = {
        "query": query,
        "results": results,
        "start": start,
        "more": None,
        "most": MANY,
        "notes": [],
        "choices": choices(page),
    }
    if query and (why := contradiction(page.query)):
        values["notes"] = [page.text(why)]
        values["confidence"] = values["took"] = 0.0
        _filter(page)
    elif query:
        began = time.perf_counter()
        # a page more than is shown: what was written meanwhile may stand before the last one shown
        hits = page.store.search(query, start + 2 * FEW, meaning=None, filter=_filter(page))
        values["start"] = start = _behind(hits, page.query.get("after", ""), start)
        shown = hits[start : start + FEW]
        results += [_result(page, query, hit, hits[0].score) for hit in shown]
        values |= {
            "notes": hits.notes,
            "confidence": hits.confidence,
            "took": (time.perf_counter() - began) * 1000,
        }
        if len(hits) > start + FEW and start + FEW < MANY:
            cursor = {"from": str(start + FEW), "after": shown[-1].citation}
            values["more"] = page.address(**cursor)
    if page.is_part:
        return page.render("search_results.html", **values)
    return page.render("search.html", counts=lambda: _counts(page), few=RECENT, **values)


def _behind(hits: Sequence[Hit | HybridHit], citation: str, rank: int) -> int:
    """Return the rank behind a hit that was shown; where it is gone, the one that it had."""
    return next((at for at, hit in enumerate(hits, 1) if hit.citation == citation), rank)


def _filter(page: Page) -> SearchFilter:
    folders = known_folders(page) if page.query.get("system") else ()
    return given_filter(page.query, folders)


def _counts(page: Page) -> tuple[int, list[Session], int]:
    """Return how many notes there are, the sessions, and how many messages."""
    listed = shared_sessions(page.frame).of()
    return shared_index(page.frame).notes(), listed.sessions, listed.messages


def _result(page: Page, query: str, hit: Hit | HybridHit, best: float) -> Result:
    if hit.source != "note":
        kind = "turn" if hit.is_turn else "message"
    else:
        kind = "statement" if hit.text.lstrip().startswith(("- ", "* ", "+ ")) else "note"
    # of what is archived no parts are known
    parts = [] if hit.archived else explained_parts(page.store, query, _cited(hit))
    width = BAR * hit.score / best if best > 0 else 0.0
    return Result(hit, kind, lines_address(hit), parts, bar(parts, width))


def _cited(hit: Hit | HybridHit) -> str:
    """Return the citation by which a hit is explained: a turn of one message is a range as well."""
    path, _, lines = hit.citation.rpartition("#")
    is_line = hit.is_turn and "-" not in lines
    return f"{path}#{lines}-{lines}" if is_line else hit.citation


ROUTES = [page_route(ADDRESS, search)]
