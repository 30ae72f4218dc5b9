"""Files under any names in a folder of a store: what file tools of frameworks expect.

A store keeps Markdown under names that every system takes. A framework's paths have any extension
and any characters. Markdown keeps its name where it is plain (`names`); another file has `%.md`
behind its own. A folder is there while files are in it, as in git.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from commonplace.doors.encoded_names import decode, encode
from commonplace.errors import Conflict, FormatError, NotFound

if TYPE_CHECKING:
    from commonplace._core import Entry
    from commonplace.store import Store

_MARKDOWN, _OTHER = ".md", "%.md"
_TRIES = 64
_Answer = TypeVar("_Answer")


class VirtualFiles:
    """The files of one folder, under the paths that a framework gives them (`a/b.txt`).

    Args:
        store: That keeps them.
        folder: Of the store.
    """

    def __init__(self, store: Store, folder: str) -> None:
        self.store = store
        self._folder = f"{folder.strip('/')}/" if folder.strip("/") else ""

    def path(self, name: str) -> str:
        """Return the path in the store of a file."""
        *folders, last = name.split("/")
        stem, extension = (
            (last[:-3], _MARKDOWN) if last[:-3] and last.endswith(".md") else (last, _OTHER)
        )
        return self._folder + "/".join([*map(encode, folders), encode(stem)]) + extension

    def below(self, folder: str = "") -> dict[str, Entry]:
        """Return the files below a folder by their names from there on, in order of these."""
        inner = "/".join(encode(part) for part in folder.split("/")) if folder else ""
        above = f"{folder}/" if folder else ""
        found = {}
        for entry in self.store.list(f"{self._folder}{inner}".rstrip("/")):
            name = self._name(entry.path)
            if name is not None and name.startswith(above):
                found[name[len(above) :]] = entry
        return dict(sorted(found.items()))

    def at_or_below(self, name: str) -> dict[str, Entry]:
        """Return the file of this name, else those below it, by their whole names."""
        if name and (entries := self.store.list(self.path(name))):
            return {name: entries[0]}
        return {f"{name}/{rest}".lstrip("/"): one for rest, one in self.below(name).items()}

    def holds_below(self, name: str) -> bool:
        """Say whether files are below a name."""
        return not name or bool(self.below(name))

    def holds(self, name: str) -> bool:
        """Say whether there is a file of this name."""
        return bool(name) and self.store.holds(self.path(name))

    def read(self, name: str) -> str:
        """Return the text of a file.

        Raises:
            NotFound: There is none.
        """
        return self.store.read(self.path(name))

    def read_versioned(self, name: str) -> tuple[str, str]:
        """Return the text of a file, and its version for a write that must lose nothing.

        Raises:
            NotFound: There is none.
        """
        path = self.path(name)
        while True:
            version = self.store.version(path)
            if version is None:
                raise NotFound(f"there is no file {name!r:.200}")
            text = self.store.read(path)
            # written meanwhile: what was read may be of either
            if self.store.version(path) == version:
                return text, version

    def write(self, name: str, text: str, expected_version: str | None = None) -> str:
        """Write a file and return its version; a secret that was not in it before is redacted.

        Raises:
            Conflict: It is no longer the expected version; `"absent"` is for a new file.
        """
        path = self.path(name)
        redacted, counts = self.store.redact(text)
        if counts:
            with suppress(NotFound):
                redacted, counts = self.store.redact(text, known=self.store.read(path))
        written = self.store.write(path, redacted, expected_version=expected_version)
        if counts:
            self.store.log_redactions(written.path, counts)
        return written.version

    def edit(self, name: str, change: Callable[[str], tuple[str, _Answer]]) -> _Answer:
        """Change a file by a function of its text, and lose nothing that others write.

        Args:
            name: Of the file.
            change: Given the text, returns the new one and an answer; it may run several times.

        Returns:
            The answer.

        Raises:
            NotFound: There is no such file.
            Conflict: Others write it all the time.
        """
        for _ in range(_TRIES):
            text, version = self.read_versioned(name)
            changed, answer = change(text)
            try:
                self.write(name, changed, version)
            except Conflict:
                continue
            return answer
        raise Conflict(f"the file {name!r:.200} is being changed by others; try again")

    def delete(self, name: str) -> None:
        """Take a file away.

        Raises:
            NotFound: There is none.
        """
        self.store.delete(self.path(name))

    def move(self, name: str, target: str) -> None:
        """Rename a file; the target must not exist."""
        self.store.move(self.path(name), self.path(target))

    def _name(self, path: str) -> str | None:
        """Return the name of a file of the store; None for what no framework has put there."""
        own = path.removeprefix(self._folder)
        if own.endswith(_OTHER):
            stem, extension = own.removesuffix(_OTHER), ""
        elif own.endswith(_MARKDOWN):
            stem, extension = own.removesuffix(_MARKDOWN), _MARKDOWN
        else:
            return None
        try:
            return "/".join(decode(stem)) + extension
        except FormatError:
            return None
