"""List of the files that an import of sessions has read, as the core keeps it below the root."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from commonplace.errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.store import Store


def imported_sizes(store: Store) -> dict[str, int]:
    """Return the bytes that each file had when it was imported.

    Args:
        store: Where the files were imported.
    """
    return {source: size for source, size, _ in _entries(store)}


def imported_to(store: Store, source: str) -> list[str]:
    """Return the transcripts that hold what an import of sessions took from a file, if they exist.

    Args:
        store: Where it was imported.
        source: The path of the file.
    """
    # the last entry of a file counts
    targets = {file: paths for file, _, paths in _entries(store)}
    return [path for path in targets.get(str(Path(source).absolute()), ()) if store.holds(path)]


def _entries(store: Store) -> Iterator[tuple[str, int, list[str]]]:
    """Yield each file, its size when it was imported, and its transcripts."""
    try:
        with store.side_files("imports").handle("sources", "r") as file:
            lines = file.read().splitlines()
    except NotFound:
        return
    for line in lines:
        # one may be torn; behind a checksum each is an object
        with suppress(ValueError, TypeError, LookupError):
            entry = json.loads(line.partition(b" ")[2])
            paths = [str(path) for path, _ in entry["targets"]]
            yield entry["source"], int(entry["stamp"][1]), paths
