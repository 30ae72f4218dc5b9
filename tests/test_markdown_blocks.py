"""List items, other blocks and front matter of Markdown, as the core parses them."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import commonplace
from commonplace import _core

PIECES = st.sampled_from(
    re.split(
        "[|]",
        "a|b c|- |* |1. |2) |  |\n|\n\n|\r\n|```|> |# |## |\n---\n|===|\t|<!-- x -->|<div>|[x]: y"
        "|    |好|\u2028|unit: item\n|k: v\n",
    )
)
NOTES = st.lists(PIECES, max_size=20).map("".join)


@settings(max_examples=20, deadline=None)
@given(st.lists(NOTES, min_size=1, max_size=10))
def test_blocks_are_the_documents_of_the_index(bodies: list[str]) -> None:
    with tempfile.TemporaryDirectory() as root, commonplace.open(root, watch=False) as store:
        for number, body in enumerate(bodies):
            note = f"---\nunit: item\n---\n{body}"
            Path(root, f"{number}.md").write_bytes(note.encode())
            documents = [
                (hit.start, hit.first_line)
                for hit in store.documents(f"{number}.md")
                if note.encode()[hit.start : hit.end].decode().strip()
            ]
            blocks = _core.blocks(note)
            assert [(block.start, block.line) for block in blocks] == documents, note


@settings(max_examples=200, deadline=None)
@given(NOTES)
def test_blocks_lie_in_their_sections(note: str) -> None:
    data, sections = note.encode(), _core.sections(note)
    end = 0
    for block in _core.blocks(note):
        section = sections[block.section]
        assert max(end, section.body) <= block.start < block.end <= section.end
        assert block.line == data[: block.start].count(b"\n") + 1
        source = data[block.start : block.end].decode()
        if block.is_item:
            assert re.match(r"[ \t]*(?:[-*+]|\d+[.)])(?:\s|\Z)", source)
        bare = [line.strip() for line in re.split(r"\r\n|\r|\n", source.strip())]
        assert [line.strip() for line in block.text.split("\n")][1:] == bare[1:]
        end = block.end


@pytest.mark.parametrize(
    ("note", "fields"),
    [
        (
            "---\nTitle: 'A b'\ntags:\n- x\n- \"y\"\n---\n",
            [("title", "A b"), ("tags", ""), ("tags", "x"), ("tags", "y")],
        ),
        ("\ufeff---\nunit: item\n...\n", [("unit", "item")]),
        ("---\nsummary: >\n  one\n  two\n---\n", [("summary", "one two")]),
        ("---\r\n# a: b\r\n---\r\n", []),
    ],
)
def test_front_matter(note: str, fields: list[tuple[str, str]]) -> None:
    front = _core.front_matter(f"{note}rest")
    assert front is not None
    assert list(front.fields) == fields
    assert note.encode()[: front.start].rstrip().endswith(b"---")
    assert front.end == len(note.encode())


@pytest.mark.parametrize(
    "note", ["", "---\n", "---\n\na: b\n---\n", "---\nno key\n---\n", "a: b\n"]
)
def test_what_is_no_front_matter(note: str) -> None:
    assert _core.front_matter(note) is None


@given(NOTES)
def test_front_matter_ends_where_the_text_begins(body: str) -> None:
    note = f"---\n{body}"
    front, sections = _core.front_matter(note), _core.sections(note)
    if front and sections[0].level == 0:
        assert sections[0].body == front.end
