"""Choice between the entries that a new text may make untrue, where only a likelihood speaks.

A new text ends one fact. Each likelihood is that of one pair, so of a hundred entries some reach
the limit by chance: what counts is how likely one entry is beside the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.conflict.entry_comparison import EntryVerdict

# Of all odds, those of no entry among them; from this share on the likeliest entry ends
SHARE = 0.25
_MOST = 0.999


def surely_untrue(verdicts: Sequence[EntryVerdict]) -> list[bool]:
    """Tell of each entry whether what is untrue of it, as far as one entry tells, surely ends.

    What a rule finds, and what the new text says by name, ends. Of the other entries only the
    likeliest does, and none beside one that a rule finds, unless both are about the same attribute.
    Of several that are as likely none does, unless they say the same.

    Args:
        verdicts: Those of all entries that the new text was compared with.

    Returns:
        One answer for each entry, in their order.

    >>> from commonplace.conflict import compare
    >>> from commonplace.conflict.entry_comparison import compare_entry
    >>> said = "gave the cat away"
    >>> old = ["User has a cat", "User has a dog"]
    >>> surely_untrue([compare_entry(one, said, compare) for one in old])
    [True, False]
    """
    found = [one for one in verdicts if one.untrue and not one.is_likely]
    about = {why.attribute for one in found for _, why in one.untrue} - {""}
    total = 1 + sum(_odds(one.likelihood) for one in verdicts)
    rivals = [
        one
        for one in verdicts
        if one.is_likely
        and not one.named
        and (not found or any(why.attribute in about for _, why in one.untrue))
    ]
    most = max((one.likelihood for one in rivals), default=1.0)
    first = [one for one in rivals if one.likelihood == most]
    is_one = len({tuple(old.reading for old, _ in one.untrue) for one in first}) == 1
    likeliest = first if is_one and _odds(most) / total >= SHARE else []
    return [
        one in likeliest if one.is_likely and not one.named else bool(one.untrue)
        for one in verdicts
    ]


def _odds(likelihood: float) -> float:
    likelihood = min(likelihood, _MOST)
    return likelihood / (1 - likelihood)
