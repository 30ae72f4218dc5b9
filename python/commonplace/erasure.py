"""Erasure from a root: passages by text, citation or filter; old versions and sessions by rule."""

from __future__ import annotations

from commonplace.citation import is_citation, located
from commonplace.embedded_text import digest
from commonplace.errors import Conflict, InvalidArgument, QueryError
from commonplace.search_filter import given_filter
from commonplace.sessions import Sessions

# for types only: a command starts without `typing`
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from commonplace._core import Forgotten, Retained, SearchFilter
    from commonplace.search_filter import FilterFields
    from commonplace.timestamps import When

SHORTEST = 3
"""Bytes of a text that can be forgotten: a Chinese character, or three letters."""
OTHER_NOW = (
    "what is to be forgotten has changed, or the token is none that was given; nothing was erased: "
    "look at it without a token, and give the token of that answer"
)
"""It does not tell the right token: that would erase what nobody has seen."""


def given_texts(what: object) -> list[str]:
    """Return the texts and citations that somebody gave.

    Raises:
        InvalidArgument: It is neither a text nor several.
    """
    texts = [what] if isinstance(what, str) else what
    if not isinstance(texts, list | tuple | set | frozenset) or not all(
        isinstance(one, str) for one in texts
    ):
        raise InvalidArgument(f"what is a text, a citation or a list of them, not {what!r:.60}")
    return list(texts)


class Erasure(Sessions):
    """The files and sessions of a root, and what erases of them for good."""

    def forget(
        self,
        what: str | Sequence[str] = (),
        *,
        dry_run: bool = False,
        token: str | None = None,
        filter: SearchFilter | None = None,
        **fields: Unpack[FilterFields],
    ) -> Forgotten:
        r"""Erase for good what is meant: from notes, archive, transcripts, history and index.

        A text is found wherever it stands, in small or large letters if it has no large one: the
        list item, the row, the sentence with its lines or the message that holds it goes. So do
        old versions of it, with a citation also copies of the passage. Hashes stay in
        `.commonplace/`, so that neither an import nor `Profile.flush` brings it back. What git or a
        backup keeps is not reached, and other processes let go of it when they look next.

        Args:
            what: A text of three letters or more, a citation such as `facts/user.md#L12` or
                `sessions/s1/messages.jsonl#L3-L5`, or several of them; the name of a session will
                do in the place of its path. Without any, everything that passes the filter.
            dry_run: Change nothing, and return what would be erased.
            token: The `token` of a dry run: if anything else would be erased now, nothing is.
            filter: Only what passes it.
            **fields: The fields of a filter, in its place, as for `grep`.

        Raises:
            InvalidArgument: What is given is no text.
            QueryError: A text is too short; nothing is meant; several sessions are called so; or
                the filter has a field that lines have not.
            NotFound: A file that is cited is not there.
            FormatError: There is nothing at the lines that are cited.
            Conflict: It is not what the token says; look again.
            Busy: Another process writes.
            InDoubt, StorageError: What was begun is finished when the memory is opened next.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> _ = store.write("facts/user.md", "- Likes tea.\n- The dog is called Rex.\n")
        >>> plan = store.forget("rex", dry_run=True)
        >>> [(passage.citation, passage.text) for passage in plan.passages]
        [('facts/user.md#L2', '- The dog is called Rex.')]
        >>> store.forget("rex", token=plan.token).erased, store.read("facts/user.md")
        (True, '- Likes tea.\n')
        """
        own = given_filter(filter, fields)
        given = given_texts(what)
        texts, lines = self._meant(given)
        if not given and own.is_open():
            raise QueryError("say what to forget: a text, a citation, or a filter")
        arguments = (texts, lines, own)
        everything = not given
        plan = self._core.forget(
            *arguments, everything=everything, dry_run=True, token=None, live_vectors=None
        )
        if dry_run:
            return plan
        if token not in {None, plan.token}:
            raise Conflict(OTHER_NOW)
        # a command starts without it
        from commonplace.tombstones import Tombstones  # noqa: PLC0415

        if plan.passages:
            # first, so that a call that is killed leaves them too
            Tombstones(self.side_files()).add(passage.text for passage in plan.passages)
        gone = {passage.path for passage in plan.passages}.union(plan.files)
        try:
            return self._core.forget(
                *arguments,
                everything=everything,
                dry_run=False,
                token=token,
                live_vectors=self._live_vectors(gone),
            )
        except Conflict:
            raise Conflict(OTHER_NOW) from None

    def retain(
        self,
        *,
        history_since: When | None = None,
        history_count: int | None = None,
        sessions_since: When | None = None,
        session_count: int | None = None,
        total_bytes: int | None = None,
        dry_run: bool = False,
    ) -> Retained:
        r"""Erase old versions and old sessions, as `forget` does; without a rule, nothing.

        A session goes with all notes in its folder; an import does not bring it back.

        Args:
            history_since: Versions in the history that are older go; text such as `90d` will do.
            history_count: Of each file so many old versions stay.
            sessions_since: Sessions go whose last message is older.
            session_count: So many sessions stay, the newest.
            total_bytes: Notes, transcripts and history take at most so many bytes: the oldest
                versions go first, then the oldest sessions.
            dry_run: Change nothing, and return what would be erased.

        Raises:
            ValueError: A time is none, or a number is negative.
            Busy: Another process writes.
            InDoubt, StorageError: What was begun is finished when the memory is opened next.

        >>> import commonplace, tempfile
        >>> store = commonplace.open(tempfile.mkdtemp())
        >>> for text in ("one", "two", "three"):
        ...     _ = store.write("a.md", text)
        >>> store.retain().erased, len(store.retain(history_count=1).revisions)
        (False, 1)
        >>> [store.read("a.md", kept.version) for kept in store.history("a.md")]
        ['two']
        """

        def ask(*, dry_run: bool, live: list[bytes] | None = None) -> Retained:
            return self._core.retain(
                history_since=history_since,
                history_count=history_count,
                sessions_since=sessions_since,
                session_count=session_count,
                total_bytes=total_bytes,
                dry_run=dry_run,
                live_vectors=live,
            )

        plan = ask(dry_run=True)
        if dry_run or not (plan.files or plan.revisions):
            return plan
        return ask(dry_run=False, live=self._live_vectors(set(plan.files)))

    def _meant(self, given: Sequence[str]) -> tuple[list[str], list[tuple[str, int, int]]]:
        """Return the texts and the lines that a caller means."""
        texts, lines = [], []
        for one in given:
            path, first, last = located(self._with_path(one) if is_citation(one) else one)
            if first is not None and last is not None:
                lines.append((self.relative(path), first, last))
            elif len(one.strip().encode(errors="replace")) < SHORTEST:
                raise QueryError(f"{one!r} is too short: it would be found all over; give a word")
            else:
                texts.append(one)
        return texts, lines

    def _live_vectors(self, gone: set[str]) -> list[bytes] | None:
        """Return the keys of the vectors of all files but these; None where there are none."""
        if not self._core.has_vectors():
            return None
        paths = [entry.path for entry in self.list() if entry.kind != "other"]
        return [
            digest(text_of(hit))
            for path in paths
            if path not in gone
            for hit in self._core.documents(path)
            for text_of in self.embedded_texts
        ]
