"""Requests to the engine for one query: what to count, and which documents are candidates.

The engine adds up `weight · tf~ / (k1 + tf~)` over names, which is our own formula: `tf~` was
stored with each document, and weights come from the statistics of the tenant's documents alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from commonplace._core import CollectionStats, QueryNames, SearchFilter

FIELDS = (
    *("body", "heading", "title", "keywords", "code"),
    *("path", "speaker", "time", "context"),
)
PIVOT = 1.3
"""`k1` of the ranking."""
PATTERN = "~"
"""Before the name of a pattern."""
BESIDE = {"c": "b", "w": "v"}
"""Letters of names in the text, and of those that are only beside it."""
FIELD_LETTERS = {"heading": "h", "title": "h", "speaker": "p"}
"""Letters of names in one field."""
TENANT = "tenant"
"""Id and kind of the record of a tenant: how it is encoded, and whether all files are indexed."""
LONGEST_NAME = 1000
"""Bytes of a name; what is longer is no word that anybody looks for."""
MOST_CLAUSES = 900
"""Clauses of a query, of which an engine takes 1,024."""
Json = dict[str, Any]


def feature(name: str) -> str:
    """Return a name as a feature: a dot would be a path of fields."""
    return name.replace(".", "\u2024")


def filters_of(filter: SearchFilter, source: str | None = None) -> tuple[list[Json], list[Json]]:
    """Return the clauses that a document must pass, and those that it must not.

    Args:
        filter: With paths as they are stored.
        source: Only these: `tool`, or what is not of tools.
    """
    must: list[Json] = [{"term": {"kind": "document"}}]
    must_not: list[Json] = []
    if source == "tool":
        must.append({"term": {"source": "tool"}})
    else:
        must_not.append({"term": {"source": "tool"}})
    if filter.prefix:
        folders = [prefix.rstrip("/") for prefix in filter.prefix]
        if "" not in folders:
            must.append(any_of([{"terms": {"folders": folders}}, {"terms": {"path": folders}}]))
    if filter.source and source != "tool":
        must.append({"term": {"source": filter.source}})
    if filter.since is not None or filter.until is not None:
        bounds: Json = {}
        if filter.since is not None:
            bounds["gte"] = round(filter.since * 1000)
        if filter.until is not None:
            bounds["lt"] = round(filter.until * 1000)
        must.append({"range": {"time": bounds}})
    if filter.session:
        files = {"terms": {"path": list(filter.session_transcripts)}}
        must.append(any_of([{"term": {"session": filter.session}}, files]))
    names = ("role", "category")
    must += [{"term": {name: value}} for name in names if (value := getattr(filter, name))]
    return must, must_not


def counts_body(counted: dict[str, Json], tools: bool, *, totals: bool) -> Json:
    """Return the request for `N`, and for how many documents pass each of some queries.

    Args:
        counted: The queries by their keys, as `counted_queries` returns them.
        tools: Count what is of tools, in place of the rest.
        totals: Add up the lengths of the fields too.
    """
    aggregations: Json = {}
    if counted:
        aggregations["counts"] = {"filters": {"filters": counted}}
    if totals:
        for name in FIELDS:
            of = {"field": f"lengths.{name}"}
            aggregations[f"sum_{name}"] = {"sum": of}
            aggregations[f"has_{name}"] = {"value_count": of}
    must, must_not = filters_of(SearchFilter(), "tool" if tools else None)
    body: Json = {
        "size": 0,
        "track_total_hits": True,
        "query": {"bool": {"filter": must, "must_not": must_not}},
    }
    if aggregations:
        body["aggs"] = aggregations
    return body


def count_bodies(counted: dict[str, Json], tools: bool) -> dict[str, Json]:
    """Return a request for each of some queries by itself, with its key.

    It reads where a name is, and not all documents of a tenant: of many that is far less.
    """
    must, must_not = filters_of(SearchFilter(), "tool" if tools else None)
    return {
        key: {
            "size": 0,
            "track_total_hits": True,
            "query": {"bool": {"filter": [*must, query], "must_not": must_not}},
        }
        for key, query in counted.items()
    }


def counted_queries(names: QueryNames, markers: Mapping[str, Sequence[str]]) -> dict[str, Json]:
    """Return a query for each count that a search needs, by its key.

    Args:
        names: Of the query: each of its names and patterns is counted.
        markers: The names of documents in some languages, by the codes of these.
    """
    counted: Json = {
        f"l{code}": {"terms": {"names": list(names_of)}} for code, names_of in markers.items()
    }
    counted |= {f"n{at}": {"term": {"names": name}} for at, name in _numbered(names.names)}
    for at, pattern in enumerate(names.patterns):
        for letter in "wv":
            counted[f"{letter}{at}"] = pattern_query(pattern, letter)
    return counted


def counts_of(answer: Json, apart: dict[str, Json]) -> dict[str, int]:
    """Return how many documents pass each query, by its key.

    Args:
        answer: The answer to `counts_body`.
        apart: Answers to `count_bodies`.
    """
    buckets = answer.get("aggregations", {}).get("counts", {}).get("buckets", {})
    counts = {key: one["doc_count"] for key, one in buckets.items()}
    return counts | {key: one["hits"]["total"]["value"] for key, one in apart.items()}


def languages_of(counts: dict[str, int], markers: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the codes of those languages that some documents are in."""
    return {code for code in markers if counts[f"l{code}"]}


