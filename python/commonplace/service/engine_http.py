"""HTTP to the nodes of a search engine: JSON both ways, another node where one does not answer."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from typing import Any

import orjson
import urllib3

from commonplace.errors import CommonplaceError

RETRIED = {408, 429, 502, 503, 504}
ATTEMPTS = 4
OPTIONS = orjson.OPT_SERIALIZE_NUMPY
"""Vectors are rows of a matrix."""


class EngineUnavailable(CommonplaceError, OSError):
    """The search engine does not answer, or not as a whole; files can be read and written."""

    code = "engine"


class NoAnswer(EngineUnavailable):
    """No node answered in time, whatever was asked."""


class EngineHttp:
    """The nodes of one cluster.

    Args:
        url: Where they answer, separated by commas.
        timeout: Seconds that a call may take.
        sleep: Waits so many seconds.
    """

    def __init__(
        self, url: str, timeout: float, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._urls = [one.strip().rstrip("/") for one in url.split(",") if one.strip()]
        self.timeout = timeout
        self._pool = urllib3.PoolManager(maxsize=64, retries=False)
        self._sleep = sleep
        self._node = 0

    @property
    def url(self) -> str:
        """Where they answer, separated by commas."""
        return ",".join(self._urls)

    def is_alive(self, seconds: float) -> bool:
        """Say whether the node that is asked next answers in so many seconds."""
        try:
            url = self._urls[self._node % len(self._urls)]
            answer = self._pool.request("GET", url, timeout=seconds)
        except (urllib3.exceptions.HTTPError, OSError):
            return False
        return answer.status == 200

    def send(
        self, method: str, path: str, body: Any, timeout: float | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Return status and JSON of the answer; another node is asked where one does not answer.

        Args:
            method: Of HTTP.
            path: What is asked for.
            body: Sent as JSON; a list as a line each.
            timeout: Seconds that it may take; default: those of all calls.

        Raises:
            NoAnswer: No node answered, or not with JSON.
        """
        data, kind = _encoded(body)
        why = ""
        timeout = self.timeout if timeout is None else timeout
        deadline = time.monotonic() + timeout
        # a node that hangs leaves time to ask another one
        read_timeout = timeout / min(len(self._urls), 2)
        attempts = max(ATTEMPTS, len(self._urls))
        for attempt in range(attempts):
            if (left := deadline - time.monotonic()) <= 0:
                break
            url = self._urls[self._node % len(self._urls)]
            waits = urllib3.Timeout(connect=min(1.0, left), read=min(read_timeout, left))
            headers = {"content-type": kind}
            try:
                answer = self._pool.request(
                    method, f"{url}{path}", body=data, headers=headers, timeout=waits
                )
                if answer.status in RETRIED:
                    why = f"it answers {answer.status}"
                else:
                    return answer.status, {} if method == "HEAD" else _object(answer.data)
            except (urllib3.exceptions.HTTPError, OSError) as error:
                why = type(error).__name__
            except ValueError:
                why = "its answer is cut off or no JSON"
            self._node += 1
            if attempt + 1 < attempts:
                self.pause(attempt)
        raise NoAnswer(f"the search engine does not answer ({why}); try again later")

    def pause(self, attempt: int) -> None:
        """Wait before the next attempt, longer each time, and not all at the same time."""
        self._sleep(0.05 * 2**attempt * (0.5 + random.random()))  # noqa: S311

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()


def reason(told: Any) -> str:
    """Return why the engine refused, in a line and without the text of documents."""
    error = told.get("error", told) if isinstance(told, dict) else told
    if isinstance(error, dict):
        cause = (error.get("root_cause") or [error])[0]
        return f"{cause.get('type', 'unknown')}: {cause.get('reason', '')!s:.200}"
    return f"{error!s:.200}"


def _encoded(body: Any) -> tuple[bytes | None, str]:
    """Return a body as bytes, and its type: a list is one line each, as bytes already are."""
    if isinstance(body, list):
        body = as_lines(body)
    if isinstance(body, bytes):
        return body, "application/x-ndjson"
    return None if body is None else orjson.dumps(body), "application/json"


def _object(data: bytes) -> dict[str, Any]:
    """Return the JSON object of an answer.

    Raises:
        ValueError: It is none.
    """
    found = orjson.loads(data)
    if not isinstance(found, dict):
        raise ValueError("no JSON object")
    return found


def as_lines(body: Iterable[dict[str, Any]]) -> bytes:
    """Return the body of a request that has a line for each object."""
    option = OPTIONS | orjson.OPT_APPEND_NEWLINE
    return b"".join(orjson.dumps(line, option=option) for line in body)
