"""Command-line parser: argparse for one command at a time, so that a command starts at once."""

from __future__ import annotations

import argparse
import os

# for types only: a command starts without `typing`
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any


class UsageError(Exception):
    """A command line that cannot be run; its text says what to do."""


class Argument:
    """An option or a positional argument: its names, and what argparse is told of it."""

    def __init__(self, names: tuple[str, ...], settings: dict[str, Any]) -> None:
        # a shell function of `commonplace.cli.completion` that completes its value
        self.completer: str | None = settings.pop("completer", None)
        self.names, self.settings = names, settings
        self.is_option = names[0].startswith("-")

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Declare it to a parser of argparse, and to shtab, which completes it."""
        action = parser.add_argument(*self.names, **self.settings)
        if self.completer:
            named = dict.fromkeys(("bash", "zsh"), self.completer)
            action.complete = named  # type: ignore[attr-defined]


class Command:
    """A command: the function that runs it, and its arguments."""

    def __init__(self, run: Callable[..., int], arguments: tuple[Argument, ...]) -> None:
        self.run, self.arguments = run, arguments
        self.help = (run.__doc__ or "").strip().split("\n")[0]


class RootOptions:
    """Options for opening the store."""

    def __init__(self, root: str | None, memory_limit: int | None) -> None:
        self.root, self.memory_limit = root, memory_limit


COMMANDS: dict[str, Command] = {}


def argument(*names: str, **settings: Any) -> Argument:
    """Declare an argument as `ArgumentParser.add_argument` takes it, and its `completer`."""
    return Argument(names, settings)


def command(*arguments: Argument) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Register a function as the command of its name, with these arguments."""

    def register(run: Callable[..., int]) -> Callable[..., int]:
        COMMANDS[run.__name__.rstrip("_").replace("_", "-")] = Command(run, arguments)
        return run

    return register


def count(least: int) -> Callable[[str], int]:
    """Return the type of a whole number of at least so much."""

    def parse(text: str) -> int:
        if text.isdecimal() and int(text) >= least:
            # more than there can be of anything, and still a number of the core
            return min(int(text), 2**40)
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of {least} or more")

    return parse


JSON = argument("--json", dest="as_json", action="store_true", help="Print JSON for programs.")
HELP = argument("-h", "--help", action="store_true", help="Show this help.")
GLOBAL = (
    argument(
        "--root",
        metavar="FOLDER",
        help="The folder that holds the memory. Default: $COMMONPLACE_ROOT, else the nearest "
        "folder upwards with .commonplace/, else ~/.commonplace.",
    ),
    argument(
        "--memory-limit",
        metavar="MB",
        type=count(16),
        help="Megabytes that the command may take; what would need more is left out with a note. "
        "Default: $COMMONPLACE_MEMORY_LIMIT; else, and at most: what control groups and ulimit "
        "leave.",
    ),
    argument("--version", action="store_true", help="Print the version."),
    argument(
        "--completion",
        metavar="SHELL",
        help="Print the completion script for bash, zsh, fish, tcsh or powershell.",
    ),
    HELP,
)


class _Formatter(argparse.HelpFormatter):
    def __init__(self, prog: str) -> None:
        # argparse asks for the width by way of shutil, for each option
        super().__init__(prog, width=_width())

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        fill = super()._fill_text
        return "\n\n".join(fill(one, width, indent) for one in text.split("\n\n"))


def _width() -> int:
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns) - 2
    try:
        return os.get_terminal_size().columns - 2
    except OSError:
        return 78


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise UsageError(message)


def _parser(name: str, arguments: Iterable[Argument], description: str | None = None) -> _Parser:
    parser = _Parser(
        prog=f"commonplace {name}".rstrip(),
        description=description,
        add_help=False,
        allow_abbrev=False,
        formatter_class=_Formatter,
    )
    for one in arguments:
        one.add_to(parser)
    return parser


