"""Tenant of a call of the engine: its id, routing, field, filter and alias, from one place.

They are set here together and nowhere else. The alias of a tenant has a filter and a routing of its
own in the engine, which hold if those sent here do not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from commonplace.errors import CommonplaceError, InvalidArgument

KEY = re.compile(r"[0-9a-f]{32}")
Line = dict[str, Any]


class ForeignDocument(CommonplaceError):
    """The engine answered with a document of another tenant; the answer was thrown away."""

    code = "foreign"


@dataclass(frozen=True, slots=True)
class Put:
    """Write a document, unless a later generation of it is there.

    `claims` says that it must not be there in the same generation either.
    """

    id: str
    generation: int
    source: Line
    claims: bool = False


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove a document, unless a later generation of it is there."""

    id: str
    generation: int


@dataclass(frozen=True, slots=True)
class Get:
    """Read a document as it was written last, seen by searches or not."""

    id: str


@dataclass(frozen=True, slots=True)
class Search:
    """Search documents; `body` is a search request with a query."""

    body: Line


Call = Put | Remove | Get | Search


def alias_of(prefix: str, tenant: str) -> str:
    """Return the name of a tenant's alias."""
    return f"{prefix}-t-{_checked(tenant)}"


def filter_of(tenant: str) -> Line:
    """Return the filter that only documents of a tenant pass."""
    return {"term": {"tenant": _checked(tenant)}}


def alias_action(index: str, prefix: str, tenant: str) -> Line:
    """Return the action that makes a tenant's alias, the second fence."""
    return {
        "add": {
            "index": index,
            "alias": alias_of(prefix, tenant),
            "filter": filter_of(tenant),
            "routing": tenant,
        }
    }


def scoped(prefix: str, tenant: str, call: Call) -> list[Line]:
    """Return the lines of a bulk, mget or msearch request for one call, all within a tenant.

    Args:
        prefix: What the names of indexes and aliases begin with.
        tenant: The key of the tenant, of its token.
        call: What is asked, in which no tenant stands.

    Raises:
        InvalidArgument: The key is none.
    """
    alias = alias_of(prefix, tenant)
    if isinstance(call, Search):
        query = {
            "bool": {"must": [_within(tenant, call.body["query"])], "filter": [filter_of(tenant)]}
        }
        return [{"index": alias, "routing": tenant}, {**call.body, "query": query}]
    where: Line = {"_index": alias, "_id": f"{tenant}/{call.id}", "routing": tenant}
    if isinstance(call, Get):
        return [where]
    mode = "external" if isinstance(call, Put) and call.claims else "external_gte"
    where |= {"version": call.generation, "version_type": mode, "require_alias": True}
    if isinstance(call, Remove):
        return [{"delete": where}]
    return [{"index": where}, {**call.source, "tenant": tenant}]


def _within(tenant: str, query: Line) -> Line:
    """Return a query whose nearest neighbours are those within a tenant.

    A filter beside k-NN, as that of an alias, only takes away from what is nearest of all.
    """
    if [*query] != ["knn"]:
        return query
    ((field, near),) = query["knn"].items()
    among = {"bool": {"filter": [near["filter"], filter_of(tenant)]}}
    return {"knn": {field: {**near, "filter": among}}}


def own_id(tenant: str, found: Line) -> str:
    """Return the id of a document that the engine answered with, without its tenant.

    Raises:
        ForeignDocument: It is of another tenant.
    """
    start = f"{_checked(tenant)}/"
    own: str = found["_id"]
    if not own.startswith(start) or found.get("_source", {}).get("tenant", tenant) != tenant:
        raise ForeignDocument("the engine answered with a document of another tenant")
    return own[len(start) :]


def _checked(tenant: str) -> str:
    if not KEY.fullmatch(tenant):
        raise InvalidArgument("this is no key of a tenant")
    return tenant
