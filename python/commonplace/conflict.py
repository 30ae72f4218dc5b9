"""Tell by rules whether a new statement makes an old one untrue; no embedder needed.

Two statements are taken apart into claims: who, which attribute, what value, in which scope. They
conflict only where who, attribute and scope are the same, the attribute holds one value at a
time, and the values differ; or where one denies the other word for word. Words in common prove
nothing, for a false replacement loses what a duplicate keeps. The tables are in
`rules/conflict.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

# Beyond this a text is no statement but a note, and is not taken apart.
LONGEST = 300
# Cosines of two sentences: below the one nothing is alike, above the other the topic is the same.
VETO, CONFIRM = 0.3, 0.6

CHINESE = re.compile(r"[\u3400-\u9fff]")
MARK = re.compile(r"^(?:[-*•]|\d{1,2}[.)]|#{1,6})\s+|[`*_\"“”「」]")
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
    r"|very much|generally|always|usually|has been|have been|has recently|recently|already|very)\b"
    r"|现在|目前|已经|如今|请|始终|总是|一般|通常|都|又|其实|以后|今后|真的|已(?=开|关)"
)
# Each denies what stands beside it; two of them make a yes.
DENIALS = re.compile(
    r"\b(?:(?:do|does|did|is|are|am|was|were|has|have|will|can|should)? ?not(?: any ?more)?"
    r"|no longer|never|stopped|stops|stop|quit|gave up|given up)\b"
    r"|不再|不|没|戒(?:掉)?了?|(?<![特区级性差])别(?![人的名])"
)
OPPOSITES = [
    (re.compile(rf"(?:\b(?:{bad})\b)" if bad.isascii() else bad), good)
    for bad, good in [
        ("dislikes?|hates?|detests?|loathes?|can not stand", "not like"),
        ("disabled|turned off|switched off|deactivated|off", "not enabled"),
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
SCOPE = re.compile(
    r"\b(?:in|for|at|on|when|whenever|during|while|with|under|inside|within|after|before|if)\b"
    r" (?!favou?r|general|is\b|are\b|the user)(?P<where>.+)$"
)
SCOPE_ZH = re.compile(
    r"(?:^|[，, ])(?P<where>(?:写|在|对|给|跟"
    r"|和|做|开|用|上|工作日|周末|白天|晚上|早上|上午|下午|夏天|冬天)"
    r"[^，,]*|[^，,]*(?:里|中|上|时|时候|环境|项目|端))"
)
# Places and times that part two statements wherever they stand
APART = re.compile(
    r"\b(?:staging|production|prod|dev|development|test(?:s|ing)?|local|weekdays?|weekends?|"
    r"mornings?|evenings?|nights?|summer|winter|home|office|work|laptop|desktop|mobile|android|ios|windows"
    r"|linux|mac|public|private|internal|external|frontend|backend|old|new|first|second|read|write)\b"
    r"|测试|生产|线上|线下|预发|开发环境|本地|工作日|周末|早上|晚上|上午|下午|夏天|冬天|家里|公司|单位"
    r"|前端|后端|内网|外网|主库|从库|手机|电脑"
)
MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
SCALAR = re.compile(
    r"\d|^(?:next |this )?(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    rf"|^(?:{MONTHS})\b"
    r"|周[一二三四五六日末天]|[一二三四五六七八九十]+[点月号日]"
)
# Where work is done, not for whom
CITIES = re.compile(
    r"(?:[市省区县]|北京|上海|广州|深圳|杭州|成都|武汉|南京|西安|重庆|天津|苏州|长沙|青岛|厦门|香港|台北|东京|新加坡"
    r"|家|学校|国外|海外|美国|英国|日本|德国)$"
)
ARTICLES = re.compile(
    r"^(?:the|a|an|my|our|their|his|her|port|user's)\b ?|[.。!！,，;；\s]+$|^了|了$"
)
INSTEAD = re.compile(
    r"\b(?:from|instead of|rather than|over|no longer uses?|stopped using|replaced) "
    r"(?P<old>[\w.+#-]+(?: [\w.+#-]+)?)(?= to\b| with\b| by\b|$)"
    r"|(?:从|由)(?P<from>[^，。到换改]{1,12}?)(?:换|改|切|迁|转|搬|跳)"
)
# What was said when has no say in what is so
DATES = re.compile(rf"\b(?:in|since|on|last|this) (?:{MONTHS}|(?:19|20)\d\d|year|month|week)\b")
KINDS = {
    "day": re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|周[一二三四五六日末天]|星期"),
    "date": re.compile(
        r"\d{4}-\d|[月号]|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d"
        r"|\d(?:st|nd|rd|th)\b"
    ),
    "number": re.compile(r"\d"),
}
# Says in the new statement that something is no longer as it was
CHANGED = re.compile(r"\b(?:now|switched|changed|moved|these days)\b|改|换|现在|如今")
# A value that names a scope is more than a value
SLOT_SCOPE = re.compile(
    r"\b(?:in|for|on|at|when|while|during|with|if|but|because)\b|的时候|必须|[里时]$"
)
LIST = re.compile(r",| and | or |、|和|以及| / ")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a new statement replaces an old one.

    `reason` is a short stable code: `changed:<attribute>`, `denied`, `replaced` for a conflict;
    `same`, `detail` (one only says more), `scope`, `many` (both can hold), `unsure`, `vetoed` (the
    embedder sees nothing in common), `unrelated` for none. The rest is filled as far as known.
    """

    conflict: bool
    reason: str
    subject: str = ""
    attribute: str = ""
    old_value: str = ""
    new_value: str = ""


