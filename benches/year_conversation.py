"""A year's conversation of one user, made: facts, their changes, and 2,000 turns of filler.

The facts are those of tests/labelled/year-*.jsonl, each with the messages that tell it, first and
after a change. Around them stand requests for the moment, questions, small talk, code, pasted logs,
hypotheses and words of others, made of templates in English and Chinese, with replies of an
assistant. A session is a day. The same seed gives the same year.

Why it exists: a memory must hold what was said once in autumn, among what was never meant to stay.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import NamedTuple

FIRST_DAY = date(2025, 11, 24)
DAYS = 363
TURNS = 2000
# a first telling of what changes later, and the fewest days between two tellings
EARLY = 150
APART = 45

_SLOT = re.compile(r"\{(\w+)\}")


class Telling(NamedTuple):
    """A message that tells a fact, and the words of its value to look for."""

    text: str
    value: str


class Fact(NamedTuple):
    """A fact of the user: what one would ask, and its tellings, first to last."""

    question: str
    tellings: tuple[Telling, ...]

    @property
    def true_value(self) -> str:
        """The value at the end of the year."""
        return self.tellings[-1].value

    @property
    def stale_values(self) -> list[str]:
        """The values that a change has ended."""
        return [one.value for one in self.tellings[:-1]]


class Session(NamedTuple):
    """The messages of one day, each with its role."""

    day: date
    messages: list[tuple[str, str]]

    @property
    def end(self) -> datetime:
        """When the session ends."""
        return datetime.combine(self.day, time(20), UTC)


# What a user says that nobody needs tomorrow. {slots} are drawn from WORDS.
FILLER = [
    "how do i {do_en} a {thing_en} in {lang}?",
    "{do_en} this {thing_en} for me, the second one is off",
    "can u make the {part_en} {how_en}",
    "whats the difference between a {thing_en} and a {thing2_en}",
    "this time make the {part_en} {how_en} please",
    "just for today skip the {part_en}",
    "leave the {part_en} as it is for now",
    "hmm no, {how_en} than that",
    "is it normal that the {thing_en} takes {number} seconds",
    "thx, that {praise_en} 🙏",
    "lol {praise_en}",
    "morning! {mood_en}",
    "{mood_en} today, anyway: {do_en} the {thing_en} again",
    "explain {topic_en} like i'm five",
    "write a {form_en} about {topic_en}, {number} lines at most",
    "would it help if i had a {thing_en} with {number} rows instead?",
    "translate into Dutch: we {do_en} the {thing_en} before lunch",
    "my colleague {person_en} says nobody should {do_en} a {thing_en} by hand",
    '{person_en} wrote: "i never {do_en} anything on a monday". what do i answer',
    "```python\ndef {name}(rows):\n    return [r for r in rows if r['{name2}'] > {number}]\n```",
    "```sql\nselect {name}, count(*) from {name2} group by 1 limit {number};\n```\nwhy so slow",
    "ERROR {name}: line {number}: {thing_en} not found",
    "[{number}:07:22] WARN {name} retrying ({number2}/9)",
    "what's {number} times {number2}",
    "remind me at {hour} to {do_en} the {thing_en}",
    "yes, go on with the {part_en}",
    "which {topic_en} should one read about first",
    "story time: a {thing_en} and a {thing2_en} go for a walk. {number} words",
    "{lang}怎么{do_zh}{thing_zh}？",
    "帮我{do_zh}一下这个{thing_zh}",
    "这次{part_zh}写{how_zh}一点",
    "{part_zh}先别动，等会儿再说",
    "{thing_zh}和{thing2_zh}有啥区别",
    "再{how_zh}点，还差点意思",
    "{praise_zh}，谢啦",
    "早，{mood_zh}",
    "哈哈哈{praise_zh}",
    "用大白话讲讲{topic_zh}",
    "写一篇{number}字的{form_zh}，主题是{topic_zh}",
    "要是{thing_zh}有{number}行，还跑得动吗",
    "“请{do_zh}这个{thing_zh}”用荷兰语怎么说",
    "{person_zh}说{thing_zh}根本不用{do_zh}，真的假的",
    "报错了：{name} 第 {number} 行，{thing_zh}不存在",
    "{hour}叫我{do_zh}{thing_zh}",
    "{number}乘{number2}等于几",
    "好的，{part_zh}就这样，继续",
    "今天{mood_zh}，帮我把{thing_zh}{do_zh}了吧",
    "假设{thing_zh}全丢了，怎么{do_zh}回来",
]
REPLIES = [
    "Here is the {part_en}, {how_en} now.",
    "Sure. I would {do_en} the {thing_en} first and then look at the {part_en}.",
    "In {lang} one can {do_en} a {thing_en} in about {number} lines.",
    "Done. Tell me if the {part_en} should be {how_en}.",
    "I always {do_en} the {thing_en} twice, to be safe.",
    "We decided on a {thing2_en} here, as it is {how_en}.",
    "好的，{part_zh}已经改得{how_zh}了。",
    "可以先{do_zh}{thing_zh}，再看{part_zh}。",
    "我一般会先{do_zh}{thing_zh}。",
    "没问题，还需要调整{part_zh}吗？",
]
_SAID = [
    "Understood. Anything else?",
    "Good to know!",
    "Alright, noted.",
    "好的，明白了。",
    "收到！",
]
WORDS: Mapping[str, Sequence[str]] = {
    slot: words.split("|")
    for slot, words in {
        "do_en": "parse|sort|split|merge|rename|plot|sum up|filter|print|shorten|check|unzip",
        "thing_en": "csv file|list|date column|paragraph|chart|regex|folder|slide|invoice|query",
        "thing2_en": "dictionary|set|tuple|stack|footnote|matrix|postcard|label|queue",
        "part_en": "title|intro|second table|footer|caption|last step|greeting|axis|ending",
        "how_en": "shorter|friendlier|bolder|simpler|more formal|less wordy|clearer|funnier",
        "praise_en": "did it|looks about right|is fine i guess|helped|cracked me up|was quick",
        "mood_en": "so tired|what a storm outside|monday again|half asleep|the meeting dragged on",
        "topic_en": "tides|inflation|photosynthesis|black holes|vaccines|plate tectonics|opera",
        "form_en": "limerick|toast|haiku|headline|short poem|product blurb|riddle",
        "person_en": "Gregor|Paula|Stijn|Imani|the intern|Olu",
        "lang": "Rust|bash|Kotlin|R|Perl|Lua|Haskell",
        "name": "load_rows|tidy|by_region|fetch_all|pick|group_up|to_frame",
        "name2": "amount|orders|visits|clicks|score|parcels",
        "hour": "six|noon|quarter past four|18 Uhr|三点半|九点",
        "do_zh": "排序|合并|拆分|压缩|检查|重命名|导出|筛选|打印|精简",
        "thing_zh": "表格|日期列|段落|文件夹|折线图|发票|列表|幻灯片|链接|脚本",
        "thing2_zh": "字典|集合|元组|脚注|矩阵|标签|队列",
        "part_zh": "标题|开头|第二张表|页脚|结尾|问候语|图例|最后一步",
        "how_zh": "短|正式|活泼|简单|清楚|委婉|有趣",
        "praise_zh": "可以可以|搞定了|还行吧|笑死我了|真快|差不多了",
        "mood_zh": "困死了|外面下大雨|又是周一|会开得没完没了|有点蔫",
        "topic_zh": "潮汐|通货膨胀|光合作用|黑洞|疫苗|板块运动|昆曲",
        "form_zh": "打油诗|祝酒词|小短文|广告语|谜语|短剧",
        "person_zh": "小顾|老秦|实习生|阿敏|楼下保安",
    }.items()
}


def read_facts(path: Path) -> list[Fact]:
    """Return the facts of a labelled file."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        Fact(
            row["question"],
            tuple(Telling(one["text"], one["value"]) for one in row["tellings"]),
        )
        for row in rows
    ]


