"""Search screen: kinds of hits, filters, parts of the score, addresses, the part for a script."""

from __future__ import annotations

from pathlib import Path

import pytest

import commonplace
from commonplace import Store
from commonplace.web.score_parts import SESSION, explained_parts, score_parts
from tests.web_client import Client


@pytest.fixture
def store(tmp_path: Path) -> Store:
    own = commonplace.open(tmp_path / "root")
    own.write("facts/tea.md", "---\nunit: item\n---\n# Tea\n\n- Green tea in the morning.\n")
    own.write("notes/ferry.md", "# Ferries\n\nThe ferry carries tea.\n")
    for project, question in (("harbour", "When does the ferry go?"), ("kitchen", "Which tea?")):
        log = own.transcript(f"sessions/{project}/2026-02-01-{project}")
        log.append({"role": "user", "content": question, "timestamp": "2026-02-01T10:00:00Z"})
        log.append({"role": "assistant", "content": "The tea ferry <b>goes</b> at noon."})
    return own


@pytest.fixture
def client(store: Store) -> Client:
    return Client(store)


def test_the_empty_page_is_a_form(client: Client) -> None:
    html = client.get("/").text
    assert 'name="q"' in html
    assert 'action="/"' in html
    assert "2 notes, 2 sessions, 4 messages" in html


def test_one_list_of_notes_turns_and_statements(client: Client) -> None:
    html = client.get("/?q=tea").text
    for kind in ("statement", "note", "turn"):
        assert f'class="hit {kind}"' in html
    assert "<mark>tea</mark>" in html.lower()
    assert 'href="/note/facts/tea.md#L6"' in html


def test_a_hit_leads_to_its_turn_and_line(client: Client) -> None:
    html = client.get("/?q=noon&project=harbour").text
    path = "/session/sessions/harbour/2026-02-01-harbour/messages.jsonl"
    assert f'href="{path}?start=1#L2"' in html
    assert client.get(f"{path}?start=1").status_code == 200


def test_what_was_said_is_text(client: Client) -> None:
    html = client.get("/?q=goes").text
    assert "<b>goes" not in html
    assert "&lt;b&gt;" in html


@pytest.mark.parametrize(
    ("filters", "found", "left_out"),
    [
        ("project=harbour", "2026-02-01-harbour", "2026-02-01-kitchen"),
        ("source=note", "notes/ferry.md", "2026-02-01-harbour"),
        ("source=message", "2026-02-01-harbour", "notes/ferry.md"),
        ("role=user", "2026-02-01-kitchen", "notes/ferry.md"),
        ("system=facts", "facts/tea.md", "notes/ferry.md"),
    ],
)
def test_filters(client: Client, filters: str, found: str, left_out: str) -> None:
    html = client.get(f"/?q=tea&{filters}").text.partition("</form>")[2]
    assert found in html
    assert left_out not in html


def test_time_is_a_filter(client: Client) -> None:
    assert "Nothing was found" in client.get("/?q=ferry&source=message&since=2999-01-01").text


def test_chosen_filters_stay_chosen(client: Client) -> None:
    html = client.get("/?q=tea&project=unknown&since=3d").text
    assert '<option value="unknown" selected>' in html
    assert '<option value="3d" selected>' in html


@pytest.mark.parametrize("address", ["/?q=tea&system=x", "/?q=tea&since=x", "/?q=tea&n=x"])
def test_a_bad_filter_is_said(client: Client, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text


def test_a_script_gets_the_list_alone(client: Client) -> None:
    html = client.get("/?q=tea", **{"X-Part": "1"}).text
    assert "<html" not in html
    assert 'class="hit ' in html


def test_more_are_shown_when_asked(store: Store, client: Client) -> None:
    for number in range(30):
        store.write(f"many/{number}.md", f"# Rain {number}\n\nIt rains.\n")
    html = client.get("/?q=rain").text
    assert html.count('class="hit note"') == 20
    assert 'href="/?q=rain&amp;n=60"' in html
    assert client.get("/?q=rain&n=60").text.count('class="hit note"') == 30


def test_parts_of_a_score_are_those_of_explain(store: Store) -> None:
    query = "ferries morning tea"
    for hit in store.search(query, 10):
        explained = store.explanation(query, hit.citation)
        parts = score_parts(explained, query)
        assert sum(part.amount for part in parts) == pytest.approx(hit.score, abs=1e-4)
        assert {part.name for part in parts} - {SESSION} == {"ferries", "morning", "tea"}
        assert sum(part.share for part in parts) == pytest.approx(1)
        assert all(part.fields for part in parts if part.amount and part.name)


def test_what_is_archived_is_found_without_parts(store: Store, client: Client) -> None:
    pytest.importorskip("tantivy", reason="needs tantivy: pip install 'commonplace[archive]'")
    said = {"role": "user", "content": "Where is the walrus?"}
    store.transcript("sessions/old/s").append(said)
    store.archive(sessions=["sessions/old/s"])
    answer = client.get("/?q=walrus")
    assert answer.status_code == 200
    assert "It is in the archive" in answer.text


def test_why_this_is_in_the_page(client: Client) -> None:
    html = client.get("/?q=ferry+tea").text
    assert 'class="bar"' in html
    assert "why this" in html
    assert "body" in html


def test_chinese_by_header_and_by_switch(client: Client) -> None:
    assert "搜索" in client.get("/?q=tea", **{"Accept-Language": "zh-CN,zh;q=0.9"}).text
    assert (
        client.post("/preferences", language="zh", back="/?q=tea").headers["location"] == "/?q=tea"
    )
    html = client.get("/?q=tea").text
    assert 'lang="zh-Hans"' in html
    assert "为什么是它" in html


def test_theme_is_kept(client: Client) -> None:
    client.post("/preferences", theme="dark")
    assert 'data-theme="dark"' in client.get("/").text
    client.post("/preferences", theme="purple")
    assert 'data-theme="dark"' in client.get("/").text


@pytest.mark.parametrize("citation", ["/etc/passwd#L1", "../x.md#L1", "none.md#L1", ""])
def test_what_is_no_place_of_a_memory_has_no_parts(opened: Store, citation: str) -> None:
    opened.write("a.md", "The ferry.\n")
    assert explained_parts(opened, "ferry", "a.md#L1")
    # a line of the log of hooks may name any place, and breaks no page
    assert explained_parts(opened, "ferry", citation) == []
