"""Loader of the rule tables of `conflict.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from commonplace.conflict.lazy_pattern import LazyPattern
from commonplace.conflict.literal_filter import LiteralFilter, PatternTable

# What several tables write as <name>
WORDS = {
    # Verbs of one Chinese character without the words that only hold it: 记住 is "remember",
    # 忍不住 "cannot help", 住院 "in hospital", 搬运 "transport"; who is somewhere for a number of
    # days or weeks does not live there
    "<住>": (
        "(?<![记抓站守稳拦挡停扣捂盖忍憋留拿挺保困堵卡锁盯拴握捏按抱拉绑套顶撑压罩咬扶吸问难禁框骗哄缠粘夹包截捉"
        "逮揪打愣呆惊吓冻迷引制瞒遮托兜封捆铐噎拽搂勾扎刹受耐扛])(?<!(?<!直)接)(?<!hold)"
        "(?<![忍撑受耐经挡禁靠抓记保扛顶管守坐憋留][不得])住(?![院手嘴口校]|宿(?!舍)"
        "|[我你他她]?[这那]?儿?了?[\\d一二两三四五六七八九十俩几半]+来?个?多?(?:天|晚|夜|周|星期|礼拜)(?!了))"
    ),
    "<搬>": "(?<![照生])搬(?![运砖弄起])",
    # Behind "moved" it begins what has moved, or what somebody went on to, so he did not
    "<object>": (
        "the|my|our|his|her|their|its|an?|this|that|these|those|it|them|him|everything|all|some"
        "|on|past|forward|ahead|up a"
    ),
    # In what somebody lives, or is moved to, that is no place
    "<abstract>": (
        "(?:moment|present|past|future|fear|hope|peace|harmony|denial|dread|style|comfort|luxury"
        "|poverty|debt|squalor|sin|silence|solitude|isolation|chaos|shadows?|bubble|(?:real )?world"
        "|reality|fantasy|dreams?|memory|tears|action|anger|strike)"
    ),
}


class Family(NamedTuple):
    """Values of which one excludes the others."""

    exclusive: bool
    members: dict[str, LazyPattern]
    head: LazyPattern | None
    only: LazyPattern | None
    needs: LazyPattern | None


class Form(NamedTuple):
    """The form of a whole statement, and what else it needs."""

    attribute: str
    pattern: LazyPattern
    needs: LazyPattern | None


class Members:
    """Finds which members of which families may be named in a text."""

    def __init__(self, families: Mapping[str, Family]) -> None:
        self._all = [(name, one) for name, family in families.items() for one in family.members]
        self._filter = LiteralFilter(families[name].members[one] for name, one in self._all)

    def possible(self, text: str) -> dict[str, list[str]]:
        """Return them by family, in their order."""
        found: dict[str, list[str]] = {}
        for name, member in map(self._all.__getitem__, self._filter.possible(text)):
            found.setdefault(name, []).append(member)
        return found


class Tables(NamedTuple):
    """What `conflict.toml` holds."""

    frame: frozenset[str]
    frame_zh: LazyPattern
    strong: LazyPattern
    topics: dict[str, LazyPattern]
    families: dict[str, Family]
    members: Members
    forms: list[Form]
    possible_forms: LiteralFilter
    many: LazyPattern
    one: LazyPattern
    plain: LazyPattern
    only_one: LazyPattern
    several: LazyPattern
    country: LazyPattern
    same: dict[str, str]
    light: frozenset[str]
    light_zh: LazyPattern
    names: PatternTable
    removals: list[tuple[LazyPattern, bool]]
    changes: list[tuple[LazyPattern, bool, bool]]
    durable: LazyPattern
    events: LazyPattern
    measured: LazyPattern
    counted: LazyPattern
    person: LazyPattern
    changed: LazyPattern


def read_table(name: str) -> dict[str, Any]:
    """Read a file of rules of this package."""
    text = (resources.files("commonplace.conflict") / name).read_text(encoding="utf-8")
    for word, pattern in WORDS.items():
        text = text.replace(word, pattern)
    return tomllib.loads(text)


@cache
def load() -> Tables:
    """Read the tables."""
    table = read_table("conflict.toml")
    change = table["change"]

    def fill(pattern: str) -> str:
        words = change["words"]
        return re.sub(
            r"<(\w+)>",
            lambda name: f"(?:{words[name[1]]})" if name[1] in words else name[0],
            pattern,
        )

    families = {name: _family(row) for name, row in table["family"].items()}
    forms = [
        Form(row["attribute"], LazyPattern(row["pattern"]), _optional(row, "needs"))
        for row in table["form"]
    ]
    return Tables(
        frozenset(table["frame"]),
        LazyPattern(table["frame_zh"]),
        LazyPattern(table["strong"], re.ASCII),
        {name: LazyPattern(pattern, re.ASCII) for name, pattern in table["topics"].items()},
        families,
        Members(families),
        forms,
        LiteralFilter(one.pattern for one in forms),
        LazyPattern(table["keys"]["many"]),
        LazyPattern(table["keys"]["one"]),
        LazyPattern(table["keys"]["plain"]),
        LazyPattern(table["keys"]["only_one"]),
        LazyPattern(table["keys"]["several"]),
        LazyPattern(table["keys"]["country"]),
        {key: names[0] for names in table["keys"]["same"] for key in names},
        frozenset(change["light"]),
        LazyPattern(change["light_zh"]),
        PatternTable({name: LazyPattern(p, re.ASCII) for name, p in change["names"].items()}),
        [
            (LazyPattern(fill(row), re.ASCII), name == "moved")
            for name in ("removed", "moved")
            for row in change[name]
        ],
        [
            (LazyPattern(fill(row["pattern"]), re.ASCII), row["changed"], row.get("key", False))
            for row in change["frame"]
        ],
        LazyPattern(change["durable"], re.ASCII),
        LazyPattern(f"{change['durable']}|{change['events']}", re.ASCII),
        LazyPattern(fill(change["measured"]), re.ASCII),
        LazyPattern(change["counted"], re.ASCII),
        LazyPattern(change["person"], re.ASCII),
        LazyPattern(change["changed"], re.ASCII),
    )


def _family(row: dict[str, Any]) -> Family:
    """Compile a row of the table of families: its patterns by what they stand for."""
    options = {"exclusive", "head", "only", "needs"}
    patterns = {name: LazyPattern(p, re.ASCII) for name, p in row.items() if name not in options}
    head, only, needs = (_optional(row, name) for name in ("head", "only", "needs"))
    return Family(row.get("exclusive", False), patterns, head, only, needs)


def _optional(row: dict[str, Any], name: str) -> LazyPattern | None:
    """Compile a pattern that a row may lack."""
    return LazyPattern(row[name], re.ASCII) if name in row else None
