"""Chat model over a client of the official `anthropic` SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from commonplace.entries.injection import CUT
from commonplace.errors import ModelError
from commonplace.protocols import Reply, ToolCall, Turn


class AnthropicChat:
    """A model behind the Messages API; the SDK is not imported here, the caller hands over its own.

    Retries and timeouts are the client's. Texts leave this machine for where the client sends
    them. Extended thinking is not passed back, so leave it off.

    Args:
        client: `anthropic.Anthropic(…)`, or its client for Bedrock or Vertex.
        model: The name of the model.
        options: Further arguments of `client.messages.create`, such as `temperature`.
    """

    def __init__(self, client: Any, model: str, **options: Any) -> None:
        self._client = client
        self._options = {"model": model, **options}

    def complete(
        self,
        turns: Sequence[Turn],
        tools: Sequence[Mapping[str, Any]] = (),
        *,
        max_tokens: int = 1024,
    ) -> Reply:
        """Return the model's next turn; a text that `max_tokens` cut short ends in `[…]`.

        Args:
            turns: The conversation so far; system turns are gathered.
            tools: What it may call: `name`, `description` and `parameters` of each.
            max_tokens: The most that it may answer.

        Raises:
            ModelError: The SDK reports an error, or the model refused.
        """
        request: dict[str, Any] = {"messages": _messages(turns), "max_tokens": max_tokens}
        if system := "\n\n".join(turn.text for turn in turns if turn.role == "system"):
            request["system"] = system
        if tools:
            request["tools"] = [
                {
                    "name": tool["name"],
                    "description": tool["description"],
                    "input_schema": tool["parameters"],
                }
                for tool in tools
            ]
        try:
            message = self._client.messages.create(**request, **self._options)
        except Exception as error:
            raise ModelError(
                f"{self._options['model']} did not answer: {type(error).__name__}: {error!s:.500}"
            ) from error
        text = "".join(block.text for block in message.content if block.type == "text")
        if message.stop_reason == "refusal":
            raise ModelError(f"{self._options['model']} refused to answer: {text:.200}")
        cut = message.stop_reason in {"max_tokens", "model_context_window_exceeded"}
        calls = []
        for block in message.content:
            if block.type == "tool_use":
                given = block.input
                if cut and block is message.content[-1]:
                    # what is missing of it must not be taken for left out: text that is no JSON
                    given = json.dumps(given)[:-1]
                calls.append(ToolCall(block.id, block.name, given))
        usage = message.usage
        tokens = (
            usage.input_tokens
            + usage.output_tokens
            + (usage.cache_creation_input_tokens or 0)
            + (usage.cache_read_input_tokens or 0)
        )
        return Reply(text + CUT if cut and not calls else text, tuple(calls), tokens)


def _messages(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    """Return the turns as messages: what stands together of one side is one message."""
    parts = [
        ("assistant" if turn.role == "assistant" else "user", block)
        for turn in turns
        if turn.role != "system"
        for block in _blocks(turn)
    ]
    return [
        {"role": role, "content": [block for _, block in group]}
        for role, group in groupby(parts, key=lambda part: part[0])
    ]


def _blocks(turn: Turn) -> Iterator[dict[str, Any]]:
    """Yield the content of a turn; the API takes no empty text."""
    if turn.role == "tool":
        yield {
            "type": "tool_result",
            "tool_use_id": turn.call_id,
            "content": turn.text if turn.text.strip() else "(empty)",
            "is_error": turn.failed,
        }
        return
    if turn.text.strip():
        yield {"type": "text", "text": turn.text}
    for call in turn.calls:
        given = {} if isinstance(call.arguments, str) else call.arguments
        yield {"type": "tool_use", "id": call.id, "name": call.name, "input": given}
