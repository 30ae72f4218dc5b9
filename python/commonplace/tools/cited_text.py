"""Text of a citation: a range of lines, or the entry that a line is in."""

from __future__ import annotations

from commonplace.citation import located
from commonplace.entries.blocks import parse
from commonplace.errors import NotFound
from commonplace.store import Store


def cited_text(store: Store, citation: str) -> str:
    r"""Return what a citation points to.

    Of a range these are its lines. Of one line it is the rest of the entry (the `##` block) that
    the line is in, or of the note where it is in none. A path alone is the whole note.

    Args:
        store: Where it lies.
        citation: Such as `archive/episodes/2026-02.md#L3-L9`.

    Raises:
        NotFound: There is no such note, or no such line.
        QueryError: It is no citation.

    >>> import commonplace, tempfile
    >>> store = commonplace.open(tempfile.mkdtemp())
    >>> _ = store.write("a.md", "## One\n\nfirst\n\n## Two\n\nsecond\n")
    >>> cited_text(store, "a.md#L1"), cited_text(store, "a.md#L5-L7")
    ('## One\n\nfirst\n', '## Two\n\nsecond\n')
    """
    path, first, last = located(citation.strip())
    note = store.read(path)
    if first is None or last is None:
        return note
    # as the index counts them, at line feeds alone
    lines = note.removesuffix("\n").split("\n")
    if first > len(lines):
        raise NotFound(f"{path} has {len(lines)} lines, so there is no {citation.strip()}")
    if first == last:
        ends = [block.line + note.count("\n", block.start, block.end) for block in parse(note)]
        last = next((end - 1 for end in ends if end > first), len(lines))
    return "\n".join(lines[first - 1 : last]).rstrip("\n") + "\n"
