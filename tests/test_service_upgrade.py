"""Upgrade to a version that indexes in another way, while the one before searches and writes."""

from __future__ import annotations

import threading
import time
from collections import Counter
from pathlib import Path
from uuid import uuid4

import pytest

from commonplace.cli import run
from commonplace.errors import FormatError
from commonplace.service.opensearch import MAPPING_VERSION
from commonplace.service.process import Process
from tests.opensearch.cluster import Unavailable, running
from tests.opensearch.served import Served
from tests.opensearch.tenants import Tenants

NAMES = ("acme", "bolt", "cord")
NOTES = 12


class Callers(threading.Thread):
    """Searches of all tenants and writes of new notes, one after the other, until it is ended."""

    def __init__(self, served: Served, tokens: dict[str, str]) -> None:
        super().__init__()
        self._served, self._tokens = served, tokens
        self.over = threading.Event()
        self.wrong: Counter[str] = Counter()
        self.written: list[str] = []
        self.searches = 0

    def run(self) -> None:
        while not self.over.is_set():
            for name, token in self._tokens.items():
                status, told = self._served.call(token, "search", query="sencha", limit=50)
                found = {hit["path"] for hit in told["hits"]} if status == 200 else set()
                if len({path for path in found if path.startswith("old/")}) != NOTES:
                    self.wrong[f"{name}: {status}, {told and told.get('error')}"] += 1
                self.searches += 1
                path = f"new/{len(self.written)}.md"
                status, told = self._served.call(token, "write", path=path, content="matcha\n")
                if status == 200:
                    self.written.append(f"{name} {path}")
                else:
                    self.wrong[f"write of {name}: {status}"] += 1


def test_an_upgrade_indexes_anew_while_the_version_before_serves(url: str, tmp_path: Path) -> None:
    index = f"t{uuid4().hex[:8]}"
    own = Process(tmp_path)
    tokens = {name: own.tokens.new(name, "bot")[0] for name in NAMES}
    older = Served(tmp_path, [url], index, older=True)
    callers = Callers(older, tokens)
    try:
        _write_old(older, tokens)
        with pytest.raises(FormatError, match="serve reindex"):
            Tenants(tmp_path, url, index).process.start()
        callers.start()
        options = ["--engine", url, "--index", index, "--replicas", "0"]
        assert run(["--root", str(tmp_path), "serve", "reindex", *options]) == 0
        time.sleep(1)
        callers.over.set()
        callers.join()
        assert callers.wrong == {}
        assert callers.searches > len(NAMES)
    finally:
        callers.over.set()
        older.end()
    with Tenants(tmp_path, url, index, grace=0.2) as tenants:
        assert tenants.engine
        _, mappings = tenants.engine.http.send("GET", f"/{tenants.engine.index}/_mapping", None)
        ((name, told),) = mappings.items()
        assert (name, told["mappings"]["_meta"]) == (f"{index}-2", {"commonplace": MAPPING_VERSION})
        for name in NAMES:
            # the last writes of the version before are indexed by it or by this one
            tenants.process.indexer.rebuild(tenants.grant(name).key)
            tenants.engine.refresh()
            query = {"query": {"term": {"folders": "new"}}, "size": 5000, "_source": ["path"]}
            hits = tenants.engine.search(tenants.grant(name).key, [query])[0]["hits"]["hits"]
            written = [one.partition(" ")[2] for one in callers.written if one.startswith(name)]
            assert sorted(hit["_source"]["path"] for hit in hits) == sorted(written)


def _write_old(served: Served, tokens: dict[str, str]) -> None:
    deadline = time.monotonic() + 120
    for token in tokens.values():
        fresh = []
        for number in range(NOTES):
            body = {"path": f"old/{number}.md", "content": f"sencha {number}\n"}
            while not (told := served.call(token, "write", **body))[0]:
                assert time.monotonic() < deadline
                time.sleep(0.1)
            fresh.append(told[1]["fresh"])
        while True:
            status, found = served.call(token, "search", query="sencha", limit=50, fresh=fresh)
            if status == 200 and len(found["hits"]) == NOTES and found["freshness"] == "fresh":
                break
            assert time.monotonic() < deadline


@pytest.mark.fleet
def test_a_node_does_not_index_again_what_was_loaded_in_bulk(tmp_path: Path) -> None:
    try:
        with running(1, tmp_path / "engine") as first, Tenants(tmp_path, first.url) as tenants:
            engine = tenants.engine
            assert engine
            engine.load_in_bulk(on=True)
            for number in range(10):
                text = "".join(f"# Part {part}\n\ntea {part}\n\n" for part in range(10))
                tenants.call("acme", "write", path=f"{number}.md", content=text)
            tenants.process.indexer.rebuild(tenants.grant("acme").key)
            engine.load_in_bulk(on=False)
    except Unavailable as why:
        pytest.skip(str(why))
    with running(1, tmp_path / "engine") as again:
        # all shards are there, of which none has a copy
        again.wait(status="green")
        (shard,) = again.get("/test-1/_recovery", timeout=60)["test-1"]["shards"]
        assert shard["translog"]["recovered"] == 0
