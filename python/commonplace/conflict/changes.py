"""Read from a new statement what it says has changed: what is gone, what became what.

Here nothing is known of the words themselves; the grammar of change is enough. "Sold the Civic",
"from Jenkins to Drone", "英文不再用" name an old value, and it is gone if the old statement had
it. "The standup moved to ten" and "周会改到周四" name a topic and its value, as "Standup: nine"
does; topics are compared as sets of words, so that order and articles do not matter.
"""

from __future__ import annotations

import re
from itertools import product
from collections.abc import Iterator
from typing import NamedTuple

from commonplace.conflict.tables import load
from commonplace.conflict.words import (
    CHINESE,
    DATES,
    KINDS,
    content,
    denies,
    kind,
    more,
    places,
    scalar,
)

CLAUSE = re.compile(r"[,;，；。] ?|\. | - | – ")
LIST = re.compile(r" and | or |、|和|以及| / ")
EDGES = re.compile(
    r"^(?:the|a|an|my|our|their|his|her|its|about|around|exactly|now|了|约|大约)\b ?|^[了约]"
    r"|(?: now| instead| again| only| for good| euros?| dollars?| this .*| since .*| as of .*)$|了$"
)
# The patterns of `gone` that say what has changed, not only that something has
FROM = (r"\b(?:moved?|", "(?:从|由)")
LETTER = re.compile(
    r"(?<!方案)(?<!选项)(?<=[\u3400-\u9fff])[a-h](?![\w-])|(?<![\w-])[a-h](?=项目|组|队|区|栋|楼|班|库|服务)",
    re.ASCII,
)
NUMBER = re.compile(
    r"\d[\d:.,]*|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b"
    r"|(?<![周期拜第初高大])[两三四五六七八九十百千万亿]+(?!月)"
)
COUNT = re.compile(
    r"[$€£¥v]?\d|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|noon|midnight)\b"
    r"|[一二两三四五六七八九十百千万亿]+"
)
# Words which tie a phrase to one place or use
BOUND = re.compile(r"\b(?:for|in|on|at|during|when|while|with|after|before|under|inside) (.+)$")


class Change(NamedTuple):
    """A topic, the value it has, and whether the statement says that this is new."""

    topic: frozenset[str]
    value: str
    changed: bool
    key: bool


def sort(value: str) -> str:
    """Return whether a value is a day, a date, a number or anything else."""
    found = kind(value)
    if COUNT.match(value):
        return "number" if found == "word" else found
    return "word" if found == "number" else found


def counts(text: str) -> str | None:
    """Return "number" if there is one in a text."""
    return "number" if NUMBER.search(text) else None


def clauses(text: str) -> list[str]:
    """Return a statement and, if it has several clauses, each of them."""
    parts = [part.strip() for part in CLAUSE.split(text) if part and part.strip()]
    return [text, *parts] if len(parts) > 1 else [text]


def gone(old: str, new: str) -> str | None:
    """Return the value of `old` that `new` says is no more."""
    tables = load()
    if tables.durable.search(old):
        return None
    there = content(old)
    head = re.split(r"[:：]|\b(?:is|are)\b|是", old, maxsplit=1)
    topic = content(head[0]) if len(head) > 1 else frozenset()
    for pattern in tables.gone:
        for found in pattern.finditer(new):
            left = content(found["x"])
            if not left or not left <= there or left <= topic or elsewhere(old, new, left):
                continue
            # "The app moved from X to Y" says nothing of a site that uses X
            start = max(map(new[: found.start("x")].rfind, ",;，；。"))
            about, rest = content(new[start + 1 : found.start("x")]) - left, there - left
            if not found.re.pattern.startswith(FROM) or not about or not rest or about & rest:
                return found["x"].strip()
    return None


def elsewhere(old: str, new: str, left: frozenset[str]) -> bool:
    """Say whether the two statements are tied to different places or uses."""
    ties = [
        content(found[1]) if (found := BOUND.search(DATES.sub("", text))) else frozenset()
        for text in (old, new)
    ]
    if any(tie & left for tie in ties):
        return False
    return bool(ties[0] and ties[1] and not ties[0] & ties[1])