def conversation(facts: Sequence[Fact], turns: int = TURNS, seed: int = 2026) -> Iterator[Session]:
    """Yield the sessions of a year, in order; what happens on which day depends on the seed.

    Args:
        facts: What is told, each telling in a turn of its own.
        turns: Turns of all sessions together; a turn is a message of the user and its reply.
        seed: Of all that is drawn.

    Raises:
        ValueError: There are more tellings than turns.
    """
    rng = random.Random(seed)
    said = defaultdict[int, list[tuple[str, str]]](list)
    told = defaultdict[int, list[str]](list)
    for fact in facts:
        for day, telling in zip(_days(fact, rng), fact.tellings, strict=True):
            told[day].append(telling.text)
    fillers = turns - sum(map(len, told.values()))
    if fillers < 0:
        raise ValueError(f"{turns} turns are too few for {turns - fillers} tellings")
    count = defaultdict[int, int](int)
    for _ in range(fillers):
        count[rng.randrange(DAYS)] += 1
    for day in range(DAYS):
        order = [*told[day], *([None] * count[day])]
        rng.shuffle(order)
        for text in order:
            reply = rng.choice(_SAID) if text else _filled(rng.choice(REPLIES), rng)
            message = text or _filled(rng.choice(FILLER), rng)
            said[day] += [("user", message), ("assistant", reply)]
        if said[day]:
            yield Session(FIRST_DAY + timedelta(days=day), said[day])


def _days(fact: Fact, rng: random.Random) -> list[int]:
    """Return the day of each telling: a change comes weeks after what it changes."""
    if len(fact.tellings) == 1:
        return [rng.randrange(DAYS)]
    days = [rng.randrange(EARLY)]
    for left in range(len(fact.tellings) - 1, 0, -1):
        days.append(rng.randrange(days[-1] + APART, DAYS - APART * (left - 1)))
    return days


def _filled(template: str, rng: random.Random) -> str:
    """Return a template with a word drawn for each slot."""

    def drawn(found: re.Match[str]) -> str:
        slot = found[1]
        return str(rng.randrange(2, 900)) if slot.startswith("number") else rng.choice(WORDS[slot])

    return _SLOT.sub(drawn, template)
