"""Extraction: which sentences of a conversation are kept, and the reason of each."""

from __future__ import annotations

from importlib import resources
from typing import Any

import pytest
from benches.extraction_quality import answers, score
from hypothesis import given
from hypothesis import strategies as st

from commonplace.extraction import LONGEST, classify, decision, extract, is_ephemeral
from commonplace.extraction.abstention import cues
from commonplace.extraction.linear_model import likely, weights
from commonplace.extraction.rule_tables import Rule, load

TABLES = {language: load(language) for language in ("english", "chinese")}
RULES = [(language, rule) for language, table in TABLES.items() for rule in table.rules]
VETOES = [(language, veto) for language, table in TABLES.items() for veto in table.vetoes]
WORDS = st.sampled_from(
    [word for _, row in RULES + VETOES for example in row.examples for word in example.split()]
    + ["。", "？", "\n", "```", "> ", "“", ": "]
)
ANY_TEXT = st.text() | st.lists(WORDS).map(" ".join)


def named(pair: tuple[str, Rule]) -> str:
    return f"{pair[0]}-{pair[1].code}"


@pytest.mark.parametrize("pair", RULES, ids=named)
def test_each_rule_keeps_its_examples(pair: tuple[str, Rule]) -> None:
    for example in pair[1].examples:
        assert classify(example).reason == f"{pair[1].kind}:{pair[1].code}", example


@pytest.mark.parametrize("pair", VETOES, ids=named)
def test_each_veto_stops_its_examples(pair: tuple[str, Rule]) -> None:
    for example in pair[1].examples:
        assert pair[1].pattern.search(example), example
        assert not classify(example).kept, example


# What the rules reached alone, a little below it (see benches/extraction_quality.py).
@pytest.mark.parametrize(
    ("half", "precision", "recall"), [("seen", 0.95, 0.85), ("unseen", 0.95, 0.7)]
)
def test_rules_on_labelled_messages(
    half: str, precision: float, recall: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decision, "joined", lambda found, *_, **__: found)
    scores = score(list(answers("extraction", half)))
    assert scores.precision >= precision
    assert scores.recall >= recall


# With the classifier more is kept, and of a kind that is less certain.
@pytest.mark.parametrize(
    ("half", "precision", "recall"), [("seen", 0.95, 0.95), ("unseen", 0.95, 0.75)]
)
def test_rules_and_classifier_on_labelled_messages(
    half: str, precision: float, recall: float
) -> None:
    scores = score([one.without_kind() for one in answers("extraction", half)])
    assert scores.precision >= precision
    assert scores.recall >= recall


@pytest.mark.parametrize(
    ("sentence", "kept"),
    [
        ("renting a tiny terrace house near the docks these days", True),
        ("shellfish puts me in hospital, just so you know", True),
        ("the second paragraph still sounds a bit stiff", False),
        ("老家在绵阳，过年才回", True),
        ("第二段读着还是有点怪", False),
    ],
)
def test_the_classifier_keeps_what_no_rule_knows(sentence: str, kept: bool) -> None:
    assert classify(sentence).reason.endswith(":model") == kept
    assert not classify(sentence, "assistant").kept


def test_the_classifier_overrules_no_question_fiction_or_request_not_to_keep() -> None:
    for sentence in (
        "do i live in Oslo with my two kids?",
        "suppose i live in Oslo with my two kids",
        "i live in Oslo with my two kids, don't save that",
        "假如我住在奥斯陆，有两个孩子",
        "我住在奥斯陆，别记下来",
    ):
        assert not classify(sentence).kept


