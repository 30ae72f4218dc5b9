"""Pager: what is long goes through $PAGER on a terminal, as with git."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import TextIO


@contextmanager
def pager() -> Iterator[TextIO | None]:
    """Lend the input of the pager; None where there is none.

    `$PAGER` is a program with its arguments, default `less`, which ends by itself where all fits
    on the screen; `cat` or nothing turns it off.
    """
    try:
        command = shlex.split(os.environ.get("PAGER", "less"))
    except ValueError:
        # a quote that is not closed
        command = []
    process = None
    if command not in ([], ["cat"]):
        # not a program of this machine: then there is no pager
        with suppress(OSError):
            process = subprocess.Popen(  # noqa: S603 - the user names it
                command, stdin=subprocess.PIPE, env={"LESS": "FRX", "LV": "-c"} | os.environ
            )
    if process is None or process.stdin is None:
        yield None
        return
    # the pager answers Ctrl-C, and may end before it has read everything
    handlers = {
        number: signal.signal(number, signal.SIG_IGN)
        for number in (signal.SIGINT, getattr(signal, "SIGPIPE", signal.SIGINT))
    }
    try:
        stream = TextIOWrapper(process.stdin, encoding="utf-8", errors="replace")
        with suppress(BrokenPipeError):
            yield stream
        with suppress(BrokenPipeError):
            stream.close()
        process.wait()
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
