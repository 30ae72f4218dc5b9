"""Commands about agent programs: hook, install, uninstall, doctor, log, plugin."""

from __future__ import annotations

import sys

from commonplace.cli import options
from commonplace.cli.output import ERROR, FOUND, NOTHING, emit, opened, print_message, printer
from commonplace.cli.parser import JSON, RootOptions, UsageError, closest, command
from commonplace.cli.printer import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from commonplace.doors.doctor import Finding
    from commonplace.doors.hosts.host import Host
    from commonplace.doors.settings_file import SettingsFile


@command(options.HOST, options.IN_PROJECT, options.MIN_CONFIDENCE)
def hook(opening: RootOptions, host: str, *, in_project: bool, min_confidence: float | None) -> int:
    """Answer a hook of an agent program: its JSON on stdin, the answer on stdout.

    `commonplace install HOST` connects it. The exit code is always 0, so the program goes on after
    an error. The error is on stderr and in .commonplace/hooks/errors.jsonl; doctor shows it.
    """
    try:
        import json

        from commonplace.doors.hook import handle
        from commonplace.doors.hosts import find_host

        found = find_host(host)
        try:
            payload = json.load(sys.stdin.buffer)
        except ValueError as error:
            raise ValueError(f"a hook takes a JSON object on stdin: {error}") from None
        if not isinstance(payload, dict):
            raise ValueError("a hook takes a JSON object on stdin")  # noqa: TRY301
        answer, problems = handle(
            found, payload, opening.root, project=in_project, min_confidence=min_confidence
        )
        if answer is not None:
            print(json.dumps(answer))
        for problem in problems:
            print_message(f"hook {host}: {problem}")
    except Exception as error:  # noqa: BLE001 - an agent must never fail by its memory
        problem = str(error) or type(error).__name__
        print_message(f"hook {host}: {problem}")
        _note_failure(opening, host, problem, in_project=in_project)
    return FOUND


def _note_failure(opening: RootOptions, host: str, problem: str, *, in_project: bool) -> None:
    """Log what kept a hook from answering. What is wrong may be the log or the program itself."""
    from contextlib import suppress

    with suppress(Exception):
        from commonplace.doors.hook import note_failure

        note_failure(opening.root, host, problem, project=in_project)