def split(arguments: Sequence[str]) -> tuple[list[str], str | None, list[str]]:
    """Return what goes before the command, the command, and what follows it."""
    at = 0
    while at < len(arguments):
        word = arguments[at]
        if not word.startswith("-"):
            return [*arguments[:at]], word, [*arguments[at + 1 :]]
        at += 2 if word in {"--root", "--memory-limit", "--completion"} else 1
    return [*arguments], None, []


def parse_global(words: Sequence[str]) -> argparse.Namespace:
    """Return the options that go before the command.

    Raises:
        UsageError: One of them is unknown or has no such value.
    """
    parser = _parser("", GLOBAL)
    given, unknown = parser.parse_known_args(words)
    if unknown:
        raise UsageError(_unknown_option(unknown[0], GLOBAL))
    named = os.environ.get("COMMONPLACE_MEMORY_LIMIT")
    if given.memory_limit is None and named:
        given.memory_limit = parser.parse_args(["--memory-limit", named]).memory_limit
    return given


def parse_command(name: str, words: Sequence[str]) -> tuple[Command, dict[str, Any] | None]:
    """Return a command with its arguments; None for them where help is asked for.

    Options may stand before, between and behind the other arguments; what follows `--` is none.

    Raises:
        UsageError: There is no such command, or it takes no such arguments.
    """
    if name not in COMMANDS:
        hint = _closest(name, COMMANDS) or "commonplace --help lists them"
        raise UsageError(f"there is no command {name!r}; {hint}")
    found = COMMANDS[name]
    cut = words.index("--") if "--" in words else len(words)
    if {"-h", "--help"} & {*words[:cut]}:
        return found, None
    options = [one for one in found.arguments if one.is_option]
    given, others = _parser(name, options).parse_known_args(words[:cut])
    for word in others:
        if word.startswith("-") and word != "-" and " " not in word:
            raise UsageError(_unknown_option(word, options))
    places = [one for one in found.arguments if not one.is_option]
    return found, vars(given) | _placed(name, places, [*others, *words[cut + 1 :]])


def _placed(name: str, places: Sequence[Argument], words: list[str]) -> dict[str, Any]:
    """Return the positional arguments by name."""
    found: dict[str, Any] = {}
    for place in places:
        arity = place.settings.get("nargs")
        typed = place.settings.get("type", str)
        if not words and arity not in {"?", "*"}:
            missing = f"the argument {place.names[0]} is missing"
            raise UsageError(f"{missing}: {_usage(name)}")
        if arity in {"*", "+"}:
            found[place.names[0]], words = [typed(word) for word in words], []
        else:
            found[place.names[0]] = typed(words.pop(0)) if words else None
    if words:
        raise UsageError(f"{words[0]!r} is an argument too many: {_usage(name)}")
    return found


def _usage(name: str) -> str:
    usage = _parser(name, [one for one in COMMANDS[name].arguments if not one.is_option])
    return " ".join(usage.format_usage().split()[1:])


def _unknown_option(word: str, options: Iterable[Argument]) -> str:
    flag = word.partition("=")[0]
    for one in GLOBAL:
        if flag == one.names[0] and one not in options:
            shown = " ".join([flag, *filter(None, [one.settings.get("metavar")])])
            return f"{flag} goes before the command: commonplace {shown} …"
    known = [name for one in (*options, HELP) for name in one.names]
    hint = _closest(flag, known) or 'text that begins with "-" goes after "--"'
    return f"there is no option {flag}; {hint}"


def _closest(word: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    meant = get_close_matches(word, known, 1)
    return f"did you mean {meant[0]!r}?" if meant else ""


def full_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands, for help and completion."""
    about = "Memory in plain files: Markdown notes and messages.jsonl, searched at once."
    parser = _parser("", GLOBAL, about)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, one in COMMANDS.items():
        sub = commands.add_parser(name, help=one.help, add_help=False)
        for each in (*one.arguments, HELP):
            each.add_to(sub)
    return parser


def help_of(name: str) -> str:
    """Return the help of a command."""
    from inspect import getdoc

    found = COMMANDS[name]
    parser = _parser(name, (*found.arguments, HELP), getdoc(found.run))
    parser.usage = f"{_usage(name)} [options]"
    return parser.format_help()
