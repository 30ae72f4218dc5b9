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
    """A command: its name, the function that runs it, and its arguments."""

    def __init__(self, name: str, run: Callable[..., int], arguments: tuple[Argument, ...]) -> None:
        self.name, self.run, self.arguments = name, run, arguments
        self.help = (run.__doc__ or "").strip().split("\n")[0]


class CommandGroup(Command):
    """A command that has commands of its own: `commonplace profile remember`.

    They are made when one is asked for. The arguments are options that each of them takes.
    """

    def __init__(
        self,
        name: str,
        load: Callable[[], dict[str, Command]],
        arguments: tuple[Argument, ...],
    ) -> None:
        super().__init__(name, lambda: 0, arguments)
        self.load = load
        self.help = (load.__doc__ or "").strip().split("\n")[0]


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
        name = run.__name__.rstrip("_").replace("_", "-")
        COMMANDS[name] = Command(name, run, arguments)
        return run

    return register


def command_group(
    *options: Argument,
) -> Callable[[Callable[[], dict[str, Command]]], Callable[[], dict[str, Command]]]:
    """Register a function that gives commands by name as the group of its own name."""

    def register(load: Callable[[], dict[str, Command]]) -> Callable[[], dict[str, Command]]:
        name = load.__name__.replace("_", "-")
        COMMANDS[name] = CommandGroup(name, load, options)
        return load

    return register


LAST_PORT = 65_535


def count(least: int) -> Callable[[str], int]:
    """Return the type of a whole number of at least so much."""

    def parse(text: str) -> int:
        if text.isdecimal() and int(text) >= least:
            # more than there can be of anything, and still a number of the core
            return min(int(text), 2**40)
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of {least} or more")

    return parse


def port_number(text: str) -> int:
    """Return the number of a port; 0 stands for a free one."""
    number = count(0)(text)
    if number > LAST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r:.20} is no port: {LAST_PORT} at most")
    return number


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
    if isinstance(found, CommandGroup):
        found, words = _of_group(found, words)
    cut = words.index("--") if "--" in words else len(words)
    if {"-h", "--help"} & {*words[:cut]}:
        return found, None
    options = [one for one in found.arguments if one.is_option]
    given, others = _parser(found.name, options).parse_known_args(words[:cut])
    for word in others:
        if word.startswith("-") and word != "-" and " " not in word:
            raise UsageError(_unknown_option(word, options))
    places = [one for one in found.arguments if not one.is_option]
    return found, vars(given) | _placed(found, places, [*others, *words[cut + 1 :]])


def _of_group(group: CommandGroup, words: Sequence[str]) -> tuple[Command, list[str]]:
    """Return the command of a group that is asked for, and the other words.

    Raises:
        UsageError: There is no such command.
    """
    valued = {name for one in group.arguments if "action" not in one.settings for name in one.names}
    at = 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] in {"-h", "--help"}:
            return group, ["--help"]
        at += 2 if words[at] in valued else 1
    inner = group.load()
    if at >= len(words):
        raise UsageError(
            f"say what to do: commonplace {group.name} {', '.join(inner)}; with --help each says "
            "what it takes"
        )
    if words[at] not in inner:
        hint = _closest(words[at], inner) or f"commonplace {group.name} --help lists them"
        raise UsageError(f"there is no command '{group.name} {words[at]}'; {hint}")
    return inner[words[at]], [*words[:at], *words[at + 1 :]]


def _placed(command: Command, places: Sequence[Argument], words: list[str]) -> dict[str, Any]:
    """Return the positional arguments by name."""
    found: dict[str, Any] = {}
    for place in places:
        arity = place.settings.get("nargs")
        typed = place.settings.get("type", str)
        if not words and arity not in {"?", "*"}:
            missing = f"the argument {place.names[0]} is missing"
            raise UsageError(f"{missing}: {_usage(command)}")
        try:
            if arity in {"*", "+"}:
                found[place.names[0]], words = [typed(word) for word in words], []
            else:
                found[place.names[0]] = typed(words.pop(0)) if words else None
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"argument {place.names[0]}: {error}") from None
    if words:
        raise UsageError(f"{words[0]!r} is an argument too many: {_usage(command)}")
    return found


def _usage(command: Command) -> str:
    usage = _parser(command.name, [one for one in command.arguments if not one.is_option])
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


def full_parser(*, with_groups: bool = False) -> argparse.ArgumentParser:
    """Return the parser of all commands, for help; for completion with the commands of groups."""
    about = "Memory in plain files: Markdown notes and messages.jsonl, searched at once."
    parser = _parser("", GLOBAL, about)
    _add_commands(parser, COMMANDS, with_groups=with_groups)
    return parser


def _add_commands(
    parser: argparse.ArgumentParser, commands: dict[str, Command], *, with_groups: bool
) -> None:
    added = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, one in commands.items():
        sub = added.add_parser(name, help=one.help, add_help=False)
        for each in (*one.arguments, HELP):
            each.add_to(sub)
        if with_groups and isinstance(one, CommandGroup):
            _add_commands(sub, one.load(), with_groups=False)


def help_of(command: Command) -> str:
    """Return the help of a command; that of a group lists its commands."""
    from inspect import getdoc

    if isinstance(command, CommandGroup):
        parser = _parser(command.name, (*command.arguments, HELP), getdoc(command.load))
        _add_commands(parser, command.load(), with_groups=False)
        parser.usage = f"commonplace {command.name} COMMAND [options]"
        return parser.format_help()
    parser = _parser(command.name, (*command.arguments, HELP), getdoc(command.run))
    parser.usage = f"{_usage(command)} [options]"
    return parser.format_help()
