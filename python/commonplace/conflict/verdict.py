"""Result of a comparison: whether a new statement replaces an old one, and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a new statement replaces an old one.

    `reason` is a short stable code: `changed:<attribute>`, `denied`, `replaced` for a conflict that
    a rule finds, `likely:<attribute>` for one that the classifier finds where no rule decides;
    `same`, `detail` (one only says more), `scope`, `many` (both can hold), `unsure`, `vetoed` (the
    embedder sees nothing in common), `unrelated` for none. `likelihood` is that of the classifier
    where it was asked, else 1. The rest is filled as far as known.
    """

    conflict: bool
    reason: str
    subject: str = ""
    attribute: str = ""
    old_value: str = ""
    new_value: str = ""
    likelihood: float = 1.0
