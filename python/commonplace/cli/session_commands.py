"""Commands about sessions: list them, show one turn by turn."""

from __future__ import annotations

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
from commonplace.cli.parser import JSON, RootOptions, UsageError, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from commonplace._core import Message, Session


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
    beginning of its id will do, or the name of its folder.
    """
    with opened(opening) as store:
        found = store.sessions(project=project, since=since, until=until)[:limit]
        known = () if found or not project else {one.project for one in store.sessions()}
    if as_json:
        emit([record(session) for session in found])
    elif found:
        _list(found)
    if not found:
        hint = f"; projects are {', '.join(sorted(filter(None, known)))}" if known else ""
        print_message(f"no session found{hint}")
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
    """Show a session as a person reads it, turn by turn, in a pager on a terminal."""
    from commonplace.cli.session_view import turns

    with opened(opening) as store:
        found = store.find_session(session)
        if not found:
            raise UsageError(f"there is no session {session!r}; commonplace sessions lists them")
        last = 0

        def wanted() -> Iterable[tuple[int, Message]]:
            nonlocal last
            for number, message in turns(store.transcript(found.path)):
                last = number
                if turn is None or number == turn:
                    yield number, message
                elif number > turn:
                    break

        if as_json:
            messages = [{"turn": number, **record(message)} for number, message in wanted()]
            emit({"session": record(found), "messages": messages})
            shown = len(messages)
        else:
            shown = screen().session(found, wanted(), unfolded=tools)
    if turn is not None and not shown:
        print_message(f"there is no turn {turn}; the last is {last}")
    return FOUND if shown else NOTHING
