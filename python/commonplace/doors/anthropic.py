"""Memory tool of the Anthropic SDK (`memory_20250818`) over a folder of a store.

It answers as the SDK's own tool on local files does, word by word, since models are trained on
these texts. It differs where that tool loses something: see `docs/how-to/doors/anthropic.md`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from anthropic.lib.tools import (
    BetaAbstractMemoryTool,
    BetaAsyncAbstractMemoryTool,
    ToolError,
)
from anyio.to_thread import run_sync

from commonplace.doors.virtual_files import VirtualFiles
from commonplace.errors import CommonplaceError, Conflict, NotFound

if TYPE_CHECKING:
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )

    from commonplace.store import Store

ROOT = "/memories"
MAX_LINES = 999_999
_Command = TypeVar("_Command")
_Edit = Callable[[str], tuple[str, str]]


class MemoryCommands:
    """The six commands of the tool on the files of a folder."""

    def __init__(self, store: Store, folder: str = "memories") -> None:
        self._files = VirtualFiles(store, folder)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a folder, two levels deep, or a file with line numbers."""
        name = _name(command.path)
        if self._files.holds(name):
            return self._view_file(name, command)
        if not self._files.holds_below(name):
            raise ToolError(_missing(command.path))
        sizes: dict[str, int] = {}
        total = 0
        for inner, entry in self._files.below(name).items():
            parts = inner.split("/")
            hidden = next((n for n, part in enumerate(parts) if part.startswith(".")), len(parts))
            total += entry.size
            # a folder is as large as what is in it
            for depth in range(1, min(len(parts), hidden, 2) + 1):
                shown = "/".join(parts[:depth]) + ("/" if depth < len(parts) else "")
                sizes[shown] = sizes.get(shown, 0) + entry.size
        lines = [f"{_size(total)}\t{command.path}"]
        lines += [
            f"{_size(sizes[shown])}\t{command.path}/{shown}"
            for shown in sorted(sizes, key=lambda shown: shown.rstrip("/").split("/"))
        ]
        return (
            "Here're the files and directories up to 2 levels deep in "
            f"{command.path}, excluding hidden items:\n" + "\n".join(lines)
        )

    def _view_file(self, name: str, command: BetaMemoryTool20250818ViewCommand) -> str:
        lines = self._files.read(name).split("\n")
        if len(lines) > MAX_LINES:
            raise ToolError(f"File {command.path} exceeds maximum line limit of 999,999 lines.")
        first, last = 1, len(lines)
        if command.view_range and len(command.view_range) == 2:
            first, end = max(1, command.view_range[0]), command.view_range[1]
            last = last if end == -1 else end
        shown = _numbered(lines[first - 1 : last], first)
        return f"Here's the content of {command.path} with line numbers:\n{shown}"

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a new file."""
        name = _name(command.path)
        self._check_free(name, command.path, f"File {command.path} already exists")
        try:
            self._files.write(name, command.file_text, "absent")
        except Conflict:
            raise ToolError(f"File {command.path} already exists") from None
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once."""

        def replaced(text: str) -> tuple[str, str]:
            old, found = command.old_str, _occurrences(text, command.old_str)
            if not found:
                raise ToolError(
                    f"No replacement was performed, old_str `{old}` did not appear verbatim in "
                    f"{command.path}."
                )
            if text.count(old) > 1:
                lines = ", ".join(str(text[:at].count("\n") + 1) for at in found)
                raise ToolError(
                    f"No replacement was performed. Multiple occurrences of old_str `{old}` in "
                    f"lines: {lines}. Please ensure it is unique"
                )
            changed = text[: found[0]] + command.new_str + text[found[0] + len(old) :]
            line = text[: found[0]].count("\n") + 1
            around = changed.split("\n")[max(0, line - 3) : line + 2]
            return changed, (
                "The memory file has been edited. Here is the snippet showing the change "
                f"(with line numbers):\n{_numbered(around, max(1, line - 2))}"
            )

        return self._edit(command.path, replaced)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert text behind a line."""

        def inserted(text: str) -> tuple[str, str]:
            lines = text.split("\n")
            if lines[-1] == "":
                lines.pop()
            if not 0 <= command.insert_line <= len(lines):
                raise ToolError(
                    f"Invalid `insert_line` parameter: {command.insert_line}. "
                    f"It should be within the range [0, {len(lines)}]."
                )
            lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
            changed = "\n".join(lines)
            end = "" if changed.endswith("\n") else "\n"
            return changed + end, f"The file {command.path} has been edited."

        return self._edit(command.path, inserted)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Take away a file, or a folder with all that is in it."""
        name = _name(command.path)
        if not name:
            raise ToolError("Cannot delete the /memories directory itself")
        inner = self._files.at_or_below(name)
        if not inner:
            raise ToolError(f"The path {command.path} does not exist")
        for one in inner:
            self._files.delete(one)
        return f"Successfully deleted {command.path}"

    def move(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Rename a file, or a folder with all that is in it."""
        name, target = _name(command.old_path), _name(command.new_path)
        if not name:
            raise ToolError("Cannot rename the /memories directory itself")
        taken = f"The destination {command.new_path} already exists"
        if not target:
            raise ToolError(taken)
        self._check_free(target, command.new_path, taken)
        moves = [(one, target + one[len(name) :]) for one in self._files.at_or_below(name)]
        if not moves:
            raise ToolError(f"The path {command.old_path} does not exist")
        if target.startswith(f"{name}/"):
            raise ToolError(f"Cannot move {command.old_path} into itself")
        for one, other in moves:
            self._files.move(one, other)
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear_all_memory(self) -> str:
        """Take away every file."""
        for name in self._files.below():
            self._files.delete(name)
        return "All memory cleared"

    def _edit(self, path: str, edit: _Edit) -> str:
        """Change a file by a function of its text, and lose nothing that others write."""
        name = _name(path)
        if not self._files.holds(name):
            if self._files.holds_below(name):
                raise ToolError(f"The path {path} is not a file.")
            raise ToolError(_missing(path))
        return self._files.edit(name, edit)

    def _check_free(self, name: str, path: str, taken: str) -> None:
        """Refuse a name that is taken, or one below a file."""
        if self._files.holds(name) or self._files.holds_below(name):
            raise ToolError(taken)
        above = name
        while above := posixpath.dirname(above):
            if self._files.holds(above):
                raise ToolError(f"{ROOT}/{above} is a file, and {path} would be below it")


class MemoryTool(BetaAbstractMemoryTool):
    """The memory tool: hand it to `client.beta.messages.tool_runner(tools=[…])`.

    Args:
        store: That keeps the files.
        folder: Of the store; what the model calls `/memories`.
        cache_control: As the SDK takes it.
    """

    def __init__(
        self,
        store: Store,
        folder: str = "memories",
        *,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._commands = MemoryCommands(store, folder)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a folder or a file."""
        return _told(self._commands.view, command)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a new file."""
        return _told(self._commands.create, command)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once."""
        return _told(self._commands.str_replace, command)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert text behind a line."""
        return _told(self._commands.insert, command)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Take away a file or a folder."""
        return _told(self._commands.delete, command)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Rename a file or a folder."""
        return _told(self._commands.move, command)

    def clear_all_memory(self) -> str:
        """Take away every file."""
        return self._commands.clear_all_memory()


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The memory tool for an `AsyncAnthropic`; each command runs in a thread.

    Args:
        store: That keeps the files.
        folder: Of the store; what the model calls `/memories`.
        cache_control: As the SDK takes it.
    """

    def __init__(
        self,
        store: Store,
        folder: str = "memories",
        *,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._commands = MemoryCommands(store, folder)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a folder or a file."""
        return await run_sync(_told, self._commands.view, command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a new file."""
        return await run_sync(_told, self._commands.create, command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once."""
        return await run_sync(_told, self._commands.str_replace, command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert text behind a line."""
        return await run_sync(_told, self._commands.insert, command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Take away a file or a folder."""
        return await run_sync(_told, self._commands.delete, command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Rename a file or a folder."""
        return await run_sync(_told, self._commands.move, command)

    async def clear_all_memory(self) -> str:
        """Take away every file."""
        return await run_sync(self._commands.clear_all_memory)


def _told(run: Callable[[_Command], str], command: _Command) -> str:
    """Run a command; what the store reports is an answer that the model reads."""
    try:
        return run(command)
    except NotFound:
        path = getattr(command, "path", None) or getattr(command, "old_path", "")
        gone = f"The file {path} no longer exists (may have been deleted or renamed concurrently)."
        raise ToolError(gone) from None
    except CommonplaceError as error:
        raise ToolError(str(error)) from error


def _name(path: str) -> str:
    """Return a path of the model's below `/memories`; `""` is the folder itself."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with {ROOT}, got: {path}")
    # `..` may go up, but not out
    name = posixpath.normpath(path[len(ROOT) :].lstrip("/") or ".")
    if name == ".." or name.startswith("../"):
        raise ToolError(f"Path {path} would escape {ROOT} directory")
    return "" if name == "." else name


def _missing(path: str) -> str:
    return f"The path {path} does not exist. Please provide a valid path."


def _occurrences(text: str, old: str) -> list[int]:
    """Return where a text begins in another, overlapping ones too."""
    found, at = [], text.find(old)
    while at >= 0:
        found.append(at)
        at = text.find(old, at + 1)
    return found


def _numbered(lines: list[str], first: int) -> str:
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, first))


def _size(size: int) -> str:
    """Return a number of bytes as the SDK writes it: `0B`, `1.5K`."""
    step = min(max(size.bit_length() - 1, 0) // 10, 3)
    value = size / 1024**step
    number = int(value) if value == int(value) else f"{value:.1f}"
    return f"{number}{'BKMG'[step]}"
