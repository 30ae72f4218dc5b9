"""Memory, log and health screens of the web page, without a browser."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from pathlib import Path

import pytest

import commonplace
from commonplace import Store
from commonplace.doors.hook_log import HookLog
from commonplace.doors.injection_labels import InjectionLabels
from commonplace.progress import FOLDER, ProgressNotes
from commonplace.web import health_page, plots, store_counts
from commonplace.web.store_counts import MONTHS
from tests.web_client import Client

PROFILE = (
    "---\nunit: item\n---\n# Memory\n\n## Style\n\n- concise <!-- 2026-02-24 -->\n- no emoji\n"
)


def parts(client: Client, first: str, found: str) -> list[str]:
    """Return what a list shows, from its first page to its last."""
    seen: list[str] = []
    following: str | None = first
    while following:
        text = client.get(following).text
        seen += re.findall(found, text)
        more = re.search(r'rel="next" href="([^"]+)"', text)
        following = more[1].replace("&amp;", "&") if more else None
    return seen


def test_a_root_without_memories_says_so(opened: Store) -> None:
    client = Client(opened)
    for address in ("/memory", "/memory/profile", "/memory/agents", "/memory/layers"):
        assert client.get(address).status_code == 200
    for address in ("/memory/sessions", "/memory/episodes", "/log", "/health"):
        assert client.get(address).status_code == 200
    assert "nothing yet in" in client.get("/memory").text
    assert "No hook has run here yet" in client.get("/log").text


def test_what_there_is_not_is_not_found(opened: Store) -> None:
    opened.write("agents/planner/MEMORY.md", "# Mine\n")
    opened.write("episodes/2026-02.md", "## One\n\nx\n")
    client = Client(opened)
    for address in (
        "/memory/agents?agent=other",
        "/memory/episodes?month=2026-03",
        "/memory/session/sessions/none",
        "/log/none",
    ):
        assert client.get(address).status_code == 404, address
    assert client.get("/memory/profile?user=../x").status_code == 403


def test_an_entry_is_corrected_only_as_it_was_read(opened: Store) -> None:
    version = opened.write("MEMORY.md", PROFILE).version
    client = Client(opened)
    form = {"citation": "MEMORY.md#L8", "content": "short", "version": version}
    done = client.post("/memory/profile/correct", **form)
    assert (done.status_code, done.headers["location"]) == (303, "/memory/profile#L8")
    assert "- short <!-- 2026-02-24 -->" in opened.read("MEMORY.md")
    again = client.post("/memory/profile/correct", **form | {"content": "brief"})
    assert again.status_code == 409
    assert "brief" in again.text
    assert "- short" in opened.read("MEMORY.md")
    assert (
        client.post("/memory/profile/correct", content="x", citation="a.md#L1").status_code == 403
    )


def test_a_long_profile_is_shown_in_parts(opened: Store) -> None:
    items = "".join(f"- likes tea number {number}\n" for number in range(250))
    opened.write("MEMORY.md", f"---\nunit: item\n---\n## Tea\n\n{items}")
    found = r'<p class="statement" dir="auto">likes tea number (\d+)</p>'
    seen = parts(Client(opened), "/memory/profile", found)
    assert seen == [str(number) for number in range(250)]


def test_all_that_is_forgotten_is_shown_before(opened: Store) -> None:
    long = "Rex " + "barks " * 1000
    items = "".join(f"- Rex likes ball number {number}\n" for number in range(120))
    opened.write("MEMORY.md", f"---\nunit: item\n---\n## Dog\n\n- {long}\n{items}- likes tea\n")
    client = Client(opened)
    form = {"what": "Rex"}
    seen: list[str] = []
    for start in ("0", "50", "100"):
        answer = client.post("/memory/profile/forget", **form, start=start)
        seen += re.findall(r"Rex likes ball number (\d+)<", answer.text)
    assert seen == [str(number) for number in range(120)]
    assert "Passages 101 to 121 of 121" in answer.text
    assert "Erase all 121 passages for good" in answer.text
    assert 'name="start" value="150"' not in answer.text
    # one that is cut says by how much, and its citation leads to the whole
    first = client.post("/memory/profile/forget", **form).text
    assert re.search(r'href="/note/MEMORY.md#L6">.*?</a> <span[^>]*>[\d,]+ more characters', first)
    assert client.post("/memory/profile/forget", **form, start="x").status_code == 400
    token = re.search(r'name="token" value="([^"]+)"', answer.text)
    assert token is not None
    opened.append("MEMORY.md", "- Rex sleeps\n")
    changed = client.post("/memory/profile/forget", **form, token=token[1])
    assert changed.status_code == 409
    assert "of 122" in changed.text
    assert "Rex likes" in opened.read("MEMORY.md")
    token = re.search(r'name="token" value="([^"]+)"', changed.text)
    assert token is not None
    assert client.post("/memory/profile/forget", **form, token=token[1]).status_code == 303
    assert "Rex" not in opened.read("MEMORY.md")
    assert "likes tea" in opened.read("MEMORY.md")
    nothing = client.post("/memory/profile/forget", what="Rex likes tea")
    assert "Similar passages" in nothing.text


def test_layers_and_log_go_on_behind_a_cursor(opened: Store) -> None:
    blocks = "".join(f"## Episode {number}\n\nx\n\n" for number in range(120))
    opened.write("episodes/2026-02.md", blocks)
    log = HookLog(opened)
    for number in range(120):
        log.add(host="h", session=f"s{number}", event="prompt", characters=number + 1, shown=[])
    client = Client(opened)
    for address, found in (
        ("/memory/layers", r"#L\d+\">episodes/2026-02.md#L(\d+)"),
        ("/log", r'<td class="number">(\d+)</td>'),
    ):
        seen = parts(client, address, found)
        assert len(seen) == len(set(seen)) == 120


def test_a_label_needs_what_was_asked(opened: Store) -> None:
    opened.write("a.md", "The ferry.\n")
    log = HookLog(opened)
    log.add(host="h", session="s", event="prompt", shown=[{"citation": "a.md#L1", "score": 1.0}])
    (entry,) = log.newest(1)
    client = Client(opened)
    form = {"name": entry["id"], "citation": "a.md#L1", "useless": "1"}
    assert client.post("/log/useless", **form).status_code == 400
    assert client.post("/log/useless", **form, query="which ferry").status_code == 303
    assert InjectionLabels(opened).useless(entry["id"]) == {"a.md#L1"}
    assert "commonplace eval .commonplace/labels.jsonl" in client.get("/log").text
    assert Client(opened, read_only=True).post("/log/useless", **form).status_code == 403


def test_the_log_of_others_breaks_no_page(opened: Store) -> None:
    files = opened.side_files("hooks")
    for line in (b"[1]", b"null", b"torn {", b'{"shown": 7, "characters": [1], "paths": 3}'):
        files.append("log.jsonl", line + b"\n")
    client = Client(opened)
    assert client.get("/log").status_code == 200
    for entry in HookLog(opened).newest(9):
        assert client.get(f"/log/{entry['id']}").status_code == 200


def test_health_tells_what_is_wrong_and_counts_anew(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "chat.jsonl").write_text('{"role": "user", "content": "Hello."}\n{torn\n')
    (root / "odd.md").write_bytes("Tea.".encode("utf-16"))
    monkeypatch.setattr(store_counts, "FRESH", 0.0)
    monkeypatch.setattr(store_counts, "AT_ONCE", 60.0)
    with commonplace.open(root) as store:
        client = Client(store)
        client.get("/?q=hello")
        # a chart of one point would say nothing
        assert 'class="point"' not in client.get("/health").text
        client.get("/?q=tea")
        text = client.get("/health").text
        assert "chat.jsonl#L2" in text
        assert "odd.md" in text
        assert "Some files could not be read: answers leave them out." in text
        assert 'class="point"' in text
        store.write("new.md", "One more.\n")
        (root / "odd.md").unlink()
        text = client.get("/health").text
        assert "<dt>notes</dt><dd>1</dd>" in text
        assert "The index is up to date with all files." in text


def test_a_long_count_is_made_anew_while_the_last_is_shown(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_counts, "FRESH", 0.0)
    monkeypatch.setattr(store_counts, "AT_ONCE", -1.0)
    with commonplace.open(root) as store:
        counts = store_counts.StoreCounts(Client(store).app.state.frame)
        assert counts.latest().status.notes == 0
        store.write("new.md", "One more.\n")
        assert counts.latest().status.notes == 0
        deadline = time.monotonic() + 60
        while counts.latest().status.notes == 0:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert counts.latest().status.notes == 1


def test_what_runs_is_streamed(opened: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = ProgressNotes(opened.side_files(FOLDER), "import")
    notes._last = 0.0
    notes.note(3, 10)
    monkeypatch.setattr(health_page, "INTERVAL", 0.01)
    asked = iter((False, False, True))

    async def gone(_: object) -> bool:
        return next(asked)

    monkeypatch.setattr("starlette.requests.Request.is_disconnected", gone)
    answer = Client(opened).get(health_page.PROGRESS)
    assert answer.headers["content-type"].startswith("text/event-stream")
    (event,) = re.findall(r"data: (.*)\n\n", answer.text)
    runs = {"import": {"done": 3, "total": 10}}
    assert json.loads(event) == {"running": runs, "lost": [], "ended": 0}
    assert Client(opened, opens=False).get(health_page.PROGRESS).status_code == 401


def test_plots_escape_and_fill_in_months() -> None:
    drawn = plots.bars('<"&>', [("<b>", 1.0)], "<u>")
    assert "<b>" not in drawn
    assert "<u>" not in drawn
    months, before = store_counts._growth(Counter({"2025-11": 1, "2026-02": 2}))
    assert months == (("2025-11", 1), ("2025-12", 0), ("2026-01", 0), ("2026-02", 2))
    assert before == 0
    months, before = store_counts._growth(Counter({"1970-01": 1, "1980-01": 6, "2026-02": 2}))
    assert (len(months), before) == (MONTHS, 7)


def test_what_is_older_than_a_plot_is_told(opened: Store) -> None:
    log = opened.transcript("sessions/p/s")
    for year in (2015, 2015, 2026):
        log.append({"role": "user", "content": "Tea?", "timestamp": f"{year}-02-01T10:00:00Z"})
    other = opened.transcript("sessions/p/old")
    other.append({"role": "user", "content": "Tea?", "timestamp": "2015-02-01T10:00:00Z"})
    assert "before 2023-03: 1" in Client(opened).get("/health").text


def test_what_was_killed_is_told_as_lost(opened: Store) -> None:
    old = {"time": time.time() - 61, "done": 3, "total": 10, "running": True}
    opened.side_files(FOLDER).replace("embedding.json", [json.dumps(old).encode()])
    text = Client(opened).get("/health").text
    assert '<p class="notice bad" data-lost="embedding">' in text
    assert '<p class="notice bad" data-lost="import" hidden>' in text
    assert '<p class="notice" data-kind="embedding" hidden>' in text
