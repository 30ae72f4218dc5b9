"""Normalisation of statements (subject, stems, negation, scalars, scope), to compare them."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from commonplace.calendar_names import MONTHS
from commonplace.chat_spelling import expanded
from commonplace.conflict.lazy_pattern import LazyPattern
from commonplace.conflict.literal_filter import LiteralFilter
from commonplace.conflict.tables import load
from commonplace.letter_ranges import CHINESE

MARK = re.compile(r"^(?:[-*•]|\d{1,2}[.)]|#{1,6})\s+|[`*_\"“”「」]")
# A row of a table with two cells, with or without its outer bars
ROW = re.compile(r"^\|?\s*([^|:：]{1,30}?)\s*\|\s*([^|]+?)\s*\|?$")
# Said of an hour it is part of the value
HOURS = re.compile(r"(?:早上|晚上|上午|下午|中午|凌晨)(?=[一二三四五六七八九十两\d])")
# "room A" and "room B" are two rooms
LABEL = re.compile(r"(?<=[a-z]) ([A-HJ-Z])(?![\w+#'.&])")
SELF = re.compile(
    r"^(?:the )?users? and |^(?:the )?user(?:'s)?\b ?|^(?:i|my|me|we|our|us)\b ?"
    r"|^(?:用户|本人|我们?|咱们?)(?:的)?"
)
LONG_FORMS = [
    (re.compile(r"\b(can)(?:'t|not)\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"\bi'm\b"), "i am"),
    (re.compile(r"'(?:ve|ll|d|re)\b"), ""),
]
FILLERS = re.compile(
    r"\b(?:now|currently|actually|really|please|these days|nowadays|from now on|again|still|just"
    r"|very much|a lot(?! of)|so much(?! \w)|a great deal|generally|always|usually"
    r"|(?:has|have) been(?! to)|has recently|recently|already|very|btw|fyi|lol|tbh|finally"
    r"|officially|completely|totally|for good|turns out|after all|not looking back|yesterday"
    r"|last (?:week|month|year|night|weekend|spring|summer|autumn|fall|winter)"
    r"|(?:an?|one|two|three|four|few|\d+) (?:days?|weeks?|months?|years?) ago)\b"
    r"|现在|目前|已经|如今|请|始终|总是|一般|通常|都|又|其实|上个月|上周|前不久|刚刚"
    r"|刚(?=搬|换|改|结|离|从)|去年底?|年初|年底|今年(?:春|夏|秋|冬)天?|最近|以后|今后"
    r"|[春夏秋冬]天(?=(?:学会|搬|换|买|卖|毕业|结婚|离婚|戒|辞|跳槽|入职|生|考))"
    r"|(?:非常|特别|十分|超级|挺|蛮)(?=喜欢|爱|讨厌|反感|怕)|真的|终于|昨晚|今早|前几天|上周末|昨天|前天|早就|早已|彻底|正式|上个?(?:月|周|星期)|已(?=开|关)"
)
# Each denies what stands beside it; two of them make a yes.
DENIALS = re.compile(
    r"\b(?:(?:do|does|did|is|are|am|was|were|has|have|will|can|should)? ?not(?: any ?more)?"
    r"|no longer|never|stopped|stops|stop|quit|gave up|given up|no need|no|without)\b"
    r"|不再|不|没|戒(?:掉)?了?|(?<![特区级性差])别(?![人的名])"
)
OPPOSITES = [
    (LazyPattern(rf"(?:\b(?:{bad})\b)" if bad.isascii() else bad), good)
    for bad, good in [
        ("dislikes?|hates?|detests?|loathes?|can not stand", "not like"),
        (
            r"disabled|turned off|switched off|deactivated|off(?! (?:to|for|at|sick)\b)",
            "not enabled",
        ),
        ("turned on|switched on|activated|on(?=$)", "enabled"),
        ("forbidden|prohibited|disallowed|banned", "not allowed"),
        ("optional", "not required"),
        ("mandatory|compulsory", "required"),
        ("likes?|loves?|enjoys?|is a fan of|am a fan of", "like"),
        ("讨厌|反感", "不喜欢"),
        ("爱(?=吃|喝|看|玩)", "喜欢"),
        ("关闭|关掉|停用|禁用|关了", "不开启"),
        ("启用|打开|开了", "开启"),
        ("禁止", "不允许"),
        ("没有", "不有"),
        ("戒烟", "不抽烟"),
        ("戒酒", "不喝酒"),
    ]
]
ANY_OPPOSITE = LiteralFilter(opposite for opposite, _ in OPPOSITES)
# Places and times that part two statements wherever they stand
APART = re.compile(
    r"\b(?:staging|production|prod|dev|development"
    r"|(?<!driving )(?<!road )(?<!eye )test(?:s|ing)?|local|weekdays?|weekends?|"
    r"mornings?|evenings?|nights?|summer|winter|home|office|work|laptop|desktop|mobile"
    r"|android|ios|windows"
    r"|linux|mac|public|private|internal|external|frontend|backend|old|new|first"
    r"|second|read|write)\b"
    r"|测试|生产|线上|线下|预发|开发环境|本地|工作日|周末|早上|晚上|上午|下午|夏天"
    r"|冬天|家里|公司|单位"
    r"|前端|后端|内网|外网|主库|从库|手机|电脑"
)
MONTH = "|".join(MONTHS)
SCALAR = re.compile(
    r"\d|^(?:next |this )?(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    rf"|^(?:{MONTH})\b"
    r"|周[一二三四五六日末天]|[一二三四五六七八九十]+[点月号日]"
)
# What was said when has no say in what is so
SEASONS = "spring|summer|autumn|fall|winter|year|month|week|quarter"
DATES = re.compile(
    r"\b(?:since |in |on |as of |after )?(?:last |this |next )?"
    rf"(?:{MONTH}|(?:in|since) (?:19|20)\d\d)\b(?! \d)"
    rf"|\b(?:since |in |as of |after )?(?:last|this|the) (?:{SEASONS})\b"
    rf"|\b(?:a|two|three|some) (?:{SEASONS})s? ago\b"
)
DOUBLED = re.compile(r"(?<=..)([bdgmnprt])\1$|e+$")
NUMERAL = re.compile(r"[一二两三四五六七八九十百千万]+")
KINDS = {
    "day": re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|周[一二三四五六日末天]|星期"),
    "date": re.compile(
        r"\d{4}-\d|[月号]|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d"
        r"|\d(?:st|nd|rd|th)\b"
    ),
    "number": re.compile(r"\d"),
}


# One new statement is compared with many old ones, and those come again with the next.
cached = lru_cache(maxsize=4096)


def kind(value: str) -> str:
    """Return whether a value is a day, a date, a number (or time) or a word."""
    return next((name for name, pattern in KINDS.items() if pattern.search(value)), "word")


def is_extension(value: str, longer: str) -> bool:
    """Say whether `longer` is `value` with something added."""
    if CHINESE.search(value):
        # ten to eleven is not "one" with something before it
        part = re.search(rf"(?<![一二三四五六七八九十百千万]){re.escape(value)}", longer)
        return part is not None and not NUMERAL.fullmatch(value)
    words = re.findall(r"\w+", value)
    return set(words) <= set(re.findall(r"\w+", longer)) and not value.isdigit()


@cached
def plain(text: str) -> str:
    """Return a statement in one line of lower case, contractions and fillers resolved.

    >>> plain("Language | German")
    'language: german'
    """
    text = ROW.sub(r"\1: \2", text.strip())
    text = expanded(MARK.sub("", " ".join(text.split())).replace("\u2019", "'"))
    text = LABEL.sub(r"-\1", text).casefold()
    for short, long in LONG_FORMS:
        text = short.sub(long, text)
    text = FILLERS.sub("", text)
    return re.sub(
        r"\s+([,.;:])|(?<=[\u3400-\u9fff]) (?=[\u3400-\u9fff])", r"\1", " ".join(text.split())
    ).strip(" .。!！;；,，")


@cached
def core(text: str) -> tuple[tuple[str, ...], bool]:
    """Return the words of a statement without denials, and whether it denies.

    >>> core("user does not like tea") == (core("user likes tea")[0], True)
    True
    """
    text = SELF.sub("", text)
    text = without_opposites(text)
    denied = len(DENIALS.findall(text)) % 2 == 1
    text = DENIALS.sub(" ", text)
    words = re.findall(r"[a-z0-9_.#+'-]+|[\u3400-\u9fff]", text)
    kept = (
        stem(word)
        for word in words
        if word not in {"the", "a", "an", "any", "了", "的", "to", "is", "are", "am"}
    )
    return tuple(kept), denied


def without_opposites(text: str) -> str:
    """Return a text in which "dislikes" is "not like", and so on."""
    if ANY_OPPOSITE.possible(text):
        for opposite, straight in OPPOSITES:
            text = opposite.sub(straight, text)
    return text


@cached
def content(text: str) -> frozenset[str]:
    """Return the words that a statement is about: stems of English, single Chinese characters.

    Light verbs, articles, denials and words of change are left out, other names of a thing are
    brought to one.

    >>> sorted(content("the production database runs postgresql 13"))
    ['13', 'databas', 'postgr', 'prod']
    """
    tables = load()
    text = SELF.sub("", text)
    text = without_opposites(text)
    text = DENIALS.sub(" ", text)
    if any(pattern.search(text) for _, pattern in tables.names.possible(text)):
        # a name that is put in may be one that another pattern knows
        for name, pattern in tables.names.items():
            text = pattern.sub(f" {name} ", text)
    text = light_removed(text)
    words = re.findall(r"[a-z0-9+#](?:[\w.+#:/@-]*[\w+#])?|[\u3400-\u9fff]", text, re.ASCII)
    idle = ignored_stems() - ({"a"} if CHINESE.search(text) else set())
    return frozenset(word for word in map(short_stem, words) if word not in idle)


def light_removed(text: str) -> str:
    """Return a text with spaces for the Chinese words that a statement is not about."""
    return load().light_zh.sub(" ", text)


@cache
def ignored_stems() -> frozenset[str]:
    """Return the stems of the words that a statement is not about."""
    return frozenset(map(short_stem, load().frame | load().light))


def short_stem(word: str) -> str:
    """Return the stem of a word that is long enough to have one."""
    return stem(word) if len(word) > 3 else word


@cached
def places(text: str) -> frozenset[str]:
    """Return the places and times that a statement is tied to, wherever they stand in it."""
    found = APART.findall(
        load().names["prod"].sub("production", HOURS.sub("", DATES.sub("", text)))
    )
    return frozenset(found) - {"new", "old", "first", "second", "work", "home"}


ACTS_ZH = re.compile(
    r"(?P<name>(?!老[板公婆师家二大爸妈]|小[孩区狗猫组学时店])[小老阿][\u4e00-\u9fff]"
    r"|[王李张刘陈赵周吴孙林杨黄徐高何马罗郑谢唐韩曹许邓冯][\u4e00-\u9fff]{1,2}?)"
    r"(?=住|在|用|不|也|就|喜|讨|换|搬|从|每|爱|改|养|开|买|跳|辞|负责|会|的|戒|离|结婚|毕业|抽|喝"
    r"|吃|考|入职|升|生了|退|卖|订|怀|去|把|已|刚)"
)
ACTS = re.compile(
    r"^(?:the |Mrs?\.? |Ms\.? |Dr\.? )?(?P<name>(?!(?:They|It|This|That|There|You)\b)[A-Z][a-z]+)"
    r"(?: [A-Z][a-z]+| and [A-Z][a-z]+)?"
    r" (?:(?:just|finally|recently|also|both) )*(?:[a-z]+s|has|have|had|are|is|was|no longer"
    r"|does not|doesn't|quit|left|sold|gave|now|got|bought|became"
    r"|stopped|moved|switched|started|turned|died|married|divorced|retired|graduated|joined)\b"
)
# Names written small, and whom only a story knows, with what persons do
ACTS_SMALL = re.compile(
    r"^(?:the |an? |this |that |some )?(?P<name>(?!(?:i|we|you|it|they|us|just|now|then|also|so|and"
    r"|but|have|has|had|been|got|went|never|not|no|all|most|both|every\w*|any\w*|some\w*|who|what"
    r"|which|half|today|yesterday|team|work|company|whole|hubby|missus|wifey|[bg]f|sis|bro|nan|gran"
    r"|folks|baby|kids?|\w+ly|\w+ing|\w+ed)\b)[a-z]{2,})(?: and [a-z]+)?"
    r" (?:(?:just|finally|recently|also|both|already) )*(?:(?:quit|left|joined|sold|bought) \w+"
    r"|stopped \w+ing|gave up|graduated|got (?:married|divorced|engaged|promoted)|turned \d+"
    r"|moved to [a-z]+|lives (?:in|with)|works (?:at|for|as)|smokes|drinks"
    r"|is (?:no longer |not )?(?:an? )?(?:vegan|vegetarian|married|single|divorced|pregnant|retired"
    r"|allergic|left-handed|right-handed))\b(?!.*\b(?:me|us|my|our|i|we)\b)",
)
OURSELVES = re.compile(
    r"^(?:i|we)(?:'(?:m|re|ve|d|ll))?\b"
    r"|^(?:the )?(?:user|users|my|our|team|company|everyone|all|his|her|their)\b(?!')"
    r"|^(?:用户|我|本人|咱|团队)",
    re.IGNORECASE,
)


def other_subject(old: str, new: str) -> bool:
    """Say whether the statements, as they were written, are of two persons."""
    subjects = []
    for text in (old, new):
        if OURSELVES.match(text):
            subjects.append("")
        elif found := ACTS.match(text) or ACTS_ZH.match(text) or ACTS_SMALL.match(text):
            subjects.append(found["name"].casefold())
        else:
            return False
    names = [
        bool(re.search(name, text.casefold()))
        for name, text in zip(subjects, (new, old), strict=True)
    ]
    return subjects[0] != subjects[1] and not names[1]


def denies(text: str) -> bool:
    """Say whether a statement denies."""
    return core(text)[1]


def scalar(value: str) -> bool:
    """Say whether a value is a number, a day or a time."""
    return bool(SCALAR.search(value)) and len(value) <= 30


def stem(word: str) -> str:
    """Return a word without the endings that depend on who speaks."""
    for end in ("ing", "es", "s"):
        if word.endswith(end) and len(word) > len(end) + 2 and not (end == "s" and word[-2] == "s"):
            word = word.removesuffix(end)
            # "running" is of "run", "adding" of "add"
            return DOUBLED.sub(r"\1", word) if end == "ing" else word.rstrip("e")
    return word.rstrip("e")
