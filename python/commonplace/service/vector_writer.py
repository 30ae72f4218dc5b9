"""Vectors of a file's documents for the engine, as the store of a tenant would have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from commonplace._core import EngineDocument, document_hits
from commonplace.embedded_text import digest, embedded_text
from commonplace.recall.vector_documents import smooth
from commonplace.recall.vector_maker import Batches, VectorMaker
from commonplace.service.vector_field import REACH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from commonplace.protocols import Embedder
    from commonplace.service.stores import TenantRoot

    Matrix = NDArray[np.float32]


def maker_of(store: TenantRoot, embedder: Embedder) -> VectorMaker:
    """Return what makes the vectors of a tenant, and keeps them beside its files."""
    if store.maker is None:
        store.maker = VectorMaker(store, embedder)
    made: VectorMaker = store.maker
    return made


def vectors_of(
    maker: VectorMaker, documents: Sequence[EngineDocument], first: int, most: int | None
) -> Matrix | None:
    """Return the vectors of a file's documents from `first` on.

    Args:
        maker: Makes those of texts that it does not know.
        documents: All of the file, in order.
        first: Those before are not needed.
        most: Make no more than so many; None: all.

    Returns:
        A row each; None if more would have to be made.

    Raises:
        ModelError: The embedder failed.
    """
    begin = max(0, first - REACH)
    wanted = documents[begin:]
    if not wanted:
        return np.zeros((0, maker.dims), np.float32)
    texts = [embedded_text(hit) for hit in document_hits(wanted, "message")]
    known = dict(zip(map(digest, texts), texts, strict=True))
    if most is not None and len(known) > most and not maker.has(list(known)):
        return None
    batches = Batches(lambda: None, lambda _: None)
    made = maker.vectors(list(known), list(known.values()), batches)
    rows = dict(zip(known, range(len(known)), strict=True))
    near = made[[rows[digest(text)] for text in texts]]
    if wanted[0].source != "note":
        near = smooth(near, [one.session for one in wanted])
    return near[first - begin :]
