"""Regular expression that is compiled at its first use.

The tables hold some six hundred rules, and a process that stores one statement tries few of them.
To compile all took longer than the rest of the call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any


class LazyPattern:
    r"""The methods of `re.Pattern` that rules use, over a pattern that is compiled when needed.

    >>> LazyPattern(r"\bmoved to (\w+)").search("we moved to Lisbon")[1]
    'Lisbon'
    """

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern = pattern
        self.flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return re.compile(self.pattern, self.flags)

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first match in a text."""
        return self.compiled.search(text)

    def match(self, text: str) -> re.Match[str] | None:
        """Return the match at the start of a text."""
        return self.compiled.match(text)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """Return the match of a whole text."""
        return self.compiled.fullmatch(text)

    def findall(self, text: str) -> list[Any]:
        """Return what is matched, or its groups, as `re.Pattern.findall` does."""
        return self.compiled.findall(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches in a text."""
        return self.compiled.finditer(text)

    def sub(self, replacement: str, text: str) -> str:
        """Return a text in which each match is replaced."""
        return self.compiled.sub(replacement, text)
