"""World and agents: what is shared, what is one's own, and what no call may lose."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

import commonplace
from commonplace.entries.blocks import parse
from commonplace.errors import Conflict, EncodingError, QueryError, Refused, ToolError
from commonplace.memories.world_and_agents import WorldAndAgents, topics
from commonplace.store import Store
from commonplace.tools import tools_for
from tests.doubles import NOON, Clock, StoreMachine


@pytest.fixture
def memory(opened: Store, clock: Clock) -> WorldAndAgents:
    return WorldAndAgents(opened, "planner", clock=clock)


def body(part: str) -> str:
    """Return a part of a recall without its heading and its path."""
    return part.split("\n\n", 1)[1]


# The layout and the four tools


def test_layout_is_that_of_the_design(store: Store, clock: Clock) -> None:
    memory = WorldAndAgents(store, "planner", clock=clock)
    memory.learn_fact("people", "- Mara runs the night shift.\n")
    memory.reflect("# What I know\n\n- Ask Mara first.\n")
    memory.remember("The relay failed twice.")
    clock.now += timedelta(seconds=61)
    memory.remember("- replaced it\n- wrote to Mara")
    assert [entry.path for entry in store.list()] == [
        "agents/planner/MEMORY.md",
        "agents/planner/daily/2026-02-24.md",
        "world/people.md",
    ]
    assert store.read("world/people.md") == "- Mara runs the night shift.\n"
    assert store.read("agents/planner/MEMORY.md") == "# What I know\n\n- Ask Mara first.\n"
    assert store.read("agents/planner/daily/2026-02-24.md") == (
        "# 2026-02-24\n\n## 12:00:00\n\nThe relay failed twice.\n"
        "\n## 12:01:01\n\n- replaced it\n- wrote to Mara\n"
    )


def test_recall_joins_world_memory_and_days(store: Store, clock: Clock) -> None:
    memory = WorldAndAgents(store, "planner", clock=clock)
    systems = memory.learn_fact("systems", "- DB: PostgreSQL\n")
    people = memory.learn_fact("people", "- Mara\n")
    own = memory.reflect("Be brief.\n")
    memory.remember("one")
    clock.now += timedelta(days=1)
    memory.remember("two")
    assert memory.recall() == (
        f"## World: people\n(world/people.md, version {people['version']})\n\n- Mara"
        "\n\n---\n\n"
        f"## World: systems\n(world/systems.md, version {systems['version']})\n\n- DB: PostgreSQL"
        "\n\n---\n\n"
        f"## MEMORY.md\n(agents/planner/MEMORY.md, version {own['version']})\n\nBe brief."
        "\n\n---\n\n"
        "## Daily: 2026-02-25\n(agents/planner/daily/2026-02-25.md)\n\n"
        "# 2026-02-25\n\n## 12:00:00\n\ntwo"
        "\n\n---\n\n"
        "## Daily: 2026-02-24\n(agents/planner/daily/2026-02-24.md)\n\n"
        "# 2026-02-24\n\n## 12:00:00\n\none"
    )


def test_days_are_today_and_those_before(memory: WorldAndAgents, clock: Clock) -> None:
    for number in range(5):
        clock.now = NOON - timedelta(days=number)
        memory.remember(f"entry {number}")
    clock.now = NOON

    def entries(text: str) -> list[int]:
        return [number for number in range(5) if f"entry {number}" in text]

    assert entries(memory.recall()) == [0, 1, 2]
    assert entries(memory.recall(1)) == [0]
    assert entries(memory.recall(days=0)) == []
    assert entries(memory.recall(10**9)) == [0, 1, 2, 3, 4]
    # date ranges
    assert entries(memory.recall(since=date(2026, 2, 21))) == [0, 1, 2, 3]
    assert entries(memory.recall(until=date(2026, 2, 22))) == [2, 3, 4]
    assert entries(memory.recall(since=date(2026, 2, 22), until=date(2026, 2, 23))) == [1, 2]
    assert entries(memory.recall(since="2026-02-24")) == [0]  # type: ignore[arg-type] # as models say it
    assert entries(memory.recall(since=NOON)) == [0]
    clock.now = NOON + timedelta(days=30)
    assert "recall(since=2026-02-20)" in memory.recall()
    with pytest.raises(QueryError, match="since is a day such as"):
        memory.recall(since="yesterday")  # type: ignore[arg-type] # as models say it
    for days, limit, start in ((-1, 1, 0), (1, 0, 0), (1, 1, -1)):
        with pytest.raises(QueryError):
            memory.recall(days, limit=limit, start=start)


def test_days_and_times_are_those_of_the_clocks_zone(opened: Store) -> None:
    shanghai = timezone(timedelta(hours=8))
    late = datetime(2026, 2, 24, 23, 30, tzinfo=UTC).astimezone(shanghai)
    memory = WorldAndAgents(opened, "a", clock=lambda: late)
    assert memory.remember("early")["path"] == "agents/a/daily/2026-02-25.md"
    assert "## 07:30:00" in memory.recall(1)


def test_empty_memory_says_so(memory: WorldAndAgents) -> None:
    assert "Nothing is remembered yet" in memory.recall()
    memory.reflect("")
    assert "Nothing is remembered yet" in memory.recall()


def test_a_bad_byte_in_one_file_does_not_fail_the_recall(
    memory: WorldAndAgents, opened: Store
) -> None:
    memory.learn_fact("people", "- Mara")
    (opened.root / "world" / "broken.md").write_bytes(b"caf\xe9 at noon")
    (opened.root / "world" / "link.md").symlink_to("people.md")
    text = memory.recall()
    assert "caf\ufffd at noon" in text
    assert "- Mara" in text


def test_an_unreadable_file_is_named_and_the_rest_is_read(
    memory: WorldAndAgents, opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.learn_fact("a", "first")
    memory.learn_fact("b", "second")
    read = opened.read

    def failing(path: str) -> str:
        if path == "world/a.md":
            raise commonplace.StorageError("input/output error")
        return read(path)

    monkeypatch.setattr(opened, "read", failing)
    text = memory.recall()
    assert "[This file cannot be read: input/output error]" in text
    assert "second" in text


def test_a_long_recall_is_cut_and_goes_on(memory: WorldAndAgents) -> None:
    for name in "abc":
        memory.learn_fact(name, "\n".join(f"{name} line {number}" for number in range(60)))
    whole = memory.recall(limit=10**6)
    assert "There is more" not in whole
    pages = []
    start = 0
    while True:
        page = memory.recall(limit=500, start=start)
        shown, more, end = page.partition("\n\n---\n\n[There is more: the same call with start=")
        assert len(shown) <= 500
        pages.append(shown)
        if not more:
            break
        start = int(end.split(" ")[0])
    assert "".join("".join(pages).split()) == "".join(whole.split())
    assert all(page.endswith(tuple("0123456789-")) or page == pages[-1] for page in pages)
    assert memory.recall(start=10**6) == f"There is nothing after character {len(whole)}."


def test_a_recall_reads_no_more_than_it_shows(
    memory: WorldAndAgents, opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        memory.learn_fact(f"t{number}", "x" * 100)
    asked: list[str] = []
    read = opened.read

    def counting(path: str) -> str:
        asked.append(path)
        return read(path)

    monkeypatch.setattr(opened, "read", counting)
    memory.recall(limit=200)
    assert asked == ["world/t0.md", "world/t1.md"]


# The diary


def test_entries_of_one_second_stay_apart(memory: WorldAndAgents, opened: Store) -> None:
    for text in ("one", "# two", "```\nopen", ""):
        path = memory.remember(text)["path"]
    note = opened.read(path)
    assert [block.text for block in parse(note)] == ["one", "# two", "```\nopen", ""]
    assert {block.title for block in parse(note)} == {"12:00:00"}
    assert note.count("# 2026-02-24\n") == 1


def test_the_day_header_is_written_once_by_many_processes(tmp_path: Path) -> None:
    program = """
