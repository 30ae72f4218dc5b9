"""Chat model over a client of the official `openai` SDK."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from commonplace.entries.injection import CUT
from commonplace.errors import ModelError
from commonplace.protocols import Reply, ToolCall, Turn


class OpenAIChat:
    """A model behind Chat Completions; the SDK is not imported here, the caller hands over its own.

    Every server that speaks this protocol will do: give the client its `base_url`. Retries and
    timeouts are the client's. Texts leave this machine for where the client sends them.

    Args:
        client: `openai.OpenAI(…)`.
        model: The name of the model.
        limit: What the server calls the most tokens of an answer; older ones say `max_tokens`.
        options: Further arguments of `client.chat.completions.create`, such as `temperature`.
    """

    def __init__(
        self, client: Any, model: str, *, limit: str = "max_completion_tokens", **options: Any
    ) -> None:
        self._client = client
        self._limit = limit
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
            turns: The conversation so far.
            tools: What it may call: `name`, `description` and `parameters` of each.
            max_tokens: The most that it may answer.

        Raises:
            ModelError: The SDK reports an error, or the model refused.
        """
        request: dict[str, Any] = {
            "messages": [_message(turn) for turn in turns],
            self._limit: max_tokens,
        }
        if tools:
            request["tools"] = [{"type": "function", "function": dict(tool)} for tool in tools]
        model = self._options["model"]
        try:
            answer = self._client.chat.completions.create(**request, **self._options)
        except Exception as error:
            raise ModelError(
                f"{model} did not answer: {type(error).__name__}: {error!s:.500}"
            ) from error
        if not answer.choices:
            raise ModelError(f"{model} answered without a choice")
        choice = answer.choices[0]
        refusal = choice.message.refusal or ""
        if refusal or choice.finish_reason == "content_filter":
            raise ModelError(f"{model} refused to answer: {refusal or 'content filter'!s:.200}")
        calls = tuple(
            ToolCall(call.id, call.function.name, _arguments(call.function.arguments))
            for call in choice.message.tool_calls or ()
            if call.type == "function"
        )
        text = choice.message.content or ""
        if choice.finish_reason == "length" and not calls:
            text += CUT
        return Reply(text, calls, answer.usage.total_tokens if answer.usage else 0)


def _message(turn: Turn) -> dict[str, Any]:
    """Return a turn as a message; a failed tool has no mark of its own here but its words."""
    if turn.role == "tool":
        text = f"Error: {turn.text}" if turn.failed else turn.text
        return {"role": "tool", "tool_call_id": turn.call_id, "content": text}
    message: dict[str, Any] = {"role": turn.role, "content": turn.text}
    if turn.calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": call.arguments
                    if isinstance(call.arguments, str)
                    else json.dumps(call.arguments),
                },
            }
            for call in turn.calls
        ]
    return message


def _arguments(text: str) -> dict[str, Any] | str:
    """Return the arguments of a call; text that is no JSON object, and so no call, as it is."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, dict) else text
