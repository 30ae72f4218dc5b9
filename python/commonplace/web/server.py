"""HTTP server of the web page on this machine, and the link that opens it."""

from __future__ import annotations

import webbrowser
from typing import TYPE_CHECKING

import uvicorn

from commonplace.doors.listening import LOOPBACK, listening
from commonplace.web.application import application
from commonplace.web.note_index import shared_index
from commonplace.web.safety import OPEN

if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.store import Store

__all__ = ["LOOPBACK", "listening", "serve"]


def serve(
    store: Store,
    *,
    port: int = 0,
    read_only: bool = False,
    opens: bool = True,
    told: Callable[[str], None] = print,
) -> None:
    """Serve the web page of a store at 127.0.0.1 until the process is told to end.

    Args:
        store: What is shown.
        port: 0 for one that is free.
        read_only: Refuse every change.
        opens: Open it in the browser of this user.
        told: Called with the link, once the port is taken.

    Raises:
        OSError: The port is in use.
    """
    with listening(port) as listener:
        own = listener.getsockname()[1]
        app = application(store, port=own, read_only=read_only)
        link = f"http://{LOOPBACK}:{own}{OPEN}?token={app.state.frame.access.token}"
        # made before it is asked for: of very many notes it takes seconds
        shared_index(app.state.frame).refresh_later()
        told(link)
        if opens:
            webbrowser.open(link)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, lifespan="off"
        )
        uvicorn.Server(config).run(sockets=[listener])
