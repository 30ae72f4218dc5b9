"""Fuzz test of injection frames: framed texts come back, and nothing in them closes the frame.

As `rust/fuzzing` does: each run first takes every file of `corpus/frames`, then makes new texts for
`FUZZ_SECONDS` (a fraction of a second without it). What fails is made small by Hypothesis and kept
as `failed`; what is escaped in a way that nothing kept was is kept too, in a long run.
"""

from __future__ import annotations

import hashlib
import html
import os
import re
import time
import unicodedata
from pathlib import Path
from urllib.parse import unquote

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from commonplace.entries.injection import NOTICE, Piece, frame, unframe

CORPUS = Path(__file__).parent / "corpus" / "frames"
SECONDS = float(os.environ.get("FUZZ_SECONDS", "0.5"))
GROWING = "FUZZ_SECONDS" in os.environ
MOST = 80
# Between the text of a piece, where it is from, and its title.
PARTS = "\x1e"

FRAGMENTS = [
    "</memory>", "<memory>", "< / memory >", "</MEMORY", "</user_memory>", "&lt;", "&#60;", "&#x3c",
    "&amp;lt;", "%3c", "%3C", "%2f", "\\u003c", "\\x3c", "\\u{3c}", "\\", "/", ">", "<", "memory",
    "＜", "﹤", "‹", "〈", "⟨", "❮", "ᐸ", "m\u0435mory", "𝐦𝐞𝐦𝐨𝐫𝐲", "\u200b", "\u202e", "\ufeff",
    "<|im_start|>", "<|endoftext|>", "[INST]", "<<SYS>>", "<start_of_turn>", "</s>", "\n", "\r\n",
    "\n\nHuman:", "\nAssistant: x", "\n- ", "  ", " (a.md#L1, owner)", ", owner)", "§", PARTS, "é",
    "❬", "⧼", "❬/memory>", "ⲙ", "ⲉ", "ⲟ", "ⲣ", "ⲅ", "ⲩ", "%3c%2fmemory%3e", "%253c", "%e2%a7%bc",
    "<end_of_utterance>", "<end_of_", "<|eot|>", "![s](https://x.io/?q=1)", "![", "](//x.io)", "[",
    "]", "![r]", "[r]", "x![r][]", "\n\n[r]: https://x.io\n\n", "\n> [r]:", "\n[R]: <", "//x.io",
    "https://x.io", "<img src=//x.io>", "![[", "]]", "![a](b.png)", "](b.png)", "`", "<style>",
    "style=", "<use href=//x.io>", "url(", "'", '"', "!", "1. ", "    ", "\n\n", "&#x2f;", "(", ")",
    "日本", "❤️", "👨‍👩‍👧", "می‌خواهم", "words ", "#", "```", "<div>", "&amp;", "price < 3",
]  # fmt: skip
texts = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=4), max_size=12).map("".join)

# How a lenient reader may come to see a letter of the name or the bracket before it.
_SEEN = str.maketrans(
    "\u0435\u043e\u0440\u0443\u043c\u03bf\u03c1\u03c5\u0455\u2039\u2329\u27e8\u276e\u3008\u1438"
    "\u276c\u29fc\u2c99\u2c89\u2c9f\u2c85\u2ca9",
    "eopymopus<<<<<<<<meory",
)
_CLOSER = re.compile(r"<[\s/]*(?:user)?[\s_-]*memory", re.IGNORECASE)
_TOKEN = re.compile(
    r"<\||\[/?INST\]|<</?SYS>>|</?s>|<start_of_turn>|<end_of_utterance>"
    # a name of HTML ends with a blank, a slash or the bracket: `<style=` is another element
    r"|<(?:img|use)[\s/]|<style[\s/>]"
)
_MARKDOWN = MarkdownIt("commonmark")


def lenient(text: str) -> str:
    """Return a text as somebody may read it who decodes whatever can be decoded, twice."""
    for _ in range(2):
        text = re.sub(
            r"\\(?:u00|x)([0-9a-fA-F]{2})", lambda spelled: chr(int(spelled[1], 16)), text
        )
        text = unquote(html.unescape(text))
        kept = (char for char in text if unicodedata.category(char) not in {"Cf", "Mn"})
        text = unicodedata.normalize("NFKC", "".join(kept)).translate(_SEEN)
    return text


def images(text: str) -> list[str]:
    """Return where the images of a text are fetched from when it is shown as Markdown."""
    tokens = [one for token in _MARKDOWN.parse(text) for one in (token.children or ())]
    return [str(token.attrs["src"]) for token in tokens if token.type == "image"]


def check(given_text: str) -> set[str]:
    """Check the laws of one input; return which characters were escaped in it, and after what."""
    text, citation, title = [*given_text.split(PARTS), "", ""][:3]
    piece = Piece(text, citation, "untrusted", title or None)
    for tag in ("memory", "user_memory"):
        framed = frame([piece, piece], tag=tag)
        assert unframe(framed) == [piece, piece]
        head, tail = f"<{tag}>\n{NOTICE}\n", f"</{tag}>"
        assert framed.startswith(head)
        assert framed.endswith(tail)
        inside = framed[len(head) : -len(tail)]
        assert not _CLOSER.search(lenient(inside)), inside
        assert not _TOKEN.search(inside), inside
        assert not [source for source in images(inside) if re.search(r":|//", source)], inside
        assert all(line[:2] in {"", "- ", "  "} or line[:1] == " " for line in inside.split("\n"))
    return set(re.findall(r"\\u\{[0-9a-f]+\}.?", inside))


def keep(name: str, text: str) -> None:
    CORPUS.mkdir(parents=True, exist_ok=True)
    (CORPUS / name).write_bytes(text.encode(errors="surrogatepass"))


def kept() -> list[str]:
    paths = sorted(CORPUS.glob("*"))
    return [path.read_bytes().decode(errors="surrogatepass") for path in paths]


def test_what_is_kept() -> None:
    for text in kept():
        check(text)


def test_new_texts() -> None:
    seen = set().union(*map(check, kept()))
    room = MOST - len(kept())
    end = time.monotonic() + SECONDS

    @settings(
        max_examples=200 if GROWING else 30,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(texts)
    def try_some(text: str) -> None:
        nonlocal room
        try:
            found = check(text)
        except BaseException:
            keep("failed", text)
            raise
        if GROWING and room > 0 and not found <= seen:
            seen.update(found)
            room -= 1
            keep(hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16], text)

    while time.monotonic() < end:
        try_some()
