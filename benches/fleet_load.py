"""Callers beside a measurement of `benches.fleet_scale`: a mixed load, or bad callers.

It prints a line once it runs, and what it has done when it is told to end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

from benches.fleet_scale import Texts

MANY = 10_000
SLOW = 500


class Load:
    """Requests by plain sockets; what came back is counted by status."""

    def __init__(self, port: int, tokens: list[str], texts: Texts) -> None:
        self._port, self._tokens, self._texts = port, tokens, texts
        self.done: Counter[str] = Counter()
        self._chosen = random.Random(os.getpid())

    async def send(self, token: str, call: str, body: bytes, *, times: int = 1) -> None:
        """Make a call with this body, or so many times this body, and count its status."""
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError as error:
            self.done[type(error).__name__] += 1
            return
        head = f"POST /v1/{call} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        size = len(body) * times
        writer.write(f"{head}Connection: close\r\nContent-Length: {size}\r\n\r\n".encode())
        try:
            # an answer may come before the whole was sent
            with suppress(OSError):
                for _ in range(times):
                    writer.write(body)
                    await writer.drain()
            line = await reader.readline()
            self.done[f"{call} {line.split()[1].decode() if line else 'no answer'}"] += 1
        except OSError as error:
            self.done[type(error).__name__] += 1
        finally:
            writer.close()

    async def mixed(self, searches: float, writes: float) -> None:
        """Search and write at these rates, while less than 30 of each wait for their answer."""
        await asyncio.gather(
            self._rate(searches, self._search),
            self._rate(writes, self._write),
            return_exceptions=True,
        )

    async def _rate(self, rate: float, call: Callable[[], Coroutine[Any, Any, None]]) -> None:
        open_calls: set[asyncio.Task[None]] = set()
        while True:
            await asyncio.sleep(1 / rate)
            # more would only stand in line
            if len(open_calls) < 30:
                task = asyncio.create_task(call())
                open_calls.add(task)
                task.add_done_callback(open_calls.discard)

    async def _search(self) -> None:
        body = {"query": self._texts.query()}
        await self.send(self._chosen.choice(self._tokens), "search", json.dumps(body).encode())

    async def _write(self) -> None:
        path = f"new/{self._chosen.randrange(1000)}.md"
        body = {"path": path, "content": self._chosen.choice(self._texts.texts)}
        await self.send(self._chosen.choice(self._tokens), "write", json.dumps(body).encode())

    async def large(self) -> None:
        """Send bodies of 100 MB, four at a time."""
        body = bytes(1 << 20)

        async def again() -> None:
            while True:
                await self.send(self._tokens[1], "write", body, times=100)
                await asyncio.sleep(0.01)

        await asyncio.gather(*(again() for _ in range(4)))

    async def many(self) -> None:
        """Make 10,000 calls at once, and again."""
        body = json.dumps({"query": "x"}).encode()
        while True:
            calls = (self.send(self._tokens[1], "search", body) for _ in range(MANY))
            await asyncio.gather(*calls)

    async def slow(self) -> None:
        """Keep 500 requests open whose bodies come byte by byte."""
        await asyncio.gather(*(self._slowly() for _ in range(SLOW)))

    async def _slowly(self) -> None:
        head = f"POST /v1/write HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self._tokens[1]}"
        while True:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            writer.write(f"{head}\r\nContent-Length: 1000\r\n\r\n".encode())
            line = b""
            try:
                while not line:
                    writer.write(b" ")
                    await writer.drain()
                    with suppress(TimeoutError):
                        line = await asyncio.wait_for(reader.readline(), 1) or b"no answer"
                self.done[line.split()[1].decode()] += 1
            except OSError as error:
                self.done[type(error).__name__] += 1
            finally:
                writer.close()
            await asyncio.sleep(0.2)


async def run(given: argparse.Namespace) -> None:
    """Run until the process is told to end."""
    tokens = json.loads((given.folder / "tokens.json").read_text())
    load = Load(given.port, tokens, Texts())
    kinds = {"large": load.large, "many": load.many, "slow": load.slow}
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    work = kinds[given.kind]() if given.kind in kinds else load.mixed(given.searches, given.writes)
    task = asyncio.create_task(work)
    print("runs", flush=True)
    await over.wait()
    task.cancel()
    print(dict(load.done), flush=True)
    os._exit(0)


def main() -> None:
    """Run one kind of load."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=["mixed", "large", "many", "slow"])
    parser.add_argument("port", type=int)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--searches", type=float, default=50)
    parser.add_argument("--writes", type=float, default=200)
    # these callers would be other machines
    os.nice(5)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
