"""Classification of one sentence by the tables: the rule or the veto that decides."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache

from commonplace.chat_spelling import expanded
from commonplace.extraction.abstention import cues
from commonplace.extraction.personal_numbers import holds_personal_number
from commonplace.extraction.relative_dates import dated
from commonplace.extraction.rule_tables import Kind, Rule, clause_of, matching_rules
from commonplace.extraction.third_person import LEAD_ZH, corrects_by_name, statement
from commonplace.letter_ranges import CHINESE

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
# What a sentence begins with and says nothing
INTERJECTION = re.compile(
    r"^(?:(?:u+gh+|a+rgh+|h+m+|u+m+|aw+|damn|gosh|yikes|phew|哎呀|唉|诶|哎哟|天哪)"
    r"[,，.!！~…\s]+)+",
    re.IGNORECASE,
)
# "Remember that I …": behind it stands what the user wants kept, if it says something of the user
WISH = re.compile(
    r"^(?:(?:please|pls|plz|ok|okay|hey|so|and|also|oh|btw|just|always|(?:can|could|would) you"
    r"|you (?:should|must|can)|i want you to)[, ]+)*"
    r"(?:remember|(?:do ?n['o]t|do not|dont|never) (?:ever )?forget|(?:keep|bear) in mind)"
    r"(?: that|[,:—–-]+)? "
    r"(?=(?:i|we)(?:'\w+)? (?!(?:said|told|asked|mentioned|sent|gave|wrote)\b)\w"
    r"|(?:my|our) (?:[\w'-]+ ){0,4}?(?:is|are|was|were|has|have|[a-z]{2,}s)\b)"
    r"|^(?:请|麻烦|拜托|对了|那|你|要|得|一定|务必|千万|帮我|替我|给我|[，,])*"
    r"(?:记(?:住|得|着|好|下来?|一下)|(?:别|不要|不能|勿|莫)忘(?:记|了|掉)?)"
    r"(?:了|啊|哦|吧)?[，,：: ]*"
    r"(?=(?:我|本人|咱)(?!(?:刚才?|之前|上次)?(?:[说讲问]|跟你|告诉))[^，。]{3,})",
    re.IGNORECASE,
)
# What a sentence says of the past is dropped when it goes on to the present.
NOW = re.compile(
    r"^.{0,200}?(?:\bused to\b|以前|之前|过去|原来|曾经).{0,200}?"
    r"(?:\bbut now,? |\bnow,? |\bthese days,? |\bnowadays,? |[，,]?(?=(?:但|不过)?(?:我)?现在))",
    re.IGNORECASE,
)


# Of what is to be forgotten this only says that it was said.
ABOUT = re.compile(
    r"^(?:(?:the |that )?(?:thing|fact|part|bit|stuff|note|entry|line|mention|info|detail)s?"
    r" (?:that |about |on |where )?)?(?:that |what "
    r"|everything |all |anything )?"
    r"(?:i (?:just |ever |even )?(?:said|told you|told|mentioned|wrote|shared)"
    r"|you (?:know|saved|stored|noted"
    r"|remember(?:ed)?|learned|have)|i'd said)?\b ?(?:before|earlier"
    r"|just now)? ?(?:about |of |that )?"
    r"|^(?:我)?(?:刚才|之前|上面|前面)?(?:我)?(?:跟你|告诉你|给你)?(?:说|提|讲|告诉"
    r"|记)(?:过|到|的|了)*"
    r"|^关于(?:我的?)?"
    r"| from (?:what|whatever|all) you (?:know|remember|have)\b.*$",
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
FORGET, PRIVATE, NUMBER = "veto:forget", "veto:private", "veto:personal-number"
MODEL = "model"
# A question, also one without its mark
QUESTION = re.compile(
    r"[?？]|^(?:(?:so|and|but|hey|ok)[, ]+)*(?:(?:would|should|could|can|shall|do|does|did|is"
    r"|are|am|was|were|will) (?:it|i|we|you|he|she|they|there|that|this|the|my|one|anyone)\b"
    r"|(?:what|why|how|when|where|which) (?:if|about|is|are|do|does|did|would|should|could|can"
    r"|happens|will|was|were|to|much|many|long)\b|whether\b)",
    re.IGNORECASE,
)
# What no rule knows, what a rule alone would keep, or what only says "this week", may still end
# something that is known.
UNDECIDED = frozenset({"no-rule", "unlikely", "vague", "third-person", "ephemeral:moment"})
LONGEST_CHANGE = 160


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

        >>> by_rules("btw im left handed").stored
        'User is left handed — "btw im left handed"'
        """
        if not self.statement:
            return self.text
        marks = "“”" if CHINESE.search(self.text) else '""'
        return f"{self.statement} — {marks[0]}{self.text}{marks[1]}"


