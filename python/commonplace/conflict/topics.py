"""Topics of which a person has one at a time: which message of a change ends which statement.

"Switched gyms" names neither what was nor what is, and "been on zed since january" not the editor
that it ends. So the topic decides: the old statement tells how it is, the new one that it is no
longer so. The tables are in `topics.toml`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from commonplace.chat_spelling import expanded
from commonplace.conflict.lazy_pattern import LazyPattern
from commonplace.conflict.literal_filter import LiteralFilter
from commonplace.conflict.states import OTHER, group_of
from commonplace.conflict.tables import load as conflict_tables
from commonplace.conflict.tables import read_table
from commonplace.conflict.words import cached, content, plain
from commonplace.letter_ranges import CHINESE

RELATIVE = (
    r"(?:wife|husband|partner|girlfriend|boyfriend|fianc[eé]e?|son|daughter|mother|mom|mum|father"
    r"|dad|brother|sister|cousin|niece|nephew|aunt|uncle|grandmother|grandfather|grandma|grandpa"
    r"|room-?mate|flat-?mate|friend|boss|manager)"
)
# "User's sister Lena lives …", "my girlfriend is called Nadia": who a bare name is
NAMED = re.compile(
    rf"\b(?:my|our|user's|their) (?:\w+ )?(?P<who>{RELATIVE}),? "
    r"(?:(?:is|'s) (?:called |named )?|called |named )?(?P<name>(?-i:[A-Z])[a-z]+)\b",
    re.IGNORECASE,
)

# What a statement about a thing, not a person, is about
THING = re.compile(
    r"^(?:the|our|my|their|user's) ([\w -]{2,40}?) (?:uses?|runs?|is|are|was|were|has|have|moved"
    r"|switched|migrated|lives?|went)\b"
)
THING_ZH = re.compile(
    r"(?:我们?的?|用户的?)?([\u3400-\u9fff]{2,6}?)(?:在|是|放|用|为|改|换|挪|定|推迟|提前)"
)
# Topics that are told of another person and end by what the user says of both
OF_RELATIVES = frozenset({"relationship", "pregnancy", "roommate", "manager", "pet", "surname"})


class Topic(NamedTuple):
    """How a topic is told, and how its end."""

    name: str
    old: LazyPattern
    new: LazyPattern
    shared: bool


class Rival(NamedTuple):
    """Values of which one takes the place of another."""

    name: str
    values: tuple[LazyPattern, ...]


class Topics(NamedTuple):
    """What `topics.toml` holds."""

    changed: LazyPattern
    beside: LazyPattern
    taste: LazyPattern
    topics: tuple[Topic, ...]
    # Which topics may be told of in a text, and which may end there
    possible_olds: LiteralFilter
    possible_news: LiteralFilter
    rivals: tuple[Rival, ...]
    # Any value of any of them
    any_rival: LazyPattern


class Ended(NamedTuple):
    """A topic, and how the old and the new statement tell of it."""

    topic: str
    old: str
    new: str


@cache
def load() -> Topics:
    """Read `topics.toml`."""
    table = read_table("topics.toml")
    words = table["words"]

    def pattern(text: str, **more: str) -> LazyPattern:
        named = words | more
        filled = re.sub(r"(?<!P)<(\w+)>", lambda found: named[found[1]], text)
        return LazyPattern(filled, re.ASCII)

    def topic(row: dict[str, str | bool]) -> Topic:
        parts = [str(row["new"])] if "new" in row else []
        if "nouns" in row:
            parts.append(table["new_one"].replace("<noun>", row["nouns"]))
        return Topic(
            str(row["name"]),
            pattern(str(row["old"])),
            pattern("|".join(parts)),
            bool(row.get("shared")),
        )

    topics = tuple(map(topic, table["topic"]))
    return Topics(
        pattern(table["changed"]),
        pattern(table["beside"]),
        pattern(table["taste"]),
        topics,
        LiteralFilter(one.old for one in topics),
        LiteralFilter(one.new for one in topics),
        tuple(
            Rival(row["name"], tuple(LazyPattern(rf"\b(?:{one})(?!\w)") for one in row["values"]))
            for row in table["rival"]
        ),
        LazyPattern(
            rf"\b(?:{'|'.join(one for row in table['rival'] for one in row['values'])})(?!\w)"
        ),
    )


def with_relative(old: str, new: str) -> str:
    """Return a new statement in which a bare name that the old one knows says who it is.

    >>> with_relative("User's sister Lena lives in Oslo", "lena has moved to Bergen")
    'my sister lena has moved to Bergen'
    """
    found = NAMED.search(old)
    if not found or re.search(rf"\b{found['who']}\b", new, re.IGNORECASE):
        return new
    name = re.compile(rf"^{found['name']}\b", re.IGNORECASE)
    return name.sub(lambda said: f"my {found['who']} {said[0]}", new)


def ended_topic(old: str, new: str) -> Ended | None:
    """Return the topic of an old statement that a new one says is no longer as it was.

    >>> ended_topic("I go to PureGym", "switched gyms last week").topic
    'gym'
    >>> ended_topic("I use VS Code", "been on zed since january")
    Ended(topic='editor', old='vs code', new='zed')
    """
    if CHINESE.search(old + new):
        return None
    before, after = _small(old), _small(new)
    tables = load()
    if tables.beside.search(after) or _persons(after) != _persons(before):
        return None
    same_subject = _relative(before) == _relative(after)
    for topic, now in _ends(after):
        if not (same_subject or topic.name in OF_RELATIVES):
            continue
        if topic.name == "manager" and group_of(after) != group_of(before):
            continue
        was = topic.old.search(before)
        if not was or (not _value(was) and topic.new.search(before)):
            continue
        if topic.shared and not content(plain(old)) & content(plain(new)) - _RELATION:
            continue
        values = [_value(was), _value(now)]
        if values[0] != values[1] or not values[0]:
            return Ended(topic.name, was[0].strip(), now[0].strip())
    return _replaced_by_rival(before, after) if same_subject else None


@cached
def _ends(text: str) -> tuple[tuple[Topic, re.Match[str]], ...]:
    """Return the topics of which a message in small letters may tell the end."""
    tables = load()
    topics = (tables.topics[number] for number in tables.possible_news.possible(text))
    found = ((topic, topic.new.search(text)) for topic in topics)
    return tuple((topic, now) for topic, now in found if now)


@cached
def topics_of(text: str) -> frozenset[str]:
    """Return the topics that a statement may tell of, or end.

    >>> sorted(topics_of("switched gyms last week"))
    ['gym']
    """
    if CHINESE.search(text):
        return frozenset()
    small, tables = _small(text), load()
    found = {topic.name for topic, _ in _ends(small) if not topic.shared}
    for topic in (tables.topics[number] for number in tables.possible_olds.possible(small)):
        if not topic.shared and topic.old.search(small):
            found.add(topic.name)
    if tables.any_rival.search(small):
        found |= {rival.name for rival in tables.rivals if _members(rival, small)}
    return frozenset(found)


def _replaced_by_rival(before: str, after: str) -> Ended | None:
    """Return what another value of the same sort takes the place of."""
    tables = load()
    if not tables.changed.search(after) or tables.taste.search(before):
        return None
    if of_another_thing(before, after):
        return None
    for rival in tables.rivals:
        old, new = (_members(rival, text) for text in (before, after))
        others = [value for number, value in new.items() if number not in old]
        if len(old) == len(others) == 1:
            return Ended(rival.name, next(iter(old.values())), others[0])
    return None


def of_another_thing(old: str, new: str) -> bool:
    """Say whether both statements are about a thing, and not about the same.

    >>> of_another_thing("The web app uses Postgres", "The mobile app moved to SQLite")
    True
    """
    kinds = [THING_ZH.match(one) for one in (old, new)]
    if kinds[0] and kinds[1]:
        first_kind, second_kind = kinds[0][1], kinds[1][1]
        # "周会" and "评审会" are two meetings
        alike = first_kind[-1] == second_kind[-1]
        return alike and first_kind not in second_kind and second_kind not in first_kind
    things = [THING.match(_small(one)) for one in (old, new)]
    if not all(things):
        return False
    first, second = (content(thing[1]) for thing in things if thing)
    return bool(second) and not second <= first


def _members(rival: Rival, text: str) -> dict[int, str]:
    return {
        number: found[0]
        for number, pattern in enumerate(rival.values)
        if (found := pattern.search(text))
    }


@cached
def _small(text: str) -> str:
    return expanded(" ".join(text.split()).replace("\u2019", "'")).casefold()


def _relative(text: str) -> str:
    """Return whom of the user's relatives a statement is about; "" is the user."""
    found = OTHER.match(text)
    return found["who"] if found else ""


def _persons(text: str) -> frozenset[str]:
    return frozenset(conflict_tables().person.findall(text)) - _RELATION


def _value(found: re.Match[str]) -> str:
    parts = found.groupdict()
    return parts.get("v") or parts.get("w") or ""


# Whose change of state may be the user's own
_RELATION = frozenset(
    re.findall(
        r"\w+",
        "girlfriend boyfriend fiance fiancé fiancée roommate roommates flatmate flatmates boss"
        " manager husband wife partner user users my",
    )
)