@command(options.HOST, options.IN_PROJECT, options.MIN_CONFIDENCE, options.DRY_RUN, JSON)
def install(
    opening: RootOptions,
    host: str,
    *,
    in_project: bool,
    min_confidence: float | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Connect an agent program to this memory: keep its sessions, recall what fits.

    Entries are added to the settings of the program. The rest of the settings stays as it is, and
    a copy of the old file is kept beside it. A second install changes nothing; uninstall removes
    the entries. VS Code gets the MCP server and the skill, but its sessions are not kept. The
    sessions of Cursor are kept, but its model gets standing facts only, nothing for a prompt.
    """
    from pathlib import Path

    from commonplace.doors.hook import memory_root
    from commonplace.doors.hook_log import HookLog
    from commonplace.doors.install import hooks_off, other_server
    from commonplace.store import open as open_store

    found, project = _host(host), _project(in_project=in_project)
    if min_confidence is not None and not found.recalls:
        raise UsageError(f"--min-confidence: {found.title} takes nothing for a prompt")
    files = _settings_files(opening, found, project, min_confidence)
    if dry_run:
        return _print_differences([(file, file.with_entries()) for file in files])
    for file in files:
        # one that is broken is refused before anything is changed
        file.with_entries()
    off = hooks_off(found, project)
    # so that hooks find it, and nothing is connected to a place that cannot be
    with open_store(opening.root or project or memory_root(None)) as store:
        HookLog(store).create()
    memory = str(Path(memory_root(opening.root, str(project) if project else None)).absolute())
    changed = [file for file in files if file.install()]
    _tell_edited(changed)
    if other := other_server(found, project):
        print_message(f"{other} has another MCP server called commonplace, which stays")
    if off:
        print_message(off)
    if as_json:
        return _emit_changed(changed, memory=memory)
    _say_changed(changed, f"connected {found.title} in", f"{found.title} is connected already")
    printer().line(f"the memory is in {memory}")
    if found.settings.advice:
        printer().line(found.settings.advice)
    if not project and any(f"--{host}" in one.names for one in options.HOSTS):
        printer().line(f"to import earlier sessions: commonplace import --{found.name}")
    return FOUND


@command(options.HOST, options.IN_PROJECT, options.DRY_RUN, JSON)
def uninstall(
    opening: RootOptions, host: str, *, in_project: bool, dry_run: bool, as_json: bool
) -> int:
    """Remove from the settings of an agent program what install has added.

    The memory itself stays.
    """
    found = _host(host)
    files = _settings_files(opening, found, _project(in_project=in_project))
    if dry_run:
        return _print_differences([(file, file.without_entries()) for file in files])
    changed = [file for file in files if file.uninstall()]
    _tell_edited(changed)
    if as_json:
        return _emit_changed(changed)
    _say_changed(changed, "removed commonplace from", f"{found.title} is not connected")
    return FOUND


def _project(*, in_project: bool) -> Path | None:
    from pathlib import Path

    if in_project and Path.cwd() == Path.home():
        raise UsageError("this is your home, and no project: leave --project out")
    return Path.cwd() if in_project else None


def _settings_files(
    opening: RootOptions, host: Host, project: Path | None, min_confidence: float | None = None
) -> list[SettingsFile]:
    import os

    from commonplace.doors.hook import memory_root
    from commonplace.doors.install import installed_files

    root = opening.root
    if not project and os.environ.get("COMMONPLACE_ROOT"):
        # a host that a desktop starts does not have the variables of this shell
        root = str(memory_root(root))
    # what a project has is shared with others, whose programs lie elsewhere
    program = "commonplace" if project else _program()
    try:
        return installed_files(
            host, program, root, project, with_mcp=True, min_confidence=min_confidence
        )
    except ValueError as error:
        raise UsageError(str(error)) from None


def _emit_changed(changed: list[SettingsFile], **more: str) -> int:
    emit({"changed": [str(file.path) for file in changed], **more})
    return FOUND


def _tell_edited(files: list[SettingsFile]) -> None:
    for file in files:
        if file.edited:
            print_message(f"{file.path} was edited; that text is kept in {file.edited.name}")


def _say_changed(changed: list[SettingsFile], done: str, otherwise: str) -> None:
    for file in changed:
        printer().line(f"{done} {file.path}")
    if not changed:
        printer().line(f"{otherwise}; nothing was changed")


def _print_differences(files: list[tuple[SettingsFile, str | None]]) -> int:
    for file, new in files:
        _print_difference(file, new)
    return FOUND


def _print_difference(file: SettingsFile, new: str | None) -> None:
    from difflib import unified_diff

    old = (file.text() or "").splitlines(keepends=True)
    lines = unified_diff(old, (new or "").splitlines(keepends=True), str(file.path), str(file.path))
    for line in lines:
        printer().line(line.rstrip("\r\n"))


def _program() -> str:
    """Return the path of the command, which a host may not find by its name."""
    import sysconfig
    from pathlib import Path

    called = Path(sys.argv[0]).absolute()
    scripts = Path(sysconfig.get_path("scripts"))
    return str(called if called.name == "commonplace" else scripts / "commonplace")


def _host(name: str) -> Host:
    from commonplace.doors.hosts import NAMES, find_host

    try:
        return find_host(name)
    except ValueError as error:
        raise UsageError("; ".join(filter(None, [str(error), closest(name, NAMES)]))) from None


@command(JSON)
def doctor(opening: RootOptions, *, as_json: bool) -> int:
    """Try the hooks of each connected agent program, and show recent failures.

    It looks at the settings of the user and of the current folder. Exit code 1: nothing is
    connected; 2: something does not work.
    """
    from pathlib import Path

    from commonplace.doors.doctor import check
    from commonplace.doors.hosts import NAMES, find_host

    places = [None] if Path.cwd() == Path.home() else [None, Path.cwd()]
    found = [one for name in NAMES for place in places for one in check(find_host(name), place)]
    errors = _last_errors(opening)
    if as_json:
        emit({"hosts": [_finding(one) for one in found], "errors": errors})
    else:
        # of a project only what is there: hardly any has settings of its own
        for one in [one for one in found if one.connected or one.problem or not one.in_project]:
            printer().line(f"{one.host.name:12} {one.place}  {one.problem or one.detail}")
        for error in errors:
            printer().line(f"{error.get('time')}  {error.get('host')}: {error.get('error')}")
    if any(one.problem for one in found):
        return ERROR
    return FOUND if any(one.connected for one in found) else NOTHING


def _last_errors(opening: RootOptions) -> list[dict[str, Any]]:
    """Return the last errors of hooks; that of the memory itself, where it cannot be opened."""
    from commonplace.doors.hook_log import HookLog
    from commonplace.errors import CommonplaceError, NotFound

    try:
        with opened(opening) as store:
            return HookLog(store).errors()[-5:]
    except NotFound:
        return []
    except (CommonplaceError, OSError) as error:
        return [{"time": "now", "host": "the memory", "error": str(error)}]


def _finding(one: Finding) -> dict[str, Any]:
    return {
        "host": one.host.name,
        "settings": str(one.place),
        "connected": one.connected,
        "problem": one.problem,
        "detail": one.detail,
    }


@command(options.LAST, JSON)
def log(opening: RootOptions, *, limit: int | None, as_json: bool) -> int:
    """Show what hooks have given to the model, newest last: when, how much, and from where.

    Each source of a prompt has the score by which it was found. For a prompt without sources
    nothing was found.
    """
    from commonplace.doors.hook_log import HookLog

    with opened(opening) as store:
        entries = [*HookLog(store).entries()][-(limit or 20) :]
        root = str(store.root)
    if as_json:
        emit(entries)
    else:
        for entry in entries:
            _print_entry(entry)
    if not entries:
        print_message(
            f"no hook has injected from {root}; commonplace install connects an agent program"
        )
    return FOUND if entries else NOTHING


def _print_entry(entry: dict[str, Any]) -> None:
    shown = entry.get("shown") or []
    why = entry.get("source") or ""
    head = f"{entry.get('time')}  {entry.get('host')}  {str(entry.get('session'))[:8]}"
    printer().line(
        clean(f"{head}  {entry.get('event')} {why}".rstrip() + f"  {_amount(entry, shown)}")
    )
    for one in shown:
        score = one.get("score")
        printer().line(f"    {one.get('citation')}" + (f"  {score:.2f}" if score else ""))


def _amount(entry: dict[str, Any], shown: list[Any]) -> str:
    return f"{entry.get('characters')} characters" if shown else "nothing"


@command(options.PLUGIN_FORM, options.PLUGIN_FOLDER, options.MIN_CONFIDENCE, JSON)
def plugin(
    opening: RootOptions,  # noqa: ARG001
    form: str,
    folder: Path,
    *,
    min_confidence: float | None,
    as_json: bool,
) -> int:
    """Write a plugin for an agent program to a new folder: hooks, skill and MCP.

    A plugin does the same as install, for people who manage plugins. Use one of the two.
    """
    from commonplace.doors.plugins import FORMS, RECALLING, write_plugin

    if form not in FORMS:
        hint = closest(form, FORMS) or f"use {', '.join(FORMS[:-1])} or {FORMS[-1]}"
        raise UsageError(f"unknown plugin form {form!r}; {hint}")
    if min_confidence is not None and form not in RECALLING:
        raise UsageError(f"--min-confidence is for what a prompt gets; from {form} it gets nothing")
    write_plugin(form, folder, with_mcp=True, min_confidence=min_confidence)
    emit({"folder": str(folder)}) if as_json else print(clean(f"wrote the plugin to {folder}"))
    return FOUND
