"""Embedded text: what an embedder is given of a document, and the key of its vector."""

from __future__ import annotations

# for types only: a command starts without `typing`
TYPE_CHECKING = False
if TYPE_CHECKING:
    from commonplace._core import Hit


def embedded_text(hit: Hit) -> str:
    """Return what the embedder is given of a document: its text, and what it is said under."""
    if hit.source == "note":
        return f"{' > '.join(hit.heading)}\n{hit.text}" if hit.heading else hit.text
    return f"{hit.name}: {hit.text}" if hit.name else hit.text


def digest(text: str) -> bytes:
    """Return the key of a text."""
    # it takes as long to load as all of this package
    import hashlib  # noqa: PLC0415

    return hashlib.blake2b(text.encode(), digest_size=16).digest()
