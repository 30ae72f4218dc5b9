"""Isolation of tenants: hostile names, paths, prefixes, filters, citations and freshness tokens.

Each tenant says a word that only it knows. Whatever anybody calls, the word of another never comes
back. `make test-isolation CALLS=1000000` makes as many calls of 200 tenants: it sets `FLEET_CALLS`,
`FLEET_TENANTS` and, for each of some processes, `FLEET_SEED`.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from commonplace.errors import CommonplaceError, InvalidArgument
from commonplace.service import scope
from commonplace.service.freshness import freshness_token
from commonplace.service.scope import Get, Put, Remove, Search
from tests.opensearch.cluster import Cluster
from tests.opensearch.double import Direct, Double, double
from tests.opensearch.tenants import Tenants

CALLS = int(os.environ.get("FLEET_CALLS", "150"))
SEED = int(os.environ.get("FLEET_SEED", "17"))
ODD_NAMES = [
    *("acme", "ACME", "acme ", "acme/", "../acme", "acme*", "*", "_all", "acme,bolt", "\0", "\n"),
    *(
        "ａｃｍｅ",
        "tenant:acme",
        '"',
        '{"match_all":{}}',
        "%2e%2e",
        "a" * 1000,
        "🦊",
        "ä",
        "a\u0308",
    ),
]
TENANTS = int(os.environ.get("FLEET_TENANTS", str(len(ODD_NAMES))))
NAMES = [
    # a name has at most 1,000 bytes
    (name + "#" * (number // len(ODD_NAMES)))[-1000:]
    for number, name in zip(range(TENANTS), cycle(ODD_NAMES), strict=False)
]
KEY = "0123456789abcdef0123456789abcdef"
LETTERS = "bcdfghjklmnpqrstvwxz"


@pytest.fixture(params=["double", pytest.param("real", marks=pytest.mark.fleet)])
def engine(request: pytest.FixtureRequest) -> Iterator[Cluster | Double]:
    if request.param == "real":
        yield request.getfixturevalue("cluster")
        return
    with double() as fake:
        yield fake


def word(number: int) -> str:
    """Return the word that only this tenant knows."""
    letters = [LETTERS[number // by % 20] for by in (400, 20, 1)]
    return f"zq{''.join(letters)}x"


WORDS = [word(number) for number in range(len(NAMES))]


@pytest.fixture
def tenants(engine: Cluster | Double, tmp_path: Path) -> Iterator[Tenants]:
    with Tenants(tmp_path, engine.url, f"i{uuid4().hex[:8]}") as made:
        if isinstance(engine, Double):
            assert made.engine
            made.engine.http._pool = Direct(engine)  # type: ignore[assignment]
        for number, name in enumerate(NAMES):
            text = f"# Tea\n\n- Likes {word(number)} tea.\n"
            made.call(name, "write", path="facts/tea.md", content=text)
            said = [{"role": "user", "content": f"About {word(number)} and tea."}]
            made.call(name, "log", path="sessions/s1", messages=said)
        for number, name in enumerate(NAMES):
            made.process.indexer.rebuild(made.grant(name).key)
            assert made.engine
            made.engine.refresh()
            assert len(made.found(name, word(number))) == 2
        yield made


def hostile(random_one: random.Random, keys: list[str]) -> str:
    """Return a text that names others, leaves the folder, or means something to the engine."""
    key = random_one.choice(keys)
    number = random_one.randrange(len(NAMES))
    known = WORDS[number]
    return random_one.choice(
        [
            f"../{key}/facts/tea.md",
            f"../../tenants/{key}",
            f"{key}/facts/tea.md",
            f"/{key}",
            f"{key}*",
            "*",
            "facts/tea.md",
            "facts/tea.md#L3",
            "sessions/s1/messages.jsonl",
            "sessions/s1/messages.jsonl#L1",
            known,
            f'"{known} tea"',
            f"{known[:4]}*",
            f"{known}~1",
            f"tenant:{key}",
            f"path:{key} OR *",
            '{"match_all": {}}',
            "zq*",
            "tea",
            NAMES[number],
        ]
    )


Text = Callable[[], str]
KINDS: list[tuple[str, Callable[[Text], dict[str, Any]]]] = [
    ("search", lambda text: {"query": text(), "limit": 100, "unit": "message"}),
    ("search", lambda text: {"query": text(), "prefix": [text()], "session": text()}),
    ("search", lambda text: {"query": text(), "role": text(), "category": text()}),
    ("search", lambda text: {"query": text(), "fresh": [text()]}),
    ("grep", lambda text: {"pattern": text(), "fixed": True}),
    ("grep", lambda text: {"pattern": "zq...x", "prefix": [text()]}),
    ("list", lambda text: {"prefix": text()}),
    ("read", lambda text: {"path": text()}),
    ("history", lambda text: {"path": text()}),
    ("messages", lambda text: {"path": text()}),
    ("sessions", lambda text: {"project": text()}),
    ("forget", lambda text: {"what": [text()]}),
    ("status", lambda _: {}),
]


def any_call(random_one: random.Random, keys: list[str]) -> tuple[str, dict[str, Any]]:
    """Return a call with hostile arguments."""
    name, made = random_one.choice(KINDS)
    body = made(lambda: hostile(random_one, keys))
    if "fresh" in body:
        body["fresh"] = [freshness_token(random_one.choice(keys), body["fresh"])]
    return name, body


def other_words(tenants: Tenants, calls: int) -> list[str]:
    """Make calls, and return those that answered with the word of another tenant."""
    random_one = random.Random(SEED)  # noqa: S311 - the same calls each time
    keys = [tenants.grant(name).key for name in NAMES]
    anybody = re.compile("zq...x")
    leaks: list[str] = []
    for made in range(1, calls + 1):
        if made % 50_000 == 0:
            print(f"{made} calls, {len(leaks)} leaks", flush=True)
        number = random_one.randrange(len(NAMES))
        name, body = any_call(random_one, keys)
        try:
            told = json.dumps(tenants.call(NAMES[number], name, **body))
        except CommonplaceError as error:
            told = str(error)
        # what it asked itself may come back in a message
        own = {WORDS[number], *anybody.findall(json.dumps(body))}
        leaks += [f"{name} {body}" for one in {*anybody.findall(told)} - own]
    return leaks


def test_no_call_answers_with_what_another_tenant_has(tenants: Tenants) -> None:
    assert other_words(tenants, CALLS) == []


def test_the_alias_holds_when_the_filter_is_gone(
    tenants: Tenants, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a mutation of `scoped` would do: the second fence is in the engine."""
    everything = {"query": {"term": {"kind": "document"}}, "size": 10_000}
    engine = tenants.engine
    assert engine
    # aliases were made before, with their filters
    monkeypatch.setattr(scope, "filter_of", lambda _: {"exists": {"field": "tenant"}})
    monkeypatch.setattr(scope, "own_id", lambda _, found: found["_id"])
    for name in NAMES[:5]:
        key = tenants.grant(name).key
        (found,) = engine.search(key, [everything])
        assert {hit["_source"]["tenant"] for hit in found["hits"]["hits"]} == {key}
    assert other_words(tenants, CALLS // 4) == []


@pytest.mark.fleet
def test_the_alias_refuses_a_write_with_the_routing_of_another(tenants: Tenants) -> None:
    engine = tenants.engine
    assert engine
    mine, theirs = (tenants.grant(name).key for name in NAMES[:2])
    (lines,) = [scope.scoped(engine.prefix, mine, Put("x/m0", 1, {"kind": "document"}))]
    lines[0]["index"]["routing"] = theirs
    status, told = engine.http.send("POST", "/_bulk", lines)
    assert status == 200
    assert told["items"][0]["index"]["status"] == 400


@pytest.mark.parametrize("call", [Put("a", 1, {}), Remove("a", 1), Get("a")])
def test_every_call_has_id_routing_and_alias_of_its_tenant(call: scope.Call) -> None:
    first = scope.scoped("p", KEY, call)[0]
    told = first if isinstance(call, Get) else next(iter(first.values()))
    assert told["_id"] == f"{KEY}/a"
    assert told["routing"] == KEY
    assert told["_index"] == f"p-t-{KEY}"
    if isinstance(call, Put):
        assert scope.scoped("p", KEY, Put("a", 1, {"tenant": "x"}))[1]["tenant"] == KEY


def test_every_search_has_the_filter_of_its_tenant() -> None:
    where, body = scope.scoped("p", KEY, Search({"query": {"match_all": {}}, "size": 3}))
    assert where == {"index": f"p-t-{KEY}", "routing": KEY}
    assert body["query"]["bool"]["filter"] == [{"term": {"tenant": KEY}}]
    assert body["size"] == 3
    action = scope.alias_action("p-1", "p", KEY)["add"]
    assert (action["filter"], action["routing"]) == ({"term": {"tenant": KEY}}, KEY)


@pytest.mark.parametrize("key", ["", "*", "A" * 32, KEY[:-1], f"{KEY}\n", f"../{KEY[3:]}", "acme"])
def test_what_is_no_key_is_refused(key: str) -> None:
    for call in (Put("a", 1, {}), Remove("a", 1), Get("a"), Search({"query": {}})):
        with pytest.raises(InvalidArgument):
            scope.scoped("p", key, call)


def test_the_double_has_the_second_fence_too(tmp_path: Path) -> None:
    with double() as fake, Tenants(tmp_path, fake.url) as tenants:
        assert isinstance(fake, Double)
        tenants.call("acme", "write", path="a.md", content="tea\n")
        tenants.process.indexer.rebuild(tenants.grant("acme").key)
        alias = scope.alias_of("test", tenants.grant("acme").key)
        assert fake.aliases[alias][1]["filter"] == scope.filter_of(tenants.grant("acme").key)
