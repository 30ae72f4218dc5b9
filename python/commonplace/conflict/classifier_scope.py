"""Scope of the classifier of pairs: of which statements it is asked whether they conflict."""

from __future__ import annotations

import re

from commonplace.conflict import classifier
from commonplace.conflict.conditions import (
    STYLES,
    is_of_stranger,
    is_typed_about_user,
    says_change,
    shares_only_technical,
)
from commonplace.conflict.states import readings
from commonplace.conflict.topics import of_another_thing
from commonplace.conflict.words import other_subject
from commonplace.letter_ranges import CHINESE

# It knows chats, not documents or code
LONGEST_LIKELY = 160
CODE = re.compile(
    r"`|\w[/_]\w+[/_.]\w|\w\(\)|\*\*|\w=\w|://|--\w|[a-z][a-z]+[A-Z]\w+\(|\|"
    r"|<!--|</?\w+>|&#?\w+;|&(?:#\w|amp|lt|gt|quot|nbsp)"
)
OF_NUMBER = re.compile(r"\bnumbers?\b|\bsim\b|号|\d[\d -]{5}", re.IGNORECASE)
# What has none states nothing that a new statement could make untrue
WORD = re.compile(r"[^\W\d_]{2}")
# A piece of code that is at hand: "keep the JSON tag"
PIECE = re.compile(
    r"\b(?:the|this|that|these|those) (?:[\w-]+ ){0,2}(?:tags?|structs?|fields?|functions?|methods?"
    r"|imports?|params?|parameters?|headers?|decorators?|handlers?|brackets?)\b",
    re.IGNORECASE,
)


def may_conflict(old: str, new: str) -> bool:
    """Say whether the classifier is to be asked: the new statement may tell of a change.

    Without a word of change either must name the user, and the new one not begin with "User": two
    such statements are two facts, and of a named thing there may be others ("Room B seats 12").
    """
    return (
        max(len(old), len(new)) <= LONGEST_LIKELY
        and not CODE.search(old + new)
        and all(WORD.search(one) for one in (old, new))
        and not PIECE.search(new)
        and not shares_only_technical(old, new)
        and (says_change(old, new) or is_typed_about_user(old, new))
        and not other_subject(old, new)
        and not is_of_stranger(old, new)
        and not of_another_thing(old, new)
        and not are_of_two_styles(old, new)
        and not are_phone_and_number(old, new)
        and not are_in_two_languages(old, new)
    )


def are_in_two_languages(old: str, new: str) -> bool:
    """Say whether the statements are in two languages and share no attribute.

    The classifier has learnt nothing from such pairs.

    >>> are_in_two_languages("我妹在重庆", "got a second dog")
    True
    >>> are_in_two_languages("我住在北京", "moved to Leeds")
    False
    """
    two = bool(CHINESE.search(old)) != bool(CHINESE.search(new))
    return two and not classifier.attribute(old, new)


def are_of_two_styles(old: str, new: str) -> bool:
    """Say whether the statements are about different sides of how answers are written.

    >>> are_of_two_styles("No emojis please", "Answer in English")
    True
    """
    sides = [{one.attribute for one in readings(text)} & STYLES for text in (old, new)]
    return all(sides) and sides[0].isdisjoint(sides[1])


def are_phone_and_number(old: str, new: str) -> bool:
    """Say whether only one of the statements is about a phone number.

    >>> are_phone_and_number("My phone number is 555-0192", "I lost my phone")
    True
    """
    told = any(one.attribute == "phone number" for text in (old, new) for one in readings(text))
    return told and not all(map(OF_NUMBER.search, (old, new)))
