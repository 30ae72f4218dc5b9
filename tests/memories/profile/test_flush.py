"""Flush of a session's messages into a profile and its daily log."""

from __future__ import annotations

import json
import lzma
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from commonplace.errors import NotFound
from commonplace.memories.profile import ChatMessage, Profile
from commonplace.store import Store
from tests.doubles import Clock
from tests.memories.profile.helpers import texts

SESSION: list[ChatMessage] = [
    {"role": "user", "content": "I prefer dark mode."},
    {"role": "assistant", "content": "Noted."},
    {"role": "user", "content": "Don't use PPT this time."},
    {"role": "user", "content": "Call me Alex."},
    {"role": "user", "content": "Skip the introduction for now."},
]


def test_flush_remembers_what_lasts_and_logs_it(opened: Store, memory: Profile) -> None:
    done = memory.flush(SESSION, session="s1")
    assert [(kept["text"], kept["category"]) for kept in done["remembered"]] == [
        ("I prefer dark mode.", "Preference"),
        ("Call me Alex.", "Identity"),
    ]
    assert all(kept["added"] and kept["reason"] for kept in done["remembered"])
    assert [one["text"] for one in done["filtered"]] == [
        "Don't use PPT this time.",
        "Skip the introduction for now.",
    ]
    assert all(one["reason"].startswith("ephemeral:") for one in done["filtered"])
    assert done["passed_over"] == 1
    assert texts(memory) == ["I prefer dark mode.", "Call me Alex."]
    log = opened.read("daily/2026-02-24.md")
    assert done["log"] == "daily/2026-02-24.md"
    assert log.startswith('# 2026-02-24\n\n## 12:00:00\n<!--\nMETA:\n- session: "s1"\n- flushed: "')
    assert log.endswith(
        "-->\n\n- Preference: I prefer dark mode.\n- Identity: Call me Alex.\n"
        "- left out (ephemeral:this-time): Don't use PPT this time.\n"
        "- left out (ephemeral:for-now): Skip the introduction for now.\n"
    )


def test_a_session_is_flushed_once(opened: Store, memory: Profile, clock: Clock) -> None:
    memory.flush(SESSION)
    before = {entry.path: opened.version(entry.path) for entry in opened.list()}
    clock.now += timedelta(days=1)
    again = memory.flush(SESSION)
    assert (again["messages"], again["remembered"], again["log"]) == (0, [], None)
    assert {entry.path: opened.version(entry.path) for entry in opened.list()} == before
    # it went on
    more = memory.flush([*SESSION, {"role": "user", "content": "I always use vim."}])
    assert (more["messages"], len(more["remembered"])) == (1, 1)
    assert opened.read("daily/2026-02-25.md").startswith("# 2026-02-25\n\n## 12:00:00\n")
    assert memory.flush(SESSION)["messages"] == 0


def test_sessions_that_begin_alike_are_told_apart(memory: Profile) -> None:
    memory.flush([("user", "Hello."), ("user", "I prefer dark mode.")])
    other = memory.flush([("user", "Hello."), ("user", "I always use vim.")])
    assert (other["messages"], len(other["remembered"])) == (2, 1)
    named = memory.flush([("user", "Hello."), ("user", "I always use vim.")], session="s2")
    assert named["messages"] == 2
    assert not named["remembered"][0]["added"]


def test_a_session_that_changes_its_mind_ends_with_the_last(memory: Profile) -> None:
    session = [("user", "I prefer dark mode."), ("user", "I prefer light mode.")]
    for _ in range(2):
        memory.flush(session)
        assert texts(memory) == ["I prefer light mode."]


def test_a_correction_stays_in_the_category_of_the_mistake(memory: Profile) -> None:
    memory.remember("My manager is Alice", "people")
    done = memory.flush([("user", "That's wrong. My manager is Bob.")])
    (kept,) = done["remembered"]
    assert kept["reason"].startswith("correction")
    assert kept["category"] == "People"
    assert texts(memory) == ["My manager is Bob."]


