r"""Entries of a profile: list items under the heading of their category.

    ---
    unit: item
    ---
    # Memory

    ## Preference

    - User prefers dark mode
    - Writing style: concise,
      technical

The front matter makes each item a document of its own, so that a search finds entries. More lines
of an entry are indented; a text that would change the structure is a quotation within its item
(`- > …`), and any text comes back exactly. A comment at the end of an entry is its mark
(`marks.py`): since when it is true and until when. What a person wrote by hand counts too: items of
any list, numbered or not, and paragraphs; what stands under no second-level heading is of the
category "general".
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from commonplace import _core
from commonplace.arguments import is_blank
from commonplace.entries.blocks import char_offsets, heading_of, quote, unquote
from commonplace.errors import EncodingError, FormatError, Refused
from commonplace.memories.profile.categories import GENERAL, key_of
from commonplace.memories.profile.marks import Mark, split_mark, struck

NO_MARK = Mark()
# So many characters are parsed faster than looked up
SMALL = 2000

# Blocks that say nothing: comments, and rules between what does.
_SILENT = re.compile(r"<!--|(?:[-*_][ \t]*){3,}\Z")
_RUNS = re.compile(r"`{3,}|~{3,}")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a note.

    `category` is the heading above it; `start` and `end` are character offsets of its source in
    the note, `line` and `last_line` count from 1. `mark` is what the comment at its end says.
    """

    text: str
    category: str
    mark: Mark
    source: str
    line: int
    last_line: int
    start: int
    end: int

    @property
    def key(self) -> tuple[str, str]:
        """What two entries share that say the same under the same category."""
        return key_of(self.category), self.text

    @property
    def identity(self) -> tuple[str, str, Mark]:
        """What tells an entry from others, such as a past one of the same text."""
        return *self.key, self.mark

    @property
    def since(self) -> date | None:
        """The day from which it is true, or on which it was first said, when it says so."""
        return self.mark.since

    @property
    def until(self) -> date | None:
        """The last day on which it is true; None where no end is known."""
        return self.mark.until

    @property
    def by(self) -> str:
        """Who said it: "owner", "agent", "other" or "document"."""
        return self.mark.by


def parse(note: str) -> tuple[Entry, ...]:
    r"""Return the entries of a note in file order.

    What was parsed last is kept: a change looks at the same text several times.

    >>> note = "# Memory\n\n## Style\n- concise,\n  technical\n- > # odd\n"
    >>> [(entry.category, entry.text) for entry in parse(note)]
    [('Style', 'concise,\ntechnical'), ('Style', '# odd')]
    """
    return _parsed(note) if len(note) > SMALL else _parse(note)


def _parse(note: str) -> tuple[Entry, ...]:
    return tuple(entry for *_, found in _sections(note) for entry in found)


# some 200 kB each; a search looks at many pages
_parsed = lru_cache(maxsize=64)(_parse)


def render(text: str, mark: Mark = NO_MARK, *, past: bool = False) -> str:
    r"""Return an entry as a list item, ending in one line end.

    Args:
        text: Any text.
        mark: What is known of it.
        past: Strike it through; the mark says until when it was true.

    Raises:
        Refused: There is nothing in it.
        EncodingError: The text is not UTF-8.

    >>> print(render("concise,\ntechnical") + render("- a list\n"), end="")
    - concise,
      technical
    - > - a list
      >
    """
    if is_blank(text):
        raise Refused("there is nothing to remember: the content is empty")
    comment = str(mark)
    try:
        if plain := (past and _plain(text, struck(text), mark)) or _plain(text, text, mark):
            return plain
    except UnicodeEncodeError:
        raise EncodingError(f"the content {text!r:.60} is not UTF-8") from None
    return _item(quote(text) + (f"\n{comment}" if comment else ""))


def begun(note: str, title: str = "Memory") -> str:
    r"""Return a note whose front matter says that its unit is the item.

    >>> begun("# Mine\n")
    '---\nunit: item\n---\n# Mine\n'
    """
    if not note.strip("\ufeff\n\r\t "):
        return f"---\nunit: item\n---\n# {title}\n"
    if front := _core.front_matter(note):
        if _unit(front) is not None:
            return note
        first = len(note.encode()[: front.start].decode())
        return f"{note[:first]}unit: item\n{note[first:]}"
    bare = note.removeprefix("\ufeff")
    return f"{note[: len(note) - len(bare)]}---\nunit: item\n---\n{bare}"


def is_by_item(note: str) -> bool:
    """Return whether the entries of a note are documents of their own."""
    front = _core.front_matter(note)
    return front is not None and _unit(front) == "item"


def added(note: str, title: str, sources: Sequence[str]) -> str:
    """Return a note with entries at the end of a category, which is made if it is not there.

    Args:
        note: The note.
        title: The heading of the category.
        sources: The entries, as `render()` makes them.

    Raises:
        FormatError: The note is such that what is added is not read as it was written.
    """
    added_entries = [entry for source in sources for entry in _read(source, title)]
    whole = "".join(sources)
    place = _end_of(note, title)
    if place is not None:
        before = note[:place] if note[:place].endswith("\n") else f"{note[:place]}\n"
        blank = "" if _continues(note, place, whole) else "\n"
        changed = f"{before}{blank}{whole}{note[place:]}"
        if _is_changed(note, changed, added_entries=added_entries):
            return changed
    head = note if note.endswith("\n") or not note else f"{note}\n"
    count = len(parse(note))
    for closer in _closers(note):
        before = head + closer
        blank = "" if not before or before.endswith("\n\n") else "\n"
        changed = f"{before}{blank}## {title}\n\n{whole}"
        # a block that was left open ends with its closer
        if len(parse(before)) == count and _is_changed(
            before, changed, added_entries=added_entries
        ):
            return changed
    raise FormatError(
        "what is added to the note would not be read as it was written: look for a comment or a "
        "fence (```) that is not closed"
    )


