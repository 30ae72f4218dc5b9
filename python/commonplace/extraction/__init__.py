"""Extraction by rules of what is worth remembering in a conversation; no model, no store.

Caution first: what no rule knows is left out, and a veto (a question, "this time", somebody
else's words) outweighs a rule, for a memory full of junk is worse than one that lacks a fact.
The rules are tables in `english.toml` and `chinese.toml`, each with its examples.
"""

from __future__ import annotations

from commonplace.extraction.classification import LONGEST, Classification, possible_change
from commonplace.extraction.conversation import ChatMessage, extract, role_and_text
from commonplace.extraction.decision import classify
from commonplace.extraction.rule_tables import tables

__all__ = [
    "LONGEST",
    "ChatMessage",
    "Classification",
    "classify",
    "extract",
    "is_ephemeral",
    "possible_change",
    "role_and_text",
]


def is_ephemeral(sentence: str) -> str | None:
    """Return the words that bind a sentence to the moment, or None when nothing does.

    >>> is_ephemeral("Skip the introduction for now")
    'for now'
    >>> is_ephemeral("从今天起都用英文")
    """
    text = " ".join(sentence.split())[:LONGEST]
    for table in tables(text):
        for veto in table.vetoes:
            if veto.code.startswith("ephemeral:") and (found := veto.pattern.search(text)):
                return found.group().strip(" ，,、；;。")
    return None
