"""Index of statements by claim and by word: which of them may contradict a new one.

A conflict needs a claim about the same attribute, words in common, or a common topic. So only these
are compared in full: those with the same claim, then those with the rarest words of the new
statement, then those that share the rarest attributes of `attributes.toml` with it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from heapq import nlargest
from typing import NamedTuple

from commonplace.conflict import LONGEST
from commonplace.conflict.claims import read
from commonplace.conflict.features import attributes
from commonplace.conflict.topics import topics_of
from commonplace.conflict.words import content, plain

# Most statements that are compared with a new one in full
CANDIDATES = 24
# So many more that share an attribute with it
ALIKE = 16
# An attribute of more statements says little
COMMON = 400


class Keys(NamedTuple):
    """What a statement is indexed by."""

    claims: frozenset[tuple[str, str]]
    words: frozenset[str]
    attributes: frozenset[str] = frozenset()


@lru_cache(maxsize=32_768)
def keys_of(text: str) -> Keys:
    """Return the keys of a statement: attributes of its claims and topics, and its words.

    >>> keys_of("我住在北京").claims
    frozenset({('', 'home')})
    """
    if len(text) > LONGEST:
        return Keys(frozenset(), frozenset())
    bare = plain(text)
    claims = frozenset((one.subject, one.attribute) for one in read(bare, text))
    topics = frozenset(("topic", one) for one in topics_of(text))
    about = attributes(text)
    return Keys(claims | topics, content(bare), about.one | about.many | about.sorts.keys())


class StatementIndex:
    """Index of statements, which are named by their numbers.

    >>> index = StatementIndex(["我住在北京", "User likes tea", "User has a dog"])
    >>> index.candidates(["我搬到上海了"]), index.candidates(["No more tea"])
    ([0], [1])
    """

    def __init__(self, statements: Sequence[str]) -> None:
        self._claims: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._words: dict[str, list[int]] = defaultdict(list)
        self._attributes: dict[str, list[int]] = defaultdict(list)
        for number, text in enumerate(statements):
            keys = keys_of(text)
            for claim in keys.claims:
                self._claims[claim].append(number)
            for word in keys.words:
                self._words[word].append(number)
            for attribute in keys.attributes:
                self._attributes[attribute].append(number)

    def count(self, word: str) -> int:
        """Return how many statements hold a word."""
        return len(self._words.get(word, ()))

    def candidates(self, new: Iterable[str], limit: int = CANDIDATES) -> list[int]:
        """Return the numbers of those that may contradict one of the new statements.

        Args:
            new: The new statements.
            limit: Most to return for each.
        """
        found: dict[int, None] = {}
        for text in new:
            found |= dict.fromkeys(self._candidates(keys_of(text), limit))
        return list(found)

    def _candidates(self, keys: Keys, limit: int) -> list[int]:
        found = dict.fromkeys(
            number for claim in sorted(keys.claims) for number in self._claims.get(claim, ())
        )
        # By word where two are as rare: the order of a set is not the same in each process
        rarest = sorted(keys.words, key=lambda word: (self.count(word), word))
        postings = [self._words.get(word, []) for word in rarest]
        for posting in postings:
            if len(found) + len(posting) > limit:
                break
            found |= dict.fromkeys(posting)
        if len(found) < limit:
            shared = Counter(number for posting in postings for number in posting)
            found |= dict.fromkeys(number for number, _ in shared.most_common(limit))
        return list(dict.fromkeys([*list(found)[:limit], *self._alike(keys)]))

    def _alike(self, keys: Keys) -> list[int]:
        """Return those that share the most attributes, the rarest first."""
        shared: dict[int, float] = defaultdict(float)
        for attribute in sorted(keys.attributes):
            posting = self._attributes.get(attribute, [])
            for number in posting if len(posting) <= COMMON else []:
                shared[number] += 1 / len(posting)
        return nlargest(ALIKE, shared, key=shared.__getitem__)
