"""Claims read from a statement: subject, attribute, value and scope."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from commonplace.conflict.states import readings
from commonplace.conflict.tables import load
from commonplace.conflict.words import DATES, DENIALS, SCALAR, SELF, cached, stem
from commonplace.letter_ranges import CHINESE

SCOPE = re.compile(
    r"\b(?:in|for|at|on|when|whenever|during|while|with|under|inside|within|after|before|if)\b"
    r" (?!favou?r|general|is\b|are\b|the user)(?P<where>.+)$"
)
SCOPE_ZH = re.compile(
    r"(?:^|[，, ])(?P<where>(?:写|在|对|给|跟"
    r"|和|做|开|用|上|工作日|周末|白天|晚上|早上|上午|下午|夏天|冬天)"
    r"[^，,]*|[^，,]*(?:里|中|上|时|时候|环境|项目|端))"
)
# Where work is done, not for whom
CITIES = re.compile(
    r"(?:[市省区县]|北京|上海|广州|深圳|杭州|成都|武汉|南京|西安|重庆|天津|苏州|长沙|青岛|厦门|香港|台北|东京|新加坡"
    r"|家|学校|国外|海外|美国|英国|日本|德国)$"
)
# Where in a house somebody lives, not where the house is
FLOOR = re.compile(r"[楼层]$|\bfloor$")
ARTICLES = re.compile(
    r"^(?:the|a|an|my|our|their|his|her|port|user's)\b ?|[.。!！,，;；\s]+$|^了|了$"
)
INSTEAD = re.compile(
    r"\b(?:from|instead of|rather than|over|no longer uses?|stopped using|replaced) "
    r"(?P<old>[\w.+#-]+(?: [\w.+#-]+)?)(?= to\b| with\b| by\b|$)"
    r"|(?:从|由)(?P<from>[^，。到换改]{1,12}?)(?:换|改|切|迁|转|搬|跳)"
)
# A value that names a scope is more than a value
SLOT_SCOPE = re.compile(
    r"\b(?:in|for|on|at|when|while|during|with|if|but|because)\b|的时候|必须|[里时]$"
)
PHONE_NUMBER = re.compile(r"\+?\d[\d ()-]{5,}$")
LIST = re.compile(r",| and | or |、|和|以及| / ")


class Claim(NamedTuple):
    """One reading of a statement."""

    subject: str
    attribute: str
    value: str
    scope: frozenset[str]
    # Nothing but a strong word ("prefers", "switched to") says that it is the only one.
    strong: bool = True
    # Of states that follow each other, which one it is, from 1
    rank: int = 0
    # Read from a clause beside which the statement may say more
    loose: bool = False


@cached
def read(text: str, names: str) -> tuple[Claim, ...]:
    """Return the readings of a plain statement; `names` is it as it was written."""
    found: list[Claim] = []
    for part in dict.fromkeys([text, *re.split(r"[,，;；]", text)]):
        found += of_families(part, names)
    key = re.match(r"^(?P<key>[^:：=]{1,30}?)\s*(?:：|:(?![\d/])|=)\s*(?P<value>\S.*)$", text)
    if key:
        found += of_key(SELF.sub("", key["key"]).strip(), key["value"])
    elif not DENIALS.search(text):
        found += of_forms(text, names)
    found += (
        Claim(one.subject, one.attribute, one.value, frozenset(), one.strong, one.rank, loose=True)
        for one in readings(names)
    )
    return tuple(found)


def of_key(key: str, value: str) -> Iterator[Claim]:
    """Yield the claim of `key: value`, if the key is one that holds a single short value."""
    tables = load()
    words = value.split()
    if tables.many.search(key) or LIST.search(value) or len(words) > 6 or len(value) > 40:
        return
    known = key in tables.same
    if known or tables.one.search(key) or (SCALAR.search(value) and len(words) <= 3):
        yield claim(attribute_of(key, value), value)


def attribute_of(key: str, value: str) -> str:
    """Return the attribute that a key names: of a phone, its number is another one.

    >>> attribute_of("mobile", "0612345678"), attribute_of("mobile", "pixel")
    ('phone number', 'phone')
    """
    attribute = load().same.get(key, key)
    return "phone number" if attribute == "phone" and PHONE_NUMBER.match(value) else attribute


def of_families(text: str, names: str) -> Iterator[Claim]:
    """Yield a claim for each family of which exactly one member is chosen and no more said."""
    tables = load()
    chosen = INSTEAD.sub(" ", text)
    for name, named in tables.members.possible(chosen).items():
        family = tables.families[name]
        members = [one for one in named if family.members[one].search(chosen)]
        if len(members) != 1 or (family.only and not family.only.search(text)):
            continue
        rest = family.members[members[0]].sub(" ", chosen)
        headed = bool(family.head and family.head.search(rest))
        rest = family.head.sub(" ", rest) if family.head else rest
        scope = scope_of_rest(rest)
        if scope is None or (family.needs and not any(family.needs.fullmatch(s) for s in scope)):
            continue
        strong = family.exclusive or headed or bool(tables.strong.search(names.casefold()))
        yield Claim("", name, members[0], scope, strong)


def scope_of_rest(text: str) -> frozenset[str] | None:
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
    scope |= set(tables.person.findall(text))
    text = tables.person.sub(" ", text)
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
    statement = SELF.sub("", text)
    for number in tables.possible_forms.possible(statement):
        attribute, pattern, needs = tables.forms[number]
        if (needs and not needs.search(statement)) or not (found := pattern.fullmatch(statement)):
            continue
        parts = found.groupdict()
        value = ARTICLES.sub(
            "", next((parts[v] for v in ("value", "value2", "value3") if parts.get(v)), "")
        )
        who, about = parts["who"].strip(), ARTICLES.sub("", (parts.get("about") or "").strip())
        if not value or LIST.search(value) or (attribute == "employer" and CITIES.search(value)):
            continue
        if attribute == "home" and (
            FLOOR.search(value)
            or any(p.search(value) for f in tables.families.values() for p in f.members.values())
        ):
            continue
        if attribute == "amount":
            yield claim(
                f"{stem(about.split()[0]) if about else ''} {parts['unit'] or ''}".strip(),
                value,
                who,
            )
        elif attribute != "is":
            strong = attribute != "use for" or bool(
                tables.strong.search(f"{text} {names.casefold()}")
            )
            yield claim(f"{attribute} {about}".strip(), value, who, strong=strong)
        elif SLOT_SCOPE.search(value):
            continue
        elif SCALAR.search(value) or (
            tables.one.search(about) and is_proper_name(about, value, names)
        ):
            yield claim(attribute_of(about, value), value)


def is_proper_name(about: str, value: str, names: str) -> bool:
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
