"""Index message: the list of files that an agent is shown at the start of a task."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence

from commonplace.errors import InvalidArgument
from commonplace.memories.facts_and_episodes.notes import EPISODES
from commonplace.memories.facts_and_episodes.summary_line import shortened
from commonplace.typed_dict import TypedDict


class Listed(TypedDict):
    """A memory file as `memory_list` shows it; `size` is in bytes."""

    path: str
    summary: str
    size: int


class ListedVersion(Listed):
    """A memory file with its version, as a write takes it."""

    version: str


def message(
    files: Sequence[Listed],
    weight: Callable[[str], float],
    *,
    budget: int | None,
    measure: Callable[[str], int],
) -> str:
    """Return the list as a message; see `FactsAndEpisodes.index_message()`.

    Args:
        files: What there is.
        weight: Tells of a path how much it deserves its line; of equal ones the first comes first.
        budget: The most that the message may measure.
        measure: Tells how much a text takes of the budget.

    Raises:
        InvalidArgument: Not even the message without a file is within the budget.
    """
    # facts before episodes, as in the name of the design
    files = sorted(files, key=lambda file: (file["path"].startswith(EPISODES), file["path"]))
    whole = _message(files, 0)
    if budget is None or measure(whole) <= budget:
        return whole
    files = sorted(files, key=lambda file: -weight(file["path"]))
    # one long line that somebody wrote must not cost all others their place
    files = [Listed(**{**file, "summary": shortened(file["summary"])}) for file in files]

    def taking(count: int) -> str:
        return _message(files[:count], len(files) - count)

    counts = range(len(files) + 1)
    count = bisect.bisect_right(counts, budget, key=lambda count: measure(taking(count))) - 1
    # a measure need not grow with every line
    while count >= 0 and measure(taking(count)) > budget:
        count -= 1
    if count < 0:
        raise InvalidArgument(f"a budget of {budget} is less than an empty list takes")
    return taking(count)


def line(file: Listed) -> str:
    """Return the line of a file.

    >>> line({"path": "facts/user.md", "summary": "user name, role", "size": 320})
    '- facts/user.md (320B): user name, role'
    """
    return f"- {file['path']} ({_size(file['size'])}): {file['summary']}"


def _message(files: Sequence[Listed], left_out: int) -> str:
    lines = [line(file) for file in files]
    if left_out:
        lines.append(f"- … and {left_out} more: memory_list shows all")
    listed = "\n".join(lines)
    return (
        f"Available memory:\n{listed}\n\nUse memory_read to load relevant files before responding."
    )


def _size(size: int) -> str:
    """Return a size as the design writes it.

    >>> _size(320), _size(1229), _size(3 << 20)
    ('320B', '1.2KB', '3.0MB')
    """
    if size < 1024:
        return f"{size}B"
    return f"{size / 1024:.1f}KB" if size < 1 << 20 else f"{size / (1 << 20):.1f}MB"
