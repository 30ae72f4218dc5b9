"""Command line `commonplace`; exit codes: 0 found or done, 1 nothing found, 2 error."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from io import TextIOWrapper

import typer

import commonplace
from commonplace.cli import options, read_commands, write_commands
from commonplace.cli.output import ERROR, FOUND, INTERRUPTED, RootOptions, print_error
from commonplace.errors import CommonplaceError

app = typer.Typer(
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# What goes before the command, as it is written there.
GLOBAL = {"--root": "--root FOLDER", "--memory-limit": "--memory-limit MB"}


@app.callback()
def global_options(
    context: typer.Context,
    root: options.Root = None,
    memory_limit: options.MemoryLimit = None,
    version: options.Version = False,
) -> None:
    """Memory in plain files: Markdown notes and messages.jsonl, searched at once."""
    context.obj = RootOptions(root, memory_limit and memory_limit << 20)
    if version:
        print(f"commonplace {commonplace.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


for command in (
    read_commands.search,
    read_commands.grep,
    read_commands.list_,
    read_commands.read,
    write_commands.write,
    write_commands.append,
    write_commands.patch,
    write_commands.move,
    write_commands.delete,
    write_commands.import_,
    read_commands.status,
    read_commands.verify,
    read_commands.explain,
    read_commands.eval_,
    read_commands.demo,
):
    app.command(command.__name__.rstrip("_"))(command)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    try:
        return int(app(list(arguments), prog_name="commonplace", standalone_mode=False) or FOUND)
    except typer.TyperException as error:
        text = error.format_message()
        misplaced = [option for option in GLOBAL if f"No such option: {option}" in text]
        if misplaced:
            text = f"{misplaced[0]} goes before the command: commonplace {GLOBAL[misplaced[0]]} …"
        elif "No such option" in text:
            text += '; text that begins with "-" goes after "--"'
        return print_error(text) if text else ERROR
    except CommonplaceError as error:
        return print_error(str(error))
    except UnicodeEncodeError:
        return print_error("an argument is not UTF-8; set a UTF-8 locale or rename the file")
    except OSError as error:
        return print_error(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except KeyboardInterrupt:
        return INTERRUPTED


def main() -> int:
    """Run the command line of this process."""
    if hasattr(signal, "SIGPIPE"):
        # as grep does: when the reader has seen enough, stop without a word
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if isinstance(sys.stdout, TextIOWrapper):
        # a terminal that cannot show a character is no reason to show nothing
        sys.stdout.reconfigure(errors="replace")
    return run(sys.argv[1:])
