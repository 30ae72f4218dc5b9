"""Reversible encoding of any text as a file name, readable where the text is plain.

A framework's keys may differ in case only, hold `/` or control characters, or be names that a file
system keeps for itself. The store refuses such names. Here each text has a name of its own, and no
two names fold to one: a capital letter becomes `+` and the small one, what is not plain becomes
`%` and its bytes in UTF-8, and a name too long for a file system goes on in a folder.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from commonplace.errors import EncodingError, FormatError

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-.@= ")
_EMPTY, _CONTINUED = "%_", "%+"
# bytes of one part of a path, below the 200 of the store with `%+` and an extension
_LONGEST = 180
# Windows keeps these for devices, whatever follows a dot
_DEVICE = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9])(?: *\.|$)")
# other agents load these as instructions, and a daily log only grows
_RESERVED = re.compile(
    r"(?:agents?|agents\.override|claude|claude\.local|copilot-instructions|gemini|qwen|skill)"
    r"(?:\.md)?$|daily$"
)
_EXTENSION = re.compile(r"\.(?=(?:md|markdown|jsonl)$)")
_TOKEN = re.compile(r"%[0-9a-f]{2}|\+[a-z]|.", re.DOTALL)


def encode(text: str) -> str:
    """Return the name of a text: a part of a path, or several where it is long.

    Raises:
        EncodingError: It is not UTF-8.

    >>> encode("notes 2026"), encode("UserPrefs"), encode("a/b"), encode("茶")
    ('notes 2026', '+user+prefs', 'a%2fb', '茶')
    >>> encode(""), encode("con"), encode("é") == encode("e\u0301")
    ('%_', '%63on', False)
    """
    if not text:
        return _EMPTY
    try:
        parts = [_encoded(character) for character in text]
    except UnicodeEncodeError as error:
        raise EncodingError(f"a name is not UTF-8: {text!r:.80}") from error
    for end in (0, -1):
        if parts[end] in {".", " ", "-"}:
            parts[end] = _bytes(parts[end])
    joined = "".join(parts)
    if _DEVICE.match(joined) or _RESERVED.match(joined):
        parts[0] = _bytes(text[0])
        joined = "".join(parts)
    # so that no folder is called as a file may be
    if dot := _EXTENSION.search(joined):
        joined = f"{joined[: dot.start()]}%2e{joined[dot.end() :]}"
    return joined if len(joined.encode()) <= _LONGEST else _split(_TOKEN.findall(joined))


def decode(path: str) -> list[str]:
    """Return the texts whose names stand one after the other in a path.

    Raises:
        FormatError: A name is none that `encode` gives.

    >>> decode("user%2f1/+prefs/%_")
    ['user/1', 'Prefs', '']
    """
    texts: list[str] = []
    begun = ""
    ends = True
    for part in path.split("/"):
        ends = not part.endswith(_CONTINUED)
        if not ends:
            begun += part.removesuffix(_CONTINUED)
            continue
        texts.append("" if part == _EMPTY else _decoded(begun + part))
        begun = ""
    if not ends:
        raise FormatError(f"{path!r:.200} ends within a name")
    return texts


@lru_cache(maxsize=4096)
def _encoded(character: str) -> str:
    """Return one character of a name."""
    if character in _PLAIN or _is_plain_letter(character):
        return character
    if "A" <= character <= "Z":
        return f"+{character.lower()}"
    return _bytes(character)


def _is_plain_letter(character: str) -> bool:
    """Say whether a letter or digit beyond ASCII is like no other, on any file system."""
    return (
        ord(character) >= 0x80
        and unicodedata.category(character)[0] in "LN"
        and character.casefold() == character
        and unicodedata.normalize("NFKC", character) == character
        # these grow together with their neighbours
        and "HANGUL JUNGSEONG" not in (name := unicodedata.name(character, ""))
        and "HANGUL JONGSEONG" not in name
        and "HANGUL CHOSEONG" not in name
    )


def _bytes(character: str) -> str:
    return "".join(f"%{byte:02x}" for byte in character.encode())


def _decoded(name: str) -> str:
    found = bytearray()
    for token in _TOKEN.findall(name):
        if len(token) == 3:
            found += bytes.fromhex(token[1:])
        elif len(token) == 2:
            found += token[1].upper().encode()
        elif token in {"%", "+"}:
            raise FormatError(f"{name!r:.200} is no encoded name")
        else:
            found += token.encode()
    try:
        return found.decode()
    except UnicodeDecodeError:
        raise FormatError(f"{name!r:.200} is no encoded name") from None


def _split(tokens: list[str]) -> str:
    """Return a long name in parts; each but the last says that it goes on."""
    parts = [""]
    for token in tokens:
        # a part begins and ends as a name may
        if len((parts[-1] + token).encode()) > _LONGEST and token not in {".", " ", "-"}:
            parts[-1] += _CONTINUED
            parts.append("")
        parts[-1] += token
    return "/".join(parts)
