"""Command-line parser: commands, their arguments as argparse takes them, and the words of a line.

A line is read without argparse, which takes as long to load as all that a search needs of this
package. Help and completion are made with it (`commonplace.cli.help`).
"""

# Longer than 350 lines: how arguments are declared, and the reading of them, which is one grammar.

from __future__ import annotations

import os

# for types only: a command starts without `typing`
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence
    from typing import Any


class UsageError(Exception):
    """A command line that cannot be run; its text says what to do."""


class Argument:
    """An option or a positional argument: its names, and its settings as argparse takes them."""

    def __init__(self, names: tuple[str, ...], settings: dict[str, Any]) -> None:
        # a shell function of `commonplace.cli.completion` that completes its value
        self.completer: str | None = settings.pop("completer", None)
        # values that completion knows; what else is given is judged by the command
        self.values: tuple[str, ...] = settings.pop("values", ())
        self.names, self.settings = names, settings
        self.is_option = names[0].startswith("-")

    @property
    def dest(self) -> str:
        """The name of its value."""
        long = next((name for name in self.names if name.startswith("--")), self.names[0])
        name: str = self.settings.get("dest") or long.lstrip("-").replace("-", "_")
        return name

    @property
    def shown(self) -> str:
        """How it is called: a positional argument in capitals, as it is no word to type."""
        if self.is_option:
            return "/".join(self.names)
        name: str = self.settings.get("metavar") or self.names[0].upper()
        return name

    @property
    def takes_value(self) -> bool:
        """Whether a value follows the name of the option."""
        return self.settings.get("action") in {None, "append"}

    @property
    def default(self) -> Any:
        """Its value where it is not given."""
        switched = {"store_true": False, "store_false": True}.get(self.settings.get("action", ""))
        value = self.settings.get("default", switched)
        return [*value] if isinstance(value, list) else value

    def given(self, before: Any, text: str = "") -> Any:
        """Return its value once it is given, with this text where it takes one.

        Raises:
            UsageError: The text stands for nothing.
        """
        action = self.settings.get("action")
        if action in {"store_true", "store_false"}:
            return action == "store_true"
        value = self.value(text) if self.takes_value else self.settings["const"]
        return value if action is None else [*(before or []), value]

    def value(self, text: str) -> Any:
        """Return what a text given for it stands for.

        Raises:
            UsageError: It stands for nothing.
        """
        choices = self.settings.get("choices")
        try:
            value = self.settings.get("type", str)(text)
        except ValueError as error:
            raise UsageError(f"argument {self.shown}: {error}") from None
        if choices and value not in choices:
            known = ", ".join(choices)
            raise UsageError(f"argument {self.shown}: {text!r} is none of {known}")
        return value


class Command:
    """A command: its name, the function that runs it, and its arguments."""

    def __init__(self, name: str, run: Callable[..., int], arguments: tuple[Argument, ...]) -> None:
        self.name, self.run, self.arguments = name, run, arguments
        self.help = (run.__doc__ or "").strip().split("\n")[0]


