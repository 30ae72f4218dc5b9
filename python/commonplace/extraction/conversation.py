"""Classification of a conversation: its sentences, and how they bear on their neighbours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from commonplace.errors import InvalidArgument
from commonplace.extraction.classification import (
    FORGET,
    PRIVATE,
    Classification,
    by_rules,
)
from commonplace.extraction.decision import decide
from commonplace.extraction.rule_tables import codes_for_rest_of_message
from commonplace.extraction.third_person import by_model, corrects_by_name, statement
from commonplace.protocols import ChatModel

# A message as its role and text, or as chat APIs have it
ChatMessage = tuple[str, str] | Mapping[str, Any]

ENDS = re.compile(
    r"(?<=[.!?…])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bSt\.)(?<!e\.g\.)(?<!i\.e\.)"
    r"(?<!\bvs\.)(?<!\betc\.)[\"')\]]{0,3}\s+|(?<=[。！？])[”」』）]?|\n+"
)
FENCE = re.compile(r"^\s{0,3}(?:```|~~~)")
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
# What such a statement is without its neighbours
PLAIN = {"no-rule", "identity:event-day", "identity:fact-of", "identity:i-do", "identity:i-am"}
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
# Words with which a request begins
LEADS = (
    r"(?:but|and|so|please|pls|plz|oh|ok|okay|also|just|actually|h+m+|u+m+|uh|er|wait|sorry|no|nah|nvm"
    r"|never ?mind|on second thoughts?|hey|hang on|hold on|look|well|now|then|yeah|yes|btw)"
)
LEAD = re.compile(rf"(?:{LEADS}\b[,.!… ]*)++", re.IGNORECASE)
# A request of nothing but these words names nothing; with one of POINTERS it points back.
FRAME = re.compile(
    rf"(?:(?:{LEADS}|you|can|could|would|will|should|must|need|have|had|want|like|let's|i|i'd|to|be"
    r"|do|does|don'?t|not|never|shouldn'?t|rather|better|save|saved|store|stored|remember|keep|kept"
    r"|note|noted|record|log|write|put|memori[sz]e|retain|hold|hang|on|onto|delete|erase|remove"
    r"|scrap|scratch|drop|strike|undo|forget|ignore|disregard|wipe|lose|bin|down|anywhere|in|from"
    r"|out|of|off|your|the|my|memory|notes?|records?|profile|file|any|all|that|this|it|those|these"
    r"|one|what|said|told|wrote|typed|last|previous|thing|things|bit|part|sentence|message|line"
    r"|statement|about|private|confidential|secret|between|us|either|though|thanks|thank|again"
    r"|at|ever|is|was|stays?|'s)\b[,.!…' ]*)++"
    r"|(?:请|麻烦|拜托|千万|帮|给|那|你|我|就|把|将|的|了|吧|啊|哦|呀|哈|啦|先|也|都|别|不要|不用|不必|不许|勿|不|再"
    r"|算|记忆|记住?|录|保存|存|保密|留|删除?|抹|清|忘|撤回|作废|无视|忽略|当没|没|过|掉|下来?|起来|进|去|里"
    r"|笔记|备忘|刚才|刚刚|刚|上面|上一?|前面|前一?|这|此|它|句|条|个|段|件|些|话|说|讲|事儿?|内容|信息|消息|一下"
    r"|[，,。.！!～~…\s])++",
    re.IGNORECASE,
)
POINTERS = re.compile(
    r"\b(?:that|this|it|those|these|said|told|wrote|typed|last|previous)\b"
    r"|[这那此它]|刚[才刚说讲]|[上前](?:一|面)|[说讲]的",
    re.IGNORECASE,
)
# "Don't remember that." is said of the sentence before it, "off the record." of those behind it.
OF_BEFORE = re.compile(
    rf"^(?:{LEADS}[,.!… ]+)*"
    r"(?:(?:you )?(?:don't|do not|no need to|never|shouldn't|dont|keep|leave|this|that|it)\b"
    r"[\w' ]{0,20}\b(?:this|that|it|these|those|private|confidential|secret"
    r"|between us)\b[^:]{0,40}$)"
    # it says nothing itself: "Not something I want on record."
    r"|^(?:not (?:something|a thing|anything)|nothing|(?:this|that) never happened)\b"
    r"[^:]{0,80}$"
    r"|^(?:但|请|麻烦|所以)*(?:这|那|刚才|上面|前面|以上|别|不要|不用|千万|保密|先别)[^：:]{0,16}$",
    re.IGNORECASE,
)
OF_REST = re.compile(
    r"\b(?:remember|save|store|note) nothing\b"
    r"|\boff the record\b[^,]*$|\bbetween (?:us|you and me)\b.{0,3}$|[:：]$"
    r"|(?:don't|do not) (?:save|store|remember|record|keep|log) (?:what follows"
    r"|the following|any of"
    r" (?:this|what))|(?:以下|下面|接下来)",
    re.IGNORECASE,
)


def role_and_text(message: object) -> tuple[str, str]:
    """Return the role and the text of a message; what a tool took or gave is no text.

    Args:
        message: (role, text), or as chat APIs have it: `role`, and `content` as text, None or a
            list of blocks.

    Raises:
        InvalidArgument: It is neither.

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
        raise InvalidArgument(
            f"a message is (role, text) or {{'role': …, 'content': …}}, not {message!r:.60}"
        )
    if isinstance(content, list):
        texts = (block.get("text") for block in content if isinstance(block, Mapping))
        content = "\n".join(text for text in texts if isinstance(text, str))
    if not isinstance(content, str | None):
        raise InvalidArgument(f"the content of a message is text or blocks, not {content!r:.60}")
    return role, content or ""