def test_the_weights_are_small_and_read_once() -> None:
    folder = resources.files("commonplace.extraction")
    files = [folder / f"{language}_weights.txt.gz" for language in TABLES]
    assert sum(len(file.read_bytes()) for file in files) <= 300_000
    assert weights("english") is weights("english")


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("Don't use PPT this time", "ephemeral:this-time"),
        ("Skip the introduction for now", "ephemeral:for-now"),
        ("Call me Alex", "identity:call-me"),
        ("I prefer dark mode", "preference:i-prefer"),
        ("From now on please use tabs", "preference:from-now-on"),
        ("先进的算法", "no-rule"),
        ("以后都用中文回复", "preference:from-now-on"),
        ("# I prefer = dark()", "code"),
        ("“I live in Paris and I work at a bank”", "quoted"),
        ("my dentist is Dr. Ames and he hates small talk", "identity:fact-of"),
        ("I use tabs, he says", "reported"),
        ("my doctor told me to stop drinking", "identity:doctors-orders"),
        ("医生让我少吃盐", "identity:doctors-orders"),
        ("ugh stop using emojis", "preference:stop"),
        ("my audit is on 4 April", "identity:event-day"),
        ("周会十点", "identity:event-day"),
        ("the meeting is at 3:15", "no-rule"),
        # of whom?
        ("he moved to Berlin and works at a bank", "no-rule"),
        ("他去年搬到柏林了，在银行上班", "third-person"),
    ],
)
def test_reasons(sentence: str, reason: str) -> None:
    assert classify(sentence).reason == reason


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("use tabs just this once", "just this once"),
        ("这次别用PPT", "这次"),
        ("from now on use tabs", None),
        ("以后别用PPT", None),
        ("先进的算法", None),
        ("ping me in 20 minutes", "in 20 minutes"),
        ("Nudge me in a friendly tone", None),
        ("Ping me on Monday mornings", None),
        ("remind me at 6 that I'm allergic to nuts", None),
        ("下午一点叫我", "下午一点叫我"),
        ("亲切一点叫我小明就好", None),
    ],
)
def test_ephemeral_words(sentence: str, words: str | None) -> None:
    assert is_ephemeral(sentence) == words


def test_sentences_bear_on_their_neighbours() -> None:
    def reasons(text: str) -> list[str]:
        return [found.reason for found in extract([("user", text)])]

    assert reasons("That's wrong. The office is on the fourth floor.") == [
        "no-rule",
        "correction:after-no",
    ]
    assert reasons("I prefer tabs. Just this once.") == ["ephemeral:this-time"] * 2
    assert reasons("Translate this: hello. I prefer tabs.") == ["text-to-work-on"] * 2
    assert reasons("Our fiscal year is the calendar year. You keep writing April.") == [
        "correction:before-reproach",
        "no-rule",
    ]
    assert reasons("Aisle seats for me. Every time.") == ["preference:standing-wish", "no-rule"]
    assert reasons("I used to like tabs but now I prefer spaces.") == ["preference:i-prefer"]
    assert reasons("```\nI prefer tabs.\n```\nI prefer spaces.") == ["preference:i-prefer"]


def test_a_later_clause_does_not_hide_what_an_earlier_one_says() -> None:
    assert classify("I'm 67 and retired from the railways two years ago").reason == "identity:age"
    assert classify("Two years ago I worked at a bank and lived in Rome").reason == "past"


def test_who_said_it_matters() -> None:
    said = [("assistant", "I prefer tabs."), ("tool", "I prefer tabs."), ("user", "I prefer tabs.")]
    assert [found.kept for found in extract(said)] == [False, False, True]
    assert classify("Root cause: the clock was off.", "assistant").kept


def test_each_thing_is_kept_once() -> None:
    said = [("user", "I prefer tabs."), ("user", "- i prefer TABS!")]
    assert [(found.source, found.reason) for found in extract(said)] == [
        (0, "preference:i-prefer"),
        (1, "duplicate"),
    ]


@pytest.mark.parametrize("pair", RULES + VETOES, ids=named)
def test_hostile_input_is_bounded(pair: tuple[str, Rule]) -> None:
    example = pair[1].examples[0]
    assert classify(example * 100_000).reason == "too-long"
    # the longest sentence that is looked at, made to fail as late as it can
    for filler in ("a ", "我", "i ", ", ", "is "):
        pair[1].pattern.search((example + filler * LONGEST)[:LONGEST])


