"""Text of an answer with the versions of the files that it was read from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self


class VersionedText(str):
    r"""A text, and the version of each file in it, which a later write takes as expected version.

    `Toolset.call()` puts the versions behind the text, for a model.

    Args:
        text: The text.
        versions: By path, as the tools of the memory name it; `absent` for a file not yet there.

    >>> text = VersionedText("# User", {"facts/user.md": "71213b51"})
    >>> text, text.versions["facts/user.md"]
    ('# User', '71213b51')
    >>> text.with_versions()
    '# User\n[version of facts/user.md: 71213b51]'
    """

    __slots__ = ("versions",)

    versions: Mapping[str, str]

    def __new__(cls, text: str, versions: Mapping[str, str]) -> Self:
        """Make one; a `str` takes its text when it is made."""
        self = super().__new__(cls, text)
        self.versions = dict(versions)
        return self

    def __reduce__(self) -> tuple[type[Self], tuple[str, Mapping[str, str]]]:
        """Return what it is made of again, in a copy or in another process."""
        return type(self), (str(self), self.versions)

    def with_versions(self) -> str:
        """Return the text with a line for each version behind it."""
        return with_versions(self, self.versions)


def with_versions(text: str, versions: Mapping[str, str]) -> str:
    """Return a text with a line for each version behind it."""
    lines = [f"[version of {path}: {version}]" for path, version in versions.items()]
    above = text if not lines or not text or text.endswith("\n") else f"{text}\n"
    return above + "\n".join(lines)
