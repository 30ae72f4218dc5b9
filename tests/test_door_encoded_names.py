"""Names of any text as file names: reversible, taken by the store, and no two alike."""

from __future__ import annotations

import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import commonplace
from commonplace.doors.encoded_names import decode, encode
from commonplace.errors import EncodingError, FormatError

awkward = st.sampled_from(
    [
        *("", ".", "..", "con", "CON", "aux.x", "agents", "daily", "a.md", "x.jsonl", " a ", "-"),
        *("K", "\u212a", "ß", "ss", "ﬁ", "é", "e\u0301", "\u1100\u1161", "x" * 400, "é" * 200),
        *("a/b", "a\\b", "\0", "\u202e", "2026-13-45", "skill.md", "conin$", "%41", "+a", "~1"),
    ]
)
alike = st.text(alphabet="aAkKßsſSẞıIiİ.-% +éÉ", max_size=6)


@settings(max_examples=15)
@given(st.lists(st.text(max_size=12) | awkward | alike, max_size=5, unique=True))
def test_any_texts_are_files_beside_each_other(texts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as root, commonplace.open(root, watch=False) as store:
        for number, text in enumerate(texts):
            store.write(f"keys/{encode(text)}.md", f"{number}\n", expected_version="absent")
            store.write(f"folders/{encode(text)}/x.md", "")
        found = {decode(one.path[5:-3])[0]: one.path for one in store.list("keys")}
        assert {text: store.read(found[text]) for text in texts} == {
            text: f"{number}\n" for number, text in enumerate(texts)
        }


@given(st.lists(st.text(max_size=8) | awkward, min_size=1, max_size=4))
def test_a_path_decodes_to_its_texts(texts: list[str]) -> None:
    assert decode("/".join(map(encode, texts))) == texts


def test_what_is_plain_stays_readable() -> None:
    for text in ("user_123", "alice@example.com", "0198c1d2-7aaa", "旅行 计划", "привет", "a=b"):
        assert encode(text) == text


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(EncodingError):
        encode("\ud800")
    for name in ("%zz", "%ff", "a+", "%+"):
        with pytest.raises(FormatError):
            decode(name)
