"""Contradiction detection by rules: whether a new statement makes an old one untrue.

Two statements are taken apart into claims: who, which attribute, what value, in which scope. They
conflict only where who, attribute and scope are the same, the attribute holds one value at a
time, and the values differ; or where the new one says that the old value is no more or has become
another, or denies the old statement. Words in common prove nothing, for a false replacement
loses what a duplicate keeps. The tables are in `conflict.toml`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from commonplace.conflict import classifier, corrections
from commonplace.conflict.changes import (
    have_different_context,
    is_negated,
    other_number,
    other_value,
    removed_value,
)
from commonplace.conflict.claims import CITIES, LIST, SLOT_SCOPE, Claim, read
from commonplace.conflict.conditions import (
    concerns_user,
    ends_another,
    is_of_relative,
    is_of_stranger,
    is_typed_about_user,
    says_change,
    shares_only_technical,
    tells_of_another_time,
)
from commonplace.conflict.features import attributes
from commonplace.conflict.states import readings
from commonplace.conflict.tables import load
from commonplace.conflict.topics import ended_topic, of_another_thing, with_relative
from commonplace.conflict.words import (
    ACTS,
    ACTS_SMALL,
    ACTS_ZH,
    CHINESE,
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

# Beyond this a text is no statement but a note, and is not taken apart.
LONGEST = 300
# The classifier knows chats, not documents or code
LONGEST_LIKELY = 160
CODE = re.compile(
    r"`|\w[/_]\w+[/_.]\w|\w\(\)|\*\*|\w=\w|://|--\w|[a-z][a-z]+[A-Z]\w+\(|\|"
    r"|<!--|</?\w+>|&#?\w+;|&(?:#\w|amp|lt|gt|quot|nbsp)"
)
# Sides of how answers are written: language, length, …
STYLES = {"replies", "detail", "emoji", "units", "spelling"}
# What has none states nothing that a new statement could make untrue
WORD = re.compile(r"[^\W\d_]{2}")
# A piece of code that is at hand: "keep the JSON tag"
PIECE = re.compile(
    r"\b(?:the|this|that|these|those) (?:[\w-]+ ){0,2}(?:tags?|structs?|fields?|functions?|methods?"
    r"|imports?|params?|parameters?|headers?|decorators?|handlers?|brackets?)\b",
    re.IGNORECASE,
)
# A report of a fault tells of no change: "we are getting this warning when starting flask"
FAULT = re.compile(
    r"\b(?:get(?:s|ting)?|got|see(?:ing|s)?|throws?|throwing|gives?|giving|shows?|raises?|hit(?:ting)?"
    r"|with|this|following) (?:[\w-]+ ){0,3}?"
    r"(?:warnings?|errors?|exceptions?|tracebacks?|stack ?traces?|segfaults?)\b",
    re.IGNORECASE,
)
# Of an age long past: "at 12 i moved to Cork", 二十岁就去北京了
AT_AGE = re.compile(
    r"\b(?:when i was|at the age of) \d{1,2}\b|^(?:at|aged) \d{1,2},? (?:i|we)\b"
    r"|岁(?:就|的?时|那年|开始|起)"
)
# The rules say nothing then, or are not sure
UNDECIDED = {"unrelated", "unsure"}
# Below this likelihood a value that has ended, as far as the rules see, is that of another thing;
# and so is another value that is told of the past, of a plan or of a short while
IMPROBABLE = 0.3
# From this likelihood on the classifier decides where no word tells of a change
UNSAID = 0.8
# Cosines of two sentences: below the one nothing is alike, above the other the topic is the same.
VETO, CONFIRM = 0.3, 0.6
# It lies in a city, not beside one
DISTRICT = re.compile(r"[区县镇路街]$")
# Of a time of day these say nothing more
DAILY = {"bedtime", "rising"}
PARTS_OF_DAY = frozenset({"早上", "晚上"})
# Says in the new statement that something is no longer as it was
CHANGED = re.compile(r"\b(?:now|switched|changed|moved|these days)\b|改|换|现在|如今")


# The source of a statement, quoted behind it
SOURCE = re.compile(r" — [\"“](?P<said>[^\n]+)[\"”]\s*$")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a new statement replaces an old one.

    `reason` is a short stable code: `changed:<attribute>`, `denied`, `replaced` for a conflict that
    a rule finds, `likely:<attribute>` for one that the classifier finds where no rule decides;
    `same`, `detail` (one only says more), `scope`, `many` (both can hold), `unsure`, `vetoed` (the
    embedder sees nothing in common), `unrelated` for none. `likelihood` is that of the classifier
    where it was asked, else 1. The rest is filled as far as known.
    """

    conflict: bool
    reason: str
    subject: str = ""
    attribute: str = ""
    old_value: str = ""
    new_value: str = ""
    likelihood: float = 1.0


