"""Transcripts on disk to import for a host: that of a session, and the newest beside it."""

from __future__ import annotations

import json
from pathlib import Path

BESIDE, LARGEST = 3, 8 << 20
"""How many transcripts beside its own a session that starts imports, and the largest of them."""
HEAD = 1 << 16
"""Bytes at the beginning of a transcript in which the folder of its session stands."""


def begun(transcript: str) -> list[str]:
    """Return the transcript, if there is anything in it: a session without a prompt has none."""
    path = Path(transcript)
    return [transcript] if path.is_file() and path.stat().st_size else []


def newest_beside(transcript: str, cwd: str | None = None) -> list[str]:
    """Return the newest transcripts in the folder of one: what killed sessions have left.

    One that has not changed since it was imported costs nothing; one that is large is left to the
    command `import`, which may take its time.

    Args:
        transcript: The path of one.
        cwd: The folder of the sessions that are meant, where transcripts of others lie beside them.
    """
    own = Path(transcript)
    found = []
    for path in own.parent.iterdir() if own.parent.is_dir() else ():
        if path.suffix == own.suffix and path != own and path.is_file():
            status = path.stat()
            found.append((status.st_mtime, status.st_size, str(path)))
    newest = sorted(found, reverse=True)[:BESIDE]
    fitting = [path for _, size, path in newest if 0 < size <= LARGEST]
    return fitting if cwd is None else [path for path in fitting if _is_of(path, cwd)]


def _is_of(transcript: str, cwd: str) -> bool:
    """Say whether a session ran in a folder."""
    with Path(transcript).open("rb") as file:
        return json.dumps(cwd, ensure_ascii=False).encode() in file.read(HEAD)
