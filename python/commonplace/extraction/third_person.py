"""Third-person statements: what a sentence of the user says, as a memory stores it.

By rules: a template of `third_person.toml` for changes that come down to a state ("we moved to
Lisbon": "User lives in Lisbon"), else the sentence itself with other pronouns and verb forms. Where
a word is left over that only makes sense in the conversation ("you", "it"), there is no statement.
"""

from __future__ import annotations

import re
from datetime import date
from functools import cache
from typing import Any, NamedTuple

from commonplace.chat_spelling import expanded
from commonplace.extraction.relative_dates import spoken_time
from commonplace.extraction.rule_tables import read_table
from commonplace.letter_ranges import CHINESE
from commonplace.protocols import ChatModel, Turn

# Characters of a statement
LONGEST = 200
LEAD_ZH = re.compile(
    r"^(?:(?:对了|话说|哎|欸|嗨|嗯|哦|嘿|跟你说[一个]?[下声]?|告诉你[一个]?[下声]?"
    r"|说一[下声]|更新一下"
    r"|顺便(?:说|提)?一?[下句]?|好消息|坏消息|另外|还有|忘了说|其实|不过|btw)[，,：:！。 ]?)+",
    re.IGNORECASE,
)
ENDING = re.compile(
    r"(?:[\s,]+(?:btw|fyi|lol|haha|by the way|too|thanks|thx|pls|please|tbh))*[\s.!~…:()😀-🙏]*$"
    r"|[啊呀哦啦哈呢吧嘛]*[。！!~～…\s]*$",
    re.IGNORECASE,
)
# What begins so is asked of the assistant
ASKS_ZH = re.compile(
    r"^(?:以后|今后|请|别|不要|麻烦)|(?:叫|回|给|跟|发|告诉|提醒)我(?!弟|哥|姐|妹|爸|妈)"
)
# A sentence that begins so lacks its subject, which is the user
VERB_ZH = re.compile(
    r"(?:终于|现在|最近|已经|早就|刚|又"
    r"|其实)*(?:[搬换改戒卖买升转调入离辞找满瘦胖学考拿领剪做进停退进养住有是在不能]"
    r"|新买|结婚|毕业|开始|把|都用|爱|喜欢|最喜欢|从|跳槽|订|取消|卸载|注销|坐|骑|开|用)"
)
VERB = re.compile(
    r"\b(?:i|we)\b(?P<short>'m|'re|'ve|'ll|'d)?(?P<am> am| are| was"
    r"| were)?(?P<adverbs>(?: (?:really|just"
    r"|also|now|still|always|usually|never|often|rarely|only|mostly|normally|typically|generally"
    r"|definitely|absolutely|honestly|personally|currently|actually|finally|recently"
    r"|already|strongly"
    r"|much|no longer|both|all|kinda|officially|completely|fully|sometimes|regularly|even))*)"
    r"(?: (?P<verb>[a-z]+(?:'t)?))?",
    re.IGNORECASE,
)
MODALS = frozenset(re.findall(r"\w+", "can could will would must should may might shall used"))
DENIED = {
    "don't": "does not",
    "do": "does",
    "can't": "cannot",
    "won't": "will not",
    "haven't": "has not",
    "didn't": "did not",
    "couldn't": "could not",
    "wouldn't": "would not",
    "aren't": "is not",
    "wasn't": "was not",
    "weren't": "was not",
    "hadn't": "had not",
    "shouldn't": "should not",
}
PAST = frozenset(
    re.findall(
        r"\w+",
        "moved quit left sold got bought gave went had was were became began came chose cut "
        "did drank drove ate fell felt found forgot grew heard held hurt kept knew learnt "
        "lost made met paid put ran read said saw sent set shut slept spent spoke split swore "
        "swam took taught thought told wore won wrote rewrote broke brought built caught hit "
        "let lent rode rose sang tore understood woke withdrew rebuilt stood been gone done "
        "married ",
    )
)
LEFT_OVER = re.compile(
    r"\b(?:i|me|my|mine|we|us|our|ours|you|your|yours|myself|ourselves|this|that"
    r"|these(?! days)|those|here"
    r"|there|don't|can't|haven't)\b|[我你您咱]|\bit(?:'s)?\b",
    re.IGNORECASE,
)
# A sentence that begins so lacks its subject
SUBJECT = re.compile(
    r"^(?:i|we)\b|^(?:my|our) |^(?:\w+|my \w+) and (?:i|me)\b|^me and my \w+\b", re.IGNORECASE
)


