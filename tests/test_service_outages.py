"""Outages of an engine of three nodes while tenants write and search, each fault in a test.

Whatever fails, what was acknowledged is in the files once and, when all is well again, in the index
once, ranked as in a local store. `FLEET_GONE=60` says how many seconds an engine is gone.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from uuid import uuid4

import pytest

from commonplace.errors import CommonplaceError
from commonplace.service.opensearch import EngineUnavailable, OpenSearch
from commonplace.service.process import Process
from tests.opensearch.cluster import Cluster, Unavailable, running
from tests.opensearch.served import Served
from tests.opensearch.tenants import Tenants

GONE = float(os.environ.get("FLEET_GONE", "60"))
INDEX_TIMEOUT = 600.0
"""Seconds until what waits has to be indexed, on a machine with much else to do."""
NAMES = ("acme", "bolt")
pytestmark = pytest.mark.fleet


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    try:
        with running(3, tmp_path_factory.mktemp("engine")) as started:
            yield started
    except Unavailable as why:
        pytest.skip(str(why))


@pytest.fixture
def tenants(three: Cluster, tmp_path: Path) -> Iterator[Tenants]:
    three.wait(3)
    url = ",".join(three.urls)
    with Tenants(tmp_path, url, f"o{uuid4().hex[:8]}", replicas=1, timeout=10) as made:
        yield made


class Work:
    """A writer and a searcher of each tenant, until the end."""

    def __init__(self, tenants: Tenants) -> None:
        self.tenants = tenants
        self.written: dict[str, list[str]] = {name: [] for name in NAMES}
        self.refused: Counter[str] = Counter()
        self.answered = 0
        self.slowest = {"write": 0.0, "search": 0.0}
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._repeat, args=(kind, name))
            for name in NAMES
            for kind in ("write", "search")
        ]

    def start(self) -> None:
        for name in NAMES:
            self._write(name)
        wait_until(lambda: all(self.tenants.found(name, "tea") for name in NAMES))
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    @property
    def count(self) -> int:
        return sum(len(some) for some in self.written.values())

    def _repeat(self, kind: str, name: str) -> None:
        while not self._over.wait(0.05):
            begun = time.monotonic()
            try:
                self._write(name) if kind == "write" else self._search(name)
            except CommonplaceError as error:
                # nothing else may be raised: it would end this thread, and the test counts on it
                self.refused[f"{kind}: {error.code}"] += 1
            self.slowest[kind] = max(self.slowest[kind], time.monotonic() - begun)

    def _write(self, name: str) -> None:
        number = len(self.written[name])
        path, text = f"n/{number}.md", f"# Note {number}\n\ntea{number % 7} of {name} tea\n"
        self.tenants.call(name, "write", path=path, content=text)
        self.written[name].append(path)

    def _search(self, name: str) -> None:
        hits = self.tenants.call(name, "search", query="tea tea3")["hits"]
        assert all(f"of {name}" in hit["text"] for hit in hits)
        self.answered += 1


@contextmanager
def working(tenants: Tenants) -> Iterator[Work]:
    """Let tenants write and search, and check afterwards that nothing is lost."""
    work = Work(tenants)
    work.start()
    try:
        yield work
    finally:
        work.end()
    print(f"{work.count} written, {work.answered} answered, {dict(work.refused)}, {work.slowest}")
    assert {*work.refused} <= {"search: engine"}
    check(tenants, work)


def check(tenants: Tenants, work: Work) -> None:
    """Check that files and index have each acknowledged note once, ranked as in a local store."""
    assert tenants.engine
    root = tenants.process.stores.folder.parent
    # shards still move between nodes, on a machine with much else to do
    urls = tenants.engine.http.url
    engine = OpenSearch(urls, prefix=tenants.engine.prefix, timeout=INDEX_TIMEOUT)
    process, home = Process(root, engine), Process(root)
    wait_until(lambda: not list(process.objects.list("pending")))
    everything = {"query": {"term": {"kind": "document"}}, "size": 10_000, "_source": ["path"]}
    for name in NAMES:
        key = tenants.grant(name).key
        wait_until(lambda name=name: whole(tenants, name))
        process.indexer.rebuild(key)
        engine.refresh()
        hits = engine.search(key, [everything])[0]["hits"]["hits"]
        assert sorted(hit["_source"]["path"] for hit in hits) == sorted(work.written[name])
        with process.stores.of(key) as store, home.stores.of(key) as plain:
            assert {entry.path for entry in plain.list()} == {*work.written[name]}
            for query in ("tea3", "note 2", "tea"):
                ranked = [
                    [(hit.citation, round(hit.score, 5)) for hit in one.search(query)]
                    for one in (store, plain)
                ]
                assert ranked[0] == ranked[1]


def whole(tenants: Tenants, name: str) -> bool:
    """Say whether searches have all of a tenant."""
    try:
        return bool(tenants.call(name, "search", query="tea")["freshness"] != "partial")
    except EngineUnavailable:
        return False


def wait_until(true: object) -> None:
    deadline = time.monotonic() + INDEX_TIMEOUT
    while True:
        try:
            if true():  # type: ignore[operator]
                return
        except EngineUnavailable:
            pass
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.2)


def more(work: Work, writes: int) -> None:
    """Wait until so many more writes were acknowledged."""
    wanted = work.count + writes
    wait_until(lambda: work.count >= wanted)


def test_a_node_that_hangs_is_passed_over(three: Cluster, tenants: Tenants) -> None:
    with working(tenants) as work:
        more(work, 10)
        # the one that is asked first
        three.nodes[0].pause()
        try:
            more(work, 20)
            time.sleep(10)
        finally:
            three.nodes[0].resume()
    assert work.answered


def test_an_engine_that_is_gone_for_a_minute(three: Cluster, tenants: Tenants) -> None:
    with working(tenants) as work:
        more(work, 10)
        for node in three.nodes:
            node.kill()
        begun = time.monotonic()
        more(work, 20)
        with pytest.raises(EngineUnavailable, match="does not answer"):
            tenants.call("acme", "search", query="tea")
        assert tenants.call("acme", "read", path="n/0.md")["text"]
        time.sleep(max(0.0, begun + GONE - time.monotonic()))
        for node in three.nodes:
            node.start()
        three.wait(3)
        more(work, 10)


def test_an_index_that_is_deleted_while_tenants_write(tenants: Tenants) -> None:
    assert tenants.engine
    with working(tenants) as work:
        more(work, 20)
        status, _ = tenants.engine.http.send("DELETE", f"/{tenants.engine.prefix}-1", None)
        assert status == 200
        more(work, 20)


def test_an_engine_whose_disk_is_full(tenants: Tenants) -> None:
    engine = tenants.engine
    assert engine
    disk = "cluster.routing.allocation.disk"
    levels = [f"{disk}.watermark.{level}" for level in ("low", "high", "flood_stage")]
    others = {f"{disk}.threshold_enabled": True, "cluster.info.update.interval": "10s"}

    def settings(given: dict[str, object], kept: dict[str, object] | None = None) -> None:
        body = {"transient": given, "persistent": kept or {}}
        status, told = engine.http.send("PUT", "/_cluster/settings", body)
        assert status == 200, told

    def blocked() -> bool:
        told = json.dumps(engine.http.send("GET", f"/{engine.prefix}-1/_settings", None)[1])
        return '"read_only_allow_delete": "true"' in told

    with working(tenants) as work:
        more(work, 10)
        # so much has to be free
        settings({**others, **dict.fromkeys(levels, "1000tb")})
        try:
            wait_until(blocked)
            more(work, 20)
            # what was indexed before is found, and what was written is read
            assert tenants.call("acme", "search", query="tea")["hits"]
            assert tenants.call("acme", "read", path=work.written["acme"][-1])["text"]
            assert list(tenants.process.objects.list("pending"))
        finally:
            settings({**others, **dict.fromkeys(levels, "1b")})
        wait_until(lambda: not blocked())
        # it also forbids new indexes, of which the next test needs one
        settings(dict.fromkeys([*others, *levels]), {"cluster.blocks.create_index": None})


def test_answers_of_the_engine_that_are_cut_off(three: Cluster, tmp_path: Path) -> None:
    index = f"o{uuid4().hex[:8]}"
    with (
        cutting(three.nodes[0].port) as proxy,
        Tenants(tmp_path, proxy.url, index, replicas=1, timeout=10) as tenants,
        working(tenants) as work,
    ):
        more(work, 10)
        proxy.cuts = True
        more(work, 20)
        wait_until(lambda: proxy.cut > 20)
        proxy.cuts = False


class Cutting(ThreadingHTTPServer):
    """Passes requests on to a node, and every other answer back in half while `cuts` is set."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Cut)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.port, self.cuts, self.cut, self.passed = port, False, 0, 0


