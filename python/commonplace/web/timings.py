"""Times of answers: how long this server took for its last searches and pages."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

KEPT = 400
"""Answers of each kind that are kept."""


class Timings:
    """Milliseconds of the last searches and of the last other pages."""

    def __init__(self) -> None:
        self.searches: deque[float] = deque(maxlen=KEPT)
        self.pages: deque[float] = deque(maxlen=KEPT)


class Timer:
    """ASGI middleware that notes how long each page took; files and streams are no pages."""

    def __init__(self, app: ASGIApp, timings: Timings, left_out: tuple[str, ...]) -> None:
        self._app, self._timings, self._left_out = app, timings, left_out

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request and note its time."""
        if scope["type"] != "http" or scope["path"].startswith(self._left_out):
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        await self._app(scope, receive, send)
        is_search = scope["path"] == "/" and b"q=" in scope["query_string"]
        kind = self._timings.searches if is_search else self._timings.pages
        kind.append(1000 * (time.perf_counter() - began))
