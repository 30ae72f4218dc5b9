"""Output of commands: the opened root, JSON lines, errors, exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
import typer

import commonplace
from commonplace.records import record

if TYPE_CHECKING:
    from commonplace.cli.render import Screen

FOUND, NOTHING, ERROR, INTERRUPTED = 0, 1, 2, 130


class RootOptions(NamedTuple):
    """How the command line has the root opened."""

    root: Path | None
    memory_limit: int | None


def opened(context: typer.Context, *, create: bool = False) -> commonplace.Store:
    """Open the root that the command line means."""
    opening: RootOptions = context.obj
    return commonplace.open(opening.root, create=create, memory_limit=opening.memory_limit)


def screen() -> Screen:
    """Return the printer for people; loaded late, since a program's `--json` needs none."""
    from commonplace.cli.render import Screen

    return Screen()


def emit(document: Any) -> None:
    """Print one line of JSON, at once."""
    sys.stdout.buffer.write(orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE))
    sys.stdout.buffer.flush()


def done(written: commonplace.Written, verb: str, as_json: bool) -> int:
    """Report a write."""
    emit(record(written)) if as_json else screen().written(written, verb)
    return FOUND


def nothing(store: commonplace.Store, prefixes: Sequence[str]) -> None:
    """Say on stderr that nothing was found, and where there was nothing to look at."""
    missing = [prefix for prefix in prefixes or [""] if not store.list(prefix)]
    where = " or ".join(f"{store.root}/{prefix}".rstrip("/") for prefix in missing)
    print_message(f"nothing found{f': no file is at or below {where}' if missing else ''}")


def print_error(text: str) -> int:
    """Print an error as one line of stderr."""
    print_message(text)
    return ERROR


def print_message(text: str) -> None:
    """Print one line on stderr."""
    from commonplace.cli.render import clean

    print(f"commonplace: {clean(' '.join(text.split()))}", file=sys.stderr)
