"""Answers to calls with an idempotency key: a call that is repeated is done once.

What is known of a key is written before the call and after it. If only the former is there, the
call was cut off, and the file tells whether it was done.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import msgspec

from commonplace.errors import Busy, InDoubt, InvalidArgument, StorageError
from commonplace.service.objects import ObjectStore

LONGEST_KEY = 200
KEPT = 86_400.0
"""Seconds for which an answer is kept."""
SWEEP_EVERY = 200
"""Calls after which old answers of a tenant are dropped."""


class _Known(msgspec.Struct):
    """What is known of a key: of which request it is, the state before it, and its answer."""

    request: str
    process: str
    before: Any = None
    answer: Any = None
    done: bool = False


class Repeatable:
    """Calls that change something, as one that is retried needs them.

    Args:
        objects: Where answers are kept.
        process: Names this process.
        grace: Seconds after which a call of another process has ended or will not.
    """

    def __init__(self, objects: ObjectStore, process: str, grace: float) -> None:
        self._objects, self._process, self._grace = objects, process, grace
        self._lock = threading.Lock()
        self._calls = 0
        self._held: Counter[str] = Counter()
        self._locks: dict[str, threading.Lock] = {}

    def run(
        self,
        tenant: str,
        key: str,
        request: bytes,
        *,
        before: Callable[[], Any],
        call: Callable[[], dict[str, Any]],
        was_done: Callable[[Any], dict[str, Any] | None],
    ) -> dict[str, Any]:
        """Return the answer of a call that is made once for its key.

        Args:
            tenant: Whose key it is.
            key: Given by the caller.
            request: What is asked; the same key with another request is an error.
            before: Returns the state that the call is going to change.
            call: Makes the call; what it raises is no answer, and nothing is kept of it.
            was_done: Given the state before, returns the answer of a call that was cut off after it
                was done, and None if it was not done.

        Raises:
            InvalidArgument: The key is too long, or of another request.
            Busy: Another process runs this call.
            InDoubt: It is not known whether a call that was cut off was done.
        """
        if not 0 < len(key.encode()) <= LONGEST_KEY:
            raise InvalidArgument(f"an idempotency key has 1 to {LONGEST_KEY} bytes")
        digest = hashlib.sha256(request).hexdigest()
        name = f"answers/{tenant}/{hashlib.sha256(key.encode()).hexdigest()}"
        with self._holding(name):
            known = _Known(digest, self._process, before())
            if not self._objects.create(name, msgspec.json.encode(known)):
                found = self._found(name, digest)
                if found.done:
                    return found.answer  # type: ignore[no-any-return]
                if (answer := was_done(found.before)) is not None:
                    return self._keep(name, found, answer)
                known = found
            try:
                answer = call()
            except InDoubt:
                raise
            except BaseException:
                self._objects.delete(name)
                raise
            kept = self._keep(name, known, answer)
        self._calls += 1
        if self._calls % SWEEP_EVERY == 0:
            self.sweep(tenant)
        return kept

    def sweep(self, tenant: str) -> None:
        """Drop answers that are older than a day."""
        for name, age in self._objects.list(f"answers/{tenant}"):
            if age > KEPT:
                self._objects.delete(name)

    def _found(self, name: str, digest: str) -> _Known:
        """Return what is known of a key that was used before."""
        data = self._objects.read(name)
        if data is None:
            raise Busy("another process has just ended this call; try again")
        found = msgspec.json.decode(data, type=_Known)
        if found.request != digest:
            raise InvalidArgument("this idempotency key was used for another request")
        if not found.done and found.process != self._process:
            kind, _, own = name.rpartition("/")
            ages = {one.rpartition("/")[2]: age for one, age in self._objects.list(kind)}
            if ages.get(own, 0.0) < self._grace:
                raise Busy("another process runs this call; try again in a while")
        return found

    def _keep(self, name: str, known: _Known, answer: dict[str, Any]) -> dict[str, Any]:
        known.answer, known.done = answer, True
        # it is done: a retry that finds no answer asks the file
        with suppress(StorageError):
            self._objects.write(name, msgspec.json.encode(known))
        return answer

    @contextmanager
    def _holding(self, name: str) -> Iterator[None]:
        """Let one thread of this process at a time use a key."""
        with self._lock:
            lock = self._locks.setdefault(name, threading.Lock())
            self._held[name] += 1
        try:
            with lock:
                yield
        finally:
            with self._lock:
                self._held[name] -= 1
                if not self._held[name]:
                    del self._held[name], self._locks[name]
