"""Service with many tenants on one engine: cost at rest, and latency alone and beside load.

    python -m benches.fleet_scale load --folder F --tenants 1000     index notes of many tenants
    python -m benches.fleet_scale large --folder F --messages 1e6    index one large tenant
    python -m benches.fleet_scale rest --folder F                    disk, heap and open files
    python -m benches.fleet_scale search --folder F                  cold, hot, alone, under load
    python -m benches.fleet_scale abuse --folder F                   a tenant beside bad callers

The folder keeps files and index between the commands, and `load` goes on where it was ended. Beside
each time stands the CPU time of the service and of the engine for an operation: it does not depend
on what else a machine does.
"""

# Longer than 350 lines: the steps of one experiment, over one folder.

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from commonplace.evaluation import quantile
from commonplace.service.opensearch import OpenSearch
from commonplace.service.process import Process
from commonplace.service.tokens import tenant_key
from tests.opensearch.cluster import Cluster, free_ports, running

INDEX = "scale"
LARGE = "large"
SECTIONS_A_FILE = 50
MESSAGES_A_SESSION = 5000
WORDS = 6000
"""Of generated notes, by Zipf's law."""


class Texts:
    """Generated texts of words by Zipf's law, the same for each run."""

    def __init__(self) -> None:
        self._chosen = random.Random(7)
        # ends that no stemmer takes away
        tails = ("ak", "op", "um", "ir", "ob", "uk", "at", "om", "ax")
        ends = [f"{a}{b}" for a in "bdgkmprtvz" for b in tails]
        starts = (f"{a}{b}" for a in "bdfgklmnprstvz" for b in "aeiou")
        self._words = [start + end for start in starts for end in ends][:WORDS]
        self._shares = [1 / (place + 3) for place in range(len(self._words))]
        self.texts = [self._some(60, 0) for _ in range(5000)]

    def _some(self, count: int, first: int) -> str:
        shares = self._shares[first:]
        return " ".join(self._chosen.choices(self._words[first:], shares, k=count))

    def query(self) -> str:
        """Return three words, not of the most frequent ones."""
        return self._some(3, 20)


