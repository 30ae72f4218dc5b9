"""Text of an answer with the versions of the files that it was read from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from commonplace.store import Store


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


def versioned(store: Store, text: str, paths: Mapping[str, str], revision: int) -> VersionedText:
    """Return a text with the versions of its files, if the store is as it was before it was read.

    Args:
        store: Where the files are.
        text: The text.
        paths: In the store, by the names that the tools of the memory take.
        revision: Of the store, from before the text was read.
    """
    versions = {name: store.version(path) or "absent" for name, path in paths.items()}
    # not those of a text that somebody wrote meanwhile: it was not seen
    return VersionedText(text, versions if store.revision() == revision else {})


def with_versions(text: str, versions: Mapping[str, str]) -> str:
    """Return a text with a line for each version behind it."""
    lines = [f"[version of {path}: {version}]" for path, version in versions.items()]
    above = text if not lines or not text or text.endswith("\n") else f"{text}\n"
    return above + "\n".join(lines)
