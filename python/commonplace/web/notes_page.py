"""Note screens for reading: folders, a note rendered beside its source, links and tags."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import MarkdownLexer

from commonplace.errors import NotFound
from commonplace.web import history_page, note_edit_page
from commonplace.web.markdown import LARGEST, rendered
from commonplace.web.note_index import NoteIndex, shared_index
from commonplace.web.page import Page, page_route

if TYPE_CHECKING:
    from starlette.responses import Response

    from commonplace._core import Entry

TITLE, ADDRESS = "Notes", "/notes"
FEW = 200
MOST_TAGS = 60
MOST_BACKLINKS = 100
VIEWS = {"both": "Side by side", "text": "Rendered", "source": "Source"}


def notes(page: Page) -> Response:
    """Return the files and folders of a folder, or the notes of a tag."""
    index = shared_index(page.frame)
    tag, path = page.query.get("tag", ""), page.query.get("folder", "").strip("/")
    after = page.query.get("after", "")
    # one more than is shown says whether there are more
    if tag:
        entries = index.tagged(tag, FEW + 1, after)
        folders: dict[str, int] = {}
    else:
        found = index.folder(path)
        if found is None:
            raise NotFound(f"there is no folder {path}")
        entries, folders = index.files(path, FEW + 1, after), found
    return page.render(
        "notes.html",
        folder=path,
        tag=tag,
        trail=trail(path),
        folders=folders if not after else {},
        entries=entries[:FEW],
        after=entries[FEW - 1].path if len(entries) > FEW else None,
        tags=index.tags(MOST_TAGS),
        unread=index.unread,
    )


def note(page: Page) -> Response:
    """Return a note, rendered and as its source."""
    path = page.path["path"]
    index = shared_index(page.frame)
    text = page.store.read(path)
    view = page.query.get("view", "both")
    if len(text) > LARGEST:
        # it is not rendered, and once is enough
        view = "source"
    folder = posixpath.dirname(path)
    html = rendered(
        text,
        path=path,
        resolve=lambda name: index.note_named(name, path),
        lines=True,
        image_note=page.text("image left out"),
    )
    return page.render(
        "note.html",
        path=path,
        name=posixpath.basename(path),
        trail=trail(folder),
        html=html,
        source=_source(text) if view != "text" else None,
        view=view if view in VIEWS else "both",
        views=VIEWS,
        tags=index.tags_of(path),
        backlinks=index.backlinks(path, MOST_BACKLINKS),
        unread=index.unread,
        folders=index.folder(folder) or {},
        siblings=_siblings(index, path),
        folder=folder,
        size=len(text.encode(errors="replace")),
        revisions=len(page.store.history(path)),
    )


def _siblings(index: NoteIndex, path: str) -> list[Entry]:
    """Return the first files of the folder of a note, and the note itself in any case."""
    found = index.files(posixpath.dirname(path), FEW)
    return found if any(one.path == path for one in found) else index.entries([path]) + found


def trail(path: str) -> list[tuple[str, str]]:
    """Return the folders down to a path, each with its name.

    >>> trail("a/b")
    [('a', 'a'), ('a/b', 'b')]
    """
    parts = path.split("/") if path else []
    return [("/".join(parts[: at + 1]), name) for at, name in enumerate(parts)]


def _source(text: str) -> Markup:
    """Return the source of a note line by line, coloured if it is not very long."""
    if len(text) > LARGEST:
        lines = [Markup.escape(line) for line in text.split("\n")]
    else:
        formatter = HtmlFormatter(nowrap=True)
        lexer = MarkdownLexer(stripnl=False, ensurenl=False)
        # written by pygments, which escapes what it is given
        lines = [Markup(line) for line in highlight(text, lexer, formatter).split("\n")]  # noqa: S704
    if lines and not lines[-1]:
        lines.pop()
    row = Markup('<span class="row-line" id="S{}">{}\n</span>')
    return Markup("").join(row.format(number, line) for number, line in enumerate(lines, 1))


ROUTES = [
    page_route(ADDRESS, notes),
    page_route("/note/{path:path}", note),
    *note_edit_page.ROUTES,
    *history_page.ROUTES,
]
