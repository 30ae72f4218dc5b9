"""Note screens: folders, rendering, links, tags, editing by compare-and-swap, history."""

from __future__ import annotations

import html as entities
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import commonplace
from commonplace import Store
from commonplace.web.line_merge import diff_lines, has_markers, merge_lines
from commonplace.web.markdown import rendered
from tests.web_client import Client

NOTE = """---
tags: [tea, home]
---
# Tea

<!-- META -->

See [[user]], [[Nobody]] and [f](../f.md).
"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    own = commonplace.open(tmp_path / "root")
    own.write("facts/tea.md", NOTE)
    own.write("facts/user.md", "# User\n\nLikes [tea](tea.md).\n")
    own.write("f.md", "# F\n")
    return own


@pytest.fixture
def client(store: Store) -> Client:
    return Client(store)


def field(html: str, name: str) -> str:
    found = re.search(rf'name="{name}"[^>]*?(?: value="([^"]*)"|>\n([^<]*)</textarea>)', html)
    assert found, name
    return entities.unescape(found[1] if found[1] is not None else found[2])


# Reading


def test_folders_and_files(client: Client) -> None:
    html = client.get("/notes").text
    assert 'href="/notes?folder=facts"' in html
    assert 'href="/note/f.md"' in html
    assert "tea.md" not in html
    assert 'href="/note/facts/tea.md"' in client.get("/notes?folder=facts").text
    assert client.get("/notes?folder=none").status_code == 404


def test_tags_are_links(client: Client) -> None:
    assert 'href="/notes?tag=tea"' in client.get("/notes").text
    html = client.get("/notes?tag=home").text
    assert 'href="/note/facts/tea.md"' in html
    assert 'href="/note/facts/user.md"' not in html


def test_a_note_is_rendered_beside_its_source(client: Client) -> None:
    html = client.get("/note/facts/tea.md").text
    assert '<h2 id="L4">Tea</h2>' in html
    assert 'id="S4"' in html
    assert "META" in html.partition('<pre class="source"')[2]
    assert "META" not in html.partition('<pre class="source"')[0]
    assert 'class="source"' not in client.get("/note/facts/tea.md?view=text").text
    assert 'class="prose' not in client.get("/note/facts/tea.md?view=source").text


def test_links_lead_to_notes(client: Client) -> None:
    html = client.get("/note/facts/tea.md").text
    assert 'href="/note/facts/user.md"' in html
    assert 'href="/note/f.md"' in html
    assert 'href="/notes/new?path=Nobody"' in html


def test_backlinks_follow_what_is_written(store: Store, client: Client) -> None:
    assert 'href="/note/facts/tea.md#L8"' in client.get("/note/facts/user.md").text
    assert 'href="/note/facts/user.md#L3"' in client.get("/note/facts/tea.md").text
    store.write("facts/tea.md", "# Tea\n")
    assert "#L8" not in client.get("/note/facts/user.md").text
    store.root.joinpath("by-hand.md").write_text("# By hand\n\n[[facts/user]]\n")
    assert 'href="/note/by-hand.md#L3"' in client.get("/note/facts/user.md").text


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](vbscript:x)",
    "<javascript:alert(1)>",
    "![x](http://evil.example/a.png)",
    '[x](http://e.example "\\" onmouseover=alert(1) ")',
    "[[<img src=x>|<b>]]",
    '```x"><script>\nalert(1)\n```',
    "<a href='javascript:alert(1)'>x</a>",
    "<!-- --><script>alert(1)</script>",
    "<!--><img src=x onerror=alert(1)>-->",
    "[x]: javascript:alert(1)\n[x]",
    "<iframe src=//evil.example></iframe>",
    "<style>*{display:none}</style>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
]


ALLOWED = {
    *("a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li"),
    *("ol", "p", "pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}


class Tags(HTMLParser):
    """The tags of a page with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_markdown_is_text(text: str) -> None:
    html = str(rendered(text, path="a.md", resolve=lambda _: None, lines=True))
    tags = Tags()
    tags.feed(html)
    for name, attributes in tags.found:
        assert name in ALLOWED
        assert set(attributes) <= {"id", "class", "href", "title", "target", "rel", "tabindex"}
        assert re.match(r"https?://|/note|$", attributes.get("href") or "")


