"""Three-way merge of a note of a branch by section; of a conflict both versions are kept."""

from __future__ import annotations

from commonplace.entries.blocks import parse, preamble, render, title_for


def merge_texts(base: str, ours: str, theirs: str, name: str) -> tuple[str, list[str]]:
    r"""Merge two texts of a note that come from one, section by section, and lose neither.

    Args:
        base: The text that both come from, empty when there is none.
        ours: The text that is merged into.
        theirs: The text of the branch `name`.
        name: Goes into the heading of what both changed: theirs is put behind ours.

    Returns:
        The merged text, and the headings of what both changed.

    >>> base = "# N\n\n## A\n\n1\n\n## B\n\n2\n"
    >>> merge_texts(base, base.replace("1", "one"), base.replace("2", "two"), "try")
    ('# N\n\n## A\n\none\n\n## B\n\ntwo\n', [])
    """
    if theirs in {base, ours}:
        return ours, []
    if ours in {base, ""}:
        return theirs, []
    parts = [_sections(text) for text in (base, ours, theirs)]
    whole = _kept_both(ours, f"The note (from branch {name})", theirs), ["the whole note"]
    if None in parts:
        return whole
    then, here, there = (part or {} for part in parts)
    merged: list[str] = []
    clashes: list[str] = []
    for title in dict.fromkeys([*here, *there]):
        was, mine, other = (part.get(title, "") for part in (then, here, there))
        if other in {was, mine}:
            merged.append(mine)
        elif mine == was:
            merged.append(other)
        else:
            # changed on both sides, or changed on one and taken out on the other
            clashes.append(title or "what stands before the first section")
            merged.append(mine)
            if other:
                copy = _copy(title, other, name)
                merged.append("" if copy in ours else copy)
    text = "\n\n".join(filter(None, merged)) + "\n"
    # a fence that was open to the end of its note would take in what now stands behind it
    return (text, clashes) if _titles([text]) == _titles(merged) else whole


def _copy(title: str, source: str, name: str) -> str:
    """Return a section of another branch under a heading that says whose it is."""
    found = parse(source)
    text, meta = (found[0].text, found[0].meta) if found else (source, {})
    heading = title_for(f"{title or 'Beginning'} (from branch {name})", 200)
    return render(heading, text, meta).strip("\n")


def _kept_both(ours: str, title: str, theirs: str) -> str:
    """Return our text with theirs behind it as one section, or before it if ours swallows that."""
    copy = render(title, theirs)
    if copy.strip("\n") in ours:
        return ours
    text = f"{ours.rstrip(chr(10))}\n\n{copy}"
    return text if parse(text)[-1:] == parse(copy) else f"{copy}\n# The note as it was\n\n{ours}"


def _titles(notes: list[str]) -> list[str]:
    return [block.title for note in notes for block in parse(note)]


def _sections(note: str) -> dict[str, str] | None:
    """Return the second-level sections by heading, the beginning under ""; None if not possible."""
    blocks = parse(note)
    parts = {"": preamble(note), **{block.title: note[block.start : block.end] for block in blocks}}
    whole = len(parts) == len(blocks) + 1 and "".join(parts.values()) == note
    return {title: text.strip("\n") for title, text in parts.items()} if whole else None
