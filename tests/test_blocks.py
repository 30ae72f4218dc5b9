"""Entries as Markdown blocks: round trips of any text, and no text leaks into the next block."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from commonplace.entries.blocks import Block, parse, preamble, render, title_for
from commonplace.errors import EncodingError

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
