"""What a person looks at in each memory system: listings that its tools do not need."""

from __future__ import annotations

from datetime import date

import pytest

from commonplace import Store
from commonplace.errors import Conflict, NotFound, Refused
from commonplace.memories import FactsAndEpisodes, FourLayers, OverviewAndDetail, Profile
from commonplace.memories.facts_and_episodes.timeline import episodes, months
from commonplace.memories.overview_and_detail.folder import folders_with_memory
from commonplace.memories.profile import users
from commonplace.memories.world_and_agents import WorldAndAgents
from commonplace.memories.world_and_agents.listing import agents, diary, world
from tests.doubles import Clock

MARKED = """\
---
unit: item
---
# Memory

## Identity

- User lives in Rome <!-- META: since=2026-11-02 by=agent -->
- ~~User lives in Berlin~~ <!-- META: since=2026-02-24 until=2026-11-01 -->

## Style

- concise
"""


def test_a_correction_keeps_the_place_and_the_days(opened: Store) -> None:
    version = opened.write("MEMORY.md", MARKED).version
    memory = Profile(opened)
    done = memory.correct("MEMORY.md#L8", "User lives in Roma", expected_version=version)
    assert (done["citation"], done["category"]) == ("MEMORY.md#L8", "Identity")
    assert opened.read("MEMORY.md") == MARKED.replace(
        "User lives in Rome <!-- META: since=2026-11-02 by=agent -->",
        "User lives in Roma <!-- 2026-11-02 -->",
    )
    with pytest.raises(Conflict):
        memory.correct("MEMORY.md#L8", "User lives in Milan", expected_version=version)
    memory.correct("MEMORY.md#L9", "User lived in Bern")
    assert "- ~~User lived in Bern~~ <!-- META: since=2026-02-24 until" in opened.read("MEMORY.md")
    assert len(opened.history("MEMORY.md")) == 2


def test_a_correction_of_nothing_is_refused(opened: Store) -> None:
    opened.write("MEMORY.md", MARKED)
    opened.write("other.md", "- a\n")
    memory = Profile(opened)
    with pytest.raises(NotFound, match="no entry begins at"):
        memory.correct("MEMORY.md#L1", "x")
    for citation, content in (("other.md#L1", "x"), ("MEMORY.md#L8", " ")):
        with pytest.raises(Refused):
            memory.correct(citation, content)
    assert opened.read("MEMORY.md") == MARKED


def test_past_entries_are_listed_when_they_are_asked_for(opened: Store) -> None:
    opened.write("MEMORY.md", MARKED)
    memory = Profile(opened)
    assert [one.text for one in memory.entries()] == ["User lives in Rome", "concise"]
    found = memory.entries("identity", past=True)
    assert [(one.text, one.by, one.until) for one in found] == [
        ("User lives in Rome", "agent", None),
        ("User lives in Berlin", "owner", date(2026, 11, 1)),
    ]


def test_users_are_those_with_a_profile(opened: Store) -> None:
    for user in ("mara", "li.si"):
        Profile(opened, user=user, folder="bot").remember("User prefers tea")
    opened.write("bot/users/README.md", "No user.\n")
    assert users(opened, "bot") == ["li.si", "mara"]
    assert users(opened) == []


def test_agents_their_diaries_and_the_world(opened: Store, clock: Clock) -> None:
    planner = WorldAndAgents(opened, "planner", clock=clock)
    planner.remember("The ferry was late.")
    planner.learn_fact("a/b", "- Two.\n")
    planner.learn_fact("people", "- Mara.\n")
    WorldAndAgents(opened, "scribe").reflect("# Mine\n")
    opened.write("agents/notes.md", "No agent.\n")
    (opened.root / "agents/planner/daily/20260224.md").write_text("No day.\n")
    assert agents(opened) == ["planner", "scribe"]
    assert [path for _, path in diary(opened, "planner")] == [
        f"agents/planner/daily/{clock().date().isoformat()}.md"
    ]
    assert [note.topic for note in world(opened)] == ["a/b", "people"]
    (first,) = world(opened, limit=1)
    assert [note.topic for note in world(opened, after=first.path)] == ["people"]


def test_what_was_compacted_is_listed_beside_what_stands_for_it(opened: Store) -> None:
    memory = FourLayers(opened)
    for number in range(5):
        memory.append("episodic", {"content": f"Ferry {number} was late."})
    done = memory.compact("episodic", {"keepLast": 2})
    archived = memory.archived("episodic")
    assert [entry.content for entry, _ in archived] == [f"Ferry {n} was late." for n in range(3)]
    (summary,) = [entry for entry, _ in memory.cited("episodic") if entry.id == done["summary"]]
    assert summary.metadata is not None
    assert summary.metadata["archived"] == done["archived"]
    assert memory.archived("semantic") == []


def test_sessions_with_a_working_memory(opened: Store) -> None:
    session = OverviewAndDetail(opened, "s1", cwd="/home/alex/app")
    session.write_overview("# Now\n\nThe ferry.\n")
    opened.transcript("sessions/app/s2").append({"role": "user", "content": "Hello."})
    assert folders_with_memory(opened) == [session.folder]


def test_episodes_by_month_with_what_was_archived(opened: Store) -> None:
    memory = FactsAndEpisodes(opened, "own")
    for day in ("2025-01-05", "2025-01-20", "2026-02-03"):
        text = f"## Ferry of {day}\n- Summary: late\n- Date: {day}\n"
        memory.memory_append(f"episodes/{day[:7]}.md", text)
    memory.summarise_months(date(2025, 6, 1))
    new, old = months(opened, "own")
    assert (new.name, old.name, old.paths) == ("2026-02", "2025-01", ())
    (episode,) = episodes(opened, new)
    assert (episode.title, episode.day) == ("Ferry of 2026-02-03", date(2026, 2, 3))
    assert [(one.archived, one.day) for one in episodes(opened, old)] == [
        (True, date(2025, 1, 5)),
        (True, date(2025, 1, 20)),
    ]
    assert months(opened) == []