@given(st.text(alphabet="<>[]()!\"'&`*_#-\n\\ =:/ajsrx|", max_size=80))
def test_only_listed_tags_come_out(text: str) -> None:
    tags = Tags()
    tags.feed(str(rendered(text, path="a.md", resolve=lambda name: f"{name}.md")))
    assert {name for name, _ in tags.found} <= ALLOWED


def test_raw_html_is_shown_as_it_was_written() -> None:
    html = rendered("one <del>two</del>\n\n<table><tr><td>three</table>\n")
    assert "one &lt;del&gt;two&lt;/del&gt;" in html
    assert "&lt;table&gt;&lt;tr&gt;&lt;td&gt;three" in html


# Editing


def test_tasks_are_boxes() -> None:
    html = rendered("- [x] painted\n- [ ] a *new* sign\n- [y] none\n\n[ ] no item\n")
    assert html.count('class="task"') == 2
    assert '<li><span class="task">☑</span> painted</li>' in html
    assert '<li><span class="task">☐</span> a <em>new</em> sign</li>' in html
    assert "<li>[y] none</li>" in html
    assert "<p>[ ] no item</p>" in html


def test_html_is_kept_only_for_the_same_text_and_place() -> None:
    text = "[see](b.md) ![p](q.png)"
    first = rendered(text, path="one/a.md")
    assert rendered(text, path="one/a.md") == first
    assert 'href="/note/one/b.md"' in first
    assert 'href="/note/two/b.md"' in rendered(text, path="two/a.md")
    assert "image left out: p" in rendered(text, path="one/a.md", image_note="image left out")


def test_a_note_is_saved(store: Store, client: Client) -> None:
    html = client.get("/edit/f.md").text
    text = field(html, "content")
    assert text == "# F\n"
    answer = client.post(
        "/edit/f.md", version=field(html, "version"), content="# F\r\n\r\nMore.\r\n"
    )
    assert answer.headers["location"] == "/note/f.md"
    assert store.read("f.md") == "# F\n\nMore.\n"
    assert [store.read("f.md", one.version) for one in store.history("f.md")] == ["# F\n"]


def test_line_ends_of_a_file_stay(store: Store, client: Client) -> None:
    store.write("w.md", "one\r\ntwo\r\n")
    version = field(client.get("/edit/w.md").text, "version")
    client.post("/edit/w.md", version=version, content="one\r\nthree\r\n")
    assert store.read("w.md") == "one\r\nthree\r\n"


def test_a_new_note_is_made_once(store: Store, client: Client) -> None:
    assert client.get("/notes/new?path=facts/new").headers["location"] == "/edit/facts/new.md"
    html = client.get("/edit/facts/new.md").text
    assert field(html, "version") == "absent"
    client.post("/edit/facts/new.md", version="absent", content="# New\n")
    assert store.read("facts/new.md") == "# New\n"
    again = client.post("/edit/facts/new.md", version="absent", content="# Other\n")
    assert again.status_code == 409
    assert store.read("facts/new.md") == "# New\n"


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_conflict_shows_both_and_a_merge(store: Store, client: Client, by_hand: bool) -> None:
    store.write("c.md", "one\ntwo\nthree\n")
    html = client.get("/edit/c.md").text
    form = {name: field(html, name) for name in ("version", "base")}
    theirs = "ONE\ntwo\nthree\n"
    if by_hand:
        store.root.joinpath("c.md").write_text(theirs)
    else:
        store.write("c.md", theirs)
    answer = client.post("/edit/c.md", **form, content="one\ntwo\nTHREE\n")
    assert answer.status_code == 409
    assert store.read("c.md") == theirs
    assert field(answer.text, "content") == "ONE\ntwo\nTHREE\n"
    assert answer.text.count('class="diff ') == 2
    # what the merge is saved over is the file that was shown
    form = {name: field(answer.text, name) for name in ("version", "base", "content")}
    assert client.post("/edit/c.md", **form).status_code == 303
    assert store.read("c.md") == "ONE\ntwo\nTHREE\n"


