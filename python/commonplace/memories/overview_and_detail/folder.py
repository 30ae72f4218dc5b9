"""Session folder, named after the working directory without collisions."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from typing import TYPE_CHECKING

from commonplace.errors import InvalidArgument
from commonplace.paths import path_text

if TYPE_CHECKING:
    from commonplace.store import Store

WORKING_MEMORY = "working-memory"
_ID = re.compile(r"\w[\w.-]*")


def session_folder(cwd: str | os.PathLike[str], session_id: str) -> str:
    """Return the folder of a session: `sessions/--<cwd>--/<session-id>`.

    `<cwd>` is the absolute path with `-` in place of each `/`. Where that does not tell the path
    (`/my/app` and `/my-app` would be one) a hash of the path follows, so no two share a folder.

    Raises:
        InvalidArgument: The id of the session is no plain name.

    >>> session_folder("/home/alex/app", "s1")
    'sessions/--home-alex-app--/s1'
    >>> session_folder("/home/alex/my-app", "s1")
    'sessions/--home-alex-my-app--9cbee908--/s1'
    """
    if not _ID.fullmatch(session_id) or session_id.endswith("."):
        raise InvalidArgument(
            f"a session id is letters, digits, '.', '_' and '-', not {session_id!r:.80}"
        )
    path = "/" + os.path.abspath(path_text(cwd)).strip("/")  # noqa: PTH100 - links stay as they are named
    plain = unicodedata.normalize("NFC", path)
    name = re.sub(r"[^\w.@+-]", "-", plain).strip("-")
    name = name.encode()[-150:].decode(errors="ignore").lstrip("-")
    if not name or "/" + name.replace("-", "/") != path:
        digest = hashlib.sha256(path.encode(errors="surrogateescape")).hexdigest()[:8]
        name = f"{name or 'root'}--{digest}"
    return f"sessions/--{name}--/{session_id}"


def folders_with_memory(store: Store) -> list[str]:
    r"""Return the folders of the sessions that have an overview, details or commits, by path.

    >>> import commonplace, tempfile
    >>> store = commonplace.open(tempfile.mkdtemp())
    >>> _ = store.write("sessions/--app--/s1/working-memory/overview.md", "# Now\n")
    >>> folders_with_memory(store)
    ['sessions/--app--/s1']
    """
    found: dict[str, None] = {}
    for entry in store.list("sessions"):
        folder, inside, _ = entry.path.partition(f"/{WORKING_MEMORY}/")
        if inside and entry.kind == "note":
            found[folder] = None
    return sorted(found)
