"""Freshness tokens: what a write answers with, and a search carries to see that write.

A token names files of the caller's own memory, and nothing has to be kept for it. A file counts as
seen when the index has it as it is now, which is the state that was written or a later one.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable

import msgspec

from commonplace.errors import InvalidArgument

MOST_PATHS = 64
LONGEST = 16_384


class _Content(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    tenant: str
    paths: list[str]


def freshness_token(tenant: str, paths: Iterable[str]) -> str:
    """Return the token of a write.

    Args:
        tenant: The key of the tenant.
        paths: The files that were written.
    """
    content = msgspec.msgpack.encode(_Content(tenant[:8], [*paths]))
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def paths_of(tenant: str, tokens: Iterable[str]) -> list[str]:
    """Return the files that a search has to see.

    Raises:
        InvalidArgument: A token is of no write of this tenant, or they name too many files.

    >>> key = "0123456789abcdef0123456789abcdef"
    >>> paths_of(key, [freshness_token(key, ["a.md"])])
    ['a.md']
    """
    found: dict[str, None] = {}
    for token in tokens:
        if len(token) > LONGEST:
            raise InvalidArgument("a freshness token is longer than any that a write gives")
        try:
            content = base64.b64decode(token + "=" * (-len(token) % 4), b"-_", validate=True)
            told = msgspec.msgpack.decode(content, type=_Content)
        except (binascii.Error, ValueError, msgspec.MsgspecError):
            raise InvalidArgument(f"{token!r:.60} is no freshness token of a write") from None
        if told.tenant != tenant[:8]:
            raise InvalidArgument("this freshness token is of another memory")
        found |= dict.fromkeys(told.paths)
    if len(found) > MOST_PATHS:
        raise InvalidArgument(f"freshness tokens name {len(found)} files, at most {MOST_PATHS}")
    return [*found]