class Claim(NamedTuple):
    """One reading of a statement."""

    subject: str
    attribute: str
    value: str
    scope: frozenset[str]
    # Nothing but a strong word ("prefers", "switched to") says that it is the only one.
    strong: bool = True


class Family(NamedTuple):
    """Values of which one excludes the others."""

    exclusive: bool
    members: dict[str, re.Pattern[str]]
    head: re.Pattern[str] | None
    only: re.Pattern[str] | None
    needs: re.Pattern[str] | None


class Tables(NamedTuple):
    """What `rules/conflict.toml` holds."""

    frame: frozenset[str]
    frame_zh: re.Pattern[str]
    strong: re.Pattern[str]
    topics: dict[str, re.Pattern[str]]
    families: dict[str, Family]
    forms: list[tuple[str, re.Pattern[str], re.Pattern[str] | None]]
    many: re.Pattern[str]
    one: re.Pattern[str]
    plain: re.Pattern[str]
    only_one: re.Pattern[str]
    several: re.Pattern[str]
    country: re.Pattern[str]
    same: dict[str, str]


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
    verdict = without_embedder(old, new)
    if similarity is None or not (verdict.conflict or verdict.reason == "unsure"):
        sure = verdict.conflict
    else:
        sure = similarity >= (VETO if verdict.conflict else CONFIRM)
    if sure == verdict.conflict:
        return verdict
    reason = f"confirmed:{verdict.attribute}" if sure else "vetoed"
    return replace(verdict, conflict=sure, reason=reason)


def without_embedder(old: str, new: str) -> Verdict:
    """Compare two statements by the rules alone."""
    if len(old) > LONGEST or len(new) > LONGEST:
        return Verdict(conflict=False, reason="unrelated")
    before, after = plain(old), plain(new)
    (old_core, old_denied), (new_core, new_denied) = core(before), core(after)
    if before == after or (old_core == new_core and old_denied == new_denied):
        return Verdict(conflict=False, reason="same")
    if old_core == new_core:
        return Verdict(conflict=True, reason="denied", old_value=before, new_value=after)
    apart = set(APART.findall(before)) != set(APART.findall(after))
    best = Verdict(conflict=False, reason="unrelated")
    claims = list(read(after, new))
    for first in read(before, old):
        for second in claims:
            if (first.subject, first.attribute) != (second.subject, second.attribute):
                continue
            verdict = weigh(first, second)
            if verdict.reason in {"same", "detail"}:
                return verdict
            if (
                verdict.conflict
                and apart
                and not set(APART.findall(f"{first.value} {second.value}"))
            ):
                verdict = replace(verdict, conflict=False, reason="scope")
            best = best if best.conflict else verdict
    if best.reason != "unrelated" or apart:
        return best
    return replaced(before, after) or slot(before, after, new.casefold()) or best


