"""Features of a pair of statements: what they are both about, and what the new one says of it.

An attribute ("home", "superior", "medicine") holds one value at a time, or several; a sort is a
list of names of which one may take the place of another ("vim", "zed"). A signal says that
something has ended, begun, changed or was wrong. The tables are in `attributes.toml`.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import cache
from math import sqrt
from typing import NamedTuple

from commonplace.chat_spelling import expanded
from commonplace.conflict.lazy_pattern import LazyPattern
from commonplace.conflict.literal_filter import PatternTable
from commonplace.conflict.sequences import ngrams
from commonplace.conflict.tables import read_table
from commonplace.conflict.words import DENIALS, cached, content, light_removed, plain
from commonplace.letter_ranges import CHINESE

CLAUSE = re.compile(
    r"[,;:，；。：!！?？…(（)）]|\.(?=\s|$)|\s[-–—]\s| (?:so|but|and|because|since) "
)
NUMBER = re.compile(
    r"\d+(?:[.:,]\d+)*|[一二两三四五六七八九十百千万]{1,5}|\b(?:one|two|three|four|five|six|seven"
    r"|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
    r"|twenty|thirty|forty|fifty|sixty|half|quarter|fortnight)\b"
)
LATIN = re.compile(r"[a-z][\w'-]{3,}", re.ASCII)
SELF = re.compile(
    r"(?:the )?user\b(?!'s)|用户(?!的)|我(?!们?的?[爸妈哥姐弟妹爷奶老])|(?:i|we|i'm|i've)\b"
)
MINE = re.compile(r"(?:the )?user's\b|用户的|我的|(?:my|our)\b")

# Lengths of the vectors of words, and of pairs of words; each of the other features is 1
WORDS_LENGTH = 8.0
PAIRS_LENGTH = 4.0
# Of long texts a pair of words says little, and there are very many
MOST_PAIRS = 2_500


class Signs(NamedTuple):
    """What a statement is about and says, as far as single statements go."""

    one: frozenset[str]
    many: frozenset[str]
    sorts: dict[str, frozenset[str]]
    signals: frozenset[str]
    words: frozenset[str]
    pairs: frozenset[str]
    numbers: frozenset[str]
    # Whom the first clause is about, and who else is named
    subject: str
    relatives: frozenset[str]
    denies: bool
    chinese: bool
    # By signal, the words and the attributes of the clauses that have it
    said: dict[str, tuple[frozenset[str], frozenset[str]]]
    small: str


class Attributes(NamedTuple):
    """What a statement is about: attributes of one value, of several, and names by their sort."""

    one: frozenset[str]
    many: frozenset[str]
    sorts: dict[str, frozenset[str]]
    small: str

    @property
    def names(self) -> frozenset[str]:
        """The names of the attributes."""
        return self.one | self.many


class Tables(NamedTuple):
    """What `attributes.toml` holds."""

    one: PatternTable
    many: PatternTable
    sort: PatternTable
    signal: PatternTable
    person: PatternTable
    # Words that say when, not what about
    times: frozenset[str]
    # Attributes of which a number is the value
    measured: frozenset[str]
    # Attributes that say little, for any text about software has them
    technical: frozenset[str]


@cache
def load() -> Tables:
    """Read `attributes.toml`."""
    table = read_table("attributes.toml")
    groups = {
        group: PatternTable(
            {name: LazyPattern(pattern, re.ASCII) for name, pattern in table[group].items()}
        )
        for group in ("one", "many", "sort", "signal", "person")
    }
    lists = {name: frozenset(table[name]) for name in ("times", "measured", "technical")}
    return Tables(
        groups["one"],
        groups["many"],
        groups["sort"],
        groups["signal"],
        groups["person"],
        lists["times"],
        lists["measured"],
        lists["technical"],
    )


@cached
def attributes(text: str) -> Attributes:
    """Return what a statement is about, which an index needs of each; `signs` says more."""
    tables = load()
    small = expanded(" ".join(text.split()).replace("\u2019", "'")).casefold()
    found = ((name, pattern.findall(small)) for name, pattern in tables.sort.possible(small))
    sorts = {name: frozenset(values) for name, values in found if values}
    return Attributes(tables.one.matching(small), tables.many.matching(small), sorts, small)


@cached
def signs(text: str) -> Signs:
    """Return what a statement is about and says."""
    tables = load()
    one, many, sorts, small = attributes(text)
    bare = plain(text)
    signals = tables.signal.matching(small)
    clauses = [part.strip() for part in CLAUSE.split(small) if part and part.strip()]
    said: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
    for signal in signals & {"ended", "changed", "corrected", "added"}:
        parts = [part for part in clauses if tables.signal[signal].search(part)]
        topics = [(name, tables.one[name]) for name in one]
        topics += [(name, tables.many[name]) for name in many]
        about = {name for name, pattern in topics if any(map(pattern.search, parts))}
        words = frozenset[str]().union(*(content(plain(part)) for part in parts))
        said[signal] = words - tables.times, frozenset(about)
    persons = tables.person.matching(small)
    first = first_words(clauses[0]) if clauses else ""
    subject = next((name for name in tables.person if tables.person[name].match(first)), "")
    return Signs(
        one,
        many,
        sorts,
        signals,
        content(bare) - tables.times,
        character_pairs(bare),
        frozenset(NUMBER.findall(small)),
        subject,
        persons,
        len(DENIALS.findall(bare)) % 2 == 1,
        bool(CHINESE.search(small)),
        said,
        small,
    )


def first_words(clause: str) -> str:
    """Return a clause without the possessive at its beginning."""
    return re.sub(
        r"^(?:(?:the )?user's|my|our|the|(?:an?|another|one of my)\b|用户的?|我们?家?的?"
        r"|把我?们?的?|阿) ?"
        r"(?:little|big|older|younger)? ?阿?",
        "",
        clause,
    )


def character_pairs(text: str) -> frozenset[str]:
    """Return the pairs of characters that stand side by side in Chinese."""
    runs = re.findall(r"[\u3400-\u9fff]{2,}", light_removed(re.sub(r"^用户的?", "", text)))
    return frozenset(run[i : i + 2] for run in runs for i in range(len(run) - 1))


def are_spelt_alike(old: Signs, new: Signs) -> bool:
    """Say whether a word of each may be two spellings of one name."""
    if new.chinese:
        return any(
            a[1] == b[1] and a[0] != b[0]
            for a in old.pairs - new.pairs
            for b in new.pairs - old.pairs
        )
    first, second = (frozenset(LATIN.findall(one.small)) for one in (old, new))
    return any(
        a[1:3] == b[1:3] and SequenceMatcher(None, a, b).ratio() >= 0.7
        for a in first - second
        for b in second - first
    )


def features(old_text: str, new_text: str) -> dict[str, float]:
    """Return the features of an old and a new statement, by name.

    Those of the words of the new one (`n:`), and of what it says of each attribute of the old one
    (`a:`), make a vector of one length, whatever the length of the statement; those of a word that
    only the old one has beside a word that only the new one has (`w:coff:decaf`), another.
    """
    old, new = signs(old_text), signs(new_text)
    grams, tokens = ngrams(old_text, new_text)
    names = [f"n:{gram}" for gram in grams]
    names += [f"a:{name}:{token}" for name in old.one | old.many for token in set(tokens)]
    found = dict.fromkeys(names, WORDS_LENGTH / sqrt(max(len(names), 1)))
    first, second = old.words - new.words, new.words - old.words
    few = len(first) * len(second) <= MOST_PAIRS
    pairs = [f"w:{before}:{after}" for before in first for after in second] if few else []
    found |= dict.fromkeys(pairs, PAIRS_LENGTH / sqrt(max(len(pairs), 1)))
    return found | dict.fromkeys(of_signs(old, new), 1.0)


def of_signs(old: Signs, new: Signs) -> set[str]:
    """Return the features of what two statements are about and say."""
    about = common(old, new)
    marks = said_of(old, new)
    found = about | marks | {"zh" if new.chinese else "en"}
    found |= {f"{one}*{mark}" for one in about for mark in marks}
    shared = (old.one & new.one) | (old.many & new.many)
    changed = new.signals & {"ended", "changed", "corrected"}
    alone = not new.signals & {"added", "brief"}
    for name in shared:
        found.add(f"about:{name}")
        if changed and alone:
            found.add(f"change:{name}")
        if "numbers" in about and name in load().measured:
            found.add(f"number:{name}")
    for name in old.sorts.keys() & new.sorts.keys():
        if new.sorts[name] - old.sorts[name]:
            found.add(f"differ:{name}")
    return found


def common(old: Signs, new: Signs) -> set[str]:
    """Return what the two statements have in common."""
    one, many = old.one & new.one, old.many & new.many
    words = old.words & new.words
    pairs = old.pairs & new.pairs
    named = pairs if new.chinese else frozenset(word for word in words if len(word) > 2)
    letters = frozenset("".join(named)) if new.chinese else named
    sorts = old.sorts.keys() & new.sorts.keys()
    about = {
        "one": bool(one),
        "ones": len(one) > 1,
        "many": bool(many),
        "named": bool(named),
        "names": len(named) > 1,
        "word": bool(words and not named),
        "differ": any(new.sorts[name] - old.sorts[name] for name in sorts),
        "same": any(new.sorts[name] & old.sorts[name] for name in sorts),
        "numbers": bool(old.numbers and new.numbers and not new.numbers <= old.numbers),
        "measured": bool(one & load().measured and old.numbers and new.numbers - old.numbers),
        "denial": old.denies != new.denies,
        "spelt_alike": are_spelt_alike(old, new),
        "covers": bool(named and old.words <= new.words),
    }
    for signal, (spoken, topics) in new.said.items():
        about[f"{signal}_it"] = bool(letters & spoken)
        about[f"{signal}_about"] = bool(topics & (one | many))
        about[f"{signal}_other"] = bool(
            spoken and not letters & spoken and not topics & (one | many)
        )
    found = {name for name, holds in about.items() if holds}
    return (
        found if found & {"one", "many", "named", "word", "differ", "same"} else found | {"nothing"}
    )


def said_of(old: Signs, new: Signs) -> set[str]:
    """Return what each statement says, and of whom."""
    marks = {f"new:{signal}" for signal in new.signals}
    marks |= {
        f"old:{one}"
        for one in old.signals & {"past", "brief", "added", "changed", "plan", "dislikes"}
    }
    subjects = {
        "other_subject": old.subject != new.subject,
        "same_subject": bool(old.subject and old.subject == new.subject),
        "new_relative": bool(new.relatives - old.relatives),
        "old_relative": bool(old.relatives - new.relatives),
        "old_self": bool(SELF.match(old.small)),
        "new_self": bool(SELF.match(new.small)),
        "old_mine": bool(MINE.match(old.small)),
        "old_denies": old.denies,
        "new_denies": new.denies,
        "zh": new.chinese,
    }
    return marks | {name for name, holds in subjects.items() if holds}
