"""Backend of Deep Agents: the files of an agent as notes in a folder of a store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from deepagents.backends.protocol import (
    FILE_NOT_FOUND,
    BackendProtocol,
    DeleteResult,
    EditResult,
    FileData,
    FileDownloadResponse,
    FileInfo,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from deepagents.backends.utils import (
    InvalidGlobPatternError,
    compile_grep_include_glob,
    grep_matches_from_files,
    perform_string_replacement,
    slice_read_response,
    validate_path,
)

from commonplace.doors.virtual_files import VirtualFiles
from commonplace.errors import CommonplaceError, NotFound

if TYPE_CHECKING:
    from commonplace._core import Entry
    from commonplace.store import Store

_Result = TypeVar("_Result")


class NoteBackend(BackendProtocol):
    """A backend: `create_deep_agent(model, backend=NoteBackend(store), memory=["/AGENTS.md"])`.

    Each call has an async version, which runs in a thread. What the store refuses is the error
    of a result, which the model reads.

    Args:
        store: That keeps the files.
        folder: Of the store; what the agent calls `/`.
    """

    def __init__(self, store: Store, folder: str = "deepagents") -> None:
        self._files = VirtualFiles(store, folder)

    def ls(self, path: str) -> LsResult:
        """List the files and folders directly in a folder; a folder's path ends in `/`."""

        def listed() -> LsResult:
            name = _name(path)
            above = f"/{name}/" if name else "/"
            entries: dict[str, FileInfo] = {}
            for inner, entry in self._files.below(name).items():
                first, _, rest = inner.partition("/")
                shown = f"{above}{first}/" if rest else f"{above}{first}"
                info: FileInfo = {"path": shown, "is_dir": True, "size": 0, "modified_at": ""}
                entries[shown] = info if rest else _info(shown, entry)
            return LsResult(entries=[entries[shown] for shown in sorted(entries)])

        return _told(listed, lambda error: LsResult(error=error))

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Return lines of a file, `limit` of them behind the first `offset`."""

        def found() -> ReadResult:
            try:
                return slice_read_response(self._data(_name(file_path)), offset, limit)
            except NotFound:
                return ReadResult(error=f"File '{file_path}' not found")

        return _told(found, lambda error: ReadResult(error=error))

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """Find the lines that hold a text, in a file or below a folder."""

        def found() -> GrepResult:
            name = _name(path or "/")
            files = {f"/{one}": self._data(one) for one in self._files.at_or_below(name)}
            return grep_matches_from_files(files, pattern, f"/{name}", glob, max_count=max_count)

        return _told(found, lambda error: GrepResult(error=error))

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Find files by their names, newest first."""

        def found() -> GlobResult:
            name = _name(path or "/")
            matches = compile_grep_include_glob(pattern)
            infos = [
                _info(f"/{one}", entry)
                for one, entry in self._files.at_or_below(name).items()
                # the file that was given is matched by its last name
                if matches(one[len(name) :].lstrip("/") or one.rpartition("/")[2])
            ]
            infos.sort(key=lambda info: info["modified_at"], reverse=True)
            return GlobResult(matches=infos)

        return _told(found, lambda error: GlobResult(error=error))

    def write(self, file_path: str, content: str) -> WriteResult:
        """Write a file; its text before goes to the history of the store."""

        def written() -> WriteResult:
            if not (name := _name(file_path)):
                return WriteResult(error=f"Error: '{file_path}' is a folder")
            self._files.write(name, content)
            return WriteResult(path=file_path)

        return _told(written, lambda error: WriteResult(error=error))

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
    ) -> EditResult:
        """Replace a text that occurs once, or each with `replace_all`."""

        def replaced(text: str) -> tuple[str, EditResult]:
            result = perform_string_replacement(text, old_string, new_string, replace_all)
            if isinstance(result, str):
                return text, EditResult(error=result)
            return result[0], EditResult(path=file_path, occurrences=result[1])

        def edited() -> EditResult:
            try:
                return self._files.edit(_name(file_path), replaced)
            except NotFound:
                return EditResult(error=f"Error: File '{file_path}' not found")

        return _told(edited, lambda error: EditResult(error=error))

    def delete(self, file_path: str) -> DeleteResult:
        """Delete a file, or a folder with all that is in it."""

        def deleted() -> DeleteResult:
            found = self._files.at_or_below(_name(file_path))
            if not found:
                return DeleteResult(error=f"Error: File '{file_path}' not found")
            for one in found:
                self._files.delete(one)
            return DeleteResult(path=file_path)

        return _told(deleted, lambda error: DeleteResult(error=error))

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Write files of text in UTF-8; another is refused, and the rest are written."""

        def put(path: str, content: bytes) -> FileUploadResponse:
            try:
                return FileUploadResponse(path, self.write(path, content.decode()).error)
            except UnicodeDecodeError as error:
                return FileUploadResponse(path, f"only text in UTF-8 is kept: {error}")

        return [put(path, content) for path, content in files]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Return the bytes of files."""

        def found(path: str) -> FileDownloadResponse:
            try:
                return FileDownloadResponse(path, self._files.read(_name(path)).encode())
            except NotFound:
                return FileDownloadResponse(path, error=FILE_NOT_FOUND)

        return [
            _told(partial(found, path), partial(FileDownloadResponse, path, None)) for path in paths
        ]

    def _data(self, name: str) -> FileData:
        return {"content": self._files.read(name), "encoding": "utf-8"}


def _told(run: Callable[[], _Result], failed: Callable[[str], _Result]) -> _Result:
    """Run a call; what is wrong with it is an answer that the model reads."""
    try:
        return run()
    except (CommonplaceError, InvalidGlobPatternError, _PathError) as error:
        return failed(str(error))


def _info(path: str, entry: Entry) -> FileInfo:
    modified = datetime.fromtimestamp(entry.modified, UTC).isoformat()
    return {"path": path, "is_dir": False, "size": entry.size, "modified_at": modified}


class _PathError(ValueError):
    """A path that Deep Agents does not take."""


def _name(path: str) -> str:
    """Return the name of a path of the agent's; `""` is the folder itself."""
    try:
        return validate_path(path).lstrip("/")
    except ValueError as error:
        raise _PathError(str(error)) from None
