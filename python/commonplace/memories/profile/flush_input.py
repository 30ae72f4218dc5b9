"""Roles and texts of a conversation, as callers give it, and its requests to forget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from commonplace.arguments import has_text
from commonplace.errors import InvalidArgument, NotFound
from commonplace.extraction import Classification, role_and_text
from commonplace.extraction.classification import FORGET
from commonplace.memories.profile.log import Message
from commonplace.store import Store


def roles_and_texts(store: Store, messages: object) -> list[Message]:
    """Return role and text of each message, in order.

    Args:
        store: Where the transcripts are.
        messages: Messages as `role_and_text` takes them, JSON text of them (a list, one message a
            line, or an object that holds `messages`), or the path of a transcript.

    Raises:
        NotFound: There is no such transcript.
        InvalidArgument: It is none of these.
    """
    if isinstance(messages, str):
        has_text(messages=messages)
        if _is_path(messages) and "\n" in messages.strip():
            raise InvalidArgument(
                "messages is no JSON and no path of a transcript: give a list of messages such as "
                '[{"role": "user", "content": "…"}]'
            )
        if _is_path(messages):
            return _transcript(store, messages.strip())
        messages = _parsed(messages)
    if isinstance(messages, Mapping):
        messages = messages.get("messages", [messages])
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes):
        raise InvalidArgument(
            f"messages is a list of messages, or the path of a transcript, not {messages!r:.60}"
        )
    return [role_and_text(one) for one in messages]


def last_time(store: Store, messages: object) -> float | None:
    """Return when the last message of a transcript was said, in seconds since 1970.

    None where that is not known, or where the messages were given themselves.
    """
    if not isinstance(messages, str) or not _is_path(messages):
        return None
    times = (one.timestamp for one in store.transcript(messages.strip()))
    return max((one for one in times if one is not None), default=None)


def requests_to_forget(classified: Sequence[Classification]) -> list[Classification]:
    """Return the requests to forget: without what they speak of, and each once.

    Of "I like jazz. Forget that." the second is a request; of "Forget my birthday. Forget that."
    the first.
    """
    asked = [one for one in classified if one.reason == FORGET]
    spoken_of = {one.about for one in asked}
    with_object = {one.text for one in asked if one.about}
    return [
        one
        for one in asked
        if (one.about not in with_object if one.about else one.text not in spoken_of)
    ]


def _is_path(messages: str) -> bool:
    return not messages.lstrip().startswith(("[", "{"))


def _transcript(store: Store, path: str) -> list[Message]:
    try:
        return [(one.role, one.text) for one in store.transcript(path)]
    except NotFound:
        raise NotFound(
            f"there is no transcript {path!r:.80}: give its path, or the messages themselves"
        ) from None


def _parsed(text: str) -> Any:
    """Return what JSON text holds: one value, or one a line."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return [msgspec.json.decode(line) for line in text.splitlines() if line.strip()]
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidArgument(f"messages is no JSON: {error!s:.100}") from None
