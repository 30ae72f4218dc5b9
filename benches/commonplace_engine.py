"""Adapter of commonplace to the benchmark's protocol of a search engine, by the public Python API.

Why it exists: so that ours and theirs run through the same loops. Our `build` reads and cuts the
Markdown files itself and answers a first query before it counts as done.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from benches.baselines import Change, Output

if TYPE_CHECKING:
    import commonplace


def missing() -> str | None:
    """Return why commonplace cannot be measured here, or None when it can."""
    try:
        import_module("commonplace")
    except ImportError as error:
        return f"commonplace cannot be imported ({error}); only the baselines are measured"
    return None


class Ours:
    """A store over a folder of notes that nobody else is using."""

    name = "commonplace"

    def __init__(self, root: Path, *, watch: bool = True) -> None:
        self._root, self._watch, self._durable = root, watch, False
        self._store: commonplace.Store | None = None

    @property
    def store(self) -> commonplace.Store:
        """The open store."""
        if self._store is None:
            import commonplace  # noqa: PLC0415 - the baselines can be measured without it

            self._store = commonplace.open(self._root, watch=self._watch)
        return self._store

    def build(self) -> None:
        self.close()
        shutil.rmtree(self._root / ".commonplace", ignore_errors=True)
        self.query(["ready"], 1, "text")

    def settle(self) -> None:
        """Nothing: a built index is ready."""

    def query(self, words: Sequence[str], limit: int, output: Output) -> list[str]:
        hits = self.store.search(" ".join(words), limit, unit="message")
        citations = []
        for hit in hits:
            _ = hit.snippet if output == "snippet" else hit.text
            # a hit cites the line of its passage; the baselines know a section by its first line
            citations.append(f"{hit.path}#L{hit.first_line}")
        return citations

    def update(self, change: Change) -> None:
        path = change.section.path
        if self._durable:
            self.store.write(path, change.file_text)
        else:
            # Another program saves the file; nobody tells the store. It writes over what is there:
            # of a file emptied first, ext4 begins to write the new text to disk as it is closed.
            with (self._root / path).open("r+b", buffering=0) as file:
                file.write(change.file_text.encode())
                file.truncate()

    def sync(self, durable: bool) -> None:
        self._durable = durable

    def reopen(self) -> None:
        _ = self.store

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None
