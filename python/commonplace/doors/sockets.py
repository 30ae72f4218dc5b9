"""Listening sockets of servers, taken before a server says where it is."""

from __future__ import annotations

import socket

LOOPBACK = "127.0.0.1"


def listening(port: int = 0, host: str = LOOPBACK) -> socket.socket:
    """Return a socket that listens; a `port` of 0 takes a free one.

    Args:
        port: 0 to 65535.
        host: An address or name of this machine.

    Raises:
        OSError: The port is in use, or the address is none of this machine.
    """
    kind, _, _, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    # asyncio turns Nagle's algorithm off only where the protocol is named, and with it each answer
    # waits 40 ms for an acknowledgement
    found = socket.socket(kind, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(1024)
    except OSError:
        found.close()
        raise
    return found


def address_of(listener: socket.socket) -> str:
    """Return host and port of a socket as they stand in a URL."""
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
