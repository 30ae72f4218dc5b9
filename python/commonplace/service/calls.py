"""Calls of the API that read one tenant's memory, and what all calls share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

from commonplace.errors import InvalidArgument
from commonplace.records import record
from commonplace.service import requests as ask
from commonplace.service.changes import Changes
from commonplace.service.freshness import paths_of
from commonplace.service.idempotency import Repeatable
from commonplace.service.stores import Stores
from commonplace.service.tokens import Grant

LONGEST_ANSWER = 4 << 20
"""Bytes of a file that is read at once."""
FRESHNESS_TIMEOUT = 1.0
"""Seconds for which a search waits for a write that it has to see."""
Answer = dict[str, Any]


@dataclass(frozen=True)
class Caller:
    """Who calls: what their token allows, and the idempotency key of a call if it has one."""

    grant: Grant
    key: str | None = None

    @property
    def tenant(self) -> str:
        """The key of the tenant, which comes from the token and from nowhere else."""
        return self.grant.key


@dataclass(frozen=True)
class Service:
    """What calls work on: stores, the way into the index, and answers by idempotency key.

    Without `changes` each store ranks by its own index, and there is nothing to wait for.
    """

    stores: Stores
    changes: Changes | None
    repeatable: Repeatable

    @contextmanager
    def changing(self, tenant: str, path: str | None) -> Iterator[None]:
        """Change a file, or any if `path` is None, and have it indexed."""
        noted = self.changes.changing(tenant, path) if self.changes else nullcontext()
        with noted, self.stores.changing(tenant, path):
            yield

    def sees(self, tenant: str, paths: list[str], timeout: float = FRESHNESS_TIMEOUT) -> bool:
        """Wait until searches see files as they are now; say whether they do in time."""
        if not paths:
            return True
        if self.changes is None:
            with self.stores.of(tenant, now=True):
                return True
        return self.changes.see(tenant, paths, timeout)

    def lags(self, tenant: str) -> bool:
        """Say whether searches may not see a change that this process has acknowledged."""
        return self.changes is not None and self.changes.lags(tenant)


def search(service: Service, caller: Caller, request: ask.SearchRequest) -> Answer:
    """Return hits, and how fresh they are; by meaning, the confidence is in the scores."""
    tenant = caller.tenant
    paths = paths_of(tenant, request.fresh)
    seen = service.sees(tenant, paths)
    # what carries a token asks for its own writes alone
    lags = not paths and service.lags(tenant)
    with service.stores.of(tenant) as store:
        fields = cast("Any", request.fields())
        if request.meaning:
            near = store.search(
                request.query, request.limit, unit=request.unit, meaning=True, **fields
            )
            hits, confidence = [hit.to_dict() for hit in near], None
            freshness, notes = near.freshness, near.notes
        else:
            found = store.search(request.query, request.limit, unit=request.unit, **fields)
            hits, confidence = [record(hit) for hit in found], found.confidence
            freshness, notes = found.freshness, found.notes
    return {
        "hits": hits,
        "freshness": "stale" if not seen or (lags and freshness == "fresh") else freshness,
        "confidence": confidence,
        "notes": notes,
    }


def grep(service: Service, caller: Caller, request: ask.GrepRequest) -> Answer:
    """Return matches, and whether there may be more."""
    with service.stores.of(caller.tenant) as store:
        found = store.grep(
            request.pattern,
            fixed=request.fixed,
            ignore_case=request.ignore_case,
            before=request.before,
            after=request.after,
            limit=request.limit,
            keep=False,
            **cast("Any", request.fields()),
        )
        matches = [record(match) for match in found]
    return {"matches": matches, "more": len(matches) == request.limit}


def list_files(service: Service, caller: Caller, request: ask.ListRequest) -> Answer:
    """Return files by path."""
    with service.stores.of(caller.tenant) as store:
        entries = (one for one in store.list(request.prefix) if one.path > request.after)
        files = [record(entry) for entry in islice(entries, request.limit)]
    return {"files": files, "more": len(files) == request.limit}


def read(service: Service, caller: Caller, request: ask.ReadRequest) -> Answer:
    """Return the text of a file, and its version."""
    with service.stores.of(caller.tenant) as store:
        if request.version is None and store.stamp(request.path).size > LONGEST_ANSWER:
            raise InvalidArgument(f"{request.path} is too long for one answer: read messages")
        version = request.version or store.version(request.path)
        text = store.read(request.path, request.version)
        # a text that was changed in between has no version that is known
        now = version if request.version else store.version(request.path)
    return {"path": request.path, "text": text, "version": version if now == version else None}


def history(service: Service, caller: Caller, request: ask.HistoryRequest) -> Answer:
    """Return earlier versions of a file."""
    with service.stores.of(caller.tenant) as store:
        return {"versions": [record(one) for one in store.history(request.path)]}


def messages(service: Service, caller: Caller, request: ask.MessagesRequest) -> Answer:
    """Return messages of a transcript."""
    with service.stores.of(caller.tenant) as store:
        found = store.transcript(request.path).messages(request.start, request.limit)
    following = found[-1].line + 1 if len(found) == request.limit else None
    return {"messages": [record(one) for one in found], "next": following}


def sessions(service: Service, caller: Caller, request: ask.SessionsRequest) -> Answer:
    """Return sessions, newest first."""
    with service.stores.of(caller.tenant) as store:
        found = store.sessions(project=request.project, since=request.since, until=request.until)
    return {"sessions": [record(one) for one in found[: request.limit]]}


def status(service: Service, caller: Caller, _: ask.StatusRequest) -> Answer:
    """Return how much there is."""
    with service.stores.of(caller.tenant) as store:
        entries = store.list()
    notes = sum(not one.path.endswith(".jsonl") for one in entries)
    return {
        "notes": notes,
        "transcripts": len(entries) - notes,
        "bytes": sum(one.size for one in entries),
    }
