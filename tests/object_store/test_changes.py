"""Changes of several processes in one object store, segments and forgetting."""

from __future__ import annotations

from typing import Any

import pytest

from commonplace.errors import (
    Busy,
    Conflict,
    InDoubt,
    NotFound,
)
from commonplace.service.manifest import MOST_SEGMENTS, Manifest, first_rewritten
from commonplace.service.objects import ObjectsUnavailable
from commonplace.service.s3 import S3Objects
from tests.object_store import KEY
from tests.object_store.processes import between, current
from tests.opensearch.tenants import Tenants


def test_a_process_sees_what_another_has_acknowledged(two: tuple[Tenants, Tenants]) -> None:
    one, other = two
    first = one.call("acme", "write", path="facts/tea.md", content="Likes sencha.\n")
    assert other.call("acme", "read", path="facts/tea.md")["version"] == first["version"]
    assert other.found("acme", "sencha") == ["facts/tea.md#L1"]
    edit = {"old": "sencha.", "new": "sencha.\nLikes matcha."}
    other.call("acme", "patch", path="facts/tea.md", edits=[edit])
    other.call("acme", "log", path="sessions/s", messages=[{"role": "user", "content": "Hi."}])
    current(one)
    assert one.found("acme", "matcha") == ["facts/tea.md#L2"]
    assert len(one.call("acme", "history", path="facts/tea.md")["versions"]) == 1
    one.call("acme", "move", path="facts/tea.md", target="drinks.md")
    current(other)
    assert [file["path"] for file in other.call("acme", "list")["files"]] == [
        "drinks.md",
        "sessions/s/messages.jsonl",
    ]
    assert one.call("bolt", "list")["files"] == []