def by_rules(sentence: str, role: str = "user", now: date | None = None) -> Classification:
    """Return what the tables of rules and vetoes say of one sentence; see `classify`."""
    text = unmarked(sentence)
    if role not in {"user", "assistant"}:
        return Classification(text, None, "role")
    if len(text) > LONGEST:
        return Classification(text, None, "too-long")
    if CODE.search(text):
        return Classification(text, None, "code")
    if holds_personal_number(text):
        return Classification(text, None, NUMBER)
    if role == "user" and (wish := WISH.match(text)):
        return wished(text, text[wish.end() :], now)
    return by_tables(text, normalized(text), role, now)


def wished(text: str, wanted: str, now: date | None) -> Classification:
    """Return what the tables say of a sentence that asks to remember what it says of the user.

    That is kept though no rule knows it, unless a veto or a cue of a secret, fiction, … stops it.

    >>> wished("记住我对花生过敏", "我对花生过敏", None).stored
    '用户对花生过敏 — “记住我对花生过敏”'
    """
    found = by_tables(wanted, normalized(wanted), "user", now)
    if found.reason == "no-rule" and not cues(wanted):
        found = replace(found, kind="identity", reason="identity:remember")
    said = (found.statement or clean(wanted, now, alone=False) or wanted) if found.kept else ""
    return replace(found, text=text, statement=said)


def unmarked(sentence: str) -> str:
    """Return a sentence without the marker of a list item, and with single spaces."""
    return MARK.sub("", " ".join(sentence.split()).replace("\u2019", "'"))


# rules, classifier and second layer read the sentences of one message in turn
@lru_cache(maxsize=32)
def normalized(sentence: str) -> str:
    """Return a sentence as rules and classifier read it.

    Quotations and short forms are written otherwise, and what it says of the past is dropped when
    it goes on to the present.
    """
    text = QUOTED.sub("…", expanded(INTERJECTION.sub("", unmarked(sentence))))
    return text[used_to.end() :] if (used_to := NOW.match(text)) else text


def by_tables(text: str, unquoted: str, role: str, now: date | None) -> Classification:
    """Return the decision of the first rule that no veto stops, or of the veto."""
    stopped = None
    rules = list(matching_rules(unquoted, "rules", role))
    firsts = [next((r for r in rules if r.change == change), None) for change in (False, True)]
    chosen: list[Rule | None] = [one for one in firsts if one] or [None]
    for rule in chosen:
        veto = veto_of(unquoted, rule, role)
        if rule and not veto:
            told = firsts[1] or not stands_alone(text) or corrects_by_name(text)
            said = clean(text, now, alone=not told) if role == "user" else ""
            return Classification(text, rule.kind, f"{rule.kind}:{rule.code}", statement=said)
        stopped = stopped or veto
    if stopped:
        about = about_of(stopped, unquoted) if stopped.code == FORGET else ""
        return Classification(text, None, stopped.code, about=about)
    return Classification(text, None, "quoted" if "…" in unquoted else "no-rule")


def stands_alone(text: str) -> bool:
    """Say whether a sentence may stand in a memory as it is: it is one, and nothing leads in to it.

    >>> [stands_alone(text) for text in ("I am deaf", "btw im deaf", "对了我对花生过敏")]
    [True, False, False]
    """
    return bool(SENTENCE.match(text)) and not LEAD_ZH.match(text)


def clean(text: str, now: date | None, *, alone: bool) -> str:
    """Return what a sentence of the user says as a memory stores it; "" where it is well as it is.

    Args:
        text: The sentence.
        now: The day it was said on.
        alone: It can stand by itself, but for a time such as "last week".
    """
    return (statement(text, now) if not alone else "") or dated(text, now)


def possible_change(found: Classification, now: date | None = None) -> Classification | None:
    """Return a sentence that was left out as the change of state which it may be, or None.

    No rule has found it worth keeping. It is if it ends something that a memory tells.

    >>> possible_change(by_rules("lena has moved to Bergen")).kind
    'identity'
    >>> possible_change(by_rules("maybe I sell the car"))
    >>> possible_change(by_rules("would it be smart to sell the car"))
    """
    text = found.text
    if found.reason not in UNDECIDED or len(text) > LONGEST_CHANGE or QUESTION.search(text):
        return None
    return replace(
        found, kind="identity", reason="identity:ends", statement=clean(text, now, alone=False)
    )


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
