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
    # an embedder that sees one topic confirms nothing
    assert not compare(old, new).conflict
    assert not compare(old, new, similarity=0.9).conflict


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Berlin", "if you need my address, I moved to Rome"),
        ("我住在北京", "如果你要地址，我搬到上海了"),
        ("我住在北京", "我在上海住了三年了"),
        ("User likes short answers", "long answers from now on"),
        ("Answer in German", "Answer in English from this time on"),
        ("User lives in Leeds", "if you need my address we moved to York"),
        ("User lives in Leeds", "If anyone asks - we moved to York last week"),
        ("User uses npm", "imagine my surprise when we switched to pnpm"),
        ("User uses vim", "read a blog about helix and switched to helix"),
        ("用户住在北京", "如果你要地址我搬到上海了"),
        ("用户爱喝酒", "我看了报道，决定不喝酒了"),
        ("用户住在北京", "我在上海住了两个月了"),
        ("User prefers short answers", "from now on, not just this time, give long answers"),
        ("Answer in English", "This one is important: always answer in German"),
        ("用户喜欢简短的回答", "不是就今天，以后回答都要详细"),
        ("User has a dog", "partner's dog died"),
        ("User has a dog named Rex", "family's dog Rex died yesterday"),
    ],
)
def test_what_stands_beside_it_is_news(old: str, new: str) -> None:
    assert compare(old, new).conflict


@pytest.mark.parametrize(
    "text", ["We moved to Lisbon", "I read the post office rules", "", "Iffley is home"]
)
def test_a_plain_statement_is_asserted(text: str) -> None:
    assert asserted(text) == text


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("Answer in English", "If I write in German, answer in German", "scope"),
        ("If the tests fail, stop", "If the tests fail, stop", "same"),
        ("如果测试失败，就停下", "如果测试失败，就停下", "same"),
    ],
)
def test_a_rule_with_a_condition_is_a_rule(old: str, new: str, reason: str) -> None:
    assert compare(old, new).reason == reason
