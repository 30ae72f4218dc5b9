"""Commands of the memory systems: `show`, and one for each of their tools.

The tools of a system are found by their mark, so that a new tool is a command at once. The systems
are imported when one of their commands is asked for.
"""

from __future__ import annotations

import sys

from commonplace.cli.options import KEEP_SECRETS, YES
from commonplace.cli.output import FOUND, NOTHING, agreed, emit, opened, print_message
from commonplace.cli.parser import (
    JSON,
    Argument,
    Command,
    RootOptions,
    UsageError,
    argument,
    command_group,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from commonplace.store import Store
    from commonplace.tools import Tool

FOLDER = argument(
    "--folder", metavar="PATH", help="Folder of this memory in the root. Default: the root."
)
USER = argument("--user", metavar="ID", help="Whose profile it is, when there are many.")
AGENT = argument("--agent", metavar="ID", help="Whose memory it is; must be given.")
WRITER = argument("--agent", metavar="ID", help="Who writes; kept with what is appended.")
SESSION = argument("--session", metavar="ID", help="The session whose memory it is; must be given.")
CWD = argument(
    "--cwd", metavar="FOLDER", help="Where the session works. Default: the current folder."
)
PAST = argument("--past", action="store_true", help="Also what is no longer true.")
# What `show` takes besides
SHOW = {"profile": (PAST,)}
# Working memory is that of a process, and so always empty here
LEFT_OUT = {"get_working_memory"}
# What a tool answers when there is nothing
EMPTY = ("Nothing ", "Found 0 result", "No messages", "No line holds ")


@command_group(USER, FOLDER, JSON)
def profile() -> dict[str, Command]:
    """Use a profile: what is known of a user, in one MEMORY.md."""
    return _commands("profile", (USER, FOLDER, JSON))


@command_group(FOLDER, JSON)
def facts_and_episodes() -> dict[str, Command]:
    """Use facts and episodes: notes with a summary line each."""
    return _commands("facts_and_episodes", (FOLDER, JSON))


@command_group(AGENT, FOLDER, JSON)
def world_and_agents() -> dict[str, Command]:
    """Use the shared world, and the memory and diary of an agent."""
    return _commands("world_and_agents", (AGENT, FOLDER, JSON))


@command_group(WRITER, FOLDER, JSON)
def four_layers() -> dict[str, Command]:
    """Use episodic, semantic and procedural memory."""
    return _commands("four_layers", (WRITER, FOLDER, JSON))


@command_group(SESSION, CWD, JSON)
def overview_and_detail() -> dict[str, Command]:
    """Use the memory of a session: its overview, notes and branches."""
    return _commands("overview_and_detail", (SESSION, CWD, JSON))


def _commands(system: str, shared: tuple[Argument, ...]) -> dict[str, Command]:
    """Return the commands of a system by name."""
    from commonplace.cli.memory_arguments import arguments_of
    from commonplace.memories import find_system
    from commonplace.tools import tools_for, tools_of

    kind = find_system(system)
    given = [name for name in tools_of(kind) if name not in LEFT_OUT]
    # without a store: only their signatures are asked for
    tools = tools_for(object.__new__(kind), only=given)
    names = {tool.name: _short(tool.name) for tool in tools}
    group = system.replace("_", "-")
    shown = (*SHOW.get(system, ()), *shared)
    found = {"show": Command(f"{group} show", _shower(system), shown)}
    for tool in tools:
        short = names[tool.name]
        more = () if tool.read_only else (KEEP_SECRETS,)
        yes = (YES,) if tool.name == "forget" or tool.effect == "erases" else ()
        arguments = (*arguments_of(tool, names), *yes, *more, *shared)
        found[short] = Command(f"{group} {short}", _runner(system, tool, names), arguments)
    return found


def _short(tool: str) -> str:
    """Return what a tool is called on the command line.

    >>> _short("memory_read"), _short("recall_memory"), _short("get_stats"), _short("learn_fact")
    ('read', 'recall', 'stats', 'learn-fact')
    """
    short = tool.removeprefix("memory_").removeprefix("get_").removesuffix("_memory")
    return short.replace("_", "-")


def _runner(system: str, tool: Tool, names: dict[str, str]) -> Callable[..., int]:
    """Return the function that runs a tool and prints its answer."""
    from commonplace.cli.memory_arguments import arguments_for, with_commands

    def run(opening: RootOptions, *, as_json: bool, **fields: Any) -> int:
        import msgspec

        from commonplace.cli.memory_answers import print_answer
        from commonplace.errors import CommonplaceError
        from commonplace.tools import VersionedText, tools_for

        if "messages" in fields:
            writes = not tool.read_only
            fields["messages"], fields["file"] = _conversation(opening, fields, create=writes)
        arguments = arguments_for(tool, fields)
        keeps = fields.get("keep_secrets", False)
        if tool.effect == "erases" and not _is_agreed(tool, names, arguments, fields):
            return FOUND
        with opened(opening, create=not tool.read_only, keep_secrets=keeps) as store:
            memory = _memory(system, store, fields)
            tools = tools_for(memory, only=[tool.name])
            try:
                answer = tools.run(tool.name, arguments)
                if tool.name == "forget" and _is_to_erase(answer, fields, as_json=as_json):
                    answer = tools.run(tool.name, {**arguments, "token": answer["token"]})
            except CommonplaceError as error:
                error.args = (with_commands(str(error), names),)
                raise
        if as_json and isinstance(answer, VersionedText):
            emit({"text": answer, "versions": answer.versions})
        elif as_json:
            emit({"text": answer} if isinstance(answer, str) else msgspec.to_builtins(answer))
        else:
            print_answer(answer, store.root)
        if not _is_nothing(answer):
            return FOUND
        if not isinstance(answer, str):
            print_message("nothing found")
        return NOTHING

    run.__doc__ = with_commands(tool.description, names)
    return run


def _is_to_erase(shown: Any, fields: dict[str, Any], *, as_json: bool) -> bool:
    """Return whether what `forget` has shown goes at once: --yes says so, or a person who is asked.

    Elsewhere the token of the answer erases it, by a second command.
    """
    from commonplace.cli.memory_answers import print_answer

    if not shown.get("token") or fields["yes"]:
        return bool(shown.get("token"))
    if as_json or not sys.stdin.isatty():
        return False
    print_answer({**shown, "token": None})
    return agreed(yes=False)


def _is_agreed(
    tool: Tool, names: dict[str, str], arguments: dict[str, Any], fields: dict[str, Any]
) -> bool:
    """Return whether a tool that erases may: on a terminal a person is asked without --yes."""
    what = ", ".join(map(str, arguments.values())) or "everything"
    question = f"{names[tool.name].capitalize()} {what}?"
    return not sys.stdin.isatty() or agreed(yes=fields["yes"], question=question)


def _is_nothing(answer: Any) -> bool:
    """Return whether a tool has found nothing to read or to forget."""
    if isinstance(answer, str):
        return answer.startswith(EMPTY)
    if isinstance(answer, dict) and "erased" in answer:
        return not (answer["erased"] or answer.get("token"))
    return not answer


def _shower(system: str) -> Callable[..., int]:
    """Return the function that shows what a memory holds."""

    def run(opening: RootOptions, *, as_json: bool, **fields: Any) -> int:
        """Show what the memory holds, in a pager on a terminal."""
        import msgspec

        from commonplace.cli.memory_answers import overview_of, print_sections

        own = {one.dest: fields[one.dest] for one in SHOW.get(system, ())}
        with opened(opening) as store:
            sections = overview_of(system, _memory(system, store, fields), store, **own)
        if as_json:
            emit(msgspec.to_builtins(sections))
        else:
            print_sections(sections)
        if not sections:
            print_message("nothing is remembered yet")
        return FOUND if sections else NOTHING

    return run


def _memory(system: str, store: Store, fields: dict[str, Any]) -> Any:
    """Return the memory that the options mean.

    Raises:
        UsageError: It needs an agent or a session, and none is named.
    """
    from commonplace.memories import find_system

    kind: Any = find_system(system)
    folder = fields.get("folder") or ""
    if system == "profile":
        return kind(store, user=fields["user"], folder=folder)
    if system == "four_layers":
        return kind(store, folder, agent=fields["agent"])
    if system == "facts_and_episodes":
        return kind(store, folder)
    if system == "world_and_agents":
        if fields["agent"] is None:
            raise UsageError(_which("--agent", store, f"{folder}/agents".lstrip("/")))
        return kind(store, fields["agent"], folder=folder)
    if fields["session"] is None:
        from commonplace.memories.overview_and_detail.folder import session_folder

        here = session_folder(fields["cwd"] or ".", "x").rpartition("/")[0]
        raise UsageError(_which("--session", store, here))
    return kind(store, fields["session"], cwd=fields["cwd"])


def _which(option: str, store: Store, folder: str) -> str:
    """Return what to say where an agent or a session is missing: which there are."""
    depth = folder.count("/") + 1
    there = dict.fromkeys(
        entry.path.split("/")[depth] for entry in store.list(folder) if entry.path != folder
    )
    known = f"; there are {', '.join([*there][:10])}" if there else ""
    return f"say whose memory it is: {option} ID{known}"


def _conversation(
    opening: RootOptions, fields: dict[str, Any], *, create: bool
) -> tuple[str | None, Any]:
    """Return a conversation as a path in the memory, or as a file outside of it."""
    from contextlib import suppress
    from pathlib import Path

    from commonplace.errors import Refused

    given = fields["messages"]
    if given in {None, "-"} or fields["file"]:
        return given, fields["file"]
    inside = False
    with opened(opening, create=create) as store:
        # a path outside of the memory is refused
        with suppress(Refused):
            inside = store.holds(given)
        if not inside and (session := store.find_session(given)):
            return session.path, None
    return (given, None) if inside or not Path(given).is_file() else (None, Path(given))
