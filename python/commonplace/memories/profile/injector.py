"""Injector of a profile: what of it goes into a prompt, within a budget.

    <user_memory>
    ## Memory Profile
    - User prefers Python for coding tasks (MEMORY.md#L8, owner)
    </user_memory>

Three fetches share the budget, 1,500 characters by default: MEMORY.md gets 60 % of it, what a
search finds 40 %. Of MEMORY.md the categories "style" and "preference" come first, whatever is
asked; then the newest of each category in turn. What one share leaves is for the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, zip_longest

from commonplace.entries.injection import Injection, Piece, pack
from commonplace.memories.profile.categories import key_of

BUDGET = 1500
SHARE = 0.6
"""The part of the budget that is for MEMORY.md; the rest is for what a search finds."""
ALWAYS = ("style", "preference")
"""Of these categories everything goes in, as far as the share of MEMORY.md allows."""
CONSIDERED = 200
"""No more pieces of MEMORY.md are tried, since each is measured."""
TAG = "user_memory"
HEADING = "## Memory Profile"


def inject(
    profile: Sequence[tuple[str, Piece]],
    found: Sequence[Piece],
    budget: int,
    measure: Callable[[str], int],
) -> Injection:
    """Return what fits of a profile and of what a search has found.

    Args:
        profile: Category and piece of each entry of MEMORY.md, oldest first.
        found: What was found, best first.
        budget: The most that the text may measure.
        measure: What a text measures.
    """

    def share(pieces: Iterable[Piece], part: float) -> list[Piece]:
        packed = pack(pieces, int(budget * part), measure=measure, tag=TAG, heading=HEADING)
        return [used.piece for used in packed.used]

    wanted = by_priority(profile)
    first = share(wanted, SHARE)
    there = set(first)
    second = share((piece for piece in found if piece not in there), 1 - SHARE)
    # each once, in this order: what has its share, then what the shares have left room for
    order = dict.fromkeys(chain(first, second, found, wanted))
    return pack(order, budget, measure=measure, tag=TAG, heading=HEADING)


def by_priority(profile: Sequence[tuple[str, Piece]]) -> list[Piece]:
    """Return what goes in always, then the newest of each other category in turn."""
    by_category: dict[str, list[Piece]] = {}
    for category, piece in reversed(profile):
        by_category.setdefault(key_of(category), []).append(piece)
    always = [by_category.pop(name, []) for name in ALWAYS]
    # in the order of the file
    others = list(reversed(by_category.values()))
    return [*_interleaved(always), *_interleaved(others)][:CONSIDERED]


def _interleaved(lists: Iterable[Sequence[Piece]]) -> list[Piece]:
    """Return the first of each list, the second of each, and so on."""
    return [piece for row in zip_longest(*lists) for piece in row if piece is not None]