def extract(
    messages: Iterable[ChatMessage], *, now: date | None = None, model: ChatModel | None = None
) -> list[Classification]:
    """Classify every sentence of a conversation.

    Args:
        messages: In order, each as `role_and_text()` takes it.
        now: The day of the conversation, from which "last month" is counted in statements.
        model: Makes the statements of what the user said. One stands only if all its words come
            from the sentence; else, and where the model fails, the rules make it.

    Returns:
        One for each sentence, in order; `source` counts the messages from 0. Fenced code is
        passed over. Each thing is kept once; its repetitions have the reason `duplicate`.

    Raises:
        InvalidArgument: Something is no message.

    >>> messages = [("user", "Fix the test. I prefer tabs."), ("user", "i prefer tabs")]
    >>> [(found.source, found.reason) for found in extract(messages)]
    [(0, 'no-rule'), (0, 'preference:i-prefer'), (1, 'duplicate')]
    """
    classifications: list[Classification] = []
    # Those of the user's last message but this one, by their numbers
    before: list[int] = []
    seen: set[str] = set()
    if isinstance(messages, str):
        raise InvalidArgument(
            "a conversation is a list of messages; `classify()` takes one sentence"
        )
    for source, (role, text) in enumerate(map(role_and_text, messages)):
        start = len(classifications)
        for classified in classify_message(text, role, now):
            found = classified
            said_before = all(LEAD.fullmatch(one.text) for one in classifications[start:])
            if role == "user" and said_before and points_back(found):
                found = forget_before(classifications, found, before)
            if model and found.kept and role == "user":
                said = by_model(found.text, model, now)
                found = replace(found, statement=said)
            key = "".join(filter(str.isalnum, found.text.casefold()))
            if found.kept and key in seen:
                found = replace(found, kind=None, reason="duplicate")
            elif found.kept:
                seen.add(key)
            classifications.append(replace(found, source=source))
        if role == "user" and len(classifications) > start:
            before = list(range(start, len(classifications)))
    return classifications


def points_back(request: Classification) -> bool:
    """Say whether a request not to keep, or to forget, only points at what was said before.

    >>> [points_back(by_rules(one)) for one in ("Don't save that", "Don't save my age")]
    [True, False]
    """
    if request.reason == FORGET:
        return not request.about
    named = not FRAME.fullmatch(request.text) or not POINTERS.search(request.text)
    return request.reason == PRIVATE and not named


def forget_before(
    found: list[Classification], request: Classification, before: Sequence[int]
) -> Classification:
    """Let a request speak of the last sentence before it that was kept, or else of the last one.

    Args:
        found: The sentences so far.
        request: A request not to keep, or to forget, that points back.
        before: The numbers of the sentences of which it may speak.

    Returns:
        The request to forget what the sentence says, for it may be known already.
    """
    at = next((at for at in reversed(before) if found[at].kept), before[-1] if before else None)
    if at is None:
        return request
    if found[at].kept:
        found[at] = replace(found[at], kind=None, reason=request.reason, statement="")
    return replace(request, reason=FORGET, about=found[at].text)


def heed(
    request: Classification, before: list[Classification]
) -> tuple[Classification, str | None]:
    """Let a request not to keep, or to forget, reach the sentence before it.

    Returns:
        The request, and the reason to leave out the rest of the message, if it speaks of that.
    """
    if request.reason == FORGET:
        last = range(len(before))[-1:]
        return (request if request.about else forget_before(before, request, last)), None
    of_before = points_back(request) or OF_BEFORE.match(request.text)
    if before and before[-1].kept and of_before:
        before[-1] = replace(before[-1], kind=None, reason=PRIVATE, statement="")
    return request, PRIVATE if OF_REST.search(request.text) else None


def classify_message(text: str, role: str, now: date | None = None) -> list[Classification]:
    """Return the classifications of one message."""
    found = rules_of_message(text, role, now)
    return decide(found, text, now) if role == "user" else found


def rules_of_message(text: str, role: str, now: date | None = None) -> list[Classification]:
    """Return what the rules say of a message; some sentences bear on their neighbours."""
    found: list[Classification] = []
    carried = None
    rejected = False
    for sentence in sentences(text):
        current = by_rules(sentence, role, now)
        if carried:
            current = replace(current, kind=None, reason=carried, statement="")
        elif current.reason in {FORGET, PRIVATE}:
            current, carried = heed(current, found)
        elif rejected and current.reason in PLAIN and STATEMENT.match(current.text):
            joined = f"{found[-1].text.rstrip('.!。！ ')}, {current.text}"
            said = statement(joined, now) if corrects_by_name(joined) else current.statement
            current = replace(
                current, kind="correction", reason="correction:after-no", statement=said
            )
        elif current.reason in codes_for_rest_of_message():
            carried = current.reason
        elif current.reason.startswith(("ephemeral", "joke")) and AFTERTHOUGHT.match(current.text):
            # "Use bullets please, I prefer them. Just this once."
            found = [replace(f, kind=None, reason=current.reason) if f.kept else f for f in found]
        elif role == "user" and found and found[-1].reason in PLAIN:
            before, found[-1] = found[-1], reclassified_by_next(current.text, found[-1])
            if found[-1] is not before and current.reason in PLAIN:
                current = replace(current, kind=None, reason="no-rule", statement="")
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
