"""Command `mcp`: serve the memory to hosts of the Model Context Protocol."""

from __future__ import annotations

import os

from commonplace.cli.options import IN_PROJECT, KEEP_SECRETS, LISTEN_HOST, LISTEN_PORT
from commonplace.cli.output import FOUND, opened, print_message
from commonplace.cli.parser import RootOptions, UsageError, argument, closest, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.store import Store

SYSTEM = argument(
    "--system",
    metavar="NAME[:ID]",
    help="Serve the tools of a memory system, such as profile, in place of the usual ones; ID is "
    "that of its agent or session, where it has one.",
)
HTTP = argument("--http", action="store_true", help="Serve over HTTP, at /mcp.")
NAME = argument(
    "--name",
    dest="names",
    action="append",
    metavar="HOST[:PORT]",
    help="A name by which others call the server, as behind a proxy; without a port it is known at "
    "any. May be repeated.",
)


OF_USER = argument(
    "--user",
    dest="of_user",
    action="store_true",
    help="The memory of the user, as hooks have it, in whatever folder it is started.",
)


@command(SYSTEM, HTTP, LISTEN_HOST, LISTEN_PORT, NAME, IN_PROJECT, OF_USER, KEEP_SECRETS)
def mcp(
    opening: RootOptions,
    *,
    system: str | None,
    http: bool,
    host: str,
    port: int,
    names: list[str] | None,
    in_project: bool,
    of_user: bool,
    keep_secrets: bool,
) -> int:
    """Serve the memory to agents over MCP, on stdio or HTTP, until the host ends it.

    Over HTTP from other machines each request needs the token in $COMMONPLACE_MCP_TOKEN.
    """
    from commonplace.doors.mcp.methods import Methods

    if in_project and of_user:
        raise UsageError("--project and --user exclude each other")
    if in_project or of_user:
        from pathlib import Path

        from commonplace.doors.hook import memory_root

        opening.root = str(memory_root(opening.root, str(Path.cwd()) if in_project else None))
    methods = Methods(
        lambda: opened(opening, create=True, keep_secrets=keep_secrets),
        _maker(system) if system else None,
    )
    if not http:
        from commonplace.doors.mcp import stdio

        stdio.serve(methods)
        return FOUND
    try:
        from commonplace.doors.mcp.http import serve
    except ModuleNotFoundError as error:
        told = f"--http needs {error.name}: pip install 'commonplace[mcp]'"
        raise UsageError(told) from None
    token = os.environ.get("COMMONPLACE_MCP_TOKEN")
    try:
        serve(methods, host, port, token=token, names=names or [], told=_tell)
    except OSError as error:
        raise UsageError(f"cannot listen at {host} port {port}: {error.strerror}") from None
    return FOUND


def _tell(address: str) -> None:
    print_message(f"serving at {address}")


def _maker(system: str) -> Callable[[Store], object]:
    """Return what makes the memory system of this name, with its id if it has one."""
    from inspect import signature

    from commonplace.memories import find_system, system_names

    name, _, own = system.partition(":")
    # commands are called with hyphens; a system of another package may have them in its own name
    by_name = {shown.replace("_", "-"): shown for shown in system_names()}
    called = by_name.get(name.replace("_", "-"))
    if called is None:
        told = closest(name, by_name) or f"there are {', '.join(by_name)}"
        raise UsageError(f"no memory system {name!r}; {told}")
    kind = find_system(called)
    parameters = [*signature(kind).parameters.values()][1:]
    needed = [
        one.name
        for one in parameters
        if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD
    ]
    if bool(needed) != bool(own):
        told = f"give its {needed[0]}, as {name}:ID" if needed else "it takes no ID"
        raise UsageError(f"--system {name}: {told}")
    return lambda store: kind(store, own) if own else kind(store)
