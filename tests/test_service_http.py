"""Service over HTTP: tokens, scopes, limits, bad input, idempotency, OpenAPI, MCP, metrics."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
import uvicorn
from starlette.applications import Starlette

from commonplace.errors import Busy, InDoubt, InvalidArgument, NotFound
from commonplace.service.app import application
from commonplace.service.call_table import CALLS
from commonplace.service.freshness import freshness_token
from commonplace.service.gate import MOST_WAITING, Gate
from commonplace.service.limits import Limits, TooMany
from commonplace.service.metrics import Metrics
from commonplace.service.process import Process
from commonplace.service.tokens import Grant, Tokens, Unauthorized, tenant_key
from tests.doubles import Clock
from tests.opensearch.tenants import Tenants

Json = dict[str, Any]


class Client:
    """Calls the service as one token."""

    def __init__(self, port: int, token: str = "") -> None:
        self.port, self.token = port, token

    def send(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, Any, dict[str, str]]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        kind = answer.headers["content-type"] or ""
        told = json.loads(data) if "json" in kind else data.decode()
        return answer.status, told, {k.lower(): v for k, v in answer.headers.items()}

    def call(self, name: str, key: str = "", **body: Any) -> tuple[int, Json]:
        headers = {"Idempotency-Key": key} if key else {}
        status, told, _ = self.send("POST", f"/v1/{name}", json.dumps(body).encode(), **headers)
        return status, told

    def code(self, name: str, **body: Any) -> tuple[int, str]:
        status, told = self.call(name, **body)
        return status, told["error"]["code"]


@contextmanager
def serving(process: Process, **options: Any) -> Iterator[int]:
    """Run the service in a thread, and give its port."""
    config = uvicorn.Config(
        application(process, **options), port=0, log_level="error", access_log=False
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    process.start()
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        process.close()


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Process:
    limits = Limits(rate=10_000, burst=10_000, at_once=64)
    return Process(tmp_path_factory.mktemp("service"), limits=limits)


@pytest.fixture(scope="module")
def port(process: Process) -> Iterator[int]:
    with serving(process, largest=100_000, timeout=0.5) as port:
        yield port


@pytest.fixture
def acme(process: Process, port: int) -> Client:
    return Client(port, process.tokens.new("acme", "bot", ("read", "write", "forget"))[0])


def test_calls_of_a_store(acme: Client) -> None:
    status, told = acme.call("write", path="facts/tea.md", content="# Tea\n\n- Sencha.\n")
    assert status == 200
    version = told["version"]
    assert acme.call("read", path="facts/tea.md")[1]["version"] == version
    assert (
        acme.call("patch", path="facts/tea.md", edits=[{"old": "Sencha", "new": "Matcha"}])[0]
        == 200
    )
    assert acme.code("write", path="facts/tea.md", content="", expected_version=version) == (
        409,
        "conflict",
    )
    assert acme.call("append", path="facts/tea.md", content="- Oolong.")[0] == 200
    found = acme.call("search", query="matcha", fresh=[told["fresh"]])[1]
    assert [hit["citation"] for hit in found["hits"]] == ["facts/tea.md#L3"]
    assert [one["path"] for one in acme.call("list")[1]["files"]] == ["facts/tea.md"]
    assert len(acme.call("history", path="facts/tea.md")[1]["versions"]) == 1
    assert acme.call("grep", pattern="Mat.ha")[1]["matches"][0]["line"] == 3
    messages = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]
    assert acme.call("log", path="sessions/s1", messages=messages)[0] == 200
    page = acme.call("messages", path="sessions/s1/messages.jsonl", limit=1)[1]
    assert (page["messages"][0]["text"], page["next"]) == ("Hi.", 2)
    assert acme.call("sessions")[1]["sessions"][0]["id"] == "s1"
    assert acme.call("status")[1]["notes"] == 1
    assert acme.call("move", path="facts/tea.md", target="facts/drinks.md")[0] == 200
    plan = acme.call("forget", what=["Oolong"])[1]
    assert acme.call("forget", what=["Oolong"], token=plan["token"])[1]["erased"]
    assert acme.call("delete", path="facts/drinks.md")[0] == 200
    assert acme.code("read", path="facts/drinks.md") == (404, "missing")


def test_secrets_are_redacted_in_what_is_added(acme: Client) -> None:
    told = "The password is q7Rt2Lm9x."
    message = {"role": "user", "content": told}
    for key in ("", "secret"):
        logged = acme.call("log", key, path="sessions/secret", messages=[message])[1]
        assert logged["redacted"] == {"password": 1}
    # repeated, it is found though it was redacted
    assert acme.call("log", "secret", path="sessions/secret", messages=[message])[1] == logged
    read = acme.call("messages", path="sessions/secret/messages.jsonl")[1]["messages"]
    assert [one["text"] for one in read] == ["The password is [redacted: password]."] * 2
    added = acme.call("append", path="secret.md", content=told)[1]
    assert added["redacted"] == {"password": 1}
    assert "q7Rt2Lm9x" not in acme.call("read", path="secret.md")[1]["text"]
    assert "redacted" not in acme.call("append", path="secret.md", content="Sencha.")[1]
    assert "redacted" not in acme.call("write", path="secret.md", content=told)[1]
    assert acme.call("read", path="secret.md")[1]["text"] == told


def test_a_service_may_keep_secrets(tmp_path: Path) -> None:
    process = Process(tmp_path, keep_secrets=True)
    with serving(process) as port:
        client = Client(port, process.tokens.new("acme", "bot")[0])
        message = {"role": "user", "content": "The password is q7Rt2Lm9x."}
        assert "redacted" not in client.call("log", path="sessions/s1", messages=[message])[1]
        read = client.call("messages", path="sessions/s1/messages.jsonl")[1]["messages"]
        assert read[0]["text"] == message["content"]


def test_tokens_and_scopes(process: Process, port: int, acme: Client) -> None:
    assert Client(port).code("status") == (401, "token")
    assert Client(port, "cp_0000000000000000_" + "A" * 43).code("status") == (401, "token")
    assert Client(port, acme.token[:-1]).code("status") == (401, "token")
    reader, grant = process.tokens.new("acme", "reader", ("read",))
    assert Client(port, reader).call("status")[0] == 200
    assert Client(port, reader).code("write", path="a.md", content="") == (403, "scope")
    assert Client(port, reader).code("forget", what=["tea"]) == (403, "scope")
    process.tokens.revoke(grant.id)
    assert Client(port, reader).code("status") == (401, "token")
    short, _ = process.tokens.new("acme", "short", days=1e-9)
    assert (
        Client(port, short).call("status")[1]["error"]["message"].startswith("this token has exp")
    )
    kept = [
        data for name, _ in process.objects.list("tokens") if (data := process.objects.read(name))
    ]
    assert acme.token.rpartition("_")[2] not in b"".join(kept).decode()
    with pytest.raises(NotFound):
        process.tokens.revoke("../../etc/passwd")


@pytest.mark.parametrize("name", ["", "x" * 1001, "\ud800", "\0"])
def test_a_tenant_may_be_called_anything_that_is_text(process: Process, name: str) -> None:
    if name == "\0":
        assert process.tokens.new(name, "bot")[1].key == tenant_key(name)
        return
    with pytest.raises(InvalidArgument):
        process.tokens.new(name, "bot")


def test_a_token_opens_no_other_memory(process: Process, port: int, acme: Client) -> None:
    names = ["acme/../bolt", "bolt", "*", "..", "a/b", "\0", "tenant:acme", "ACME", "ａｃｍｅ"]
    clients = [Client(port, process.tokens.new(name, "bot")[0]) for name in names]
    acme.call("write", path="own.md", content="sencha of acme\n")
    for number, client in enumerate(clients):
        client.call("write", path="own.md", content=f"sencha number {number}\n")
    for number, client in enumerate(clients):
        assert client.call("read", path="own.md")[1]["text"] == f"sencha number {number}\n"
        found = client.call("search", query="sencha")[1]["hits"]
        assert [hit["text"] for hit in found] == [f"sencha number {number}\n"]
    key = tenant_key("acme")
    for path in (
        f"../{key}/own.md",
        f"/{key}/own.md",
        f"x/../../{key}/own.md",
        "..",
        "/etc/passwd",
    ):
        status, told = clients[0].call("read", path=path)
        assert status in {400, 404}, told
        assert "acme" not in json.dumps(told)
        assert clients[0].call("write", path=path, content="x")[0] in {400, 404}
    token = freshness_token(key, ["own.md"])
    assert clients[0].code("search", query="sencha", fresh=[token]) == (400, "argument")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b'{"path": 1}',
        b'{"path": "a.md"}',
        b'{"path": "a.md", "content": "", "extra": 1}',
        b'{"path": "", "content": ""}',
        b"\xff\xfe",
        b'{"path": "a.md", "content": "\\ud800"}',
        b"[" * 50_000,
        b'{"path": "a\\u0000.md", "content": ""}',
        b'{"path": "con*?.md", "content": ""}',
    ],
)
def test_a_bad_request_is_told(acme: Client, body: bytes) -> None:
    status, told, _ = acme.send("POST", "/v1/write", body)
    # what Windows would not take is a file here
    assert status == 400 or b"con*" in body, told
    if status == 400:
        assert told["error"]["message"]


def test_unknown_calls_and_methods(acme: Client) -> None:
    assert acme.code("drop_all") == (404, "call")
    for method, path, wanted in (
        ("GET", "/v1/status", (405, "method")),
        ("POST", "/v1/status/x", (404, "call")),
        ("GET", "/nothing", (404, "call")),
        ("DELETE", "/healthz", (405, "method")),
    ):
        status, told, headers = acme.send(method, path)
        assert (status, told["error"]["code"]) == wanted
        assert told["error"]["message"]
        assert status != 405 or headers["allow"]


def test_a_body_that_is_too_large_is_not_read(acme: Client) -> None:
    assert acme.code("write", path="a.md", content="x" * 200_000) == (413, "large")
    # without a length, as many small parts
    with socket.create_connection(("127.0.0.1", acme.port), timeout=10) as raw:
        head = f"POST /v1/write HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {acme.token}\r\n"
        raw.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(20):
            raw.sendall(b"2000\r\n" + b"x" * 0x2000 + b"\r\n")
        assert b"413" in raw.recv(200)


def slow_clients(port: int, token: str, number: int) -> list[socket.socket]:
    """Return connections that have sent the beginning of a request."""
    head = f"POST /v1/write HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    slow = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(number)]
    for one in slow:
        one.sendall(head.encode() + b"Content-Length: 1000\r\n\r\n{")
    return slow


def test_a_slow_client_is_sent_away(acme: Client) -> None:
    (slow,) = slow_clients(acme.port, acme.token, 1)
    with slow:
        assert b"408" in slow.recv(200)


def test_slow_clients_slow_nobody(tmp_path: Path) -> None:
    timeout = 30.0
    own = Process(tmp_path, limits=Limits(at_once=50))
    with serving(own, timeout=timeout) as port:
        tokens = [own.tokens.new(name, "bot")[0] for name in ("slow", "other")]
        slow = slow_clients(port, tokens[0], 40)
        begun = time.monotonic()
        assert Client(port, tokens[1]).call("status")[0] == 200
        assert time.monotonic() - begun < timeout / 2
        for one in slow:
            one.close()


def test_limits_of_a_tenant_are_its_own() -> None:
    clock = Clock()
    limits = Limits(2, 3, 2, clock.now.timestamp)
    for _ in range(3):
        with limits.call("a"):
            pass
    with pytest.raises(TooMany) as told, limits.call("a"):
        pass
    assert told.value.after == pytest.approx(0.5)
    with limits.call("b"), limits.call("b"), pytest.raises(TooMany, match="running"):
        limits._enter("b")


def test_many_calls_at_once_are_answered_or_refused(tmp_path: Path) -> None:
    own = Process(tmp_path, limits=Limits(rate=50, burst=20, at_once=4))
    with serving(own) as port:
        noisy = Client(port, own.tokens.new("noisy", "bot")[0])
        quiet = Client(port, own.tokens.new("quiet", "bot")[0])
        statuses: list[int] = []
        threads = [
            threading.Thread(target=lambda: statuses.append(noisy.call("status")[0]))
            for _ in range(100)
        ]
        for thread in threads:
            thread.start()
        assert quiet.call("status")[0] == 200
        for thread in threads:
            thread.join()
        assert {*statuses} == {200, 429}
        answers = [noisy.send("POST", "/v1/status", b"{}") for _ in range(60)]
        refused = [headers for status, _, headers in answers if status == 429]
        assert {headers["retry-after"] for headers in refused} <= {"1"}


def test_requests_of_one_token_do_not_fill_the_threads_that_check_tokens() -> None:
    checks = threading.Event()

    class Slow(Tokens):
        def __init__(self) -> None:
            pass

        def check(self, token: str) -> Grant:
            assert checks.wait(30)
            raise Unauthorized(token)

    async def statuses(count: int) -> list[int]:
        gate = Gate(Starlette(), Slow(), Limits(), Metrics(), frozenset())
        transport = httpx.ASGITransport(app=gate)
        found: list[int] = []
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:

            async def ask() -> None:
                answer = await client.post("/v1/status", headers={"authorization": "Bearer t"})
                found.append(answer.status_code)
                if len(found) == count - MOST_WAITING:
                    checks.set()

            async with anyio.create_task_group() as tasks:
                for _ in range(count):
                    tasks.start_soon(ask)
        return found

    more = 9
    assert anyio.run(statuses, MOST_WAITING + more) == [429] * more + [401] * MOST_WAITING


def test_a_call_that_is_repeated_is_done_once(acme: Client) -> None:
    message = [{"role": "user", "content": "Once."}]
    first = acme.call("log", "k1", path="sessions/once", messages=message)
    assert acme.call("log", "k1", path="sessions/once", messages=message) == first
    lines = acme.call("messages", path="sessions/once/messages.jsonl")[1]["messages"]
    assert [one["text"] for one in lines] == ["Once."]
    status, told = acme.call("log", "k1", path="sessions/other", messages=message)
    assert (status, told["error"]["code"]) == (400, "argument")
    version = acme.call("write", path="kept.md", content="one")[1]["version"]
    swap = {"path": "kept.md", "content": "two", "expected_version": version}
    assert acme.call("write", "k2", **swap) == acme.call("write", "k2", **swap)
    # a call that was refused is tried again
    assert acme.call("patch", "k3", path="kept.md", edits=[{"old": "x", "new": "y"}])[0] == 400
    acme.call("write", path="kept.md", content="x")
    assert acme.call("patch", "k3", path="kept.md", edits=[{"old": "x", "new": "y"}])[0] == 200


def test_a_call_that_was_cut_off_is_not_done_twice(tmp_path: Path) -> None:
    with Tenants(tmp_path, None, grace=0.0) as tenants:
        message = [{"role": "user", "content": "Once."}]
        tenants.call("acme", "log", "k1", path="sessions/s", messages=message)
        tenants.call("acme", "write", "k2", path="a.md", content="one")
        tenants.call("acme", "append", "k3", path="b.md", content="- tea")
        objects = tenants.process.objects
        # as if the process had been killed between the change and its answer
        names = [name for name, _ in objects.list(f"answers/{tenant_key('acme')}")]
        assert len(names) == 3
        for name in names:
            known = json.loads(objects.read(name) or b"")
            objects.write(name, json.dumps({**known, "done": False, "answer": None}).encode())
        tenants.call("acme", "log", "k1", path="sessions/s", messages=message)
        tenants.call("acme", "write", "k2", path="a.md", content="one")
        tenants.call("acme", "append", "k3", path="b.md", content="- tea")
        messages = tenants.call("acme", "messages", path="sessions/s/messages.jsonl")["messages"]
        assert len(messages) == 1
        assert tenants.call("acme", "read", path="b.md")["text"] == "- tea\n"
        known = json.loads(objects.read(names[0]) or b"")
        for name in names:
            known = json.loads(objects.read(name) or b"")
            objects.write(name, json.dumps({**known, "done": False, "answer": None}).encode())
        tenants.call("acme", "write", path="b.md", content="something else")
        with pytest.raises(InDoubt):
            tenants.call("acme", "append", "k3", path="b.md", content="- tea")
    with Tenants(tmp_path, None, grace=60.0) as other, pytest.raises(Busy):
        other.call("acme", "append", "k3", path="b.md", content="- tea")


def test_the_description_names_every_call(acme: Client) -> None:
    status, told, _ = Client(acme.port).send("GET", "/openapi.json")
    assert status == 200
    assert {*told["paths"]} == {f"/v1/{name}" for name in CALLS}
    write = told["paths"]["/v1/write"]["post"]
    reference = write["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    fields = told["components"]["schemas"][reference.rpartition("/")[2]]
    assert fields["required"] == ["path", "content"]
    assert "Idempotency-Key" in json.dumps(write)


def test_health_metrics_and_logs_have_no_content(
    acme: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "commonplace.service.access")
    acme.call("write", path="facts/zanzibar.md", content="zanzibar\n")
    acme.call("search", query="zanzibar")
    assert acme.send("GET", "/healthz")[1] == {"status": "ok", "engine": "none"}
    told = acme.send("GET", "/metrics")[1]
    assert 'commonplace_requests_total{call="search",status="200"}' in told
    assert "commonplace_stores_open" in told
    lines = [
        json.loads(record.getMessage())
        for record in caplog.records
        if record.name.endswith("access")
    ]
    assert {"call", "status", "milliseconds", "tenant", "token"} <= {*lines[0]}
    assert "zanzibar" not in told + json.dumps(lines)
    assert "acme" not in told + json.dumps(lines)


def ask_mcp(client: Client, method: str, **params: Any) -> Json:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    status, told, _ = client.send(
        "POST",
        "/mcp",
        json.dumps(body).encode(),
        **{"Content-Type": "application/json", "Accept": "application/json, text/event-stream"},
    )
    assert status == 200, told
    return dict(told)


@pytest.mark.parametrize("form", ["relative", "link to all", "link to one"])
def test_no_error_tells_where_the_folder_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.chdir(tmp_path)
    real = tmp_path / "real"
    tenant = Path("tenants") / tenant_key("acme")
    (real / tenant).mkdir(parents=True)
    root = Path("real" if form == "relative" else "root")
    if form == "link to all":
        root.symlink_to(real)
    elif form == "link to one":
        (root / "tenants").mkdir(parents=True)
        (root / tenant).symlink_to(real / tenant)
    process = Process(root)
    with serving(process) as port:
        client = Client(port, process.tokens.new("acme", "bot")[0])
        told = [
            client.call("write", path="/etc/x.md", content="x")[1],
            client.call("list", prefix="/etc")[1],
            ask_mcp(client, "resources/read", uri="commonplace://note//etc/x.md"),
            ask_mcp(client, "tools/call", name="read", arguments={"path": "/etc/x.md"}),
            ask_mcp(client, "tools/call", name="status", arguments={}),
        ]
    assert 'it is not in the memory at "."; give' in told[0]["error"]["message"]
    for one in told:
        assert str(tmp_path) not in json.dumps(one)
        assert tenant.name not in json.dumps(one)


def test_mcp_has_the_memory_and_the_tools_of_its_token(process: Process, port: int) -> None:
    def ask(client: Client, method: str, **params: Any) -> Json:
        return dict(ask_mcp(client, method, **params)["result"])

    writer = Client(port, process.tokens.new("mcp one", "bot")[0])
    other = Client(port, process.tokens.new("mcp two", "bot", ("read",))[0])
    names = {tool["name"] for tool in ask(writer, "tools/list")["tools"]}
    assert names == {"search", "read", "sessions", "remember", "status"}
    assert {tool["name"] for tool in ask(other, "tools/list")["tools"]} == names - {"remember"}
    said = ask(writer, "tools/call", name="remember", arguments={"content": "Likes sencha."})
    assert said["structuredContent"]["added"]
    found = ask(writer, "tools/call", name="search", arguments={"query": "sencha"})
    assert "Likes sencha." in json.dumps(found)
    told = ask(writer, "tools/call", name="status", arguments={})
    assert str(process.stores.folder) not in json.dumps(told)
    missing = ask(other, "tools/call", name="search", arguments={"query": "sencha"})
    assert missing["structuredContent"]["hits"] == []
    assert Client(port).send("POST", "/mcp", b"{}")[0] == 401