class _Cut(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Cutting

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        node = HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        kind = self.headers.get("content-type") or "application/json"
        node.request(self.command, self.path, body, {"content-type": kind})
        answer = node.getresponse()
        data = answer.read()
        node.close()
        self.send_response(answer.status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.server.passed += 1
        if self.server.cuts and self.server.passed % 2 and data:
            self.server.cut += 1
            data = data[: len(data) // 2]
            self.close_connection = True
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass  # noqa: N815 - names of the base

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def cutting(port: int) -> Iterator[Cutting]:
    """Run a proxy before a node."""
    server = Cutting(port)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_service_whose_disk_is_full(three: Cluster, tmp_path: Path) -> None:
    within = ["unshare", "--mount", "--map-root-user"]
    if not shutil.which("unshare") or subprocess.run([*within, "true"], check=False).returncode:
        pytest.skip("no mount namespace can be made here, for a small tmpfs")
    root = tmp_path / "root"
    root.mkdir()
    mount = 'mount -t tmpfs -o size=2m none "$0" && exec "$@"'
    index = f"o{uuid4().hex[:8]}"
    served = Served(root, three.urls, index, within=[*within, "sh", "-c", mount, str(root)])
    try:
        inside = Path(f"/proc/{served.process.pid}/root{root}")
        wait_until(served.answers)
        token = Process(inside).tokens.new("acme", "bot")[0]
        assert served.call(token, "write", path="a.md", content="oolong\n")[0] == 200
        filler = inside / "filler"
        fill(filler)
        status, told = served.call(token, "write", path="a.md", content="sencha\n" * 1000)
        assert (status, told["error"]["code"]) == (507, "nospace")
        assert served.call(token, "read", path="a.md")[1]["text"] == "oolong\n"
        filler.unlink()
        status, told = served.call(token, "write", path="a.md", content="matcha\n")
        assert status == 200

        def found() -> bool:
            fresh = [told["fresh"]]
            status, answer = served.call(token, "search", query="matcha", fresh=fresh)
            return status == 200 and [hit["path"] for hit in answer["hits"]] == ["a.md"]

        wait_until(found)
    finally:
        served.end()


def fill(path: Path) -> None:
    """Write until there is no room left."""
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