@contextmanager
def engine(given: argparse.Namespace) -> Iterator[tuple[Cluster, OpenSearch]]:
    """Run the engine over what the folder has."""
    with running(1, given.folder / "engine", given.heap, optimized=True) as cluster:
        client = OpenSearch(
            cluster.url, prefix=INDEX, replicas=0, shards=3, timeout=60, search_timeout=60
        )
        yield cluster, client
        client.close()


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process, without the threads in which a Java compiles itself.

    They take more than half of the first thousand searches, and are idle some minutes later.
    """
    process = Path(f"/proc/{pid}")
    compilers = 0.0
    for thread in (process / "task").iterdir():
        # one may have ended since it was listed
        with suppress(OSError):
            if (thread / "comm").read_text().startswith(("C1 Comp", "C2 Comp")):
                compilers += _seconds(thread / "stat")
    return _seconds(process / "stat") - compilers


def _seconds(stat: Path) -> float:
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def loaded(folder: Path) -> int:
    """Return how many tenants are indexed."""
    done = folder / "loaded"
    return int(done.read_text()) if done.exists() else 0


def load(given: argparse.Namespace) -> None:
    """Index tenants until all are, or the time is over."""
    texts = Texts()
    with engine(given) as (cluster, client):
        process = Process(given.folder / "root", client)
        client.prepare()
        first = loaded(given.folder)
        pids = [cluster.nodes[0].process.pid, os.getpid()]
        before = [cpu_seconds(pid) for pid in pids]
        begun = time.monotonic()
        client.load_in_bulk(on=True)
        with after(client), ThreadPoolExecutor(given.threads) as pool:
            for start in range(first, given.tenants, 4 * given.threads):
                if time.monotonic() - begun > given.minutes * 60:
                    break
                some = range(start, min(start + 4 * given.threads, given.tenants))
                for number in some:
                    write_notes(process.stores.folder, number, given.sections, texts)
                list(pool.map(process.indexer.rebuild, [tenant_key(tenant(one)) for one in some]))
                (given.folder / "loaded").write_text(str(some.stop))
                sections = (some.stop - first) * given.sections
                took = time.monotonic() - begun
                print(f"{some.stop} tenants; {sections / took:.0f} sections/s", flush=True)
        sections = max(1, (loaded(given.folder) - first) * given.sections)
        spent = [cpu_seconds(pid) - at for pid, at in zip(pids, before, strict=True)]
        took = time.monotonic() - begun
        print(
            f"{loaded(given.folder)} tenants; {sections} sections in {took:.0f} s; "
            f"CPU a section: engine {1000 * spent[0] / sections:.2f} ms, "
            f"service {1000 * spent[1] / sections:.2f} ms"
        )
        process.close()


@contextmanager
def after(client: OpenSearch) -> Iterator[None]:
    """Serve as always once all is loaded, or it was ended."""
    try:
        yield
    finally:
        client.load_in_bulk(on=False)
        client.refresh()


def tenant(number: int) -> str:
    """Return the name of a tenant."""
    return f"tenant {number}"


def write_notes(folder: Path, number: int, sections: int, texts: Texts) -> None:
    """Write the notes of a tenant."""
    own = folder / tenant_key(tenant(number))
    own.mkdir(parents=True, exist_ok=True)
    chosen = random.Random(number)
    for file in range(sections // SECTIONS_A_FILE):
        some = enumerate(chosen.sample(texts.texts, SECTIONS_A_FILE))
        (own / f"n{file}.md").write_text("".join(f"# Part {at}\n\n{one}\n\n" for at, one in some))


@contextmanager
def service(given: argparse.Namespace) -> Iterator[tuple[Calls, list[int], Cluster]]:
    """Run engine and service over what the folder has; yield calls, process ids and cluster."""
    evict(given.folder / "engine")
    (port,) = free_ports(1)
    with engine(given) as (cluster, client):
        with after(client):
            tokens = tokens_of(given)
        command = [sys.executable, "-m", "commonplace", "--root", str(given.folder / "root")]
        command += ["serve", "--engine", cluster.url, "--index", INDEX, "--port", str(port)]
        log = (given.folder / "service.log").open("wb")
        with log, subprocess.Popen([*command, "--rate", "100000"], stderr=log) as served:
            try:
                calls = Calls(port, tokens)
                while not calls.answers():
                    time.sleep(0.2)
                yield calls, [cluster.nodes[0].process.pid, served.pid], cluster
            finally:
                served.terminate()


def tokens_of(given: argparse.Namespace) -> list[str]:
    """Return a token of each tenant that is indexed, made once."""
    kept = given.folder / "tokens.json"
    made: list[str] = json.loads(kept.read_text()) if kept.exists() else []
    tokens = Process(given.folder / "root").tokens
    made += [tokens.new(tenant(at), "bench")[0] for at in range(len(made), loaded(given.folder))]
    kept.write_text(json.dumps(made))
    return made


def evict(folder: Path) -> None:
    """Take files out of the page cache, so that what is asked first is read from the disk."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Calls:
    """Calls of the service over one connection, as the tenant that is named by its number."""

    def __init__(self, port: int, tokens: list[str]) -> None:
        self.port, self.tokens = port, tokens
        self._connection = HTTPConnection("127.0.0.1", port, timeout=120)

    def answers(self) -> bool:
        """Say whether the service is there."""
        try:
            self._connection.request("GET", "/healthz")
            return self._connection.getresponse().read() != b""
        except OSError:
            self._connection.close()
            return False

    def call(self, number: int, name: str, **body: Any) -> Any:
        """Return what a call answers."""
        headers = {"Authorization": f"Bearer {self.tokens[number]}"}
        self._connection.request("POST", f"/v1/{name}", json.dumps(body), headers)
        answer = self._connection.getresponse()
        told = json.loads(answer.read())
        if answer.status != 200:
            raise RuntimeError(f"{name} answered {answer.status}: {told}")
        return told

    def close(self) -> None:
        """Close the connection; the next call opens it again."""
        self._connection.close()

    def warm(self, count: int, texts: Texts) -> None:
        """Search as some tenants; an engine that has just started may answer late."""
        for number in range(count):
            with suppress(RuntimeError):
                self.call(number % 20, "search", query=texts.query())

    def searches(self, numbers: Sequence[int], texts: Texts) -> list[float]:
        """Search as each of some tenants, and return the seconds of each."""
        spent = []
        for number in numbers:
            query = texts.query()
            begun = time.perf_counter()
            self.call(number, "search", query=query)
            spent.append(time.perf_counter() - begun)
        return spent


