"""Help of commands, and the parser that shells complete by: argparse, for these alone."""

from __future__ import annotations

import argparse
import os
from inspect import getdoc

from commonplace.cli.parser import COMMANDS, GLOBAL, HELP, Argument, Command, CommandGroup, usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


# The titles of the list of all commands, each above the first command of its section
SECTIONS = {
    "search": "search and read",
    "sessions": "sessions of agents",
    "write": "write, import and erase",
    "profile": "memory systems",
    "hook": "agent programs",
    "export": "exchange with other programs",
    "mcp": "servers",
}


class _Formatter(argparse.HelpFormatter):
    def __init__(self, prog: str) -> None:
        # argparse asks for the width by way of shutil, for each option
        super().__init__(prog, max_help_position=26, width=_width())

    def add_argument(self, action: argparse.Action) -> None:
        """Add an argument; the names of commands count as far in as they are printed."""
        super().add_argument(action)
        for one in self._iter_indented_subactions(action):
            length = len(self._format_action_invocation(one)) + self._current_indent
            self._action_max_length = max(self._action_max_length, length)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        fill = super()._fill_text
        return "\n\n".join(fill(one, width, indent) for one in text.split("\n\n"))


class _SectionFormatter(_Formatter):
    def _format_action(self, action: argparse.Action) -> str:
        text = super()._format_action(action)
        title = SECTIONS.get(action.dest)
        return f"\n  {title}:\n{text}" if title else text


def _width() -> int:
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns) - 2
    try:
        return os.get_terminal_size().columns - 2
    except OSError:
        return 78


def _add(argument: Argument, parser: argparse.ArgumentParser) -> None:
    """Declare an argument to argparse, and to shtab, which completes it."""
    action = parser.add_argument(*argument.names, **argument.settings)
    if not argument.is_option:
        action.metavar = argument.shown
    if argument.completer:
        named = dict.fromkeys(("bash", "zsh"), argument.completer)
        action.complete = named  # type: ignore[attr-defined]
    if argument.values:
        # in completion alone: help has them in its text
        action.choices = argument.values


def _parser(
    name: str,
    arguments: Iterable[Argument],
    description: str | None = None,
    formatter: type[_Formatter] = _Formatter,
) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"commonplace {name}".rstrip(),
        description=description,
        add_help=False,
        allow_abbrev=False,
        formatter_class=formatter,
    )
    for one in arguments:
        _add(one, parser)
    return parser


def full_parser(*, with_groups: bool = False) -> argparse.ArgumentParser:
    """Return the parser of all commands, for help; for completion with the commands of groups."""
    about = "Memory in plain files: Markdown notes and messages.jsonl, searched at once."
    parser = _parser("", GLOBAL, about, _SectionFormatter)
    _add_commands(parser, COMMANDS, with_groups=with_groups)
    return parser


def _add_commands(
    parser: argparse.ArgumentParser, commands: dict[str, Command], *, with_groups: bool
) -> None:
    added = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, one in commands.items():
        sub = added.add_parser(name, help=one.help, add_help=False)
        for each in (*one.arguments, HELP):
            _add(each, sub)
        if with_groups and isinstance(one, CommandGroup):
            _add_commands(sub, one.load(), with_groups=False)


def help_of(command: Command) -> str:
    """Return the help of a command; that of a group lists its commands."""
    if isinstance(command, CommandGroup):
        parser = _parser(command.name, (*command.arguments, HELP), getdoc(command.load))
        _add_commands(parser, command.load(), with_groups=False)
        parser.usage = f"commonplace {command.name} COMMAND [options]"
        return parser.format_help()
    parser = _parser(command.name, (*command.arguments, HELP), getdoc(command.run))
    parser.usage = f"{usage(command)} [options]"
    return parser.format_help()
