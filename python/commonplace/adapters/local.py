"""Local embedder: a sentence encoder of the BERT family read from a folder, run in numpy.

Needs `commonplace[embed-local]`: numpy, tokenizers and safetensors, no torch and no network.

Sources: Devlin et al. 2019, "BERT" (the encoder); Reimers & Gurevych 2019, "Sentence-BERT" (the
pooling); the folder is one that sentence-transformers saves.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from commonplace.errors import FormatError, NotFound

try:
    import numpy as np
    from safetensors import SafetensorError
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    from commonplace.adapters.encoder import NAMES, Encoder
except ImportError as error:
    raise ImportError(
        f"a local model needs {error.name}: pip install 'commonplace[embed-local]'"
    ) from error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

# Tokens run at once, padding included: more are not quicker, and what they need leaves the caches
TOKENS = 512

MODULES = {"Transformer", "Pooling", "Normalize"}


class LocalEmbedder:
    """An `Embedder` over a model folder; safe to share between threads.

    The folder holds `config.json`, `tokenizer.json` and `model.safetensors`, and says in
    `modules.json` and `1_Pooling/config.json` how tokens become one vector: their mean (the
    default) or the first one. Vectors have length 1. Texts are cut after `max_tokens` tokens.

    On a small or busy machine, `OPENBLAS_NUM_THREADS=1` in the environment makes it quicker, up to
    ten times: the products are small, and numpy's threads wait for each other.

    Args:
        folder: Where the model lies.
        query_prefix: Put before a query, as some models want (`"query: "`).
        document_prefix: Put before each document (`"passage: "`).
        max_tokens: Cut texts earlier than the model would.

    Raises:
        NotFound: A file of the model is missing.
        FormatError: It is another kind of model, or damaged.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        query_prefix: str = "",
        document_prefix: str = "",
        max_tokens: int | None = None,
    ) -> None:
        self.folder = Path(folder).expanduser()
        self._prefixes = query_prefix, document_prefix
        self._first = uses_first_token_pooling(self.folder)
        self._encoder = load(self.folder)
        configured = settings(self.folder, "sentence_bert_config.json").get("max_seq_length")
        limits = [self._encoder.longest, configured, max_tokens]
        self.max_tokens = min(limit for limit in limits if limit)
        path = needed(self.folder, "tokenizer.json")
        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the tokenizers package raises nothing narrower
            raise FormatError(f"{path} is no tokenizer: {error}") from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(self.max_tokens)
        self.dims = self._encoder.width
        self.id = f"{self.folder.resolve().name}-{self._fingerprint()}"

    def embed_documents(self, texts: list[str], /) -> Matrix:
        """Return one vector of length 1 a text, in the order of the texts."""
        return self._embed([self._prefixes[1] + text for text in texts])

    def embed_query(self, text: str, /) -> Matrix:
        """Return the vector of a query."""
        vector: Matrix = self._embed([self._prefixes[0] + text])[0]
        return vector

    def _embed(self, texts: list[str]) -> Matrix:
        # half of a surrogate pair has no UTF-8, and the tokenizer takes nothing else
        clean = [text.encode(errors="replace").decode() for text in texts]
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(clean)]
        vectors = np.empty((len(texts), self.dims), np.float32)
        for places in batches([len(ids) for ids in tokens]):
            vectors[places] = self._pooled([tokens[place] for place in places])
        return vectors

    def _pooled(self, tokens: list[list[int]]) -> Matrix:
        longest = max(map(len, tokens))
        present = np.arange(longest) < np.array([len(ids) for ids in tokens])[:, None]
        padded = np.zeros(present.shape, np.int64)
        padded[present] = np.concatenate([np.asarray(ids, np.int64) for ids in tokens])
        states = self._encoder.run(padded, present)
        pooled = states[:, 0] if self._first else (states * present[..., None]).sum(axis=1)
        # what a mean divides by goes with the length
        length = np.linalg.norm(pooled, axis=1, keepdims=True)
        return np.asarray(pooled / np.maximum(length, 1e-12), np.float32)

    def _fingerprint(self) -> str:
        """Return a hash of everything that changes a vector."""
        hasher = hashlib.blake2b(digest_size=6)
        hasher.update(repr((self._prefixes, self._first, self.max_tokens)).encode())
        for name in ("config.json", "tokenizer.json", "model.safetensors"):
            with (self.folder / name).open("rb") as file:
                hasher.update(hashlib.file_digest(file, "blake2b").digest())
        return hasher.hexdigest()

    def __repr__(self) -> str:
        return f"LocalEmbedder({str(self.folder)!r})"


def needed(folder: Path, name: str) -> Path:
    """Return the path of a file that the model cannot do without."""
    if not (folder / name).is_file():
        raise NotFound(f"{folder} holds no {name}: it must be a model as transformers saves it")
    return folder / name


def settings(folder: Path, name: str) -> dict[str, Any]:
    """Return what an optional file of settings says, nothing where it is absent."""
    path = folder / name
    try:
        found = orjson.loads(path.read_bytes()) if path.is_file() else {}
    except orjson.JSONDecodeError as error:
        raise FormatError(f"{path} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise FormatError(f"{path} must hold a JSON object")
    return found


def uses_first_token_pooling(folder: Path) -> bool:
    """Tell whether the first token stands for the text, and not the mean of all."""
    path, pooling = folder / "modules.json", "1_Pooling"
    if path.is_file():
        try:
            modules = orjson.loads(path.read_bytes())
            kinds = {module["type"].rsplit(".", 1)[-1]: module["path"] for module in modules}
        except (orjson.JSONDecodeError, TypeError, KeyError, AttributeError) as error:
            raise FormatError(f"{path} is no list of modules: {error}") from error
        if others := kinds.keys() - MODULES:
            raise FormatError(f"{path}: {', '.join(sorted(others))} is not understood here")
        pooling = kinds.get("Pooling", pooling)
    modes = settings(folder, f"{pooling}/config.json")
    chosen = {name for name, value in modes.items() if name.startswith("pooling_mode_") and value}
    if chosen - {"pooling_mode_cls_token", "pooling_mode_mean_tokens"} or len(chosen) > 1:
        raise FormatError(
            f"{folder / pooling}: only the mean or the first token is understood, not {chosen}"
        )
    return "pooling_mode_cls_token" in chosen


def load(folder: Path) -> Encoder:
    """Read the model in `folder`."""
    needed(folder, "config.json")
    config = settings(folder, "config.json")
    kind = config.get("model_type")
    if kind not in NAMES:
        raise FormatError(f"{folder}: a model of type {kind!r}; known are {', '.join(NAMES)}")
    # the names that DistilBERT has for the same
    activation = config.get("hidden_act", config.get("activation", "gelu"))
    if activation != "gelu" or config.get("position_embedding_type", "absolute") != "absolute":
        raise FormatError(f"{folder}: only gelu and absolute positions are understood")
    path = needed(folder, "model.safetensors")
    try:
        weights = load_file(path)
        return Encoder.assemble(config, weights)
    except (SafetensorError, KeyError, ValueError, TypeError) as error:
        raise FormatError(f"{path} does not fit its config.json: {error}") from error


def batches(lengths: list[int]) -> Iterator[list[int]]:
    """Yield the places of texts of like lengths, so many that they make up to `TOKENS` tokens.

    >>> list(batches([3, 500, 4, 250]))
    [[1], [3, 2], [0]]
    """
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        if batch and lengths[batch[0]] * (len(batch) + 1) > TOKENS:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch
