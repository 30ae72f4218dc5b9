"""Metrics of one process in the Prometheus text format; none has a tenant in it."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.process_collector import ProcessCollector

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
log = logging.getLogger(__name__)


class Metrics:
    """Counters of requests, and gauges that are read when they are asked for."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._requests = Counter(
            "commonplace_requests",
            "Requests by call and status.",
            ["call", "status"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "commonplace_request_seconds",
            "Seconds that a request took.",
            ["call"],
            buckets=BUCKETS,
            registry=self._registry,
        )
        self._stale = Counter(
            "commonplace_stale_searches",
            "Searches that did not see a write in time.",
            registry=self._registry,
        )

    def gauge(self, name: str, told: str, value: Callable[[], float]) -> None:
        """Add a figure that is read when it is asked for."""
        Gauge(f"commonplace_{name}", told, registry=self._registry).set_function(value)

    def request(self, call: str, status: int, seconds: float) -> None:
        """Count a request; `call` is one of ours and nothing that a caller made up."""
        self._requests.labels(call, str(status)).inc()
        self._seconds.labels(call).observe(seconds)

    def failed(self, call: str, error: Exception) -> None:
        """Log an error that is ours; of what it says nothing, for it may quote the memory."""
        where = "".join(traceback.format_list(traceback.extract_tb(error.__traceback__)[-6:]))
        log.error("%s failed: %s\n%s", call, type(error).__name__, where)

    def stale(self) -> None:
        """Count a search that did not see a write in time."""
        self._stale.inc()

    def text(self) -> bytes:
        """Return all of it in the text format."""
        return generate_latest(self._registry)
