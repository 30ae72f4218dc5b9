"""HTTP server of the web page on this machine, and the link that opens it."""

from __future__ import annotations

import gc
import webbrowser
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING

import uvicorn

from commonplace.doors.sockets import LOOPBACK, listening
from commonplace.errors import CommonplaceError
from commonplace.web.application import application
from commonplace.web.note_index import shared_index
from commonplace.web.safety import OPEN
from commonplace.web.session_table import shared_sessions

if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.store import Store
    from commonplace.web.page import Frame

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
        Thread(target=prepare, args=[app.state.frame], daemon=True).start()
        told(link)
        if opens:
            webbrowser.open(link)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, lifespan="off"
        )
        uvicorn.Server(config).run(sockets=[listener])


def prepare(frame: Frame) -> None:
    """Make what all requests share; this process is to serve pages alone."""
    # of a store that is closed meanwhile nothing more is asked
    with suppress(CommonplaceError, ValueError):
        index = shared_index(frame)
        shared_sessions(frame).of()
        index.wait()
        # what stays as long as the process need not be looked at by each garbage collection
        gc.collect()
        gc.freeze()
