"""Comparison of two statements by rules: their claims, topics, values and denials.

Two claims conflict only where who, attribute and scope are the same, the attribute holds one value
at a time, and the values differ; or where the new statement says that the old value is no more or
has become another, or denies the old statement. Words in common prove nothing, for a false
replacement loses what a duplicate keeps. The tables are in `conflict.toml`.
"""

from __future__ import annotations

import re
from dataclasses import replace

from commonplace.conflict.changes import (
    have_different_context,
    is_negated,
    other_number,
    other_value,
    removed_value,
)
from commonplace.conflict.claims import CITIES, LIST, SLOT_SCOPE, Claim, read
from commonplace.conflict.conditions import concerns_user, is_of_relative
from commonplace.conflict.features import attributes
from commonplace.conflict.tables import load
from commonplace.conflict.topics import ended_topic
from commonplace.conflict.verdict import Verdict
from commonplace.conflict.words import (
    ACTS,
    ACTS_SMALL,
    ACTS_ZH,
    DENIALS,
    OURSELVES,
    SELF,
    core,
    is_extension,
    kind,
    other_subject,
    places,
    plain,
)

# A report of a fault tells of no change: "we are getting this warning when starting flask"
FAULT = re.compile(
    r"\b(?:get(?:s|ting)?|got|see(?:ing|s)?|throws?|throwing|gives?|giving|shows?|raises?|hit(?:ting)?"
    r"|with|this|following) (?:[\w-]+ ){0,3}?"
    r"(?:warnings?|errors?|exceptions?|tracebacks?|stack ?traces?|segfaults?)\b",
    re.IGNORECASE,
)
# It lies in a city, not beside one
DISTRICT = re.compile(r"[区县镇路街]$")
# Of a time of day these say nothing more
DAILY = {"bedtime", "rising"}
PARTS_OF_DAY = frozenset({"早上", "晚上"})
# Says in the new statement that something is no longer as it was
CHANGED = re.compile(r"\b(?:now|switched|changed|moved|these days)\b|改|换|现在|如今")


def by_rules(old: str, new: str) -> Verdict:
    """Compare two statements by the rules alone."""
    other = other_subject(old, new)
    stranger = other and OURSELVES.match(old) is not None and bool(acting(new))
    if is_of_relative(old, new) or (stranger and not concerns_user(new)) or is_new_fault(old, new):
        return Verdict(conflict=False, reason="unrelated")
    before, after = plain(old), plain(new)
    if verdict := word_for_word(before, after):
        return verdict
    # "Pieter is my manager now" is about the user
    other = other and not stranger
    unrelated = other or have_different_context(before, after)
    if not unrelated and (value := removed_value(before, after)):
        return Verdict(conflict=True, reason="replaced", old_value=value, new_value=after)
    best = by_claims(before, after, (old, new))
    if other and not OURSELVES.match(old):
        best = replace(best, conflict=False, reason="unrelated")
    elif not (best.conflict or best.reason in {"same", "detail", "scope"}):
        best = by_topic(old, new) or best
    if best.conflict or unrelated or best.reason in {"same", "detail", "scope"}:
        return best
    names = new.casefold()
    if verdict := by_change(before, after, changed=bool(load().changed.search(names))):
        return verdict
    if best.reason == "unrelated" and places(before) == places(after):
        best = by_single_difference(before, after, names) or best
    return best


def is_new_fault(old: str, new: str) -> bool:
    """Say whether only the new statement reports a fault."""
    return bool(FAULT.search(new) and not FAULT.search(old))


def acting(text: str) -> str:
    """Return the name of whom a statement is about, if it is no thing that has attributes.

    >>> acting("Tom quit smoking"), acting("katja quit smoking"), acting("Rent got raised")
    ('Tom', 'katja', '')
    """
    found = ACTS.match(text) or ACTS_ZH.match(text) or ACTS_SMALL.match(text)
    if not found:
        return ""
    known = attributes(found["name"])
    return "" if known.names or known.sorts else found["name"]


def word_for_word(old: str, new: str) -> Verdict | None:
    """Return a verdict if the statements are the same but for a denial."""
    (old_core, old_denied), (new_core, new_denied) = core(old), core(new)
    if old == new or (old_core == new_core and old_denied == new_denied):
        return Verdict(conflict=False, reason="same")
    if old_core and old_core == new_core:
        return Verdict(conflict=True, reason="denied", old_value=old, new_value=new)
    return None


