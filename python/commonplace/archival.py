"""Archive of a root: the index of old transcripts moved to the disk, and back to memory."""

from __future__ import annotations

from commonplace.erasure import Erasure
from commonplace.errors import InvalidArgument

# for types only: a command starts without `typing`
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.engines.archiving import Archive, Archived
    from commonplace.settings import Settings
    from commonplace.timestamps import When

FIRST_MOMENT = 1e8
"""Seconds since 1970 below which a moment (in 1973) is taken for a mistaken age."""


class Archival(Erasure):
    """The files and sessions of a root, and what moves the index of old sessions to the disk."""

    _archive: Archive | None = None

    def settings(self) -> Settings:
        """Return what `.commonplace/settings.toml` says; the defaults where there is no such file.

        Raises:
            FormatError: It cannot be read; the message names the line.

        >>> import commonplace, tempfile
        >>> bool(commonplace.open(tempfile.mkdtemp()).settings().archive)
        False
        """
        from commonplace.settings import read_settings

        return read_settings(self.side_files())

    def archive(
        self,
        *,
        older: When | None = None,
        sessions: Sequence[str] = (),
        over: int | None = None,
        dry_run: bool = False,
    ) -> Archived:
        r"""Move the index of transcripts out of memory, to an index on the disk.

        The files stay where they are, and are read, grepped and cited as before; a search asks both
        and says which hits come from the archive. A file that changes is indexed in memory again.
        Without `older`, `sessions` and `over` it is what the rule in the `settings` says, if there
        is one.

        Args:
            older: Sessions whose last message is older; text such as `90d` will do.
            sessions: These, named as for `find_session`.
            over: The oldest, until the transcripts that stay in memory are of so many bytes.
            dry_run: Change nothing, and return what would be archived.

        Raises:
            CommonplaceError: tantivy is not installed (`pip install 'commonplace[archive]'`).
            QueryError: There is no such session.
            InvalidArgument: `over` is negative, or `older` a number that can only be an age.
            FormatError: The settings cannot be read; the message names the line.
            Busy: Another process changes the archive.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.transcript("s").append({"role": "user", "content": "Green tea."})
        >>> store.archive(older="90d").sessions
        []
        >>> store.archive(sessions=["s"]).messages
        1
        >>> [(hit.citation, hit.archived) for hit in store.search("tea")]
        [('s/messages.jsonl#L1', True)]
        >>> len(store.search("tea", archive="no"))
        0
        """
        if over is not None and over < 0:
            raise InvalidArgument("over is a number of bytes from 0 up")
        if isinstance(older, int | float) and older < FIRST_MOMENT:
            raise InvalidArgument(f"older={older} is a moment of 1970; an age is text, as '90d'")
        if older is None and over is None and not sessions and (rule := self.settings().archive):
            return self._made_archive().by_rule(rule, dry_run=dry_run)
        return self._made_archive().move(older=older, sessions=sessions, over=over, dry_run=dry_run)

    def archive_by_rule(self) -> Archived | None:
        r"""Archive what the rule in the `settings` says, unless that was done within a day.

        `commonplace import` and the import of the page call it when they have ended. Opening and
        searching archive nothing.

        Returns:
            What was archived; None if there is no rule, or it is not due.

        Raises:
            CommonplaceError: As for `archive`.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.transcript("s").append({"role": "user", "content": "Green tea."})
        >>> store.archive_by_rule()
        >>> with store.side_files().handle("settings.toml", "a") as file:
        ...     _ = file.write(b'[archive]\nover = "0MB"\n')
        >>> store.archive_by_rule().sessions
        ['s/messages.jsonl']
        >>> store.archive_by_rule()
        """
        rule = self.settings().archive
        is_due = bool(rule) and self._made_archive().is_due(rule)
        return self._made_archive().by_rule(rule) if is_due else None

    def restore_archived(self, sessions: Sequence[str] = (), *, dry_run: bool = False) -> Archived:
        r"""Index archived transcripts in memory again; the opposite of `archive`.

        Args:
            sessions: These, named as for `find_session`; default: all.
            dry_run: Change nothing, and return what would be restored.

        Raises:
            CommonplaceError: tantivy is not installed (`pip install 'commonplace[archive]'`).
            QueryError: There is no such session.
            Busy: Another process changes the archive.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.transcript("s").append({"role": "user", "content": "Green tea."})
        >>> _ = store.archive(sessions=["s"])
        >>> store.restore_archived().messages
        1
        >>> [hit.archived for hit in store.search("tea")]
        [False]
        """
        return self._made_archive().restore(sessions, dry_run=dry_run)

    def rebuild_archive(self) -> Archived:
        """Make the index of the archive again from the transcripts; return which these are.

        A damaged index is made again by itself. This also makes one smaller from which much was
        removed.

        Raises:
            CommonplaceError: tantivy is not installed (`pip install 'commonplace[archive]'`).
            Busy: Another process changes the archive.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.transcript("s").append({"role": "user", "content": "Green tea."})
        >>> _ = store.archive(sessions=["s"])
        >>> store.rebuild_archive().sessions
        ['s/messages.jsonl']
        """
        return self._made_archive().rebuild()

    def _opened_archive(self) -> Archive | None:
        """Return the archive; None if nothing is archived."""
        return None if self._core.archive_stamp() is None else self._made_archive()

    def _made_archive(self) -> Archive:
        if self._archive is None:
            from commonplace.engines.archiving import Archive

            self._archive = Archive(self)
        return self._archive
