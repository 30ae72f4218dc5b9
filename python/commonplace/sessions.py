"""Sessions of a root: import from agent programs, listing, and lookup by name."""

from __future__ import annotations

import os

from commonplace.files import Files

# for types only: a command starts without `typing`
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from commonplace._core import ImportReport, Session
    from commonplace.timestamps import When


class Sessions(Files):
    """The files of a root, and the sessions that their transcripts are of."""

    def import_sessions(
        self,
        *paths: str | os.PathLike[str],
        hosts: str | Sequence[str] = (),
        progress: Callable[[int, int], None] | None = None,
        keep_secrets: bool | None = None,
    ) -> ImportReport:
        r"""Import sessions of agents, each to `sessions/<project>/<date>-<id>/messages.jsonl`.

        Only what is new is read: sources are known by size and time, and of one that has grown only
        what stands behind the last import. A message that another transcript holds already (hosts
        copy them when a session is resumed, forked or compacted) is not stored again: a line
        `{"type": "copy", "of": "<path>#L1-L200", "count": …}` points to it. A source that its host
        has deleted changes nothing here.

        The first line of each transcript is `{"type": "session", "host": …, "id": …, "parent": …,
        "cwd": …, "git_branch": …, "model": …, "title": …, "started": …}`, without what the source
        does not say. What becomes known later is in another such line.

        Args:
            paths: Files, and folders with all files below them that may hold sessions; `"-"` is
                standard input. What each file is, its content tells.
            hosts: One or several hosts whose own folders are read: `claude-code`, `codex`,
                `gemini`, `opencode`, `pi`, or `all`. Variables such as `CLAUDE_CONFIG_DIR` and
                `CODEX_HOME`, by which a host is told another place, count here too.
            progress: Called now and then with the bytes read so far and those that there are; what
                it raises ends the import.
            keep_secrets: Whether secrets (keys, tokens, passwords) are stored as they are, and not
                as `[redacted: github token]` or the like; default: as the store was opened.

        Returns:
            What became of each source. One that cannot be read is named there, and the others are
            imported.

        Raises:
            FormatError: There is no such host.
            StorageError: The memory cannot be written. What was added before stays; the next
                import goes on.

        >>> import commonplace, pathlib, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> chat = pathlib.Path(tempfile.mkdtemp(), "chat.jsonl")
        >>> _ = chat.write_text('{"role": "user", "content": "Where is the ferry?"}\n')
        >>> store.import_sessions(chat)
        ImportReport(1 new, 0 grown, 0 unchanged, 0 skipped, 1 message)
        >>> store.import_sessions(chat).unchanged
        1
        """
        from commonplace.progress import FOLDER, ProgressNotes

        names = [os.fspath(path) for path in paths]
        keeps = self.keep_secrets if keep_secrets is None else keep_secrets
        notes = ProgressNotes(self.side_files(FOLDER), "import")

        def told(done: int, total: int) -> None:
            notes.note(done, total)
            if progress is not None:
                progress(done, total)

        try:
            wanted = [hosts] if isinstance(hosts, str) else list(hosts)
            return self._core.import_sessions(names, wanted, told, keep_secrets=keeps)
        finally:
            notes.end()

    def sessions(
        self,
        *,
        project: str | None = None,
        since: When | None = None,
        until: When | None = None,
    ) -> list[Session]:
        r"""Return the sessions whose transcripts are here, newest first.

        Each is followed by those that it started, such as subagents. All of it comes from the
        index; no transcript is read.

        Args:
            project: Only those of this project, by its exact name.
            since: Only those with a message at or after this time; text such as `3d` or `yesterday`
                does as well (`commonplace.timestamps`).
            until: Only those that began before this time.

        Raises:
            ValueError: A time is none.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> log = store.transcript("sessions/tea/2026-02-01-0198c1d2")
        >>> _ = log.append({"role": "user", "content": "Green or black?"})
        >>> [(session.project, session.title) for session in store.sessions(since="1h")]
        [('tea', 'Green or black?')]
        """
        return self._core.sessions(project=project, since=since, until=until)

    def find_session(self, name: str) -> Session | None:
        r"""Return the session of this name; None where there is none.

        Args:
            name: Its id, four or more characters with which only its id begins, the path of its
                transcript or its folder, or the end of that: `FOLDER`, `PROJECT/FOLDER`. Capitals
                do not matter where nothing is called exactly so.

        Raises:
            QueryError: Several are called so; the message names them, with their paths.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> log = store.transcript("sessions/tea/2026-02-01-0198c1d2")
        >>> _ = log.append({"role": "user", "content": "Green?", "session": "0198c1d2-7aaa"})
        >>> session = store.find_session("0198")
        >>> session and session.path
        'sessions/tea/2026-02-01-0198c1d2/messages.jsonl'
        """
        return self._core.find_session(name)

    def session(self, name: str) -> Session:
        r"""Return the session of this name, as `find_session` does.

        Raises:
            QueryError: There is none, and the message names similar ones; or several are called so.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> log = store.transcript("sessions/tea/2026-02-01-0198c1d2")
        >>> _ = log.append({"role": "user", "content": "Green?", "session": "0198c1d2-7aaa"})
        >>> store.session("0189")
        Traceback (most recent call last):
        commonplace.errors.QueryError: no session "0189"; did you mean 0198c1d2 (Green?)?
        """
        return self._core.session(name)

    def _with_path(self, citation: str) -> str:
        """Return a citation in which the name of a session has become the path of its transcript.

        Raises:
            QueryError: Several sessions are called so.
        """
        name, mark, lines = citation.rpartition("#")
        if not mark or name.endswith((".md", ".markdown", ".jsonl")):
            return citation
        session = self.find_session(name)
        return f"{session.path}{mark}{lines}" if session else citation
