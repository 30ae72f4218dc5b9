"""Hook engine: an event of a host becomes calls of the store and a text for the model.

Nothing here may be slow, for a host waits for the answer before each prompt: modules that only an
injection needs are imported when there is one. And nothing may fail as a whole: what cannot be
captured or logged is a problem to report, and no reason to answer nothing.
"""

from __future__ import annotations

from commonplace.doors.capture import LARGEST, begun, left_beside
from commonplace.doors.hook_log import HookLog
from commonplace.errors import CommonplaceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from typing import Any, TypeVar

    from commonplace.doors.hosts.host import HookEvent, Host
    from commonplace.doors.injection_candidates import Candidate
    from commonplace.store import Store

    T = TypeVar("T")

START_BUDGET = 4000
"""Characters injected when a session starts."""
PROMPT_BUDGET = 2400
"""Characters injected with a prompt."""


def handle(
    host: Host,
    payload: dict[str, Any],
    root: str | None,
    *,
    project: bool,
    min_confidence: float | None = None,
) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the answer to a payload as the host takes it, None for none, and what went wrong.

    Args:
        host: Whose payload it is.
        payload: What the host gave the hook on stdin.
        root: A root in place of the default, as for `memory_root`.
        project: Take the memory of the project in which the session is.
        min_confidence: The least confidence of a hit that is injected with a prompt, from 0 to 1;
            None for `recalled.MIN_CONFIDENCE`.

    Raises:
        ValueError: The payload is none of this host.
        CommonplaceError: The root cannot be opened.
    """
    from commonplace.store import open as open_store

    event = host.event(payload)
    if event is None:
        return None, []
    # one call looks at the files once: nothing is gained by watching them
    where = memory_root(root, event.cwd if project else None)
    with open_store(where, watch=False) as store:
        hook = Hook(store, host, event, in_project=project, min_confidence=min_confidence)
        context = hook.respond()
    return host.answer(payload, context), hook.problems


def memory_root(given: str | None, project: str | None = None) -> str | os.PathLike[str]:
    """Return the root that a hook uses.

    Args:
        given: The root, if one was named.
        project: A folder in a project that is a memory, whatever `$COMMONPLACE_ROOT` says: all who
            work there share it. None for the memory of the user, which is what a bare command
            means at home.

    Raises:
        NotFound: The project is no memory. That of the user is not taken in its place: it would
            get the sessions of the project, and its contents would be shown there.
    """
    from pathlib import Path

    from commonplace.errors import NotFound
    from commonplace.store import find_root, marked_root

    if given or not project:
        return given or find_root(Path.home())
    if root := marked_root(project):
        return root
    told = f"{project} and the folders above it hold no memory"
    raise NotFound(f"{told}; run `commonplace install HOST --project` in the project's folder")


def note_failure(root: str | None, host: str, error: str, *, project: bool) -> None:
    """Log what kept a hook from answering, for `doctor`; where there is no memory, nowhere."""
    from pathlib import Path

    from commonplace.store import open as open_store

    where = memory_root(root, str(Path.cwd()) if project else None)
    with open_store(where, create=False, watch=False) as store:
        HookLog(store).fail(host=host, event="", error=error)


class Hook:
    """One event of one host: what is done about it in a store, and the problems with that."""

    def __init__(
        self,
        store: Store,
        host: Host,
        event: HookEvent,
        *,
        in_project: bool = False,
        min_confidence: float | None = None,
    ) -> None:
        self._store, self._host, self._event = store, host, event
        self._in_project = in_project
        self._min_confidence = min_confidence
        self._log = HookLog(store)
        self.problems: list[str] = []

    def respond(self) -> str:
        """Do what the event asks for and return the text for the model, empty for none."""
        if self._event.said:
            self._try(self._keep_message)
            return ""
        if self._event.kind not in {"session start", "prompt"}:
            self._try(self._import_own)
            return ""
        from commonplace.doors.injection_candidates import MIN_CONFIDENCE, fitting, standing

        store, event = self._store, self._event
        if event.kind == "prompt":
            given = self._min_confidence
            least = MIN_CONFIDENCE if given is None else given
            return self._inject(
                lambda: fitting(store, event.prompt, event.session, least), PROMPT_BUDGET
            )
        self._try(self._import_left)
        return self._inject(lambda: standing(store, event, START_BUDGET), START_BUDGET)

    def _inject(self, recall: Callable[[], list[Candidate]], budget: int) -> str:
        """Return what the session does not have in its context, as a frame."""
        found = self._try(recall) or []
        with self._log.locked():
            return self._add_new(found, budget)

    def _add_new(self, found: list[Candidate], budget: int) -> str:
        """Pack and log: in one step, for another hook of the session may run at the same time."""
        event = self._event
        shown: set[str] = set()
        if found and not event.context_is_new():
            shown = self._try(lambda: self._log.shown(event.session)) or set()
        fresh = [one for one in found if one.key not in shown]
        text = ""
        used: list[dict[str, Any]] = []
        if fresh:
            from commonplace.doors.injection_candidates import ANSWERED
            from commonplace.entries.injection import pack

            pieces = [one.piece for one in fresh]
            most = min(budget, self._host.limit)
            packed = pack(pieces, most, cut=True, cut_after=ANSWERED)
            given = {one.piece.citation: one for one in fresh}
            text = packed.text
            cited = [one.piece.citation for one in packed.used]
            used = [
                {"citation": one, "score": given[one].score, "key": given[one].key} for one in cited
            ]
        entry: dict[str, Any] = {"host": self._host.name, "session": event.session}
        entry |= {"event": event.kind, "source": event.source}
        if self._store.covered is not None:
            entry["vectors_cover"] = round(self._store.covered, 2)
        self._try(lambda: self._log.add(**entry, characters=len(text), shown=used))
        return text

    def _keep_message(self) -> None:
        """Add what was said to the transcript of the session."""
        from commonplace.doors.message_capture import add_message

        add_message(self._store, self._host.name, self._event)
        self._note_capture(1, [])

    def _import_own(self) -> None:
        """Import what the session has said since the last time."""
        if self._event.transcript:
            self._import(begun(self._event.transcript))

    def _import_left(self) -> None:
        """Import what sessions beside this one have left, and tell once what takes too long."""
        import shlex

        event = self._event
        if not event.transcript:
            return
        # the memory of a project is shared with others, who are not to read of its neighbours
        only = event.cwd if self._in_project and self._host.mixes_projects else None
        fitting, too_large = left_beside(self._store, event.transcript, only)
        self._import(fitting)
        told = {error.get("error") for error in self._log.errors()} if too_large else set()
        for path in too_large:
            command = shlex.join(["commonplace", "--root", str(self._store.root), "import", path])
            why = f"it has more than {LARGEST >> 20} MB to import, too much for a hook"
            problem = f"{path}: {why}; run `{command}`"
            if problem not in told:
                self._report(problem)

    def _import(self, paths: list[str]) -> None:
        """Import what transcripts have more than the last time."""
        sources = self._store.import_sessions(*paths).sources if paths else []
        if taken := [source for source in sources if source.messages]:
            written = [path for source in taken for path in source.paths]
            self._note_capture(sum(source.messages for source in taken), written)
        skipped = [source for source in sources if source.outcome == "skipped"]
        # hosts write late, and some sessions end without a prompt: no message is no problem then
        is_over = self._event.kind == "session end"
        if skipped and is_over and self._log.prompted(self._event.session):
            for source in skipped:
                self._report(f"{source.source}: {source.why}")

    def _note_capture(self, messages: int, paths: list[str]) -> None:
        """Log what was taken from the host."""
        event = self._event
        self._log.captured(
            host=self._host.name,
            session=event.session,
            event=event.kind,
            messages=messages,
            paths=paths,
        )

    def _try(self, step: Callable[[], T]) -> T | None:
        """Return what a step returns; None, with its error reported, if it fails."""
        try:
            return step()
        except (CommonplaceError, OSError) as error:
            self._report(str(error))
        return None

    def _report(self, problem: str) -> None:
        self.problems.append(problem)
        try:
            self._log.fail(host=self._host.name, event=self._event.kind, error=problem)
        except (CommonplaceError, OSError):
            # it is on stderr as well
            return
