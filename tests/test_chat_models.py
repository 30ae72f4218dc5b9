"""Chat model adapters: the official SDKs against a local server that speaks their wire format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

import commonplace
from commonplace.adapters.chat_anthropic import AnthropicChat
from commonplace.adapters.chat_openai import OpenAIChat
from commonplace.errors import ModelError
from commonplace.memories.facts_and_episodes import FactsAndEpisodes
from commonplace.protocols import ChatModel, ToolCall, Turn
from commonplace.reflection import post_task_reflector
from tests.loopback import Answer, JsonServer, running


class Server(JsonServer):
    """Gives the answers of a script, one a request."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        super().__init__(lambda _: self.answers.pop(0))


@pytest.fixture
def server() -> Iterator[Server]:
    with running(Server()) as started:
        yield started


@pytest.fixture
def claude(server: Server) -> Iterator[AnthropicChat]:
    plain = anthropic.DefaultHttpxClient(trust_env=False)
    with anthropic.Anthropic(
        api_key="none", base_url=server.url, max_retries=0, http_client=plain
    ) as client:
        yield AnthropicChat(client, "claude-test")


@pytest.fixture
def gpt(server: Server) -> Iterator[OpenAIChat]:
    plain = openai.DefaultHttpxClient(trust_env=False)
    with openai.OpenAI(
        api_key="none", base_url=f"{server.url}/v1", max_retries=0, http_client=plain
    ) as client:
        yield OpenAIChat(client, "gpt-test", temperature=0)


@pytest.fixture
def memory(tmp_path: Path) -> FactsAndEpisodes:
    memory = FactsAndEpisodes(commonplace.open(tmp_path / "memory", watch=False))
    memory.memory_write("facts/user.md", "# User\n\n- Name: Zhang San\n")
    return memory


def claude_answer(*content: dict[str, Any], stop: str = "end_turn") -> Answer:
    return 200, {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-test",
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 7},
    }


def tool_use(number: int, name: str, given: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given}


def gpt_answer(
    text: str | None, *calls: tuple[str, str], stop: str = "stop", refusal: str | None = None
) -> Answer:
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": refusal}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call_{number}",
                "type": "function",
                "function": {"name": name, "arguments": given},
            }
            for number, (name, given) in enumerate(calls)
        ]
    return 200, {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-test",
        "choices": [{"index": 0, "message": message, "finish_reason": stop, "logprobs": None}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }


WRONG = {"path": "facts/user.md", "patches": [{"oldText": "Li Si", "newText": "x"}]}
RIGHT = {"path": "facts/user.md", "patches": [{"oldText": "Zhang", "newText": "Wang"}]}


def test_a_reflection_through_the_anthropic_sdk(
    server: Server, claude: AnthropicChat, memory: FactsAndEpisodes
) -> None:
    server.answers = [
        claude_answer(
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "A name."},
            tool_use(1, "memory_patch", WRONG),
            tool_use(2, "memory_list", {}),
            stop="tool_use",
        ),
        claude_answer(tool_use(3, "memory_patch", RIGHT), stop="tool_use"),
        claude_answer({"type": "text", "text": "Renamed."}),
    ]
    done = post_task_reflector(memory, claude)("user: call me Wang San")
    assert (done.stopped, done.text, done.tokens) == ("done", "Renamed.", 3 * 127)
    assert "Wang San" in memory.memory_read("facts/user.md")
    assert [one.call.id for one in done.writes] == ["toolu_3"]

    path, first = server.asked[0]
    assert path == "/v1/messages"
    assert (first["model"], first["max_tokens"]) == ("claude-test", 4096)
    assert "Zhang San" in first["system"]
    assert [message["role"] for message in first["messages"]] == ["user"]
    assert first["tools"][0]["name"] == "memory_read"
    assert first["tools"][0]["input_schema"]["required"] == ["path"]
    asked, answered = server.asked[1][1]["messages"][1:]
    assert [block["type"] for block in asked["content"]] == ["text", "tool_use", "tool_use"]
    assert asked["content"][1]["input"] == WRONG
    results = answered["content"]
    assert [block["tool_use_id"] for block in results] == ["toolu_1", "toolu_2"]
    assert [block["is_error"] for block in results] == [True, False]
    assert "facts/user.md" in results[0]["content"]


def test_a_reflection_through_the_openai_sdk(
    server: Server, gpt: OpenAIChat, memory: FactsAndEpisodes
) -> None:
    server.answers = [
        gpt_answer(
            "A name.",
            ("memory_patch", json.dumps(WRONG)),
            ("memory_write", '{"path": "facts/us'),
            ("memory_list", ""),
            stop="tool_calls",
        ),
        gpt_answer(None, ("memory_patch", json.dumps(RIGHT)), stop="tool_calls"),
        gpt_answer("Renamed."),
    ]
    done = post_task_reflector(memory, gpt)("user: call me Wang San")
    assert (done.stopped, done.text, done.tokens) == ("done", "Renamed.", 3 * 120)
    assert "Wang San" in memory.memory_read("facts/user.md")
    assert len(done.writes) == 1

    path, first = server.asked[0]
    assert path == "/v1/chat/completions"
    assert (first["model"], first["max_completion_tokens"]) == ("gpt-test", 4096)
    assert first["temperature"] == 0
    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    assert first["tools"][0]["function"]["name"] == "memory_read"
    asked, *answered = server.asked[1][1]["messages"][2:]
    assert json.loads(asked["tool_calls"][0]["function"]["arguments"]) == WRONG
    assert [message["tool_call_id"] for message in answered] == ["call_0", "call_1", "call_2"]
    assert [message["content"].startswith("Error: ") for message in answered] == [
        True, True, False
    ]  # fmt: skip
    assert "not JSON" in answered[1]["content"]


