"""Translations of the page: English as it stands in templates, Chinese from tables."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

LANGUAGES = {"en": "English", "zh": "中文"}


@cache
def _chinese() -> dict[str, str]:
    """Return the Chinese texts by English ones; each screen has a table of its own."""
    found: dict[str, str] = {}
    for table in sorted(files(__package__).joinpath("chinese").iterdir(), key=lambda one: one.name):
        if table.name.endswith(".toml"):
            found |= tomllib.loads(table.read_text(encoding="utf-8"))
    return found


def translated(language: str, text: str, **values: object) -> str:
    """Return a text in a language, with values in the place of `{name}`.

    One that the table does not have stays English.

    >>> translated("zh", "Search"), translated("en", "{n} notes", n=3)
    ('搜索', '3 notes')
    """
    found = _chinese().get(text, text) if language == "zh" else text
    return found.format(**values) if values else found


def counted(language: str, count: int, one: str, many: str) -> str:
    """Return the text of one, or that of many, with the number in the place of `{n}`.

    >>> counted("en", 1, "{n} note", "{n} notes"), counted("en", 3000, "{n} note", "{n} notes")
    ('1 note', '3,000 notes')
    """
    # Chinese has no plural: its table has the text of many
    text = one if count == 1 and language != "zh" else many
    return translated(language, text, n=f"{count:,}")


def accepted(header: str) -> str:
    """Return the language that an `Accept-Language` header prefers, of those that there are.

    >>> accepted("zh-CN,zh;q=0.9,en;q=0.8"), accepted("de,en;q=0.5"), accepted("")
    ('zh', 'en', 'en')
    """
    best, weight = "en", 0.0
    for part in header.split(","):
        tag, _, parameters = part.strip().partition(";")
        name = tag.split("-")[0].lower()
        try:
            given = float(parameters.strip().removeprefix("q=") or 1)
        except ValueError:
            continue
        if name in LANGUAGES and given > weight:
            best, weight = name, given
    return best