def test_a_transcript_is_flushed(opened: Store, memory: Profile) -> None:
    log = opened.transcript("sessions/s1")
    log.append({"role": "user", "content": "我喜欢深色模式。"})
    log.append({"role": "user", "content": "这次别用PPT。"})
    done = memory.flush("sessions/s1")
    assert [kept["text"] for kept in done["remembered"]] == ["我喜欢深色模式。"]
    assert [one["text"] for one in done["filtered"]] == ["这次别用PPT。"]
    with pytest.raises(NotFound):
        memory.flush("sessions/none")


def test_a_session_with_nothing_in_it_leaves_nothing(opened: Store, memory: Profile) -> None:
    assert memory.flush([])["log"] is None
    assert memory.flush([("user", "Fix the test.")])["passed_over"] == 1
    assert opened.list() == []


def replay(store: Store, source: Path) -> dict[str, Any]:
    """Load a long session, flush it, and look that all of it is found and nothing comes twice."""
    store.transcript("sessions/long").load(source)
    memory = Profile(store, limit=4000)
    done = memory.flush("sessions/long")
    replaced = {old["text"] for kept in done["remembered"] for old in kept["replaced"]}
    held = texts(memory)
    assert len(held) == len(set(held))
    for kept in done["remembered"]:
        assert kept["text"] in held or kept["text"] in replaced or not kept["added"]
    # what cannot be told apart stays, and few receipts have to say so
    notes = [note for kept in done["remembered"] if kept["added"] for note in kept["notes"]]
    assert all("cannot be told apart" in note for note in notes)
    assert len(notes) <= 3
    for text in held:
        assert text in [one.text for one in memory.recall(" ".join(re.findall(r"\w+", text))).found]
    assert memory.flush("sessions/long")["messages"] == 0
    assert texts(memory) == held
    assert memory.inject("what did we learn").size <= 1500
    return done


@pytest.mark.shared
def test_a_real_session_is_flushed_and_recalled(
    opened: Store, shared: Path, tmp_path: Path
) -> None:
    packed = shared / "data" / "speed" / "claude-code-sessions.jsonl.xz"
    source = tmp_path / "session.jsonl"
    with lzma.open(packed) as lines:
        source.write_bytes(lines.read())
    done = replay(opened, source)
    assert done["messages"] > 10_000
    assert len(done["remembered"]) > 10


def test_a_session_of_our_own_is_flushed_and_recalled(opened: Store, tmp_path: Path) -> None:
    source = tmp_path / "session.jsonl"
    said = [
        line
        for number in range(60)
        for line in (
            {"role": "user", "content": f"Now look at module {number}, please."},
            {"role": "assistant", "content": f"Module {number} is fine."},
        )
    ]
    said[10]["content"] = "I prefer dark mode."
    said[50]["content"] = "I always run the linter before I commit."
    said[80]["content"] = "Skip the tests for now."
    said[100]["content"] = "I prefer light mode."
    source.write_text("".join(json.dumps(line) + "\n" for line in said))
    done = replay(opened, source)
    assert [kept["text"] for kept in done["remembered"]] == [
        "I prefer dark mode.",
        "I always run the linter before I commit.",
        "I prefer light mode.",
    ]
    assert [old["text"] for old in done["remembered"][2]["replaced"]] == ["I prefer dark mode."]
    assert [left["text"] for left in done["filtered"]] == ["Skip the tests for now."]


def test_threads_lose_nothing(opened: Store) -> None:
    memory = Profile(opened, limit=1000)
    other = memory.of("other")
    said = [f"Thing number {number}" for number in range(40)]

    def remember(number: int) -> None:
        memory.remember(said[number], "style")
        other.remember(said[number], "style")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(remember, range(len(said))))
    assert Counter(texts(memory)) == Counter(texts(other)) == Counter(said)


def test_what_the_user_asks_to_forget_is_shown_and_erased_by_its_token(memory: Profile) -> None:
    memory.remember("I live in Berlin", "identity")
    memory.remember("User's birthday is 3 May", "identity")
    said = "Forget that I live in Berlin. I prefer tabs. Forget my birthday. Forget that."
    done = memory.flush([("user", said), ("assistant", "Forget that I live in Berlin.")])
    berlin, birthday = done["to_forget"]
    assert (berlin["text"], berlin["what"]) == ("Forget that I live in Berlin.", "I live in Berlin")
    assert [one["text"] for one in berlin["passages"]] == ["- I live in Berlin"]
    assert birthday["what"] == "my birthday"
    # other words: never by guess
    assert (birthday["passages"], "token" in birthday) == ([], False)
    assert birthday["similar"][0].startswith("MEMORY.md#L9: ")
    assert texts(memory)[:2] == ["I live in Berlin", "User's birthday is 3 May"]
    assert memory.forget(berlin["what"], berlin["token"])["erased"]
    assert "I live in Berlin" not in texts(memory)


