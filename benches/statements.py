"""Comparison of a new statement with 10,000 of a profile: by index, and with all one by one.

    python -m benches.statements

Why it exists: a new statement is compared with everything that is known, whatever its category, so
the time must not grow with the profile.
"""

from __future__ import annotations

import random
import time
from functools import partial
from statistics import median

from benches.ratios import OURS, Figures, Table, rounds, seconds
from commonplace.conflict import compare
from commonplace.conflict.candidates import StatementIndex

COUNT = 10_000
PEOPLE = ["Alice", "Bob", "Carla", "Deng", "Emil", "Farid", "Greta", "Hana", "Igor", "Jun"]
ROOMS = ["garden", "kitchen", "cellar", "attic", "office", "studio", "garage", "hall", "porch"]
THINGS = ["lamp", "shelf", "table", "chair", "plant", "clock", "radio", "carpet", "mirror", "desk"]
# Old and new statement; the last two contradict nothing.
CHANGES = [
    ("User prefers dark mode", "User prefers light mode"),
    ("User lives in Berlin", "User moved to Lisbon"),
    ("User works at Siemens", "User works at Bosch now"),
    ("Editor: vim", "User switched from vim to emacs"),
    ("Standup is at 9:30", "Standup moved to 10:15"),
    ("我住在北京", "我搬到上海了"),
    ("User drinks coffee", "User no longer drinks coffee"),
    ("User has two kids", "User likes the mirror in the hall"),
    ("User likes tea", "Alice found the garden lamp number 7"),
]


def known(count: int) -> list[str]:
    """Return so many statements of a profile, with those that will be contradicted among them."""
    draw = random.Random(16)
    made = [
        draw.choice(
            [
                f"{draw.choice(PEOPLE)} keeps the {draw.choice(THINGS)} number {number}",
                f"User likes the {draw.choice(THINGS)} in the {draw.choice(ROOMS)} {number}",
                f"{draw.choice(PEOPLE)}喜欢{number}号房间",
            ]
        )
        for number in range(count - len(CHANGES))
    ]
    made += [old for old, _ in CHANGES]
    draw.shuffle(made)
    return made


def measure(table: Table, count: int, count_of_rounds: int, *, check_targets: bool) -> None:
    """Add the row of one new statement, the median over `CHANGES`."""
    statements = known(count)
    index = StatementIndex(statements)
    missed: set[str] = set()

    def by_index(new: str) -> set[str]:
        olds = (statements[number] for number in index.candidates([new]))
        return {old for old in olds if compare(old, new).conflict}

    def one_by_one(new: str) -> set[str]:
        return {old for old in statements if compare(old, new).conflict}

    def ours() -> Figures:
        return {"wall": median(seconds(partial(by_index, new))["wall"] for _, new in CHANGES)}

    def theirs() -> Figures:
        times = []
        for _, new in CHANGES:
            begun = time.perf_counter()
            found = one_by_one(new)
            times.append(time.perf_counter() - begun)
            missed.update(found - by_index(new))
        return {"wall": median(times)}

    fewer = {"one by one": 1}
    measured = rounds({OURS: ours, "one by one": theirs}, count_of_rounds, fewer)
    table.compare(
        "compare a new statement",
        f"{count:,} statements",
        measured,
        "wall",
        min_ratios={"one by one": 50} if check_targets else None,
        max_value=0.005 if check_targets else None,
        wrong={OURS: f"missed {sorted(missed)}"} if missed else None,
    )


if __name__ == "__main__":
    measure(Table(), COUNT, 3, check_targets=True)
