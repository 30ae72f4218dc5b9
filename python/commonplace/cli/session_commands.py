"""Commands about sessions: list them, show one turn by turn."""

from __future__ import annotations

from commonplace.citation import located
from commonplace.cli import options
from commonplace.cli.output import (
    FOUND,
    NOTHING,
    emit,
    opened,
    print_message,
    printer,
    record,
    screen,
)
from commonplace.cli.parser import JSON, RootOptions, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from commonplace._core import Session
    from commonplace.transcript import Transcript


@command(options.PROJECT, options.FILTER["since"], options.FILTER["until"], options.MOST, JSON)
def sessions(
    opening: RootOptions,
    *,
    project: str | None,
    since: float | None,
    until: float | None,
    limit: int | None,
    as_json: bool,
) -> int:
    """List the sessions, newest first: date, id, project, messages, size, title.

    Subagents stand below the session that started them. Wherever a session is asked for, the
    beginning of its id is enough, or the name of its folder.
    """
    with opened(opening) as store:
        found = store.sessions(project=project, since=since, until=until)[:limit]
        known = () if found or not project else {one.project for one in store.sessions()}
    if as_json:
        emit([record(session) for session in found])
    elif found:
        _list(found)
    if not found:
        if project or since or until:
            hint = f"projects are {', '.join(sorted(filter(None, known)))}" if known else ""
        else:
            hint = "commonplace import --all takes in those of your agents"
        print_message("; ".join(filter(None, ["no session found", hint])))
    return FOUND if found else NOTHING


def _list(found: list[Session]) -> None:
    import sys

    from commonplace.cli.session_view import session_rows

    if not sys.stdout.isatty():
        printer().lines(session_rows(found, None))
        return
    terminal = screen()
    with terminal.paged():
        for row in session_rows(found, terminal.out.width):
            terminal.line(*row)


@command(options.SESSION, options.TURN, options.UNFOLDED, JSON)
def show(
    opening: RootOptions, session: str, *, turn: int | None, tools: bool, as_json: bool
) -> int:
    """Show a session turn by turn, in a pager on a terminal.

    Of a citation, as a search gives it, the turns are shown that its lines are in.
    """
    from itertools import chain

    from commonplace.cli.printer import counted
    from commonplace.cli.session_view import copied, numbered, turn_of

    name, first_line, last_line = located(session)
    with opened(opening) as store:
        found = store.session(name)
        transcript = store.transcript(found.path)
        starts = transcript.turns()
        if turn is not None and not 1 <= turn <= len(starts):
            many = counted(len(starts), "turn")
            print_message(f"there is no turn {turn}: the session has {many}, counted from 1")
            return NOTHING
        wanted = range(1, len(starts) + 2) if turn is None else range(turn, turn + 1)
        if turn is None and first_line and last_line:
            if not _reaches(transcript, first_line):
                print_message(f"there is no line {first_line} in {found.path}")
                return NOTHING
            wanted = range(turn_of(first_line, starts), turn_of(last_line, starts) + 1)
        copies = [*copied(store.read(found.path))] if found.copies else []
        messages = (one for one in numbered(transcript, starts) if one[0] in wanted)
        if as_json:
            rows = [{"turn": number, **record(message)} for number, message in messages]
            emit({"session": record(found), "copies": copies, "messages": rows})
            return FOUND if rows else NOTHING
        # read before the pager opens: it may end before anything of it is shown
        first = next(messages, None)
        shown = messages if first is None else chain((first,), messages)
        screen().session(found, transcript, copies, shown, unfolded=tools)
        return NOTHING if first is None else FOUND


def _reaches(transcript: Transcript, line: int) -> bool:
    """Return whether a transcript has a message at or behind a line."""
    return any(message.line >= line for message in transcript)