def test_a_request_to_forget_finds_the_beginning_of_a_sentence(memory: Profile) -> None:
    memory.remember("My dog is called Rex.", "identity")
    done = memory.flush([("user", "Forget that my dog is called Rex.")])
    (request,) = done["to_forget"]
    assert memory.forget(request["what"], request["token"])["erased"]
    assert texts(memory) == []


def test_a_token_holds_what_the_same_flush_has_written(memory: Profile) -> None:
    said = ["My name is Anna and I live in Lisbon.", "Forget that I live in Lisbon."]
    (request,) = memory.flush([("user", text) for text in said])["to_forget"]
    assert memory.forget(request["what"], request["token"])["erased"]
    assert not any("Lisbon" in text for text in texts(memory))


@pytest.mark.parametrize(
    ("said", "what"), [("forget that", ""), ("Can you forget everything about me", "me")]
)
def test_a_request_to_forget_that_says_too_little_is_told(
    memory: Profile, said: str, what: str
) -> None:
    done = memory.flush([("user", said)])
    (request,) = done["to_forget"]
    assert (request["what"], request["passages"]) == (what, [])
    assert request["note"]
    assert (done["passed_over"], done["remembered"], done["log"]) == (0, [], None)


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ("My cat is called Mimo.", "Mimo"),
        ("I use vim.", "vim"),
        ("We just moved to Lisbon last month.", "Lisbon"),
        ("我的猫叫咪咪。", "咪咪"),
    ],
)
def test_what_was_forgotten_is_not_kept_again(
    memory: Profile, opened: Store, clock: Clock, said: str, what: str
) -> None:
    messages: list[ChatMessage] = [{"role": "user", "content": said}]
    assert len(memory.flush(messages, session="a")["remembered"]) == 1
    memory.forget(what, memory.forget(what)["token"])
    # the month that a statement names is another one then
    clock.now += timedelta(days=40)
    opened.transcript("sessions/s1/messages.jsonl").append({"role": "user", "content": said})
    for given, session in ((messages, "b"), (messages, None), ("sessions/s1/messages.jsonl", None)):
        done = memory.flush(given, session=session)
        assert (done["remembered"], done["forgotten"], done["log"]) == ([], 1, None)
    assert texts(memory) == []
    # whoever says so himself may keep it
    assert memory.remember(said)["added"]


def test_what_was_forgotten_stays_so_with_another_mark_at_its_end(memory: Profile) -> None:
    memory.flush([{"role": "user", "content": "I live in Berlin."}])
    memory.forget("Berlin", memory.forget("Berlin")["token"])
    done = memory.flush([{"role": "user", "content": "Yes. I live in Berlin!"}])
    assert (done["remembered"], done["forgotten"]) == ([], 1)


def test_what_was_forgotten_of_all_files_is_not_kept_again(memory: Profile, opened: Store) -> None:
    said = "I prefer tea. My cat is called Mimo."
    opened.transcript("sessions/s1/messages.jsonl").append({"role": "user", "content": said})
    opened.forget("Mimo")
    assert memory.flush([{"role": "user", "content": said}])["forgotten"] == 2


def test_what_is_taken_back_at_once_is_asked_to_forget_once(memory: Profile) -> None:
    done = memory.flush([("user", "I like jazz. Forget that.")])
    assert [one["what"] for one in done["to_forget"]] == ["I like jazz"]
    assert texts(memory) == []


@pytest.mark.parametrize(
    "said",
    [
        "would it be smart to quit Nordea",
        "what happens if I quit Nordea",
        "the hero quit Nordea",
        "katja left Nordea",
    ],
)
def test_a_question_or_a_story_ends_nothing(opened: Store, said: str) -> None:
    memory = Profile(opened)
    memory.remember("User works at Nordea")
    memory.flush([{"role": "user", "content": said}])
    assert [one.text for one in memory.entries()] == ["User works at Nordea"]