def slot(old: str, new: str, names: str) -> Verdict | None:
    """Return a conflict when all but one value is word for word the same, and it can be only one.

    That it can be only one is known from the verb ("is hosted on", "reports to"), or from a word of
    change ("now", "switched") beside a verb that does not go with many ("likes", "speaks").
    """
    parts = [
        re.findall(r"[a-z0-9_.#+:'/-]+|[\u3400-\u9fff]", SELF.sub("", text)) for text in (old, new)
    ]
    same = [x == y for x, y in zip(*parts, strict=False)]
    start = same.index(False) if False in same else len(same)
    turned = zip(reversed(parts[0][start:]), reversed(parts[1][start:]), strict=False)
    ends = [x == y for x, y in turned]
    end = ends.index(False) if False in ends else len(ends)
    values = [" ".join(words[start : len(words) - end]) for words in parts]
    shared = " ".join(parts[0][:start])
    tables = load()
    only = tables.only_one.search(re.sub(r" (?:the|a|an|my|our)$", "", shared)) or (
        CHANGED.search(names) and len(shared) > 3 and not tables.several.search(shared)
    )
    short = all(
        value and len(value.split()) <= 6 and not SLOT_SCOPE.search(value) for value in values
    )
    if not (only and short) or any(LIST.search(value) or DENIALS.search(value) for value in values):
        return None
    return weigh(
        Claim("", shared, values[0], frozenset()), Claim("", shared, values[1], frozenset())
    )


def replaced(old: str, new: str) -> Verdict | None:
    """Return a conflict when `new` says that what `old` uses was given up for something else."""
    if not (found := INSTEAD.search(new)) or found[0].startswith(("over", "rather")):
        return None
    gone = found["old"] or found["from"]
    use = re.search(
        rf"(?:\b(?:uses?|using|prefers?|runs? on|is|are)\b|用|是|:|：) ?"
        rf"{re.escape(gone)}(?![\w.+#-])",
        old,
        re.ASCII,
    )
    if use and leftover(old.replace(gone, " ")) == frozenset():
        return Verdict(conflict=True, reason="replaced", old_value=gone, new_value=new)
    return None


def weigh(old: Claim, new: Claim) -> Verdict:
    """Compare two claims about the same attribute of the same subject."""
    found = {
        "subject": old.subject,
        "attribute": old.attribute,
        "old_value": old.value,
        "new_value": new.value,
    }
    countries = [bool(load().country.search(value)) for value in (old.value, new.value)]
    if old.scope != new.scope:
        reason = "scope"
    elif old.value == new.value:
        reason = "same"
    elif (
        more(old.value, new.value)
        or more(new.value, old.value)
        or (old.attribute == "home" and countries[0] != countries[1])
    ):
        reason = "detail"
    elif len({kind(old.value), kind(new.value)} - {"word"}) > 1:
        reason = "many"
    elif not (old.strong or new.strong):
        reason = "unsure"
    else:
        reason = f"changed:{old.attribute}"
    return Verdict(conflict=reason.startswith("changed:"), reason=reason, **found)


def kind(value: str) -> str:
    """Return whether a value is a day, a date, a number (or time) or a word."""
    return next((name for name, pattern in KINDS.items() if pattern.search(value)), "word")


def more(value: str, longer: str) -> bool:
    """Say whether `longer` is `value` with something added."""
    if CHINESE.search(value):
        return value in longer
    words = re.findall(r"\w+", value)
    return set(words) <= set(re.findall(r"\w+", longer)) and not value.isdigit()


