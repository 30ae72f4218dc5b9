"""Detail note: a title, a `META` comment, and any content, given back as it was.

    # Auth

    <!--
    META:
    - created: "2024-01-15T10:30:00Z"
    - keywords: ["authentication", "jwt"]
    -->

    ## Decision
    …

The format is that of the overview/detail design. A title that the content brings stays where it
is; otherwise one is made of the name of the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from commonplace._core import meta_comment
from commonplace.entries.blocks import comment, fields_of
from commonplace.errors import InvalidArgument

_NAME = re.compile(r"\w[\w. @+-]*")
_OWN_TITLE = re.compile(r"# (?P<title>[^\n]+)\n")


@dataclass(frozen=True, slots=True)
class Detail:
    """A note as it was given, or as a person wrote it; `meta` is all that its comment says."""

    name: str
    content: str
    created: str | None = None
    keywords: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)


def stem(name: str) -> str:
    """Return the name of a note without `detail/` and `.md`.

    Raises:
        InvalidArgument: It is not the name of one file.
    """
    plain = _plain(name)
    if not _NAME.fullmatch(plain):
        raise InvalidArgument(f"a note of detail/ has a name such as auth-design, not {name!r:.80}")
    return plain


def render_detail(
    name: str, content: str, created: str, keywords: Sequence[str], **more: Any
) -> str:
    r"""Return the text of a note file.

    >>> print(render_detail("auth", "JWT.", "2024-01-15", ["jwt"]), end="")
    # Auth
    <BLANKLINE>
    <!--
    META:
    - created: "2024-01-15"
    - keywords: ["jwt"]
    -->
    <BLANKLINE>
    JWT.
    """
    meta = comment({"created": created, "keywords": list(keywords), **more})
    own = _OWN_TITLE.match(content)
    if own and own["title"] != _title(name):
        return f"{own[0]}\n{meta}{content[own.end() :]}\n"
    return f"# {_title(name)}\n\n{meta}\n{content}\n"


def parse_detail(name: str, text: str) -> Detail:
    r"""Return what a note file says; one without the comment is content from end to end.

    >>> parse_detail("auth", render_detail("auth", "# JWT\nyes", "2024-01-15", [])).content
    '# JWT\nyes'
    """
    found = meta_comment(text)
    meta = fields_of(found)
    if not found or not meta:
        return Detail(_plain(name), text)
    content = found.after
    if found.heading and found.heading != f"# {_title(name)}\n":
        content = f"{found.heading}{content}"
    else:
        content = content.removeprefix("\n")
    words = meta.get("keywords", [])
    if not isinstance(words, list):
        words = [word.strip(" \"'") for word in str(words).strip("[]").split(",")]
    created = meta.get("created")
    return Detail(
        _plain(name),
        content.removesuffix("\n"),
        None if created is None else str(created),
        tuple(str(word) for word in words if word),
        meta,
    )


def _plain(name: str) -> str:
    # a person may call a note as no tool would: it is read all the same
    return name.removeprefix("detail/").removesuffix(".md")


def _title(name: str) -> str:
    words = re.sub(r"[-_\s]+", " ", _plain(name)).strip()
    return words[:1].upper() + words[1:]