def by_claims(old: str, new: str, names: tuple[str, str]) -> Verdict:
    """Compare the claims of two plain statements; `names` is how they were written."""
    best = Verdict(conflict=False, reason="unrelated")
    claims = read(new, names[1])
    for first in read(old, names[0]):
        for second in claims:
            if (first.subject, first.attribute) != (second.subject, second.attribute):
                continue
            verdict = compare_claims(first, second)
            if verdict.reason in {"same", "detail"}:
                if first.loose and second.loose:
                    continue
                return verdict
            idle = PARTS_OF_DAY if second.attribute in DAILY else frozenset[str]()
            tied = places(old) - idle != places(new) - idle
            if verdict.conflict and tied and not places(f"{first.value} {second.value}"):
                verdict = replace(verdict, conflict=False, reason="scope")
            best = best if best.conflict else verdict
    return best


def by_change(old: str, new: str, *, changed: bool) -> Verdict | None:
    """Return a conflict if a topic of both has another value, or one denies the other."""
    if (found := other_value(old, new)) or (found := other_number(old, new, changed=changed)):
        topic, was, value = found
        return Verdict(
            conflict=True,
            reason=f"changed:{topic}",
            attribute=topic,
            old_value=was,
            new_value=value,
        )
    if is_negated(old, new, changed=changed):
        return Verdict(conflict=True, reason="denied", old_value=old, new_value=new)
    return None


def by_topic(old: str, new: str) -> Verdict | None:
    """Return a conflict if the new statement ends the topic of the old one."""
    if not (found := ended_topic(old, new)):
        return None
    return Verdict(
        conflict=True,
        reason=f"changed:{found.topic}",
        attribute=found.topic,
        old_value=found.old,
        new_value=found.new,
    )


def by_single_difference(old: str, new: str, names: str) -> Verdict | None:
    """Return a conflict when all but one value is word for word the same, and it can be only one.

    That it can be only one is known from the verb ("is hosted on", "reports to"), or from a word of
    change ("now", "switched") beside a verb that does not go with many ("likes", "speaks").
    """
    parts = [
        re.findall(r"[a-z0-9_.#+:'/-]+|[\u3400-\u9fff]", SELF.sub("", text)) for text in (old, new)
    ]
    same = [x == y for x, y in zip(*parts, strict=False)]
    start = same.index(False) if False in same else len(same)
    reversed_pairs = zip(reversed(parts[0][start:]), reversed(parts[1][start:]), strict=False)
    ends = [x == y for x, y in reversed_pairs]
    end = ends.index(False) if False in ends else len(ends)
    values = [" ".join(words[start : len(words) - end]) for words in parts]
    shared = " ".join(parts[0][:start])
    tables = load()
    only = tables.only_one.search(re.sub(r" (?:the|a|an|my|our)$", "", shared)) or (
        CHANGED.search(names) and len(shared) > 3 and not tables.several.search(shared)
    )
    short = all(
        value
        and len(value.split()) <= 6
        and not SLOT_SCOPE.search(value)
        and not re.search(r"\b(?:is|are)\b", value)
        for value in values
    )
    if not (only and short) or any(LIST.search(value) or DENIALS.search(value) for value in values):
        return None
    return compare_claims(
        Claim("", shared, values[0], frozenset()), Claim("", shared, values[1], frozenset())
    )


def is_wider_place(old: str, new: str) -> bool:
    """Say whether one place may lie within the other: a city in a country, a district in a city."""
    countries = [bool(load().country.search(value)) for value in (old, new)]
    if countries[0] == countries[1]:
        return False
    district, other = (old, new) if countries[0] else (new, old)
    return not DISTRICT.search(district) or bool(CITIES.search(other))


def compare_claims(old: Claim, new: Claim) -> Verdict:
    """Compare two claims about the same attribute of the same subject."""
    found = Verdict(
        conflict=False,
        reason="unrelated",
        subject=old.subject,
        attribute=old.attribute,
        old_value=old.value,
        new_value=new.value,
    )
    wider = is_wider_place(old.value, new.value)
    if old.scope != new.scope:
        reason = "scope"
    elif old.value == new.value:
        reason = "same"
    elif old.rank > new.rank:
        reason = "many"
    elif (
        is_extension(old.value, new.value)
        or is_extension(new.value, old.value)
        or (old.attribute == "home" and wider)
    ):
        reason = "detail"
    elif len({kind(old.value), kind(new.value)} - {"word"}) > 1:
        reason = "many"
    elif not (old.strong or new.strong):
        reason = "unsure"
    else:
        reason = f"changed:{old.attribute}"
    return replace(found, conflict=reason.startswith("changed:"), reason=reason)
