"""HTTP answers: JSON, and which status an error has."""

from __future__ import annotations

import math
from typing import Any

import orjson
from starlette.responses import Response

from commonplace import errors
from commonplace.service.limits import TooMany
from commonplace.service.objects import ObjectsUnavailable
from commonplace.service.opensearch import EngineUnavailable
from commonplace.service.tokens import Forbidden, Unauthorized

# the first that fits
STATUS_OF: tuple[tuple[type[Exception], int], ...] = (
    (Unauthorized, 401),
    (Forbidden, 403),
    (TooMany, 429),
    (EngineUnavailable, 503),
    (errors.Busy, 409),
    (errors.Conflict, 409),
    (errors.NotFound, 404),
    (errors.MemoryLimit, 503),
    (errors.InDoubt, 500),
    (ObjectsUnavailable, 503),
    (errors.StorageError, 507),
    (errors.CommonplaceError, 400),
    (ValueError, 400),
    (TypeError, 400),
)
RETRIED_LATER = "2"
ROOT = "."
"""In place of the folder of a tenant, which is none of the caller's business."""


def answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return an object as JSON; what no JSON can say is null."""
    data = orjson.dumps(content, default=_plain, option=orjson.OPT_NON_STR_KEYS)
    return Response(data, status, headers, "application/json")


def refusal(error: Exception, root: str = "") -> Response:
    """Return an error as an answer; of one that is not ours nothing is told.

    Args:
        error: What was raised.
        root: The folder of the tenant, which is not told.
    """
    status = next((status for kind, status in STATUS_OF if isinstance(error, kind)), 500)
    if status == 500 and not isinstance(error, errors.CommonplaceError):
        code, told = "internal", "an error in the service; it is in its log"
    else:
        code = getattr(error, "code", "argument")
        told = str(error).replace(root, ROOT) if root else str(error)
    headers = {}
    if isinstance(error, TooMany):
        headers["retry-after"] = str(math.ceil(error.after))
    elif status == 503 or isinstance(error, errors.Busy):
        headers["retry-after"] = RETRIED_LATER
    elif status == 401:
        headers["www-authenticate"] = "Bearer"
    return told_refusal(status, code, told, headers)


def told_refusal(
    status: int, code: str, message: str, headers: dict[str, str] | None = None
) -> Response:
    """Return an error of this status."""
    # half of a character that a caller sent is no text
    text = message.encode(errors="replace").decode()
    return answer({"error": {"code": code, "message": text}}, status, headers)


def _plain(value: Any) -> Any:
    """Return what orjson does not know in a form that it does."""
    if isinstance(value, tuple | set | frozenset):
        return list(value)
    return str(value)
