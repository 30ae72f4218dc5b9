"""Extraction by rules of what is worth remembering in a conversation; no model, no store.

Caution first: what no rule knows is left out, and a veto (a question, "this time", somebody
else's words) outweighs a rule, for a memory full of junk is worse than one that lacks a fact.
The rules are tables in `english.toml` and `chinese.toml`, each with its examples.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from commonplace.chat_spelling import expanded
from commonplace.extraction.rule_tables import (
    Kind,
    Rule,
    clause_of,
    codes_for_rest_of_message,
    matching_rules,
    tables,
)

# A message as its role and text, or as chat APIs have it
ChatMessage = tuple[str, str] | Mapping[str, Any]

# Rules look at one short sentence; a bound on its length bounds the time of every pattern.
LONGEST = 400

ENDS = re.compile(
    r"(?<=[.!?…])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bSt\.)(?<!e\.g\.)(?<!i\.e\.)"
    r"(?<!\bvs\.)(?<!\betc\.)[\"')\]]{0,3}\s+|(?<=[。！？])[”」』）]?|\n+"
)
FENCE = re.compile(r"^\s{0,3}(?:```|~~~)")
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
    r"“[^”]{12,}”|「[^」]{8,}」|『[^』]{8,}』|\"[^\"]{24,}\"|‘[^’]{24,}’|“[^”]*[\u3400-\u9fff]{5,}[^”]*”"
    r"|\"(?:[^\" ]+ ){0,5}(?:[Ii]|[Ii]'m|[Ww]e|[Mm]y|[Yy]ou)\b[^\"]{4,}\""
)
# After one of these the next plain statement is the right value.
REJECTED = re.compile(
    r"^(?:(?:no|nope|nah|不)[,，.!！ ]+)?"
    r"(?:no|nope|nah|wrong|incorrect|not (?:quite|right|correct|true)|that's (?:wrong|incorrect"
    r"|not (?:right|correct|true|it)|outdated|a mistake"
    r"|(?:the|my) (?:old|wrong|previous) \w+)|that is (?:wrong|incorrect|not \w+)"
    r"|you're (?:wrong|mistaken)|you (?:got|have|remembered) (?:that|it|this|my [\w ]{1,20}) wrong"
    r"|不对|错了|不是|搞错了|弄错了|你(?:记|说|写|弄|搞)错了|有误|不是这样的?)"
    r"(?: there|, sorry|,? actually|哦|啊|吧|了|的)?[.!。！]*$",
    re.IGNORECASE,
)
# Takes back, for later, what the sentence before it says.
AFTERTHOUGHT = re.compile(
    r"^(?:(?:but|and|only|just|ok|okay|for),? )*(?:now|today|tonight|once"
    r"|this (?:once|time|one)|temporarily|haha\w*|lol|jk|kidding).{0,12}$"
    r"|^(?:但|不过|就|只|仅|限|是)*(?:这一?次|今天|暂时|一次|开玩笑|哈哈|逗你)"
    r"(?:就好|就行|而已|而已啦|的|吧|啦|哦|例外|先这样|玩的|了)*[。！!～~]*$",
    re.IGNORECASE,
)
STATEMENT = re.compile(
    r"^(?:it's|it is|i'm|i am|we're|(?:my|the|our|her|his) .{1,50}? (?:is|are|was|has|starts|lives"
    r"|works|runs|ends)|(?:i|we|she|he) (?:live|work|use|have|teach|lives|works|uses|has))"
    r" (?!not )\S"
    r"|^[^，。]{1,20}(?:是|叫|在|住|姓|改到)\S",
    re.IGNORECASE,
)
# Behind a plain statement one of these says that it was known wrongly.
REPROACH = re.compile(
    r"^(?:and |so )?(?:not [\w'-]+(?: [\w'-]+)?[.!]*$"
    r"|you (?:keep|kept|always|still|wrote|said|put|had|listed|assumed)\b"
    r"|you've been\b|i never said\b|你(?:老|总|一直|怎么|又|都)[^，。]{0,4}(?:写|记|说|叫|当|按))",
    re.IGNORECASE,
)
# Makes a standing wish of the sentence before it
STANDING = re.compile(
    r"^(?:always|every (?:single )?time|no exceptions|permanently"
    r"|(?:this|that|which) (?:applies|goes|holds) (?:to|for) (?:all|every)"
    r"\b.{0,40}|applies to (?:all|every)\b.{0,40}|每次都这样|一直这样|长期有效|永久有效)[.!。！]*$",
    re.IGNORECASE,
)
# What a sentence says of the past is dropped when it goes on to the present.
NOW = re.compile(
    r"^.{0,200}?(?:\bused to\b|以前|之前|过去|原来|曾经).{0,200}?"
    r"(?:\bbut now,? |\bnow,? |\bthese days,? |\bnowadays,? |[，,]?(?=(?:但|不过)?(?:我)?现在))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Classification:
    """What was decided about one sentence.

    `reason` is a short stable code: that of the rule (`preference:i-prefer`) when it is kept, else
    that of the veto (`ephemeral:this-time`, `question`), or `no-rule`, `too-long`, `code`,
    `quoted`, `role`, `duplicate`.
    """

    text: str
    kind: Kind | None
    reason: str
    source: int = 0

    @property
    def kept(self) -> bool:
        """Whether it is worth remembering."""
        return self.kind is not None


def classify(sentence: str, role: str = "user") -> Classification:
    """Decide whether one sentence is worth remembering, and as what.

    Args:
        sentence: At most `LONGEST` characters; longer ones are left out as `too-long`.
        role: Who said it. Of an assistant only decisions and lessons count, of others nothing.

    Returns:
        Its kind (None when it is not kept) and the code of the rule that decided.

    >>> classify("I prefer dark mode").kind, classify("I prefer dark mode").reason
    ('preference', 'preference:i-prefer')
    >>> classify("这次别用PPT").reason
    'ephemeral:this-time'
    """
    text = MARK.sub("", " ".join(sentence.split()).replace("\u2019", "'"))
    if role not in {"user", "assistant"}:
        return Classification(text, None, "role")
    if len(text) > LONGEST:
        return Classification(text, None, "too-long")
    if CODE.search(text):
        return Classification(text, None, "code")
    unquoted = QUOTED.sub("…", expanded(text))
    unquoted = unquoted[now.end() :] if (now := NOW.match(unquoted)) else unquoted
    stopped = None
    rules = list(matching_rules(unquoted, "rules", role))
    firsts = [next((r for r in rules if r.change == change), None) for change in (False, True)]
    for rule in [r for r in firsts if r] or [None]:
        veto = veto_of(unquoted, rule, role)
        if rule and not veto:
            return Classification(text, rule.kind, f"{rule.kind}:{rule.code}")
        stopped = stopped or veto
    if stopped:
        return Classification(text, None, stopped.code)
    return Classification(text, None, "quoted" if "…" in unquoted and not now else "no-rule")


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


def role_and_text(message: object) -> tuple[str, str]:
    """Return the role and the text of a message; what a tool took or gave is no text.

    Args:
        message: (role, text), or as chat APIs have it: `role`, and `content` as text, None or a
            list of blocks.

    Raises:
        ValueError: It is neither.

    >>> role_and_text({"role": "user", "content": [{"type": "text", "text": "Hi."}]})
    ('user', 'Hi.')
    """
    role: object = None
    content: object = None
    if isinstance(message, Mapping):
        role, content = message.get("role"), message.get("content")
    elif isinstance(message, tuple | list) and len(message) == 2:
        role, content = message
    if not isinstance(role, str):
        raise ValueError(
            f"a message is (role, text) or {{'role': …, 'content': …}}, not {message!r:.60}"
        )
    if isinstance(content, list):
        texts = (block.get("text") for block in content if isinstance(block, Mapping))
        content = "\n".join(text for text in texts if isinstance(text, str))
    if not isinstance(content, str | None):
        raise ValueError(f"the content of a message is text or blocks, not {content!r:.60}")
    return role, content or ""


def extract(messages: Iterable[ChatMessage]) -> list[Classification]:
    """Classify every sentence of a conversation.

    Args:
        messages: In order, each as `role_and_text()` takes it.

    Returns:
        One for each sentence, in order; `source` counts the messages from 0. Fenced code is
        passed over. Each thing is kept once; its repetitions have the reason `duplicate`.

    Raises:
        ValueError: Something is no message.

    >>> messages = [("user", "Fix the test. I prefer tabs."), ("user", "i prefer tabs")]
    >>> [(found.source, found.reason) for found in extract(messages)]
    [(0, 'no-rule'), (0, 'preference:i-prefer'), (1, 'duplicate')]
    """
    classifications: list[Classification] = []
    seen: set[str] = set()
    if isinstance(messages, str):
        raise ValueError("a conversation is a list of messages; `classify()` takes one sentence")
    for source, (role, text) in enumerate(map(role_and_text, messages)):
        for classified in classify_message(text, role):
            found = classified
            key = "".join(filter(str.isalnum, found.text.casefold()))
            if found.kept and key in seen:
                found = replace(found, kind=None, reason="duplicate")
            elif found.kept:
                seen.add(key)
            classifications.append(replace(found, source=source))
    return classifications


def is_ephemeral(sentence: str) -> str | None:
    """Return the words that bind a sentence to the moment, or None when nothing does.

    >>> is_ephemeral("Skip the introduction for now")
    'for now'
    >>> is_ephemeral("从今天起都用英文")
    """
    text = " ".join(sentence.split())[:LONGEST]
    for table in tables(text):
        for veto in table.vetoes:
            if veto.code.startswith("ephemeral:") and (found := veto.pattern.search(text)):
                return found.group().strip(" ，,、；;。")
    return None


def classify_message(text: str, role: str) -> list[Classification]:
    """Return the classifications of one message; some sentences bear on their neighbours."""
    found: list[Classification] = []
    carried = None
    rejected = False
    for sentence in sentences(text):
        current = classify(sentence, role)
        if carried:
            current = replace(current, kind=None, reason=carried)
        elif rejected and current.reason == "no-rule" and STATEMENT.match(current.text):
            current = replace(current, kind="correction", reason="correction:after-no")
        elif current.reason in codes_for_rest_of_message():
            carried = current.reason
        elif current.reason.startswith(("ephemeral", "joke")) and AFTERTHOUGHT.match(current.text):
            # "Use bullets please, I prefer them. Just this once."
            found = [replace(f, kind=None, reason=current.reason) if f.kept else f for f in found]
        elif role == "user" and found and found[-1].reason == "no-rule":
            found[-1] = reclassified_by_next(current.text, found[-1])
        rejected = role == "user" and bool(REJECTED.match(current.text))
        found.append(current)
    return found


def reclassified_by_next(text: str, before: Classification) -> Classification:
    """Return what the sentence before becomes by what the next sentence says."""
    if REPROACH.match(text) and STATEMENT.match(before.text):
        return replace(before, kind="correction", reason="correction:before-reproach")
    if STANDING.match(text):
        return replace(before, kind="preference", reason="preference:standing-wish")
    return before


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a message without its fenced code."""
    prose: list[str] = []
    fenced = False
    for line in text.splitlines():
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            prose.append(line)
    for part in ENDS.split("\n".join(prose)):
        if part.strip():
            yield part.strip()
