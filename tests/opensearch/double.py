"""A double of OpenSearch over HTTP: the requests that the service makes, in memory, with faults.

`tests/test_service_engine.py` runs the same tests against it and against the real one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import RLock, Thread
from typing import Any

import orjson

Json = dict[str, Any]
Answer = tuple[int, Json]


@dataclass
class Index:
    """Documents by id as they were written, and as searches see them."""

    body: Json
    written: dict[str, Json] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    seen: dict[str, Json] = field(default_factory=dict)
    # those that are seen, by tenant: a filter for one need not look at the rest
    by_tenant: dict[str, dict[str, Json]] = field(default_factory=dict)

    def told(self) -> Json:
        """Return what is told of it: how it was set, and what it maps."""
        knn = {"knn": "true"} if "index.knn" in self.body.get("settings", {}) else {}
        return {"mappings": self.body.get("mappings"), "settings": {"index": knn}}

    def refresh(self) -> None:
        """Let searches see what was written."""
        self.seen = dict(self.written)
        self.by_tenant = {}
        for own, source in self.seen.items():
            self.by_tenant.setdefault(source["tenant"], {})[own] = source

    def passing(self, query: Json | None) -> dict[str, Json]:
        """Return the documents that pass the filter of an alias."""
        if query is None:
            return self.seen
        if [*query] == ["term"] and [*query["term"]] == ["tenant"]:
            return self.by_tenant.get(query["term"]["tenant"], {})
        return {own: one for own, one in self.seen.items() if _score(query, one) is not None}


class Double(ThreadingHTTPServer):
    """The server; `fault` may answer in its place, with a status and bytes."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, *, knn: bool = True) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.knn = knn
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.indexes: dict[str, Index] = {}
        # by alias: the index, and what else it has
        self.aliases: dict[str, tuple[str, Json]] = {}
        self.fault: Callable[[str, bytes], tuple[int, bytes] | None] = lambda _path, _body: None
        self.lock = RLock()

    def answer(self, method: str, path: str, body: bytes) -> Answer:
        """Return status and JSON of the answer to a request."""
        with self.lock:
            lines = [orjson.loads(line) for line in body.splitlines()] if body else []
            whole = lines[0] if lines else {}
            if path in {"/_bulk", "/_mget", "/_msearch"}:
                return 200, getattr(self, path[1:])(lines)
            if path == "/_aliases":
                return self._change_aliases(whole["actions"])
            if found := re.fullmatch(r"/(?:([^/]+)/)?_alias/(.+)", path):
                index, _ = self.aliases.get(found[2], (None, {}))
                there = index is not None and found[1] in {None, index}
                return (200, {str(index): {"aliases": {found[2]: {}}}}) if there else (404, {})
            name, _, verb = path[1:].partition("/")
            real, _ = self.aliases.get(name, (name, {}))
            if method == "PUT" and not verb:
                return self._make(name, whole)
            if real not in self.indexes:
                return 404, {"error": {"type": "index_not_found_exception", "reason": name}}
            if method == "DELETE":
                del self.indexes[real]
                self.aliases = {k: v for k, v in self.aliases.items() if v[0] != real}
            if verb == "_refresh":
                self.indexes[real].refresh()
            if verb == "_mapping" and method == "PUT":
                self.indexes[real].body["mappings"]["properties"] |= whole["properties"]
            return 200, {real: self.indexes.get(real, Index({})).told()}

    def _make(self, name: str, body: Json) -> Answer:
        if name in self.indexes:
            return 400, {"error": {"type": "resource_already_exists_exception", "reason": name}}
        if not self.knn and "index.knn" in body["settings"]:
            return 400, {"error": {"type": "illegal_argument_exception", "reason": "index.knn"}}
        self.indexes[name] = Index(body)
        for alias, told in body.get("aliases", {}).items():
            self.aliases[alias] = (name, told)
        return 200, {}

    def _change_aliases(self, actions: list[Json]) -> Answer:
        for action in actions:
            ((kind, told),) = action.items()
            if told["index"] not in self.indexes:
                return 404, {"error": {"type": "index_not_found_exception", "reason": "no index"}}
            if kind == "remove":
                del self.aliases[told["alias"]]
            else:
                self.aliases[told["alias"]] = (told["index"], told)
        return 200, {}

    def _bulk(self, lines: list[Json]) -> Json:
        items = []
        rest = iter(lines)
        for line in rest:
            ((verb, told),) = line.items()
            source = next(rest) if verb == "index" else None
            items.append({verb: self._write(told, source)})
        return {"items": items}

    def _write(self, told: Json, source: Json | None) -> Json:
        if told["_index"] not in self.aliases:
            return {
                "status": 404,
                "error": {"type": "index_not_found_exception", "reason": "alias"},
            }
        name, alias = self.aliases[told["_index"]]
        if alias.get("routing", told["routing"]) != told["routing"]:
            return {"status": 400, "error": {"type": "illegal_argument", "reason": "routing"}}
        index, own, version = self.indexes[name], told["_id"], told["version"]
        least = index.versions.get(own, -1) + (told["version_type"] == "external")
        if version < least:
            return {"status": 409, "error": {"type": "version_conflict", "reason": ""}}
        index.versions[own] = version
        if source is None:
            return {"status": 200 if index.written.pop(own, None) else 404}
        index.written[own] = source
        return {"status": 201}

    def _mget(self, lines: list[Json]) -> Json:
        docs = []
        for told in lines[0]["docs"]:
            if told["_index"] not in self.aliases:
                docs.append({"error": {"type": "index_not_found_exception", "reason": "alias"}})
                continue
            source = self.indexes[self.aliases[told["_index"]][0]].written.get(told["_id"])
            found = {"found": source is not None, "_id": told["_id"]}
            docs.append(found | ({"_source": _shown(source)} if source else {}))
        return {"docs": docs}

    def _msearch(self, lines: list[Json]) -> Json:
        return {"responses": [self._search(*pair) for pair in zip(*[iter(lines)] * 2, strict=True)]}

    def _search(self, where: Json, body: Json) -> Json:
        if where["index"] not in self.aliases:
            return {"error": {"type": "index_not_found_exception", "reason": "alias"}}
        name, alias = self.aliases[where["index"]]
        query = _with_neighbours(body["query"], self.indexes[name].seen)
        found: list[tuple[str, Json, float]] = []
        for own, source in self.indexes[name].passing(alias.get("filter")).items():
            if (score := _score(query, source)) is not None:
                found.append((own, source, score))
        order = body.get("sort", ["_score"])
        found.sort(key=lambda one: _place(order, one))
        if after := body.get("search_after"):
            found = [one for one in found if _place(order, one) > tuple(after)]
        hits = [
            {"_id": own, "_score": score, "_source": _shown(source), "sort": _place(order, one)}
            for one in found[body.get("from", 0) :][: body.get("size", 10)]
            for own, source, score in [one]
        ]
        sources = [source for _, source, _ in found]
        return {
            "hits": {"total": {"value": len(found)}, "hits": hits},
            "aggregations": {
                name: _aggregate(told, sources) for name, told in body.get("aggs", {}).items()
            },
        }


