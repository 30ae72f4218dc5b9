"""Health screen: what the index holds, what is wrong with files, growth, times, what runs now."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from starlette.responses import StreamingResponse
from starlette.routing import Route

from commonplace.progress import FOLDER, lost, running
from commonplace.web.import_page import import_run
from commonplace.web.page import Page, page_route
from commonplace.web.paging import Part, part
from commonplace.web.plots import bars, points, quantile
from commonplace.web.store_counts import shared_counts
from commonplace.web.timings import Timings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from commonplace.web.page import Frame

TITLE, ADDRESS = "Health", "/health"
PROGRESS = f"{ADDRESS}/progress"
MOST = 100
"""Files of a part of a list."""
INTERVAL = 0.5
"""Seconds between two looks at what runs."""


def health(page: Page) -> Response:
    """Return the state of the store, with plots of its growth and of the times of answers."""
    count, files = shared_counts(page.frame).latest(), page.store.side_files(FOLDER)
    timings: Timings = page.frame.shared.setdefault("timings", Timings())
    searches, pages = list(timings.searches), list(timings.pages)
    hits = page.store.search("a", 1)
    return page.render(
        "health.html",
        state=count.status,
        counted=count.time,
        freshness=hits.freshness,
        running=running(files),
        lost=lost(files),
        bad_lines=_listed(page, "bad", count.status.bad_lines),
        skipped=_listed(page, "skipped", [f"{path}\n{why}" for path, why in count.status.skipped]),
        recovered=_listed(page, "recovered", count.status.recovered),
        hidden=_listed(page, "hidden", count.status.hidden),
        growth=[
            (title, bars(title, one.months), one)
            for title, one in (
                (page.text("Messages by month"), count.messages),
                (page.text("Notes by month of their last change"), count.notes),
            )
            if one.months
        ],
        times=points(page.text("Times of the last searches"), searches, " ms")
        if len(searches) > 1
        else "",
        searches=[len(searches), quantile(searches, 0.5), quantile(searches, 0.95)],
        pages=[len(pages), quantile(pages, 0.5), quantile(pages, 0.95)],
    )


def _listed(page: Page, name: str, found: Sequence[str]) -> Part[str]:
    return part(page, found, MOST, str, name=name)


async def progress(request: Request) -> Response:
    """Stream what runs, whenever it changes, as server-sent events."""
    frame = request.app.state.frame
    return StreamingResponse(_events(request, frame), media_type="text/event-stream")


async def _events(request: Request, frame: Frame) -> AsyncIterator[str]:
    last: dict[str, object] | None = None
    quiet = 0.0
    while not await request.is_disconnected():
        told = await asyncio.to_thread(_told, frame)
        quiet += INTERVAL
        if told != last:
            last, quiet = told, 0.0
            yield f"data: {json.dumps(told)}\n\n"
        elif quiet >= 15:
            # so that a browser that has gone is noticed
            quiet = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(INTERVAL)


def _told(frame: Frame) -> dict[str, object]:
    """Return what the stream says of this moment."""
    files = frame.store.side_files(FOLDER)
    found = running(files)
    shown = {kind: {"done": done, "total": total} for kind, (done, total) in found.items()}
    return {"running": shown, "lost": list(lost(files)), "ended": import_run(frame).ended}


ROUTES = [page_route(ADDRESS, health), Route(PROGRESS, progress)]
