"""Rule tables of extraction: the TOML of each language, compiled."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any, Literal, NamedTuple

from commonplace.letter_ranges import CHINESE

Kind = Literal["preference", "habit", "correction", "identity", "decision", "lesson"]
# An assistant speaks of the user's memory only where it states what both know.
ASSISTANTS = frozenset({"decision", "lesson"})
CLAUSE = re.compile(r"[,;，；—–]| and | but | so ")


class Rule(NamedTuple):
    """One row of a table; a veto has no kind."""

    code: str
    pattern: re.Pattern[str]
    kind: Kind | None
    spares: frozenset[str]
    roles: frozenset[str]
    carries: bool
    # a veto that later clauses do not give
    clause: bool
    # a rule for what began, ended or became something else; a veto for those alone
    change: bool
    examples: tuple[str, ...]


class Rules(NamedTuple):
    """The table of one language, in the order in which it is tried."""

    vetoes: tuple[Rule, ...]
    rules: tuple[Rule, ...]


def clause_of(rule: Rule, text: str) -> str:
    """Return a sentence up to the end of the clause that a rule matches."""
    found = rule.pattern.search(text)
    end = CLAUSE.search(text, max(found.start() + 1, found.end() - 1)) if found else None
    return text[: end.start()] if end else text


def matching_rules(text: str, table: Literal["rules", "vetoes"], role: str) -> Iterator[Rule]:
    """Yield the rows that match a sentence said by `role`, in order."""
    for rules in tables(text):
        rows: tuple[Rule, ...] = getattr(rules, table)
        for row in rows:
            if row.kind and role == "assistant" and row.kind not in ASSISTANTS:
                continue
            if role in row.roles and row.pattern.search(text):
                yield row


def tables(text: str) -> Iterator[Rules]:
    """Yield the tables for the languages of a text; Chinese text may hold English, too."""
    if CHINESE.search(text):
        yield load("chinese")
    yield load("english")


@cache
def codes_for_rest_of_message() -> frozenset[str]:
    """Return the codes of the vetoes that hold for the rest of a message."""
    vetoes = (*load("english").vetoes, *load("chinese").vetoes)
    return frozenset(veto.code for veto in vetoes if veto.carries)


def read_table(name: str) -> dict[str, Any]:
    """Read a file of rules of this package."""
    source = resources.files("commonplace.extraction") / name
    return tomllib.loads(source.read_text(encoding="utf-8"))


@cache
def load(language: str) -> Rules:
    """Read the tables of a language: what is so, and behind it what changed."""
    states, changes = (read_table(f"{language}{part}.toml") for part in ("", "_changes"))
    words = states["words"] | changes["words"]

    def compiled(row: dict[str, Any], *, change: bool) -> Rule:
        pattern = row["pattern"]
        while (
            filled := re.sub(r"(?<!P)<(\w+)>", lambda name: f"(?:{words[name[1]]})", pattern)
        ) != (pattern):
            pattern = filled
        return Rule(
            row["code"],
            re.compile(pattern, re.IGNORECASE),
            row.get("kind"),
            frozenset(row.get("spares", ())),
            frozenset(row.get("roles", ("user", "assistant"))),
            row.get("carries", False),
            row.get("reach") == "clause",
            change,
            tuple(row["examples"]),
        )

    def rows(name: str) -> tuple[Rule, ...]:
        return tuple(
            compiled(row, change=change)
            for change, table in ((False, states), (True, changes))
            for row in table[name]
        )

    return Rules(rows("veto"), rows("rule"))
