"""Settings of a memory: what `.commonplace/settings.toml` says."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, NoReturn

from commonplace.errors import FormatError, NotFound
from commonplace.timestamps import seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.side_files import SideFiles
    from commonplace.timestamps import When

NAME = "settings.toml"
WHERE = f".commonplace/{NAME}"
LONGEST = 16 << 10
"""Bytes of the file."""
# 2GB, 2gib, 2G, 2 B, 2
_BYTE_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) *(?:([kmgt])i?)?b?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ArchiveRule:
    """Which sessions are archived without being asked for, as `Store.archive` takes it.

    Attributes:
        older: Sessions whose last message is older.
        over: The oldest, until the transcripts that stay in memory are of so many bytes.
        sessions: These.
    """

    older: When | None = None
    over: int | None = None
    sessions: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self != ArchiveRule()

    def __str__(self) -> str:
        older = f"older = {self.older}" if self.older is not None else ""
        over = f"over = {self.over:,} bytes" if self.over is not None else ""
        sessions = f"sessions = {', '.join(self.sessions)}" if self.sessions else ""
        return "; ".join(filter(None, [older, over, sessions]))


@dataclass(frozen=True, slots=True)
class Settings:
    """What the file says.

    Attributes:
        archive: The rule of its table `[archive]`; false where it says nothing.
    """

    archive: ArchiveRule = field(default_factory=ArchiveRule)


def read_settings(side: SideFiles) -> Settings:
    """Return the settings of a memory; the defaults where there is no file.

    Args:
        side: The files below `.commonplace`.

    Raises:
        FormatError: The file is no TOML, or a table, a key or a value is none of ours; with file,
            line and key.
    """
    try:
        with side.handle(NAME, "r") as file:
            text = file.read(LONGEST + 1)
    except NotFound:
        return Settings()
    return settings_of(text or b"", side.path(NAME))


def settings_of(data: bytes, where: str = WHERE) -> Settings:
    r"""Return what a settings file of these bytes says; errors tell that it is at `where`.

    Raises:
        FormatError: As for `read_settings`.

    >>> settings_of(b'[archive]\nolder = "90d"\n').archive
    ArchiveRule(older='90d', over=None, sessions=())
    """
    if len(data) > LONGEST:
        raise FormatError(f"{where} is longer than {LONGEST >> 10} KB")
    try:
        # with a line end, without which the parser does not say in which line an error is
        text = data.decode("utf-8-sig").replace("\r\n", "\n") + "\n"
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise FormatError(f"{where}, line {line}: it is not UTF-8") from None
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{where}: {error}") from None
    for name, table in tables.items():
        if name != "archive":
            _refuse(where, text, (name,), f"there is no table {name!r}; there is [archive]")
        if not isinstance(table, dict):
            _refuse(where, text, (name,), "archive is a table: write [archive] above its keys")
    return Settings(_archive_rule(where, text, tables.get("archive", {})))


def byte_size(text: str) -> int:
    """Return a number of bytes as people write it.

    Raises:
        ValueError: It is none.

    >>> byte_size("2GB"), byte_size("500 kb"), byte_size("12")
    (2147483648, 512000, 12)
    """
    if size := _BYTE_SIZE.fullmatch(text.strip()):
        value = float(size[1]) * 1024 ** " kmgt".index((size[2] or " ").lower())
        if value < 2**63:
            return int(value)
    raise ValueError(f"{text!r:.40} is no size such as 2GB or 500MB")


def _archive_rule(where: str, text: str, table: dict[str, Any]) -> ArchiveRule:
    kinds: dict[str, Callable[[Any], Any]] = {"older": _time, "over": _size, "sessions": _names}
    values: dict[str, Any] = {}
    for key, value in table.items():
        at = ("archive", key)
        if key not in kinds:
            _refuse(where, text, at, f"[archive] has no key {key!r}; it has {', '.join(kinds)}")
        try:
            values[key] = kinds[key](value)
        except ValueError as error:
            _refuse(where, text, at, f"{key}: {error}")
    return ArchiveRule(**values)


def _time(value: Any) -> When:
    if not isinstance(value, (str, date)):
        raise ValueError(f'{value!r:.40} is no time; write "90d" or "2026-02-01", in quotes')
    seconds(value)
    return value


def _size(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise ValueError(f'{value!r:.40} is no size; write "2GB" or "500MB", in quotes')
    return byte_size(str(value))


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
        raise ValueError(f'{value!r:.40} is no list of sessions; write ["0198c1d2"]')
    return tuple(value)


def _refuse(where: str, text: str, keys: tuple[str, ...], why: str) -> NoReturn:
    raise FormatError(f"{where}, line {_line(text, keys)}: {why}")


def _line(text: str, keys: tuple[str, ...]) -> int:
    """Return the line at the end of which a key has a value: TOML is read line by line."""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            found: Any = tomllib.loads("\n".join(lines[:number]))
        except (ValueError, RecursionError):  # in the middle of a value
            continue
        for key in keys:
            found = found.get(key) if isinstance(found, dict) else None
        if found is not None:
            return number
    return len(lines)
