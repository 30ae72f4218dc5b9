"""Conditions on two statements: whom they are about, and whether the new one tells of a change.

They say whether a verdict is possible at all, of a rule or of the classifier (`__init__.py`).
"""

from __future__ import annotations

import re

from commonplace.conflict.features import CLAUSE, common, load, signs

# Whose news are not the user's own; a partner's or a child's may be
OTHERS = frozenset(
    [
        "mother",
        "mother_in_law",
        "father",
        "parents",
        "sister",
        "brother",
        "grandparent",
        "grandchild",
        "relative",
        "friend",
        "customer",
    ]
)
# What somebody else does to the user, or with him, is news of the user
WITH_ME = re.compile(r"\b(?:me|us|my|mine|our|i|im|ive|we)\b|[我咱俺]")
THIRD_PERSON = re.compile(r"(?:the )?user\b|用户|使用者", re.IGNORECASE)
# A name of a country, not the user
COUNTRY = re.compile(r"\bUS\b")
# Tells of what may be, or was a year ago
PERHAPS = re.compile(r"\b(?:might|maybe|perhaps|last year)\b|可能|也许|说不定|没准|去年|前年")
# A question that follows is no news: "mate's getting divorced, what do i say"
QUESTION = re.compile(
    r"\s*(?:what|how|why|should|shall|can|could|would|any)\b|.*(?:怎么办|怎么说|[吗呢]$)"
)
# Sides of how answers are written; of one answer alone another may be asked for
STYLES = frozenset(["replies", "detail", "emoji", "units", "spelling"])
ANSWER_ATTRIBUTES = STYLES | {"length", "format", "language", "tone", "script"}
ONE_ANSWER = re.compile(
    r"\b(?:this (?:time|once)|(?:just|only) (?:for )?today|(?:answer|do|for) this one"
    r"|(?:for|to) this (?:essay|e-?mail|answer|message|reply|question|file|task|report|letter"
    r"|text))\b(?! on\b)|这一?[次回](?!起|开始)|[就只](?:有|是|限)?今天|唯独|今天这|这[道题篇封]",
    re.IGNORECASE,
)
# It asks for more than one answer all the same
EVERY_ANSWER = re.compile(
    r"\b(?:from now on|always|not (?:just|only))\b|以后|之后|不是|别只|起[都用]", re.IGNORECASE
)
# A relative or a pet of somebody else
OF_ANOTHER = re.compile(
    r"(?!(?:user|it|that|this|he|she|there|what|who|let|here|today|mum|mom|dad|wife|husband|partner"
    r"|boyfriend|girlfriend|bf|gf|fianc[eé]e?|family|son|daughter|kids?|baby|everyone|world)\b)"
    r"[a-z][\w-]*'s (?!where|my|our|an?\b|the\b)(?:\w+ ){0,2}?"
    r"(?:mum|mom|mother|dad|father|sister|brother|son|daughter|wife"
    r"|husband|cousin|friend|boyfriend|girlfriend|dog|cat|puppy|kitten|hamster|rabbit|horse)\b"
)
NAME = re.compile(r"(?<!^)\b[A-Z][a-z]+\b")
# Somebody whom another message named
PRONOUN = re.compile(
    r"(?:(?:and|so|but|btw|oh|well|actually|now|yesterday|last \w+)[, ]+)*"
    r"(?:(?:he|she)(?:'(?:s|ll|d))?|his|her)\b"
    r"|(?:然后|结果|听说|昨天|后来)*[他她](?![们乡])"
)
HAS_RELATIVE = re.compile(
    r"(?:(?:the )?user|i|we) (?:has|have) an? (?:\w+ )?(?:brother|sister|son|daughter|friend|wife"
    r"|husband|girlfriend|boyfriend|partner|cousin|colleague|flatmate|roommate)\b"
    r"|(?:用户|我)?(?:有一?[个位名]|[和跟])[^，。]{0,4}(?:[哥弟姐妹爸妈]|女友|男友|朋友|同事|室友|儿子|女儿)"
)


def is_of_relative(old_text: str, new_text: str) -> bool:
    """Say whether a new statement is about somebody whom the old one does not name.

    >>> is_of_relative("User's phone is an iPhone", "gran got a pixel")
    True
    >>> is_of_relative("User lives alone", "a friend moved in with me")
    False
    """
    old, new = signs(old_text), signs(new_text)
    return is_of_stranger(old_text, new_text) or (
        new.subject in OTHERS and new.subject != "friend" and not old.relatives
    )