def _with_neighbours(query: Json, sources: dict[str, Json]) -> Json:
    """Return a query with the nearest neighbours in place of k-NN: those of the whole index."""
    if [*query] == ["bool"]:
        told = {
            name: [_with_neighbours(one, sources) for one in clauses]
            if isinstance(clauses, list)
            else clauses
            for name, clauses in query["bool"].items()
        }
        return {"bool": told}
    if [*query] != ["knn"]:
        return query
    ((name, near),) = query["knn"].items()
    scores = {
        id(source): _likeness(source[name], near["vector"])
        for source in sources.values()
        if name in source and _score(near["filter"], source) is not None
    }
    best = sorted(scores.items(), key=lambda one: -one[1])[: near["k"]]
    return {"neighbours": dict(best)}


def _likeness(one: list[float], other: list[float]) -> float:
    """Return the score that k-NN gives to an inner product."""
    product = sum(a * b for a, b in zip(one, other, strict=True))
    return 1 + product if product >= 0 else 1 / (1 - product)


def _shown(source: Json) -> Json:
    left_out = ("names", "features", "vector_")
    return {name: value for name, value in source.items() if not name.startswith(left_out)}


def _place(order: list[Any], found: tuple[str, Json, float]) -> tuple[Any, ...]:
    _, source, score = found
    return tuple(-score if one == "_score" else source.get(next(iter(one))) for one in order)


