"""Contradiction detection: whether a new statement makes an old one untrue.

The `rules` decide first. A `classifier` decides where they do not, and may veto a rule that is
doubtful. The cosine of an embedder, if there is one, confirms what is not sure, and may veto all.
"""

from __future__ import annotations

import re
from dataclasses import replace

from commonplace.conflict import classifier, corrections
from commonplace.conflict.asserted_text import asserted
from commonplace.conflict.classifier_scope import may_conflict
from commonplace.conflict.conditions import (
    ends_another,
    is_of_one_answer,
    says_change,
    tells_of_another_time,
)
from commonplace.conflict.rules import by_rules
from commonplace.conflict.topics import with_relative
from commonplace.conflict.verdict import Verdict

__all__ = ["LONGEST", "Verdict", "compare", "statement_and_source"]

# Beyond this a text is no statement but a note, and is not taken apart.
LONGEST = 300
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
# The source of a statement, quoted behind it
SOURCE = re.compile(r" — [\"“](?P<said>[^\n]+)[\"”]\s*$")


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
    """Compare two statements; what the new one supposes, reports or asks for once ends nothing."""
    if len(old) > LONGEST or len(new) > LONGEST or AT_AGE.search(new.casefold()):
        return Verdict(conflict=False, reason="unrelated")
    verdict = by_rules_and_classifier(old, new)
    if verdict.conflict and (
        is_of_one_answer(verdict.attribute, new) or not is_asserted_conflict(old, new)
    ):
        # not "unsure", which an embedder might confirm
        return Verdict(conflict=False, reason="unrelated")
    return verdict


def is_asserted_conflict(old: str, new: str) -> bool:
    """Say whether a conflict, found in the whole text, is in what the text asserts."""
    rest = asserted(new)
    return rest == new or (bool(rest) and by_rules_and_classifier(old, rest).conflict)


def by_rules_and_classifier(old: str, new: str) -> Verdict:
    """Compare two statements by the rules, and by the classifier where these do not decide."""
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
