"""Entries as Markdown blocks: round trips of any text, and no text leaks into the next block."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from commonplace import Store, _core
from commonplace.entries.blocks import Block, comment, fields_of, parse, preamble, render, title_for
from commonplace.entries.injection import piece_of
from commonplace.errors import EncodingError
from commonplace.memories.facts_and_episodes.entries import day_of
from commonplace.memories.overview_and_detail.detail import parse_detail
from commonplace.memories.overview_and_detail.search import SearchOptions, search_session
from commonplace.memories.world_and_agents.topics import marked, unmarked

PIECES = [
    "# Title\n", "## Two\n", "```\n", "~~~", "<!--", "-->", "<!--\nMETA:\n- id: 1\n-->\n", "> q\n",
    "---\n", "===\n", "- a\n", "\r", "\r\n", "\0", "&amp;", "&#13;", "    code\n", "\n\n", "\t",
    " ", "<script>", "<pre>\n", "words", "中文", "\u2028", "\x85", "\x0b", "\ufeff", "\\# x\n",
]  # fmt: skip
texts = st.one_of(
    st.text(st.characters(codec="utf-8")), st.lists(st.sampled_from(PIECES)).map("".join)
)
metas = st.dictionaries(
    st.from_regex(r"[\w-]{1,8}", fullmatch=True),
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=5,
    ),
    max_size=3,
)


@given(st.lists(st.tuples(texts, metas), max_size=4))
@example([("", {}), ("```\nopen", {}), ("<!--", {"a": "-->"}), ("x\r## y", {})])
def test_any_text_comes_back(entries: list[tuple[str, dict[str, object]]]) -> None:
    note = "# June\n\n> Summary: all\n"
    for text, meta in entries:
        note += "\n" + render(title_for(text), text, meta)
    assert parse(note) == [Block(title_for(text), text, meta) for text, meta in entries]
    assert preamble(note).startswith("# June\n\n> Summary: all\n")
    for block in parse(note):
        assert note[block.start :].startswith(f"## {block.title}\n")
        assert note.count("\n", 0, block.start) + 1 == block.line


@given(texts)
def test_reading_a_strangers_note_never_fails(note: str) -> None:
    for block in parse(note):
        assert 0 <= block.start < block.end <= len(note)


def test_plain_text_stands_as_it_is() -> None:
    assert (
        render("Bob", "likes **tea**\n\n- and\n- cake")
        == "## Bob\n\nlikes **tea**\n\n- and\n- cake\n"
    )


def test_what_a_person_writes_is_read() -> None:
    note = (
        "Intro\n\n## By hand\n<!-- \nMETA:\ncreated: 2024-01-15T10:30:00Z\n"
        '- keywords: ["jwt"]\n-->\n\ntext\n\n### More\nbelow\n\nTwo\n---\nlast\n\n# Other\n'
    )
    first, second = parse(note)
    assert first.meta == {"created": "2024-01-15T10:30:00Z", "keywords": ["jwt"]}
    assert first.text == "text\n\n### More\nbelow"
    assert (second.title, second.text) == ("Two", "last")


def test_a_fence_hides_its_headings() -> None:
    (block,) = parse("## One\n\n```sh\n## no block\n```\n")
    assert block.text == "```sh\n## no block\n```"


@pytest.mark.parametrize("title", ["", " x", "a\nb", "a  b"])
def test_a_title_is_one_line(title: str) -> None:
    with pytest.raises(ValueError, match="one line"):
        render(title, "")


def test_what_is_not_utf8_is_refused() -> None:
    with pytest.raises(EncodingError, match="not UTF-8"):
        render("x", "\ud800")


def test_a_key_of_meta_is_a_word() -> None:
    with pytest.raises(ValueError, match="no key"):
        render("x", "", {"a: b": 1})


# the `META` comment of a section, as programs, people and formatters write it; and what is none
COMMENTS = [
    '<!--\nMETA:\n- author: "agent"\n- date: "2026-02-24"\n-->\n',
    "<!-- META:\nauthor: agent\n* date: 2026-02-24\n-->\n",
    '\n\n<!--\r\nMETA:\r\n- author: "agent"\r\n- date: 2026-02-24\r\n-->\r\n',
    "<!-- META: author: agent\ndate: 2026-02-24 --> \n",
    "<!--\n\n  META:\n  - author: agent\n  a line of words\n  - date: 2026-02-24\n  -->\n",
]
NO_COMMENTS = [
    "<!-- author: agent -->\n", "<!-- META -->\n", "<!-- META: author: agent\n",
    "text <!-- META: -->\n", "<!-- x --><!-- META: a: b -->\n", "<!- META: author: agent -->\n",
]  # fmt: skip


@pytest.mark.parametrize("written", COMMENTS)
def test_all_readers_agree_what_a_meta_comment_is(store: Store, written: str) -> None:
    folder = "sessions/s1/working-memory"
    note = f"# Walrus\n{written}\nthe tusk\n"
    store.write(f"{folder}/detail/walrus.md", note)
    (block,) = parse(f"## Walrus\n{written}\nthe tusk\n")
    assert (block.text, block.meta["author"]) == ("the tusk", "agent")
    detail = parse_detail("walrus", note)
    assert (detail.content, detail.meta) == ("the tusk", block.meta)
    assert str(day_of(note)) == "2026-02-24"
    (hit,) = store.search("tusk", unit="message")
    piece = piece_of(hit, store)
    assert (piece.author, piece.text) == ("agent", "# Walrus\n\nthe tusk")
    # nothing but the comment: no section of its own, and no content of a result
    store.write(f"{folder}/detail/walrus.md", f"# Walrus\n{written}")
    found = search_session(store, ("sessions/s1", folder), SearchOptions("walrus"), 5)
    assert [result.text for result in found.results] == ["# Walrus"]
    # of a topic only its own comment is taken away
    assert unmarked("walrus", f"{written}x") == ("walrus", f"{written}x")


@pytest.mark.parametrize("written", NO_COMMENTS)
def test_all_readers_agree_what_is_no_meta_comment(store: Store, written: str) -> None:
    note = f"# Walrus\n{written}\nthe tusk\n"
    assert _core.meta_comment(note) is None
    assert not parse(f"## Walrus\n{written}\nthe tusk\n")[0].meta
    assert parse_detail("walrus", note).content == note
    assert unmarked("walrus", note) == ("walrus", note)
    store.write("agents/walrus.md", note)
    piece = piece_of(store.search("walrus")[0], store)
    assert piece.author == "agent"
    assert written.strip() in piece.text


@given(metas, texts)
@example({"a": "-->"}, "")
def test_a_meta_comment_is_read_as_it_was_written(meta: dict[str, object], text: str) -> None:
    for heading in ("", "# Walrus\n"):
        found = _core.meta_comment(f"{heading}{comment(meta or {'x': 1})}\n{text}")
        assert found
        assert (found.heading, fields_of(found)) == (heading, meta or {"x": 1})
        assert found.after == f"\n{text}"


@given(texts)
def test_a_topic_may_begin_with_a_comment_of_its_own(text: str) -> None:
    for content in (text, marked("a", "b", text)):
        assert unmarked("a", marked("a", "a", content)) == ("a", content)
        assert unmarked("a", marked("a", "a/b", content)) == ("a/b", content)
