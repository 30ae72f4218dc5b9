"""Comparison of a new text with an entry that holds several statements."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

from commonplace.conflict import Verdict
from commonplace.conflict.claims import of_families
from commonplace.conflict.clauses import ASKS, CLAUSE
from commonplace.conflict.conditions import ends_by_name, says_change
from commonplace.conflict.features import attributes
from commonplace.conflict.paraphrases import details, say_the_same
from commonplace.conflict.statements import Statement, statements, without
from commonplace.conflict.tables import load
from commonplace.conflict.words import DATES, content, plain

Compare = Callable[[str, str], Verdict]
"""Tells whether the second statement makes the first untrue."""
Untrue = tuple[tuple[Statement, Verdict], ...]
"""Statements that hold no longer, and why."""

_PARTS = re.compile(
    r", (?:and )?| and | & |; |(?<=\w\w)\.\s+(?=[a-z])|\s*\n\s*|[，、；]|以?及|和"
    r"|(?<=[\u3400-\u9fff])[. ]+(?=[\u3400-\u9fff])"
)
# Such a part belongs to the value before it.
_ADVERBIAL = re.compile(
    r"(?:since|because|for|with|when|while|as|which|who|that|until|after|before|so|now|not|instead"
    r"|from|in|at|on|near|by|too|please|thanks|right (?:by|at|in|on|next)|the (?:one|\d+)"
    r"|nothing else|mostly|always \w+\Z|(?:about |for )?\d+ (?:years?|months?|weeks?)\Z"
    r"|(?:(?:early|late) (?:morning|afternoon|evening)s?|(?:first|second) time"
    r"|(?:once|twice) (?:a|every) \w+)(?: \(.*\))?\Z"
    r"|(?:first|second|third|fourth|fifth|final) year\Z)\b|因为|所以|自从|从|不是|而"
    r"|名?叫|[一二两三四五六七八九十几\d]+多?(?:岁|年|个月|斤)|在一起|离(?:公司|单位|学校|家|地铁)|一个月"
    r"|天天[喝吃玩用]\Z|一天[一二两三四五六七八九十半几\d]+[杯包根顿]\Z|.{1,4}的\Z",
    re.IGNORECASE,
)
# Takes back a part of what is said beside it: "I am vegan, but I eat fish"
_LIMITS = re.compile(r"\b(?:but|except|unless|although|though|not)\b|n't\b|但|不过|除了|只是|除非")
# What is called so is gone with its name
_NAMED = re.compile(r"名?叫(?!我)")
# "a parrot, Kiwi"
_APPOSED = re.compile(r"\b(?:an?|my|our|their) (?:[\w-]+ ){0,2}[\w-]+, (?P<name>[A-Z][a-z]+)(?!\w)")
# What is only said beside: "our ci is jenkins, don't ask"
_ASIDE = re.compile(
    r"(?:and )?(?:do ?n['o]?t (?:ask|judge|laugh|worry)|be warned|obviously|of course"
    r"|officially|sorry|(?:yes,? )?(?:i|user) knows?|trust me|no joke|carved in stone"
    r"|(?:it'?s|that'?s) (?:our|my) thing)\Z",
    re.IGNORECASE,
)
# More of what stands before it, without a verb or a name: "a Civic, 240k on it", "very strict"
_DETAIL = re.compile(
    r"(?!\d\d\Z|(?:an?|my|our|no) |[A-Z])"
    r"(?:(?:mostly|always|very|really|quite|pretty|rather|super|so|still|usually|sometimes|about"
    r"|almost|nearly) (?:\S+ ){0,3}\S+|(?:\S+ ){0,2}\S*\d\S*(?: \S+){0,3}"
    r"|(?:\S+ ){0,3}(?:\S{2,}(?:ing|ed|ly|ous|ful|ent|ant|less)|off)|\S+ mostly"
    r"|the (?:\S+ )?one)\Z"
)
# Beside what somebody has or does it may be of himself, beside a thing it is of that: "no garden"
_LACKS = re.compile(r"(?:no|without) (?:\S+ )?\S+\Z")
_OF_THING = re.compile(
    r"(?:(?:my|our|the|user's) )?(?!(?:i|we|you|he|she|they|users?|who)\b)(?:[\w-]+ )?[\w-]+"
    r"(?:'s| is| are) ",
    re.IGNORECASE,
)
# It means what stands before it: "and stuck with it"
_POINTS_BACK = re.compile(r"\b(?:it|them|em)\b")
# Behind these stand things of their own: "I'm a nurse, left-handed"
_MANY = re.compile(
    r"(?:i'?m|i am|we'?re|we are|hi|(?:the )?users? (?:is|are))\b(?! \w+ing\b)", re.IGNORECASE
)
# Behind a statement of the user it is about somebody whom that one names
_OF_USER = re.compile(r"(?:i|we|my|our)\b|我", re.IGNORECASE)
_OF_SOMEBODY = re.compile(r"(?:he|she|they|his|her|their)\b|[他她]", re.IGNORECASE)
# Attributes of which any thing may have one
_AMOUNTS = {"number", "money"}
ENTANGLED = "it cannot be told apart from what else the entry says"
UNCERTAIN = "it cannot be told apart from what still holds"
# From this likelihood on the receipt says that a statement may have ended
POSSIBLE = 0.6


@dataclass(frozen=True, slots=True)
class EntryVerdict:
    """What a new text makes untrue of an entry.

    `untrue` are its statements that hold no longer, `rest` what remains of its text, word for word.
    `carries` says that the rest holds the new text, in a line with others below it. `left` says why
    a contradiction, or one of several, was left where it is. `likelihood` is the highest that the
    classifier gives one of its statements, 0 where it was not asked. `named` says that the new text
    ends by name what one of them tells.
    """

    untrue: Untrue = ()
    rest: str = ""
    carries: bool = False
    left: str = ""
    likelihood: float = 0.0
    named: bool = False

    @property
    def is_likely(self) -> bool:
        """Whether only the classifier says that something is untrue."""
        reasons = [why.reason for _, why in self.untrue]
        return bool(reasons) and all(reason.startswith("likely:") for reason in reasons)


def readings(text: str) -> list[str]:
    """Return what a new text says: the whole, and each of its statements."""
    return list(dict.fromkeys([text, *(one.reading for one in statements(text))]))


def compared(text: str) -> list[str]:
    """Return what of an entry is compared: the whole, its statements, and the parts of each."""
    texts = readings(text)
    return list(
        dict.fromkeys([*texts, *(part for one in texts[1:] or texts for part in parts(one))])
    )


def compare_entry(text: str, new: str, compare: Compare) -> EntryVerdict:
    """Return what a new text makes untrue of an entry.

    Args:
        text: The text of the entry.
        new: The new text.
        compare: Compares two statements.
    """
    pairs = [(old, said) for old in readings(text) for said in readings(new)]
    likelihoods = (compare(*pair).likelihood for pair in pairs)
    return replace(
        _compared(text, new, compare),
        likelihood=max((one for one in likelihoods if one < 1), default=0.0),
        named=any(ends_by_name(*pair) for pair in pairs),
    )


def _compared(text: str, new: str, compare: Compare) -> EntryVerdict:
    """Return what a new text makes untrue of an entry, and what remains of it."""
    news = readings(new)
    whole = compare(text, new)
    olds = statements(text)
    compared = [(one, _first(one.reading, news, compare)) for one in olds]
    untrue = tuple((one, verdict) for one, verdict in compared if verdict.conflict)
    if not untrue and not whole.conflict:
        possible = any(_is_possible(one.reading, new, verdict) for one, verdict in compared)
        return EntryVerdict(left=UNCERTAIN if possible else "")
    if not untrue or any(verdict.reason == ENTANGLED for _, verdict in untrue):
        return EntryVerdict(left=ENTANGLED)
    if len(olds) == 1 and _is_bare(without(text, olds)):
        return EntryVerdict(((Statement(0, len(text), text, text, text), untrue[0][1]),))
    ended = _surely(untrue, news, compare)
    doubtful = ", ".join(repr(one.text) for one, verdict in untrue if (one, verdict) not in ended)
    left = f"it cannot be told apart what else this ends: {doubtful}" if doubtful else ""
    # what the new text says word for word does not come twice
    again = {plain(one) for one in news[1:]}
    gone = [one for one, _ in ended] + [one for one in olds if plain(one.reading) in again]
    if (rest := _rest(text, gone)) is not None:
        return EntryVerdict(ended, "" if _is_bare(rest) else rest, left=left)
    if (rest := _rest(text, gone, new.strip())) is not None:
        return EntryVerdict(ended, rest, carries=True, left=left)
    return EntryVerdict(left=ENTANGLED)


def _is_possible(old: str, new: str, verdict: Verdict) -> bool:
    """Return whether a new text that tells of a change may have ended a statement that stays."""
    asked = verdict.likelihood < 1
    return says_change(old, new) and (
        verdict.likelihood >= POSSIBLE if asked else verdict.reason == "unsure"
    )


def _rest(text: str, gone: list[Statement], instead: str = "") -> str | None:
    """Return what remains of a text; None where it would be about somebody who is not named."""
    for before, behind in pairwise(statements(text)):
        orphaned = before in gone and behind not in gone
        if orphaned and _OF_USER.match(before.reading) and _OF_SOMEBODY.match(behind.reading):
            return None
    return without(text, gone, instead)


def _surely(untrue: Untrue, news: list[str], compare: Compare) -> Untrue:
    """Return of several statements of an entry those that a new one surely ends.

    Those are the ones that it names, else those of which a rule finds it, else all: beside a
    statement that is named or found, what may be untrue is mostly another thing of the same sort.
    """
    groups = defaultdict[str, list[tuple[Statement, Verdict]]](list)
    for one, verdict in untrue:
        by = [new for new in news if compare(one.reading, new).conflict]
        # of a statement within the whole text, if one contradicts
        groups[by[-1] if by else ""].append((one, verdict))
    sure: list[tuple[Statement, Verdict]] = []
    for new, group in groups.items():
        named = [pair for pair in group if ends_by_name(pair[0].reading, new)]
        found = [pair for pair in group if not pair[1].reason.startswith("likely:")]
        sure += named or found or group
    return tuple(pair for pair in untrue if pair in sure)


def is_paraphrase(old: str, new: str, compare: Compare) -> bool:
    """Return whether two texts say the same, each in one statement and nothing besides."""
    said = [statements(text) for text in (old, new)]
    if all(len(some) == 1 for some in said) and say_the_same(*(some[0].reading for some in said)):
        return True
    if any(len(some) != 1 or _PARTS.search(some[0].reading.strip()) for some in said):
        return False
    first, second = (some[0].reading for some in said)
    if not compare(first, second).reason == "same" == compare(second, first).reason:
        return False
    words = [content(plain(text)) for text in (first, second)]
    choices = [set(of_families(plain(text), text)) for text in (first, second)]
    return words[0] <= words[1] or words[1] <= words[0] or not choices[0].isdisjoint(choices[1])


def is_contained(old: str, new: str) -> bool:
    """Return whether a text says word for word what another one says, and more.

    >>> is_contained("I like tea", "I'm 34 and I like tea"), is_contained("I like tea", "I like it")
    (True, False)
    """
    olds = statements(old)
    said = {plain(one.reading) for one in statements(new)}
    whole = {plain(one.reading) for one in olds} < said and _is_bare(without(old, olds))
    return whole and not _LIMITS.search(new)


def is_better(new: str, old: str) -> bool:
    """Return whether of two paraphrases the new one is to stay: it says more, or is about the user.

    A detail that the other does not have counts for more than the number of words.

    >>> is_better("User prefers dark mode", "I like dark themes")
    True
    """
    said = [statements(text)[0].reading for text in (new, old)]
    ranks = [
        (
            more,
            len(content(plain(text))),
            bool(re.match(r"(?:the )?user|用户", text, re.IGNORECASE)),
        )
        for text, more in zip(said, details(*said), strict=True)
    ]
    return ranks[0] > ranks[1]


def _is_bare(text: str | None) -> bool:
    """Return whether nothing is left of a text but marks."""
    return text is not None and not re.search(r"\w", text)


def _first(old: str, news: list[str], compare: Compare) -> Verdict:
    """Return the first conflict of an old statement with new ones, or no conflict.

    Its reason is `ENTANGLED` where but a part of the statement is untrue.
    """
    verdicts = [compare(old, new) for new in news]
    found = next((verdict for verdict in verdicts if verdict.conflict), None)
    pieces = parts(old)
    if len(pieces) < 2:
        return found or verdicts[0]
    by_part = [
        next((v for v in (compare(part, n) for n in news) if v.conflict), None) for part in pieces
    ]
    if found is None:
        # a part alone is less than a statement, so likely is not enough
        by_part = [None if one and one.reason.startswith("likely:") else one for one in by_part]
    untrue = next((verdict for verdict in by_part if verdict), None)
    true = [part for part, verdict in zip(pieces, by_part, strict=True) if verdict is None]
    named = any(
        verdict and _NAMED.match(part) for part, verdict in zip(pieces, by_part, strict=True)
    )
    apposed = {found["name"] for found in _APPOSED.finditer(old)}
    if len(pieces) == 2 and by_part[1] and pieces[1] in apposed:
        # "a parrot, Kiwi" is gone with Kiwi
        named = True
    if by_part[0]:
        true = [part for part in true if not _hangs_on(part, old)]
    if untrue and not named and any(_says_more(part) for part in true if part not in apposed):
        return replace(untrue, reason=ENTANGLED)
    if found is None and (by_part[0] is not None or named):
        return untrue or verdicts[0]
    return found or verdicts[0]


def parts(statement: str) -> list[str]:
    """Return what stands between the commas and conjunctions of a statement."""
    return [part for part in _PARTS.split(statement) if part.strip()]


def _hangs_on(part: str, statement: str) -> bool:
    """Return whether a part is gone with the first one of its statement.

    >>> _hangs_on("09 plate", "I drive a Civic, 09 plate")
    True
    >>> _hangs_on("2 kids", "I live in Ghent, 2 kids")
    False
    """
    if _ASIDE.match(part):
        return True
    first, _, rest = statement.partition(", ")
    said, bare = (one.strip(" .!") for one in (rest, part))
    if _POINTS_BACK.search(bare):
        return not attributes(bare).names
    verb = CLAUSE.search(re.sub(r"^(?:always|usually) ", "", bare))
    lacks = _OF_THING.match(first) and _LACKS.match(bare)
    if bare not in said.split(", ") or not (lacks or (_DETAIL.match(bare) and not verb)):
        return False
    if load().several.search(first) or _MANY.match(first) or ASKS.match(first):
        return False
    return attributes(bare).names - _AMOUNTS <= attributes(first).names


def _says_more(part: str) -> bool:
    """Return whether a part is more than a circumstance of the one before it."""
    bare = plain(part)
    if _ADVERBIAL.match(bare) or load().country.search(bare):
        return False
    return bool(content(DATES.sub("", bare)))
