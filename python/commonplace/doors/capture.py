"""Transcripts on disk to import for a host: that of a session, and what killed ones have left."""

from __future__ import annotations

import json
from pathlib import Path

from commonplace.import_ledger import imported_sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from commonplace.store import Store

BESIDE, LARGEST = 3, 8 << 20
"""How many transcripts beside its own a session that starts imports, and the most bytes of one."""
HEAD = 1 << 16
"""Bytes at the beginning of a transcript in which the folder of its session stands."""


def begun(transcript: str) -> list[str]:
    """Return the transcript, if there is anything in it: a session without a prompt has none."""
    path = Path(transcript)
    return [transcript] if path.is_file() and path.stat().st_size else []


def left_beside(
    store: Store, transcript: str, cwd: str | None = None
) -> tuple[list[str], list[str]]:
    """Return the transcripts beside one that hold what is not imported: killed sessions left them.

    First the newest of them, as many as a hook has time for; the others are the newest of a later
    call. Then those that have too much for a hook: the command `import` may take its time.

    Args:
        store: Where they are imported.
        transcript: The path of one.
        cwd: The folder of the sessions that are meant, where transcripts of others lie beside them.
    """
    own = Path(transcript)
    imported = imported_sizes(store)
    found = []
    for path in own.parent.iterdir() if own.parent.is_dir() else ():
        if path.suffix == own.suffix and path != own and path.is_file():
            status = path.stat()
            if left := status.st_size - imported.get(str(path), 0):
                found.append((status.st_mtime, left, str(path)))
    newest = [
        (left, path)
        for _, left, path in sorted(found, reverse=True)
        if cwd is None or _is_of(path, cwd)
    ]
    fitting = [path for left, path in newest if left <= LARGEST]
    return fitting[:BESIDE], [path for left, path in newest if left > LARGEST]


def _is_of(transcript: str, cwd: str) -> bool:
    """Say whether a session ran in a folder."""
    with Path(transcript).open("rb") as file:
        return json.dumps(cwd, ensure_ascii=False).encode() in file.read(HEAD)
