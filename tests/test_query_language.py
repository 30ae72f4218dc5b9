"""The query language: exclusions alone, filters, and what only looks like a field."""

from __future__ import annotations

import pytest

import commonplace


def test_exclusions_alone_find_nothing_and_say_what_to_write(store: commonplace.Store) -> None:
    store.write("a.md", "a kiwi and a lemon\n")
    store.write("b.md", "a lemon\n")
    for query in ("-kiwi", '-"a kiwi"', "-kiwi -lemon", "role:user"):
        hits = store.search(query)
        assert not hits
        assert "only excludes or filters" in hits.notes[0]
    assert [hit.path for hit in store.search("lemon -kiwi")] == ["b.md"]
    assert [hit.path for hit in store.search('"-kiwi"')] == ["a.md"]
    assert "scores 0" in store.explain("-kiwi", "a.md#L1")


def test_a_query_filters_by_role_session_and_category(store: commonplace.Store) -> None:
    log = store.transcript("s1")
    log.append({"role": "user", "content": "where is the ferry", "session": "one", "name": "Ann"})
    log.append({"role": "assistant", "content": "the ferry is late", "session": "two"})
    store.write("a.md", "# Ferry\n\n<!--\nMETA:\n- category: boats\n-->\n\nA ferry.\n")

    def found(query: str, **filters: str) -> list[str]:
        hits = store.search(query, **filters)  # type: ignore[call-overload]
        return sorted(hit.role or hit.category or "" for hit in hits)

    assert found("ferry") == ["assistant", "boats", "user"]
    assert found("ferry role:user") == found("ferry session:one") == ["user"]
    assert found("category:boats ferry") == ["boats"]
    assert found("ferry role:user", session="two") == []
    assert found("ferry role:user", role="user") == ["user"]
    assert found("name:Ann") == ["user"]
    hits = store.search("ferry role:user", role="assistant")
    assert not hits
    assert "leave out one" in hits.notes[-1]
    note, *_ = store.search("ferry rol:user").notes
    assert note.startswith(
        "rol:user was searched as text: rol is no field; there are body, heading"
    )
    note, *_ = store.search("ferry since:2026").notes
    assert note.endswith("beside the query (on a command line --since 2026)")
    note, *_ = store.search("ferry Role:user").notes
    assert note == "Role:user was searched as text: fields are in lower case, as role:user"
    for asked in ("limit:5", "unit:turn", "project:web"):
        note, *_ = store.search(f"ferry {asked}").notes
        assert f"on a command line --{asked.replace(':', ' ')}" in note
    note, *_ = store.search("ferry meaning:true").notes
    assert note.endswith("beside the query (on a command line --meaning)")
    notes = store.search("ferry http://a.b at 10:30 std::io C:x").notes
    assert not [note for note in notes if "searched as text" in note]


def test_a_category_of_several_words(store: commonplace.Store) -> None:
    for name, category in (("a", "green tea"), ("b", "tea")):
        store.write(f"{name}.md", f"---\ncategory: {category}\n---\n\nA ferry.\n")
    for query in ('ferry category:"green tea"', 'category:"green tea" ferry'):
        hits = store.search(query)
        assert ([hit.path for hit in hits], hits.notes) == (["a.md"], [])
    assert [hit.path for hit in store.search('ferry category:"tea"')] == ["b.md"]


def test_a_note_says_what_the_confidence_does_not(store: commonplace.Store) -> None:
    many = [f"word{number}" for number in range(6000)]
    store.write("long.md", " ".join(["quartz", *many, "lantern"]))
    for number in range(30):
        store.write(f"{number}.md", f"The crane {number} lifts timber.\n")
    store.write("db.md", "预发布环境的数据库监听五四三三端口，由运维负责。\n")
    store.write("tea.md", "# User\n\n- Likes: tea without sugar\n")

    def told(query: str) -> tuple[bool, list[str]]:
        hits = store.search(query)
        return hits.confidence >= 0.3, hits.notes

    long = "the best match has every word, but they are a small part of a long text"
    assert told("quartz lantern") == (False, [long])
    # what no text has is named at any confidence, but a pair of characters may be of two words
    assert told("does he like tea without sugar, with zucchini") == (
        True,
        ["the best match lacks: zucchini"],
    )
    assert told("does he like tea without sugar") == (True, [])
    assert told("预发布环境的数据库监听哪个端口") == (True, [])
    assert told("crane timber zeppelin") == (False, ["the best match lacks: zeppelin"])


@pytest.mark.parametrize("answer", ["ok", "the harbour is dark"])
def test_a_note_does_not_say_that_a_neighbour_is_the_match(
    store: commonplace.Store, answer: str
) -> None:
    log = store.transcript("s1")
    log.append({"role": "user", "content": "quartz lantern for the harbour"})
    log.append({"role": "assistant", "content": answer})
    for number in range(30):
        store.write(f"{number}.md", f"The harbour crane {number} lifts timber.\n")
    hits = store.search("quartz lantern harbour", role="assistant")
    assert [hit.text for hit in hits] == [answer]
    assert hits.confidence < 0.3
    assert hits.notes == ["the best match lacks words that its neighbours have"]
