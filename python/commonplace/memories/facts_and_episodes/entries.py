"""Entries of an episode file: a heading, a one-line summary, a date, and the text.

The form is that of the facts-and-episodes design:

    ## Logger stdout leak fix
    - Summary: pino pipeline stdout leak → custom JS transport
    - Date: 2026-02-24
    - Problem: pino-pretty in pipeline mode leaks to stdout
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from datetime import date

from commonplace._core import meta_comment
from commonplace.entries.blocks import Block, fields_of, parse, preamble, render, title_for
from commonplace.entries.summaries import COMMENT, first_sentence
from commonplace.memories.facts_and_episodes.dates import written_date
from commonplace.memories.facts_and_episodes.summary_line import shortened

_HEADING = re.compile(r"\s*#{1,6}[ \t]+(?P<title>\S[^\n]*)(?:\n|\Z)")
_SUMMARY = re.compile(
    r"^[-*+][ \t]+(?:\*\*)?Summary(?:\*\*)?[ \t]*[:：][ \t]*(?P<words>.*)",
    re.IGNORECASE | re.MULTILINE,
)
_DATE = re.compile(
    r"^[-*+][ \t]+(?:\*\*)?(?:Date|日期)(?:\*\*)?[ \t]*[:：][* \t]*(?P<day>[^\n]*)\n?",
    re.IGNORECASE | re.MULTILINE,
)
# An entry that comes after it must be seen as one.
_FOLLOWER = "\n## follower\n\nx\n"
# What may have been left open at the end of a note ends with what began it, or with this.
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_CLOSER = re.compile(r"`{3,}|~{3,}|-->")


def entries(text: str, day: date | None = None, until: date | None = None) -> str:
    r"""Return a text as entries: one for each of its `## ` headings, or one with a heading made.

    An entry without a `- Summary:` line gets one from its first sentence, one without a `- Date:`
    line gets the day that its heading begins with, or else `day`. The rest stands as it was given.
    A text that would change how the note goes on (an open fence, a heading of a higher level) is
    quoted, see `blocks.render()`.

    Args:
        text: Markdown, or anything.
        day: The day it is about, as far as we know.
        until: What its heading says of a day without a year is the last up to this one; default:
            up to `day`.

    >>> print(entries("The logger wrote to stdout. Fixed.", date(2026, 2, 24)), end="")
    ## The logger wrote to stdout. Fixed.
    - Summary: The logger wrote to stdout.
    - Date: 2026-02-24
    <BLANKLINE>
    The logger wrote to stdout. Fixed.
    """
    until = until or day
    blocks = parse(text)
    whole = sum(block.end - block.start for block in blocks) == len(text.lstrip())
    if blocks and whole and not preamble(text).strip():
        return "\n".join(
            _entry(block, text[block.start : block.end], day, until) for block in blocks
        )
    if heading := _HEADING.match(text):
        return entry_of(title_for(heading["title"], 80), text[heading.end() :], day, until)
    summary = _SUMMARY.search(text)
    return entry_of(
        title_for(summary["words"] if summary else COMMENT.sub("", text)), text, day, until
    )


def entry_of(title: str, text: str, day: date | None = None, until: date | None = None) -> str:
    """Return one entry, whatever headings are in its text; see `entries`."""
    return _entry(Block(title, text), None, day, until)


def added(note: str, *some: str) -> str:
    """Return a note with entries at its end, each seen as one, even if a fence was left open."""
    head = f"{note}\n" if note and not note.endswith("\n") else note
    joined = "\n".join(entry.strip("\n") + "\n" for entry in some)
    fences = dict.fromkeys(f"{found[1]}\n" for found in _FENCE.finditer(note))
    for closer in ("", *fences, "-->\n"):
        before = head + closer
        if before and not before.endswith("\n\n"):
            before += "\n"
        seen = [block.start >= len(before) for block in parse(before + joined)]
        if sum(seen) >= len(some):
            return before + joined
    return f"{head}\n{joined}"


def continued(note: str, text: str) -> str:
    r"""Return a note with a text at its end; lines of a list go on a list.

    >>> continued("# User\n\n- Name: Li Si\n", "- City: Beijing")
    '# User\n\n- Name: Li Si\n- City: Beijing\n'
    """
    head = f"{note}\n" if note and not note.endswith("\n") else note
    last = head[:-1].rpartition("\n")[2]
    listed = last.startswith(("- ", "* ")) and text.startswith(last[:2])
    blank = "" if listed or not head or head.endswith("\n\n") else "\n"
    return f"{head}{blank}{text.strip(chr(10))}\n"


def is_closed(text: str) -> bool:
    """Return whether what follows a text is still seen for what it is: no fence is left open."""
    return any(block.start == len(text) + 2 for block in parse(f"{text}\n{_FOLLOWER}"))


def day_of(entry: str) -> date | None:
    r"""Return the date that an entry gives, or None.

    >>> day_of("## Logger fix\n- Date: 2026-02-24\n")
    datetime.date(2026, 2, 24)
    """
    found = _DATE.search(entry)
    noted = fields_of(meta_comment(entry)).get("date")
    # the line may be one of the comment, as JSON
    written = (found["day"] if found else "", noted if isinstance(noted, str) else "")
    return next(filter(None, map(written_date, written)), None)


def split(note: str) -> list[str]:
    r"""Return the entries of a note that are not another system's, word for word.

    What another system wrote into the note has an `id` in its `META` comment, and that system
    looks for it where it is.

    >>> split("## One\n\na\n\n## Two\n<!--\nMETA:\n- id: 7\n-->\n\nb\n")
    ['## One\n\na\n\n']
    """
    return [note[block.start : block.end] for block in own(note)]


def own(note: str) -> list[Block]:
    """Return the entries of a note that `split` returns, as blocks."""
    return [block for block in parse(note) if "id" not in block.meta]


def difference(some: Iterable[str], others: Iterable[str]) -> list[str]:
    """Return the entries of `some` that are not among `others`, each as often as it is more."""
    left = Counter(map(_core_of, others))
    rest = []
    for entry in some:
        if left[_core_of(entry)] > 0:
            left[_core_of(entry)] -= 1
        else:
            rest.append(entry)
    return rest


def removed(note: str, some: Iterable[str]) -> str:
    """Return a note without those of its entries that are among `some`; the rest as it stands."""
    blocks = parse(note)
    staying = difference([note[block.start : block.end] for block in blocks], some)
    whole, at = "", 0
    for block in blocks:
        source = note[block.start : block.end]
        stays = bool(staying) and staying[0] == source
        whole += note[at : block.end if stays else block.start]
        at = block.end
        if stays:
            staying.pop(0)
    return whole + note[at:]


def _core_of(entry: str) -> str:
    """Return an entry without what `added` may have put after it."""
    text, _, last = entry.rstrip("\n").rpartition("\n")
    return (text if text and _CLOSER.fullmatch(last) else entry).strip("\n")


def _entry(block: Block, source: str | None, day: date | None, until: date | None) -> str:
    """Return a block with the lines that it lacks."""
    atx = source is not None and source.lstrip().startswith("##")
    text = source.partition("\n")[2] if source is not None and atx else block.text
    about = {}
    day = written_date(block.title, until) or day
    if not _SUMMARY.search(text) and "summary" not in block.meta:
        # when it was is said by the next line
        about["Summary"] = shortened(first_sentence(_DATE.sub("", block.text)) or block.title)
    dated = _DATE.search(text) or day_of(text) or "date" in block.meta
    if day and not dated:
        about["Date"] = day.isoformat()
    lines = "".join(f"- {key}: {value}\n" for key, value in about.items())
    text = text.strip("\n")
    if text and lines and not text.startswith(("- ", "* ")):
        lines += "\n"
    entry = f"## {block.title}\n{lines}{text}".rstrip("\n") + "\n"
    seen = parse(entry + _FOLLOWER)
    spans = [(0, len(entry) + 1), (len(entry) + 1, len(entry) + len(_FOLLOWER))]
    tame = [(one.start, one.end) for one in seen] == spans and seen[0].title == block.title
    if tame and not block.meta:
        return entry
    meta = {key.lower(): value for key, value in about.items()}
    return render(" ".join(block.title.split()) or "…", block.text, {**meta, **block.meta})
