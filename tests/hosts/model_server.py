"""Model server on loopback: records each request, and answers as three public APIs do."""

from __future__ import annotations

import json
import re
import threading
import uuid
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

Event = tuple[str, dict[str, Any]]
# how the answer of a tool is marked in the requests of these APIs
RESULTS = (b'"tool_result"', b'"function_call_output"', b'"functionResponse"')
# Claude Code offers most tools of a server when they were searched for
SEARCH_FOR_TOOLS = "ToolSearch"
FOUND_TOOL = r'"tool_name": "(\w+)"'


class ToolCall(NamedTuple):
    """A call of a tool of an MCP server that the model asks for.

    `name` is what the host calls the tool; Codex has the tools of a server below a name of it.
    """

    server: str
    tool: str
    arguments: dict[str, Any]
    name: str = ""


Answer = str | ToolCall


def messages(said: Answer) -> Iterator[Event]:
    """Yield the events of an answer as Anthropic's API streams it."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": f"msg_{uuid.uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": "small",
    }
    message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    block: dict[str, Any] = {"type": "text", "text": ""}
    piece, reason = {"type": "text_delta", "text": said}, "end_turn"
    if isinstance(said, ToolCall):
        block = {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex}", "input": {}}
        block |= {"name": said.name}
        piece = {"type": "input_json_delta", "partial_json": json.dumps(said.arguments)}
        reason = "tool_use"
    yield "message_start", {"message": message}
    yield "content_block_start", {"index": 0, "content_block": block}
    yield "content_block_delta", {"index": 0, "delta": piece}
    yield "content_block_stop", {"index": 0}
    delta = {"stop_reason": reason, "stop_sequence": None}
    yield "message_delta", {"delta": delta, "usage": {"output_tokens": 1}}
    yield "message_stop", {}


def responses(said: Answer) -> Iterator[Event]:
    """Yield the events of an answer as OpenAI's Responses API streams it."""
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    yield "response.created", {"response": {"id": "resp_1"}}
    if isinstance(said, ToolCall):
        item: dict[str, Any] = {"type": "function_call", "id": f"fc_{uuid.uuid4().hex}"}
        item |= {"call_id": f"call_{uuid.uuid4().hex}", "name": said.tool}
        item |= {"namespace": said.name}
        item |= {"arguments": json.dumps(said.arguments)}
    else:
        part = {"type": "output_text", "text": said, "annotations": []}
        item = {"type": "message", "id": f"msg_{uuid.uuid4().hex}", "role": "assistant"}
        item |= {"content": [part]}
        yield "response.output_item.added", {"output_index": 0, "item": item | {"content": []}}
        yield "response.output_text.delta", {"output_index": 0, "content_index": 0, "delta": said}
    yield "response.output_item.done", {"output_index": 0, "item": item}
    yield "response.completed", {"response": {"id": "resp_1", "usage": usage, "output": [item]}}


def contents(said: Answer) -> Iterator[Event]:
    """Yield the only event of an answer as the Gemini API streams it."""
    part: dict[str, Any] = {"text": said}
    if isinstance(said, ToolCall):
        part = {"functionCall": {"name": said.name, "args": said.arguments}}
    answer = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    yield "", {"candidates": [answer], "usageMetadata": usage}


# by how the path of a request ends
ANSWERS: dict[str, Callable[[Answer], Iterator[Event]]] = {
    "/v1/messages": messages,
    "/v1/responses": responses,
    ":streamGenerateContent": contents,
}


def _line(name: str, data: dict[str, Any]) -> str:
    if not name:
        return f"data: {json.dumps(data)}\n\n"
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n"


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        path = self.path.partition("?")[0]
        answer = next((one for end, one in ANSWERS.items() if path.endswith(end)), None)
        if answer is None:
            self.send_error(404)
            return
        self.server.record(body)
        stream = "".join(_line(*event) for event in answer(self.server.answer_to(body))).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(stream)))
        self.end_headers()
        self.wfile.write(stream)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - its name there
        """Say nothing."""


class ModelServer(ThreadingHTTPServer):
    """A model that gives one answer to everything, on a port of its own.

    Args:
        answer: What it says.
        requests: The file to which each request is added, one JSON object a line.
        call: What it asks for before, where a request offers that tool and has no result yet.
    """

    def __init__(self, answer: str, requests: Path, call: ToolCall | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._answer, self._call = answer, call
        self._requests, self._lock = requests, threading.Lock()

    def record(self, body: bytes) -> None:
        """Keep a request."""
        with self._lock, self._requests.open("ab") as file:
            file.write(json.dumps(json.loads(body)).encode() + b"\n")

    def answer_to(self, body: bytes) -> Answer:
        """Return what the model says to a request."""
        request, call = json.loads(body), self._call
        if call is None:
            return self._answer
        offered = json.dumps(request.get("tools", []))
        name = re.search(rf'"(\w*{call.server}(_+{call.tool})?)"', offered)
        if not any(mark in body for mark in RESULTS):
            if name is None and f'"{SEARCH_FOR_TOOLS}"' in offered:
                wanted = {"query": f"{call.server} {call.tool}"}
                return ToolCall("", SEARCH_FOR_TOOLS, wanted, SEARCH_FOR_TOOLS)
            return call._replace(name=name[1]) if name else self._answer
        found = re.findall(FOUND_TOOL, json.dumps(request.get("messages", [])[-1:]))
        named = [one for one in found if one.endswith(f"__{call.tool}")]
        return call._replace(name=named[0]) if named else self._answer
