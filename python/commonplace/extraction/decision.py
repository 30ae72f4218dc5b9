"""Decision about the sentences of a message: what rules, vetoes and classifier say together.

A second linear layer over few signals: the score of the sentence and of its best neighbour, whether
a rule keeps it, which veto speaks against it, and which cues the message has. Its weights are
trained by `benches/train_extraction.py` on authors whose messages no rule was made from, and stand
in `decision_weights.toml`.

Why it exists: a rule and a veto are right more or less often, and what stands beside a sentence
says much of it; by hand no more than a few of these weights can be set.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from functools import cache

from commonplace.extraction.abstention import cues
from commonplace.extraction.classification import (
    FORGET,
    LONGEST,
    MODEL,
    NUMBER,
    PRIVATE,
    WISH,
    Classification,
    by_rules,
    clean,
    normalized,
    stands_alone,
)
from commonplace.extraction.linear_model import Likely, likely
from commonplace.extraction.rule_tables import read_table
from commonplace.letter_ranges import CHINESE

# Nothing overrules these.
FINAL = frozenset(
    {
        FORGET,
        PRIVATE,
        NUMBER,
        "code",
        "too-long",
        "role",
        "ephemeral:this-time",
        "ephemeral:for-now",
        "ephemeral:reminder",
        "past",
        "past:long-ago",
    }
)
# A message of more sentences is a text pasted or a task described: only a rule keeps of it.
LONGEST_CHAT = 5
LONGEST_LOOKED_AT = LONGEST_CHAT * LONGEST
# What these found was in the sentence before it, or behind it, too
OF_BEFORE = frozenset({"correction:after-no"})
OF_NEXT = frozenset({"correction:before-reproach", "preference:standing-wish"})
SHORT = re.compile(r"(?!.*[\u3400-\u9fff])(?:\S+ ){0,5}\S+|(?=.*[\u3400-\u9fff]).{1,12}")
# Words by which a user says himself that something lasts
LASTING = re.compile(
    r"\b(?:from now on|going forward|always|never|prefer|remember)\b|以后|今后|总是|从不|记住|一律",
    re.IGNORECASE,
)
# A message that begins so does not say of whom
OF_SOMEBODY = re.compile(r"(?:he|she)(?:'(?:s|d|ll))?\b(?!/)|[他她](?![们乡])", re.IGNORECASE)
MOST_SENTENCES = 4
# How far below the threshold what a rule keeps may be
ALLOWANCE_OF_RULE = 0.5
# The opposite of a request not to keep
ASKS_TO_KEEP = re.compile(
    r"\b(?:don['’]?t|do not|never) forget\b|\bremember (?:that|this|me|my|i)\b"
    r"|(?:别|不要|不能)忘|(?<![不别用])(?:记住|记得)",
    re.IGNORECASE,
)
# Log odds, above which a message asks not to be kept: with a word of keeping or telling, or without
PRIVATE_WITH_CUE = -0.7
PRIVATE_WITHOUT_CUE = 0.2


def signals(
    found: Sequence[Classification], says: Sequence[Likely], cued: Sequence[str]
) -> list[dict[str, float]]:
    """Return the signals of each sentence of a message, by name.

    Args:
        found: What the rules say of each sentence.
        says: What the classifier says of each.
        cued: The groups of which the message has a cue.
    """
    of_message = {f"cue {name}": 1.0 for name in cued}
    scores = [one.score for one in says]
    asked = max((one.private for one in says), default=0.0)
    best, second = [*sorted(scores, reverse=True), 0.0, 0.0][:2]
    in_message = float(any(one.kept for one in found))
    signs = []
    for at, (one, score) in enumerate(zip(found, scores, strict=True)):
        sign = {"score": score, "sentences": min(len(found), MOST_SENTENCES) / 4, **of_message}
        # a text too long is not looked at
        short = one.reason not in FINAL and bool(SHORT.fullmatch(normalized(one.text)))
        if one.kept:
            sign["rule, short" if short else "rule"] = 1.0
        else:
            sign[f"group {group_of(one)}"] = 1.0
            sign[f"code {one.reason}"] = 0.5
        sign["private"] = max(0.0, asked + 2)
        sign["rule in message"] = in_message
        sign["short"] = float(short)
        sign["lasting"] = float(bool(LASTING.search(one.text)))
        sign["first"] = float(at == 0)
        sign["last"] = float(at == len(found) - 1)
        if len(found) > 1:
            sign["neighbour"] = 1.0
            sign["score of neighbour"] = second if score == best else best
        for other in (*found[max(0, at - 1) : at], *found[at + 1 : at + 2]):
            if not other.kept:
                sign[f"beside {group_of(other)}"] = 0.5
        signs.append(sign)
    return signs


def group_of(found: Classification) -> str:
    """Return the first part of a reason: `ephemeral` of `ephemeral:this-time`."""
    return found.reason.partition(":")[0]


@cache
def decision_weights() -> dict[str, dict[str, float]]:
    """Read the weights of the signals, for each language, on first use."""
    return read_table("decision_weights.toml")


def decide(
    found: Sequence[Classification], message: str, now: date | None = None
) -> list[Classification]:
    """Return what is kept of the sentences of a message of the user.

    Args:
        found: What the rules say of each sentence.
        message: The whole of it.
        now: The day it was said on, for statements.
    """
    says = [likely("" if one.reason in FINAL else normalized(one.text)) for one in found]
    weights = decision_weights()["chinese" if CHINESE.search(message) else "english"]
    # some cues take time by the square of the length; what is longer is of rules alone anyway
    cued = cues(message[:LONGEST_LOOKED_AT])
    is_long = len(found) > LONGEST_CHAT or len(message) > LONGEST_LOOKED_AT
    if asks_for_silence(says, cued) and not ASKS_TO_KEEP.search(message[:LONGEST_LOOKED_AT]):
        return [one if one.reason in FINAL else left_out(one, PRIVATE) for one in found]
    signs = signals(found, says, cued)
    decided: list[Classification] = []
    for at, (one, sign, say) in enumerate(zip(found, signs, says, strict=True)):
        before = [other.reason for other in found[max(0, at - 1) : at]]
        behind = [other.reason for other in found[at + 1 : at + 2]]
        said_already = bool(OF_NEXT & set(before) or OF_BEFORE & set(behind))
        odds = odds_of(sign, weights)
        nobody = at == 0 and bool(OF_SOMEBODY.match(one.text))
        rules_only = bool(cued) or said_already or is_long or nobody
        decided.append(joined(one, odds, say, rules_only=rules_only, now=now))
    return decided


def asks_for_silence(says: Sequence[Likely], cued: Sequence[str]) -> bool:
    """Say whether a message asks that nothing of it is kept."""
    least = PRIVATE_WITH_CUE if "silence" in cued else PRIVATE_WITHOUT_CUE
    return max((one.private for one in says), default=least) > least


def left_out(found: Classification, reason: str) -> Classification:
    """Return a sentence as one that is not kept."""
    return replace(found, kind=None, reason=reason, statement="")


def odds_of(sign: dict[str, float], weights: dict[str, float]) -> float:
    """Return the logarithm of the odds that a sentence is worth keeping, above the threshold."""
    return weights["start"] + sum(weights.get(name, 0.0) * by for name, by in sign.items())


def joined(
    found: Classification, odds: float, says: Likely, *, rules_only: bool, now: date | None
) -> Classification:
    """Return what rules and classifier say of a sentence together."""
    if found.reason in FINAL:
        return found
    # a rule for a plain short sentence is right where so few words say little to the classifier
    text = normalized(found.text)
    asked = LASTING.search(text) or WISH.match(found.text)
    if found.kept and (asked or SHORT.fullmatch(text)):
        return found
    if odds <= (-ALLOWANCE_OF_RULE if found.kept else 0):
        return left_out(found, "unlikely") if found.kept else found
    if found.kept or rules_only:
        return found
    said = clean(found.text, now, alone=stands_alone(found.text))
    return replace(found, kind=says.kind, reason=f"{says.kind}:{MODEL}", statement=said)


def classify(sentence: str, role: str = "user", now: date | None = None) -> Classification:
    """Decide whether one sentence is worth remembering, and as what.

    Args:
        sentence: At most `LONGEST` characters; longer ones are left out as `too-long`.
        role: Who said it. Of an assistant only decisions and lessons count, of others nothing.
        now: The day it was said on, from which "last month" is counted in its statement.

    Returns:
        Its kind (None when it is not kept) and the code of the rule that decided.

    >>> classify("I prefer dark mode").kind, classify("I prefer dark mode").reason
    ('preference', 'preference:i-prefer')
    >>> classify("这次别用PPT").reason
    'ephemeral:this-time'
    """
    found = by_rules(sentence, role, now)
    return decide([found], sentence, now)[0] if role == "user" else found
