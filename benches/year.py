"""Share of a user's facts that a profile tells after a year, and of those that are no longer true.

    python -m benches.year                 # the facts of tests/labelled/year-unseen.jsonl
    python -m benches.year FILE.jsonl      # those of another file
    python -m benches.year --show          # names the facts that are missing or stale

The conversation is that of benches/year_conversation.py. Each session is flushed into one profile
on its own day. At the end a fact is told when an entry that is told as true holds its value, and
stale when one holds a value that a change has ended. A fact is found when one of the five best
entries of a recall of its question holds the value. What holds no value of any fact is junk.

Why it exists: rules that are right on single sentences may still lose a year's facts to each other.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from benches.profile_quality import MANY, Clock, fresh_profile, holds, told_as_true
from benches.year_conversation import TURNS, Fact, conversation, read_facts
from commonplace.memories import Profile

FACTS = Path(__file__).resolve().parents[1] / "tests" / "labelled" / "year-unseen.jsonl"
WANTED = 0.85
BEST = 5


class Year(NamedTuple):
    """What a profile tells at the end of the year."""

    facts: list[Fact]
    told: list[Fact]
    stale: list[Fact]
    found: list[Fact]
    entries: int
    junk: int


def live(facts: list[Fact], turns: int = TURNS) -> Year:
    """Flush the whole year, session by session, and return what the profile tells at its end."""
    clock = Clock()
    with fresh_profile(clock) as (profile, _):
        for session in conversation(facts, turns):
            clock.now = session.end
            profile.flush(session.messages, session=session.day.isoformat())
        texts = told_as_true(profile.entries(limit=MANY), clock.now)
        found = [fact for fact in facts if _found(profile, fact, clock.now)]
    values = [one.value.casefold() for fact in facts for one in fact.tellings]
    return Year(
        facts,
        told=[fact for fact in facts if holds(texts, fact.true_value)],
        stale=[fact for fact in facts if any(holds(texts, old) for old in fact.stale_values)],
        found=found,
        entries=len(texts),
        junk=sum(not any(value in text for value in values) for text in texts),
    )


def _found(profile: Profile, fact: Fact, now: datetime) -> bool:
    texts = told_as_true(profile.recall(fact.question, BEST).found, now)
    return holds(texts, fact.true_value)


def _row(name: str, facts: Sequence[Fact], year: Year) -> str:
    """Return the row of some of the facts."""
    told, stale, found = (
        sum(fact in group for fact in facts) for group in (year.told, year.stale, year.found)
    )
    share = told / len(facts) if facts else 1.0
    return f"| {name} | {len(facts)} | {told} | {share:.3f} | {stale} | {found} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="Print what a profile tells after a year.")
    parser.add_argument("file", nargs="?", type=Path, default=FACTS, help="the facts")
    parser.add_argument("--show", action="store_true", help="name missing and stale facts")
    options = parser.parse_args()
    year = live(read_facts(options.file))
    changed = [fact for fact in year.facts if fact.stale_values]
    print("| facts | number | told | share | stale, told as true | found by question |")
    print("|---|--:|--:|--:|--:|--:|")
    print(_row("all", year.facts, year))
    print(_row("that change", changed, year))
    print(_row("that stay", [fact for fact in year.facts if not fact.stale_values], year))
    print(f"\n{year.entries} entries are told as true; {year.junk} of them hold no value of a fact")
    print(f"wanted: a share of {WANTED} or more, none stale")
    if options.show:
        for fact in year.facts:
            if fact not in year.told:
                print(f"missing: {fact.question}: {fact.true_value}")
            if fact in year.stale:
                print(f"stale: {fact.question}: {', '.join(fact.stale_values)}")


if __name__ == "__main__":
    main()
