"""Injector of a profile: what of it goes into a prompt, within a budget.

    <user_memory>
    ## Memory Profile
    - User prefers Python for coding tasks (MEMORY.md#L8, owner)
    </user_memory>

Three fetches share the budget, 1,500 characters by default: MEMORY.md gets 60 % of it, what a
search finds 40 %. Of MEMORY.md who the user is comes first: the name, whatever its category, then
"identity". Then come "style" and "preference", whatever is asked, and the newest of each category
in turn. What one share leaves is for the other. The heading says how many entries found no room.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain, zip_longest

from commonplace.conflict.candidates import keys_of
from commonplace.conflict.entry_comparison import readings
from commonplace.conflict.features import load
from commonplace.entries.injection import Injection, Piece, pack
from commonplace.memories.profile.categories import key_of

BUDGET = 1500
SHARE = 0.6
"""The part of the budget that is for MEMORY.md; the rest is for what a search finds."""
FIRST = "identity"
"""Of this category everything goes in before all else but the name, needed in every answer."""
NAMES = frozenset({("", "name"), ("", "called")})
"""Claims of a statement that tells what the user is called."""
INTRODUCTION = re.compile(
    r"(?i:(?:(?:hi|hello|hey)(?: (?:there|all))?[,!.]? )?(?:my name is|i['’]?m|i am|this is)) "
    r"(?!I\b)[A-Z][a-z]+(?: [A-Z][a-z]+)*(?=[ ,.!]|\Z)"
)
"""So somebody introduces himself; "I'm Dutch" is read so as well, and comes behind a sure name."""
ALWAYS = ("style", "preference")
"""Of these categories everything goes in next, as far as the share of MEMORY.md allows."""
CONSIDERED = 200
"""No more pieces of MEMORY.md are tried, since each is measured."""
_TRIES = 4
"""How often the number of dropped entries is counted anew, once it stands in the heading."""
TAG = "user_memory"
HEADING = "## Memory Profile"


def inject(
    profile: Sequence[tuple[str, Piece]],
    found: Sequence[Piece],
    budget: int,
    measure: Callable[[str], int],
    *,
    cite: bool = True,
) -> Injection:
    """Return what fits of a profile and of what a search has found.

    Args:
        profile: Category and piece of each entry of MEMORY.md, oldest first.
        found: What was found, best first.
        budget: The most that the text may measure.
        measure: What a text measures.
        cite: Say after each entry where it lies.
    """

    def packed(pieces: Iterable[Piece], room: int, heading: str = HEADING) -> Injection:
        return pack(pieces, room, measure=measure, tag=TAG, heading=heading, cite=cite)

    def share(pieces: Iterable[Piece], part: float) -> list[Piece]:
        return [used.piece for used in packed(pieces, int(budget * part)).used]

    wanted = by_priority(profile)
    first = share(wanted, SHARE)
    there = set(first)
    second = share((piece for piece in found if piece not in there), 1 - SHARE)
    # each once, in this order: who it is, even if a share has no room for that; what has its share;
    # what the shares have left room for
    order = list(dict.fromkeys(chain(identity(profile)[:1], first, second, found, wanted)))
    whole = packed(order, budget)
    known = {*order, *(piece for _, piece in profile)}
    dropped = _dropped(known, whole)
    for _ in range(_TRIES if dropped else 0):
        # the longer heading may take the room of one more entry
        told = packed(order, budget, f"{HEADING} ({dropped} more are not shown)")
        if not told.used or told.used[0].piece != whole.used[0].piece:
            # the first entry is worth more than the number of the others
            break
        if (now := _dropped(known, told)) == dropped:
            return told
        dropped = now
    return whole


def by_priority(profile: Sequence[tuple[str, Piece]]) -> list[Piece]:
    """Return who the user is, what else goes in always, then the newest of the others in turn."""
    first = identity(profile)
    who = set(first)
    by_category: dict[str, list[Piece]] = {}
    for category, piece in reversed(profile):
        if piece not in who:
            by_category.setdefault(key_of(category), []).append(piece)
    always = [by_category.pop(name, []) for name in ALWAYS]
    # in the order of the file
    others = list(reversed(by_category.values()))
    return [*first, *_interleaved(always), *_interleaved(others)][:CONSIDERED]


def identity(profile: Sequence[tuple[str, Piece]]) -> list[Piece]:
    """Return who the user is, newest first: the name, then the rest of that category."""
    newest = list(reversed(profile))
    named = [piece for _, piece in newest if names_user(piece.text)]
    introduced = [piece for _, piece in newest if INTRODUCTION.match(piece.text)]
    of_category = [piece for category, piece in newest if key_of(category) == FIRST]
    return list(dict.fromkeys([*named, *introduced, *of_category]))


def names_user(text: str) -> bool:
    """Return whether a text tells what the user is called.

    >>> [names_user(text) for text in ("My name is Kaito", "用户叫小明", "My cat is called Mimo")]
    [True, True, False]
    """
    # what a text claims takes long to read, and few are of a name
    return load().one["name"].search(text.casefold()) is not None and any(
        not NAMES.isdisjoint(keys_of(one).claims) for one in readings(text)
    )


def _dropped(known: Collection[Piece], done: Injection) -> int:
    """Return how many pieces found no room."""
    needless = {left.piece for left in done.left_out if left.reason != "over budget"}
    return len(set(known) - needless - {used.piece for used in done.used})


def _interleaved(lists: Iterable[Sequence[Piece]]) -> list[Piece]:
    """Return the first of each list, the second of each, and so on."""
    return [piece for row in zip_longest(*lists) for piece in row if piece is not None]
