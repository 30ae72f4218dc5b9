"""Base class of the memory systems: the tool that forgets."""

from __future__ import annotations

from abc import ABC, abstractmethod

from commonplace.entries.forgetting import ForgetAnswer
from commonplace.tools import tool


class ForgetTool(ABC):
    """A memory whose tool `forget` erases what a text or a citation names."""

    @tool("replaces")
    def forget(self, what: str, token: str = "") -> ForgetAnswer:
        """Forget something for good: from notes, archive, log and old versions.

        Call it when you are asked to forget or not to keep something. The first call only shows
        what it would erase; call it again with the `token` of that answer to erase it.

        Args:
            what: A text, such as a name or a sentence of it, or a citation that you were given.
            token: As the answer that showed it said; without it nothing is erased.

        Returns:
            `erased`, the `passages` with citation and text, how many `old_versions` hold it, and
            the `token`; where nothing holds the text, `similar` passages, to be cited.

        Raises:
            QueryError: The text is too short.
            Refused: The citation is not of this memory.
            NotFound: There is no such file.
            FormatError: There is nothing at these lines.
            Conflict: Something else would be erased by now; nothing was.
        """
        return self._forget(what, token)

    @abstractmethod
    def _forget(self, what: str, token: str) -> ForgetAnswer:
        """Show or erase what this memory holds; see `entries.forgetting.forget`."""
