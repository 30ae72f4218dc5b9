"""Transformer encoder of the BERT family in numpy: token ids in, hidden states out.

Sources: Devlin et al. 2019, "BERT"; the names of the weights are those of the files that
transformers saves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

# Rows of the widest layer that stay in the cache while `gelu` goes over them a dozen times
ROWS = 64

BERT = {
    "query": "encoder.layer.{}.attention.self.query",
    "key": "encoder.layer.{}.attention.self.key",
    "value": "encoder.layer.{}.attention.self.value",
    "attention_output": "encoder.layer.{}.attention.output.dense",
    "attention_norm": "encoder.layer.{}.attention.output.LayerNorm",
    "ffn_in": "encoder.layer.{}.intermediate.dense",
    "ffn_out": "encoder.layer.{}.output.dense",
    "output_norm": "encoder.layer.{}.output.LayerNorm",
}
DISTILBERT = {
    "query": "transformer.layer.{}.attention.q_lin",
    "key": "transformer.layer.{}.attention.k_lin",
    "value": "transformer.layer.{}.attention.v_lin",
    "attention_output": "transformer.layer.{}.attention.out_lin",
    "attention_norm": "transformer.layer.{}.sa_layer_norm",
    "ffn_in": "transformer.layer.{}.ffn.lin1",
    "ffn_out": "transformer.layer.{}.ffn.lin2",
    "output_norm": "transformer.layer.{}.output_layer_norm",
}
NAMES = {
    "bert": BERT,
    "roberta": BERT,
    "xlm-roberta": BERT,
    "camembert": BERT,
    "distilbert": DISTILBERT,
}


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
    positions: Matrix
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
        return len(self.positions)

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
        # RoBERTa counts positions from behind the number of its padding
        offset = config.get("pad_token_id", 1) + 1 if NAMES[kind] is BERT and kind != "bert" else 0
        positions = tensor("embeddings.position_embeddings.weight")[offset:]
        if f"{prefix}embeddings.token_type_embeddings.weight" in weights:
            positions = positions + tensor("embeddings.token_type_embeddings.weight")[0]
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
            positions=positions,
            start=linear("embeddings.LayerNorm"),
            layers=layers,
            heads=heads,
            epsilon=float(config.get("layer_norm_eps", 1e-12)),
        )

    def run(self, tokens: NDArray[np.int64], present: NDArray[np.bool_]) -> Matrix:
        """Return the last states, `[texts, tokens, width]`; `present` is false at padding."""
        hidden = self.words[tokens] + self.positions[: tokens.shape[1]]
        states = self.start.norm(hidden, self.epsilon)
        attention_mask = np.where(present, np.float32(0), np.float32(-np.inf))[:, None, None, :]
        for layer in self.layers:
            states += layer["attention_output"](self.attend(layer, states, attention_mask))
            states = layer["attention_norm"].norm(states, self.epsilon)
            states += layer["ffn_out"](gelu(layer["ffn_in"](states)))
            states = layer["output_norm"].norm(states, self.epsilon)
        return states

    def attend(self, layer: Mapping[str, Linear], states: Matrix, attention_mask: Matrix) -> Matrix:
        """Return for each token the mean of the values that it attends to, head by head."""
        texts, tokens, width = states.shape

        def split(part: str) -> Matrix:
            shape = texts, tokens, self.heads, width // self.heads
            return layer[part](states).reshape(shape).transpose(0, 2, 1, 3)

        scores: Matrix = split("query") @ split("key").swapaxes(2, 3)
        scores *= np.float32(1 / math.sqrt(width // self.heads))
        scores += attention_mask
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
    """Replace each x by x · Φ(x), in place (Hendrycks & Gimpel 2016).

    It is computed with erf, not its tanh approximation.

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
