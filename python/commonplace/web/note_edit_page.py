"""Editing a note: preview, and saving by compare-and-swap; a conflict shows both and a merge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import HTMLResponse

from commonplace.errors import Conflict, NotFound, Refused
from commonplace.web.addresses import file_address
from commonplace.web.line_merge import diff_lines, has_markers, merge_lines
from commonplace.web.markdown import rendered
from commonplace.web.note_index import shared_index
from commonplace.web.page import Page, page_route

if TYPE_CHECKING:
    from markupsafe import Markup
    from starlette.responses import Response

ABSENT = "absent"


def new_note(page: Page) -> Response:
    """Return the form that asks for the path of a new note, or the editor of the path given."""
    path = page.query.get("path", "").strip().strip("/")
    if not path or page.query.get("ask"):
        return page.render("note_new.html", path=path)
    path = page.store.relative(path if path.endswith(".md") else f"{path}.md")
    return page.redirect(file_address(path).replace("/note/", "/edit/", 1))


def edit(page: Page) -> Response:
    """Return the editor of a note, at the version that is there now."""
    path = _note_path(page)
    text, version = page.store.read_to_change(path)
    return _editor(page, path, text, version)


def save(page: Page) -> Response:
    """Write a note if it is still the version that the editor had; else show the conflict."""
    path = _note_path(page)
    version, base = page.form.get("version", ABSENT), _base(page, path)
    text = _with_line_ends(page.form.get("content", ""), base)
    if has_markers(text) and not has_markers(base):
        told = page.text("There are still conflict markers in the text: keep one side of each.")
        return _editor(page, path, text, version, told=told, status=409, base=base)
    try:
        page.store.write(path, text, expected_version=version)
    except Conflict:
        return _conflict(page, path, base, text)
    return page.redirect(file_address(path))


def preview(page: Page) -> Response:
    """Return the text of the form as HTML."""
    return HTMLResponse(_html(page, page.form.get("path", ""), page.form.get("content", "")))


def _html(page: Page, path: str, text: str) -> Markup:
    index = shared_index(page.frame)
    return rendered(
        text,
        path=path,
        resolve=lambda name: index.note_named(name, path),
        image_note=page.text("image left out"),
    )


def _conflict(page: Page, path: str, base: str, ours: str) -> Response:
    """Return the editor with the merge of what was sent and what is in the file now."""
    theirs, version = page.store.read_to_change(path)
    if theirs == ours:
        return page.redirect(file_address(path))
    merged, clashes = merge_lines(
        base, ours, theirs, (page.text("yours"), page.text("the file now"))
    )
    told = page.text("Somebody else has changed this note meanwhile. Nothing was written yet.")
    told += " " + (
        page.count(
            clashes,
            "Both changed {n} place; it stands between markers.",
            "Both changed {n} places; they are between markers.",
        )
        if clashes
        else page.text("Both changes fit together: this is the merge.")
    )
    return _editor(
        page,
        path,
        merged,
        version,
        told=told,
        status=409,
        base=theirs,
        versions={
            page.text("Your change"): diff_lines(base, ours),
            page.text("The change in the file"): diff_lines(base, theirs),
        },
    )


def _editor(
    page: Page,
    path: str,
    text: str,
    version: str,
    *,
    told: str = "",
    status: int = 200,
    base: str | None = None,
    versions: dict[str, object] | None = None,
) -> Response:
    return page.render(
        "note_edit.html",
        status=status,
        path=path,
        text=text,
        base=text if base is None else base,
        version=version,
        is_new=version == ABSENT,
        told=told,
        versions=versions or {},
        html=_html(page, path, text),
    )


def _note_path(page: Page) -> str:
    path: str = page.store.relative(page.path["path"])
    if not path.endswith(".md"):
        raise Refused(f"{path} is no note: only files that end in .md are edited here")
    return path


def _base(page: Page, path: str) -> str:
    """Return the text that the editor began with: as it is kept, else as the form has it."""
    version = page.form.get("version", ABSENT)
    if version == ABSENT:
        return ""
    try:
        return page.store.read(path, version)
    except NotFound:
        # somebody has written past the store, so the history has no copy
        kept: str = page.form.get("base", "")
        return kept.replace("\r\n", "\n")


def _with_line_ends(content: str, base: str) -> str:
    r"""Return text of a form, whose lines all end in CRLF, with the line ends of a file."""
    ends = "\r\n" if base.count("\r\n") * 2 > base.count("\n") else "\n"
    return content.replace("\r\n", "\n").replace("\n", ends)


ROUTES = [
    page_route("/notes/new", new_note),
    page_route("/edit/{path:path}", edit),
    page_route("/edit/{path:path}", save, change=True),
    page_route("/preview", preview, change=True),
]