def stats_of(
    names: QueryNames,
    counts: dict[str, int],
    answer: Json,
    totals: CollectionStats | None,
) -> CollectionStats:
    """Return the statistics that the engine has counted.

    Args:
        names: The query.
        counts: As `counts_of` returns them.
        answer: The answer to `counts_body`.
        totals: The lengths of the fields, where they were not asked for.
    """
    found = answer.get("aggregations", {})
    doc_freqs = {name: counts[f"n{at}"] for at, name in _numbered(names.names)}
    for at, pattern in enumerate(names.patterns):
        doc_freqs[f"{PATTERN}{pattern[0]}"] = (
            # what stands beside the text counts only where no text has it
            counts[f"w{at}"] or counts[f"v{at}"]
        )
    if totals is None:
        lengths = {name: int(found[f"sum_{name}"]["value"]) for name in FIELDS}
        docs = {name: int(found[f"has_{name}"]["value"]) for name in FIELDS}
    else:
        lengths, docs = totals.lengths, totals.docs_with_field
    return CollectionStats(answer["hits"]["total"]["value"], docs, lengths, doc_freqs)


def candidates_body(
    names: QueryNames,
    stats: CollectionStats,
    filter: SearchFilter,
    size: int,
    *,
    tools: bool,
) -> Json:
    """Return the request for the best documents of a query.

    Args:
        names: The query.
        stats: Of the tenant's documents.
        filter: Which may be found.
        size: Most documents.
        tools: Find what is of tools, in place of the rest.
    """
    weighted = dict(names.weights(stats))
    best = sorted(weighted.items(), key=lambda one: -one[1])[: MOST_CLAUSES // 2]
    should: list[Json] = [
        {
            "rank_feature": {
                "field": f"features.{feature(own)}",
                "boost": weight,
                "saturation": {"pivot": PIVOT},
            }
        }
        for name, weight in best
        if weight > 0 and name[0] != PATTERN
        # what stands beside the text has a name of its own
        for own in (name, BESIDE[name[0]] + name[1:] if name[0] in BESIDE else None)
        if own
    ]
    for pattern in names.patterns:
        boost = max(weighted.get(f"{PATTERN}{pattern[0]}", 1.0), 0.01)
        should.append({"constant_score": {"filter": pattern_query(pattern), "boost": boost}})
    must, must_not = filters_of(filter, "tool" if tools else None)
    for phrase in names.phrases:
        must += [{"terms": {"names": word}} for word in phrase]
    query: Json = {"filter": must, "must_not": must_not}
    if should:
        query |= {"should": should, "minimum_should_match": 1}
    return {
        "size": size,
        "query": {"bool": query},
        "_source": ["tenant", "record"],
        "sort": ["_score", {"path": "asc"}, {"start": "asc"}],
        "track_total_hits": False,
    }


def turns_body(turns: list[tuple[str, int]], size: int) -> Json:
    """Return the request for all messages of some turns, each a path and a number."""
    clauses = [
        {"bool": {"filter": [{"term": {"path": path}}, {"term": {"turn": turn}}]}}
        for path, turn in turns
    ]
    must, must_not = filters_of(SearchFilter())
    return {
        "size": size,
        "query": {"bool": {"filter": [*must, any_of(clauses)], "must_not": must_not}},
        "_source": ["tenant", "record"],
        "sort": [{"path": "asc"}, {"start": "asc"}],
        "track_total_hits": False,
    }


def pattern_query(pattern: tuple[str, str, int, list[str]], letters: str = "wv") -> Json:
    """Return the query for documents with a word that fits a pattern.

    Args:
        pattern: Of the query.
        letters: Of the names: words in the text, words beside it.
    """
    name, kind, typos, terms = pattern
    if kind == "field":
        letter = FIELD_LETTERS.get(name.partition(":")[0])
        own = [letter + term for term in terms if term[0] in BESIDE] if letter else terms
        return {"terms": {"names": own or [""]}}
    # words as they are spelled, in the text and beside it
    names = [f"{letter}{term}" for term in terms for letter in letters]
    if kind == "prefix":
        return any_of([{"prefix": {"names": {"value": name}}} for name in names])
    near = {"fuzziness": typos, "prefix_length": 1, "transpositions": False, "max_expansions": 256}
    return any_of([{"fuzzy": {"names": {"value": name, **near}}} for name in names])


def any_of(clauses: list[Json]) -> Json:
    """Return the query that passes what passes one of these."""
    return {"bool": {"should": clauses, "minimum_should_match": 1}}


def _numbered(names: list[str]) -> list[tuple[int, str]]:
    return list(enumerate(names[:MOST_CLAUSES]))
