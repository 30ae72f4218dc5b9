"""Samples and helpers for the tests of profile."""

from __future__ import annotations

import re

from commonplace.memories.profile import Profile

HEAD = "---\nunit: item\n---\n# Memory\n"
TOPICS = ["mode theme dark light colour screen", "tea coffee drink milk", "cat dog pet animal"]


def topical(texts: list[str]) -> list[list[float]]:
    """Embed by topic: each of its words counts, and no two topics have one in common."""
    vectors = []
    for text in texts:
        words = re.findall(r"\w+", text.lower())
        vector = [float(sum(word in topic.split() for word in words)) for topic in TOPICS]
        vectors.append([*vector, 0.01])
    return vectors


def texts(memory: Profile, category: str | None = None) -> list[str]:
    return [entry.text for entry in memory.entries(category)]
