"""Settings file of another program: read, back up, replace at once, restore."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from pathlib import Path

from commonplace.errors import Conflict, FormatError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

BACKUP = ".before-commonplace"
# how a comment is written in a file that is ours as a whole
_COMMENTS = {".md": "<!-- {} -->", ".js": "// {}", ".py": "# {}", ".yaml": "# {}"}


class SettingsFile:
    """A settings file, which lies outside of every root.

    Args:
        path: Where it is, or is to be. A link is followed: people keep settings elsewhere.
        add: Return its text with our entries; of those that it has only what is out of date
            changes. "" is a new file.
        drop: Return its text without our entries. Both raise ValueError for a broken text.
    """

    edited: Path | None = None
    """Where a text is kept that somebody has made of a file of ours, since that was replaced."""
    # how many folders above it may be ours
    _own_folders = 0

    def __init__(self, path: Path, add: Callable[[str], str], drop: Callable[[str], str]) -> None:
        self.path = path
        self.add, self.drop = add, drop
        # links in a circle stay what they are; to read one is refused
        self._target = Path(os.path.realpath(path))

    @property
    def backup(self) -> Path:
        """The file that keeps what was there before."""
        return self.path.with_name(self.path.name + BACKUP)

    def text(self) -> str | None:
        """Return what the file holds, None where there is none.

        Raises:
            FormatError: It is not UTF-8.
            OSError: The system refused.
        """
        return read_settings(self._target)

    def with_entries(self) -> str:
        """Return the text with our entries.

        Raises:
            FormatError: The text is broken; the message has line and column.
        """
        # also says whether the file may be changed at all
        self.without_entries()
        try:
            return self.add(self.text() or "")
        except ValueError as error:
            raise self._broken(error) from None

    def without_entries(self) -> str | None:
        """Return the text as it was before ours was put in, None where there was no file.

        If nothing but our entries was changed since, it is that to the byte; else the entries alone
        are taken out.

        Raises:
            FormatError: The text is broken; the message has line and column.
        """
        now, before = self.text(), read_settings(self.backup)
        if now is None:
            return None
        try:
            left = self.drop(now)
            # what ours were then does not matter: without them both are the same
            is_connected = left != now
            return before if is_connected and left == self.drop(self.add(before or "")) else left
        except ValueError as error:
            raise self._broken(error) from None

    def install(self) -> bool:
        """Put our entries in and return whether that changed anything.

        Raises:
            FormatError: The text is broken.
            Conflict: Somebody else wrote the file meanwhile.
            OSError: The system refused; nothing was changed.
        """
        now, base, new = self.text(), self.without_entries(), self.with_entries()
        if new == now:
            return False
        if base is not None:
            _replace(self.backup, base, like=self._target)
        self._write(new, expected=now)
        return True

    def uninstall(self) -> bool:
        """Take our entries out, with the backup, and return whether that changed anything.

        Raises:
            FormatError, Conflict, OSError: As `install`.
        """
        now, base = self.text(), self.without_entries()
        if base != now:
            if base is None:
                self._target.unlink()
                self._remove_empty_folders()
            else:
                self._write(base, expected=now)
        self.backup.unlink(missing_ok=True)
        return base != now

    def _remove_empty_folders(self) -> None:
        """Remove the folders that only this file was in: ours made them."""
        if self._target.suffix == ".py":
            self._remove_compiled(self._target.parent / "__pycache__")
        for folder in [*self._target.parents][: self._own_folders]:
            if any(folder.iterdir()):
                return
            folder.rmdir()

    def _remove_compiled(self, folder: Path) -> None:
        """Remove what a Python has made of this file."""
        for one in folder.glob(f"{self._target.stem}.*.pyc"):
            one.unlink()
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()

    def _write(self, text: str, expected: str | None) -> None:
        if self.text() != expected:
            raise Conflict(f"{self.path} was changed meanwhile; nothing was written, try again")
        self._target.parent.mkdir(parents=True, exist_ok=True)
        _replace(self._target, text, like=self._target)

    def _broken(self, error: ValueError) -> FormatError:
        return FormatError(f"{self.path}: {error}; fix the file; nothing was changed")


class OwnFile(SettingsFile):
    """A file that is ours as a whole; its last line has a hash, by which an edit is noticed.

    Args:
        path: Where it is to be.
        content: What it holds. By its first two lines ours is told from another.
        own_folders: How many folders above it are removed with it when nothing else is in them; of
            a skill its own, and that of all skills.
    """

    def __init__(self, path: Path, content: str, own_folders: int = 2) -> None:
        content = _with_hash(content, path.suffix)
        super().__init__(path, lambda _: content, lambda _: "")
        self._content, self._own_folders = content, own_folders

    def without_entries(self) -> str | None:
        """Return None: without us there is no such file.

        Raises:
            FormatError: There is one of somebody else.
        """
        now, own = self.text(), self._content.splitlines()[:2]
        if now is not None and now.splitlines()[:2] != own:
            raise FormatError(f"{self.path} is not ours; move it away, nothing was changed")
        return None

    def install(self) -> bool:
        """Write the file and return whether that changed anything; an edited one is kept beside it.

        Raises:
            FormatError, Conflict, OSError: As for a file of others.
        """
        if self.text() != self.with_entries():
            self._keep_edited()
        return super().install()

    def uninstall(self) -> bool:
        """Remove the file and return whether it was there; an edited one is kept beside it.

        Raises:
            FormatError, Conflict, OSError: As for a file of others.
        """
        self.without_entries()
        self._keep_edited()
        return super().uninstall()

    def _keep_edited(self) -> None:
        """Copy what somebody has made of the file; the name tells one edit from another."""
        text = self.text() or ""
        body = "".join(text.splitlines(keepends=True)[:-1])
        if not text or text == _with_hash(body, self.path.suffix):
            return
        self.edited = self.path.with_name(f"{self.path.name}.edited-{_hash(text)}")
        _replace(self.edited, text, like=self._target)


def _with_hash(text: str, suffix: str) -> str:
    told = f"written by commonplace install, {_hash(text)}"
    return f"{text}{_COMMENTS[suffix].format(told)}\n"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def read_settings(path: Path) -> str | None:
    """Return what a file holds, None where there is none.

    Raises:
        FormatError: It is not UTF-8.
        OSError: The system refused.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode().split("\n")
        place = f"line {len(before)}, column {len(before[-1]) + 1}"
        told = f"{path}: {place}: it is not UTF-8; fix the file; nothing was changed"
        raise FormatError(told) from None


def _replace(path: Path, text: str, like: Path) -> None:
    """Put a text in the place of a file, all at once, with the permissions of another.

    Raises:
        OSError: The system refused; it names the file, and not one that was made on the way.
    """
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        told = f"it cannot be written ({error.strerror}); make its folder writable"
        raise OSError(error.errno, told, str(path)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
            if like.exists():
                os.fchmod(file.fileno(), stat.S_IMODE(like.stat().st_mode))
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
