"""MCP server: answers over stdio and HTTP in both eras, bounds, hostile requests, many writers."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import commonplace
from commonplace.doors.mcp.methods import INTERNAL_ERROR, PAGE, Methods
from commonplace.doors.mcp.stdio import LONGEST_LINE, reply_to
from commonplace.errors import Refused
from commonplace.memories import Profile

COMMAND = [sys.executable, "-m", "commonplace"]
STATELESS = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture
def methods(opened: commonplace.Store) -> Methods:
    opened.write("facts/user.md", "# User\n\n- Likes oolong tea.\n")
    log = opened.transcript("sessions/tea/2026-02-01-0198c1d2")
    log.append({"role": "user", "content": "Where do we buy tea?", "session": "0198c1d2-7aaa"})
    log.append(
        {"role": "assistant", "content": "At the harbour market.", "session": "0198c1d2-7aaa"}
    )
    return Methods(lambda: opened)


def reply(methods: Methods, method: str, **params: Any) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    found = reply_to(methods, json.dumps(message).encode())
    assert found is not None
    assert found["id"] == 7
    return found


def result(methods: Methods, method: str, **params: Any) -> dict[str, Any]:
    found: dict[str, Any] = reply(methods, method, **params)["result"]
    return found


def call(methods: Methods, tool: str, **arguments: Any) -> Any:
    found = result(methods, "tools/call", name=tool, arguments=arguments)
    assert not found["isError"], found
    assert json.loads(found["content"][0]["text"]) == found["structuredContent"]
    return found["structuredContent"]


def refusal(methods: Methods, tool: str, **arguments: Any) -> str:
    found = result(methods, "tools/call", name=tool, arguments=arguments)
    assert found["isError"]
    text: str = found["content"][0]["text"]
    return text


# Tools


def test_definitions_are_short(methods: Methods) -> None:
    tools = result(methods, "tools/list")["tools"]
    assert [tool["name"] for tool in tools] == [
        "search",
        "read",
        "sessions",
        "remember",
        "forget",
        "status",
    ]
    # words, numbers and runs of punctuation: about what a tokenizer of a model counts
    text = json.dumps(tools, separators=(",", ":"))
    assert len(re.findall(r"[A-Za-z]+|\d+|[^\w\s]+", text)) < 900
    assert len(text) < 4000


def test_answers_fit_their_schemas(methods: Methods) -> None:
    validator = pytest.importorskip("jsonschema", reason="comes with the extra `doors`").validate
    calls = {
        "search": {"query": "tea"},
        "read": {"path": "facts/user.md"},
        "sessions": {},
        "remember": {"content": "Has a cat."},
        "forget": {"what": "cat"},
        "status": {},
    }
    for tool in result(methods, "tools/list")["tools"]:
        validator(calls[tool["name"]], tool["inputSchema"])
        validator(call(methods, tool["name"], **calls[tool["name"]]), tool["outputSchema"])


def test_forget_shows_first(methods: Methods) -> None:
    call(methods, "remember", content="The dog is called Zaphod.")
    shown = call(methods, "forget", what="zaphod")["text"]
    assert "facts/notes.md#L" in shown
    assert "zaphod" in call(methods, "search", query="zaphod")["hits"][0]["text"].lower()
    token = shown.split()[-1]
    assert "has changed" in refusal(methods, "forget", what="zaphod", token="0" * 32)
    assert "Erased" in call(methods, "forget", what="zaphod", token=token)["text"]
    assert call(methods, "search", query="zaphod")["hits"] == []
    assert "similar" in call(methods, "forget", what="harbour walk")["text"]


def test_what_tools_took_and_gave_is_a_line_of_a_session(
    methods: Methods, opened: commonplace.Store
) -> None:
    log = opened.transcript("sessions/tea/2026-02-02-0198c1d3")
    log.append({"role": "user", "content": "Is it open?"})
    log.extend({"role": "tool", "content": f"page {number}"} for number in range(40))
    log.append({"role": "assistant", "content": "Until six."})
    log.append({"role": "tool", "content": "done"})
    path = "sessions/tea/2026-02-02-0198c1d3/messages.jsonl"
    text = re.sub(r", [^]]*", "", call(methods, "read", path=path)["text"])
    said = ["[L1 user]", "Is it open?", "[L2-L41 of tools]", "[L42 assistant]", "Until six."]
    assert text.split("\n\n")[:1] == ["[L1 user]\nIs it open?"]
    assert [line for line in text.split("\n") if line] == [*said, "[L43 of tools]"]
    part = call(methods, "read", path=path, limit=10)
    assert part["next"] == 11
    assert "[L2-L10 of tools]" in part["text"]
    assert "[L11-L20 of tools]" in call(methods, "read", path=path, start=11, limit=10)["text"]


def test_what_is_to_be_forgotten_has_several_names(methods: Methods) -> None:
    for name in ("text", "content", "citation", "fact"):
        assert "Nothing holds it." in call(methods, "forget", **{name: "a walrus"})["text"]
    assert "forget has no `banana`" in refusal(methods, "forget", what="x", banana=1)


def test_search_then_read_what_it_cites(methods: Methods) -> None:
    found = call(methods, "search", query="where do we buy tea")
    best = found["hits"][0]
    assert "harbour market" in best["text"]
    assert "harbour market" in call(methods, "read", path=best["citation"])["text"]
    assert "harbour" in call(methods, "read", path="0198")["text"]


def test_a_search_says_how_sure_it_is(methods: Methods) -> None:
    sure = call(methods, "search", query="oolong tea")
    assert sure["confidence"] > 0.3
    assert not sure["notes"]
    unsure = call(methods, "search", query="oolong zebra tractor")
    assert 0 < unsure["confidence"] < 0.3
    assert unsure["notes"] == ["the best match lacks: zebra, tractor"]


def test_what_is_remembered_stands_once(methods: Methods, opened: commonplace.Store) -> None:
    first = call(methods, "remember", content="Deploys on Fridays.\nNever in December.")
    again = call(methods, "remember", content="Deploys on Fridays.\nNever in December.")
    assert (first["added"], again["added"]) == (True, False)
    text = opened.read(first["path"])
    assert text == "- Deploys on Fridays.\n  Never in December.\n"
    # a part of an item is no item
    assert call(methods, "remember", content="Deploys on Fridays.")["added"]
    assert "`content` is empty" in refusal(methods, "remember", content=" \n")


def test_errors_reach_the_model_with_their_text(methods: Methods) -> None:
    assert "it is `limit`" in refusal(methods, "search", query="tea", limi=3)
    assert "query" in refusal(methods, "search")
    assert "no file or session 'nowhere'" in refusal(methods, "read", path="nowhere")
    for path in ("none.md", "sessions/none/messages.jsonl"):
        assert refusal(methods, "read", path=path).startswith(
            f"there is no file '{path}'; `search`"
        )
    assert "leads out" in refusal(methods, "remember", content="x", path="../x.md")
    assert "CLAUDE" in refusal(methods, "remember", content="x", path="CLAUDE.md")
    for path in ("sessions/a/messages.jsonl", "sessions/a/messages.JSONL"):
        assert "is a transcript" in refusal(methods, "remember", content="x", path=path)
    assert "no date" in refusal(methods, "search", query="tea", since="soon")
    assert "one of 'message', 'note'" in refusal(methods, "search", query="tea", source="notes")
    for arguments in ("x", 3, ["x"]):
        told = result(methods, "tools/call", name="search", arguments=arguments)
        assert "search takes an object of: query, limit" in told["content"][0]["text"]
    error = reply(methods, "tools/call", name="serch", arguments={})["error"]
    assert error["code"] == -32602
    assert "`search`" in error["message"]


def test_aliases_are_taken(methods: Methods) -> None:
    assert call(methods, "search", q="tea", top_k=1)["hits"]
    assert call(methods, "read", file_path="facts/user.md")["text"]
    for uri in ("commonplace://note/facts/user.md", "commonplace://session/0198c1d2"):
        by_uri = call(methods, "read", uri=uri)
        assert by_uri == call(methods, "read", path=by_uri["path"])
    assert call(methods, "remember", fact="Likes rain.")["added"]
    assert "has no `q`" in refusal(methods, "search", query="tea", q="coffee")


def test_a_memory_system_in_the_place_of_ours(opened: commonplace.Store) -> None:
    methods = Methods(lambda: opened, Profile)
    tools = {tool["name"]: tool for tool in result(methods, "tools/list")["tools"]}
    assert "memory_recall" in tools
    assert "outputSchema" not in tools["memory_recall"]
    found = result(methods, "tools/call", name="memory_recall", arguments={"query": "tea"})
    assert not found["isError"]
    told = found["content"][0]["text"]
    assert isinstance(told, str)


# Resources and the prompt


def test_resources_are_listed_page_by_page(methods: Methods, opened: commonplace.Store) -> None:
    for number in range(PAGE + 5):
        opened.write(f"many/{number:03} 茶.md", "x\n")
    uris: list[str] = []
    params: dict[str, Any] = {}
    while params is not None:
        page = result(methods, "resources/list", **params)
        assert len(page["resources"]) <= PAGE
        uris += [one["uri"] for one in page["resources"]]
        params = {"cursor": page["nextCursor"]} if "nextCursor" in page else None  # type: ignore[assignment]
    assert len(uris) == len({*uris}) == PAGE + 7
    for uri in (uris[3], uris[-1]):
        assert result(methods, "resources/read", uri=uri)["contents"][0]["text"]
    assert reply(methods, "resources/list", cursor="gone")["error"]["code"] == -32602
    error = reply(methods, "resources/read", uri="commonplace://note/none.md")["error"]
    assert error["code"] == -32602
    assert error["data"] == {"uri": "commonplace://note/none.md"}


def test_the_prompt_holds_what_is_found(methods: Methods) -> None:
    (message,) = result(methods, "prompts/get", name="recall", arguments={"topic": "oolong"})[
        "messages"
    ]
    assert "facts/user.md#L3" in message["content"]["text"]
    assert reply(methods, "prompts/get", name="recall")["error"]["code"] == -32602


# Hostile requests

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
names = st.sampled_from(["query", "path", "limit", "start", "content", "since", "source", "x"])


@settings(max_examples=50)
@given(
    st.sampled_from(["search", "read", "sessions", "remember", "forget", "status"]),
    st.dictionaries(names, json_values, max_size=4),
)
def test_any_arguments_are_answered(tool: str, arguments: dict[str, Any]) -> None:
    methods = _empty_methods()
    found = reply(methods, "tools/call", name=tool, arguments=arguments)
    assert found.get("error", {}).get("code") != INTERNAL_ERROR
    if found["result"]["isError"]:
        assert "Error:" not in found["result"]["content"][0]["text"]


def _empty_methods(made: list[Methods] = []) -> Methods:  # noqa: B006 - one for all examples
    if not made:
        import tempfile  # noqa: PLC0415

        folder = tempfile.mkdtemp()
        made.append(Methods(lambda: commonplace.open(folder)))
    return made[0]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[" * 100_000, -32700),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', -32700),
        (b"[]", -32600),
        (b'{"id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"no/such"}', -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}', -32602),
    ],
)
def test_a_message_that_is_none_is_refused(methods: Methods, line: bytes, code: int) -> None:
    found = reply_to(methods, line)
    assert found is not None
    assert found["error"]["code"] == code


def test_notifications_and_replies_are_not_answered(methods: Methods) -> None:
    assert reply_to(methods, b'{"jsonrpc":"2.0","method":"notifications/cancelled"}') is None
    assert reply_to(methods, b'{"jsonrpc":"2.0","id":1,"result":{}}') is None


def test_a_stateless_request_is_checked(methods: Methods) -> None:
    found = result(methods, "server/discover", _meta=STATELESS)
    assert found["supportedVersions"] == ["2026-07-28"]
    assert (found["resultType"], found["ttlMs"], found["cacheScope"]) == ("complete", 0, "private")
    old = STATELESS | {"io.modelcontextprotocol/protocolVersion": "2027-01-01"}
    error = reply(methods, "tools/list", _meta=old)["error"]
    assert error["code"] == -32022
    assert error["data"] == {"supported": ["2026-07-28"], "requested": "2027-01-01"}
    assert reply(methods, "initialize", _meta=STATELESS)["error"]["code"] == -32022
    bare = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    assert reply(methods, "tools/list", _meta=bare)["error"]["code"] == -32602


# Processes


def converse(root: Path, *lines: bytes | dict[str, Any]) -> list[dict[str, Any]]:
    """Send lines to a server on stdio and return its replies."""
    sent = b"".join(
        line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines
    )
    done = subprocess.run(
        [*COMMAND, "--root", str(root), "mcp"], input=sent, capture_output=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def request(number: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def test_a_line_without_end_does_not_fill_the_memory(root: Path) -> None:
    found = converse(root, b"x" * (LONGEST_LINE + 9) + b"\n", request(1, "ping"))
    assert [one["id"] for one in found] == [None, 1]


def test_the_list_of_tools_loads_no_sdk(root: Path) -> None:
    program = (
        "import sys, commonplace.cli as cli; cli.run(sys.argv[1:]);"
        "print(*{name.split('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "--root", str(root), "mcp"],
        input=json.dumps(request(1, "tools/list")).encode() + b"\n",
        capture_output=True,
        check=True,
    )
    assert b'"search"' in done.stdout
    assert not {b"mcp", b"pydantic", b"asyncio", b"anyio"} & {*done.stderr.split()}
    # nor is the store opened before it is needed
    assert not (root / ".commonplace").exists()


def test_eight_clients_write_at_once(root: Path) -> None:
    servers = [
        subprocess.Popen(
            [*COMMAND, "--root", str(root), "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(8)
    ]
    for number, server in enumerate(servers):
        assert server.stdin
        for turn in range(6):
            fact = {"name": "remember", "arguments": {"content": f"Fact {number}-{turn}."}}
            server.stdin.write(json.dumps(request(turn, "tools/call", **fact)).encode() + b"\n")
        server.stdin.flush()
    for server in servers:
        told, _ = server.communicate(timeout=60)
        replies = [json.loads(line) for line in told.splitlines()]
        assert [one["result"]["structuredContent"]["added"] for one in replies] == [True] * 6
    lines = (root / "facts" / "notes.md").read_text().splitlines()
    assert sorted(lines) == sorted(f"- Fact {n}-{turn}." for n in range(8) for turn in range(6))


@contextmanager
def http_server(root: Path, *options: str, **environment: str) -> Iterator[str]:
    pytest.importorskip("mcp", reason="comes with the extra `mcp`")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [*COMMAND, "--root", str(root), "mcp", "--http", "--port", str(port), *options],
        env={**os.environ, **environment},
    )
    try:
        for _ in range(300):
            with socket.socket() as ready:
                if ready.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.terminate()
        server.wait()


async def talk(server: Any, mode: str) -> str:
    """Do with the official client what a host does; return the version they agreed on."""
    from mcp.client.client import Client  # noqa: PLC0415

    client: Any
    async with Client(server, mode=mode) as client:
        assert len((await client.list_tools()).tools) == 6
        kept = await client.call_tool("remember", {"text": f"Tea by {mode}."})
        assert kept.structured_content
        found = await client.call_tool("search", {"q": f"tea by {mode}"})
        assert found.structured_content
        assert found.structured_content["hits"]
        wrong = await client.call_tool("search", {"query": "tea", "bogus": 1})
        assert wrong.is_error
        assert "has no `bogus`" in wrong.content[0].text
        (resource,) = (await client.list_resources()).resources
        (content,) = (await client.read_resource(resource.uri)).contents
        assert f"Tea by {mode}." in content.text
        assert len((await client.list_resource_templates()).resource_templates) == 2
        (prompt,) = (await client.list_prompts()).prompts
        (message,) = (await client.get_prompt(prompt.name, {"topic": "tea"})).messages
        assert "Tea by" in message.content.text
        return str(client.protocol_version)


VERSIONS = {"legacy": "2025-11-25", "auto": "2026-07-28"}


@pytest.mark.parametrize("mode", VERSIONS)
def test_the_official_client_over_stdio(root: Path, mode: str) -> None:
    mcp = pytest.importorskip("mcp", reason="comes with the extra `mcp`")
    from mcp.client.stdio import stdio_client  # noqa: PLC0415

    arguments = [*COMMAND[1:], "--root", str(root), "mcp"]
    started = stdio_client(mcp.StdioServerParameters(command=COMMAND[0], args=arguments))
    assert asyncio.run(talk(started, mode)) == VERSIONS[mode]


def test_eight_official_clients_each_with_a_server_write_at_once(root: Path) -> None:
    mcp = pytest.importorskip("mcp", reason="comes with the extra `mcp`")
    from mcp.client.stdio import stdio_client  # noqa: PLC0415

    arguments = [*COMMAND[1:], "--root", str(root), "mcp"]
    parameters = mcp.StdioServerParameters(command=COMMAND[0], args=arguments)
    names = [f"{number}" for number in range(8)]

    async def together() -> None:
        await asyncio.gather(*(_remember(stdio_client(parameters), name) for name in names))

    asyncio.run(together())
    lines = (root / "facts" / "notes.md").read_text().splitlines()
    assert sorted(lines) == [f"- Name {name}." for name in names]


def test_the_official_client_over_http(root: Path) -> None:
    with http_server(root) as address:
        for mode, version in VERSIONS.items():
            assert asyncio.run(talk(address, mode)) == version
        # eight at once
        names = [f"{number}" for number in range(8)]

        async def together() -> None:
            await asyncio.gather(*(_remember(address, name) for name in names))

        asyncio.run(together())
        assert {*_answers(address, {})} == {200}
        assert {*_answers(address, {"Host": "evil.example"})} == {421}
        assert {*_answers(address, {"Origin": "http://evil.example"})} == {403}
        assert "'evil.example'; --name HOST:PORT adds" in _refusal(address, Host="evil.example")
        assert "from 'null' may not call" in _refusal(address, Origin="null")
    text = (root / "facts" / "notes.md").read_text()
    assert all(f"- Name {name}.\n" in text for name in names)


async def _remember(server: Any, name: str) -> None:
    from mcp.client.client import Client  # noqa: PLC0415

    async with Client(server, mode="legacy") as client:
        answer = await client.call_tool("remember", {"content": f"Name {name}."})
        assert not answer.is_error


def _answers(address: str, headers: dict[str, str]) -> Iterator[int]:
    """Yield the status of a request of each era with these headers."""
    old = request(1, "ping")
    new = request(1, "tools/list", _meta=STATELESS)
    version = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
    for body, more in ((old, {}), (new, version)):
        sent = urllib.request.Request(  # noqa: S310 - http of this machine
            address,
            json.dumps(body).encode(),
            {
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
                **more,
                **headers,
            },
        )
        try:
            with urllib.request.urlopen(sent) as answer:  # noqa: S310
                yield answer.status
        except urllib.error.HTTPError as error:
            yield error.code


def test_a_token_is_asked_for_when_there_is_one(root: Path) -> None:
    with http_server(root, COMMONPLACE_MCP_TOKEN=" a secret ") as address:  # noqa: S106
        assert {*_answers(address, {})} == {401}
        assert {*_answers(address, {"Authorization": "Bearer a secre"})} == {401}
        assert {*_answers(address, {"Authorization": "Bearer a secret"})} == {200}
        assert {*_answers(address, {"Authorization": "bearer a secret"})} == {200}
        assert "send `Authorization: Bearer TOKEN`" in _refusal(address)
        assert "send `Authorization: Bearer TOKEN`" in _refusal(address, Authorization="a secret")
        assert "is not that of" in _refusal(address, Authorization="Bearer other")


def _refusal(address: str, **headers: str) -> str:
    """Return what a request with these headers is told that is refused."""
    headers = {"Content-Type": "application/json", **headers}
    sent = urllib.request.Request(address, b"{}", headers)  # noqa: S310 - http of this machine
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(sent)  # noqa: S310
    with refused.value as answer:
        return answer.read().decode()


def test_other_machines_need_a_token(methods: Methods) -> None:
    pytest.importorskip("mcp", reason="comes with the extra `mcp`")
    from commonplace.doors.mcp.http import app  # noqa: PLC0415

    with pytest.raises(Refused, match="COMMONPLACE_MCP_TOKEN"):
        app(methods, "0.0.0.0")  # noqa: S104 - that it is refused
    assert callable(app(methods, "0.0.0.0", token="secret"))  # noqa: S104, S106
    for host in ("0.0.0.0", "127.0.0.1"):  # noqa: S104 - that it is refused
        with pytest.raises(Refused, match="COMMONPLACE_MCP_TOKEN is blank"):
            app(methods, host, token=" \t")  # noqa: S106


@pytest.mark.parametrize("name", ["memory.example", "memory.example:443"])
def test_a_name_behind_tls_is_known_without_its_port(root: Path, name: str) -> None:
    with http_server(root, "--name", name, COMMONPLACE_MCP_TOKEN="a secret") as address:  # noqa: S106
        token = {"Authorization": "Bearer a secret"}
        for host, status in (("memory.example", 200), (name, 200), ("other.example", 421)):
            assert {*_answers(address, token | {"Host": host})} == {status}


@pytest.mark.parametrize(
    ("system", "told"),
    [
        ("world_and_agents", "give its agent_id, as world_and_agents:ID"),
        ("world-and-agents", "give its agent_id, as world-and-agents:ID"),
        ("profile:x", "it takes no ID"),
        ("nothing", "no memory system 'nothing'; there are facts-and-episodes, four-layers,"),
        ("profil", "no memory system 'profil'; did you mean 'profile'?"),
    ],
)
def test_a_system_that_cannot_be_served_is_told(root: Path, system: str, told: str) -> None:
    command = [*COMMAND, "--root", str(root), "mcp", "--system", system]
    done = subprocess.run(command, capture_output=True, check=False, text=True, input="")
    assert done.returncode == 2
    assert told in done.stderr


@pytest.mark.parametrize("system", ["world_and_agents:scout", "world-and-agents:scout"])
def test_a_system_is_served_by_either_spelling(root: Path, system: str) -> None:
    command = [*COMMAND, "--root", str(root), "mcp", "--system", system]
    sent = json.dumps(request(1, "tools/list"))
    done = subprocess.run(command, capture_output=True, check=True, text=True, input=f"{sent}\n")
    names = {tool["name"] for tool in json.loads(done.stdout)["result"]["tools"]}
    assert "recall" in names
