"""Access tokens: who calls, for which tenant, and what they may do.

A token is `cp_ID_SECRET`. Of the secret, 256 random bits, only the SHA-256 is kept; a slow hash
is for secrets that people think of.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Iterator
from typing import Literal

import msgspec

from commonplace.errors import CommonplaceError, InvalidArgument, NotFound
from commonplace.service.objects import ObjectStore

Scope = Literal["read", "write", "forget"]
SCOPES: tuple[Scope, ...] = ("read", "write", "forget")
LONGEST_TENANT = 1000
_TOKEN = re.compile(r"cp_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")


class Unauthorized(CommonplaceError):
    """There is no token, or it is unknown, revoked or expired."""

    code = "token"


class Forbidden(CommonplaceError):
    """The token does not have the scope that the call needs; nothing was done."""

    code = "scope"


class Grant(msgspec.Struct, frozen=True):
    """What a token allows: a tenant, an agent, scopes, and until when (seconds since 1970)."""

    id: str
    tenant: str
    agent: str
    scopes: tuple[Scope, ...]
    digest: str
    created: float
    expires: float | None = None

    @property
    def key(self) -> str:
        """The key of its tenant."""
        return tenant_key(self.tenant)

    def needs(self, scope: Scope) -> None:
        """Check that a scope is granted.

        Raises:
            Forbidden: It is not.
        """
        if scope not in self.scopes:
            raise Forbidden(f"this token has no scope `{scope}`, only {', '.join(self.scopes)}")


def tenant_key(tenant: str) -> str:
    """Return what stands for a tenant in names of folders, documents and aliases.

    A tenant may be called anything. 128 bits of a hash hold no separator, wildcard or path.

    >>> tenant_key("../acme*") == tenant_key("../acme")
    False
    """
    return hashlib.sha256(tenant.encode()).hexdigest()[:32]


class Tokens:
    """The tokens of a service.

    Args:
        objects: Where their hashes are kept.
    """

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    def new(
        self,
        tenant: str,
        agent: str,
        scopes: tuple[Scope, ...] = ("read", "write"),
        days: float | None = None,
    ) -> tuple[str, Grant]:
        """Make a token; it is shown this once.

        Args:
            tenant: Whose memory it opens: any text of at most 1,000 bytes.
            agent: Who will use it, for the list and the log.
            scopes: What it allows.
            days: How long it holds; default: until it is revoked.

        Returns:
            The token, and what it allows.

        Raises:
            InvalidArgument: A name is empty, too long or not UTF-8, or there is no such scope.
        """
        for what, name in (("tenant", tenant), ("agent", agent)):
            try:
                size = len(name.encode())
            except UnicodeEncodeError:
                raise InvalidArgument(f"the name of the {what} is not UTF-8") from None
            if not 0 < size <= LONGEST_TENANT:
                raise InvalidArgument(f"the name of the {what} has 1 to {LONGEST_TENANT} bytes")
        if not scopes or (wrong := set(scopes).difference(SCOPES)):
            named = ", ".join(sorted(wrong)) if scopes else "none"
            raise InvalidArgument(f"scopes are {', '.join(SCOPES)}; given: {named}")
        if days is not None and not 0 < days < 1e6:
            raise InvalidArgument("a token holds for more than 0 days")
        now = time.time()
        own, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
        expires = None if days is None else now + days * 86400
        grant = Grant(own, tenant, agent, tuple(scopes), _digest(secret), now, expires)
        self._objects.write(f"tokens/{own}", msgspec.json.encode(grant))
        return f"cp_{own}_{secret}", grant

    def check(self, token: str) -> Grant:
        """Return what a token allows.

        Raises:
            Unauthorized: It is unknown, revoked or expired.
        """
        parts = _TOKEN.fullmatch(token)
        grant = self._read(f"tokens/{parts[1]}") if parts else None
        if not parts or grant is None or not hmac.compare_digest(grant.digest, _digest(parts[2])):
            raise Unauthorized("this token is unknown or revoked")
        if grant.expires is not None and grant.expires <= time.time():
            raise Unauthorized("this token has expired; ask for a new one")
        return grant

    def revoke(self, own: str) -> None:
        """Take a token back, by the id that the list shows; calls that run end as they will.

        Raises:
            NotFound: There is no such token.
        """
        name = f"tokens/{own.removeprefix('cp_').partition('_')[0]}"
        if not re.fullmatch(r"tokens/[0-9a-f]{16}", name) or self._objects.read(name) is None:
            raise NotFound(f"there is no token {own!r:.50}; `token list` shows those there are")
        self._objects.delete(name)

    def list(self) -> Iterator[Grant]:
        """Yield what the tokens allow, expired ones too."""
        for name, _ in self._objects.list("tokens"):
            if grant := self._read(name):
                yield grant

    def _read(self, name: str) -> Grant | None:
        found = self._objects.read(name)
        return None if found is None else msgspec.json.decode(found, type=Grant)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
