"""Samples and helpers for the tests of four layers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count

from hypothesis import strategies as st

from commonplace.memories import FourLayers
from commonplace.memories.four_layers.types import MemoryEntry

FEBRUARY = datetime(2026, 2, 24, 10, 30, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
NOW = int(FEBRUARY.timestamp() * 1000)


def contents(entries: Sequence[MemoryEntry]) -> list[str]:
    return [entry.content for entry in entries]


def episodes(memory: FourLayers) -> list[str]:
    return contents(memory.get_episodic_memory())


def append(memory: FourLayers, *texts: str) -> None:
    for text in texts:
        memory.append("episodic", {"content": text})


json_texts = st.text(st.characters(codec="utf-8"), max_size=20)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | json_texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(json_texts, inner, max_size=3),
    max_leaves=6,
)


numbered = count()


PIECES = [
    "# T\n", "## Two\n", "```\n", "~~~", "<!--", "-->", "<!--\nMETA:\n- id: 1\n-->\n", "> q\n",
    "---\n", "===\n", "\r", "\r\n", "\0", "&amp;", "    code\n", "\n\n", " ", "中文", "\u2028",
    "\x85", "\ufeff", "- Date: 2026-01-01\n", "words",
]  # fmt: skip
texts = st.text(st.characters(codec="utf-8"), max_size=30) | st.lists(
    st.sampled_from(PIECES), max_size=6
).map("".join)
# what append takes
filled = texts.filter(str.strip)