def told(name: str, spent: Sequence[float], cpu: Sequence[float] = ()) -> None:
    """Print latencies, and the CPU time of engine and service for each."""
    p50, p99 = (1000 * quantile(spent, share) for share in (0.5, 0.99))
    line = f"{name}: {len(spent)} searches, p50 {p50:.0f} ms, p99 {p99:.0f} ms"
    if cpu:
        shares = [1000 * one / len(spent) for one in cpu]
        line += f"; CPU a search: engine {shares[0]:.1f} ms, service {shares[1]:.1f} ms"
    print(f"{line}; load {os.getloadavg()[0]:.0f}", flush=True)


def search(given: argparse.Namespace) -> None:
    """Measure searches of cold and hot tenants, of any alone, and beside load."""
    texts = Texts()
    chosen = random.Random(5)
    with service(given) as (calls, pids, _):
        count = len(calls.tokens)
        # Java compiles while some tenants are asked which are not measured
        calls.warm(given.warm, texts)

        def measured(name: str, numbers: Sequence[int]) -> list[float]:
            before = [cpu_seconds(pid) for pid in pids]
            spent = calls.searches(numbers, texts)
            cpu = [cpu_seconds(pid) - at for pid, at in zip(pids, before, strict=True)]
            told(name, spent, cpu)
            return cpu

        cold = range(20, min(20 + given.queries, count))
        measured("tenants that were not asked before", cold)
        measured("the same again", cold)
        measured("one tenant", [7] * given.queries)
        alone = [chosen.randrange(count) for _ in range(given.queries)]
        cpu = measured("any tenant, alone", alone)
        if (given.folder / "root" / "tenants" / tenant_key(LARGE)).is_dir():
            calls.tokens.append(Process(given.folder / "root").tokens.new(LARGE, "bench")[0])
            measured("the large tenant", [count] * given.queries)
            with beside(calls, lambda own: own.searches([count], texts)):
                told("any tenant, while the large one is asked", calls.searches(alone, texts))
            with beside(calls, lambda own: write_some(own, count, texts), 0.1) as written:
                measured("the large tenant, while it is written", [count] * given.queries)
                measured("any tenant, while the large one is written", alone)
            each = 1000 * sum(written) / len(written)
            print(f"meanwhile {20 * len(written)} messages, {each:.0f} ms for each 20")
        if not given.searches + given.writes:
            return
        with attack(given, calls, "mixed") as done:
            before = [cpu_seconds(pid) for pid in pids]
            begun = time.monotonic()
            told("any tenant, under load", calls.searches(alone, texts))
            took = time.monotonic() - begun
            spent = [cpu_seconds(pid) - at for pid, at in zip(pids, before, strict=True)]
        print(f"beside it in {took:.0f} s: {done()}")
        print(f"CPU of all: engine {spent[0]:.1f} s, service {spent[1]:.1f} s")
        print(f"CPU of as many searches alone: engine {cpu[0]:.1f} s, service {cpu[1]:.1f} s")


@contextmanager
def beside(
    calls: Calls, work: Callable[[Calls], object], pause: float = 0.0
) -> Iterator[list[float]]:
    """Do something again and again over a connection of its own; yield the seconds of each."""
    over = threading.Event()
    spent: list[float] = []

    def repeat() -> None:
        own = Calls(calls.port, calls.tokens)
        while not over.wait(pause):
            begun = time.perf_counter()
            work(own)
            spent.append(time.perf_counter() - begun)

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield spent
    finally:
        over.set()
        thread.join()


def write_some(calls: Calls, number: int, texts: Texts) -> None:
    """Append 20 messages to a session."""
    some = random.Random(time.monotonic_ns()).choices(texts.texts, k=20)
    messages = [{"role": "user", "content": text[:200]} for text in some]
    calls.call(number, "log", path="sessions/new", messages=messages)


def abuse(given: argparse.Namespace) -> None:
    """Measure the searches of one tenant beside bad callers of another, in alternating turns."""
    texts = Texts()
    with service(given) as (calls, pids, _):
        calls.warm(given.warm, texts)
        for kind in ("large", "many", "slow"):
            alone: list[float] = []
            beside: list[float] = []
            cpu = [0.0, 0.0]
            for _ in range(given.turns):
                before = [cpu_seconds(pid) for pid in pids]
                alone += calls.searches([3] * given.queries, texts)
                now = [cpu_seconds(pid) for pid in pids]
                cpu = [sum(one) - at for *one, at in zip(cpu, now, before, strict=True)]
                with attack(given, calls, kind) as done:
                    beside += calls.searches([3] * given.queries, texts)
                print(f"  {kind}: {done()}", flush=True)
            told(f"{kind}, alone", alone, cpu)
            told(f"{kind}, beside", beside)
            ratios = [quantile(beside, at) / quantile(alone, at) for at in (0.5, 0.99)]
            print(f"{kind}: p50 × {ratios[0]:.2f}, p99 × {ratios[1]:.2f}", flush=True)