def is_of_stranger(old_text: str, new_text: str) -> bool:
    """Say whether a new statement is about a friend, he or she, or a relative or pet of others.

    Of one whom the old statement names it is not.

    >>> is_of_stranger("User lives in Ghent", "he moved to Berlin last year")
    True
    >>> is_of_stranger("User has two dogs", "Callum's old dog died last night")
    True
    >>> is_of_stranger("User has a girlfriend", "she dumped me")
    False
    """
    old, new = signs(old_text), signs(new_text)
    if pronoun := PRONOUN.match(new.small):
        named = old.subject or HAS_RELATIVE.match(old.small) or old.relatives & new.relatives
        return not named and not WITH_ME.search(new.small[pronoun.end() :])
    owned = OF_ANOTHER.match(new.small)
    is_known = owned and (
        owned[0] in old.small or set(NAME.findall(new_text)) & set(NAME.findall(old_text))
    )
    if new.subject == "friend" or (owned and not is_known):
        rest = new.small[2:] if new.chinese else new.small.partition(" ")[2]
        news = (part for part in CLAUSE.split(rest) if part and not QUESTION.match(part))
        return not any(map(WITH_ME.search, news)) and "friend" not in old.relatives
    return False


def is_of_one_answer(attribute: str, new: str) -> bool:
    """Say whether a new statement asks for another style of one answer, so that the old one holds.

    >>> is_of_one_answer("detail", "this time give me a long answer")
    True
    """
    once = ONE_ANSWER.search(new) and not EVERY_ANSWER.search(new)
    return attribute in ANSWER_ATTRIBUTES and bool(once)


def concerns_user(text: str) -> bool:
    """Say whether a statement names the user: what another does to him, or with him, is his."""
    return bool(WITH_ME.search(COUNTRY.sub("", text).casefold()))


def is_typed_about_user(old: str, new: str) -> bool:
    """Say whether either statement is about the user, and the new one does not begin with "User".

    >>> is_typed_about_user("User's rent is 900", "landlord wants 950")
    True
    >>> is_typed_about_user("User likes tea", "User likes cake")
    False
    >>> is_typed_about_user("Room A seats 6", "room B seats 12")
    False
    """
    about = THIRD_PERSON.match(old) or concerns_user(old) or concerns_user(new)
    return bool(about) and not THIRD_PERSON.match(new)


def says_change(old_text: str, new_text: str) -> bool:
    """Say whether a new statement says of a change, or another value, at all."""
    old, new = signs(old_text), signs(new_text)
    return bool(
        new.signals & {"ended", "changed", "corrected", "now"}
        or old.denies != new.denies
        or any(new.sorts[name] - old.sorts[name] for name in old.sorts.keys() & new.sorts.keys())
    )


def shares_only_technical(old_text: str, new_text: str) -> bool:
    """Say whether all that the statements share is what any text about software is about.

    >>> shares_only_technical("The api is slow", "the service was rewritten")
    True
    """
    old, new = signs(old_text), signs(new_text)
    shared = (old.one & new.one) | (old.many & new.many)
    return bool(shared) and shared <= load().technical and not old.sorts.keys() & new.sorts.keys()


def tells_of_another_time(new_text: str) -> bool:
    """Say whether a new statement tells of the past, of a plan, or of a short while.

    >>> tells_of_another_time("I used to live in Patras"), tells_of_another_time("明年可能搬去大理")
    (True, True)
    >>> tells_of_another_time("I'm right handed, that was a typo")
    False
    """
    new = signs(new_text)
    another = new.signals & {"past", "plan", "brief"} or PERHAPS.search(new.small)
    return bool(another) and "corrected" not in new.signals


def ends_by_name(old_text: str, new_text: str) -> bool:
    """Say whether a new statement says of a thing that the old one names that it ended or changed.

    >>> ends_by_name("User's van is a Transit", "the transit blew up, got a Vivaro")
    True
    >>> ends_by_name("User's van is a Transit", "sold the piano")
    False
    """
    about = common(signs(old_text), signs(new_text))
    return "named" in about and not about.isdisjoint({"ended_it", "changed_it"})


def ends_another(old_text: str, new_text: str) -> bool:
    """Say whether a new statement says of another thing of the same sort that it ended, no more.

    >>> ends_another("我会弹钢琴", "吉他卖了"), ends_another("我会弹钢琴", "吉他卖了，改弹钢琴")
    (True, False)
    """
    old, new = signs(old_text), signs(new_text)
    shared = old.sorts.keys() & new.sorts.keys()
    only_ended = "ended" in new.signals and not new.signals & {"began", "changed", "corrected"}
    if not only_ended or len([part for part in CLAUSE.split(new.small) if part.strip()]) > 1:
        return False
    others = all(
        len(new.sorts[name]) == 1 and new.sorts[name].isdisjoint(old.sorts[name]) for name in shared
    )
    named = old.pairs & new.pairs if new.chinese else old.words & new.words
    return bool(shared) and others and not named