def removed(note: str, entries: Iterable[Entry]) -> str:
    """Return a note without some of its entries.

    Raises:
        FormatError: Without them, others would not be read as they are now.
    """
    removed_entries = sorted(entries, key=lambda entry: entry.start)
    kept, at = [], 0
    for entry in removed_entries:
        kept.append(note[at : entry.start])
        at = entry.end
    changed = "".join(kept) + note[at:]
    if not _is_changed(note, changed, removed_entries=removed_entries):
        raise FormatError(
            f"the entry {removed_entries[0].text!r:.60} does not stand by itself in its note"
        )
    return changed


def replaced(note: str, old: Entry, source: str) -> str:
    """Return a note with another entry in the place of one.

    Raises:
        FormatError: The new one, or others, would not be read as they were written.
    """
    changed = note[: old.start] + source + note[old.end :]
    if not _is_changed(
        note, changed, added_entries=_read(source, old.category), removed_entries=[old]
    ):
        raise FormatError(f"the entry {old.text!r:.60} does not stand by itself in its note")
    return changed


def _plain(text: str, written: str, mark: Mark) -> str | None:
    """Return a text as an item without a quotation, or None if it does not come back as it was."""
    item = _item(f"{written} {mark}" if str(mark) else written)
    if "\r" in text or "\0" in text or text[0].isspace():
        return None
    note = f"## x\n\n{item}- follower\n\n## end\n\n- end\n"
    found = parse(note)
    round_trips = [(entry.text, entry.mark) for entry in found[:1]] == [(text, mark)]
    follows = [entry.text for entry in found[1:]] == ["follower", "end"]
    return item if round_trips and follows and len(_core.sections(note)) == 2 else None


def _item(text: str) -> str:
    """Return a text as a list item, its lines indented."""
    first, *rest = text.split("\n")
    return "".join([f"- {first}\n", *(f"  {line}\n" if line else "\n" for line in rest)])


def _read(source: str, title: str) -> tuple[Entry, ...]:
    """Return what a source says under a heading."""
    return parse(f"## {title}\n\n{source}")


def _is_changed(
    before: str,
    after: str,
    *,
    added_entries: Iterable[Entry] = (),
    removed_entries: Iterable[Entry] = (),
) -> bool:
    """Return whether a note holds what it held, with what came and without what went."""

    def counted(entries: Iterable[Entry]) -> Counter[tuple[str, str, Mark]]:
        return Counter(entry.identity for entry in entries)

    wanted = counted(parse(before)) + counted(added_entries)
    wanted.subtract(counted(removed_entries))
    return +wanted == counted(parse(after))


def _closers(note: str) -> list[str]:
    """Return what may end what was left open at the end of a note."""
    fences = sorted(set(_RUNS.findall(note)), key=len)
    return ["", *(f"{fence}\n" for fence in fences), "-->\n"]


def _end_of(note: str, title: str) -> int | None:
    """Return where the last entry of a category ends, or its heading; None if it has none."""
    key = key_of(title)
    place = None
    inside = False
    for level, title_, body, entries in _sections(note):
        if 1 <= level <= 2:
            inside = level == 2 and key_of(title_) == key
            if inside:
                place = body
        if inside and entries:
            place = entries[-1].end
    return place


def _continues(note: str, place: int, source: str) -> bool:
    """Return whether an item there goes on a list, and needs no blank line before it."""
    if not source.startswith("- "):
        return False
    above = note[:place].rstrip("\n").rpartition("\n")[2]
    return note[:place].endswith("\n\n") or above.startswith(("- ", "  "))


def _unit(front: _core.FrontMatter) -> str | None:
    """Return the `unit` that front matter names; None if it names none."""
    return dict(front.fields).get("unit")


def _sections(note: str) -> Iterator[tuple[int, str, int, list[Entry]]]:
    """Yield level and heading of each section, where its body begins, and its entries, in order."""
    data = note.encode()
    offset = char_offsets(data)
    blocks = deque(_core.blocks(note))
    category = GENERAL
    for number, section in enumerate(_core.sections(note)):
        title = heading_of(section, data)
        if 1 <= section.level <= 2:
            category = title if section.level == 2 and title else GENERAL
        body = offset(section.body)
        entries: list[Entry] = []
        while blocks and blocks[0].section == number:
            block = blocks.popleft()
            # a heading may be so long that the index takes it for text as well
            if block.start >= section.body:
                source = data[block.start : block.end].decode()
                entries += _entries(block, source, category, offset(block.start))
        yield section.level, title, body, entries


def _entries(block: _core.MarkdownBlock, source: str, category: str, start: int) -> Iterator[Entry]:
    """Yield what a block that begins at `start` says, if it says anything."""
    if not block.is_item and _SILENT.match(block.text):
        return
    text, mark = split_mark(block.text.rstrip("\n"))
    if text.strip():
        end = start + len(source)
        text = unquote(text)
        yield Entry(text, category, mark, source, block.line, block.end_line, start, end)
