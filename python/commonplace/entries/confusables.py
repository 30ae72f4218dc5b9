"""Mapping of confusable Unicode characters to ASCII, and decoding of character references."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from html.entities import html5

UNKNOWN_LETTER = "\x01"
"""Stands for a letter that is made like an ASCII one, and of which we do not know which."""

# Besides what Unicode itself decomposes to `<` or names an angle bracket, and what confusables.txt
# (Unicode 17) has for it: arrowheads, a Canadian syllable, a rune of a numeral.
_LESS = frozenset("\u02c2\u1438\u16b2\U0001d236\U00010914")
# Double ones quote and name titles in ordinary text, and open no tag.
_ANGLE = re.compile(
    r"LESS-THAN SIGN|\bLEFT\b(?!.*\bDOUBLE\b).*\bANGLE\b.*\b(?:BRACKET|QUOTATION MARK)"
    r"|LEFT ARROWHEAD"
)
# Alphabets without small letters that hold shapes of ours: Lisu, Tifinagh, Runic, Old Italic, Vai.
_CASELESS = re.compile(
    "[\ua4d0-\ua4ff\u2d30-\u2d7f\u16a0-\u16ff\U00010300-\U0001032f\ua500-\ua63f]"
)
_LATIN = re.compile(
    r"LATIN .*?LETTER (?:SMALL CAPITAL |DOTLESS |SCRIPT |LONG )?([A-Z])(?: WITH .*)?\Z"
)

_AMP = r"&(?:amp;)*"
_SPELLED = re.compile(
    r"(?P<url>(?:%(?:25)*[0-9a-f]{2})+)"
    rf"|{_AMP}#x0*(?P<hex>[0-9a-f]{{1,6}});?|{_AMP}#0*(?P<decimal>[0-9]{{1,7}});?"
    rf"|{_AMP}(?P<name>(?:lt|gt|amp)(?!;)|[a-z][a-z0-9]{{1,31}};)"
    # a run of backslashes is tried from its first alone
    r"|(?<!\\)\\+(?:(?:u00|x)(?P<code>[0-9a-f]{2})|u\{0*(?P<braced>[0-9a-f]{1,6})\})",
    re.IGNORECASE,
)
_DEPTH = 3
"""How often a text is decoded: `%26lt;` is spelled out twice."""
_BYTE = re.compile(r"%(?:25)*[0-9a-f]{2}", re.IGNORECASE)


@lru_cache(maxsize=4096)
def prototype(character: str) -> str:
    r"""Return the prototype (UTS 39) of a character: ASCII, `UNKNOWN_LETTER` or itself.

    >>> [prototype(one) for one in "Ｍéо〈⧼中"]
    ['m', 'e', '\x01', '<', '<', '中']
    """
    if character.isascii():
        return character.lower()
    name = unicodedata.name(character, "")
    if character in _LESS or _ANGLE.search(name):
        return "<"
    parts = unicodedata.normalize("NFKD", character)
    base = "".join(one for one in parts if not unicodedata.combining(one)).casefold()
    if base.isascii():
        return base
    if latin := _LATIN.match(name):
        return latin[1].lower()
    cased = character.lower() != character.upper() or unicodedata.category(character) == "Ll"
    return UNKNOWN_LETTER if cased or _CASELESS.match(character) else character


def skeleton(text: str) -> tuple[str, list[int]]:
    """Return the skeleton (UTS 39) of a decoded text, and for each character where it begins."""
    plain, starts = text, list(range(len(text)))
    for _ in range(_DEPTH):
        decoded = list(_decoded(plain))
        if len(decoded) == len(plain):
            # whatever is spelled out is longer than what it stands for
            break
        plain = "".join(one for one, _ in decoded)
        starts = [starts[place] for _, place in decoded]
    looks: list[str] = []
    places: list[int] = []
    for character, place in zip(plain, starts, strict=True):
        for one in prototype(character):
            looks.append(one)
            places.append(place)
    return "".join(looks), places


def is_plain(text: str) -> bool:
    """Say whether the skeleton of a text is its lower case."""
    return text.isascii() and not _SPELLED.search(text)


def _decoded(text: str) -> Iterator[tuple[str, int]]:
    at = 0
    for spelled in _SPELLED.finditer(text):
        yield from zip(text[at : spelled.start()], range(at, spelled.start()), strict=True)
        at = spelled.end()
        if spelled["url"]:
            starts = [spelled.start() + byte.start() for byte in _BYTE.finditer(spelled["url"])]
            plain = bytes(int(byte[-2:], 16) for byte in _BYTE.findall(spelled["url"]))
            first = 0
            for one in plain.decode("utf-8", "surrogateescape"):
                yield one, starts[first]
                first += len(one.encode("utf-8", "surrogateescape"))
        elif name := spelled["name"]:
            stands = html5.get(name) or html5.get(name.lower())
            if stands:
                yield from ((one, spelled.start()) for one in stands)
            else:
                yield from zip(spelled[0], range(spelled.start(), at), strict=True)
        else:
            digits = spelled["hex"] or spelled["code"] or spelled["braced"]
            code = int(digits, 16) if digits else int(spelled["decimal"])
            yield chr(code) if code < 0x110000 else "\ufffd", spelled.start()
    yield from zip(text[at:], range(at, len(text)), strict=True)
