"""Faults with three nodes: nodes and the service are killed while tenants write, and one is paused.

`FLEET_WRITES=100000 FLEET_BATCH=50` writes as many messages, 50 in a call. What was acknowledged
is in the files once and in the index once, and the ranking is that of a store with the files only.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from commonplace.service.opensearch import OpenSearch
from commonplace.service.process import Process
from tests.opensearch.cluster import Cluster, Unavailable, running
from tests.opensearch.served import Served

WRITES = int(os.environ.get("FLEET_WRITES", "400"))
BATCH = int(os.environ.get("FLEET_BATCH", "1"))
WRITERS = 4
INDEX_TIMEOUT = 600.0
"""Seconds until an answer has to be there, and all that waits has to be indexed."""
INDEX = "faults"


class Writer(threading.Thread):
    """Adds messages to a transcript of its own, each until it is acknowledged."""

    def __init__(self, served: Served, token: str, number: int, writes: int) -> None:
        super().__init__()
        self._served, self._token, self._number, self._writes = served, token, number, writes
        self.done = 0
        self.slowest = 0.0
        self.refused: Counter[int] = Counter()

    def run(self) -> None:
        for number in range(0, self._writes, BATCH):
            texts = [
                f"Message {one} of writer {self._number}: tea{one % 17} and cake{one % 5}."
                for one in range(number, number + BATCH)
            ]
            begun = time.monotonic()
            while True:
                status, _ = self._served.call(
                    self._token,
                    "log",
                    f"{self._number}-{number}",
                    path=f"sessions/w{self._number}",
                    messages=[{"role": "user", "content": text} for text in texts],
                )
                if status == 200:
                    break
                self.refused[status] += 1
                time.sleep(0.2)
            self.done += BATCH
            self.slowest = max(self.slowest, time.monotonic() - begun)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    try:
        with running(3, tmp_path / "engine") as started:
            yield started
    except Unavailable as why:
        pytest.skip(str(why))


@pytest.mark.fleet
def test_what_was_acknowledged_survives_kills(cluster: Cluster, tmp_path: Path) -> None:
    root = tmp_path / "root"
    own = Process(root)
    tokens = [own.tokens.new(f"tenant {number}", "bot") for number in range(WRITERS)]
    served = Served(root, cluster.urls, INDEX)
    writers = [
        Writer(served, token, number, WRITES // WRITERS) for number, (token, _) in enumerate(tokens)
    ]
    try:
        for writer in writers:
            writer.start()
        _disturb(cluster, served, writers)
        for writer in writers:
            writer.join()
        cluster.wait(3, "green")
        _check(cluster, root, writers, [grant.key for _, grant in tokens])
        told = [
            f"slowest write {one.slowest:.1f} s, refused {dict(one.refused)}" for one in writers
        ]
        print("\n".join(told))
    finally:
        served.end()


def _disturb(cluster: Cluster, served: Served, writers: list[Writer]) -> None:
    """Kill the leader, the service and another node, and pause a node, while others write."""

    def wait_for(share: float) -> None:
        while sum(writer.done for writer in writers) < share * WRITES:
            assert any(writer.is_alive() for writer in writers)
            time.sleep(0.02)

    wait_for(0.15)
    (leader,) = cluster.get("/_cat/cluster_manager?format=json")
    first = next(node for node in cluster.nodes if node.name == leader["node"])
    first.kill()
    wait_for(0.35)
    first.start()
    wait_for(0.45)
    served.kill()
    served.start()
    wait_for(0.55)
    asked = cluster.nodes.index(first)
    with suppress(RuntimeError):
        cluster.wait(3, "yellow green", asked=asked)
    other = next(node for node in cluster.nodes if node is not first)
    other.pause()
    time.sleep(3)
    other.resume()
    wait_for(0.75)
    other.kill()
    other.start()


def _check(cluster: Cluster, root: Path, writers: list[Writer], keys: list[str]) -> None:
    """Check that files and index have each acknowledged message once, in the same ranking."""
    # shards still move between nodes that have just started, on a machine with much else to do
    engine = OpenSearch(",".join(cluster.urls), prefix=INDEX, timeout=INDEX_TIMEOUT)
    process = Process(root, engine)
    deadline = time.monotonic() + max(INDEX_TIMEOUT, WRITES / 25)
    while left := [name for name, _ in process.objects.list("pending")]:
        assert time.monotonic() < deadline, f"{len(left)} changes are not indexed"
        time.sleep(0.5)
    engine.refresh()
    everything = {"query": {"term": {"kind": "document"}}, "size": 10_000, "_source": ["tenant"]}
    home = Process(root)
    for number, (writer, key) in enumerate(zip(writers, keys, strict=True)):
        with process.stores.of(key) as store, home.stores.of(key) as plain:
            texts = Counter(
                message.text for message in store.transcript(f"sessions/w{number}").messages()
            )
            assert set(texts.values()) == {1}
            assert len(texts) == writer.done == WRITES // WRITERS
            (found,) = engine.search(key, [everything])
            assert len(found["hits"]["hits"]) == min(writer.done, 10_000)
            for query in ("tea3", "cake2 tea11", f"writer {number}"):
                ranked = [
                    [(hit.citation, round(hit.score, 5)) for hit in one.search(query)]
                    for one in (store, plain)
                ]
                assert ranked[0] == ranked[1]
