"""Command line `commonplace`; exit codes: 0 found or done, 1 nothing found, 2 error."""

from __future__ import annotations

# not `signal`, which makes enumerations of them: that takes longer than to read a command line
import _signal  # type: ignore[import-not-found]
import gc
import os
import sys
from io import TextIOWrapper

from commonplace.cli.output import ERROR, FOUND, INTERRUPTED, print_error
from commonplace.cli.parser import (
    COMMANDS,
    RootOptions,
    UsageError,
    parse_command,
    parse_global,
    split,
)
from commonplace.errors import CommonplaceError, EncodingError

# for types only: a command starts without `typing`
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.cli.parser import Command

# Each registers its commands, in the order of the help
MODULES = (
    "read_commands",
    "session_commands",
    "write_commands",
    "memory_commands",
    "door_commands",
    "export_commands",
    "mcp_command",
    "serve_command",
    "web_command",
)


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
    if given["version"]:
        from commonplace._core import __version__

        print(f"commonplace {__version__}")
        return FOUND
    # none is called None: with that, and for help and completion, all are loaded
    load_commands(None if given["completion"] or given["help"] else name)
    if given["completion"]:
        from commonplace.cli.completion import completion

        print(completion(given["completion"]))
        return FOUND
    if name is None or given["help"]:
        from commonplace.cli.help import full_parser

        print(full_parser().format_help(), end="")
        return FOUND
    command, fields = parse_command(name, words)
    if fields is None:
        from commonplace.cli.help import help_of

        print(help_of(command), end="")
        return FOUND
    memory_limit = given["memory_limit"] and given["memory_limit"] << 20
    if not gc.isenabled():
        # else the first collection would go through all that was loaded
        gc.freeze()
        gc.enable()
    return command.run(RootOptions(given["root"], memory_limit), **fields)


def load_commands(name: str | None = None) -> dict[str, Command]:
    """Return the commands up to this one; without a name, or where there is none of it, all."""
    for module in MODULES:
        if name not in COMMANDS:
            __import__(f"{__name__}.{module}")
    return COMMANDS


def main() -> int:
    """Run the command line of this process."""
    # loading the modules leaves nothing to collect; a command begins with it on
    gc.disable()
    if hasattr(_signal, "SIGPIPE"):
        # as grep does: when the reader has seen enough, stop without a word
        _signal.signal(_signal.SIGPIPE, _signal.SIG_DFL)
    if isinstance(sys.stdout, TextIOWrapper):
        # a terminal that cannot show a character is no reason to show nothing
        sys.stdout.reconfigure(errors="replace")
    code = run(sys.argv[1:])
    if "threading" not in sys.modules:
        # nothing waits for the end: the system takes back at once what the interpreter would free
        # object by object
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:
            # the interpreter tries again, and says what is wrong
            return code
        os._exit(code)
    gc.freeze()
    return code


__all__ = ["ERROR", "main", "run"]
