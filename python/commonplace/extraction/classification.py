"""Classification of one sentence: the rule, the veto or the classifier that decides."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date

from commonplace.chat_spelling import expanded
from commonplace.extraction.linear_model import likely
from commonplace.extraction.rule_tables import CHINESE, Kind, Rule, clause_of, matching_rules
from commonplace.extraction.third_person import statement

# Rules look at one short sentence; a bound on its length bounds the time of every pattern.
LONGEST = 400

# Quoted lines, prompts, comments, log lines, stack frames, tables and statements of code
CODE = re.compile(
    r"^(?:>|\$ |//|/\*|\*/|<!--|<\w|@@|[+-]{3} |#\s?\w+.*[=({]|#!|\||Traceback|\s*at \S+\()"
    r"|^\[?\d{4}-\d\d-\d\d[ T]\d\d:|^\[?(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL|TRACE)\b"
    r"|^(?:def|class|import|const|let|var|fn|func|public|private|return|SELECT|INSERT|UPDATE) .*"
    r"[(){};=]|[;{}]$|^\S+ ?(?:[+:]?=|=>) ?\S|\w\(\)\s*$|^\w+(?:\.\w+)+\(.*\)$"
)
MARK = re.compile(r"^(?:[-*•]|\d{1,2}[.)]|#{1,6})\s+")
# More than a name between quotes is somebody's words
QUOTED = re.compile(
    r"“[^”]{12,}”|「[^」]{8,}」|『[^』]{8,}』|\"[^\"]{24,}\"|‘[^’]{24,}’"
    r"|“[^”]*[\u3400-\u9fff]{5,}[^”]*”"
    r"|\"(?:[^\" ]+ ){0,5}(?:[Ii]|[Ii]'m|[Ww]e|[Mm]y|[Yy]ou)\b[^\"]{4,}\""
)
# What a sentence says of the past is dropped when it goes on to the present.
NOW = re.compile(
    r"^.{0,200}?(?:\bused to\b|以前|之前|过去|原来|曾经).{0,200}?"
    r"(?:\bbut now,? |\bnow,? |\bthese days,? |\bnowadays,? |[，,]?(?=(?:但|不过)?(?:我)?现在))",
    re.IGNORECASE,
)


# Of what is to be forgotten this only says that it was said.
ABOUT = re.compile(
    r"^(?:(?:the )?(?:thing|fact|part|bit|stuff)s? (?:that |about )?)?(?:that |what "
    r"|everything |all |anything )?"
    r"(?:i (?:just )?(?:said|told you|told|mentioned|wrote|shared)|you (?:know|saved|stored|noted"
    r"|remember(?:ed)?|learned|have)|i'd said)?\b ?(?:before|earlier"
    r"|just now)? ?(?:about |of |that )?"
    r"|^(?:我)?(?:刚才|之前|上面|前面)?(?:我)?(?:跟你|告诉你|给你)?(?:说|提|讲|告诉"
    r"|记)(?:过|到|的|了)*"
    r"|^关于(?:我的?)?",
    re.IGNORECASE,
)
POINTED = re.compile(
    r"(?:that|this|it|these|those|them|one|what|all of (?:it|that|this)|what i said)?"
    r"(?: (?:please|pls|last (?:one|message|part)|from (?:the|your) .*))?"
    r"|[这那它](?:个|句|件事|些|条|句话)?",
    re.IGNORECASE,
)
# It stands by itself in a memory as it is.
SENTENCE = re.compile(r"^(?!(?:Btw|Oh|Hey|Hi|Also|And|So|Ok|Okay|Fyi)\b)[A-Z\u3400-\u9fff0-9]")
FORGET, PRIVATE = "veto:forget", "veto:private"
MODEL = "model"
# What no rule knows, or what only says "this week", may still end something that is known.
UNDECIDED = frozenset({"no-rule", "vague", "third-person", "ephemeral:moment"})
LONGEST_CHANGE = 160
# What the classifier may overrule. A question, fiction, a hypothesis, words of others, a text
# to work on and a request not to keep it stay what they are.
SOFT = re.compile(
    r"ephemeral:|(?:joke|vague|past|conditional|mood|uncertain|third-person|not-done)$"
)
# How far below its threshold the classifier may score what a rule keeps. A rule for a plain short
# sentence ("we moved to Lisbon") is right where so few words say little to the classifier.
ALLOWANCE_OF_RULE = 2.5
SHORT = re.compile(r"(?!.*[\u3400-\u9fff])(?:\S+ ){0,5}\S+|(?=.*[\u3400-\u9fff]).{1,12}")
# Words by which a user says himself that something lasts: the classifier takes nothing of that away
LASTING = re.compile(
    r"\b(?:from now on|going forward|always|never|prefer|remember)\b|以后|今后|总是|从不|记住|一律",
    re.IGNORECASE,
)
# A few words are kept by the classifier alone only if they say more than this above its threshold:
# of the short sentences of a conversation most are answers and reactions.
SURPLUS_OF_SHORT = 1.0


@dataclass(frozen=True, slots=True)
class Classification:
    """What was decided about one sentence.

    `reason` is a short stable code: that of the rule (`preference:i-prefer`) when it is kept, or
    `preference:model` where the classifier has decided; else that of the veto
    (`ephemeral:this-time`, `question`), or `no-rule`, `unlikely` (a rule matches, but the
    classifier is against it), `too-long`, `code`, `quoted`, `role`, `duplicate`. `statement` is
    what it says in the third person, where the sentence cannot stand by itself in a memory ("we
    just moved to Lisbon last month"); "" where it can, or no clean statement is to be had. For
    `veto:forget`, a request to forget, `about` is what it speaks of: words of the request, or the
    sentence before ("forget that").
    """

    text: str
    kind: Kind | None
    reason: str
    source: int = 0
    statement: str = ""
    about: str = ""

    @property
    def kept(self) -> bool:
        """Whether it is worth remembering."""
        return self.kind is not None

    @property
    def stored(self) -> str:
        """The text for a memory: the statement with its source quoted behind it, or the text.

        >>> classify("btw im left handed").stored
        'User is left handed — "btw im left handed"'
        """
        if not self.statement:
            return self.text
        marks = "“”" if CHINESE.search(self.text) else '""'
        return f"{self.statement} — {marks[0]}{self.text}{marks[1]}"


def classify(sentence: str, role: str = "user", now: date | None = None) -> Classification:
    """Decide whether one sentence is worth remembering, and as what.

    Args:
        sentence: At most `LONGEST` characters; longer ones are left out as `too-long`.
        role: Who said it. Of an assistant only decisions and lessons count, of others nothing.
        now: The day it was said on, from which "last month" is counted in its statement.

    Returns:
        Its kind (None when it is not kept) and the code of the rule that decided.

    >>> classify("I prefer dark mode").kind, classify("I prefer dark mode").reason
    ('preference', 'preference:i-prefer')
    >>> classify("这次别用PPT").reason
    'ephemeral:this-time'
    """
    text = unmarked(sentence)
    if role not in {"user", "assistant"}:
        return Classification(text, None, "role")
    if len(text) > LONGEST:
        return Classification(text, None, "too-long")
    if CODE.search(text):
        return Classification(text, None, "code")
    unquoted = normalized(text)
    found = by_rules(text, unquoted, role, now)
    return joined(found, unquoted, now) if role == "user" else found


def unmarked(sentence: str) -> str:
    """Return a sentence without the marker of a list item, and with single spaces."""
    return MARK.sub("", " ".join(sentence.split()).replace("\u2019", "'"))


def normalized(sentence: str) -> str:
    """Return a sentence as rules and classifier read it.

    Quotations and short forms are written otherwise, and what it says of the past is dropped when
    it goes on to the present.
    """
    text = QUOTED.sub("…", expanded(unmarked(sentence)))
    return text[used_to.end() :] if (used_to := NOW.match(text)) else text


def by_rules(text: str, unquoted: str, role: str, now: date | None) -> Classification:
    """Return what the tables of rules and vetoes say of a sentence."""
    stopped = None
    rules = list(matching_rules(unquoted, "rules", role))
    firsts = [next((r for r in rules if r.change == change), None) for change in (False, True)]
    chosen: list[Rule | None] = [one for one in firsts if one] or [None]
    for rule in chosen:
        veto = veto_of(unquoted, rule, role)
        if rule and not veto:
            told = role == "user" and (firsts[1] or not SENTENCE.match(text))
            said = statement(text, now) if told else ""
            return Classification(text, rule.kind, f"{rule.kind}:{rule.code}", statement=said)
        stopped = stopped or veto
    if stopped:
        about = about_of(stopped, unquoted) if stopped.code == FORGET else ""
        return Classification(text, None, stopped.code, about=about)
    return Classification(text, None, "quoted" if "…" in unquoted else "no-rule")


def joined(found: Classification, unquoted: str, now: date | None) -> Classification:
    """Return what rules and classifier say of a sentence of the user together."""
    if not (found.kept or found.reason == "no-rule" or SOFT.match(found.reason)):
        return found
    short = SHORT.fullmatch(unquoted)
    if found.kept and (short or LASTING.search(unquoted)):
        return found
    says = likely(unquoted)
    surplus = SURPLUS_OF_SHORT if short else 0.0
    if says.score <= (-ALLOWANCE_OF_RULE if found.kept else surplus):
        return replace(found, kind=None, reason="unlikely", statement="") if found.kept else found
    if found.kept:
        return found
    said = "" if SENTENCE.match(found.text) else statement(found.text, now)
    return replace(found, kind=says.kind, reason=f"{says.kind}:{MODEL}", statement=said)


def possible_change(found: Classification, now: date | None = None) -> Classification | None:
    """Return a sentence that was left out as the change of state which it may be, or None.

    No rule has found it worth keeping. It is if it ends something that a memory tells.

    >>> possible_change(classify("lena has moved to Bergen")).kind
    'identity'
    >>> possible_change(classify("maybe I sell the car"))
    """
    text = found.text
    if found.reason not in UNDECIDED or len(text) > LONGEST_CHANGE or re.search(r"[?？]", text):
        return None
    return replace(found, kind="identity", reason="identity:ends", statement=statement(text, now))


def about_of(request: Rule, text: str) -> str:
    """Return what a request to forget speaks of; "" where that is the sentence before."""
    found = request.pattern.search(text)
    words = next((group for group in found.groups() if group), "") if found else ""
    words = ABOUT.sub("", words).strip(" .!?。！？吧了,，：:")
    return "" if POINTED.fullmatch(words) else words


def veto_of(text: str, rule: Rule | None, role: str) -> Rule | None:
    """Return the first veto against what a rule finds in a sentence, or against any rule."""
    until = text if rule is None else clause_of(rule, text)
    for veto in matching_rules(text, "vetoes", role):
        if veto.change and not (rule and rule.change):
            continue
        if rule and (rule.kind in veto.spares or (rule.change and "change" in veto.spares)):
            continue
        if not rule or not veto.clause or veto.pattern.search(until):
            return veto
    return None
