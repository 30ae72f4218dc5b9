"""Token n-grams of a new statement in which the words of the old one are marked."""

from __future__ import annotations

import pytest

from commonplace.conflict.sequences import ngrams, tokens_of


@pytest.mark.parametrize(
    ("old", "new", "tokens"),
    [
        ("User drives a Honda Civic", "sold the Civic's wheels", "sold the S 's wheels"),
        ("Standup is at 9:30", "it's at 10:15 now", "it 's at N now"),
        ("用户用Jira管理任务", "jira到期没续", "S 到 期 没 续"),
        ("用户住在北京", "用户搬到上海3年了", "我 搬 到 上 海 N 年 了"),
        ("User likes tea", "", ""),
    ],
)
def test_shared_words_and_numbers_are_marked(old: str, new: str, tokens: str) -> None:
    assert " ".join(tokens_of(old, new)) == tokens


def test_ngrams_have_edges_and_gaps() -> None:
    grams, _ = ngrams("User has a cat", "gave the cat away")
    assert {"gave", "gave_the", "gave_the_S", "the_*_away", "^gave", "away$"} <= grams
    assert not any("cat" in gram for gram in grams)
