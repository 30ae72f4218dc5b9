"""Comparison of two statements: values that ended or were replaced, negation, other context.

Here nothing is known of the words themselves; the grammar of change is enough. "Sold the Civic",
"from Jenkins to Drone", "英文不再用" name an old value, and it is removed if the old statement had
it. "The standup moved to ten" and "周会改到周四" name a topic and its value, as "Standup: nine"
does; topics are compared as sets of words, so that order and articles do not matter.
"""

from __future__ import annotations

import re
from itertools import product
from typing import NamedTuple

from commonplace.conflict.tables import load
from commonplace.conflict.words import (
    DATES,
    KINDS,
    cached,
    content,
    denies,
    is_extension,
    kind,
    places,
    scalar,
)
from commonplace.letter_ranges import CHINESE

CLAUSE = re.compile(r"[,;，；。] ?|\. | - | – | because ")
LIST = re.compile(r" and | or |、|和|以及| / ")
EDGES = re.compile(
    r"^(?:the|a|an|my|our|their|his|her|its|about|around|exactly|now|了|约|大约)\b ?|^[了约]"
    r"|(?: now| instead| again| only| for good| euros?| dollars?| this .*| since .*| as of .*)$|了$"
)
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
# Adds nothing to the name of what it stands beside
SUPPORT = re.compile(
    r"\b(?:class(?:es)?|lessons?|courses?|account|subscription|membership|habit|app|doing"
    r"|taking|using|the|my|our|see|seeing|visit|visiting|have|having|own|owning|wear|wearing"
    r"|(?:go|going|went) to|(?:work|working) (?:at|for|with)|(?:live|living) (?:in|at|with)"
    r"|volunteer(?:ing)? (?:at|with|for)|train(?:ing)? (?:at|with))\b|会员卡?|账号|卡$|订阅"
)
VERB = re.compile(r"[刷玩看追学吃喝用养骑开戴听练去碰抽订住租送跑弹踢拉唱办报](?=..)")
# To whom something went is not whom it is about
RECIPIENT = re.compile(r"给了?我?家?[爸妈弟妹哥姐父母朋友同事爷奶叔舅侄]+")
# Words which tie a phrase to one place or use
BOUND = re.compile(r"\b(?:for|in|on|at|during|when|while|with|after|before|under|inside) (.+)$")


class Change(NamedTuple):
    """A topic, the value it has, and whether the statement says that this is new."""

    topic: frozenset[str]
    # What the topic is a kind of: of "the editor font" the font
    head: frozenset[str]
    value: str
    changed: bool
    key: bool


def value_kind(value: str) -> str:
    """Return whether a value is a day, a date, a number or anything else."""
    found = kind(value)
    if COUNT.match(value):
        return "number" if found == "word" else found
    return "word" if found == "number" else found


def clauses(text: str) -> list[str]:
    """Return a statement and, if it has several clauses, each of them."""
    parts = [part.strip() for part in CLAUSE.split(text) if part and part.strip()]
    return [text, *parts] if len(parts) > 1 else [text]


def removed_value(old: str, new: str) -> str | None:
    """Return the value of `old` that `new` says holds no longer."""
    tables = load()
    if tables.durable.search(old) or denies(old):
        return None
    there = content(old)
    head = re.split(r"[:：]|\b(?:is|are)\b|是", old, maxsplit=1)
    topic = content(head[0]) if len(head) > 1 else frozenset()
    for value, place, moved in removals(new):
        left = ended(value, there)
        if (
            not left
            or not left <= there
            or left <= topic
            or are_bound_to_different_places(old, clause_at(new, place), left)
        ):
            continue
        # "The app moved from X to Y" says nothing of a site that uses X
        start = max(map(new[:place].rfind, ",;，；。"))
        about, rest = content(new[start + 1 : place]) - left, there - left
        # "吉他不学了" is said of the guitar alone
        if about and re.fullmatch(r"[\u4e00-\u9fff]", value.strip()):
            continue
        if not moved or not about or not rest or about & rest:
            return value.strip()
    return None


@cached
def removals(text: str) -> tuple[tuple[str, int, bool], ...]:
    """Return what a statement says is no more: its words, their place, and if it has moved on."""
    return tuple(
        (found["x"], found.start("x"), moved)
        for pattern, moved in load().removals
        for found in pattern.finditer(text)
    )


def ended(text: str, there: frozenset[str]) -> frozenset[str]:
    """Return the words of what is said to have ended, as far as they name it.

    "My gym membership" may name the gym, and "刷知乎" the site.
    """
    words = content(text)
    if words <= there:
        return words
    bare = SUPPORT.sub(" ", text).strip()
    for part in (bare, bare[1:] if VERB.match(bare) else bare):
        if part and (named := content(part)) and named <= there:
            return named
    return words


