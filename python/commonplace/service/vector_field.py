"""Field of the index that has the vectors of one embedder, as k-NN of the engine."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from commonplace.embedded_text import digest

if TYPE_CHECKING:
    from commonplace.protocols import Embedder

DRAWS = 1 << 20
"""Documents draw a number below it: those with a small one are a sample."""
REACH = 2
"""So many messages on, the vector of a message still depends on it, as `NEIGHBOUR_WEIGHTS` say."""


@dataclass(frozen=True)
class VectorField:
    """The field of the index that has the vectors of one embedder."""

    name: str
    dims: int

    @classmethod
    def of(cls, embedder: Embedder) -> VectorField:
        """Return the field of an embedder: those of another one are never mixed in."""
        return cls(f"vector_{digest(embedder.id)[:6].hex()}_{embedder.dims}", embedder.dims)

    def properties(self) -> dict[str, Any]:
        """Return what the mapping of an index says of it."""
        method = {"name": "hnsw", "engine": "lucene", "space_type": "innerproduct"}
        vector = {"type": "knn_vector", "dimension": self.dims, "method": method}
        return {"draw": {"type": "integer"}, self.name: vector}


def drawn(document: str) -> int:
    """Return the number that a document draws by its id, the same one each time."""
    return int.from_bytes(hashlib.blake2b(document.encode(), digest_size=8).digest(), "big") % DRAWS
