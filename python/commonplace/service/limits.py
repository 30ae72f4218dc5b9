"""Limits of one process: calls of a tenant per second and at once, so that nobody slows others."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from commonplace.errors import CommonplaceError

MOST_TENANTS = 100_000
"""Tenants whose rate is remembered; one that was quiet for longest is forgotten first."""


class TooMany(CommonplaceError):
    """More calls than are allowed; nothing was done. `after` says in how many seconds to retry."""

    code = "rate"

    def __init__(self, message: str, after: float = 1.0) -> None:
        super().__init__(message)
        self.after = after


class _Bucket:
    __slots__ = ("filled", "left", "running")

    def __init__(self, left: float, filled: float) -> None:
        self.left, self.filled, self.running = left, filled, 0


class Limits:
    """Token buckets, one a tenant.

    Args:
        rate: Calls of a tenant per second, in the long run.
        burst: Calls of a tenant at once, after a pause.
        at_once: Calls of a tenant that run or wait at the same time.
    """

    def __init__(
        self,
        rate: float = 100,
        burst: int = 200,
        at_once: int = 16,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rate, self._burst, self._at_once = rate, burst, at_once
        self._clock = clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def call(self, tenant: str) -> Iterator[None]:
        """Count a call of a tenant while it runs.

        Raises:
            TooMany: The tenant has used up what it may.
        """
        bucket = self._enter(tenant)
        try:
            yield
        finally:
            with self._lock:
                bucket.running -= 1

    def _enter(self, tenant: str) -> _Bucket:
        with self._lock:
            now = self._clock()
            bucket = self._buckets.setdefault(tenant, _Bucket(self._burst, now))
            self._buckets.move_to_end(tenant)
            if len(self._buckets) > MOST_TENANTS:
                oldest = next(iter(self._buckets))
                if not self._buckets[oldest].running:
                    del self._buckets[oldest]
            gained = max(0.0, now - bucket.filled) * self._rate
            bucket.left, bucket.filled = min(self._burst, bucket.left + gained), now
            if bucket.left < 1:
                after = (1 - bucket.left) / self._rate
                raise TooMany(f"more than {self._rate:g} calls a second; try again", after)
            if bucket.running >= self._at_once:
                raise TooMany(f"{self._at_once} calls of this tenant are running; try again")
            bucket.left -= 1
            bucket.running += 1
            return bucket