def plain(text: str) -> str:
    """Return a statement in one line of lower case, contractions and fillers resolved."""
    text = MARK.sub("", " ".join(text.split())).replace("\u2019", "'").casefold()
    for short, long in LONG_FORMS:
        text = short.sub(long, text)
    text = FILLERS.sub("", text)
    return re.sub(
        r"\s+([,.;:])|(?<=[\u3400-\u9fff]) (?=[\u3400-\u9fff])", r"\1", " ".join(text.split())
    ).strip(" .。!！;；,，")


def core(text: str) -> tuple[tuple[str, ...], bool]:
    """Return the words of a statement without denials, and whether it denies.

    >>> core("user does not like tea") == (core("user likes tea")[0], True)
    True
    """
    text = SELF.sub("", text)
    for opposite, straight in OPPOSITES:
        text = opposite.sub(straight, text)
    denied = len(DENIALS.findall(text)) % 2 == 1
    text = DENIALS.sub(" ", text)
    words = re.findall(r"[a-z0-9_.#+'-]+|[\u3400-\u9fff]", text)
    kept = (
        stem(word)
        for word in words
        if word not in {"the", "a", "an", "any", "了", "的", "to", "is", "are", "am"}
    )
    return tuple(kept), denied


def stem(word: str) -> str:
    """Return a word without the endings that depend on who speaks."""
    for end in ("ing", "es", "s"):
        if word.endswith(end) and len(word) > len(end) + 2:
            return word.removesuffix(end).rstrip("e")
    return word.rstrip("e")


def read(text: str, names: str) -> Iterator[Claim]:
    """Yield the readings of a plain statement; `names` is it as it was written."""
    yield from of_families(text, names)
    key = re.match(r"^(?P<key>[^:：=]{1,30}?)\s*(?:：|:(?![\d/])|=)\s*(?P<value>\S.*)$", text)
    if key:
        yield from of_key(SELF.sub("", key["key"]).strip(), key["value"])
    elif not DENIALS.search(text):
        yield from of_forms(text, names)


def of_key(key: str, value: str) -> Iterator[Claim]:
    """Yield the claim of `key: value`, if the key is one that holds a single short value."""
    tables = load()
    words = value.split()
    if tables.many.search(key) or LIST.search(value) or len(words) > 6 or len(value) > 40:
        return
    known = tables.same.get(key)
    if known or tables.one.search(key) or (SCALAR.search(value) and len(words) <= 3):
        yield claim(known or key, value)


def of_families(text: str, names: str) -> Iterator[Claim]:
    """Yield a claim for each family of which exactly one member is chosen and no more said."""
    tables = load()
    chosen = INSTEAD.sub(" ", text)
    for name, family in tables.families.items():
        members = [m for m, pattern in family.members.items() if pattern.search(chosen)]
        if len(members) != 1 or (family.only and not family.only.search(text)):
            continue
        rest = family.members[members[0]].sub(" ", chosen)
        headed = bool(family.head and family.head.search(rest))
        rest = family.head.sub(" ", rest) if family.head else rest
        scope = leftover(rest)
        if scope is None or (family.needs and not any(family.needs.fullmatch(s) for s in scope)):
            continue
        strong = family.exclusive or headed or bool(tables.strong.search(names.casefold()))
        yield Claim("", name, members[0], scope, strong)


def leftover(text: str) -> frozenset[str] | None:
    """Return the scope that the rest of a statement names, or None when it says more than that."""
    tables = load()
    if DENIALS.search(text):
        return None
    text = SELF.sub("", DATES.sub("", text).strip())
    scope: set[str] = set()
    for topic, pattern in tables.topics.items():
        if pattern.search(text):
            scope.add(topic)
            text = pattern.sub(" ", text)
    if where := SCOPE.search(text):
        inside = [w for w in re.findall(r"[\w#+.-]+", where["where"]) if w not in tables.frame]
        scope |= set(inside)
        text = text[: where.start()]
    if where := SCOPE_ZH.search(text):
        named = tables.frame_zh.sub("", where["where"]).strip(" ，,")
        if named:
            scope.add(named)
            text = text[: where.start()] + text[where.end() :]
    text = tables.frame_zh.sub(" ", text)
    rest = [word for word in re.findall(r"[\w#+'-]+", text) if word not in tables.frame]
    return None if rest else frozenset(scope)


