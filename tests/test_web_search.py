"""Search screen: kinds of hits, filters, parts of the score, addresses, the part for a script."""

from __future__ import annotations

import re
from html import escape, unescape
from pathlib import Path
from urllib.parse import urlencode

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
    assert '<a href="/notes">2 notes</a> · <a href="/sessions">2 sessions</a> · 4 messages' in html
    assert html.count('class="row-link" href="/session/') == 2


def test_an_empty_root_says_how_to_begin(tmp_path: Path) -> None:
    with commonplace.open(tmp_path / "new") as store:
        html = Client(store).get("/").text
        assert 'href="/import"' in html
        assert 'href="/notes/new?ask=1"' in html
        assert 'href="/import"' not in Client(store, read_only=True).get("/").text


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


@pytest.mark.parametrize("address", ["/?q=tea&system=x", "/?q=tea&since=x", "/?q=tea&from=x"])
def test_a_bad_filter_is_said(client: Client, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text


def test_a_script_gets_the_list_alone(client: Client) -> None:
    html = client.get("/?q=tea", **{"X-Part": "1"}).text
    assert "<html" not in html
    assert 'class="hit ' in html


def next_page(html: str) -> str:
    return unescape(html.partition('rel="next" href="')[2].partition('"')[0])


def test_more_are_shown_by_the_last_one_shown(store: Store, client: Client) -> None:
    for number in range(50):
        store.write(f"many/{number:02}.md", f"# Rain {number:02}\n\nIt rains.\n")
    html, shown = client.get("/?q=rain&source=note").text, []
    while True:
        shown.append(re.findall(r'href="/note/(many/\d+.md)#', html))
        if not (address := next_page(html)):
            break
        assert "from=" in address
        assert "after=many" in address
        assert "source=note" in address
        html = client.get(address).text
    assert [len(one) for one in shown] == [20, 20, 10]
    assert sorted(one for part in shown for one in part) == [
        f"many/{number:02}.md" for number in range(50)
    ]
    assert 'start="41"' in html
    assert 'class="button back" href="/?q=rain&amp;source=note"' in html


def test_a_page_goes_on_behind_what_was_shown(store: Store, client: Client) -> None:
    for number in range(30):
        store.write(f"many/{number:02}.md", f"# Rain {number:02}\n\nIt rains.\n")
    address = next_page(client.get("/?q=rain").text)
    before = re.findall("many/../?..md#", client.get(address).text)
    # a better one moves all others, and the page begins where it did
    store.write("best.md", "# Rain rain\n\nRain.\n")
    assert re.findall("many/../?..md#", client.get(address).text) == before
    # where the last one shown is gone, the page begins at its rank
    store.delete("many/19.md")
    assert client.get(address).text.count('class="hit note"') == 10


def test_no_more_than_two_hundred_are_shown(store: Store, client: Client) -> None:
    for number in range(210):
        store.write(f"many/{number}.md", f"# Rain {number}\n\nIt rains.\n")
    html = client.get("/?q=rain&from=180").text
    assert html.count('class="hit note"') == 20
    assert "No more than 200 are shown" in html
    assert not next_page(html)
    assert 'start="181"' in client.get("/?q=rain&from=999999").text
    assert "There are no more" in client.get("/?q=noon&from=40").text


def test_filters_combine_and_each_is_removed(client: Client, store: Store) -> None:
    log = store.transcript("sessions/harbour/old")
    log.append({"role": "user", "content": "Old tea?", "timestamp": "2020-02-01T10:00:00Z"})
    filters = {
        "project": "harbour",
        "role": "assistant",
        "source": "message",
        "since": "2021-01-01",
    }
    html = client.get(f"/?q=tea&from=20&{urlencode(filters)}").text
    for name in filters:
        left = {one: value for one, value in filters.items() if one != name}
        assert f'data-filter="{name}" href="/?{escape(urlencode({"q": "tea"} | left))}"' in html
    assert 'data-filter="" href="/?q=tea"' in html
    store.write("sessions/harbour/overview.md", "Tea was shipped.\n")
    html = client.get("/?q=tea&project=harbour&system=sessions").text
    assert "sessions/harbour/overview.md" in html
    assert html.count('class="hit note"') == html.count('class="hit ') == 1


@pytest.mark.parametrize(
    ("filters", "why"),
    [
        ("project=harbour&system=profile", "not divided by project"),
        ("role=user&system=facts", "no speaker"),
        ("role=user&source=note", "no speaker"),
        ("source=message&system=world", "made of notes"),
    ],
)
def test_filters_that_exclude_each_other_say_so(client: Client, filters: str, why: str) -> None:
    answer = client.get(f"/?q=tea&{filters}")
    assert answer.status_code == 200
    assert why in answer.text
    assert answer.text.count("data-filter=") == 3
    assert "Nothing was found" in answer.text


def test_an_error_for_a_script_is_no_whole_page(client: Client) -> None:
    html = client.get("/?q=tea&since=x", **{"X-Part": "1"}).text
    assert 'role="alert"' in html
    assert "<html" not in html


def test_parts_of_a_score_are_those_of_explain(store: Store) -> None:
    query = "ferries morning tea"
    for hit in store.search(query, 10):
        explained = store.explanation(query, hit.citation)
        parts = score_parts(explained, query)
        assert sum(part.amount for part in parts) == pytest.approx(hit.score, abs=1e-4)
        assert {part.name for part in parts} - {SESSION} == {"ferries", "morning", "tea"}
        assert sum(part.share for part in parts) == pytest.approx(1)
        assert all(part.fields for part in parts if part.amount and part.name)


def test_a_turn_of_one_message_is_explained_as_a_turn(client: Client, store: Store) -> None:
    log = store.transcript("sessions/kitchen/short")
    log.append({"role": "user", "content": "Walrus and walrus tea."})
    (hit,) = store.search("walrus tea", 1)
    assert "-" not in hit.citation
    explained = store.explanation("walrus tea", f"{hit.citation}-L{hit.line}")
    assert explained.score == pytest.approx(hit.score, abs=1e-4)
    part = max(score_parts(explained, "walrus tea"), key=lambda one: one.share)
    html = client.get("/?q=walrus+tea").text
    assert f'<td class="number">{part.share * 100:.0f} %</td>' in html


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