def compare(old: str, new: str, similarity: float | None = None) -> Verdict:
    """Tell whether `new` makes `old` untrue, so that it may take its place.

    Args:
        old: A statement as memories are stored: `Key: value`, third or first person.
        new: The statement that is about to be stored.
        similarity: Cosine of an embedder for the two, if there is one. It confirms what the rules
            are not sure of, and overrules them where it sees nothing in common; alone it decides
            nothing.

    Returns:
        The verdict with its reason.

    >>> verdict = compare("User prefers dark mode", "User prefers light mode")
    >>> verdict.conflict, verdict.reason, verdict.old_value, verdict.new_value
    (True, 'changed:theme', 'dark', 'light')
    >>> compare("Alice likes tea", "Bob likes coffee").conflict
    False
    >>> compare("编辑器用vim", "编辑器换成了emacs").reason
    'changed:editor'
    """
    (old, _), (new, said) = statement_and_source(old), statement_and_source(new)
    if (
        said
        and (correction := corrections.read(said))
        and corrections.restated(old, correction) == new
    ):
        right, wrong = correction
        return Verdict(conflict=True, reason="replaced", old_value=wrong or old, new_value=right)
    verdict = without_embedder(old, new)
    if said and not verdict.conflict and verdict.reason not in {"same", "detail"}:
        by_source = without_embedder(old, said)
        verdict = by_source if by_source.conflict else verdict
    if similarity is None or not (verdict.conflict or verdict.reason == "unsure"):
        sure = verdict.conflict
    else:
        sure = similarity >= (VETO if verdict.conflict else CONFIRM)
    if sure == verdict.conflict:
        return verdict
    reason = f"confirmed:{verdict.attribute}" if sure else "vetoed"
    return replace(verdict, conflict=sure, reason=reason)


def statement_and_source(text: str) -> tuple[str, str]:
    """Return a stored statement without its source, and the source that is quoted behind it.

    >>> statement_and_source('User lives in Lisbon — "we moved to Lisbon"')
    ('User lives in Lisbon', 'we moved to Lisbon')
    """
    found = SOURCE.search(text)
    return (text[: found.start()], found["said"]) if found else (text, "")


def without_embedder(old: str, new: str) -> Verdict:
    """Compare two statements by the rules, and by the classifier where these do not decide."""
    if len(old) > LONGEST or len(new) > LONGEST or AT_AGE.search(new.casefold()):
        return Verdict(conflict=False, reason="unrelated")
    new = with_relative(old, new)
    verdict = by_rules(old, new)
    if verdict.conflict:
        credible = is_credible(verdict, old, new)
        return verdict if credible else replace(verdict, conflict=False, reason="unsure")
    if verdict.reason not in UNDECIDED or not may_conflict(old, new):
        return verdict
    likely = classifier.likelihood(old, new)
    least = classifier.least(new) if says_change(old, new) else UNSAID
    if likely < least or ends_another(old, new):
        return replace(verdict, likelihood=likely)
    about = classifier.attribute(old, new)
    return Verdict(
        conflict=True,
        reason=f"likely:{about}",
        attribute=about,
        old_value=old,
        new_value=new,
        likelihood=likely,
    )


def is_credible(verdict: Verdict, old: str, new: str) -> bool:
    """Say whether the classifier lets a conflict pass that a rule has found."""
    doubtful = verdict.reason == "replaced" or tells_of_another_time(new)
    return not doubtful or classifier.likelihood(old, new) >= IMPROBABLE


def may_conflict(old: str, new: str) -> bool:
    """Say whether the classifier is asked: the new statement may tell of a change.

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
        and not are_foreign(old, new)
    )


def are_foreign(old: str, new: str) -> bool:
    """Say whether the statements are in two languages and share no attribute.

    The classifier has learnt nothing from such pairs.

    >>> are_foreign("我妹在重庆", "got a second dog"), are_foreign("我住在北京", "moved to Leeds")
    (True, False)
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