@pytest.fixture(params=["claude", "gpt"])
def model(request: pytest.FixtureRequest) -> ChatModel:
    found: ChatModel = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize("status", [400, 429, 500])
def test_an_error_of_the_server_is_a_model_error(
    server: Server, model: ChatModel, memory: FactsAndEpisodes, status: int
) -> None:
    server.answers = [(status, {"type": "error", "error": {"type": "x", "message": "too much"}})]
    with pytest.raises(ModelError, match=rf"-test did not answer: .*{status}.*too much") as failed:
        post_task_reflector(memory, model)("user: hi")
    assert failed.value.__cause__ is not None
    assert failed.value.code == "model"
    assert "Zhang San" in memory.memory_read("facts/user.md")


def test_no_server_is_a_model_error(server: Server, model: ChatModel) -> None:
    server.shutdown()
    server.server_close()
    with pytest.raises(ModelError, match="APIConnectionError"):
        model.complete([Turn("user", "hi")])


def test_a_refusal_is_a_model_error(server: Server, claude: AnthropicChat, gpt: OpenAIChat) -> None:
    server.answers = [
        claude_answer({"type": "text", "text": "I will not."}, stop="refusal"),
        gpt_answer(None, refusal="I will not."),
        gpt_answer("I", stop="content_filter"),
    ]
    turns = [Turn("user", "hi")]
    with pytest.raises(ModelError, match="claude-test refused to answer: I will not"):
        claude.complete(turns)
    with pytest.raises(ModelError, match="gpt-test refused to answer: I will not"):
        gpt.complete(turns)
    with pytest.raises(ModelError, match="refused to answer: content filter"):
        gpt.complete(turns)


def test_what_was_cut_short_is_not_taken_for_whole(
    server: Server, claude: AnthropicChat, gpt: OpenAIChat, memory: FactsAndEpisodes
) -> None:
    half = {"path": "facts/user.md", "content": "# Us"}
    turns = [Turn("user", "hi")]
    server.answers = [
        claude_answer({"type": "text", "text": "One two"}, stop="max_tokens"),
        gpt_answer("One two", stop="length"),
    ]
    assert claude.complete(turns, max_tokens=2).text == "One two […]"
    assert gpt.complete(turns, max_tokens=2).text == "One two […]"
    server.answers = [
        claude_answer(tool_use(1, "memory_write", half), stop="max_tokens"),
        claude_answer({"type": "text", "text": "done"}),
    ]
    done = post_task_reflector(memory, claude)("x")
    assert (done.writes, len(done.calls)) == ((), 1)
    assert "not JSON" in done.calls[0].answer
    assert server.asked[-1][1]["messages"][1]["content"][0]["input"] == {}


def test_an_empty_answer_is_an_answer(
    server: Server, claude: AnthropicChat, gpt: OpenAIChat
) -> None:
    server.answers = [claude_answer(), gpt_answer(None)]
    assert claude.complete([Turn("user", "hi")]).text == ""
    assert gpt.complete([Turn("user", "hi")]).text == ""
    status, nothing = gpt_answer("x")
    server.answers = [(status, nothing | {"choices": []}), (status, nothing | {"usage": None})]
    with pytest.raises(ModelError, match="without a choice"):
        gpt.complete([Turn("user", "hi")])
    assert gpt.complete([Turn("user", "hi")]).tokens == 0


def test_turns_become_messages(server: Server, claude: AnthropicChat, gpt: OpenAIChat) -> None:
    turns = [
        Turn("system", "one"),
        Turn("user", " "),
        Turn("user", "a"),
        Turn("system", "two"),
        Turn("user", "b"),
        Turn("assistant", "", (ToolCall("c1", "look", {"é": 1}),)),
        Turn("tool", "", call_id="c1"),
        Turn("user", "c"),
    ]
    server.answers = [claude_answer({"type": "text", "text": "x"}), gpt_answer("x")]
    claude.complete(turns)
    asked = server.asked[0][1]
    assert asked["system"] == "one\n\ntwo"
    assert "tools" not in asked
    assert [(turn["role"], len(turn["content"])) for turn in asked["messages"]] == [
        ("user", 2), ("assistant", 1), ("user", 2)
    ]  # fmt: skip
    assert asked["messages"][2]["content"][0]["content"] == "(empty)"
    gpt.complete(turns)
    messages = server.asked[1][1]["messages"]
    assert [turn["role"] for turn in messages] == [turn.role for turn in turns]
    assert messages[5]["tool_calls"][0]["function"] == {
        "name": "look",
        "arguments": '{"\\u00e9": 1}',
    }
