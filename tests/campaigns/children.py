"""Child processes: forked, traced, killed, and reporting through shared memory.

A child is forked and not started, since importing Python takes longer than most trials. So who
forks must not have opened a store. A child reports without a system call: what it said stands even
when it was killed in the next instruction, and no injected failure can hit the report itself.
"""

from __future__ import annotations

import functools
import json
import mmap
import os
import shutil
import signal
import struct
import subprocess
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

LENGTH = struct.Struct("<Q")


class SharedLog:
    """Records in shared memory: one process writes them, any other reads."""

    def __init__(self, size: int = 1 << 24) -> None:
        self._memory = mmap.mmap(-1, size)

    def append(self, record: object) -> None:
        """Add a record; it is there whole or not at all."""
        line = json.dumps(record).encode() + b"\n"
        (used,) = LENGTH.unpack_from(self._memory, 0)
        start = LENGTH.size + used
        if start + len(line) <= len(self._memory):
            self._memory[start : start + len(line)] = line
            LENGTH.pack_into(self._memory, 0, used + len(line))

    def records(self) -> list[Any]:
        (used,) = LENGTH.unpack_from(self._memory, 0)
        reported = self._memory[LENGTH.size : LENGTH.size + used]
        return [json.loads(line) for line in reported.splitlines()]


class Child:
    """A forked process that does one piece of work.

    Args:
        work: Called in the child with its log in shared memory.
        inject: What `strace` is to do to its system calls, such as `fsync:error=EIO:when=2+`.
        before: Called in the child before anything is done to its system calls.
        trace: Where `strace` writes what it has done.
    """

    def __init__(
        self,
        work: Callable[[SharedLog], None],
        inject: Sequence[str] = (),
        before: Callable[[], None] = lambda: None,
        trace: Path = Path(os.devnull),
    ) -> None:
        self.shared = SharedLog()
        self.status: int | None = None
        self._trace = trace
        self._tracer: subprocess.Popen[bytes] | None = None
        if inject:
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        self.pid = os.fork()
        if self.pid == 0:
            self._run(work, before, wait=bool(inject))
        if inject:
            self._attach(inject)

    def _run(
        self, work: Callable[[SharedLog], None], before: Callable[[], None], *, wait: bool
    ) -> NoReturn:
        try:
            before()
            if wait:
                self.shared.append({"ready": True})
                signal.sigwait([signal.SIGUSR1])
            work(self.shared)
        except BaseException as error:  # noqa: BLE001 - the parent is told, whatever it is
            self.shared.append({"crash": in_a_line(error)})
            os._exit(1)
        os._exit(0)

    def _attach(self, inject: Sequence[str]) -> None:
        """Have the child traced, and let it go on."""
        until = time.monotonic() + 20
        while not self.shared.records():
            if self.poll() or time.monotonic() > until:
                raise RuntimeError(f"the child did not begin: {self.crash or 'it waits'}")
            time.sleep(0.0005)
        calls = ",".join(rule.partition(":")[0] for rule in inject)
        rules = [part for rule in inject for part in ("-e", f"inject={rule}")]
        command = ["strace", "-f", "-qqq", "-o", str(self._trace), "-e", f"trace={calls}", *rules]
        self._tracer = subprocess.Popen(
            [*command, "-p", str(self.pid)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while "TracerPid:\t0\n" in Path(f"/proc/{self.pid}/status").read_text():
            if time.monotonic() > until or self._tracer.poll() is not None:
                self.kill()
                raise RuntimeError(f"strace did not attach: {' '.join(command)}")
            time.sleep(0.001)
        os.kill(self.pid, signal.SIGUSR1)

    def poll(self) -> bool:
        """Return whether it has ended."""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        if self.status is not None and self._tracer:
            self._tracer.wait()
            self._tracer = None
        return self.status is not None

    def wait(self, seconds: float) -> bool:
        """Wait for the end; return False, and kill it, when that takes longer."""
        until, pause = time.monotonic() + seconds, 0.0005
        while not self.poll():
            if time.monotonic() > until:
                self.kill()
                return False
            time.sleep(pause)
            pause = min(pause * 1.5, 0.02)
        return True

    def signal(self, number: int) -> None:
        if not self.poll():
            os.kill(self.pid, number)

    def kill(self) -> None:
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        if self._tracer:
            self._tracer.kill()
            self._tracer.wait()
            self._tracer = None

    @property
    def crash(self) -> str | None:
        """Why it ended as it should not have: an exception, or the signal of a fault of its own."""
        reported = [record["crash"] for record in self.shared.records() if "crash" in record]
        if reported:
            return str(reported[0])
        faults = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE}
        if self.status is not None and -self.status in faults:
            return f"died of {signal.Signals(-self.status).name}"
        return None


def in_a_line(error: BaseException) -> str:
    """Return an error and where it came from, innermost place first."""
    frames = traceback.extract_tb(error.__traceback__)[::-1]
    places = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
    return f"{type(error).__name__}: {error} [{' < '.join(places[:6])}]"


@functools.cache
def no_strace() -> str | None:
    """Return why system calls cannot be injected here; None when they can."""
    if not shutil.which("strace"):
        return "there is no strace"
    try:
        child = Child(lambda _: os._exit(os.getppid() == -1), ["getppid:error=EIO"])
    except RuntimeError as error:
        return str(error)
    child.wait(10)
    return None if child.status in (0, 1) else "strace cannot trace here"
