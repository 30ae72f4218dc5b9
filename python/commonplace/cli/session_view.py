"""Sessions as people read them: one a line, or message by message with tools folded."""

from __future__ import annotations

import contextlib
import time
from bisect import bisect_right
from itertools import islice

from commonplace.byte_sizes import size
from commonplace.cli.printer import clean, counted, speaker_and_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from commonplace._core import Message, Session
    from commonplace.cli.printer import Part

# Columns of a terminal from which on there is room for the time of day
WIDE = 90
# Most columns of a project
PROJECT = 16
# Columns of a preview of tool traffic
PREVIEW = 100
HEADINGS = ("last message", "session", "project", "messages", "size", "title")


def session_rows(sessions: Sequence[Session], width: int | None) -> Iterator[tuple[Part, ...]]:
    """Yield sessions as lines of a table; None for a width without bounds and without headings.

    Below the width of `WIDE` a title has a line of its own.
    """
    wide = width is None or width >= WIDE
    form = "%Y-%m-%d %H:%M" if wide else "%Y-%m-%d"
    gap = "  " if wide else " "
    hosts: dict[str, set[str]] = {}
    for session in sessions:
        hosts.setdefault(session.id, set()).add(session.host)
    rows = [_cells(session, form, hosts) for session in sessions]
    if width is not None:
        heads = HEADINGS if wide else ("last", "session", "project", "msgs", "size", "title")
        rows.insert(0, heads)
    widths = [max(_cell_width(row[at]) for row in rows) for at in range(len(HEADINGS) - 1)]
    if width is not None:
        widths[2] = min(widths[2], PROJECT)
    for number, (when, short_id, project, messages, size_, title) in enumerate(rows):
        fields: tuple[Part, ...] = (
            (_padded(when, widths[0]) + gap, "dim"),
            (_padded(short_id, widths[1]) + gap, "cyan"),
            (_padded(project, widths[2]) + gap, "green"),
            f"{messages:>{widths[3]}}{gap}{size_:>{widths[4]}}{gap if wide else ''}",
            title if wide else "",
        )
        is_heading = width is not None and number == 0
        yield tuple((_text(part), "dim") for part in fields) if is_heading else fields
        if not (wide or is_heading):
            yield ("    ", title)


def _cells(session: Session, form: str, hosts: Mapping[str, set[str]]) -> tuple[str, ...]:
    """Return what stands in each column; `hosts` has those of each id that is shown."""
    last = session.ended or session.started or session.modified
    mark = "└ " if session.parent in hosts else ""
    # no beginning of an id tells apart those to which two hosts gave the same
    if len(hosts[session.id]) > 1:
        mark += f"{session.host or 'unknown host'} · "
    return (
        time.strftime(form, time.localtime(last)),
        clean(session.short_id),
        clean(session.project),
        f"{session.messages:,}",
        size(session.size),
        clean(mark + (session.title or "(no title)")),
    )


def _text(part: Part) -> str:
    return part if isinstance(part, str) else part[0]


def _cell_width(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _padded(text: str, width: int) -> str:
    return _cut(text, width) + " " * max(width - _cell_width(text), 0)


def _cut(text: str, width: int) -> str:
    """Return text of so many columns at most, with a mark where something is left out."""
    if _cell_width(text) <= width:
        return text
    from rich.cells import set_cell_size

    return set_cell_size(text, width - 1).rstrip() + "…"


def heading(session: Session) -> tuple[str, str]:
    """Return the title of a session, and what is known of it in one line."""
    span = [moment(time_) for time_ in (session.started, session.ended) if time_]
    known = [
        session.id,
        session.host,
        session.project,
        session.git_branch,
        session.model,
        " – ".join(dict.fromkeys(span)),
        counted(session.messages, "message"),
        session.path,
    ]
    return session.title or "(no title)", " · ".join(part for part in known if part)


def copied(text: str) -> Iterator[str]:
    """Yield the citations of the messages that a transcript points to, and does not hold itself.

    >>> [*copied('{"type": "copy", "of": "a/messages.jsonl#L2-L3", "count": 2}')]
    ['a/messages.jsonl#L2-L3']
    """
    import orjson

    for line in text.split("\n"):
        # most lines are long, and messages
        if '"copy"' not in line:
            continue
        with contextlib.suppress(orjson.JSONDecodeError):
            record = orjson.loads(line)
            if isinstance(record, dict) and record.get("type") == "copy":
                yield str(record.get("of"))


def numbered(messages: Iterable[Message], starts: Sequence[int]) -> Iterator[tuple[int, Message]]:
    """Yield each message with the number of its turn, from 1.

    Args:
        messages: Those of a transcript, in order.
        starts: The lines at which its turns begin.
    """
    for message in messages:
        yield turn_of(message.line, starts), message


def turn_of(line: int, starts: Sequence[int]) -> int:
    """Return the number of the turn that a line is in, from 1.

    >>> [turn_of(line, [3, 7]) for line in (2, 3, 6, 7)]
    [1, 1, 1, 2]
    """
    # what is of tools only may stand before the first
    return max(bisect_right(starts, line), 1)


def message_heading(turn: int | None, message: Message) -> tuple[Part, ...]:
    """Return the line above a message: the turn that begins with it, who, when, and its line."""
    when = moment(message.timestamp) if message.timestamp is not None else message.time
    who = speaker_and_time(message.role, message.name, when)
    return (
        (f"turn {turn}  " if turn else "", "cyan"),
        (who, "bold" if turn else "green"),
        (f"  L{message.line}", "dim"),
    )


def preview(text: str) -> str:
    r"""Return tool traffic as one short line.

    >>> preview('{"command":\n  "ls -l"}')
    '{"command": "ls -l"}'
    """
    words = " ".join("".join(islice(text, 4 * PREVIEW)).split())
    return words if len(text) <= 4 * PREVIEW and len(words) <= PREVIEW else words[:PREVIEW] + "…"


def moment(seconds: float) -> str:
    """Return a time as people read it, in the time zone of this machine."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
