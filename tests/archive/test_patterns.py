"""Words that a pattern stands for in the archive: the same as by a plain distance, and quickly."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import commonplace
from commonplace.engines import archive_queries
from commonplace.engines.archive_index import ArchiveIndex
from commonplace.engines.archive_queries import _near
from tests.archive.helpers import OLD, line

LETTERS = st.text("abé茶.", max_size=7)


def distance(word: str, other: str) -> int:
    """Return the least number of insertions, deletions and changes, by its definition."""
    if not word or not other:
        return len(word) + len(other)
    change = distance(word[1:], other[1:]) + (word[0] != other[0])
    if word[0] == other[0]:
        return change
    return min(change, 1 + distance(word[1:], other), 1 + distance(word, other[1:]))


@given(st.lists(LETTERS, max_size=8), LETTERS.filter(bool), st.integers(1, 2))
def test_near_words_are_those_of_a_plain_distance(words: list[str], term: str, typos: int) -> None:
    assert _near(words, term, typos) == [word for word in words if distance(word, term) <= typos]


def test_few_words_are_compared_and_listed_once(
    memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(7)  # noqa: S311 - any words will do
    words = ["".join(rng.choices("bdfklmrst", k=8)) for _ in range(2000)]
    with (memory / OLD).open("a") as file:
        file.write(line(" ".join(["painting", *words]), "old", "2025-01-01"))
    compared: list[str] = []
    listed: list[str] = []
    is_near, list_words = archive_queries._is_near, ArchiveIndex.words

    def counted(word: str, term: str, typos: int) -> bool:
        compared.append(word)
        return is_near(word, term, typos)

    def seen(index: ArchiveIndex, beginning: str) -> list[tuple[str, int]]:
        listed.append(beginning)
        return list_words(index, beginning)

    monkeypatch.setattr(archive_queries, "_is_near", counted)
    monkeypatch.setattr(ArchiveIndex, "words", seen)
    with commonplace.open(memory) as store:
        store.archive(sessions=["old"])
        assert "painting" in store.search("painitng~2", archive="only")[0].text
        assert 0 < len(compared) < 20
        assert len(listed) == len(set(listed)) == len(archive_queries.SPELLED)
