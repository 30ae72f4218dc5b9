"""Categories of a profile, as headings of entries and as names of pages."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from commonplace.errors import Refused

GENERAL = "General"
# Most characters of a category
LONGEST = 200

_NUMBERED = re.compile(r"(?:-\d{1,4})+\Z")
_RUN = re.compile(r"[^\W_]+")


@lru_cache(maxsize=1024)
def key_of(category: str) -> str:
    """Return what all spellings of a category share: they differ in case, width or spaces only.

    >>> key_of("Coding  Style") == key_of("coding style")
    True
    """
    return " ".join(unicodedata.normalize("NFKC", category).casefold().split())


def heading(category: str) -> str:
    r"""Return the heading of a category: its words, each with a capital.

    Raises:
        Refused: It is empty or longer than 200 characters.

    >>> heading("preference"), heading(" coding\nstyle "), heading("偏好")
    ('Preference', 'Coding Style', '偏好')
    """
    shown = "".join(
        char if char.isprintable() or char in "\u200c\u200d" else " " for char in category
    )
    words = shown.split()
    plain = " ".join(words)
    if not 0 < len(plain) <= LONGEST:
        raise Refused(f"{plain!r:.60} is no category: name it in 1 to {LONGEST} characters")
    title = " ".join(word[:1].upper() + word[1:] for word in words)
    return title if key_of(title) == key_of(plain) else plain


def page_names(title: str) -> tuple[str, str]:
    """Return how the pages of a category are named, and how if that is no name for a file.

    Two categories may share pages: the headings on them say what is whose.

    >>> page_names("Coding Style"), page_names("偏好!"), page_names("Top 2")[0]
    (('coding-style', 'category-coding-style'), ('偏好', 'category-偏好'), 'top')
    """
    words = "-".join(_RUN.findall(key_of(title))).encode()[:100].decode(errors="ignore")
    # a number at the end is that of the page
    name = _NUMBERED.sub("", words).rstrip("-")
    return name or "category", f"category-{name}" if name else "category"