def read_changes(text: str) -> Iterator[Change]:
    """Yield the readings of a statement as a topic with its value."""
    tables = load()
    for part in clauses(text):
        if denies(part):
            continue
        for pattern, changed, key in tables.changes:
            if not (found := pattern.match(part)):
                continue
            value = found["v"].strip()
            while (bare := EDGES.sub("", value).strip(" .。")) != value:
                value = bare
            topic = content(found["t"])
            if key and (tables.many.search(found["t"]) or len(value.split()) > 3):
                continue
            short = len(value) <= 16 if CHINESE.search(value) else len(value.split()) <= 5
            if topic and value and short and (sort(value) == "day" or not LIST.search(value)):
                yield Change(topic, value, changed, key)


def weigh_changes(old: str, new: str) -> tuple[str, str, str] | None:
    """Return the topic, the old and the new value, where a topic of both has another value."""
    tables = load()
    if tables.durable.search(old):
        return None
    several = tables.several.search(old)
    before = list(read_changes(old))
    for after in read_changes(new):
        for first in before:
            if first.value == after.value or more(first.value, after.value):
                return None
        for first in before:
            if more(after.value, first.value) or sort(first.value) != sort(after.value):
                continue
            same = first.topic == after.topic
            fixed = scalar(after.value) and scalar(first.value)
            if several and not after.changed:
                continue
            if same and (after.changed or fixed or (first.key and after.key)):
                return " ".join(sorted(after.topic)), first.value, after.value
            if (first.topic > after.topic) and after.changed:
                return " ".join(sorted(after.topic)), first.value, after.value
        what = sort(after.value)
        if after.changed and what != "word" and after.topic <= content(old):
            had = [word for word in old.split() if sort(word) == what] or (
                [old] if CHINESE.search(old) and what in {kind(old), counts(old)} else []
            )
            if had and after.value not in old:
                return " ".join(sorted(after.topic)), had[0], after.value
    return None


def other_number(old: str, new: str, *, changed: bool) -> tuple[str, str] | None:
    """Return the two numbers, or days, if the statements are the same but for one each."""
    tables = load()
    slot = NUMBER
    numbers = [slot.findall(DATES.sub("", text)) for text in (old, new)]
    if changed and not any(numbers):
        slot = KINDS["day"]
        numbers = [slot.findall(text) for text in (old, new)]
    if tables.counted.search(old) or tables.events.search(old):
        return None
    if any(len(found) != 1 for found in numbers) or numbers[0] == numbers[1]:
        return None
    if any(text.find(found[0]) < 3 for text, found in zip((old, new), numbers, strict=True)):
        return None
    if denies(old) or denies(new):
        return None
    first, second = (content(slot.sub(" ", DATES.sub("", text))) for text in (old, new))
    if first and (first == second or (first > second and changed and second)):
        return numbers[0][0], numbers[1][0]
    return None


def turned(old: str, new: str, *, changed: bool) -> bool:
    """Say whether one statement denies what the other says, light verbs aside."""
    for was, part in product(clauses(old)[:2], clauses(new)):
        first, no = content(was), denies(was)
        second = content(part)
        if not first or not second or no == denies(part):
            continue
        if first == second:
            return True
        extra = second - first
        if changed and first < second and len(extra) <= 2 and not BOUND.search(DATES.sub("", part)):
            return True
    return False


def parted(old: str, new: str) -> bool:
    """Say whether the statements are about different places, times or persons."""
    tables = load()
    tied = [places(text) for text in (old, new)]
    persons = [set(tables.person.findall(text)) for text in (old, new)]
    letters = [set(LETTER.findall(text)) for text in (old, new)]
    return (
        bool(tied[1] - tied[0] and tied[0] - tied[1])
        or persons[0] != persons[1]
        or (letters[0] != letters[1] and all(letters))
    )
