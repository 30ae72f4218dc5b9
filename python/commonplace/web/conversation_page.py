"""One session as a conversation: Markdown rendered, tool traffic folded, images left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from commonplace.citation import cite
from commonplace.errors import InvalidArgument, NotFound
from commonplace.web.markdown import rendered
from commonplace.web.page import Page, page_route, whole_number
from commonplace.web.session_table import shared_sessions

if TYPE_CHECKING:
    from markupsafe import Markup
    from starlette.responses import Response

    from commonplace._core import Message

PAGE = 80
"""Messages of a page; tool traffic counts as well."""
LONGEST = 60_000
"""Characters of a message that are shown on its page; the whole has a page of its own."""
LONGEST_STEP = 6_000
LONGEST_WHOLE = 20_000_000
PREVIEW = 110
IMAGE = re.compile(rb'"type"\s*:\s*"(?:image|image_url|input_image)"')


@dataclass
class Step:
    """What one message gave to a tool, or got of it."""

    line: int
    role: str
    preview: str
    text: str
    left_out: int


@dataclass
class Said:
    """What a person or a model said, with the tool traffic that follows it up to the next."""

    line: int
    role: str
    name: str | None
    time: str
    html: Markup | None
    left_out: int
    images: int
    begins_turn: bool
    steps: list[Step] = field(default_factory=list)


def conversation(page: Page) -> Response:
    """Return a page of a session, from the line that the address names."""
    path = page.path["path"]
    transcript = page.store.transcript(path)
    starts = transcript.turns()
    start = max(whole_number(page.query.get("start", "1")), 1)
    if starts and (turn := page.query.get("turn")):
        start = starts[min(max(whole_number(turn), 1), len(starts)) - 1]
    messages = transcript.messages(start, PAGE + 1)
    if not messages and page.store.version(path) is None:
        raise NotFound(f"there is no session at {path}")
    shown = messages[:PAGE]
    return page.render(
        "conversation.html",
        session=_session(page, path),
        path=path,
        said=_said(page, path, shown, set(starts)),
        start=start,
        previous=_previous(starts, start) if start > 1 else None,
        following=messages[PAGE].line if len(messages) > PAGE else None,
        turns=len(starts),
        turn=sum(line <= start for line in starts) or 1,
    )


def whole_message(page: Page) -> Response:
    """Return one message as plain text, however long it is."""
    path = page.path["path"]
    try:
        line = max(whole_number(page.path["line"]), 0)
    except InvalidArgument as error:
        raise NotFound(str(error)) from None
    found = page.store.transcript(path).messages(line, 1)
    if not found or found[0].line != line:
        raise NotFound(f"there is no message at {cite(path, line)}")
    message = found[0]
    text = "\n\n".join(filter(None, [message.text, message.tools]))[:LONGEST_WHOLE]
    return page.render("message.html", message=message, path=path, text=text)


def _session(page: Page, path: str) -> object:
    """Return what is known of a session; None of a transcript without messages."""
    listed = shared_sessions(page.frame).of().by_path.get(path)
    return listed or page.store.find_session(path)


def _previous(starts: Sequence[int], start: int) -> int:
    """Return where the page before this one begins: at a turn, if one begins there."""
    wanted = max(start - PAGE, 1)
    return next((line for line in starts if wanted <= line < start), wanted)


def _said(page: Page, path: str, messages: Sequence[Message], starts: set[int]) -> list[Said]:
    """Return the messages as they are shown; what is of tools is folded below what was said."""
    found: list[Said] = []
    raw = page.store.lines_at(path, [message.offset for message in messages]) if messages else []
    for message, line in zip(messages, raw, strict=True):
        images = len(IMAGE.findall(line))
        if message.text or images or not found:
            text = message.text[:LONGEST]
            html = rendered(text, image_note=page.text("image left out")) if text else None
            left_out = len(message.text) - len(text)
            when = (message.time or "").replace("T", " ")[:16]
            begins = message.line in starts
            found.append(
                Said(message.line, message.role, message.name, when, html, left_out, images, begins)
            )
        if message.tools:
            found[-1].steps.append(_step(message))
    return found


def _step(message: Message) -> Step:
    shown = message.tools[:LONGEST_STEP]
    words = " ".join("".join(islice(message.tools, 4 * PREVIEW)).split())
    preview = words if len(words) <= PREVIEW else words[:PREVIEW] + "…"
    return Step(message.line, message.role, preview, shown, len(message.tools) - len(shown))


ROUTES = [
    page_route("/session/{path:path}", conversation),
    page_route("/message/{line}/{path:path}", whole_message),
]
