"""Archived sessions for tests, what is found of them, and programs that archive or are killed."""

from __future__ import annotations

import json

from commonplace import Store

OLD, NEW = "sessions/p/2025-01-01-old/messages.jsonl", "sessions/p/2026-01-01-new/messages.jsonl"


def line(text: str, session: str, day: str, role: str = "user") -> str:
    """Return a message."""
    fields = {"role": role, "content": text, "session": session, "timestamp": f"{day}T08:00:00Z"}
    return json.dumps(fields) + "\n"


def found(store: Store, query: str, **fields: object) -> list[tuple[str, bool]]:
    """Return citation of each hit, and whether it comes from the archive."""
    return [(hit.citation, hit.archived) for hit in store.search(query, **fields)]  # type: ignore[call-overload]


ARCHIVES = """
import commonplace, sys
with commonplace.open(sys.argv[1]) as store:
    store.archive(sessions=sys.argv[2:])
"""
KILLED = """
import os, sys
import commonplace
from commonplace.engines.archive import ArchiveEngine as Engine
from commonplace.engines.archive_list import ArchiveList

at, steps = int(sys.argv[2]), [0]
def dies(method):
    def wrapped(*given, **named):
        steps[0] += 1
        if steps[0] == at:
            os._exit(9)
        done = method(*given, **named)
        steps[0] += 1
        if steps[0] == at:
            os._exit(9)
        return done
    return wrapped

for owner, name in (
    (Engine, "_take"), (Engine, "commit"), (ArchiveList, "write"), (Engine, "refresh")
):
    setattr(owner, name, dies(getattr(owner, name)))
with commonplace.open(sys.argv[1]) as store:
    if "rebuild" in sys.argv:
        store.search("kettle")
        steps[0] = 0
        store.rebuild_archive()
    else:
        store.archive(older="2027-01-01")
"""
