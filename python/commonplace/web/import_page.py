"""Import screen: sessions of agents are taken in by this server, with progress and a summary."""

from __future__ import annotations

from threading import Lock, Thread
from typing import TYPE_CHECKING

from commonplace.errors import CommonplaceError, QueryError
from commonplace.progress import FOLDER, running
from commonplace.web.page import Frame, Page, page_route

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
"""Skipped sources that are named."""


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

    @property
    def is_running(self) -> bool:
        """Whether one runs."""
        return self._thread is not None

    def start(self, host: str) -> None:
        """Import the sessions of a host, if no import of this server runs."""
        with self._lock:
            if self._thread is None:
                self.report, self.error = None, ""
                # what is stored so far stays when the server ends, and the next import goes on
                self._thread = Thread(target=self._run, args=[host], daemon=True)
                self._thread.start()

    def wait(self) -> None:
        """Wait until none runs."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self, host: str) -> None:
        report, error = None, ""
        try:
            report = self._store.import_sessions(hosts=[host])
        except (CommonplaceError, OSError, ValueError) as failure:
            error = str(failure)
        with self._lock:
            self.report, self.error, self._thread = report, error, None
            self.ended += 1


def import_run(frame: Frame) -> ImportRun:
    """Return the imports of this server, which all requests share."""
    found: ImportRun = frame.shared.setdefault("import", ImportRun(frame.store))
    return found


def show(page: Page) -> Response:
    """Return the form that starts an import, its progress, and what the last one did."""
    run = import_run(page.frame)
    report = run.report
    skipped = [one for one in report.sources if one.outcome == "skipped"] if report else []
    return page.render(
        "import.html",
        hosts=HOSTS,
        is_running=run.is_running,
        ended=run.ended,
        error=run.error,
        report=report,
        skipped=skipped[:MOST_SKIPPED],
        more_skipped=max(0, len(skipped) - MOST_SKIPPED),
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
