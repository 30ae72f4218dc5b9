"""Pytest fixtures of the benchmarks: a small seeded store, skipped without the native module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benches import corpora
from benches.commonplace_engine import missing

if TYPE_CHECKING:
    import commonplace

FILES, MESSAGES = 500, 5_000


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, with the reason, what needs the native module where it is absent."""
    if reason := missing():
        for item in items:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a root of 500 synthetic notes (5,000 sections) and a transcript of 5,000 lines."""
    made = tmp_path_factory.mktemp("bench") / "root"
    corpora.copies(corpora.synthetic("bench", FILES), made, 1)
    transcript = made / "sessions" / "s1" / "messages.jsonl"
    transcript.parent.mkdir(parents=True)
    with transcript.open("wb") as lines:
        lines.writelines(corpora.synthetic_messages(MESSAGES))
        lines.writelines(corpora.cjk_messages())
    return made


@pytest.fixture(scope="session")
def store(root: Path) -> Iterator[commonplace.Store]:
    """Return that root, open and indexed."""
    import commonplace  # noqa: PLC0415 - absent where the tests are skipped

    with commonplace.open(root) as opened:
        opened.search("ready", 1)
        yield opened
