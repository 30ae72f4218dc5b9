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
    from typing import Any

    from commonplace import Store, Written
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

        begins = "`commonplace import --all` or `commonplace write` begins one"
        told = f"there is no memory at {find_root()} yet; {begins}, --root FOLDER names another"
        raise NotFound(told) from None


def agreed(*, yes: bool) -> bool:
    """Ask a person whether to erase what was shown.

    Raises:
        UsageError: Nobody can be asked.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError("nothing was erased: add --yes, or --dry-run to only look")
    print("Erase this for good? [y/N] ", end="", file=sys.stderr, flush=True)
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


def done(written: Written, verb: str, as_json: bool) -> int:
    """Report a write."""
    emit(record(written)) if as_json else printer().written(written, verb)
    return FOUND


def nothing(
    store: Store,
    prefixes: Sequence[str],
    notes: Sequence[str] = (),
    *,
    dated: bool = False,
    without_tools: bool = False,
) -> None:
    """Say on stderr that nothing was found, and where there was nothing to look at.

    `dated` says that only what has a date was looked at, `without_tools` that the tool traffic of
    transcripts was not.
    """
    # these say it all
    if any(note.startswith(("no session ", "the query only excludes")) for note in notes):
        return
    missing = [prefix for prefix in prefixes or [""] if not store.holds(prefix)]
    where = " or ".join(f"{store.root}/{prefix}".rstrip("/") for prefix in missing)
    why = f": no file is at or below {where}" if missing else ""
    if dated and not missing:
        why = "; --since and --until leave out what says no date"
    elif without_tools and not missing:
        why = "; --tools looks into what tools took and gave as well"
    print_message(f"nothing found{why}")


def print_error(text: str) -> int:
    """Print an error as one line of stderr."""
    print_message(text)
    return ERROR


def print_message(text: str) -> None:
    """Print one line on stderr."""
    shown = f"commonplace: {clean(' '.join(text.split()))}"
    print(folded(shown, terminal_width(sys.stderr)), file=sys.stderr)
