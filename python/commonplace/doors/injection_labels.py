"""Labels of injected pieces as useless, in the form of the labelled sets that evaluation reads.

A line of `.commonplace/labels.jsonl` is a group: `commonplace eval` reads the file as it is. Its
query is the prompt, its documents are what was injected and what else a search for the prompt finds
(a pool, as TREC has it), each named by its citation. What was injected and not called useless is
`relevant`. So a ranking is better when it puts that before the rest. `forget` erases a line that
holds what is forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import orjson

from commonplace.citation import located
from commonplace.errors import CommonplaceError, InvalidArgument, NotFound
from commonplace.tools.cited_text import cited_text

if TYPE_CHECKING:
    from commonplace._core import Hit
    from commonplace.store import Store

FILE = "labels.jsonl"
POOL = 20
"""Hits of a search that are put beside what was injected."""
NEAR = timedelta(minutes=2)
"""A host writes the time of a prompt, and hooks that of their run."""


class InjectionLabels:
    r"""The labels of one root.

    >>> import commonplace, tempfile
    >>> store = commonplace.open(tempfile.mkdtemp())
    >>> _ = store.write("a.md", "The ferry leaves at nine.\n")
    >>> labels = InjectionLabels(store)
    >>> labels.mark("1", "when does the ferry leave", ["a.md#L1"], "a.md#L1")
    >>> labels.useless("1"), labels.groups()[0]["queries"][0]["relevant"]
    ({'a.md#L1'}, [])
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._files = store.side_files()

    def groups(self) -> list[dict[str, Any]]:
        """Return the groups, one an injection, in the order in which they were labelled first."""
        try:
            with self._files.handle(FILE, "r") as file:
                lines = file.read().splitlines()
        except NotFound:
            return []
        found = []
        for line in lines:
            try:
                found.append(orjson.loads(line))
            except orjson.JSONDecodeError:
                # torn by a crash
                continue
        return [one for one in found if isinstance(one, dict) and one.get("queries")]

    def useless(self, injection: str) -> set[str]:
        """Return the citations of an injection that were called useless."""
        return next(
            (
                set(one["queries"][0].get("useless", ()))
                for one in self.groups()
                if one.get("injection") == injection
            ),
            set(),
        )

    def mark(
        self,
        injection: str,
        query: str,
        shown: Sequence[str],
        citation: str,
        *,
        useless: bool = True,
    ) -> None:
        """Call a piece of an injection useless, or take that back.

        Args:
            injection: The `id` of its entry in `HookLog.newest`.
            query: What was asked; secrets in it are replaced.
            shown: The citations of all pieces that were injected.
            citation: The one that is meant.
            useless: False to take it back; without a useless piece there is no label.

        Raises:
            InvalidArgument: There is no query, or the piece is none of these.
        """
        if not query.strip():
            raise InvalidArgument("say what was asked: without it there is nothing to measure")
        if citation not in shown:
            raise InvalidArgument(f"{citation!r:.200} is none of the pieces that were injected")
        with self._files.locked(f"{FILE}.lock"):
            groups = self.groups()
            old = [one for one in groups if one.get("injection") == injection]
            marked = set(old[0]["queries"][0].get("useless", ())) if old else set[str]()
            marked = marked | {citation} if useless else marked - {citation}
            kept = [one for one in groups if one not in old]
            if marked:
                kept.append(self._group(injection, query, shown, marked))
            lines = (orjson.dumps(one, option=orjson.OPT_APPEND_NEWLINE) for one in kept)
            self._files.replace(FILE, lines)

    def _group(
        self, injection: str, query: str, shown: Sequence[str], useless: set[str]
    ) -> dict[str, Any]:
        query, _ = self._store.redact(" ".join(query.split()))
        hits = {hit.citation: hit for hit in self._store.search(query, POOL)}
        documents = [_document(hit) for hit in hits.values()]
        others = [(one, self._text(one)) for one in shown if one not in hits]
        documents += [
            {"id": one, "text": text, "path": located(one)[0]} for one, text in others if text
        ]
        known = {one["id"] for one in documents}
        relevant = [one for one in shown if one not in useless and one in known]
        asked = {"text": query, "relevant": relevant, "useless": sorted(useless)}
        return {"injection": injection, "documents": documents, "queries": [asked]}

    def _text(self, citation: str) -> str:
        """Return what a citation points to, empty where it is gone."""
        try:
            path, first, last = located(citation)
            if not path.endswith(".jsonl") or first is None:
                return cited_text(self._store, citation)
            found = self._store.transcript(path).messages(first, (last or first) + 1 - first)
        except CommonplaceError:
            return ""
        return "\n".join(one.text for one in found if one.line <= (last or first))


def prompt_of(store: Store, entry: Mapping[str, Any]) -> str:
    """Return the prompt with which an entry of the log was injected, empty where it is not found.

    The log holds no prompts: it is looked for in the session, where it was captured.
    """
    if entry.get("event") != "prompt":
        return ""
    try:
        time = datetime.fromisoformat(str(entry.get("time")))
        around = (time - NEAR).timestamp(), (time + NEAR).timestamp()
        session = store.find_session(str(entry.get("session")))
        if session is None:
            return ""
        near = store.grep(
            ".", prefix=session.path, role="user", since=around[0], until=around[1], keep=False
        )
        log = store.transcript(session.path)
        messages = [message for one in near for message in log.messages(one.line, 1)]
    except (CommonplaceError, ValueError):
        return ""
    moment = time.timestamp()
    timed = [(abs((one.timestamp or 0) - moment), one.text) for one in messages]
    return min(timed, default=(0, ""))[1]


def _document(hit: Hit) -> dict[str, Any]:
    """Return a hit as a document of a labelled set."""
    if hit.source == "note":
        heading = " > ".join(hit.heading)
        return {"id": hit.citation, "text": hit.text, "heading": heading, "path": hit.path}
    asked = f"{hit.prompt}\n" if hit.prompt and hit.prompt != hit.text else ""
    found = {"id": hit.citation, "text": asked + hit.text, "speaker": hit.role or "user"}
    more = {"session": hit.session, "time": hit.time}
    return found | {name: value for name, value in more.items() if value}
