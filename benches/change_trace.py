"""Steps at which a change of state is lost: extraction, index, comparison or the entry.

    python -m benches.change_trace                  # the seen sets of changes
    python -m benches.change_trace FILE.jsonl …     # others; of held-out sets read the table only
    python -m benches.change_trace --show STEP …    # prints the pairs of a seen set, too

A pair is what a user told in one session, and in a second one what changes it. It goes through a
profile as in benches/profile_quality.py. Where the old fact is still told as true afterwards, the
steps are looked at one after the other, and the first that has lost the change is counted:

- first not kept: extraction left the old fact out, so nothing is to be replaced.
- change not kept: extraction left the change out, and it is not surely the end of anything.
- no candidate: the index of statements did not return the old entry for the new one.
- not judged: both were compared, and no conflict was found; the detail is the reason.
- entangled: the conflict was found, but the old statement could not be told apart in its entry.
- another ended: an entry that does not hold the old fact was ended instead.

"new lost" is a pair whose old fact was ended while the new one is not told: a fact was lost.

Why it exists: the share of changes that are detected does not say where to fix the rest.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benches.extraction_quality import FOLDER, read
from benches.profile_quality import MANY, START, WEEK, Clock, fresh_profile, holds, told_as_true
from commonplace.conflict import compare
from commonplace.conflict.entry_comparison import compare_entry, readings
from commonplace.extraction import extract, possible_change
from commonplace.memories import Profile
from commonplace.memories.profile.entries import Entry, parse
from commonplace.memories.profile.page_index import indexed

STEPS = (
    "replaced",
    "new lost",
    "first not kept",
    "change not kept",
    "no candidate",
    "not judged",
    "entangled",
    "another ended",
)
HELD_OUT = ("held", "unseen")


class Trace(NamedTuple):
    """Where a pair ended up, with a detail: the reason of the step."""

    item: dict[str, Any]
    step: str
    detail: str = ""


def traces(items: Sequence[dict[str, Any]]) -> Iterator[Trace]:
    """Tell each fact and its change, and yield the step that lost it, or "replaced"."""
    for item in items:
        clock = Clock()
        with fresh_profile(clock) as (profile, _):
            yield Trace(item, *_step(profile, clock, item))


def _step(profile: Profile, clock: Clock, item: dict[str, Any]) -> tuple[str, str]:
    profile.flush([{"role": "user", "content": item["first"]}], session="first")
    note = profile.memory_recall(mode="full")
    olds = [one for one in parse(note) if holds([one.text.casefold()], item["stale"])]
    if not olds:
        return "first not kept", _reasons(item["first"])
    clock.now += WEEK
    done = profile.flush([{"role": "user", "content": item["second"]}], session="second")
    clock.now += WEEK
    told = told_as_true(profile.entries(limit=MANY), clock.now)
    # the change itself may name what it ends
    news = {one["text"].casefold() for one in done["remembered"]}
    if not holds([one for one in told if one not in news], item["stale"]):
        lost = item["true"] and not holds(told, item["true"])
        return ("new lost" if lost else "replaced"), ""
    ended = [old["text"] for one in done["remembered"] for old in one["replaced"]]
    if ended:
        return "another ended", "; ".join(ended)
    texts = [one["text"] for one in done["remembered"]]
    if not texts and not (texts := _possible(item["second"])):
        return "change not kept", _reasons(item["second"])
    return _compared(note, olds, texts, kept=bool(done["remembered"]))


def _compared(
    note: str, olds: Sequence[Entry], texts: Sequence[str], *, kept: bool
) -> tuple[str, str]:
    """Return which step lost a change whose texts were compared with the old entries."""
    found = [
        (old, text)
        for text in texts
        for old in indexed(note).candidates(readings(text))
        if old in olds
    ]
    if not found:
        return "no candidate", ""
    verdicts = [compare_entry(old.text, text, compare) for old, text in found]
    if left := next((verdict.left for verdict in verdicts if verdict.left), ""):
        return "entangled", left
    if not kept:
        sure = any(verdict.untrue for verdict in verdicts)
        return "change not kept", "conflict, not sure enough" if sure else "no conflict either"
    return "not judged", " ".join(compare(old.text, text).reason for old, text in found)


def _possible(text: str) -> list[str]:
    """Return what was left out of a message, but ends what it surely makes untrue."""
    changes = (possible_change(one, START.date()) for one in extract([("user", text)]))
    return [one.stored for one in changes if one]


def _reasons(text: str) -> str:
    return " ".join(one.reason for one in extract([("user", text)]))


def print_table(found: Sequence[tuple[str, Trace]]) -> None:
    """Print how many pairs each step has lost, by set and language."""
    groups = list(dict.fromkeys((name, one.item["language"]) for name, one in found))
    print(f"| set | language | pairs | {' | '.join(STEPS)} |")
    print(f"|---|---|{'--:|' * (len(STEPS) + 1)}")
    for name, language in [*groups, ("all", "en"), ("all", "zh")]:
        counts = Counter(
            one.step
            for of, one in found
            if name in {of, "all"} and language == one.item["language"]
        )
        numbers = " | ".join(str(counts[step]) for step in STEPS)
        print(f"| {name} | {language} | {counts.total()} | {numbers} |")


def main() -> None:
    parser = argparse.ArgumentParser(description="Print at which step changes of state are lost.")
    parser.add_argument("files", nargs="*", type=Path, help="sets of changes; default: the seen")
    parser.add_argument("--show", nargs="*", default=[], choices=STEPS, help="print these pairs")
    options = parser.parse_args()
    paths = options.files or sorted(FOLDER.glob("changes-seen*.jsonl"))
    found = []
    for path in paths:
        items = [one for one in read(path) if "first" in one]
        if options.show and any(word in path.stem for word in HELD_OUT):
            raise SystemExit(f"{path.name} is held out: only its table may be read")
        found += [(path.stem.partition("-")[2], one) for one in traces(items)]
    print_table(found)
    for name, one in found:
        if one.step in options.show:
            texts = f"{one.item['first']!r} → {one.item['second']!r}"
            print(f"\n{name}: {one.step} ({one.detail})\n  {texts}")


if __name__ == "__main__":
    main()
