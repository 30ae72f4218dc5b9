"""Command line `commonplace`; exit codes: 0 found or done, 1 nothing found, 2 error."""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from commonplace.cli.output import ERROR, FOUND, INTERRUPTED, print_error
from commonplace.cli.parser import (
    RootOptions,
    UsageError,
    full_parser,
    help_of,
    parse_command,
    parse_global,
    split,
)
from commonplace.errors import CommonplaceError, EncodingError


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    code = _run_and_report(arguments)
    # an agent program takes 2 for a prompt that is not to be sent
    return FOUND if code == ERROR and split(arguments)[1] == "hook" else code


def _run_and_report(arguments: Sequence[str]) -> int:
    try:
        return _run(arguments)
    except (UnicodeEncodeError, EncodingError):
        return print_error("an argument is not UTF-8; set a UTF-8 locale or rename the file")
    except (UsageError, CommonplaceError) as error:
        return print_error(str(error))
    except OSError as error:
        return print_error(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(arguments: Sequence[str]) -> int:
    before, name, words = split(arguments)
    given = parse_global(before)
    if given.version:
        from commonplace._core import __version__

        print(f"commonplace {__version__}")
        return FOUND
    # each registers its commands, in the order of the help
    from commonplace.cli import read_commands, session_commands, write_commands  # noqa: F401

    # isort: split
    from commonplace.cli import memory_commands  # noqa: F401

    # isort: split
    from commonplace.cli import door_commands, export_commands, mcp_command, serve_command  # noqa: F401

    # isort: split
    from commonplace.cli import web_command  # noqa: F401

    if given.completion:
        from commonplace.cli.completion import completion

        print(completion(given.completion))
        return FOUND
    if name is None or given.help:
        print(full_parser().format_help(), end="")
        return FOUND
    command, fields = parse_command(name, words)
    if fields is None:
        print(help_of(command), end="")
        return FOUND
    memory_limit = given.memory_limit and given.memory_limit << 20
    gc.enable()
    return command.run(RootOptions(given.root, memory_limit), **fields)


def main() -> int:
    """Run the command line of this process."""
    # loading the modules leaves nothing to collect; a command begins with it on
    gc.disable()
    if hasattr(signal, "SIGPIPE"):
        # as grep does: when the reader has seen enough, stop without a word
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if isinstance(sys.stdout, TextIOWrapper):
        # a terminal that cannot show a character is no reason to show nothing
        sys.stdout.reconfigure(errors="replace")
    code = run(sys.argv[1:])
    # the system takes all of it back at once: the interpreter need not look at each object
    gc.freeze()
    return code


__all__ = ["ERROR", "main", "run"]
