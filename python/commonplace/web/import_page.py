"""Import screen: sessions of agents are taken in by this server, with progress and a summary."""

from __future__ import annotations

from threading import Lock, Thread
from typing import TYPE_CHECKING, NamedTuple

from commonplace.errors import CommonplaceError, QueryError
from commonplace.progress import FOLDER, running
from commonplace.web.page import Frame, Page, page_route
from commonplace.web.paging import part

if TYPE_CHECKING:
    from starlette.responses import Response

    from commonplace._core import ImportReport
    from commonplace.store import Store

ADDRESS = "/import"
HOSTS = {
    "all": "All agents of this machine",
    "claude-code": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "opencode": "opencode",
    "pi": "pi",
}
MOST_SKIPPED = 100
"""Skipped sources of a part of their list."""


class ImportState(NamedTuple):
    """What a page says of the imports of this server, all of one moment."""

    is_running: bool
    ended: int
    report: ImportReport | None
    error: str


class ImportRun:
    """The imports of this server, of which one runs at a time; safe to share between threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._thread: Thread | None = None
        self.ended = 0
        """How many have ended."""
        self.report: ImportReport | None = None
        """What the last one did."""
        self.error = ""
        """Why the last one failed; empty when it did not."""

    def state(self) -> ImportState:
        """Return whether one runs, how many have ended, and what the last one did."""
        with self._lock:
            return ImportState(self._thread is not None, self.ended, self.report, self.error)

    def start(self, host: str) -> None:
        """Import the sessions of a host, if no import of this server runs."""
        with self._lock:
            if self._thread is None:
                # what is stored so far stays when the server ends, and the next import goes on
                thread = Thread(target=self._run, args=[host], daemon=True)
                thread.start()
                self.report, self.error, self._thread = None, "", thread

    def wait(self) -> None:
        """Wait until none runs."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self, host: str) -> None:
        report, error = None, ""
        try:
            report = self._store.import_sessions(hosts=[host])
            self._store.archive_by_rule()
        except BaseException as failure:
            error = str(failure) or type(failure).__name__
            if not isinstance(failure, (CommonplaceError, OSError, ValueError)):
                raise
        finally:
            # whatever has failed, the next one can be started
            with self._lock:
                self.report, self.error, self._thread = report, error, None
                self.ended += 1


def import_run(frame: Frame) -> ImportRun:
    """Return the imports of this server, which all requests share."""
    found: ImportRun = frame.shared.setdefault("import", ImportRun(frame.store))
    return found


def show(page: Page) -> Response:
    """Return the form that starts an import, its progress, and what the last one did."""
    state = import_run(page.frame).state()
    report = state.report
    skipped = [one for one in report.sources if one.outcome == "skipped"] if report else []
    return page.render(
        "import.html",
        hosts=HOSTS,
        is_running=state.is_running,
        ended=state.ended,
        error=state.error,
        report=report,
        skipped=part(page, skipped, MOST_SKIPPED, lambda one: one.source),
        running=running(page.store.side_files(FOLDER)),
    )


def start(page: Page) -> Response:
    """Start an import, and show how far it is."""
    host = page.form.get("host", "")
    if host not in HOSTS:
        raise QueryError(f"there is no host {host!r:.40}")
    import_run(page.frame).start(host)
    return page.redirect(ADDRESS)


ROUTES = [page_route(ADDRESS, show), page_route(ADDRESS, start, change=True)]
