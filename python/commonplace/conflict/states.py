"""Claims of states and values that hold one at a time, wherever in a clause they are said.

A form (`claims.py`) reads a whole statement; here a clause of any shape is enough, such as chats
have: "it was my birthday, i'm 42 now", "房东换了，现在是赵先生". The tables are in `states.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from commonplace.chat_spelling import expanded
from commonplace.conflict.features import load as attributes_tables
from commonplace.conflict.lazy_pattern import LazyPattern
from commonplace.conflict.literal_filter import LiteralFilter
from commonplace.conflict.tables import load as conflict_tables
from commonplace.conflict.tables import read_table
from commonplace.conflict.words import DENIALS, LONG_FORMS, cached
from commonplace.letter_ranges import CHINESE

NO_PLACE = "and|so|for|with|since|now|last|this|btw|after|but|to|from|moved"
PLACE = rf"[a-z][\w'&.-]*(?: (?!(?:{NO_PLACE})\b)[\w'&-]+){{0,2}}?"
STOP = (
    r"(?=$|[,;!]|\.(?:\s|$)| (?:with|for|since|last|in|on|at|because|so|and|after|now"
    r"|btw|this|these"
    r"|from|when|as|by|where|again|yesterday|but|recently|near|too|together|next|—|-|–|instead)\b)"
)
CLAUSE = re.compile(
    r"[,，;；。！!]\s?|\. | - | – | — | and (?=i\b|we\b|i'm\b|we're\b)| but | so (?=i\b|we\b)"
)
OTHER = re.compile(
    r"^(?:(?:my|our|his|her|their|the|user's|users'|the user's|用户的?|我们?的?|我们?家的?)? ?)"
    r"(?:(?:older|younger|little|big|old|best|new|eldest|oldest|youngest|ex) )?"
    r"(?P<who>sister|brother|mother|mom|mum|father|dad|parents|aunt|uncle|cousin|nephew|niece"
    r"|grandma|grandpa|grandmother|grandfather|friend|neighbou?r|colleague|co-?worker|boss|roommate"
    r"|flatmate|client|customer|teacher|wife|husband|partner|girlfriend|boyfriend|son|daughter|kid"
    r"|child|dog|cat|puppy|ex|妹妹|妹|弟弟|弟|哥哥|哥|姐姐|姐|爸爸|爸妈|爸|妈妈|妈"
    r"|爷爷|奶奶|外公|外婆"
    r"|孩子|娃|宝宝|[猫狗](?![粮砂舍窝])|老婆|老公|妻子|丈夫|媳妇|儿子|女儿|闺女|同事|朋友|闺蜜|室友|邻居|同学|表[哥弟姐妹]|叔叔|舅舅"
    r"|[小老](?=[\u4e00-\u9fff](?!板|婆|公|师|了|家)))s?"
    r"(?![- ]in[- ]law)(?!(?:'s)? and (?:i|me)\b)(?!和我|跟我)"
)
# What is so of one of a couple is so of the other
OF_BOTH = {"relationship", "pregnancy", "children"}
# Who lives with the user does not live alone, and the user neither
WITH_ME = re.compile(r"\bmoved? in\b|\bwith (?:me|us)\b|搬(?:来|进)|[和跟]我")
SPOUSES = {
    "wife",
    "husband",
    "partner",
    "girlfriend",
    "boyfriend",
    "老婆",
    "老公",
    "妻子",
    "丈夫",
    "媳妇",
    "baby",
    "孩子",
}
# Whose birth it is says who has a child
NEWBORN = {"女儿", "儿子", "闺女", "娃", "宝宝", "son", "daughter"}
AGO = re.compile(
    r" (?:yesterday|(?:about )?(?:an?|one|two|three|four|few|a few|\d+)"
    r" (?:day|week|month|year)s? ago)\b"
    r"|(?:昨天|前天|[一两二三四五六几]个?(?:天|周|星期|月|年)前)"
)
# Whose manager somebody is, if not the user's
GROUP = re.compile(
    r"\bof (?:the )?(?P<who>(?!my\b|our\b|the user)[\w' -]{2,30}?"
    r" (?:team|group|office|department|branch))\b"
    r"|(?:^|[，。])(?P<who2>(?!我|咱|用户)[^，。]{1,8}?(?:组|部|部门|团队|分公司|办公室|店))的"
)
# A group of a slot with such a name holds what must be known for a place
KNOWN = "known"
# Places by their initials; those of departments are written alike ("HR", "QA")
ABBREVIATED = frozenset(["nyc", "la", "sf", "dc", "uk", "us", "usa", "uae", "eu", "hk"])
# What may follow the name of a city, and is still a place
DISTRICT_OF_CITY = re.compile(r"市?(?:[\u4e00-\u9fff]{1,3}[区县镇村])?")
# What has moved or is somewhere, if not the user
NOT_AT_HOME = re.compile(
    r"\b(?:company|office|team|startup|headquarters|hq|servers?|factory)\b|公司|办公室|总部|团队|工厂"
    r"|把[^，。]{1,12}搬"
)
SCOPED = re.compile(
    r"\b(?:at (?:work|home|school|the office)|for|when|while|if|during"
    r"|on (?:my|the) (?:work|home)\w*"
    r"|(?:on |at )?(?:weekdays|weekends|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)"
    r"|work (?:laptop|phone|computer)|once|twice|sometimes|(?:two|three|\d) days|also|too)\b"
    r"|\b(?:in|with|to) (?:the |my )?(?:code|commits?|pull|e-?mails?|docs?|documentation|comments?"
    r"|slides?|meetings?|reports?|reviews?|messages?|tests?|chats?|friends|family|colleagues"
    r"|clients?|customers?)\b|代码|审查|提交|邮件|文档|注释|聊天|会议|报告|周报|朋友|客户|同事"
    r"|工作用|(?:工作|办公|公司|备用)(?:手机|电脑|机)|在公司|在家(?!办公)|周末|工作日|的时候|时候|有时|也"
)
FIRST = re.compile(
    r"^(?:\w+ )?(?:i|we|i'm|we're|user|my|our)\b|^(?:我|用户|咱)"
    r"|^(?:现在|目前|如今)?(?:一个人|自己|独自)"
)


def group_of(part: str) -> str:
    """Return whose manager a clause in small letters speaks of; "" is the user.

    >>> group_of("the new manager of the lagos team is pieter"), group_of("my manager is sunita")
    ('lagos team', '')
    """
    found = GROUP.search(part)
    return found["who"] or found["who2"] if found else ""


class State(NamedTuple):
    """One state of an attribute; `rank` counts from 1 where the states follow each other."""

    attribute: str
    value: str
    pattern: LazyPattern
    denied: bool
    rank: int
    # Said with a place or a use it holds there alone
    scoped: bool


class Slot(NamedTuple):
    """A pattern that reads the value of an attribute, and what is no such value."""

    attribute: str
    pattern: LazyPattern
    other: LazyPattern | None
    strong: LazyPattern | None


class Reading(NamedTuple):
    """An attribute and its value, said of whom (empty: the user)."""

    subject: str
    attribute: str
    value: str
    rank: int
    strong: bool = True


class Tables(NamedTuple):
    """What `states.toml` holds."""

    states: tuple[State, ...]
    slots: tuple[Slot, ...]
    # Which of them may be found in a text
    possible_states: LiteralFilter
    possible_slots: LiteralFilter


@cache
def load() -> Tables:
    """Read `states.toml`."""
    table = read_table("states.toml")
    states: list[State] = []
    for attribute, row in table["state"].items():
        ordered, scoped = row.pop("ordered", False), row.pop("scoped", False)
        for rank, (value, pattern) in enumerate(row.items(), 1):
            denied = value.startswith("not_")
            found = LazyPattern(pattern, re.ASCII)
            states.append(State(attribute, value, found, denied, rank if ordered else 0, scoped))
    slots = tuple(
        Slot(
            row["attribute"],
            LazyPattern(row["pattern"].replace("<place>", PLACE).replace("<stop>", STOP), re.ASCII),
            LazyPattern(row["not"], re.ASCII) if "not" in row else None,
            LazyPattern(row["strong"], re.ASCII) if "strong" in row else None,
        )
        for row in table["slot"]
    )
    return Tables(
        tuple(states),
        slots,
        LiteralFilter(one.pattern for one in states),
        LiteralFilter(one.pattern for one in slots),
    )


@cached
def readings(names: str) -> tuple[Reading, ...]:
    """Return what a statement, as it was written, says of states and single values.

    >>> readings("it was my birthday, i'm 42 now")
    (Reading(subject='', attribute='age', value='42', rank=0, strong=True),)
    """
    names = expanded(" ".join(names.split()))
    return tuple(dict.fromkeys(_readings(names.casefold(), names)))


def is_known_place(value: str, names: str) -> bool:
    """Say whether a value is surely a place: a city or country that is known, or a name.

    Args:
        value: What is in the place of one, in lowercase.
        names: The statement as it was written, in which a name has a capital letter.

    >>> is_known_place("ghent", "i'm in ghent now"), is_known_place("sales", "I'm in sales now")
    (True, False)
    >>> is_known_place("上海", "我现在在上海"), is_known_place("腾讯", "我现在在腾讯")
    (True, False)
    """
    value = value.removeprefix("the ")
    if conflict_tables().country.search(value) or value in ABBREVIATED:
        return True
    if CHINESE.search(value):
        city = attributes_tables().sort["city"].match(value)
        return bool(city and DISTRICT_OF_CITY.fullmatch(value, city.end()))
    if attributes_tables().sort["city"].fullmatch(value):
        return True
    at = names.casefold().find(value)
    return at >= 0 and names[at].isupper() and names[at + 1 : at + 2].islower()


def _readings(text: str, names: str) -> Iterator[Reading]:
    text = AGO.sub("", text.replace("\u2019", "'"))
    parts = [part.strip() for part in CLAUSE.split(text) if part and part.strip()]
    subject = ""
    for part in parts:
        if found := OTHER.match(part):
            subject = found["who"]
        elif FIRST.match(part):
            subject = ""
        yield from _of_clause(part, subject, names)
    if len(parts) > 1 and not OTHER.match(parts[0]):
        yield from _of_slots(text, "", names)


def _of_clause(part: str, subject: str, names: str) -> Iterator[Reading]:
    tables = load()
    long = part
    for short, form in LONG_FORMS:
        long = short.sub(form, long)
    denied = bool(DENIALS.search(long))
    for number in tables.possible_states.possible(part):
        state = tables.states[number]
        if state.scoped and SCOPED.search(part):
            continue
        of_both = subject in SPOUSES or (state.value == "born" and subject in NEWBORN)
        together = state.attribute == "household" and WITH_ME.search(part)
        who = "" if together or (of_both and state.attribute in OF_BOTH) else subject
        if state.pattern.search(part) and (state.denied or not denied or state.rank):
            yield Reading(who, state.attribute, state.value, state.rank)
    if not denied:
        yield from _of_slots(part, subject, names)


def _of_slots(part: str, subject: str, names: str) -> Iterator[Reading]:
    tables = load()
    for number in tables.possible_slots.possible(part):
        slot = tables.slots[number]
        if slot.attribute == "home" and NOT_AT_HOME.search(part):
            continue
        for found in slot.pattern.finditer(part):
            group, value = next(((n, v) for n, v in found.groupdict().items() if v), ("", ""))
            value = value.strip(" .'-")
            if group.startswith(KNOWN) and not is_known_place(value, names):
                continue
            if value and not (slot.other and slot.other.search(value)):
                strong = not slot.strong or bool(slot.strong.search(part))
                of_group = group_of(part) if slot.attribute == "manager" else ""
                yield Reading(of_group or subject, slot.attribute, value, 0, strong)
