"""Memories in subfolders of a root on the memory screens, and lists that go on behind an entry."""

from __future__ import annotations

import re
import time
from urllib.parse import unquote_plus

from commonplace import Store
from commonplace.memories import FactsAndEpisodes, FourLayers, Profile, WorldAndAgents
from commonplace.web.formats import when
from commonplace.web.memory_folders import memory_folders
from commonplace.web.note_index import NoteIndex
from tests.web_client import Client


def fill(store: Store) -> None:
    """Put memories at the root and into folders, beside notes that are none."""
    Profile(store).remember("User prefers tea", "preference")
    Profile(store, folder="work/team").remember("User prefers coffee", "preference")
    Profile(store, folder="work/team", user="mara").remember("User prefers milk", "preference")
    WorldAndAgents(store, "planner").remember("The ferry was late.")
    FourLayers(store, agent="planner", shared=False).append("episodic", {"content": "Own."})
    FourLayers(store, "layers").append("episodic", {"content": "Deployed."})
    FactsAndEpisodes(store, folder="diary").memory_append("episodes/2026-02.md", "The boat came.")
    store.write("notes/a.md", "# A\n")
    store.write("sessions/--app--/s1/working-memory/users/x.md", "# X\n")


def test_folders_with_a_memory_are_found(opened: Store) -> None:
    fill(opened)
    index = NoteIndex(opened)
    index.refresh()
    assert memory_folders(index) == ["agents/planner", "diary", "layers", "work/team"]
    # they follow what comes and goes
    opened.write("new/MEMORY.md", "# New\n")
    opened.write("deep/er/world/a.md", "# A\n")
    opened.delete("diary/episodes/2026-02.md")
    index.refresh()
    assert memory_folders(index) == ["agents/planner", "deep/er", "layers", "new", "work/team"]
    opened.delete("new/MEMORY.md")
    index.refresh()
    assert memory_folders(index) == ["agents/planner", "deep/er", "layers", "work/team"]


def test_each_system_is_shown_of_the_chosen_folder(opened: Store) -> None:
    fill(opened)
    client = Client(opened)
    assert 'href="/memory?folder=work%2Fteam"' in client.get("/memory").text
    html = client.get("/memory/profile?folder=work/team").text
    assert "User prefers coffee" in html
    assert "User prefers tea" not in html
    assert "folder=work%2Fteam&amp;user=mara" in html
    assert "prefers milk" in client.get("/memory/profile?folder=work/team&user=mara").text
    assert "Deployed." in client.get("/memory/layers?folder=layers").text
    assert "Own." in client.get("/memory/layers?folder=agents/planner").text
    assert "The boat came." in client.get("/memory/episodes?folder=diary").text
    assert client.get("/memory/profile?folder=notes").status_code == 404
    assert client.get("/memory/profile?folder=../x").status_code == 404
    # the filter by system finds what lies there as well
    assert "diary/episodes" in client.get("/?q=boat&system=facts").text


def test_an_entry_of_a_folder_is_corrected_and_forgotten_there(opened: Store) -> None:
    fill(opened)
    client = Client(opened)
    html = client.get("/memory/profile?folder=work/team").text
    citation = re.findall(r'name="citation" value="([^"]+)"', html)[0]
    assert citation.startswith("work/team/MEMORY.md#L")
    back = "/memory/profile?folder=work%2Fteam"
    form = {"folder": "work/team", "citation": citation, "content": "User prefers cocoa"}
    answer = client.post("/memory/profile/correct", **form, back=back)
    assert answer.headers["location"] == f"{back}#{citation.partition('#')[2]}"
    assert "cocoa" in opened.read("work/team/MEMORY.md")
    away = client.post("/memory/profile/correct", **form, back="//evil.example/memory/profile")
    assert away.headers["location"].startswith(back)
    form = {"folder": "work/team", "what": citation}
    asked = client.post("/memory/profile/forget", **form).text
    token = re.findall(r'name="token" value="([^"]+)"', asked)[0]
    assert client.post("/memory/profile/forget", **form, token=token).status_code == 303
    assert "cocoa" not in opened.read("work/team/MEMORY.md")
    assert "tea" in opened.read("MEMORY.md")


def entries(client: Client, address: str) -> tuple[list[str], str | None]:
    html = client.get(address).text
    more = re.search(r'rel="next" href="([^"]+)"', html)
    return re.findall(r"number (\d+)</p>", html), more[1].replace("&amp;", "&") if more else None


def test_a_list_goes_on_where_it_was_though_entries_come_and_go(opened: Store) -> None:
    lines = [f"- number {number}" for number in range(250)]
    head = "---\nunit: item\n---\n# Memory\n\n## Style\n\n"
    opened.write("MEMORY.md", head + "\n".join(lines) + "\n")
    client = Client(opened)
    first, following = entries(client, "/memory/profile")
    assert first == [str(number) for number in range(100)]
    assert following is not None
    # lines above are gone: those that were shown are not shown again, and none is left out
    opened.write("MEMORY.md", head + "\n".join(lines[:98] + lines[101:]) + "\n")
    second, _ = entries(client, following)
    assert second[0] in {"101", "102", "103"}
    days = "".join(f"## One\n\nnumber {number}\n\n" for number in range(30))
    opened.write("episodes/2026-02.md", f"# 2026-02\n\n{days}")
    seen, following = entries(client, "/memory/episodes")
    assert len(seen) == 20
    assert following is not None
    assert entries(client, following) == ([str(number) for number in range(20, 30)], None)


def test_the_newest_first_go_on_where_the_last_one_shown_is_gone(opened: Store) -> None:
    memory = FourLayers(opened)
    for number in range(120):
        memory.append("episodic", {"content": f"step {number}."})
    client = Client(opened)
    html = client.get("/memory/layers?layer=episodic").text
    assert "step 119." in html
    more = re.search(r'rel="next" href="([^"]+)"', html)
    assert more is not None
    place = re.search(r"after=([^&\"]+)", more[1])
    assert place is not None
    path, _, lines = unquote_plus(place[1]).partition("#L")
    written = opened.read(path).splitlines()
    # its heading goes, so that the entry is one with that above it
    del written[int(lines.partition("-")[0]) - 1]
    opened.write(path, "\n".join(written) + "\n")
    html = client.get(more[1].replace("&amp;", "&")).text
    assert "step 119." not in html
    assert "step 60." in html


def test_a_year_has_four_digits() -> None:
    first = time.mktime((1, 1, 2, 0, 0, 0, 0, 0, -1))
    assert when(first) == "0001-01-02 00:00"
