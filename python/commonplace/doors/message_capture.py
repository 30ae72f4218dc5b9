"""Messages captured from hook payloads, for hosts without readable transcripts."""

from __future__ import annotations

import time
from pathlib import Path

from commonplace.doors.encoded_names import encode
from commonplace.errors import Conflict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from commonplace.doors.hosts.host import HookEvent
    from commonplace.store import Store


def add_message(store: Store, host: str, event: HookEvent) -> None:
    """Add the message of an event to the transcript of its session, which is made with the first.

    Raises:
        CommonplaceError: It cannot be written.
    """
    role, text = event.said or ("", "")
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    message = {"role": role, "content": text, "timestamp": now, "session": event.session}
    folder = encode(Path(event.cwd).name or host)
    # a transcript redacts what is added to it
    transcript = store.transcript(f"sessions/{folder}/{encode(event.session)}")
    if store.version(transcript.path) is None:
        header = {"type": "session", "host": host, "id": event.session, "cwd": event.cwd}
        try:
            transcript.extend([header | {"started": now}, message], expected_version="absent")
        except Conflict:
            # by the hook of the message before, which runs still
            pass
        else:
            return
    transcript.extend([message])
