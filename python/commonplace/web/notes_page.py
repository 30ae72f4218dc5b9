"""Note screens for reading: folders, a note rendered beside its source, links and tags."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import MarkdownLexer

from commonplace.citation import cite
from commonplace.errors import NotFound
from commonplace.web import history_page, note_edit_page
from commonplace.web.chips import chips
from commonplace.web.markdown import LARGEST, rendered
from commonplace.web.note_index import shared_index
from commonplace.web.page import Page, page_route
from commonplace.web.paging import part

if TYPE_CHECKING:
    from starlette.responses import Response

    from commonplace._core import Entry
    from commonplace.web.note_links import Link

TITLE, ADDRESS = "Notes", "/notes"
FEW = 200
FEW_TAGS = 16
"""Tags above the list of files; the others come by a link."""
VIEWS = {"both": "Side by side", "text": "Rendered", "source": "Source"}


def notes(page: Page) -> Response:
    """Return the files and folders of a folder, or the notes of a tag."""
    index = shared_index(page.frame)
    tag, path = page.query.get("tag", ""), page.query.get("folder", "").strip("/")
    after = page.query.get("after", "")
    found = index.folder("" if tag else path)
    if found is None:
        raise NotFound(f"there is no folder {path}")
    # folders come first; no file ends with a slash
    folders: list[str | Entry] = []
    if not tag and (not after or after.endswith("/")):
        folders += [f"{name}/" for name in found if f"{name}/" > after]
        after = ""
    # one more than is shown says whether there are more
    files = index.tagged(tag, FEW + 1, after) if tag else index.files(path, FEW + 1, after)
    shown = part(
        page,
        [*folders, *files],
        FEW,
        lambda one: one if isinstance(one, str) else one.path,
        start=0,
    )
    return page.render(
        "notes.html",
        folder=path,
        tag=tag,
        trail=trail(path),
        folders=[(one, found[one[:-1]]) for one in shown.entries if isinstance(one, str)],
        entries=[one for one in shown.entries if not isinstance(one, str)],
        part=shown,
        tags=chips(
            page,
            "tag",
            {name: f"{count:,}" for name, count in index.tags().items()},
            tag,
            label="#{}".format,
            most=FEW_TAGS,
        ),
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
    # one more than is shown says whether there are more
    backlinks = index.backlinks(path, FEW + 1, page.query.get("links", ""))
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
        backlinks=part(page, backlinks, FEW, _place, name="links", start=0),
        unread=index.unread,
        folders=[*(index.folder(folder) or {})][:FEW],
        siblings=index.files_around(path, FEW),
        folder=folder,
        size=len(text.encode(errors="replace")),
        revisions=len(page.store.history(path)),
    )


def _place(found: tuple[str, Link]) -> str:
    """Return the citation of a link."""
    return cite(found[0], found[1].line)


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
