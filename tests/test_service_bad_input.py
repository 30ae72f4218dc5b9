"""Bad input to the service: each is refused in clear words, loses nothing and slows nobody.

What is beside this: tokens and small bad requests (`test_service_http`), hostile names and paths
(`test_service_isolation`), answers that are cut off and indexes of another version
(`test_service_engine`).
"""

from __future__ import annotations

import socket
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import ASGIApp, Message

from commonplace.errors import InvalidArgument
from commonplace.service.app import application
from commonplace.service.limits import Limits
from commonplace.service.objects import LocalObjects
from commonplace.service.process import Process
from commonplace.service.scope import KEY
from commonplace.service.tokens import Tokens, Unauthorized, tenant_key
from tests.opensearch.tenants import Tenants
from tests.test_service_http import Client, serving

DAY = 86_400 * 10**9
HUGE = 100 << 20


@given(st.lists(st.text(st.characters(), max_size=40), max_size=8, unique=True))
def test_any_text_is_the_name_of_one_tenant_or_of_none(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tokens = Tokens(LocalObjects(Path(folder)))
        keys = []
        for name in names:
            try:
                token, grant = tokens.new(name, "bot")
            except InvalidArgument:
                # surrogates alone are no text, and nothing is nobody
                assert not name or any("\ud800" <= one <= "\udfff" for one in name)
                continue
            assert tokens.check(token).key == grant.key == tenant_key(name)
            keys.append(grant.key)
        assert all(KEY.fullmatch(key) for key in keys)
        assert len({*keys}) == len(keys)


@given(st.binary(max_size=60))
def test_a_token_of_any_bytes_opens_nothing(
    tmp_path_factory: pytest.TempPathFactory, token: bytes
) -> None:
    tokens = Tokens(LocalObjects(tmp_path_factory.getbasetemp() / "none"))
    text = token.decode("latin-1")
    for one in (text, f"cp_{text}", f"cp_{'0' * 16}_{text}"):
        with pytest.raises(Unauthorized, match="unknown or revoked"):
            tokens.check(one)


@pytest.mark.parametrize("wrong", [DAY, -DAY], ids=["ahead", "behind"])
def test_a_clock_that_is_wrong_loses_nothing(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: int
) -> None:
    """Two processes, of which one has the time of another day, change the same files in turns."""
    index = f"k{uuid4().hex[:8]}"
    right = time.time_ns
    with Tenants(tmp_path, url, index) as first, Tenants(tmp_path, url, index) as second:
        second._grants = first._grants
        first.grant("acme")
        for turn in range(6):
            by, now = ((first, right), (second, lambda: right() + wrong))[turn % 2]
            monkeypatch.setattr(time, "time_ns", now)
            for name in ("a", "b"):
                text = f"# Tea\n\nturn{turn} {name}\n"
                told = by.call("acme", "write", path=f"{name}.md", content=text)
            assert by.found("acme", f"turn{turn}", fresh=[told["fresh"]])
            if turn == 3:
                gone = by.call("acme", "delete", path="a.md")
                assert by.found("acme", "turn3 a", fresh=[gone["fresh"]]) == ["b.md#L3"]
        for name in ("a", "b"):
            first.process.indexer.rebuild(first.grant("acme").key)
            assert first.engine
            first.engine.refresh()
            assert first.found("acme", f"turn5 {name}")[0] == f"{name}.md#L3"
        assert first.found("acme", "turn4") == []


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_of_100_mb_is_refused_before_it_has_come(tmp_path: Path, *, chunked: bool) -> None:
    own = Process(tmp_path)
    kind = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {HUGE}"
    part = b"x" * (1 << 16)
    if chunked:
        part = b"10000\r\n" + part + b"\r\n"
    with serving(own, largest=1 << 20) as port:
        noisy, quiet = (Client(port, own.tokens.new(name, "bot")[0]) for name in ("a", "b"))
        head = f"POST /v1/write HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {noisy.token}\r\n"
        with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
            raw.sendall(f"{head}{kind}\r\n\r\n".encode())
            # a little more than may come
            for _ in range(17):
                raw.sendall(part)
            assert b" 413 " in raw.recv(200)
            # who goes on is not listened to, or sent away
            with suppress(OSError):
                for _ in range(HUGE // len(part)):
                    raw.sendall(part)
            assert quiet.call("status")[0] == 200
        assert noisy.call("list")[1]["files"] == []


@asynccontextmanager
async def lifespan_of(app: ASGIApp) -> AsyncIterator[None]:
    """Run an application from its start to its end, as a server does."""
    begun, ending, ended = anyio.Event(), anyio.Event(), anyio.Event()

    async def receive() -> Message:
        if not begun.is_set():
            return {"type": "lifespan.startup"}
        await ending.wait()
        return {"type": "lifespan.shutdown"}

    async def send(message: Message) -> None:
        (ended if "shutdown" in message["type"] else begun).set()

    async with anyio.create_task_group() as tasks:
        whole: Any = app
        tasks.start_soon(whole, {"type": "lifespan"}, receive, send)
        await begun.wait()
        yield
        ending.set()
        await ended.wait()


def test_ten_thousand_calls_of_tools_at_once(tmp_path: Path) -> None:
    own = Process(tmp_path, limits=Limits(rate=200, burst=200, at_once=16))
    noisy, quiet = (own.tokens.new(name, "bot")[0] for name in ("noisy", "quiet"))
    statuses: dict[int, int] = {}
    quiet_statuses: list[int] = []
    app = application(own)

    def asked(number: int) -> dict[str, Any]:
        arguments = {"content": f"Likes tea number {number}."}
        params = {"name": "remember", "arguments": arguments}
        return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}

    async def call(client: httpx.AsyncClient, number: int) -> None:
        headers = {
            "authorization": f"Bearer {noisy}",
            "accept": "application/json, text/event-stream",
        }
        answer = await client.post("/mcp", headers=headers, json=asked(number))
        statuses[number] = answer.status_code

    async def calls() -> None:
        async with (
            # as a server begins and ends it
            lifespan_of(app),
            httpx.AsyncClient(
                transport=httpx.ASGITransport(app=app), base_url="http://x", timeout=600
            ) as client,
            anyio.create_task_group() as tasks,
        ):
            for number in range(10_000):
                tasks.start_soon(call, client, number)
            headers = {"authorization": f"Bearer {quiet}"}
            told = await client.post("/v1/status", headers=headers, json={})
            quiet_statuses.append(told.status_code)

    own.start()
    try:
        anyio.run(calls)
        assert quiet_statuses == [200]
        assert {*statuses.values()} == {200, 429}
        with own.stores.of(tenant_key("noisy")) as store:
            texts = "".join(store.read(one.path) for one in store.list())
        done = {number for number, status in statuses.items() if status == 200}
        kept = {number for number in statuses if f"tea number {number}." in texts}
        assert done <= kept
    finally:
        own.close()