def test_markers_are_not_saved(store: Store, client: Client) -> None:
    store.write("c.md", "one\n")
    html = client.get("/edit/c.md").text
    form = {name: field(html, name) for name in ("version", "base")}
    store.write("c.md", "theirs\n")
    answer = client.post("/edit/c.md", **form, content="mine\n")
    merged = field(answer.text, "content")
    assert has_markers(merged)
    form = {name: field(answer.text, name) for name in ("version", "base")}
    again = client.post("/edit/c.md", **form, content=merged)
    assert again.status_code == 409
    assert store.read("c.md") == "theirs\n"
    assert client.post("/edit/c.md", **form, content="both\n").status_code == 303


def test_preview_is_what_the_page_shows(client: Client) -> None:
    html = client.post("/preview", path="facts/x.md", content="*a* [[user]] <script>").text
    assert "<em>a</em>" in html
    assert 'href="/note/facts/user.md"' in html
    assert "<script>" not in html


@pytest.mark.parametrize("path", ["a.txt", ".commonplace/x.md", "messages.jsonl", "%2e%2e/x.md"])
def test_only_notes_are_edited(client: Client, path: str) -> None:
    assert client.get(f"/edit/{path}").status_code in {403, 404}
    assert client.post(f"/edit/{path}", version="absent", content="x").status_code in {403, 404}


def test_a_file_that_is_no_utf8_is_not_edited(store: Store, client: Client) -> None:
    store.root.joinpath("latin.md").write_bytes(b"caf\xe9\n")
    assert client.get("/note/latin.md").status_code == 200
    assert client.get("/edit/latin.md").status_code == 400


# History


def test_history_shows_changes_and_restores(store: Store, client: Client) -> None:
    store.write("f.md", "# F\n\nMore.\n")
    html = client.get("/history/f.md").text
    assert "1 earlier version" in html
    assert '<tr class="added">' in html
    form = {name: field(html, name) for name in ("version", "current")}
    store.write("f.md", "# Changed meanwhile\n")
    assert client.post("/restore/f.md", **form).status_code == 409
    html = client.get(f"/history/f.md?version={form['version']}").text
    form = {name: field(html, name) for name in ("version", "current")}
    assert client.post("/restore/f.md", **form).status_code == 303
    assert store.read("f.md") == "# F\n"


def test_a_deleted_note_is_restored(store: Store, client: Client) -> None:
    store.delete("f.md")
    assert client.get("/note/f.md").status_code == 404
    html = client.get("/history/f.md").text
    form = {name: field(html, name) for name in ("version", "current")}
    assert client.post("/restore/f.md", **form).status_code == 303
    assert store.read("f.md") == "# F\n"


def test_history_of_nothing(client: Client) -> None:
    assert client.get("/history/none.md").status_code == 404
    assert client.get("/history/f.md?version=x").status_code == 404
    assert "has not changed" in client.get("/history/f.md").text


# Merging


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n"]), max_size=8).map("".join)


@given(LINES, LINES)
def test_a_change_of_one_side_is_taken(base: str, changed: str) -> None:
    assert merge_lines(base, changed, base) == (changed, 0)
    assert merge_lines(base, base, changed) == (changed, 0)
    assert merge_lines(base, changed, changed) == (changed, 0)


@given(LINES, LINES, LINES)
def test_a_merge_loses_no_line_of_a_conflict(base: str, ours: str, theirs: str) -> None:
    merged, clashes = merge_lines(base, ours, theirs)
    assert has_markers(merged) == (clashes > 0)
    if clashes:
        kept = [line for line in merged.splitlines() if line[:1] in "abcd" and line]
        new = set(ours.splitlines()) | set(theirs.splitlines())
        assert set(kept) <= new | set(base.splitlines())


@given(LINES, LINES)
def test_a_difference_leads_from_one_text_to_the_other(old: str, new: str) -> None:
    lines = list(diff_lines(old, new, context=99) or ())
    if old != new:
        assert [one.text for one in lines if one.kind in " -"] == old.splitlines()
        assert [one.text for one in lines if one.kind in " +"] == new.splitlines()
