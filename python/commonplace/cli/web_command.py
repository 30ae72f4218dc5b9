"""Command `web`: browse, search and correct the memory in a browser."""

from __future__ import annotations

from commonplace.cli.output import FOUND, opened, print_message
from commonplace.cli.parser import RootOptions, UsageError, argument, command, port_number

ROOT = argument(
    "root",
    nargs="?",
    metavar="ROOT",
    help="The folder that holds the memory. Default: that of --root.",
)
PORT = argument(
    "--port",
    type=port_number,
    default=8766,
    help="Port to listen on; 0: a free one. Default: 8766.",
)
READ_ONLY = argument("--read-only", action="store_true", help="Refuse every change.")
NO_OPEN = argument("--no-open", action="store_true", help="Print the link and open no browser.")


@command(ROOT, PORT, READ_ONLY, NO_OPEN)
def web(
    opening: RootOptions, *, root: str | None, port: int, read_only: bool, no_open: bool
) -> int:
    """Open the memory in a browser, on this machine alone, until Ctrl-C.

    Only a browser with the printed link can open it; other users of this machine cannot.
    """
    try:
        from commonplace.web.server import serve
    except ModuleNotFoundError as error:
        told = f"web needs {error.name}: pip install 'commonplace[web]'"
        raise UsageError(told) from None
    where = RootOptions(root or opening.root, opening.memory_limit)

    def tell(link: str) -> None:
        print(link, flush=True)
        print_message("Ctrl-C ends it")

    # a folder that was typed wrong is not made
    with opened(where, create=not (read_only or root)) as store:
        try:
            serve(store, port=port, read_only=read_only, opens=not no_open, told=tell)
        except OSError as error:
            raise UsageError(f"port {port}: {error.strerror}; --port 0 takes a free one") from None
    return FOUND
