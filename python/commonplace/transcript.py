"""Transcript (`messages.jsonl`): append, read by line, import."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from commonplace import _core
from commonplace._core import Imported, Message, Written
from commonplace.citation import cite
from commonplace.errors import Conflict, EncodingError, InvalidArgument

Value = TypeVar("Value")


class Transcript:
    """An append-only log of messages, one JSON object a line; made by `Store.transcript()`."""

    def __init__(self, core: _core.Store, path: str, *, keep_secrets: bool = False) -> None:
        self._core = core
        self._keep_secrets = keep_secrets
        self.path = path if path.endswith(".jsonl") else f"{path.rstrip('/')}/messages.jsonl"

    def __repr__(self) -> str:
        return f"Transcript({self.path!r})"

    def append(self, message: Mapping[str, Any]) -> int | None:
        """Add one message as one durable line and return its line number, from 1.

        None is returned when the lines before it could not be counted: it is written all the same.

        A message has `role` and `content` (text or a list of content blocks); `timestamp` is
        filled in when it is missing; `name`, `session` and anything else is kept as given. Secrets
        are redacted, in calls of tools and their answers as well, unless the store was opened with
        `keep_secrets`.

        Raises:
            InvalidArgument: It is no object, `role` is missing, or something in it cannot be
                written as JSON.
            EncodingError: A text in it is not UTF-8.
            StorageError: Nothing was added.
            InDoubt: It is not known whether the message is there; look before you repeat.

        >>> import commonplace, tempfile
        >>> log = commonplace.open(tempfile.mkdtemp()).transcript("sessions/s1")
        >>> log.append({"role": "user", "content": "Call me Alex."})
        1
        >>> log[1].text
        'Call me Alex.'
        """
        _check_object(message)
        if not isinstance(message.get("role"), str):
            raise InvalidArgument('a message needs a "role" such as "user" or "assistant"')
        record, counts = self._redacted(dict(message))
        record.setdefault("timestamp", datetime.now(UTC).isoformat(timespec="milliseconds"))
        # a hook that only reads messages starts without it
        import orjson

        try:
            dumped = orjson.dumps(record)
        except orjson.JSONEncodeError as error:
            kind = EncodingError if "surrogates" in str(error) else InvalidArgument
            raise kind(f"this message cannot be written as JSON: {error}") from None
        line = self._core.append_message(self.path, dumped)
        self._log(counts)
        return line

    def extend(
        self, records: Iterable[Mapping[str, Any]], *, expected_version: str | None = None
    ) -> Written:
        """Add JSON objects of any form, each a line, in one durable write.

        Args:
            records: Messages as a framework has them; secrets are redacted as by `append`.
            expected_version: The version you read (`"absent"`: not there yet).

        Raises:
            InvalidArgument: One is no object, or something cannot be written as JSON.
            EncodingError: A text in it is not UTF-8.
            Conflict: The transcript is no longer the expected version; nothing was added.

        >>> import commonplace, tempfile
        >>> log = commonplace.open(tempfile.mkdtemp()).transcript("sessions/s1")
        >>> _ = log.extend([{"role": "user", "content": "Hi."}, {"role": "tool", "content": "."}])
        >>> [message.role for message in log]
        ['user', 'tool']
        """
        import json  # here, for a command that reads has no use for it

        given = list(records)
        for record in given:
            _check_object(record)
        redacted, counts = self._redacted([dict(record) for record in given])
        try:
            # numbers of any size, which orjson does not take
            lines = [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in redacted]
        except (TypeError, ValueError) as error:
            raise InvalidArgument(f"a record cannot be written as JSON: {error}") from None
        written = self._core.append(self.path, "\n".join(lines), expected_version)
        self._log(counts)
        return written

    def load(
        self,
        source: str | os.PathLike[str],
        progress: Callable[[int], None] | None = None,
        *,
        keep_secrets: bool | None = None,
    ) -> Imported:
        """Import a transcript of another tool from anywhere on this machine.

        Known: Claude Code, Codex, pi, Gemini CLI, opencode, OpenAI chat, plain `{role, content}`
        lines, exports of ChatGPT and Claude.ai, and Markdown of SpecStory.

        Nothing comes in twice: what an earlier import of this source brought is passed over, so
        an import that was interrupted goes on, and a source that has grown is caught up with.

        A secret (a key, a token, a password) is stored as `[redacted: github token]` or the like.

        Args:
            source: The file to read; it is not changed.
            progress: Called now and then with the bytes read so far; what it raises ends the
                import.
            keep_secrets: Whether secrets are stored as they are; default: as the store was opened.

        Returns:
            What was taken, what was left out and why, and how many secrets of which kind were
            replaced. A line of more than 64 MB, or of a
            thirty-second of the memory limit, counts as a bad line.

        Raises:
            NotFound: There is no such file.
            Refused: It is a folder, a FIFO or a device.
            FormatError: No known kind of message is in it.
            Conflict: This transcript holds other messages already; nothing was added.
            MemoryLimit: It is one JSON array or document, larger than the memory limit allows.

        >>> import commonplace, pathlib, tempfile
        >>> source = pathlib.Path(tempfile.mkdtemp()) / "chat.jsonl"
        >>> _ = source.write_text('{"role": "user", "content": "Green tea?"}')
        >>> log = commonplace.open(tempfile.mkdtemp()).transcript("sessions/s1")
        >>> log.load(source).messages, log.load(source).messages
        (1, 0)
        """
        keeps = self._keep_secrets if keep_secrets is None else keep_secrets
        return self._core.import_transcript(
            os.fspath(source), self.path, progress, keep_secrets=keeps
        )

    def messages(self, start: int = 1, limit: int | None = None) -> list[Message]:
        """Return up to `limit` messages from line `start` on, in order; other lines are left out.

        Args:
            start: The first line, from 1.
            limit: Most messages to return; default: all.

        Raises:
            NotFound: There is no such transcript.

        >>> import commonplace, tempfile
        >>> log = commonplace.open(tempfile.mkdtemp()).transcript("sessions/s1")
        >>> for text in ("one", "two", "three"):
        ...     _ = log.append({"role": "user", "content": text})
        >>> [(message.line, message.text) for message in log.messages(2)]
        [(2, 'two'), (3, 'three')]
        """
        return self._core.messages(self.path, start, limit)

    def turns(self) -> list[int]:
        """Return the lines at which the turns begin, as `search` by turn has them.

        A turn begins with a prompt, with the first message, and where the session changes. What is
        of tools only begins none.

        >>> import commonplace, tempfile
        >>> log = commonplace.open(tempfile.mkdtemp()).transcript("sessions/s1")
        >>> for role in ("user", "assistant", "user"):
        ...     _ = log.append({"role": role, "content": "Tea."})
        >>> log.turns()
        [1, 3]
        """
        return self._core.turns(self.path)

    def records(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """Return the JSON objects of messages of this transcript, as they were written.

        Raises:
            Conflict: A line is no longer where its message was read: the file was rewritten.
            NotFound: The file is gone.
            Refused: The path leaves the root, or is a link or a special file.

        >>> import commonplace, tempfile
        >>> log = commonplace.open(tempfile.mkdtemp()).transcript("sessions/s1")
        >>> _ = log.append({"role": "user", "content": "Hi", "timestamp": 0, "mood": "good"})
        >>> log.records(log.messages())
        [{'role': 'user', 'content': 'Hi', 'timestamp': 0, 'mood': 'good'}]
        """
        import orjson

        if not messages:
            return []
        found = []
        lines = self._core.lines_at(self.path, [message.offset for message in messages])
        for message, line in zip(messages, lines, strict=True):
            try:
                # what editors and crashes leave around a record
                record = orjson.loads(line.strip(b"\xef\xbb\xbf\0 \t\r\n"))
            except orjson.JSONDecodeError:
                record = None
            if not isinstance(record, dict):
                raise Conflict(f"{cite(self.path, message.line)} was rewritten meanwhile")
            found.append(record)
        return found

    def _redacted(self, value: Value) -> tuple[Value, dict[str, int]]:
        if self._keep_secrets:
            return value, {}
        from commonplace.redaction import redact

        return redact(value)

    def _log(self, counts: dict[str, int]) -> None:
        if counts:
            self._core.log_redacted_text(self.path, counts)

    def __getitem__(self, line: int) -> Message:
        """Return the message at a line, counted from 1 as in its citation."""
        return self._core.message(self.path, line)

    def __iter__(self) -> Iterator[Message]:
        start = 1
        while batch := self.messages(start, 1000):
            yield from batch
            start = batch[-1].line + 1


def _check_object(record: Any) -> None:
    """Refuse what is no object; what came as JSON may be anything."""
    if not isinstance(record, Mapping):
        raise InvalidArgument(f"a message is an object (a dict), not {type(record).__name__}")
