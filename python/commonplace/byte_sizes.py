"""Numbers of bytes as people read them."""

from __future__ import annotations


def size(count: int) -> str:
    """Return a number of bytes as people write it.

    >>> size(320), size(1234), size(100_000_000)
    ('320 B', '1.2 kB', '100.0 MB')
    """
    if count < 1000:
        return f"{count} B"
    amount = float(count)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 1000 or unit == "GB":
            break
    return f"{amount:.1f} {unit}"
