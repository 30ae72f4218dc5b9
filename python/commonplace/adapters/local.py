"""A sentence encoder of the BERT family, read from a folder and run by numpy alone.

Needs `commonplace[embed-local]`: numpy, tokenizers and safetensors, no torch and no network.

Sources: Devlin et al. 2019, "BERT" (the encoder); Reimers & Gurevych 2019, "Sentence-BERT" (the
pooling); the folder is one that sentence-transformers saves.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from commonplace.errors import FormatError, NotFound

try:
    import numpy as np
    from safetensors import SafetensorError
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer
except ImportError as error:
    raise ImportError(
        f"a local model needs {error.name}: pip install 'commonplace[embed-local]'"
    ) from error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

# Tokens run at once, padding included: more are not quicker, and what they need leaves the caches
TOKENS = 512
# Rows of the widest layer that stay in the cache while `gelu` goes over them a dozen times
ROWS = 64

BERT = {
    "query": "encoder.layer.{}.attention.self.query",
    "key": "encoder.layer.{}.attention.self.key",
    "value": "encoder.layer.{}.attention.self.value",
    "merge": "encoder.layer.{}.attention.output.dense",
    "attended": "encoder.layer.{}.attention.output.LayerNorm",
    "widen": "encoder.layer.{}.intermediate.dense",
    "narrow": "encoder.layer.{}.output.dense",
    "done": "encoder.layer.{}.output.LayerNorm",
}
DISTILBERT = {
    "query": "transformer.layer.{}.attention.q_lin",
    "key": "transformer.layer.{}.attention.k_lin",
    "value": "transformer.layer.{}.attention.v_lin",
    "merge": "transformer.layer.{}.attention.out_lin",
    "attended": "transformer.layer.{}.sa_layer_norm",
    "widen": "transformer.layer.{}.ffn.lin1",
    "narrow": "transformer.layer.{}.ffn.lin2",
    "done": "transformer.layer.{}.output_layer_norm",
}
NAMES = {
    "bert": BERT,
    "roberta": BERT,
    "xlm-roberta": BERT,
    "camembert": BERT,
    "distilbert": DISTILBERT,
}
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
        query_prefix: Put before what is sought, as some models want (`"query: "`).
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
        self._first = first_token_speaks(self.folder)
        self._encoder = Encoder.load(self.folder)
        said = settings(self.folder, "sentence_bert_config.json").get("max_seq_length")
        limits = [self._encoder.longest, said, max_tokens]
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
        """Return the vector of what is sought."""
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
        said = orjson.loads(path.read_bytes()) if path.is_file() else {}
    except orjson.JSONDecodeError as error:
        raise FormatError(f"{path} is no JSON: {error}") from error
    if not isinstance(said, dict):
        raise FormatError(f"{path} must hold a JSON object")
    return said


def first_token_speaks(folder: Path) -> bool:
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


class Linear(NamedTuple):
    """A matrix and what is added; of a norm, what it is scaled by and what is added."""

    weight: Matrix
    bias: Matrix

    def __call__(self, states: Matrix) -> Matrix:
        """Multiply each row by the matrix and add."""
        out: Matrix = states @ self.weight
        out += self.bias
        return out

    def norm(self, states: Matrix, epsilon: float) -> Matrix:
        """Shift and scale each row to mean 0 and variance 1, and then as learnt; in place."""
        states -= states.mean(axis=-1, keepdims=True)
        spread = np.einsum("...i,...i->...", states, states)[..., None] / states.shape[-1]
        states /= np.sqrt(spread + np.float32(epsilon))
        states *= self.weight
        states += self.bias
        return states


@dataclass(frozen=True, slots=True)
class Encoder:
    """The transformer: token numbers in, one state a token out."""

    words: Matrix
    places: Matrix
    start: Linear
    layers: list[dict[str, Linear]]
    heads: int
    epsilon: float

    @property
    def width(self) -> int:
        """How many numbers a state has."""
        return int(self.words.shape[1])

    @property
    def longest(self) -> int:
        """How many tokens a text may have."""
        return len(self.places)

    @classmethod
    def load(cls, folder: Path) -> Encoder:
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
            return cls.assemble(config, weights)
        except (SafetensorError, KeyError, ValueError, TypeError) as error:
            raise FormatError(f"{path} does not fit its config.json: {error}") from error

    @classmethod
    def assemble(cls, config: Mapping[str, Any], weights: Mapping[str, Any]) -> Encoder:
        """Put the weights where they belong."""
        ending = "embeddings.word_embeddings.weight"
        prefix = next(name for name in [*weights, ending] if name.endswith(ending))[: -len(ending)]

        def tensor(name: str) -> Matrix:
            return np.ascontiguousarray(weights[prefix + name], np.float32)

        def linear(name: str) -> Linear:
            weight = tensor(f"{name}.weight")
            # transposed once, so that every call multiplies rows by rows
            return Linear(np.ascontiguousarray(weight.T), tensor(f"{name}.bias"))

        kind = config["model_type"]
        # RoBERTa counts places from behind the number of its padding
        offset = config.get("pad_token_id", 1) + 1 if NAMES[kind] is BERT and kind != "bert" else 0
        places = tensor("embeddings.position_embeddings.weight")[offset:]
        if f"{prefix}embeddings.token_type_embeddings.weight" in weights:
            places = places + tensor("embeddings.token_type_embeddings.weight")[0]
        count = config.get("num_hidden_layers", config.get("n_layers"))
        layers = [
            {part: linear(name.format(number)) for part, name in NAMES[kind].items()}
            for number in range(int(count))
        ]
        words, heads = tensor(ending), int(config.get("num_attention_heads", config.get("n_heads")))
        if words.shape[1] % heads:
            raise ValueError(f"{words.shape[1]} numbers do not go into {heads} heads")
        return cls(
            words=words,
            places=places,
            start=linear("embeddings.LayerNorm"),
            layers=layers,
            heads=heads,
            epsilon=float(config.get("layer_norm_eps", 1e-12)),
        )

    def run(self, tokens: NDArray[np.int64], present: NDArray[np.bool_]) -> Matrix:
        """Return the last states, `[texts, tokens, width]`; `present` is false at padding."""
        hidden = self.words[tokens] + self.places[: tokens.shape[1]]
        states = self.start.norm(hidden, self.epsilon)
        unseen = np.where(present, np.float32(0), np.float32(-np.inf))[:, None, None, :]
        for layer in self.layers:
            states += layer["merge"](self.attend(layer, states, unseen))
            states = layer["attended"].norm(states, self.epsilon)
            states += layer["narrow"](gelu(layer["widen"](states)))
            states = layer["done"].norm(states, self.epsilon)
        return states

    def attend(self, layer: Mapping[str, Linear], states: Matrix, unseen: Matrix) -> Matrix:
        """Return for each token the mean of the values that it attends to, head by head."""
        texts, tokens, width = states.shape

        def split(part: str) -> Matrix:
            shape = texts, tokens, self.heads, width // self.heads
            return layer[part](states).reshape(shape).transpose(0, 2, 1, 3)

        scores: Matrix = split("query") @ split("key").swapaxes(2, 3)
        scores *= np.float32(1 / math.sqrt(width // self.heads))
        scores += unseen
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        merged: Matrix = (scores @ split("value")).transpose(0, 2, 1, 3)
        return merged.reshape(texts, tokens, width)


# erf(x) = x · P(x²) / Q(x²) within 2e-7 for |x| ≤ 4, beyond which it is ±1: the coefficients that
# Eigen and XLA use for float32, highest power first
ABOVE = (
    -2.72614225801306e-10,
    2.77068142495902e-08,
    -2.10102402082508e-06,
    -5.69250639462346e-05,
    -7.34990630326855e-04,
    -2.95459980854025e-03,
    -1.60960333262415e-02,
)
BELOW = (
    -1.45660718464996e-05,
    -2.13374055278905e-04,
    -1.68282697438203e-03,
    -7.37332916720468e-03,
    -1.42647390514189e-02,
)


def gelu(states: Matrix) -> Matrix:
    """Replace each x by x · Φ(x), in place (Hendrycks & Gimpel 2016, with erf, not its guess).

    >>> [round(float(x), 4) for x in gelu(np.array([[-9.0, -1.0, 0.0, 2.0]], np.float32))[0]]
    [-0.0, -0.1587, 0.0, 1.9545]
    """
    rows = states.reshape(-1, states.shape[-1])
    for first in range(0, len(rows), ROWS):
        block = rows[first : first + ROWS]
        x = np.clip(block * np.float32(math.sqrt(0.5)), -4, 4)
        square = x * x
        x *= polynomial(ABOVE, square)
        x /= polynomial(BELOW, square)
        x += 1
        x *= 0.5
        block *= x
    return states


def polynomial(factors: tuple[float, ...], x: Matrix) -> Matrix:
    """Return the value of a polynomial at each `x`."""
    out = np.full_like(x, factors[0])
    for factor in factors[1:]:
        out *= x
        out += np.float32(factor)
    return out
