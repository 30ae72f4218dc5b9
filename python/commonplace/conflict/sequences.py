"""Token n-grams of a new statement in which what it shares with the old one is marked.

"sold the civic" after "User drives a Honda Civic" reads `sold the S`, and any number reads `N`. So
a phrase of change is the same whatever it is said of. English is read by words, Chinese by
characters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from commonplace.conflict.words import cached, short_stem
from commonplace.letter_ranges import CHINESE

SAME, NUMBER, LATIN = "S", "N", "W"
# Most tokens of an n-gram
LONGEST = 3

_WORD = re.compile(r"[a-z][a-z'+#-]*|\d+(?:[.:]\d+)?|[,.;!?]")
_LATIN_WORD = re.compile(r"[a-z][a-z0-9.+#_-]*")
_KEPT_ZH = re.compile(r"[a-z][a-z0-9.+#]+|\d+")
_NUMBER_ZH = re.compile(
    r"\d+(?:[.:]\d+)?|[一二两三四五六七八九十百]+(?=[个点月号岁块万斤年只条天日时杯公])"
)
_USER_ZH = re.compile(r"^用户的?")
# Of each statement, whatever it is about
_COMMON = frozenset({"user", "the", "and", "for", "with", "has", "is", "user'", "are"})


def ngrams(old: str, new: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the n-grams of a new statement, and the tokens that they are of.

    >>> grams, tokens = ngrams("User drives a Honda Civic", "sold the civic yesterday")
    >>> tokens, "sold_the_S" in grams
    (('sold', 'the', 'S', 'yesterday'), True)
    """
    tokens = tokens_of(old, new)
    found = {
        "_".join(tokens[at : at + length])
        for length in range(1, LONGEST + 1)
        for at in range(len(tokens) - length + 1)
    }
    found |= {f"{first}_*_{last}" for first, last in zip(tokens, tokens[2:], strict=False)}
    for length in (1, 2):
        found |= {"^" + "_".join(tokens[:length]), "_".join(tokens[-length:]) + "$"}
    return frozenset(found), tokens


def tokens_of(old: str, new: str) -> tuple[str, ...]:
    """Return the tokens of a new statement; what the old one holds is `S`."""
    small = new.casefold().replace("\u2019", "'")
    if CHINESE.search(small):
        return tuple(_chinese(_pairs(old), _USER_ZH.sub("我", small)))
    return tuple(_english(_stems(old), _WORD.findall(small)))


def _english(known: frozenset[str], words: Sequence[str]) -> list[str]:
    found: list[str] = []
    for word in words:
        bare = word.removesuffix("'s")
        if short_stem(bare) in known:
            found.append(SAME)
        else:
            found.append(NUMBER if word[0].isdigit() else bare)
        if bare != word:
            found.append("'s")
    return found


def _chinese(known: frozenset[str], text: str) -> list[str]:
    """Return the characters of a text; runs that the old statement holds are one token."""
    shared = [False] * len(text)
    for at in range(len(text) - 1):
        if text[at : at + 2] in known:
            shared[at] = shared[at + 1] = True
    for kept in _KEPT_ZH.finditer(text):
        if kept[0] in known:
            shared[slice(*kept.span())] = [True] * len(kept[0])
    found: list[str] = []
    at = 0
    while at < len(text):
        start = at
        if shared[at]:
            while at < len(text) and shared[at]:
                at += 1
            found.append(SAME)
        elif word := _LATIN_WORD.match(text, at):
            at = word.end()
            found.append(LATIN)
        elif number := _NUMBER_ZH.match(text, at):
            at = number.end()
            found.append(NUMBER)
        else:
            at += 1
            found.append(text[start] if CHINESE.match(text[start]) else ",")
    return found


@cached
def _stems(text: str) -> frozenset[str]:
    """Return the stems of the words of a statement that may name something."""
    small = text.casefold().replace("\u2019", "'")
    words = (word for word in _WORD.findall(small) if len(word) > 2)
    return frozenset(short_stem(word) for word in words) - _COMMON


@cached
def _pairs(text: str) -> frozenset[str]:
    """Return the pairs of Chinese characters, the words of other letters and the numbers."""
    small = _USER_ZH.sub("", text.casefold())
    pairs = (small[at : at + 2] for at in range(len(small) - 1))
    return frozenset(one for one in pairs if CHINESE.search(one)) | frozenset(
        _KEPT_ZH.findall(small)
    )
