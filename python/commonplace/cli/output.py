"""Output of commands: opening the store, choice of printer, JSON lines, errors, exit codes."""

from __future__ import annotations

import sys

from commonplace.cli.folding import folded, terminal_width
from commonplace.cli.parser import UsageError
from commonplace.cli.printer import Printer, clean
from commonplace.errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import Any

    from commonplace import SearchFilter, Store, Written
    from commonplace.cli.parser import RootOptions
    from commonplace.cli.render import Screen
    from commonplace.records import Result

FOUND, NOTHING, ERROR, INTERRUPTED = 0, 1, 2, 130


def opened(
    opening: RootOptions, *, create: bool = False, watch: bool = True, keep_secrets: bool = False
) -> Store:
    """Open the root that the command line means.

    A command that looks at the files once needs no watch on each folder.
    """
    from commonplace.store import open as open_store

    try:
        return open_store(
            opening.root,
            create=create,
            watch=watch,
            memory_limit=opening.memory_limit,
            keep_secrets=keep_secrets,
        )
    except NotFound:
        if opening.root is not None:
            raise
        from commonplace.store import find_root

        begins = "`commonplace import --all`, `import FOLDER` or `write` begins one"
        told = f"there is no memory at {find_root()} yet; {begins}, --root FOLDER names another"
        raise NotFound(told) from None


def agreed(*, yes: bool, question: str = "Erase this for good?") -> bool:
    """Ask a person whether to erase what was shown.

    Args:
        yes: It was agreed to already.
        question: What to ask.

    Raises:
        UsageError: Nobody can be asked.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError("nothing was erased: add --yes, or --dry-run to only look")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def record(result: Result) -> dict[str, Any]:
    """Return a result as `commonplace.records` shows it."""
    from commonplace import records

    return records.record(result)


def printer() -> Printer:
    """Return the printer of results for people."""
    return Printer()


def screen() -> Screen:
    """Return the printer with tables and bars; loaded late, since few commands need them."""
    from commonplace.cli.render import Screen

    return Screen()


def import_progress() -> AbstractContextManager[Callable[[int, int], None] | None]:
    """Return the progress bar of an import, on a terminal only."""
    from contextlib import nullcontext

    return screen().overall_progress() if sys.stderr.isatty() else nullcontext()


def emit(document: Any) -> None:
    """Print one line of JSON, at once."""
    import orjson

    sys.stdout.buffer.write(orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE))
    sys.stdout.buffer.flush()


def done(written: Written, verb: str, root: Path, *, as_json: bool) -> int:
    """Report a write."""
    emit(record(written)) if as_json else printer().written(written, verb, root)
    return FOUND


# The roles that messages of most hosts have
ROLES = ("user", "assistant", "tool", "system", "developer")
# How notes begin that say why nothing was found
REASONS = ("no session ", "no message has the role ", "the query only excludes")


def nothing(store: Store, wanted: SearchFilter, notes: Sequence[str]) -> None:
    """Say on stderr that nothing was found, and what was not looked at."""
    if any(note.startswith(REASONS) for note in notes) or nothing_below(store, wanted.prefix):
        return
    from commonplace.cli.session_view import moment

    span = [
        f" {word} {moment(time)}"
        for word, time in (("since", wanted.since), ("until", wanted.until))
        if time is not None
    ]
    why = "; what says no date is left out" if span else ""
    if wanted.role and wanted.role not in ROLES:
        # which there are only an index knows, and a grep makes none
        why = f"; {wanted.role!r} is none of the usual roles: {', '.join(ROLES)}"
    # without an index any transcript may have some
    elif not span and not wanted.tools and store.has_tool_messages():
        why = "; --tools looks into what tools took and gave as well"
    print_message(f"nothing found{''.join(span)}{why}")


def nothing_below(store: Store, prefixes: Sequence[str] | None) -> bool:
    """Say so if there is no file at or below one of the prefixes, and return whether it is so."""
    missing = [prefix for prefix in prefixes or [""] if not store.holds(prefix)]
    where = " or ".join(f"{store.root}/{prefix}".rstrip("/") for prefix in missing)
    if missing:
        print_message(f"nothing found: no file is at or below {where}")
    return bool(missing)


def print_error(text: str) -> int:
    """Print an error as one line of stderr."""
    print_message(text)
    return ERROR


def print_message(text: str) -> None:
    """Print one line on stderr."""
    shown = f"commonplace: {clean(' '.join(text.split()))}"
    print(folded(shown, terminal_width(sys.stderr)), file=sys.stderr)
