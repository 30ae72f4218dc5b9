"""Embedders over a caller's function, `openai` client or sentence-transformers model.

None of the packages is imported here: the caller hands over an object of theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from commonplace.errors import ModelError

try:
    import numpy as np
except ImportError as error:
    raise ImportError("vectors need numpy: pip install 'commonplace[vectors]'") from error

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Matrix = NDArray[np.float32]

# OpenAI takes at most 2,048 texts and 300,000 tokens a request, and 8,191 tokens a text, none of
# which is shorter than a byte; an empty text is an error there
LONGEST = 8191
MOST_TEXTS = 256
MOST_CHARACTERS = 200_000
EMPTY = " "


class CallableEmbedder:
    """An `Embedder` over functions of your own.

    Args:
        documents: Takes a list of texts, returns a vector each: arrays or lists of numbers.
        id: The name of the model, which must change when the vectors do.
        dims: Numbers a vector has.
        query: Takes a query, returns its vector; default: as one document.

    >>> embedder = CallableEmbedder(lambda texts: [[len(text), 1] for text in texts], "length", 2)
    >>> embedder.embed_documents(["ab", "abc"]).tolist(), embedder.embed_query("a").tolist()
    ([[2.0, 1.0], [3.0, 1.0]], [1.0, 1.0])
    """

    def __init__(
        self,
        documents: Callable[[list[str]], ArrayLike],
        id: str,  # noqa: A002 - as in the protocol
        dims: int,
        query: Callable[[str], ArrayLike] | None = None,
    ) -> None:
        self.id = id
        self.dims = dims
        self._documents = documents
        self._query = query

    def embed_documents(self, texts: list[str], /) -> Matrix:
        """Return one vector a text, in the order of the texts."""
        return np.asarray(self._documents(texts), np.float32)

    def embed_query(self, text: str, /) -> Matrix:
        """Return the vector of a query."""
        if self._query is not None:
            return np.asarray(self._query(text), np.float32)
        return np.asarray(self.embed_documents([text])[0])


class OpenAIEmbedder:
    """An `Embedder` over a client of the `openai` SDK, or anything with `embeddings.create`.

    Every server that speaks this protocol will do: give the client its `base_url`. Retries and
    timeouts are the client's. Texts leave this machine for where the client sends them.

    Args:
        client: `openai.OpenAI(…)`.
        model: The name of the model.
        dims: Numbers a vector has.
        shorten: Ask the server for `dims` numbers, where the model can be cut to fewer.
        query_prefix: Put before a query, as some models want.
        document_prefix: Put before each document.
        longest: Cut a text, prefix included, after this many bytes: the server refuses a longer
            one, and all that are asked with it.
    """

    def __init__(
        self,
        client: Any,
        model: str = "text-embedding-3-small",
        dims: int = 1536,
        *,
        shorten: bool = False,
        query_prefix: str = "",
        document_prefix: str = "",
        longest: int = LONGEST,
    ) -> None:
        prefixes = f" {query_prefix!r} {document_prefix!r}"
        self.id = model + (prefixes if query_prefix or document_prefix else "")
        self.id += f" {longest}" if longest != LONGEST else ""
        self.dims = dims
        self._client = client
        self._options: dict[str, Any] = {"model": model}
        if shorten:
            self._options["dimensions"] = dims
        self._prefixes = query_prefix, document_prefix
        self._longest = longest

    def embed_documents(self, texts: list[str], /) -> Matrix:
        """Return one vector a text, in the order of the texts.

        Raises:
            ModelError: The server answered another number of vectors.
        """
        vectors: list[list[float]] = []
        for batch in portions([self._cut(self._prefixes[1] + text) for text in texts]):
            vectors += self._ask(batch)
        return np.asarray(vectors or np.zeros((0, self.dims)), np.float32)

    def embed_query(self, text: str, /) -> Matrix:
        """Return the vector of a query."""
        return np.asarray(self._ask([self._cut(self._prefixes[0] + text)])[0], np.float32)

    def _cut(self, text: str) -> str:
        # no more of it than may be needed: a text can be megabytes
        start = text[: self._longest].encode(errors="replace")
        return start[: self._longest].decode(errors="ignore")

    def _ask(self, texts: list[str]) -> list[list[float]]:
        # floats, not base64: the one form that every compatible server has
        answer = self._client.embeddings.create(
            input=[text if text.strip() else EMPTY for text in texts],
            encoding_format="float",
            **self._options,
        )
        # the order is that of `index`, which servers need not send sorted
        parts = sorted(answer.data, key=lambda part: part.index)
        if [part.index for part in parts] != list(range(len(texts))):
            raise ModelError(
                f"{self._options['model']!r} answered {len(parts)} vectors to {len(texts)} texts"
            )
        return [part.embedding for part in parts]


class SentenceTransformersEmbedder:
    """An `Embedder` over a `sentence_transformers.SentenceTransformer`, or anything like it.

    It asks `encode_document` and `encode_query` where the model has them, which know the prompts
    of asymmetric models, and `encode` otherwise.

    Args:
        model: The model; also one of model2vec, which has `encode` as well.
        id: Its name, which must change when the vectors do: the model itself may not know it.
        dims: Numbers a vector has, where the model does not say.

    Raises:
        ValueError: The model does not say its dims, and they were not given.
    """

    def __init__(self, model: Any, id: str, dims: int | None = None) -> None:  # noqa: A002
        for ask in ("get_embedding_dimension", "get_sentence_embedding_dimension"):
            if dims is None and hasattr(model, ask):
                dims = getattr(model, ask)()
        if not dims:
            raise ValueError(f"say dims=…, for the model {id!r} does not")
        self.id = id
        self.dims = int(dims)
        self._documents = getattr(model, "encode_document", None) or model.encode
        self._query = getattr(model, "encode_query", None) or model.encode

    def embed_documents(self, texts: list[str], /) -> Matrix:
        """Return one vector a text, in the order of the texts."""
        return np.asarray(self._documents(texts), np.float32)

    def embed_query(self, text: str, /) -> Matrix:
        """Return the vector of a query."""
        return np.asarray(self._query([text])[0], np.float32)


def portions(texts: Sequence[str]) -> list[list[str]]:
    """Cut texts into requests that a server takes.

    >>> [len(portion) for portion in portions(["x"] * 300 + ["y" * 150_000] * 2)]
    [256, 45, 1]
    """
    requests: list[list[str]] = []
    size = MOST_CHARACTERS + 1
    for text in texts:
        if size + len(text) > MOST_CHARACTERS or len(requests[-1]) >= MOST_TEXTS:
            requests.append([])
            size = 0
        requests[-1].append(text)
        size += len(text)
    return requests
