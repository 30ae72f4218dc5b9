"""Changes of state and vetoes through `Profile.flush`: what a profile tells as true afterwards.

`python -m benches.extraction_quality --unseen-2` prints the tables. Each item has a profile of its
own in a temporary folder.

- changes-*.jsonl: a fact, and what changes it. They are told in two sessions a week apart; two
  weeks later the profile is read. The fact is replaced when no entry that is told as true holds its
  stale words. Where the change itself names them ("sold the Civic"), what was kept of it may hold
  them. A fact that was never kept counts as replaced too, so the table says how many were.
- vetoes-*.jsonl: messages that must not be kept. One is held when nothing of it is kept: no entry,
  and no file below the root holds its `phrase`, where it has one. Of a secret the rest of the
  sentence may be kept, so there only the files count. Secrets stand between ⟦ and ⟧ and are drawn
  as in secrets-*.jsonl: `{hex:32}` is a run of random letters, and § keeps scanners of the
  repository away.

Why it exists: rules that find a change in a pair of statements say little of what a memory tells
in the next session.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import commonplace
from commonplace.memories import Profile
from commonplace.memories.profile.reader import ProfileEntry

START = datetime(2026, 3, 2, 12, tzinfo=UTC)
WEEK = timedelta(days=7)
MANY = 1_000_000
SECRET = "secret"

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_ALPHABETS = {
    "digits": "0123456789",
    "hex": "0123456789abcdef",
    "upper": _LETTERS.upper() + "0123456789",
    "base62": _LETTERS + _LETTERS.upper() + "0123456789",
    "b64url": _LETTERS + _LETTERS.upper() + "0123456789_-",
}
_GENERATOR = re.compile(r"\{(\w+):(\d+)\}")
_MARKED = re.compile(r"⟦(.*?)⟧")


class Clock:
    """A clock that stands still until `now` is set."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


class Change(NamedTuple):
    """What became of a fact and its change."""

    item: dict[str, Any]
    kept: bool
    replaced: bool
    told: bool


class Veto(NamedTuple):
    """What became of a message that must not be kept."""

    item: dict[str, Any]
    held: bool


@contextmanager
def fresh_profile(clock: Clock) -> Iterator[tuple[Profile, Path]]:
    """Open an empty profile in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder, commonplace.open(folder, watch=False) as store:
        yield Profile(store, clock=clock), Path(folder)


def told_as_true(entries: Iterable[ProfileEntry], now: datetime) -> list[str]:
    """Return the texts of entries but those that ended before today, in small letters."""
    found = []
    for entry in entries:
        until = getattr(entry, "until", None)
        if until is None or until >= now.date():
            found.append(entry.text.casefold())
    return found


def holds(texts: Sequence[str], words: str) -> bool:
    """Return whether one of the texts, in small letters, holds the words."""
    return any(words.casefold() in text for text in texts)


def changes(items: Sequence[dict[str, Any]]) -> Iterator[Change]:
    """Tell each fact and its change, and yield what is told as true afterwards."""
    for item in items:
        clock = Clock()
        with fresh_profile(clock) as (profile, _):
            profile.flush([{"role": "user", "content": item["first"]}], session="first")
            before = told_as_true(profile.entries(limit=MANY), clock.now)
            clock.now += WEEK
            done = profile.flush([{"role": "user", "content": item["second"]}], session="second")
            clock.now += WEEK
            after = told_as_true(profile.entries(limit=MANY), clock.now)
        named = holds([item["second"].casefold()], item["stale"])
        news = {one["text"].casefold() for one in done["remembered"]} if named else set()
        yield Change(
            item,
            kept=holds(before, item["stale"]),
            replaced=not holds([one for one in after if one not in news], item["stale"]),
            told=bool(item["true"]) and holds(after, item["true"]),
        )


def vetoes(items: Sequence[dict[str, Any]]) -> Iterator[Veto]:
    """Flush each message and yield whether anything of it is below the root."""
    for number, item in enumerate(items):
        text, secrets = draw(item["text"], number)
        phrases = [*secrets, *([item["phrase"]] if item.get("phrase") else [])]
        with fresh_profile(Clock()) as (profile, root):
            profile.flush([{"role": "user", "content": text}], session="only")
            entries = item["why"] != SECRET and bool(profile.entries(limit=1))
            written = [path.read_bytes() for path in root.rglob("*") if path.is_file()]
        found = any(phrase.encode() in data for phrase in phrases for data in written)
        yield Veto(item, held=not entries and not found)


def draw(text: str, seed: int) -> tuple[str, list[str]]:
    """Return a message with its secrets drawn, and the secrets.

    >>> draw("use ⟦a§b-{hex:4}⟧ here", 1)
    ('use ab-2dc4 here', ['ab-2dc4'])
    """

    rng = random.Random(seed)

    def drawn(found: re.Match[str]) -> str:
        return "".join(rng.choices(_ALPHABETS[found[1]], k=int(found[2])))

    filled = _GENERATOR.sub(drawn, text.replace("§", ""))
    return _MARKED.sub(r"\1", filled), _MARKED.findall(filled)


def print_changes(name: str, found: Sequence[Change]) -> None:
    """Print how many changes replaced what they change, by language."""
    print("\n| set | language | pairs | kept | replaced | kept, replaced | new told |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for language in ("both", "en", "zh"):
        group = [one for one in found if language in {"both", one.item["language"]}]
        kept = [one for one in group if one.kept]
        both = sum(one.replaced for one in kept)
        new = [one for one in group if one.item["true"]]
        print(
            f"| {name} | {language} | {len(group)} | {len(kept)} "
            f"| {sum(one.replaced for one in group)} | {both} "
            f"| {sum(one.told for one in new)} of {len(new)} |"
        )


def print_vetoes(name: str, found: Sequence[Veto]) -> None:
    """Print how many messages were held, by language and by reason."""
    groups = defaultdict[str, list[Veto]](list)
    for one in found:
        for key in ("all", one.item["language"], one.item["why"]):
            groups[key].append(one)
    print("\n| set | of | messages | held | share |")
    print("|---|---|--:|--:|--:|")
    for key, group in groups.items():
        held = sum(one.held for one in group)
        print(f"| {name} | {key} | {len(group)} | {held} | {held / len(group):.3f} |")
