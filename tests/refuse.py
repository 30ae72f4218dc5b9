"""Command runner under a seccomp filter that refuses calls which older kernels and sandboxes lack.

    python tests/refuse.py NAME[=ERROR]... -- COMMAND

A seccomp filter answers for the kernel, to the command and to all that it starts. Names:
`openat2`, `inotify`, `leases`, `exchange` (of two names), `renameat2` (all that a plain rename
cannot do), and `all` for all of them. Each call is refused with the error that the kernel of a
system without it gives; `all=EPERM` gives another, as some containers do.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from typing import NamedTuple

# <linux/audit.h>, and the numbers of the calls
ARCHITECTURES = {
    "x86_64": (
        0xC000003E,
        {
            "openat2": 437,
            "inotify_init": 253,
            "inotify_init1": 294,
            "inotify_add_watch": 254,
            "fcntl": 72,
            "renameat2": 316,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            "openat2": 437,
            "inotify_init1": 26,
            "inotify_add_watch": 27,
            "fcntl": 25,
            "renameat2": 276,
        },
    ),
}


class Refusal(NamedTuple):
    """A call, by a mask and value of one of its arguments, and what it is answered."""

    call: str
    answer: int
    argument: int = 0
    mask: int = 0
    value: int = 0


F_SETLEASE = 1024
NOREPLACE, EXCHANGE = 1, 2
REFUSALS = {
    "openat2": [Refusal("openat2", errno.ENOSYS)],
    "inotify": [
        Refusal("inotify_init", errno.ENOSYS),
        Refusal("inotify_init1", errno.ENOSYS),
        Refusal("inotify_add_watch", errno.ENOSYS),
    ],
    "leases": [Refusal("fcntl", errno.EINVAL, 1, 0xFFFFFFFF, F_SETLEASE)],
    "exchange": [Refusal("renameat2", errno.EINVAL, 4, EXCHANGE, EXCHANGE)],
    "renameat2": [
        Refusal("renameat2", errno.ENOSYS, 4, EXCHANGE, EXCHANGE),
        Refusal("renameat2", errno.ENOSYS, 4, NOREPLACE, NOREPLACE),
    ],
}
# `renameat2` says all of `exchange`; with another error than a kernel's, `mv` would not work either
ALL = ["openat2", "inotify", "leases", "renameat2"]
ALL_OTHERWISE = [*ALL[:-1], "exchange"]

# <linux/bpf_common.h>, <linux/seccomp.h>
LOAD, AND, EQUAL, RETURN = 0x20, 0x54, 0x15, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16


def step(code: int, operand: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, operand)


def program(refused: list[Refusal], architecture: int, numbers: dict[str, int]) -> bytes:
    """Return the filter: for each refusal its own few steps, and leave for all the rest."""
    steps = [
        step(LOAD, ARCHITECTURE),
        step(EQUAL, architecture, 1, 0),
        step(RETURN, ALLOW),
    ]
    for refusal in refused:
        if refusal.call not in numbers:
            continue
        body = [step(RETURN, REFUSE | refusal.answer)]
        if refusal.mask:
            # the lower half of 64 bits
            body = [
                step(LOAD, ARGUMENTS + 8 * refusal.argument),
                step(AND, refusal.mask),
                step(EQUAL, refusal.value, 0, 1),
                *body,
            ]
        steps += [step(LOAD, NUMBER), step(EQUAL, numbers[refusal.call], 0, len(body)), *body]
    return b"".join([*steps, step(RETURN, ALLOW)])


def install(filter_: bytes) -> None:
    """Let the filter answer for the kernel, to this process and its children, for good."""
    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(filter_, len(filter_))
    head = struct.pack("@HP", len(filter_) // 8, ctypes.addressof(code))
    set_no_new_privileges, set_seccomp, filter_mode = 38, 22, 2
    for arguments in (
        (set_no_new_privileges, 1, 0, 0, 0),
        (set_seccomp, filter_mode, ctypes.c_char_p(head), 0, 0),
    ):
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "this kernel takes no seccomp filter")


def refusals(given: str) -> list[Refusal]:
    """Return what `NAME` or `NAME=ERROR` stands for."""
    name, _, error = given.partition("=")
    if name not in {"all", *REFUSALS} or (error and not hasattr(errno, error)):
        sys.exit(f"refuse.py: {given!r} is none of all, {', '.join(REFUSALS)}, with =ERROR or not")
    every = ALL_OTHERWISE if error else ALL
    found = [refusal for part in (every if name == "all" else [name]) for refusal in REFUSALS[part]]
    return [r._replace(answer=getattr(errno, error)) for r in found] if error else found


def main() -> None:
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    names, command = sys.argv[1:split], sys.argv[split + 1 :]
    if not names or not command:
        sys.exit(__doc__)
    if platform.machine() not in ARCHITECTURES:
        sys.exit(f"refuse.py knows no calls of {platform.machine()}")
    found = [refusal for name in names for refusal in refusals(name)]
    install(program(found, *ARCHITECTURES[platform.machine()]))
    os.execvp(command[0], command)  # noqa: S606 - what was asked for


if __name__ == "__main__":
    main()
