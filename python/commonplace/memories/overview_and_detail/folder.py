"""Session folder, named after the working directory without collisions."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata

_ID = re.compile(r"\w[\w.-]*")


def session_folder(cwd: str | os.PathLike[str], session_id: str) -> str:
    """Return the folder of a session: `sessions/--<cwd>--/<session-id>`.

    `<cwd>` is the absolute path with `-` in place of each `/`. Where that does not tell the path
    (`/my/app` and `/my-app` would be one) a hash of the path follows, so no two share a folder.

    Raises:
        ValueError: The id of the session is no plain name.

    >>> session_folder("/home/alex/app", "s1")
    'sessions/--home-alex-app--/s1'
    >>> session_folder("/home/alex/my-app", "s1")
    'sessions/--home-alex-my-app--9cbee908--/s1'
    """
    if not _ID.fullmatch(session_id) or session_id.endswith("."):
        raise ValueError(f"a session id is letters, digits, '.', '_' and '-', not {session_id!r}")
    path = "/" + os.path.abspath(cwd).strip("/")  # noqa: PTH100 - links stay as they are named
    plain = unicodedata.normalize("NFC", path)
    name = re.sub(r"[^\w.@+-]", "-", plain).strip("-")
    name = name.encode()[-150:].decode(errors="ignore").lstrip("-")
    if not name or "/" + name.replace("-", "/") != path:
        digest = hashlib.sha256(path.encode(errors="surrogateescape")).hexdigest()[:8]
        name = f"{name or 'root'}--{digest}"
    return f"sessions/--{name}--/{session_id}"
