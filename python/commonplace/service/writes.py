"""Calls of the API that change one tenant's memory; with an idempotency key each is done once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from commonplace.errors import InDoubt, InvalidArgument, NotFound
from commonplace.records import record
from commonplace.redaction import Counts
from commonplace.service import requests as ask
from commonplace.service.calls import Answer, Caller, Service
from commonplace.service.freshness import freshness_token
from commonplace.service.opensearch import EngineUnavailable
from commonplace.store import Store

MOST_FORGOTTEN = 64
"""Files for which `forget` waits until the index has let go of them."""
FORGET_TIMEOUT = 10.0
# Messages at the end of a transcript among which a call that was cut off looks for its own
LAST_MESSAGES = 2000


@dataclass(frozen=True)
class _Change:
    """A change of a file, and how to tell whether one that was cut off was done.

    `was_done` is asked only where the file is no longer as it was before; None says that it cannot
    be told.
    """

    path: str
    make: Callable[[Store], Any]
    was_done: Callable[[Store], bool | None]
    other_paths: list[str] = field(default_factory=list)
    redacted: Counts = field(default_factory=dict)
    """Secrets that were replaced in what it writes, by kind."""

    def run(self, store: Store) -> Any:
        """Make the change, and log what was redacted."""
        written = self.make(store)
        if self.redacted:
            store.log_redactions(written.path, self.redacted)
        return written


def write(service: Service, caller: Caller, request: ask.WriteRequest) -> Answer:
    """Create a note or replace its text."""
    _is_note(request.path)
    change = _Change(
        request.path,
        lambda store: store.write(
            request.path, request.content, expected_version=request.expected_version
        ),
        lambda store: _text(store, request.path) == request.content or None,
    )
    return _run(service, caller, request, change)


def append(service: Service, caller: Caller, request: ask.AppendRequest) -> Answer:
    """Add text to the end of a note."""
    _is_note(request.path)
    with service.stores.of(caller.tenant) as store:
        content, redacted = store.redact(request.content)
    end = content if content.endswith("\n") else f"{content}\n"
    change = _Change(
        request.path,
        lambda store: store.append(
            request.path, content, expected_version=request.expected_version
        ),
        lambda store: _text(store, request.path).endswith(end) or None,
        redacted=redacted,
    )
    return _run(service, caller, request, change)


def patch(service: Service, caller: Caller, request: ask.PatchRequest) -> Answer:
    """Replace texts in a note, all or none."""
    _is_note(request.path)
    edits = [(one.old, one.new) for one in request.edits]

    def was_done(store: Store) -> bool | None:
        text = _text(store, request.path)
        return all(new in text and old not in text for old, new in edits) or None

    change = _Change(
        request.path,
        lambda store: store.patch(request.path, edits, expected_version=request.expected_version),
        was_done,
    )
    return _run(service, caller, request, change)


def move(service: Service, caller: Caller, request: ask.MoveRequest) -> Answer:
    """Rename a file."""
    change = _Change(
        request.path,
        lambda store: store.move(
            request.path, request.target, expected_version=request.expected_version
        ),
        lambda store: not store.version(request.path) and bool(store.version(request.target)),
        [request.target],
    )
    return _run(service, caller, request, change)


def delete(service: Service, caller: Caller, request: ask.DeleteRequest) -> Answer:
    """Take a file out of the memory; its text goes to the history."""
    change = _Change(
        request.path,
        lambda store: store.delete(request.path, expected_version=request.expected_version),
        lambda store: store.version(request.path) is None,
    )
    return _run(service, caller, request, change)


def log(service: Service, caller: Caller, request: ask.LogRequest) -> Answer:
    """Add messages to a transcript."""
    for message in request.messages:
        if not isinstance(message.get("role"), str):
            raise InvalidArgument("a message has a `role` such as user, as text")
    path = request.path.rstrip("/")
    path = path if path.endswith(".jsonl") else f"{path}/messages.jsonl"
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    with service.stores.of(caller.tenant) as store:
        given, redacted = store.redact(request.messages)
    messages = [{"timestamp": now, **one} for one in given]
    # by which a call that was cut off is known again
    own = hashlib.sha256(f"{caller.key}\0{path}".encode()).hexdigest()[:32]
    if caller.key:
        messages = [{**one, "request_id": own} for one in messages]

    def was_done(store: Store) -> bool:
        transcript = store.transcript(path)
        last = transcript.messages()[-LAST_MESSAGES:]
        return any(one.get("request_id") == own for one in transcript.records(last))

    change = _Change(
        path,
        lambda store: store.transcript(path).extend(messages),
        was_done,
        redacted=redacted,
    )
    return _run(service, caller, request, change)


def forget(service: Service, caller: Caller, request: ask.ForgetRequest) -> Answer:
    """Show what would be erased, or erase it; with its last answer the index has let go of it."""
    tenant = caller.tenant
    with service.stores.of(tenant) as store:
        if request.token is None:
            return record(store.forget(request.what, dry_run=True))
        with service.changing(tenant, None):
            found = store.forget(request.what, token=request.token)
    paths = sorted({passage.path for passage in found.passages}.union(found.files))
    try:
        told = service.sees(tenant, paths[:MOST_FORGOTTEN], FORGET_TIMEOUT)
    except EngineUnavailable:
        # it is erased, and hits are checked against the files
        told = False
    return {**record(found), "indexed": told and len(paths) <= MOST_FORGOTTEN}


def _run(service: Service, caller: Caller, request: ask.Request, change: _Change) -> Answer:
    """Change a file, once for an idempotency key; return what was done and its freshness token."""
    tenant = caller.tenant
    with service.stores.of(tenant) as store:
        paths = [store.spelled(one) for one in (change.path, *change.other_paths)]

    def answer(done: Answer) -> Answer:
        done.pop("history", None)
        told = {"redacted": change.redacted} if change.redacted else {}
        return {**done, **told, "fresh": freshness_token(tenant, paths)}

    def call() -> Answer:
        with service.stores.of(tenant) as store:
            with service.changing(tenant, None if change.other_paths else paths[0]):
                written = change.run(store)
            if paths[0].endswith(".jsonl"):
                # its version is a hash of all of it, and it only grows
                return answer({"path": written.path})
            return answer(record(written))

    def before() -> Any:
        with service.stores.of(tenant) as store:
            return _state(store, change.path)

    def recovered(earlier: Any) -> Answer | None:
        with service.stores.of(tenant, now=True) as store:
            if _state(store, change.path) == earlier:
                return None
            done = change.was_done(store)
            if done is None:
                raise InDoubt(
                    f"a call with this key was cut off, and {change.path} has changed since: "
                    "read it, and repeat the call with a new key if it was not done"
                )
            told: Answer = {"path": change.path}
            if not change.path.endswith(".jsonl"):
                told["version"] = store.version(change.path) or "absent"
        return answer(told) if done else None

    if caller.key is None:
        return call()
    asked = msgspec.json.encode([type(request).__name__, request])
    return service.repeatable.run(
        *(tenant, caller.key, asked), before=before, call=call, was_done=recovered
    )


def _state(store: Store, path: str) -> Any:
    """Return what tells states of a file apart; of a transcript, which grows, its size."""
    if not path.endswith(".jsonl"):
        return store.version(path)
    try:
        return store.stamp(path).size
    except NotFound:
        return None


def _text(store: Store, path: str) -> str:
    try:
        return store.read(path)
    except NotFound:
        return ""


def _is_note(path: str) -> None:
    """Check that a path is no transcript, which is only appended to.

    Raises:
        InvalidArgument: It is one.
    """
    if path.lower().endswith(".jsonl"):
        raise InvalidArgument(f"{path!r:.200} is a transcript, which only grows: call `log`")