def of_forms(text: str, names: str) -> Iterator[Claim]:
    """Yield the claims of the forms that a whole statement has."""
    tables = load()
    said = SELF.sub("", text)
    for attribute, pattern, needs in tables.forms:
        if (needs and not needs.search(said)) or not (found := pattern.fullmatch(said)):
            continue
        parts = found.groupdict()
        value = ARTICLES.sub(
            "", next((parts[v] for v in ("value", "value2", "value3") if parts.get(v)), "")
        )
        who, about = parts["who"].strip(), ARTICLES.sub("", (parts.get("about") or "").strip())
        if not value or LIST.search(value) or (attribute == "employer" and CITIES.search(value)):
            continue
        if attribute == "home" and any(
            p.search(value) for f in tables.families.values() for p in f.members.values()
        ):
            continue
        if attribute == "amount":
            yield claim(
                f"{stem(about.split()[0]) if about else ''} {parts['unit'] or ''}".strip(),
                value,
                who,
            )
        elif attribute != "is":
            strong = attribute != "use for" or bool(tables.strong.search(text))
            yield claim(f"{attribute} {about}".strip(), value, who, strong=strong)
        elif SLOT_SCOPE.search(value):
            continue
        elif SCALAR.search(value) or (tables.one.search(about) and proper(about, value, names)):
            yield claim(tables.same.get(about, about), value)


def proper(about: str, value: str, names: str) -> bool:
    """Say whether a word is a name that `about` can have, not a quality."""
    if CHINESE.search(about):
        return not re.match(r"[很太非比有挺坏满好真最]", value)
    place = names.casefold().rfind(value)
    return names[place : place + 1].isupper() or bool(load().plain.search(about))


def claim(attribute: str, value: str, who: str = "", *, strong: bool = True) -> Claim:
    """Return a claim with its value bared of articles and of what follows it."""
    value = re.sub(
        r" (?:instead|since .*|as of .*|for good|with (?:my|his|her|their) .*)$",
        "",
        ARTICLES.sub("", value),
    )
    return Claim(ARTICLES.sub("", who), attribute, ARTICLES.sub("", value), frozenset(), strong)


@cache
def load() -> Tables:
    """Read the tables."""
    source = resources.files("commonplace") / "rules" / "conflict.toml"
    table: dict[str, Any] = tomllib.loads(source.read_text(encoding="utf-8"))

    def optional(row: dict[str, Any], name: str) -> re.Pattern[str] | None:
        return re.compile(row[name], re.ASCII) if name in row else None

    families = {
        name: Family(
            row.get("exclusive", False),
            {
                m: re.compile(p, re.ASCII)
                for m, p in row.items()
                if m not in {"exclusive", "head", "only", "needs"}
            },
            optional(row, "head"),
            optional(row, "only"),
            optional(row, "needs"),
        )
        for name, row in table["family"].items()
    }
    return Tables(
        frozenset(table["frame"]),
        re.compile(table["frame_zh"]),
        re.compile(table["strong"], re.ASCII),
        {name: re.compile(pattern, re.ASCII) for name, pattern in table["topics"].items()},
        families,
        [
            (row["attribute"], re.compile(row["pattern"]), optional(row, "needs"))
            for row in table["form"]
        ],
        re.compile(table["keys"]["many"]),
        re.compile(table["keys"]["one"]),
        re.compile(table["keys"]["plain"]),
        re.compile(table["keys"]["only_one"]),
        re.compile(table["keys"]["several"]),
        re.compile(table["keys"]["country"]),
        {key: names[0] for names in table["keys"]["same"] for key in names},
    )