def _values(source: Json, name: str) -> list[Any]:
    value: Any = source.get(name)
    if "." in name:
        first, _, rest = name.partition(".")
        value = (source.get(first) or {}).get(rest)
    return value if isinstance(value, list) else [] if value is None else [value]


def _score(query: Json, source: Json) -> float | None:  # noqa: PLR0911 - one a kind
    """Return the score of a document, or None where it does not pass."""
    ((kind, told),) = query.items()
    if kind == "bool":
        needed = [_score(one, source) for one in told.get("must", []) + told.get("filter", [])]
        refused = [_score(one, source) for one in told.get("must_not", [])]
        wanted = [_score(one, source) for one in told.get("should", [])]
        passing = [one for one in wanted if one is not None]
        if None in needed or len(passing) < told.get("minimum_should_match", 0):
            return None
        if any(one is not None for one in refused):
            return None
        scored = [_score(one, source) or 0.0 for one in told.get("must", [])]
        return sum(scored) + sum(passing)
    if kind == "constant_score":
        return None if _score(told["filter"], source) is None else float(told["boost"])
    if kind == "neighbours":
        near: float | None = told.get(id(source))
        return near
    if kind == "rank_feature":
        name = told["field"].removeprefix("features.")
        value = source.get("features", {}).get(name)
        pivot = told["saturation"]["pivot"]
        return None if value is None else told["boost"] * value / (pivot + value)
    if kind == "exists":
        return 0.0 if _values(source, told["field"]) else None
    ((name, wanted_value),) = told.items()
    if kind == "term":
        # nearly all that is counted: no function a value
        return 0.0 if wanted_value in _values(source, name) else None
    passes: Callable[[Any], bool] = {
        "terms": lambda one: one in wanted_value,
        "prefix": lambda one: bool(one.startswith(wanted_value["value"])),
        "fuzzy": lambda one: (
            one[:1] == wanted_value["value"][:1]
            and _distance(one, wanted_value["value"]) <= wanted_value["fuzziness"]
        ),
        "range": lambda one: bool(
            wanted_value.get("gte", one) <= one < wanted_value.get("lt", one + 1)
        ),
    }[kind]
    return 0.0 if any(passes(one) for one in _values(source, name)) else None


def _distance(one: str, other: str) -> int:
    """Return how many letters have to be added, removed or changed."""
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        before, row = row, [at]
        for place, wanted in enumerate(other, 1):
            kept = before[place - 1] + (letter != wanted)
            row.append(min(before[place] + 1, row[-1] + 1, kept))
    return row[-1]


def _aggregate(told: Json, sources: list[Json]) -> Json:
    ((kind, of),) = told.items()
    if kind == "filters":
        counts = {
            name: sum(_score(query, source) is not None for source in sources)
            for name, query in of["filters"].items()
        }
        return {"buckets": {name: {"doc_count": count} for name, count in counts.items()}}
    values = [value for source in sources for value in _values(source, of["field"])]
    return {"value": sum(values) if kind == "sum" else len(values)}


@dataclass
class Direct:
    """Requests to a double without a socket between, for tests with very many.

    It stands in for the `urllib3.PoolManager` of a client.
    """

    server: Double

    def request(self, method: str, url: str, body: bytes | None = None, **_: object) -> Answered:
        """Answer a request."""
        path = url.removeprefix(self.server.url)
        status, told = self.server.answer(method, path, body or b"")
        return Answered(status, orjson.dumps(told))

    def clear(self) -> None:
        """Have no connection to close."""


@dataclass
class Answered:
    """An answer that `Direct` gives."""

    status: int
    data: bytes


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # else the body of each answer waits for an acknowledgement of its head
    disable_nagle_algorithm = True
    server: Double

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        status, data = self.server.fault(self.path, body) or (0, b"")
        if not status:
            status, told = self.server.answer(self.command, self.path, body)
            data = orjson.dumps(told)
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def __getattr__(self, name: str) -> Any:
        """Answer each method in the same way."""
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def double(*, knn: bool = True) -> Iterator[Double]:
    """Run a double as long as the context lasts, with k-NN or without."""
    server = Double(knn=knn)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
