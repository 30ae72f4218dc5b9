"""Forgetting and retention: what is erased is nowhere below the root, and does not come back."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pytest

import commonplace
from commonplace import Session, Store
from commonplace.cli import run
from commonplace.doors.hook_log import HookLog
from commonplace.embedded_text import digest
from commonplace.entries.forgetting import NAMED
from commonplace.errors import (
    Conflict,
    FormatError,
    InvalidArgument,
    NotFound,
    QueryError,
    Refused,
)
from commonplace.memories.facts_and_episodes import FactsAndEpisodes
from commonplace.memories.four_layers import FourLayers
from commonplace.memories.overview_and_detail import OverviewAndDetail
from commonplace.memories.profile import Profile
from commonplace.memories.world_and_agents import WorldAndAgents
from commonplace.tombstones import Tombstones
from commonplace.tools import tools_for
from tests.doubles import letter_embedder

# stands nowhere else, in letters that JSON may write in several ways
NAME = "Zaphodé"


def holds(path: Path, text: str = NAME) -> list[str]:
    """Return the files below a folder that hold a text, raw or as JSON writes it."""
    escaped = json.dumps(text)[1:-1]
    forms = {text, escaped, escaped.upper(), json.dumps(escaped)[1:-1]}
    forms |= {text.lower(), json.dumps(text.lower())[1:-1]}
    # the index folds accents
    forms.add(text[:6])
    wanted = [form.encode() for form in forms] + [text.encode("utf-16-le")]
    found = []
    for file in path.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            if any(form in data or form.lower() in data.lower() for form in wanted):
                found.append(str(file.relative_to(path)))
    return sorted(found)


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    """A session of a host, in which a user says what is forgotten later."""
    said = [
        ("user", f"My dog is called {NAME}, please remember."),
        ("assistant", "Noted."),
        ("user", "And my cat is called Tom."),
    ]
    folder = tmp_path / "host"
    folder.mkdir()
    lines = [
        {
            "type": role,
            "uuid": f"0198c1d2-7aaa-7bbb-8ccc-00000000000{number}",
            "sessionId": "0198c1d2-7aaa-7bbb-8ccc-0123456789ab",
            "timestamp": f"2026-02-01T10:00:0{number}Z",
            "cwd": "/home/alex/tea",
            "message": {"role": role, "content": text},
        }
        for number, (role, text) in enumerate(said)
    ]
    path = folder / "0198c1d2-7aaa-7bbb-8ccc-0123456789ab.jsonl"
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    return path


@pytest.fixture
def store(tmp_path: Path, chat: Path) -> Iterator[Store]:
    """A memory in which a name stands in every kind of file that there is."""
    root = tmp_path / "root"
    with commonplace.open(root) as store:
        store.write("facts/user.md", f"# User\n\n- Lives in Lisbon.\n- Dog: {NAME}\n")
        store.write("facts/user.md", f"# User\n\n- Lives in Lisbon.\n- The dog is {NAME}.\n")
        store.write("facts/old.md", f"It was {NAME}.\n")
        store.delete("facts/old.md")
        store.write("archive/2025.md", f"One.\nThe name\nis {NAME}.\nThree.\n")
        store.import_sessions(chat)
        escaped = json.dumps({"role": "user", "content": f"call {NAME}"})
        (root / "raw.jsonl").write_text(f"{escaped}\n" + escaped.replace("call", "x") + "\n")
        HookLog(store).add(event="prompt", injected=f"The dog is {NAME}.")
        vectors = pytest.importorskip("commonplace.recall.vectors")
        vectors.Vectors(store, letter_embedder()).refresh()
        store.search(NAME)
        store.grep("Noted", keep=True).count()
    # the snapshot is written
    assert f"{NAME}" in store.root.joinpath("facts/user.md").read_text()
    with commonplace.open(root) as store:
        yield store


def imported(store: Store) -> Session:
    """Return the session that was imported."""
    (session,) = (one for one in store.sessions() if one.path.startswith("sessions/"))
    return session


def test_not_a_byte_of_it_is_left(store: Store) -> None:
    where = holds(store.root)
    assert any(".commonplace/history/" in path for path in where)
    assert any(".commonplace/hooks/" in path for path in where)
    assert ".commonplace/index" in where
    plan = store.forget(NAME, dry_run=True)
    assert not plan.erased
    assert plan.revisions >= 2
    assert len(plan.passages) == 5
    assert holds(store.root) == where, "a plan changes nothing"
    done = store.forget(NAME, token=plan.token)
    assert done.erased
    assert done.left == []
    assert holds(store.root) == []
    assert store.read("facts/user.md") == "# User\n\n- Lives in Lisbon.\n"
    assert store.read("archive/2025.md") == "One.\nThree.\n"
    assert [store.read("facts/user.md", old.version) for old in store.history("facts/user.md")] == [
        "# User\n\n- Lives in Lisbon.\n"
    ]
    # the index, saved and not, knows the rest
    assert not store.search(NAME)
    assert [hit.path for hit in store.search("lisbon")] == ["facts/user.md"]
    assert store.verify().differences == []
    store.close()
    assert holds(store.root) == []
    with commonplace.open(store.root) as again:
        assert again.status().snapshot == "read"
        assert again.verify().differences == []
        assert not again.forget(NAME).erased
    assert holds(store.root) == []


def test_an_import_does_not_bring_it_back(store: Store, chat: Path) -> None:
    store.forget(NAME)
    path = imported(store).path
    texts = [message.text for message in store.transcript(path)]
    assert texts == ["Noted.", "And my cat is called Tom."]
    assert [message.line for message in store.transcript(path)] == [3, 4], "citations stay right"
    for lost in (None, "imports", "imports"):
        if lost:
            shutil.rmtree(store.root / ".commonplace" / lost)
            chat.touch()
        store.import_sessions(chat)
        assert [message.text for message in store.transcript(path)] == texts
        assert holds(store.root) == []
    # nor under another name, nor with other ids
    copy = chat.with_name("0298c1d2-7aaa-7bbb-8ccc-0123456789ab.jsonl")
    copy.write_text(chat.read_text().replace("0198c1d2", "0298c1d2"))
    store.import_sessions(copy)
    for _ in range(2):
        store.transcript("other").load(copy)
    said = [message.text for message in store.transcript("other")]
    assert (said, holds(store.root)) == (texts, [])


def test_a_forgotten_session_stays_forgotten(store: Store, chat: Path) -> None:
    session = imported(store)
    done = store.forget(session=session.id)
    assert done.files == [session.path]
    assert not (store.root / session.path).exists()
    shutil.rmtree(store.root / ".commonplace/imports")
    store.import_sessions(chat)
    assert not store.holds("sessions")
    assert holds(store.root, "my cat is called") == []


def test_a_citation_takes_its_copies(store: Store) -> None:
    store.write("facts/copy.md", f"- The dog is {NAME}.\n- The cat is Tom.\n")
    assert len(store.forget("facts/user.md#L4", dry_run=True).passages) == 2
    assert len(store.forget("facts/user.md#L4", prefix="facts/user.md").passages) == 1
    assert f"The dog is {NAME}" in store.read("facts/copy.md")
    (old,) = {store.read("facts/user.md", kept.version) for kept in store.history("facts/user.md")}
    assert f"Dog: {NAME}" in old, "another wording is another text"
    assert store.forget("facts/copy.md#L2").erased
    assert store.read("facts/copy.md") == f"- The dog is {NAME}.\n"


def test_what_is_wrong_is_said(store: Store) -> None:
    for what, error, why in [
        ("", QueryError, "too short"),
        ("a", QueryError, "too short"),
        ([], QueryError, "say what to forget"),
        ("no.md#L1", NotFound, "no.md"),
        ("facts/user.md#L99", FormatError, "nothing at these lines"),
        ("/etc/passwd#L1", Refused, "passwd"),
        (5, InvalidArgument, "not 5"),
        ([5], InvalidArgument, "not [5]"),
    ]:
        with pytest.raises(error, match=re.escape(why)):
            store.forget(what)  # type: ignore[arg-type]
    with pytest.raises(QueryError):
        store.forget("tea", category="x")
    plan = store.forget(NAME, dry_run=True)
    store.append("facts/user.md", f"- {NAME} again\n")
    for token in (plan.token, "invented"):
        with pytest.raises(Conflict, match="nothing was erased") as refused:
            store.forget(NAME, token=token)
        # or the next call would erase what nobody has seen
        assert store.forget(NAME, dry_run=True).token not in str(refused.value)
    assert holds(store.root)
    # nothing of it is held to be forgotten
    assert f"{NAME} again" not in Tombstones(store.side_files())


def test_what_an_earlier_version_forgot_stays_forgotten(store: Store) -> None:
    # it kept a "!" at the end
    hashed = digest("call me bo!").hex()
    line = json.dumps({"date": "2026-11-02", "statements": [hashed]}) + "\n"
    store.side_files().append("tombstones.jsonl", line.encode())
    known = Tombstones(store.side_files())
    assert "Call me Bo!" in known
    assert "Call me Bo" not in known


def test_a_filter_bounds_it(store: Store) -> None:
    log = store.transcript("sessions/b")
    log.append({"role": "user", "content": f"user {NAME}"})
    log.append({"role": "assistant", "content": f"assistant {NAME}"})
    assert len(store.forget(NAME, role="assistant").passages) == 1
    assert [message.role for message in log] == ["user"]
    assert NAME in store.read("facts/user.md")


def test_another_process_saves_nothing_of_it(store: Store) -> None:
    with commonplace.open(store.root) as other:
        other.write("facts/more.md", "More.\n")
        other.search("lisbon")
        store.forget(NAME)
    assert holds(store.root) == []


@pytest.mark.parametrize("name", ["profile", "facts", "layers", "overview", "world"])
def test_each_system_has_the_tool(tmp_path: Path, name: str) -> None:
    with commonplace.open(tmp_path / "root") as store:
        said = f"The dog is called {NAME}"
        memory: object
        if name == "profile":
            memory = Profile(store, user="ann")
            memory.remember(said)
        elif name == "facts":
            memory = FactsAndEpisodes(store)
            memory.memory_append("episodes/2026-02.md", said)
            memory.memory_write("facts/dog.md", f"- {said}\n")
        elif name == "layers":
            memory = FourLayers(store)
            memory.append("episodic", {"content": said})
            memory.append("working", {"content": said})
            memory.append("semantic", {"content": said, "metadata": {"key": "dog"}})
        elif name == "overview":
            memory = OverviewAndDetail(store, "s1", cwd="/tea")
            memory.write_detail("dog", said)
            memory.append({"role": "user", "content": said})
        else:
            memory = WorldAndAgents(store, "planner")
            memory.learn_fact("dogs", said)
            memory.remember(said)
        store.write("users/bob/MEMORY.md", "- Bob's dog is Fido.\n")
        tools = tools_for(memory)
        shown = json.loads(tools.call("forget", {"what": NAME}))
        assert not shown["erased"]
        assert shown["passages"]
        assert holds(store.root)
        erased = json.loads(tools.call("forget", {"what": NAME, "token": shown["token"]}))
        assert erased["erased"]
        assert holds(store.root) == []
        assert store.read("users/bob/MEMORY.md")
        again = json.loads(tools.call("forget", {"what": NAME}))
        assert again["passages"] == []
        assert "similar" in again
        if isinstance(memory, FourLayers):
            assert memory.get_working_memory() == []


def test_what_is_shown_can_be_cited(store: Store) -> None:
    facts = FactsAndEpisodes(store, "data/memory")
    facts.memory_write("facts/dog.md", f"# Dog\n\n> Summary: a dog\n\n- It is called {NAME}.\n")
    session = OverviewAndDetail(store, "s1", cwd="/tea")
    session.append({"role": "user", "content": f"The dog is called {NAME}."})
    for memory, citation in (
        (facts, "facts/dog.md#L5"),
        (session, "messages.jsonl#L1"),
    ):
        (passage,) = memory.forget(NAME)["passages"]
        assert passage["citation"] == citation
        assert memory.forget(citation)["passages"] == [passage]
    assert facts.forget(f"{NAME} the cat")["similar"][0].startswith("facts/dog.md#L")


def test_a_system_forgets_only_its_own(tmp_path: Path) -> None:
    with commonplace.open(tmp_path / "root") as store:
        ann, bob = Profile(store, user="ann"), Profile(store, user="bob")
        ann.remember(f"The dog is {NAME}")
        place = bob.remember(f"The dog is {NAME}")["citation"]
        ann.forget(NAME, ann.forget(NAME)["token"])
        assert holds(store.root / "users/ann") == []
        assert holds(store.root / "users/bob")
        with pytest.raises(Refused):
            ann.forget(place)


def test_files_that_are_named_after_it_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with commonplace.open(tmp_path) as store:
        facts = FactsAndEpisodes(store, "mine")
        facts.memory_write("facts/the-zorgblat.md", "- The Zorgblat is blue.\n- It is old.\n")
        store.write("other/zorgblat.md", "- of others\n")
        answer = facts.forget("The Zorgblat")
        assert answer["left"] == [f"facts/the-zorgblat.md: {NAMED}"]
        assert "left" not in facts.forget(answer["passages"][0]["citation"])
        assert facts.forget("The Zorgblat", answer["token"])["left"] == answer["left"]
    assert run(["--root", str(tmp_path), "forget", "Zorgblat", "--dry-run"]) == 1
    told = capsys.readouterr().err
    for path in ("mine/facts/the-zorgblat.md", "other/zorgblat.md"):
        assert told.count(f"{path}: {NAMED}") == 1


def test_the_command_asks_and_shows(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def shell(*arguments: str) -> tuple[int, str]:
        code = run(["--root", str(store.root), *arguments])
        return code, capsys.readouterr().out

    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    code, out = shell("forget", NAME)
    assert code == 2
    assert "facts/user.md#L4" in out
    assert holds(store.root)
    assert shell("forget", NAME, "--dry-run")[0] == 0
    assert holds(store.root)
    assert shell("forget", "no such word anywhere")[0] == 1
    assert shell("forget")[0] == 2
    store.write("long.md", f"- {NAME} {'x' * 300}\n")
    assert "more characters" in shell("forget", "--dry-run", NAME)[1], "what is cut is said"
    code, out = shell("forget", NAME, "--yes", "--json")
    assert code == 0
    assert json.loads(out)["erased"]
    assert holds(store.root) == []


# Retention


class Typed(io.StringIO):
    """A person at a terminal, who agrees after something else has happened."""

    def __init__(self, happens: Callable[[], object]) -> None:
        super().__init__("y\n")
        self.happens = happens

    def isatty(self) -> bool:
        return True

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
        self.happens()
        return super().readline(-1 if size is None else size)


def test_no_more_is_pruned_than_was_shown(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        store.write("a.md", str(number))
    command = ["--root", str(store.root), "retain", "--history-count", "1"]
    monkeypatch.setattr("sys.stdin", Typed(lambda: store.write("a.md", "while it asks")))
    assert run(command) == 2
    kept = [store.read("a.md", kept.version) for kept in store.history("a.md")]
    assert sorted(kept) == ["0", "1", "2"]
    monkeypatch.setattr("sys.stdin", Typed(lambda: None))
    assert run(command) == 0
    assert len(store.history("a.md")) == 1


def test_old_versions_and_sessions_go(store: Store, chat: Path) -> None:
    assert not store.retain().erased
    for number in range(4):
        store.write("a.md", f"text {number}\n")
    plan = store.retain(history_count=1, dry_run=True)
    assert len(store.history("a.md")) == 3
    assert plan.revisions
    store.retain(history_count=1)
    assert [store.read("a.md", kept.version) for kept in store.history("a.md")] == ["text 2\n"]
    assert store.retain(history_since="1d").revisions == []
    session = imported(store)
    store.write(session.path.replace("messages.jsonl", "notes.md"), f"{NAME}\n")
    done = store.retain(sessions_since="2026-03-01")
    assert done.sessions == [session.path]
    assert len(done.files) == 2
    assert not (store.root / session.path).parent.exists()
    assert holds(store.root / "sessions") == []
    shutil.rmtree(store.root / ".commonplace/imports")
    store.import_sessions(chat)
    assert not store.holds("sessions")


def test_sessions_of_many_long_messages_go(store: Store) -> None:
    words = " ".join(f"word{number}" for number in range(60))
    for session in "abc":
        texts = [f"{session} {number} says {words}" for number in range(200)]
        store.transcript(f"sessions/{session}").extend(
            [{"role": "user", "content": text} for text in texts]
        )
    store.write("a.md", f"- a 7 says {words}\n")
    store.write("a.md", "- nothing\n")
    assert store.forget("sessions/a#L1-L150").erased
    assert not list(store.grep("a 7 says"))
    assert store.forget(session="b").erased
    assert store.retain(session_count=0).erased
    assert not list(store.grep("says"))


def test_the_oldest_go_when_there_is_too_much(store: Store) -> None:
    for number in range(5):
        store.write("b.md", f"{number}" * 1000)
    before = [kept.version for kept in store.history("b.md")]
    notes = [*store.root.rglob("*.md"), *store.root.rglob("*.jsonl")]
    sizes = sum(
        file.stat().st_size for file in notes if file.is_file() and "hooks" not in file.parts
    )
    store.retain(total_bytes=sizes - 2500)
    left = [kept.version for kept in store.history("b.md")]
    assert left == before[: len(left)]
    assert len(left) < 4
    assert store.retain(total_bytes=0).sessions
    assert store.history("b.md") == []
    assert store.read("b.md")