def test_a_search_sees_a_write_of_another_process_by_its_token(
    two: tuple[Tenants, Tenants], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two
    assert other.found("acme", "sencha") == []
    monkeypatch.setattr("commonplace.service.replica.CURRENT_FOR", 60.0)
    told = one.call("acme", "write", path="a.md", content="sencha")
    assert other.found("acme", "sencha") == []
    assert other.found("acme", "sencha", fresh=[told["fresh"]]) == ["a.md#L1"]


def test_notes_are_compared_and_swapped_between_processes(two: tuple[Tenants, Tenants]) -> None:
    one, other = two
    first = one.call("acme", "write", path="a.md", content="one", expected_version="absent")
    other.call("acme", "write", path="a.md", content="two", expected_version=first["version"])
    with pytest.raises(Conflict):
        one.call("acme", "write", path="a.md", content="x", expected_version=first["version"])
    with pytest.raises(Conflict):
        one.call("acme", "write", path="a.md", content="x", expected_version="absent")
    assert one.call("acme", "read", path="a.md")["text"] == "two"


def test_who_is_second_to_change_a_file_is_told_and_changes_nothing(
    two: tuple[Tenants, Tenants], objects: S3Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two
    one.call("acme", "write", path="a.md", content="one")
    between(
        objects, monkeypatch, lambda: other.call("acme", "write", path="a.md", content="theirs")
    )
    with pytest.raises(Busy):
        one.call("acme", "write", path="a.md", content="mine")
    for tenants in two:
        assert tenants.call("acme", "read", path="a.md")["text"] == "theirs"
        assert len(tenants.call("acme", "history", path="a.md")["versions"]) == 1


def test_changes_of_other_files_are_both_kept(
    two: tuple[Tenants, Tenants], objects: S3Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two
    one.call("acme", "write", path="gone.md", content="x")
    between(objects, monkeypatch, lambda: other.call("acme", "delete", path="gone.md"))
    one.call("acme", "write", path="mine.md", content="mine")
    for tenants in two:
        current(tenants)
        paths = [file["path"] for file in tenants.call("acme", "list")["files"]]
        assert paths == ["mine.md"]
        assert len(tenants.call("acme", "history", path="gone.md")["versions"]) == 1


def test_an_answer_that_is_lost_is_no_conflict(
    two: tuple[Tenants, Tenants], objects: S3Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = objects.exchange
    monkeypatch.setattr(objects, "exchange", lambda *given: plain(*given) and None)
    two[0].call("acme", "write", path="a.md", content="tea")
    monkeypatch.undo()
    assert two[1].call("acme", "read", path="a.md")["text"] == "tea"


def test_a_change_is_known_again_after_others_have_changed_its_file(
    two: tuple[Tenants, Tenants], objects: S3Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two
    said = [{"role": "user", "content": "Hi."}]
    one.call("acme", "log", path="sessions/s", messages=said)
    plain = objects.exchange

    def lost(name: str, data: bytes, version: str) -> str | None:
        monkeypatch.setattr(objects, "exchange", plain)
        assert plain(name, data, version)
        for _ in range(3):
            other.call("acme", "log", path="sessions/s", messages=said)
        return None

    monkeypatch.setattr(objects, "exchange", lost)
    # with 409 the caller would do it again
    one.call("acme", "log", path="sessions/s", messages=said)
    one.call("acme", "log", path="sessions/s", messages=said)
    for tenants in two:
        current(tenants)
        found = tenants.call("acme", "messages", path="sessions/s/messages.jsonl")["messages"]
        assert len(found) == 6


def test_what_is_not_known_after_very_many_changes_is_in_doubt(
    two: tuple[Tenants, Tenants], objects: S3Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two
    one.call("acme", "write", path="a.md", content="tea")
    monkeypatch.setattr("commonplace.service.replica.EARLIER", 2)

    def many() -> None:
        for number in range(4):
            other.call("acme", "write", path="b.md", content=f"{number}")

    between(objects, monkeypatch, many)
    with pytest.raises(InDoubt):
        one.call("acme", "write", path="a.md", content="cup")


def test_a_store_that_does_not_answer_loses_nothing(
    two: tuple[Tenants, Tenants], objects: S3Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two
    one.call("acme", "write", path="a.md", content="one")

    def gone(*_: object) -> Any:
        raise ObjectsUnavailable("the object store does not answer")

    with monkeypatch.context() as patched:
        patched.setattr(objects, "write", gone)
        with pytest.raises(ObjectsUnavailable):
            one.call("acme", "write", path="a.md", content="two")
        with pytest.raises(ObjectsUnavailable):
            one.call("acme", "write", path="b.md", content="two")
    assert one.call("acme", "read", path="a.md")["text"] == "one"
    with pytest.raises(NotFound):
        one.call("acme", "read", path="b.md")
    with monkeypatch.context() as patched:
        patched.setattr(objects, "exchange", gone)
        with pytest.raises(InDoubt):
            one.call("acme", "write", path="a.md", content="two")
        patched.setattr(objects, "newer", gone)
        with pytest.raises(ObjectsUnavailable):
            current(one)
    for tenants in two:
        assert tenants.call("acme", "read", path="a.md")["text"] == "one"
    one.call("acme", "write", path="a.md", content="three")
    current(other)
    assert other.call("acme", "read", path="a.md")["text"] == "three"


def test_a_transcript_is_few_segments_and_each_is_appended(
    two: tuple[Tenants, Tenants], objects: S3Objects
) -> None:
    messages = 3 * MOST_SEGMENTS + 5
    for number in range(messages):
        # read by turns, so that the copies are brought on by what is new
        writer = two[number % 2]
        message = {"role": "user", "content": f"Message {number} about tea."}
        writer.call("acme", "log", path="sessions/s", messages=[message])
    path = "sessions/s/messages.jsonl"
    current(two[1])
    found = two[1].call("acme", "messages", path=path, limit=1000)["messages"]
    texts = [one["text"] for one in found]
    assert texts == [f"Message {number} about tea." for number in range(messages)]
    manifest = Manifest.read(objects.read(f"manifests/{KEY}") or b"")
    assert 1 < len(manifest.files[path].segments) <= MOST_SEGMENTS
    # and nothing else is there
    assert {name for name, _ in objects.list(f"segments/{KEY}")} == manifest.segments()


@pytest.mark.parametrize("seed", range(3))
def test_a_growing_file_is_rewritten_seldom(seed: int) -> None:
    sizes: list[int] = []
    written = 0
    for number in range(2000):
        added = 1 + (number * 7919 + seed) % 50
        first = first_rewritten(sizes, added)
        sizes = [*sizes[:first], sum(sizes[first:]) + added]
        written += sizes[-1]
        assert len(sizes) <= MOST_SEGMENTS
    assert written < 12 * sum(sizes)


def test_what_is_forgotten_is_in_no_object(
    two: tuple[Tenants, Tenants], objects: S3Objects
) -> None:
    one, other = two
    one.call("acme", "write", path="a.md", content="- The dog is Rex.\n- Likes tea.\n")
    one.call("acme", "append", path="a.md", content="- More.\n")
    said = [{"role": "user", "content": "Rex barks."}, {"role": "user", "content": "Tea."}]
    one.call("acme", "log", path="sessions/s", messages=said)
    plan = one.call("acme", "forget", what=["rex"])
    assert one.call("acme", "forget", what=["rex"], token=plan["token"])["erased"]
    kept = [objects.read(name) or b"" for name, _ in objects.list(f"segments/{KEY}")]
    assert kept
    assert b"rex" not in b"".join(kept).lower()
    current(other)
    assert other.found("acme", "rex") == []