_ADVERBS = re.compile(r"^(?:(?:just|finally|recently|also|now|already) )+(?=\w)", re.IGNORECASE)
# What was told wrongly is named in one clause, and its value in the next
BY_NAME = re.compile(
    r"\bmy [\w' -]{2,30}? wrong\b.*?[,:;–—.-]\s*(?:it|should)\b"
    r"|我的?[^，。]{1,8}错(?:了|啦)?[，,：:。]\s*(?:应该|其实)?[是叫]",
    re.IGNORECASE,
)
# Where "my" begins a sentence or a clause
OWN_CLAUSE = re.compile(
    r"(?:^|(?<=, )|(?<= and )|(?<= but ))(?:my|our)\b(?=.* (?:is|are|was|were|has|have|[a-z]+s)\b)"
    r"|^(?:my|our)\b",
    re.IGNORECASE,
)


class Template(NamedTuple):
    """A whole sentence and what it comes down to."""

    pattern: re.Pattern[str]
    statement: str
    examples: tuple[tuple[str, str], ...]


@cache
def templates(language: str) -> tuple[Template, ...]:
    """Read the templates of a language."""
    table = read_table("third_person.toml")

    def compiled(row: dict[str, Any]) -> Template:
        pattern = row["pattern"]
        while re.search(r"(?<!P)<\w+>", pattern):
            pattern = re.sub(r"(?<!P)<(\w+)>", lambda name: table["words"][name[1]], pattern)
        examples = tuple((said, becomes) for said, becomes in row["examples"])
        return Template(re.compile(pattern, re.IGNORECASE), row["statement"], examples)

    return tuple(map(compiled, table[language]))


def statement(text: str, day: date | None = None) -> str:
    """Return a sentence of the user in the third person, or "" where none can be made.

    Args:
        text: What the user said, one sentence.
        day: The day it was said on, which "last month" counts from.

    >>> statement("btw we just moved to Lisbon last month", date(2026, 11, 22))
    'User lives in Lisbon since 2026-10'
    >>> statement("i quit google and i don't miss my desk")
    'User quit google and User does not miss their desk'
    >>> statement("我跳槽去字节了"), statement("could you do it")
    ('用户在字节工作', '')
    """
    return _chinese(text, day) if CHINESE.search(text) else _english(text, day)


def corrects_by_name(text: str) -> bool:
    """Say whether a sentence names what is wrong, and only points at it with the right value.

    >>> corrects_by_name("You have my birthday wrong, it's 5 May")
    True
    """
    return bool(BY_NAME.search(text))


def _english(text: str, day: date | None) -> str:
    bare = expanded(ENDING.sub("", " ".join(text.split())))
    bare = _lead().sub("", bare)
    began = re.search(r"\bsince\b", bare)
    bare, time = spoken_time(bare, day)
    if not bare or "?" in bare or len(bare) > LONGEST or re.search(r"[.!;] ", bare):
        return ""
    if said := _by_template(bare, "english", f" since {time}" if time else ""):
        return said
    if not SUBJECT.match(bare):
        first = _ADVERBS.sub("", bare).split(maxsplit=1)[0].casefold()
        if not (first in PAST or first.endswith("ed")) or first in {"been", "read", "put", "let"}:
            return ""
        bare = f"I {bare[0].lower()}{bare[1:]}"
    bare = re.sub(
        r"^(?:me and my (\w+)|my (\w+) and (?:i|me))\b", _couple, bare, flags=re.IGNORECASE
    )
    bare = re.sub(r"^(\w+) and (?:i|me)\b", r"User and \1", bare, flags=re.IGNORECASE)
    said = VERB.sub(_third, bare)
    # a clause of its own may one day stand alone
    said = OWN_CLAUSE.sub("User's", said)
    for first, third in (
        (r"\b(?:my|our)\b", "their"),
        (r"\b(?:me|us)\b", "User"),
        (r"\b(?:myself|ourselves)\b", "themselves"),
        (r"\b(?:mine|ours)\b", "theirs"),
    ):
        said = re.sub(first, third, said, flags=re.IGNORECASE)
    if LEFT_OVER.search(said) or not said.startswith("User"):
        return ""
    if time:
        said += f" since {time}" if began else f" ({time})"
    return said


def _by_template(bare: str, language: str, since: str) -> str:
    """Return what the first template that matches makes of a bare sentence."""
    for template in templates(language):
        found = template.pattern.fullmatch(bare)
        if found and not (
            template.statement.startswith("User lives") and _tools().search(found["x"])
        ):
            return _filled(template.statement, found, since)
    return ""


def _couple(found: re.Match[str]) -> str:
    return f"User and their {found[1] or found[2]}"


def _third(found: re.Match[str]) -> str:
    """Return the subject and verb of the first person in the third."""
    short, am, adverbs, verb = (found[name] or "" for name in ("short", "am", "adverbs", "verb"))
    word = verb.casefold()
    if short in {"'m", "'re"} or am.strip() in {"am", "are"}:
        helper = " is"
    elif am:
        helper = " was"
    elif short == "'ve":
        helper = " has"
    else:
        helper = {"'ll": " will", "'d": " would"}.get(short, "")
    if helper or not verb:
        return f"User{helper}{adverbs}" + (f" {verb}" if verb else "")
    if word in DENIED:
        return f"User{adverbs} {DENIED[word]}"
    if word in {"have", "am"}:
        return f"User{adverbs} " + ("has" if word == "have" else "is")
    if word in MODALS or word in PAST or word.endswith("ed"):
        return f"User{adverbs} {verb}"
    return f"User{adverbs} {_with_s(verb)}"


