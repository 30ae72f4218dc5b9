"""What a statement supposes, reports or asks for once makes nothing untrue that is known."""

from __future__ import annotations

import pytest

from commonplace.conflict import compare
from commonplace.conflict.asserted_text import asserted


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Berlin", "if I moved to Rome, would I need a visa"),
        ("Our CI is Jenkins", "saw a post about how Acme moved to Buildkite"),
        ("我住在北京", "如果我搬到上海，房租要多少"),
        ("用户开了一家面馆。", "倘若把面馆卖掉，要交什么税"),
        # for one answer
        ("User likes short answers", "this time give me a long answer"),
        ("User prefers British spelling", "American spelling for this essay"),
        ("No emojis", "use emojis this time"),
        ("用户喜欢简短的回答", "这次详细点"),
        # for some days
        ("用户住在于都。", "下周去南昌住三天"),
        ("我住在北京", "爸妈来了，住我这十来天"),
        ("我住在北京", "去南昌看病，附近住哪便宜"),
        # of somebody else's
        ("User has two dogs", "Callum's old dog died last night"),
        ("User is married", "mate's getting divorced, what do i say"),
        ("我家有三只猫", "楼下邻居的猫丢了"),
    ],
)
def test_it_is_no_news(old: str, new: str) -> None:
    assert not compare(old, new).conflict


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Berlin", "if you need my address, I moved to Rome"),
        ("我住在北京", "如果你要地址，我搬到上海了"),
        ("我住在北京", "我在上海住了三年了"),
        ("User likes short answers", "long answers from now on"),
        ("Answer in German", "Answer in English from this time on"),
    ],
)
def test_what_stands_beside_it_is_news(old: str, new: str) -> None:
    assert compare(old, new).conflict


@pytest.mark.parametrize(
    "text", ["We moved to Lisbon", "I read the post office rules", "", "Iffley is home"]
)
def test_a_plain_statement_is_asserted(text: str) -> None:
    assert asserted(text) == text
