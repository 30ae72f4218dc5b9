"""Part of a statement that its speaker asserts: no hypotheses, and nothing that others wrote."""

from __future__ import annotations

import re

# What is supposed, up to the next comma: "if I moved to Rome, would I need a visa"; in a question
# without a comma it may be all
_SUPPOSED = re.compile(
    r"(?:^|(?<=[.!?;,。！？；，]))\s*(?:(?:and|but|so|hey|well|那|那么) ?)?"
    r"(?:(?:if|suppose|supposing|what if)\b[^,.!?;]*(?:,|(?=\?))"
    r"|(?:如果|假如|假设|倘若|要是|万一|假使)[^，,。！？!?；]*(?:[，,]|(?=[?？])|(?<=[吗呢])$))",
    re.IGNORECASE,
)
# What was read or seen: "read a post saying that Airflow is dead and everyone uses Dagster", but
# not what the reader did then
_REPORTED = re.compile(
    r"^\s*(?:i |just |i just |i've )?(?:read|saw|watched|heard) (?:an?|the|some|this|that)\b"
    r"[^,.;!?]{0,25}?\b(?:posts?|blogs?|articles?|threads?|videos?|papers?|talks?|books?"
    r"|stor(?:y|ies))\b(?: \w+){0,3}? (?:saying|says|that|about|claiming|where|on how)\b"
    r"(?:(?! and (?:i|we|\w+ed)\b)[^,.!?;])*"
    r"|^\s*(?:我)?(?:刚|昨天)?(?:看到|刷到|读到|看了)[^，。！？；]{0,8}"
    r"(?:文章|帖子|视频|博客|新闻|报道)[，,]?[里上]?(?:说|称|讲)[^，。！？；]*",
    re.IGNORECASE,
)


def asserted(text: str) -> str:
    """Return a text without what it supposes, and without what somebody read or saw elsewhere.

    >>> asserted("if I moved to Rome, would I need a visa")
    'would I need a visa'
    >>> asserted("read a blog saying Airflow is dead and everyone uses Dagster")
    ''
    >>> asserted("如果你要地址，我搬到上海了"), asserted("We moved to Lisbon")
    ('我搬到上海了', 'We moved to Lisbon')
    """
    return _SUPPOSED.sub("", _REPORTED.sub("", text)).strip(" ,，?？")