def clause_at(text: str, place: int) -> str:
    """Return the clause of a statement that a character is in."""
    start = max(text[:place].rfind(mark) for mark in ",;，；。") + 1
    end = CLAUSE.search(text, place)
    return text[start : end.start() if end else len(text)]


def are_bound_to_different_places(old: str, new: str, left: frozenset[str]) -> bool:
    """Say whether the two statements are tied to different places or uses."""
    ties = [
        content(found[1]) if (found := BOUND.search(DATES.sub("", text))) else frozenset()
        for text in (old, new)
    ]
    if any(tie & left for tie in ties):
        return False
    return bool(ties[0] and ties[1] and not ties[0] & ties[1])


@cached
def read_changes(text: str) -> tuple[Change, ...]:
    """Return the readings of a statement as a topic with its value."""
    tables = load()
    readings: list[Change] = []
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
            if topic and value and short and (value_kind(value) == "day" or not LIST.search(value)):
                readings.append(Change(topic, head_of(found["t"]), value, changed, key))
    return tuple(readings)


def head_of(topic: str) -> frozenset[str]:
    """Return the last word of a topic, before what "of" or "for" adds to it."""
    words = re.split(r" (?:of|for|in|on|at|with) ", topic)[0].split()
    last = words[-1] if words else ""
    return content(last[-1] if CHINESE.search(last) else last)


def other_value(old: str, new: str) -> tuple[str, str, str] | None:
    """Return the topic, the old and the new value, where a topic of both has another value."""
    tables = load()
    if tables.durable.search(old):
        return None
    several = bool(tables.several.search(old))
    before = list(read_changes(old))
    for after in read_changes(new):
        if any(one.value == after.value or is_extension(one.value, after.value) for one in before):
            return None
        for first in before:
            if replaces(first, after, several=several):
                return " ".join(sorted(after.topic)), first.value, after.value
        if was := value_within(old, after):
            return " ".join(sorted(after.topic)), was, after.value
    return None


def replaces(old: Change, new: Change, *, several: bool) -> bool:
    """Say whether two readings give one topic different values of the same sort."""
    if is_extension(new.value, old.value) or value_kind(old.value) != value_kind(new.value):
        return False
    if new.changed:
        return old.topic >= new.topic and (old.topic == new.topic or old.head <= new.topic)
    fixed = scalar(new.value) and scalar(old.value)
    return not several and old.topic == new.topic and (fixed or (old.key and new.key))


def value_within(old: str, new: Change) -> str | None:
    """Return the number or day that `old` gives to the topic which `new` says has changed."""
    what = value_kind(new.value)
    if not new.changed or what == "word" or not new.topic <= content(old) or new.value in old:
        return None
    if CHINESE.search(old):
        return old if what == kind(old) or (what == "number" and NUMBER.search(old)) else None
    return next((word for word in old.split() if value_kind(word) == what), None)


def other_number(old: str, new: str, *, changed: bool) -> tuple[str, str, str] | None:
    """Return "number" and the two numbers, or days, of statements that are else the same."""
    tables = load()
    texts = [DATES.sub("", text) for text in (old, new)]
    slot = NUMBER if any(map(NUMBER.search, texts)) else KINDS["day"]
    if tables.counted.search(old) or tables.events.search(old) or denies(old) or denies(new):
        return None
    if not changed and slot is not NUMBER:
        return None
    found = [slot.findall(text) for text in texts]
    if any(len(numbers) != 1 for numbers in found) or found[0] == found[1]:
        return None
    # "thing number 3" is named by its number, "has 3 things" has it for a value
    if not all(tables.measured.search(text) for text in texts):
        return None
    first, second = (content(slot.sub(" ", text)) for text in texts)
    if first and (first == second or (first > second and changed and second)):
        return "number", found[0][0], found[1][0]
    return None


def is_negated(old: str, new: str, *, changed: bool) -> bool:
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


def have_different_context(old: str, new: str) -> bool:
    """Say whether the statements are about different places, times or persons."""
    tables = load()
    tied = [places(text) for text in (old, new)]
    persons = [set(tables.person.findall(RECIPIENT.sub("", text))) for text in (old, new)]
    letters = [set(LETTER.findall(text)) for text in (old, new)]
    return (
        bool(tied[1] - tied[0] and tied[0] - tied[1])
        or persons[0] != persons[1]
        or (letters[0] != letters[1] and all(letters))
    )