@pytest.mark.parametrize("piece", ["I ", "我", "...", "“", '"', "`", "- ", "\n\n", "Dr. "])
def test_a_hostile_message_is_bounded(piece: str) -> None:
    assert not any(found.kept for found in extract([("user", piece * (100_000 // len(piece)))]))


@given(ANY_TEXT, st.sampled_from(["user", "assistant", "tool"]))
def test_any_text_is_classified_and_always_the_same(text: str, role: str) -> None:
    assert classify(text, role) == classify(text, role)
    found = extract([(role, text), (role, text)])
    assert found == extract([(role, text), (role, text)])
    assert [one.source for one in found] == sorted(one.source for one in found)
    kept = [one.text.casefold() for one in found if one.kept]
    assert len(kept) == len(set(kept))
    assert is_ephemeral(text) == is_ephemeral(text)


@pytest.mark.parametrize(
    "message",
    [
        ("user", "I prefer tabs."),
        {"role": "user", "content": "I prefer tabs."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "I prefer tabs."}, {"type": "image"}],
        },
    ],
)
def test_messages_may_be_those_of_a_chat_api(message: Any) -> None:
    silent: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": []}
    assert [one.source for one in extract([silent, message]) if one.kept] == [1]


@pytest.mark.parametrize("messages", ["I prefer tabs.", ["I prefer tabs."], [{"text": "x"}], [5]])
def test_what_is_no_message_is_refused(messages: Any) -> None:
    with pytest.raises(ValueError, match="message"):
        extract(messages)


def test_an_afterthought_is_of_few_words() -> None:
    kept = [
        one.text
        for one in extract([("user", "我叫李四。我住在上海。这次帮我订个餐厅。")])
        if one.kept
    ]
    assert kept == ["我叫李四。", "我住在上海。"]
    assert not any(one.kept for one in extract([("user", "我喜欢表格。就这一次。")]))


@pytest.mark.parametrize(
    "message",
    [
        "the door code is 4471, lena has it",
        "lena lives in Bergen, and this goes no further",
        "role-play: lena lives in Bergen and i keep hens",
        'lena said "i live in Bergen now" and grinned',
        "my colleague says she keeps hens in Bergen",
        "口令是芝麻,莲娜知道",
        "莲娜住在卑尔根,到此为止",
        "同事说他家养鸡",
    ],
)
def test_the_classifier_abstains(message: str) -> None:
    assert cues(message)
    assert not any(one.reason.endswith(":model") for one in extract([("user", message)]))


@pytest.mark.parametrize(
    "message",
    [
        "I went to AA for two years. Not something I want on file, it's only for this letter.",
        "my salary is 83k, that is for the tax thing but not for later, so no notes",
        "our gate is at 14 Quarry Lane, no need to hang on to it",
        "可以帮我清掉上次聊的我去植发那段吗，谢谢，别留着",
        "唔好記低我阿媽住邊間老人院，慈雲山嗰間",
        "I drink more than I should. Not something I want on record",
        "i live with my sister, let's not have that in writing",
        "我有抑郁症，听过就算了",
    ],
)
def test_nothing_is_kept_of_a_message_that_asks_so(message: str) -> None:
    found = extract([("user", message)])
    assert not any(one.kept for one in found)
    assert any(one.reason.startswith("veto:") for one in found)


@pytest.mark.parametrize(
    ("request_", "about"),
    [
        ("can you un-remember the bit about my arrest", "my arrest"),
        ("remove my age from what you know", "my age"),
        ("刚才说我离过婚那句，麻烦删掉", "我离过婚"),
    ],
)
def test_a_request_to_forget_says_what(request_: str, about: str) -> None:
    found = classify(request_)
    assert (found.reason, found.about) == ("veto:forget", about)


def test_the_second_layer_weighs_neighbours() -> None:
    sentence = "nights tues to thurs at the depot"
    alone, beside = (
        decision.signals(found, says, [])
        for found, says in (
            ([classify(sentence)], [likely(sentence)]),
            ([classify(sentence)] * 2, [likely(sentence), likely("how is that done?")]),
        )
    )
    assert "score of neighbour" not in alone[0]
    assert beside[0]["score of neighbour"] == likely("how is that done?").score


def test_every_signal_of_the_rules_may_have_a_weight() -> None:
    for language, signs in decision.decision_weights().items():
        assert {"start", "score", "rule", "rule, short", "neighbour"} <= signs.keys(), language
