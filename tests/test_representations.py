"""`repr()` of public objects."""

from __future__ import annotations

from pathlib import Path

from commonplace import Store
from commonplace.memories import (
    AgentRuns,
    FactsAndEpisodes,
    FourLayers,
    OverviewAndDetail,
    Profile,
    WorldAndAgents,
)
from commonplace.recall import HybridSearch
from commonplace.tools import tools_for


def test_a_memory_names_its_store_and_its_owner(store: Store, root: Path) -> None:
    here = f"Store({str(root)!r})"
    for memory, shown in [
        (store, here),
        (FactsAndEpisodes(store), f"FactsAndEpisodes({here})"),
        (FactsAndEpisodes(store, "data"), f"FactsAndEpisodes({here}, 'data')"),
        (OverviewAndDetail(store, "s1"), f"OverviewAndDetail({here}, 's1')"),
        (WorldAndAgents(store, "ann"), f"WorldAndAgents({here}, 'ann')"),
        (WorldAndAgents(store, "ann", folder="x"), f"WorldAndAgents({here}, 'ann', folder='x')"),
        (FourLayers(store, "x", agent="ann"), f"FourLayers({here}, 'x', agent='ann')"),
        (AgentRuns(FourLayers(store)), f"AgentRuns(FourLayers({here}))"),
        (Profile(store), f"Profile({here})"),
        (Profile(store, user="li", folder="x"), f"Profile({here}, user='li', folder='x')"),
        (HybridSearch(store), f"HybridSearch({here}, words only)"),
        (store.transcript("s1"), "Transcript('s1/messages.jsonl')"),
        (store.side_files("x"), "SideFiles('x')"),
    ]:
        assert repr(memory) == shown


def test_a_toolset_names_its_tools(store: Store) -> None:
    tools = tools_for(Profile(store))
    assert repr(tools) == "Toolset(remember, memory_recall, flush, forget)"
    assert repr(tools["memory_recall"]) == "Tool('memory_recall', 'reads')"


def test_an_answer_names_its_hits(store: Store) -> None:
    for name in "abcd":
        store.write(f"{name}.md", "tea")
    assert repr(store.search("tea")) == "<4 hits, fresh: a.md#L1, b.md#L1, c.md#L1, …>"
    assert repr(store.search("tea", 1)) == "<1 hit, fresh: a.md#L1>"
    assert repr(store.search("coffee")) == "<0 hits, fresh>"
    scan = store.grep("t.a")
    assert next(scan).path == "a.md"
    assert repr(scan).startswith('<Grep "t.a": ')
    assert len(list(scan)) == 3
    assert repr(scan) == '<Grep "t.a": 4 matched in 4 lines so far>'