class CommandGroup(Command):
    """A command with commands of its own, which are made when one is asked for: `profile remember`.

    The arguments are options that each of them takes.
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
    """Declare an argument as `ArgumentParser.add_argument` takes it; also `completer`, `values`."""
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
        raise ValueError(f"{text!r} is no whole number of {least} or more")

    return parse


def port_number(text: str) -> int:
    """Return the number of a port; 0 stands for a free one."""
    number = count(0)(text)
    if number > LAST_PORT:
        raise ValueError(f"{text!r:.20} is no port: {LAST_PORT} at most")
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
        help="Megabytes of memory that the command may use; what needs more is left out, with a "
        "note. Default: $COMMONPLACE_MEMORY_LIMIT, else what control groups and ulimit allow, the "
        "upper bound in any case.",
    ),
    argument("--version", action="store_true", help="Print the version."),
    argument(
        "--completion",
        metavar="SHELL",
        help="Print the completion script for bash, zsh, fish, tcsh or powershell.",
    ),
    HELP,
)


def split(arguments: Sequence[str]) -> tuple[list[str], str | None, list[str]]:
    """Return what goes before the command, the command, and what follows it."""
    at = 0
    while at < len(arguments):
        word = arguments[at]
        if not word.startswith("-"):
            return [*arguments[:at]], word, [*arguments[at + 1 :]]
        at += 2 if word in {"--root", "--memory-limit", "--completion"} else 1
    return [*arguments], None, []


def parse_global(words: Sequence[str]) -> dict[str, Any]:
    """Return the options that go before the command.

    Raises:
        UsageError: One of them is unknown or has no such value.
    """
    given, _ = _parse_options(GLOBAL, words)
    named = os.environ.get("COMMONPLACE_MEMORY_LIMIT")
    if given["memory_limit"] is None and named:
        (limit,) = (one for one in GLOBAL if one.dest == "memory_limit")
        given["memory_limit"] = limit.value(named)
    return given


def _parse_options(
    options: Sequence[Argument], words: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    """Return the values of options, and the words that are none.

    Raises:
        UsageError: One is unknown, or has no such value.
    """
    by_name = {name: one for one in options for name in one.names}
    given = {one.dest: one.default for one in options}
    others: list[str] = []
    rest = [*reversed(words)]
    while rest:
        word = rest.pop()
        if not _looks_like_option(word):
            others.append(word)
            continue
        name, value = _parted(word, by_name)
        one = by_name.get(name)
        if one is None:
            raise UsageError(_unknown_option(word, options))
        if one.takes_value:
            if value is None:
                value = _next_value(one, name, rest)
            given[one.dest] = one.given(given[one.dest], value)
            continue
        if value is not None and word[1] == "-":
            raise UsageError(f"{name} takes no value: {word!r}")
        if value:
            # -cF is -c -F
            rest.append(f"-{value}")
        given[one.dest] = one.given(given[one.dest])
    return given, others


def _parted(word: str, known: Container[str]) -> tuple[str, str | None]:
    """Return the name of an option and what is joined to it: `--limit=5`, `-n=5`, `-n5`, `-cF`."""
    name, equals, value = word.partition("=")
    if name not in known and word[1] != "-":
        return word[:2], word[2:]
    return name, value if equals else None


def _next_value(option: Argument, name: str, rest: list[str]) -> str:
    """Take the value of an option off the words behind it.

    Raises:
        UsageError: There is none.
    """
    if rest and (not _looks_like_option(rest[-1]) or rest[-1][1:].replace(".", "", 1).isdecimal()):
        return rest.pop()
    what = option.settings.get("metavar") or "|".join(option.settings.get("choices", ("VALUE",)))
    meant = f'; a value that begins with "-" is given as {name}={rest[-1]}' if rest else ""
    raise UsageError(f"{name} needs a value: {name} {what}{meant}")


def _looks_like_option(word: str) -> bool:
    """Return whether a word is meant as an option: text with a space in it is not."""
    return word.startswith("-") and word != "-" and " " not in word


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
    given, others = _parse_options(options, words[:cut])
    places = [one for one in found.arguments if not one.is_option]
    return found, given | _placed(found, places, [*others, *words[cut + 1 :]])


def _of_group(group: CommandGroup, words: Sequence[str]) -> tuple[Command, list[str]]:
    """Return the command of a group that is asked for, and the other words.

    Raises:
        UsageError: There is no such command.
    """
    valued = {name for one in group.arguments if one.takes_value for name in one.names}
    known = {"--json", *(name for one in group.arguments for name in one.names)}
    unknown = ""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] in {"-h", "--help"}:
            return group, ["--help"]
        if words[at].partition("=")[0] not in known:
            unknown = unknown or words[at]
        at += 2 if words[at] in valued else 1
    inner = group.load()
    if at >= len(words):
        raise UsageError(
            f"say what to do: commonplace {group.name} {', '.join(inner)}; add --help to one to "
            "see its arguments"
        )
    if words[at] not in inner:
        if unknown:
            raise UsageError(_unknown_option(unknown, group.arguments))
        hint = _closest(words[at], inner) or f"commonplace {group.name} --help lists them"
        raise UsageError(f"there is no command '{group.name} {words[at]}'; {hint}")
    return inner[words[at]], [*words[:at], *words[at + 1 :]]


def _placed(command: Command, places: Sequence[Argument], words: list[str]) -> dict[str, Any]:
    """Return the positional arguments by name."""
    found: dict[str, Any] = {}
    for place in places:
        arity = place.settings.get("nargs")
        if not words and arity not in {"?", "*"}:
            missing = f"the argument {place.shown} is missing"
            raise UsageError(f"{missing}: {usage(command)}")
        if arity in {"*", "+"}:
            found[place.names[0]], words = [place.value(word) for word in words], []
        else:
            found[place.names[0]] = place.value(words.pop(0)) if words else None
    if words:
        takers = (one for one in command.arguments if words[0] in one.settings.get("choices", ()))
        option = next((f"; {one.shown} takes it" for one in takers if one.is_option), "")
        raise UsageError(f"{words[0]!r} is an argument too many: {usage(command)}{option}")
    return found


def usage(command: Command) -> str:
    """Return a command with its positional arguments, on one line."""
    forms = {"?": "[{0}]", "*": "[{0} ...]", "+": "{0} [{0} ...]"}
    places = [
        forms.get(one.settings.get("nargs", ""), "{0}").format(one.shown)
        for one in command.arguments
        if not one.is_option
    ]
    return " ".join(["commonplace", command.name, *places])


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

    # the dashes of options are alike in all
    by_name = {name.lstrip("-"): name for name in known}
    meant = get_close_matches(word.lstrip("-"), by_name, 1)
    return f"did you mean {by_name[meant[0]]!r}?" if meant else ""