@contextmanager
def attack(given: argparse.Namespace, calls: Calls, kind: str) -> Iterator[Any]:
    """Run `benches.fleet_load` beside, as long as the context lasts."""
    command = [sys.executable, "-m", "benches.fleet_load", kind, str(calls.port)]
    command += ["--folder", str(given.folder), "--searches", str(given.searches)]
    with subprocess.Popen(
        [*command, "--writes", str(given.writes)], stdout=subprocess.PIPE, text=True
    ) as beside:
        assert beside.stdout
        beside.stdout.readline()
        # idle that long, the service may have ended the connection
        calls.close()
        last: list[str] = []
        try:
            yield lambda: last[0]
        finally:
            beside.terminate()
            last.append(beside.stdout.read().strip())


def rest(given: argparse.Namespace) -> None:
    """Print what tenants cost that nobody asks: disk, heap and open files."""
    with service(given) as (calls, pids, cluster):
        time.sleep(20)
        count = len(calls.tokens)
        jcmd = Path(cluster.nodes[0].command[0]).with_name("jcmd")
        subprocess.run([jcmd, str(pids[0]), "GC.run"], check=True, stdout=subprocess.DEVNULL)
        (node,) = cluster.get("/_nodes/stats/jvm,process")["nodes"].values()
        stats = cluster.get("/_stats/store,docs,segments")["_all"]["total"]
        size = stats["store"]["size_in_bytes"]
        state = len(json.dumps(cluster.get("/_cluster/state/metadata", timeout=60)))
        files = [len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in pids]
        print(f"{count} tenants, {stats['docs']['count']} documents in the engine")
        print(f"disk {size / 2**20:.0f} MB, {size / count / 2**20:.2f} MB a tenant")
        print(f"heap after a collection {node['jvm']['mem']['heap_used_in_bytes'] / 2**20:.0f} MB")
        print(f"segments {stats['segments']['count']}, open files {files[0]} and {files[1]}")
        print(f"state of the cluster {state / max(count, 1):.0f} bytes a tenant")


def large(given: argparse.Namespace) -> None:
    """Index one tenant of many messages; `search` asks it then, too."""
    texts = Texts()
    tokens_of(given)
    with engine(given) as (cluster, client):
        process = Process(given.folder / "root", client)
        key = tenant_key(LARGE)
        chosen = random.Random(13)
        for at in range(0, given.messages, MESSAGES_A_SESSION):
            file = process.stores.folder / key / f"sessions/s{at}" / "messages.jsonl"
            if not file.exists():
                some = enumerate(chosen.choices(texts.texts, k=MESSAGES_A_SESSION))
                lines = [
                    {"role": ("user", "assistant")[one % 2], "content": text[:200]}
                    for one, text in some
                ]
                file.parent.mkdir(parents=True)
                file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        pids = [cluster.nodes[0].process.pid, os.getpid()]
        before = [cpu_seconds(pid) for pid in pids]
        begun = time.monotonic()
        client.load_in_bulk(on=True)
        with after(client):
            process.indexer.rebuild(key)
        spent = [cpu_seconds(pid) - at for pid, at in zip(pids, before, strict=True)]
        per = [1000 * one / given.messages for one in spent]
        print(
            f"{given.messages} messages in {time.monotonic() - begun:.0f} s; "
            f"CPU a message: engine {per[0]:.2f} ms, service {per[1]:.2f} ms"
        )
        process.close()


def main() -> None:
    """Run one of the steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    steps = {"load": load, "large": large, "rest": rest, "search": search, "abuse": abuse}
    parser.add_argument("step", choices=steps)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--heap", default="1g")
    parser.add_argument("--tenants", type=int, default=1000)
    parser.add_argument("--sections", type=int, default=1000)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--searches", type=float, default=50, help="a second, beside; 0: none")
    parser.add_argument("--writes", type=float, default=200, help="the same")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--warm", type=int, default=300)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=600)
    parser.add_argument("--threads", type=int, default=3)
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    given.folder.mkdir(parents=True, exist_ok=True)
    steps[given.step](given)


if __name__ == "__main__":
    main()
