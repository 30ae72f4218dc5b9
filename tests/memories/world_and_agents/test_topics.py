"""Topics of the world and the file names made of them."""

from __future__ import annotations

import pytest

from commonplace.errors import Conflict, Refused
from commonplace.memories.world_and_agents import WorldAndAgents, topics
from commonplace.store import Store


def test_two_topics_on_one_name_never_meet(memory: WorldAndAgents, opened: Store) -> None:
    done = {topic: memory.learn_fact(topic, f"about {topic}") for topic in ("a b", "a/b", "a+b")}
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
    # another spelling of the same, and another topic that would have the same name
    assert memory.learn_fact("API keys", "more")["path"] == "world/api_keys.md"
    assert memory.learn_fact("api/keys", "other")["note"] == "world/api_keys.md holds another topic"


def test_topics_that_differ_in_what_joins_their_words_are_one(
    memory: WorldAndAgents, opened: Store
) -> None:
    paths = {
        memory.learn_fact(topic, topic)["path"] for topic in ("API keys", "api-keys", "api_keys")
    }
    assert paths == {"world/api-keys.md"}
    assert opened.read("world/api-keys.md").endswith("api_keys")


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