def _with_s(verb: str) -> str:
    if re.search(r"(?:s|x|z|ch|sh|o)$", verb):
        return f"{verb}es"
    return re.sub(r"(?<=[^aeiou])y$", "ie", verb) + "s"


def _chinese(text: str, day: date | None) -> str:
    # 毕业啦 says that it is so now, as 毕业了 does
    text = re.sub(r"啦(?=[。！!~～…\s]*$)", "了", " ".join(text.split()))
    bare = LEAD_ZH.sub("", ENDING.sub("", text))
    bare, time = spoken_time(bare, day)
    if not bare or len(bare) > 100 or re.search(r"[？?。]", bare):
        return ""
    if said := _by_template(bare, "chinese", f"自{time}起" if time else ""):
        return said
    if ASKS_ZH.search(bare):
        return ""
    said = re.sub(
        r"我们?(?=公司|团队|单位|部门|组|[爸妈弟妹哥姐]|儿子|女儿|老[婆公])", "用户的", bare
    )
    said = re.sub(r"(?:我们|咱们|我俩|我|咱|本人)", "用户", said)
    if not said.startswith("用户"):
        if not VERB_ZH.match(said):
            return ""
        said = f"用户{said}"
    return "" if LEFT_OVER.search(said) else said + (f"（{time}）" if time else "")


@cache
def _tools() -> re.Pattern[str]:
    names = read_table("third_person.toml")["words"]["tools"]
    return re.compile(rf"\b(?:{names})\b", re.IGNORECASE)


def _filled(template: str, found: re.Match[str], since: str) -> str:
    parts = {name: value or "" for name, value in found.groupdict().items()}
    spouse = next((parts[name] for name in ("x", "y", "z") if parts.get(name)), "")
    return template.format(**parts | {"since": since, "to": f" to {spouse}" if spouse else ""})


@cache
def _lead() -> re.Pattern[str]:
    """Return the pattern of what leads in to a sentence and says nothing of its own."""
    return re.compile(LEAD, re.IGNORECASE)


LEAD = (
    r"^(?:(?:u+gh+|a+rgh+|h+m+|aw+|phew|oh|hey|hi|hello|ok|okay|so|well|and|also|btw|by the way"
    r"|fyi|(?:(?:small|quick|little|short|minor|big|good|sad|bad) )?(?:update|news|heads up)"
    r"|ps|yeah|yep|no|just so you know|just fyi|guess what|for the record|turns out(?: that)?"
    r"|actually|one more thing|anyway|sadly|luckily|unfortunately)\b[,:;!.—–-]* ?)+"
)
WORD = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]")
FRAME = frozenset(
    re.findall(
        r"\w+",
        "user s the a an is are was has have had does not no longer lives live in at to of and"
        " their they them since works work uses use instead with for on as who now from that this",
    )
) | frozenset("用户的了在是住于自起年月日工作使用不再已")


def is_supported(said: str, text: str) -> bool:
    """Say whether each word of a statement stands in its source, or is a word of form.

    >>> is_supported("User lives in Lisbon", "we moved to Lisbon")
    True
    >>> is_supported("User lives in Portugal", "we moved to Lisbon")
    False
    """
    there = {_root(word) for word in WORD.findall(expanded(text).casefold())}
    words = [word for word in WORD.findall(said.casefold()) if word not in FRAME]
    return bool(words) and all(
        _root(word) in there or re.fullmatch(r"\d{1,4}", word) for word in words
    )


def _root(word: str) -> str:
    """Return a word without an ending that depends on who speaks."""
    return re.sub(r"(?:ing|ed|es|s|d|e)$", "", word) if len(word) > 3 else word


INSTRUCTION = (
    "Rewrite what the user said as one short statement about the user in the third person. Begin "
    "with `User`, or with `用户` if the sentence is Chinese. Keep the language, use only words of "
    "the sentence, add nothing, and answer with the statement alone."
)


def by_model(text: str, model: ChatModel, day: date | None) -> str:
    """Return the statement that a model makes of a sentence, or that of the rules.

    What the model writes stands only if it is one line about the user, and all its words come from
    the sentence or from what the rules made of it.
    """
    rules = statement(text, day)
    try:
        turns = [Turn("system", INSTRUCTION), Turn("user", text)]
        said = model.complete(turns, max_tokens=LONGEST).text.strip().strip('"“”')
    except Exception:  # noqa: BLE001 - a model that fails is no reason to lose a fact
        return rules
    if not re.match(r"User(?:'s)?\b|用户", said) or "\n" in said or len(said) > LONGEST:
        return rules
    return said if is_supported(said, f"{text} {rules}") else rules
