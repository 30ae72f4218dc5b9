"""Conformance of engines: what each finds is what the index of a store finds, to the last digit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import commonplace
from commonplace import SearchFilter, Store
from commonplace.engines import Engine, search
from commonplace.engines.archive import ArchiveEngine
from commonplace.engines.memory import MemoryEngine
from commonplace.errors import QueryError

ENGINES: dict[str, Callable[[Store], Engine]] = {"memory": MemoryEngine, "archive": ArchiveEngine}
UNITS: tuple[Literal["message", "turn"], ...] = ("message", "turn")
WORDS = "tea teas kettle kettles river rivers walk walking the v2 茶水 boat Melanie user Tuesday"
QUERIES = (
    "tea",
    "teas kettle",
    "walking by rivers? The boat.",
    "茶水 boat",
    "Melanie user",
    '"tea kettle"',
    "river -tea",
    "kett* boat",
    "rivr~1",
    "zebra tea",
    "zebra",
    "role:user tea",
    "Tuesday v2 v2",
    "heading:tea river",
    "speaker:Melanie",
)
FIELD_QUERIES = ("heading:tea river",)
ODD = (
    "C++",
    "-rf",
    "a/b",
    '"open',
    "🙂",
    "~",
    "*",
    ":",
    "-kiwi",
    "x" * 5000,
    "\x00",
    "tea\ttea",
    "'",
)

Shown = list[tuple[str, float, str, str | None]]


@pytest.fixture(params=ENGINES)
def new_engine(request: pytest.FixtureRequest) -> Callable[[Store], Engine]:
    """Return the maker of an engine."""
    return ENGINES[request.param]


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    """Return a store that searches its own index, and one with the same files for the engine."""
    for name in ("home", "other"):
        (tmp_path / name).mkdir()
    with commonplace.open(tmp_path / "home") as home, commonplace.open(tmp_path / "other") as other:
        yield home, other


def line(role: str, text: str, session: str = "s", day: int = 1, name: str | None = None) -> str:
    """Return a message."""
    fields = {"role": role, "content": text, "session": session}
    if name:
        fields["name"] = name
    return json.dumps(fields | {"timestamp": f"2026-01-{day:02}T08:00:00Z"}) + "\n"


def put(stores: tuple[Store, Store], engine: Engine, path: str, text: str) -> None:
    """Write a file to both, and index it."""
    for store in stores:
        at = store.root / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(text)
    engine.add(path, text.encode())


SAMPLE = {
    "tea.md": "# Tea\n\nGreen tea from the river.\n\n# Kettle\n\nA kettle for two.\n",
    "memory.md": "---\nunit: item\n---\n# Memory\n\n"
    "- ~~Tea by the river~~ <!-- META: until=2026-01-05 -->\n- Tea by the boat\n",
    "a/messages.jsonl": "".join(
        [
            line("user", "Where is the kettle?"),
            line("assistant", "Let me look."),
            line("assistant", "The kettle is by the river, walking distance.", day=2),
            line("user", "And the tea?", day=3, name="Melanie"),
            line("assistant", "Tea kettle on Tuesday; teas on the boat.", day=3),
            line("user", "茶水在哪里", session="t", day=4),
        ]
    ),
    "b/messages.jsonl": "".join(
        line(
            ("user", "assistant")[n % 2],
            f"tea number{n} on the river" + " boat" * (n % 3),
            day=n % 9 + 1,
        )
        for n in range(40)
    ),
}


def shown(hits: commonplace.Hits) -> Shown:
    """Return what a person sees of hits, with their scores."""
    return [(hit.citation, hit.score, hit.snippet, hit.prompt) for hit in hits]


def sample(stores: tuple[Store, Store], new_engine: Callable[[Store], Engine]) -> Engine:
    """Return an engine that has indexed the sample."""
    engine = new_engine(stores[1])
    for path, text in SAMPLE.items():
        put(stores, engine, path, text)
    engine.commit()
    return engine


def agree(home: Store, engine: Engine, query: str, limit: int = 10, **fields: object) -> None:
    """Assert that the engine answers as the store does."""
    wanted = SearchFilter(**fields)  # type: ignore[arg-type]
    for unit in UNITS:
        own = home.search(query, limit, unit=unit, filter=wanted)
        other = search(engine, query, limit, unit=unit, filter=wanted)
        if query in FIELD_QUERIES:
            # how many have the word in this field alone is not counted
            assert [hit.citation for hit in other] == [hit.citation for hit in own]
            continue
        assert shown(other) == shown(own), (query, unit, fields)
        assert other.confidence == pytest.approx(own.confidence if own else 0, abs=1e-6)


@pytest.mark.parametrize("query", QUERIES)
def test_it_ranks_as_the_store(
    stores: tuple[Store, Store], new_engine: Callable[[Store], Engine], query: str
) -> None:
    engine = sample(stores, new_engine)
    agree(stores[0], engine, query)
    agree(stores[0], engine, query, limit=30)


def test_filters(stores: tuple[Store, Store], new_engine: Callable[[Store], Engine]) -> None:
    engine = sample(stores, new_engine)
    for fields in (
        {"role": "user"},
        {"session": "t"},
        {"prefix": "a"},
        {"prefix": ["a", "tea.md"]},
        {"prefix": "nothing"},
        {"source": "note"},
        {"source": "message"},
        {"since": "2026-01-03", "until": "2026-01-04"},
        {"since": "2026-01-03"},
        {"until": "2026-01-03"},
        {"category": "none"},
        {"exclude": [("b/messages.jsonl", 1, 30)]},
        {"role": "assistant", "prefix": "b", "until": "2026-01-05"},
    ):
        for query in ("tea river", "kettle", "茶水"):
            agree(stores[0], engine, query, **fields)


@pytest.mark.parametrize("query", ["path:tea kettle", "keywords:tea kettle", "tea path:river"])
def test_fields_that_no_message_has(
    stores: tuple[Store, Store], new_engine: Callable[[Store], Engine], query: str
) -> None:
    engine = new_engine(stores[1])
    for path in ("a/messages.jsonl", "b/messages.jsonl"):
        put(stores, engine, path, SAMPLE[path])
    engine.commit()
    agree(stores[0], engine, query)


def test_changes_and_removals(
    stores: tuple[Store, Store], new_engine: Callable[[Store], Engine]
) -> None:
    engine = sample(stores, new_engine)
    put(stores, engine, "a/messages.jsonl", line("user", "A zebra drinks tea."))
    engine.commit()
    for query in ("zebra", "kettle", "tea"):
        agree(stores[0], engine, query)
    for store in stores:
        (store.root / "b/messages.jsonl").unlink()
    engine.remove("b/messages.jsonl")
    engine.remove("never/messages.jsonl")
    engine.commit()
    for query in ("number7 tea", "river", "zebra"):
        agree(stores[0], engine, query)
    engine.refresh()
    assert engine.stats().documents == 5


def test_ties_go_by_path_and_position(
    stores: tuple[Store, Store], new_engine: Callable[[Store], Engine]
) -> None:
    engine = new_engine(stores[1])
    for path in ("c/messages.jsonl", "a/messages.jsonl", "b.md"):
        text = "tea\n" if path == "b.md" else line("user", "tea") * 3
        put(stores, engine, path, text)
    engine.commit()
    agree(stores[0], engine, "tea", limit=5)


def test_odd_queries(stores: tuple[Store, Store], new_engine: Callable[[Store], Engine]) -> None:
    engine = sample(stores, new_engine)
    for query in ODD:
        agree(stores[0], engine, query)
    for query in ("", " \n"):
        with pytest.raises(QueryError):
            search(engine, query)
    assert not search(engine, "tea", 0)


def test_nothing_is_found_in_an_empty_engine(
    stores: tuple[Store, Store], new_engine: Callable[[Store], Engine]
) -> None:
    engine = new_engine(stores[1])
    for query in ("tea", '"a b"', "te*", "tea~1"):
        assert len(search(engine, query)) == 0
    assert engine.stats().documents == 0


def test_exclusions_do_not_hide_what_is_behind_them(
    stores: tuple[Store, Store], new_engine: Callable[[Store], Engine]
) -> None:
    engine = new_engine(stores[1])
    many = "".join(line("user", f"tea kettle {n}") for n in range(300))
    put(stores, engine, "a/messages.jsonl", many)
    put(stores, engine, "b/messages.jsonl", line("user", "a longer walk with tea by the river"))
    engine.commit()
    agree(stores[0], engine, "tea -kettle")
    agree(stores[0], engine, "tea", prefix="b")


messages = st.lists(
    st.tuples(
        st.lists(st.sampled_from(WORDS.split()), max_size=10),
        st.sampled_from(["user", "assistant", "tool"]),
        st.sampled_from(["s", "s", "t"]),
        st.integers(1, 28),
        st.sampled_from([None, None, "Melanie"]),
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(messages, min_size=1, max_size=3), query=st.sampled_from(QUERIES))
@pytest.mark.parametrize("name", ENGINES)
def test_any_memory_is_ranked_as_the_store_ranks_it(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    texts: list[list[tuple[object, ...]]],
    query: str,
) -> None:
    root = tmp_path_factory.mktemp("engines")
    for folder in ("home", "other"):
        (root / folder).mkdir()
    with commonplace.open(root / "home") as home, commonplace.open(root / "other") as other:
        engine = ENGINES[name](other)
        for number, said in enumerate(texts):
            text = "".join(
                line(str(role), " ".join(words), str(session), int(day), speaker)  # type: ignore[arg-type,call-overload]
                for words, role, session, day, speaker in said
            )
            put((home, other), engine, f"s{number}/messages.jsonl", text)
        engine.commit()
        agree(home, engine, query)