import sys, commonplace
from datetime import datetime
from commonplace.memories.world_and_agents import WorldAndAgents
root, name = sys.argv[1:]
memory = WorldAndAgents(
    commonplace.open(root), "team", clock=lambda: datetime.fromisoformat("2026-02-24T12:00:00Z")
)
print("ready", flush=True)
sys.stdin.readline()
for number in range(5):
    memory.remember(f"{name} {number}")
    memory.learn_fact("a b" if name in "02" else "a/b", f"{name} {number}")
"""
    root = tmp_path / "memory"
    root.mkdir()
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(root), str(name)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in range(4)
    ]
    for run in runs:
        assert run.stdout
        assert run.stdout.readline() == "ready\n"
    for run in runs:
        run.communicate("go\n", timeout=60)
        assert run.returncode == 0
    with commonplace.open(root) as store:
        note = store.read("agents/team/daily/2026-02-24.md")
        assert note.startswith("# 2026-02-24\n\n## 12:00:00\n")
        assert note.count("# 2026-02-24\n") == 1
        texts = [block.text for block in parse(note)]
        assert sorted(texts) == [f"{name} {number}" for name in range(4) for number in range(5)]
        # two topics with one name, four writers: two notes, and each holds a last word
        held = [
            topics.unmarked(topics.name_of("world", entry.path), store.read(entry.path))
            for entry in store.list("world")
        ]
        assert sorted(topic for topic, _ in held) == ["a b", "a/b"]
        assert {text[-1] for _, text in held} == {"4"}


def test_a_page_that_a_person_began_goes_on(memory: WorldAndAgents, opened: Store) -> None:
    page = opened.root / "agents/planner/daily/2026-02-24.md"
    page.parent.mkdir(parents=True)
    page.touch()
    memory.remember("one")
    assert page.read_text().startswith("# 2026-02-24\n\n## 12:00:00\n")
    page.write_text("my own words, no line end")
    memory.remember("two")
    assert page.read_text() == "my own words, no line end\n\n## 12:00:00\n\ntwo\n"


def test_a_long_page_is_not_read_to_add_to_it(
    memory: WorldAndAgents, opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = memory.remember("first")["path"]
    with monkeypatch.context() as patch:
        for reads in ("read", "list", "version"):
            patch.setattr(Store, reads, None)
        memory.remember("second")
    assert opened.read(path).count("# 2026-02-24\n") == 1
    assert "first" in opened.read(path)
    (opened.root / path).write_text("")
    memory.remember("third")
    assert opened.read(path) == "# 2026-02-24\n\n## 12:00:00\n\nthird\n"


def test_a_page_only_grows(memory: WorldAndAgents, opened: Store) -> None:
    done = memory.remember("one")
    with pytest.raises(Refused, match="appendonly"):
        opened.write(done["path"], "gone")
    before = opened.read(done["path"])
    memory.remember("two")
    assert opened.read(done["path"]).startswith(before)


# What is rewritten


def test_a_rewrite_keeps_the_old_text_and_says_where(memory: WorldAndAgents, opened: Store) -> None:
    first = memory.reflect("old")
    second = memory.reflect("new")
    assert (first["success"], first["previous"]) == (True, None)
    assert second["previous"] == first["version"]
    assert (opened.root / second["history"]).read_text() == "old"
    assert opened.read("agents/planner/MEMORY.md") == "new"
    first = memory.learn_fact("people", "old")
    second = memory.learn_fact("people", "new")
    assert (opened.root / second["history"]).read_text() == "old"
    assert second["previous"] == first["version"]


def test_a_rewrite_is_whole_for_whoever_is_reading(memory: WorldAndAgents, opened: Store) -> None:
    for path, rewrite in (
        ("agents/planner/MEMORY.md", memory.reflect),
        ("world/people.md", lambda content: memory.learn_fact("people", content)),
    ):
        rewrite("old " * 10_000)
        with (opened.root / path).open() as reading:
            assert reading.read(8) == "old old "
            rewrite("new " * 10_000)
            assert reading.read() == "old " * 9_998
        assert opened.read(path) == "new " * 10_000
        assert len(list((opened.root / path).parent.iterdir())) == 1


def test_every_write_can_name_the_version_it_expects(memory: WorldAndAgents, opened: Store) -> None:
    seen = memory.reflect("one", expected_version="absent")["version"]
    memory.reflect("two", expected_version=seen)
    with pytest.raises(Conflict):
        memory.reflect("three", expected_version=seen)
    seen = memory.learn_fact("people", "one", expected_version="absent")["version"]
    memory.learn_fact("people", "two", expected_version=seen)
    for wrong in (seen, "absent"):
        with pytest.raises(Conflict):
            memory.learn_fact("people", "three", expected_version=wrong)
    seen = memory.remember("one", expected_version="absent")["version"]
    memory.remember("two", expected_version=seen)
    for wrong in (seen, "absent"):
        with pytest.raises(Conflict):
            memory.remember("three", expected_version=wrong)
    with pytest.raises(Conflict):
        WorldAndAgents(opened, "other").remember("one", expected_version=seen)
    assert "three" not in "".join(opened.read(entry.path) for entry in opened.list())
    assert f"(world/people.md, version {opened.version('world/people.md')})" in memory.recall()


def test_nothing_is_written_that_is_not_text(memory: WorldAndAgents, opened: Store) -> None:
    with pytest.raises(EncodingError):
        memory.remember("\ud800")
    with pytest.raises(EncodingError):
        memory.reflect("\ud800")
    with pytest.raises(EncodingError):
        memory.learn_fact("people", "\ud800")
    with pytest.raises(EncodingError):
        memory.learn_fact("\ud800", "text")
    assert opened.list() == []


# Topics


def test_two_topics_on_one_name_never_meet(memory: WorldAndAgents, opened: Store) -> None:
    done = {topic: memory.learn_fact(topic, f"about {topic}") for topic in ("a b", "a/b", "a-b")}
    assert done["a b"]["path"] == "world/a-b.md"
    assert len({receipt["path"] for receipt in done.values()}) == 3
    assert done["a/b"]["note"] == "world/a-b.md holds another topic"
    assert "note" not in done["a b"]
    text = memory.recall()
    for topic, receipt in done.items():
        part = f"## World: {topic}\n({receipt['path']}, version {receipt['version']})\n\n"
        assert f"{part}about {topic}" in text
        again = memory.learn_fact(topic, f"more about {topic}")
        assert again["path"] == receipt["path"]
        assert again["previous"] == receipt["version"]
    opened.delete("world/a-b.md")
    # what has its suffix keeps it, also where the plain name is free again
    assert memory.learn_fact("a/b", "x")["path"] == done["a/b"]["path"]


@pytest.mark.parametrize(
    ("topic", "path"),
    [
        ("people", "world/people.md"),
        ("API Keys!", "world/api-keys.md"),
        ("人物", "world/人物.md"),
        ("Straße", "world/strasse.md"),
        ("../../etc/passwd", "world/etc-passwd.md"),
        ("-rf", "world/rf.md"),
    ],
)
def test_names_are_lower_case_letters_digits_and_dashes(
    memory: WorldAndAgents, opened: Store, topic: str, path: str
) -> None:
    assert memory.learn_fact(topic, "known")["path"] == path
    assert f"## World: {topic}\n" in memory.recall()
    assert memory.learn_fact(topic.upper() if topic != "Straße" else topic, "known")["path"] == path
    assert len(opened.list("world")) == 1


@pytest.mark.parametrize(
    "topic",
    ["!?", "🙂", "con", "AGENTS", "claude", "com1", "ความรู้", "x" * 200, "人" * 200, "ᅠ", "हिन्दी"],
)
def test_a_topic_without_a_plain_name_has_one_with_a_hash(
    memory: WorldAndAgents, opened: Store, topic: str
) -> None:
    done = memory.learn_fact(topic, "known")
    assert done["path"] == f"world/{topics.names(topic)[1]}.md"
    assert memory.learn_fact(topic, "better known")["path"] == done["path"]
    assert "better known" in memory.recall()
    assert len(opened.list("world")) == 1


def test_spellings_of_a_topic_are_one(memory: WorldAndAgents, opened: Store) -> None:
    memory.learn_fact("API keys", "one")
    memory.learn_fact("  api \n KEYS ", "two")
    memory.learn_fact("ＡＰＩ keys", "three")
    assert [entry.path for entry in opened.list("world")] == ["world/api-keys.md"]


def test_notes_that_a_person_named_keep_their_names(memory: WorldAndAgents, opened: Store) -> None:
    folder = opened.root / "world"
    (folder / "teams").mkdir(parents=True)
    for name in ("People", "api_keys", "teams/red"):
        (folder / f"{name}.md").write_text(f"{name} by hand")
    for topic in ("people", "api_keys", "Teams/red"):
        assert memory.learn_fact(topic, "known")["previous"] is not None
    assert len(opened.list("world")) == 3
    # another topic than api_keys, though sanitised it would look alike
    assert memory.learn_fact("api keys", "other")["path"] == "world/api-keys.md"


def test_a_name_that_another_topic_has_by_hand_is_no_ones_loss(
    memory: WorldAndAgents, opened: Store
) -> None:
    plain, hashed = topics.names("a/b")
    opened.write(f"world/{plain}.md", "by hand")
    opened.write(f"world/{hashed}.md", "by hand too")
    with pytest.raises(Conflict, match=r"a-b-\w{8}\.md has the name that is for the topic 'a/b'"):
        memory.learn_fact("a/b", "x")
    assert {opened.read(entry.path) for entry in opened.list("world")} == {"by hand", "by hand too"}


@pytest.mark.parametrize("topic", ["", "  \n", "x" * 201])
def test_what_is_no_topic_is_refused(memory: WorldAndAgents, topic: str) -> None:
    with pytest.raises(Refused, match="is no topic"):
        memory.learn_fact(topic, "x")


# Agents


@pytest.mark.parametrize(
    "agent_id",
    ["", "..", "a/b", "../b", ".b", "a b", "-a", "a.", "a\n", "a\0", "x" * 65, "a\\b", "e\u0301"],
)  # fmt: skip
def test_what_is_no_agent_id_is_refused(opened: Store, agent_id: str) -> None:
    with pytest.raises(Refused, match="is no agent id"):
        WorldAndAgents(opened, agent_id)


def test_agents_share_the_world_and_not_the_diary(opened: Store, clock: Clock) -> None:
    # names of which one begins with the other
    anna, ann = (WorldAndAgents(opened, name, clock=clock) for name in ("anna", "ann"))
    anna.learn_fact("systems", "The relay is shared.")
    anna.reflect("The relay is anna's own idea.")
    anna.remember("The relay is anna's secret.")
    ann.remember("The relay is ann's.")
    assert "relay is shared" in ann.recall()
    assert "anna's" not in ann.recall()
    found = ann.search_memory("relay", 100)
    assert "world/systems.md" in found
    assert "agents/ann/daily" in found
    assert "anna" not in found
    assert "anna" not in ann.search_memory("relay", 100, since=date(2026, 1, 1))
    assert ann.search_memory("secret path:anna").startswith("Nothing matches")
    assert "anna's secret" in anna.search_memory("secret")


def test_agents_of_another_folder_are_another_world(opened: Store) -> None:
    red, blue = (WorldAndAgents(opened, "a", folder=name) for name in ("red", "red2/"))
    assert red.learn_fact("people", "Mara is red")["path"] == "red/world/people.md"
    assert blue.remember("blue")["path"].startswith("red2/agents/a/daily/")
    assert "Mara" not in blue.recall()
    assert blue.search_memory("Mara").startswith("Nothing matches")
    assert "## World: people\n" in red.recall()


# Search


@pytest.mark.parametrize("since", ["yesterday", "2026-2-4", 3])
def test_a_model_is_told_how_a_day_is_written(memory: WorldAndAgents, since: Any) -> None:
    with pytest.raises(ToolError, match="`since`: a day is written like 2026-02-24"):
        tools_for(memory).call("recall", {"since": since})


def test_a_folder_may_be_spelled_in_parts(opened: Store, clock: Clock) -> None:
    memory = WorldAndAgents(opened, "planner", folder="/cafe\u0301/", clock=clock)
    memory.remember("an espresso")
    assert "an espresso" in memory.recall()
    assert "espresso" in memory.search_memory("espresso")


def test_search_finds_world_memory_and_old_days(memory: WorldAndAgents, clock: Clock) -> None:
    memory.learn_fact("systems", "# Systems\n\n## Relay\n\nThe relay hangs off rack nine.")
    memory.reflect("Relay alarms at night are false.")
    clock.now = NOON - timedelta(days=400)
    memory.remember("Replaced the relay.")
    clock.now = NOON
    found = memory.search_memory("relay")
    assert "world/systems.md#L3 (Systems > Relay)\n   " in found
    assert "agents/planner/MEMORY.md#L1" in found
    assert "agents/planner/daily/2025-01-20.md#L5 (2025-01-20 > 12:00:00)" in found
    assert "Replaced the relay" not in memory.recall()
    assert found.splitlines()[0].startswith("1. ")
    assert memory.search_memory("relay", 2).endswith("search_memory(query, limit=4).]")
    assert memory.search_memory("relay", 3) == found
    assert memory.search_memory("zebra") == "Nothing matches 'zebra'."
    with pytest.raises(QueryError):
        memory.search_memory("")
    with pytest.raises(QueryError):
        memory.search_memory("relay", 0)


def test_search_ranks_as_the_store_does(memory: WorldAndAgents, opened: Store) -> None:
    memory.learn_fact("a", "relay and rack and noise of other words")
    memory.learn_fact("b", "relay")
    memory.reflect("relay relay rack")
    memory.remember("the rack")
    ranked = [
        line.split(" ")[1]
        for line in memory.search_memory("relay rack").splitlines()
        if not line.startswith(" ")
    ]
    assert ranked == [hit.citation for hit in opened.search("relay rack")]
    assert len(ranked) == 4


def test_a_range_of_days_is_searched_in_the_diary_alone(
    memory: WorldAndAgents, clock: Clock
) -> None:
    memory.learn_fact("systems", "relay")
    for number in range(30):
        clock.now = NOON - timedelta(days=number)
        memory.remember("relay")
    # the three wanted are the last of thirty that rank alike, so it must look far
    found = memory.search_memory("relay", 3, since=date(2026, 2, 20), until=date(2026, 2, 22))
    days = [line.split("#")[0][-13:-3] for line in found.splitlines() if "daily/" in line]
    assert sorted(days) == ["2026-02-20", "2026-02-21", "2026-02-22"]
    assert "world" not in found
    assert "There is more" not in found
    assert "There is more" in memory.search_memory("relay", 2, since=date(2026, 2, 20))
    assert "2026-02-21" in memory.search_memory("relay", 50, until=date(2026, 2, 21))
    assert "2026-02-22" not in memory.search_memory("relay", 50, until=date(2026, 2, 21))
    assert memory.search_memory("relay", since=date(2027, 1, 1)) == "Nothing matches 'relay'."


def test_a_hand_edit_is_seen_by_the_next_call(store: Store, clock: Clock) -> None:
    memory = WorldAndAgents(store, "a", clock=clock)
    memory.learn_fact("systems", "the relay")
    (store.root / "world" / "systems.md").write_text("the turbine, by hand")
    assert "turbine" in memory.recall()
    assert "world/systems.md#L1" in memory.search_memory("turbine")
    assert memory.search_memory("relay") == "Nothing matches 'relay'."


# Any text, any order


texts = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=80),
    st.lists(
        st.sampled_from(
            ["# T\n", "## 12:00:00\n", "```\n", "<!--", "-->", "---\n", "> q\n", "\r\n", "\n\n",
             '<!--\nMETA:\n- topic: "other"\n-->\n', "words ", "中文", "\0", "&amp;", "\u2028"]
        ),
        max_size=6,
    ).map("".join),
)  # fmt: skip


@given(st.lists(texts, max_size=4), texts, texts, texts)
@settings(max_examples=40, deadline=None)
def test_any_text_comes_back_from_every_layer(
    diary: list[str], own: str, topic: str, fact: str
) -> None:
    with tempfile.TemporaryDirectory() as folder, commonplace.open(folder) as store:
        memory = WorldAndAgents(store, "a", clock=lambda: NOON)
        for text in diary:
            memory.remember(text)
        if diary:
            note = store.read("agents/a/daily/2026-02-24.md")
            assert [block.text for block in parse(note)] == diary
        memory.reflect(own)
        assert store.read("agents/a/MEMORY.md") == own
        name = " ".join(topic.split()) or "topic"
        path = memory.learn_fact(name, fact)["path"]
        known = topics.unmarked(topics.name_of("world", path), store.read(path))
        assert known == (name, fact)
        assert path.startswith("world/")
        assert memory.learn_fact(name, fact)["path"] == path
        assert fact.strip() in memory.recall(limit=10**6)


class Interleaved(StoreMachine):
    """Calls and hand edits in any order, beside a plain dictionary of what each should hold."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.memories = {
            name: WorldAndAgents(self.store, name, clock=self.clock) for name in ("a", "b")
        }
        self.world: dict[str, str] = {}
        self.own: dict[str, str] = {}
        self.diary: dict[tuple[str, str], list[str]] = {}

    @rule(topic=st.sampled_from(["a b", "a/b", "a-b", "con", "人物", "!"]), text=texts)
    def learn(self, topic: str, text: str) -> None:
        self.memories["a"].learn_fact(topic, text)
        self.world[topic] = text

    @rule(name=st.sampled_from("ab"), text=texts)
    def reflect(self, name: str, text: str) -> None:
        self.memories[name].reflect(text)
        self.own[name] = text

    @rule(name=st.sampled_from("ab"), text=texts)
    def remember(self, name: str, text: str) -> None:
        done = self.memories[name].remember(text)
        self.diary.setdefault((name, done["path"]), []).append(text)

    @rule(hours=st.integers(1, 30))
    def wait(self, hours: int) -> None:
        self.clock.now += timedelta(hours=hours)

    @rule(name=st.sampled_from("ab"), text=st.sampled_from(["by hand", "中文\n"]))
    def edit_memory_by_hand(self, name: str, text: str) -> None:
        if name in self.own:
            (self.store.root / f"agents/{name}/MEMORY.md").write_text(text, newline="")
            self.own[name] = text

    @rule(index=st.integers(0, 9))
    def add_to_a_page_by_hand(self, index: int) -> None:
        if self.diary:
            key = sorted(self.diary)[index % len(self.diary)]
            with (self.store.root / key[1]).open("a") as file:
                file.write("\n## later\n\nby hand")
            self.diary[key].append("by hand")

    @rule(index=st.integers(0, 9))
    def delete_a_topic_by_hand(self, index: int) -> None:
        notes = self.store.list("world")
        if notes:
            path = notes[index % len(notes)].path
            topic, _ = topics.unmarked(topics.name_of("world", path), self.store.read(path))
            (self.store.root / path).unlink()
            del self.world[topic]

    @invariant()
    def files_hold_what_was_said(self) -> None:
        world = dict(
            topics.unmarked(topics.name_of("world", entry.path), self.store.read(entry.path))
            for entry in self.store.list("world")
        )
        assert world == self.world
        assert len(self.store.list("world")) == len(self.world)
        for name, text in self.own.items():
            assert self.store.read(f"agents/{name}/MEMORY.md") == text
        for (_, path), entries in self.diary.items():
            note = self.store.read(path)
            assert [block.text for block in parse(note)] == entries
            assert note.startswith(f"# {path[-13:-3]}\n")

    def teardown(self) -> None:
        for name, memory in self.memories.items():
            text = memory.recall(10**4, limit=10**7)
            assert all(fact.strip() in text for fact in self.world.values())
            assert self.own.get(name, "").strip() in text
        super().teardown()


TestInterleaved = Interleaved.TestCase
TestInterleaved.settings = settings(max_examples=15, stateful_step_count=15, deadline=None)
