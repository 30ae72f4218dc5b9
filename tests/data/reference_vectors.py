"""Generator of reference vectors for the local encoder's tests, with torch.

Run it where sentence-transformers is installed, with the folder of all-MiniLM-L6-v2:
`python reference_vectors.py FOLDER > reference_vectors.json`. Each text is encoded by itself, so
that nothing depends on padding. The small models have random weights, which numpy makes anew from
a seed wherever they are needed.
"""

from __future__ import annotations

import base64
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors

TEXTS = [
    "Call me Alex.",
    "The user prefers dark mode in every editor.",
    "We moved the release from Tuesday to Thursday because the migration was not ready.",
    "用户喜欢简洁的回答。",
    "naïve café — “quotes”, emoji 🎉 and a tab\tbetween",
    "def fetch(url: str) -> bytes: ...",
    "memory " * 400,
    "",
]
SMALL = ["bert", "roberta", "distilbert"]
WORDS = ["<s>", "<pad>", "</s>", "<unk>", *"abcdefghijklmnopqrstuvwxyz"]
WIDTH, WIDER, HEADS, LAYERS, PLACES = 16, 32, 4, 2, 24


def small(kind: str, folder: Path, pooling: str = "mean_tokens") -> None:
    """Write a small model of a kind, as sentence-transformers would save it."""
    draw = np.random.default_rng(20261121)
    prefix = {"bert": "", "roberta": "roberta.", "distilbert": "distilbert."}[kind]
    weights: dict[str, Any] = {}

    def table(name: str, *shape: int) -> None:
        weights[f"{prefix}{name}.weight"] = draw.normal(0, 0.5, shape).astype(np.float32)

    def dense(name: str, out: int, into: int) -> None:
        table(name, out, into)
        weights[f"{prefix}{name}.bias"] = draw.normal(0, 0.5, out).astype(np.float32)

    def norm(name: str) -> None:
        weights[f"{prefix}{name}.weight"] = draw.normal(1, 0.1, WIDTH).astype(np.float32)
        weights[f"{prefix}{name}.bias"] = draw.normal(0, 0.1, WIDTH).astype(np.float32)

    table("embeddings.word_embeddings", len(WORDS), WIDTH)
    table("embeddings.position_embeddings", PLACES, WIDTH)
    norm("embeddings.LayerNorm")
    if kind != "distilbert":
        table("embeddings.token_type_embeddings", 2 if kind == "bert" else 1, WIDTH)
    for number in range(LAYERS):
        layer = f"{'transformer' if kind == 'distilbert' else 'encoder'}.layer.{number}."
        if kind == "distilbert":
            for name in ("q_lin", "k_lin", "v_lin", "out_lin"):
                dense(f"{layer}attention.{name}", WIDTH, WIDTH)
            dense(f"{layer}ffn.lin1", WIDER, WIDTH)
            dense(f"{layer}ffn.lin2", WIDTH, WIDER)
            norm(f"{layer}sa_layer_norm")
            norm(f"{layer}output_layer_norm")
            continue
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            dense(f"{layer}attention.{name}", WIDTH, WIDTH)
        dense(f"{layer}intermediate.dense", WIDER, WIDTH)
        dense(f"{layer}output.dense", WIDTH, WIDER)
        norm(f"{layer}attention.output.LayerNorm")
        norm(f"{layer}output.LayerNorm")
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    write(folder / "config.json", config(kind))
    write(folder / "sentence_bert_config.json", {"max_seq_length": 20})
    write(folder / "1_Pooling/config.json", {f"pooling_mode_{pooling}": True})
    parts = ["Transformer", "Pooling"]
    paths = ["", "1_Pooling"]
    write(
        folder / "modules.json",
        [
            {
                "idx": at,
                "name": str(at),
                "path": paths[at],
                "type": f"sentence_transformers.models.{part}",
            }
            for at, part in enumerate(parts)
        ],
    )
    tokens = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS)}, "<unk>"))
    tokens.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokens.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokens.save(str(folder / "tokenizer.json"))


def config(kind: str) -> dict[str, Any]:
    """Return the settings of a small model by the names that its kind has for them."""
    common = {"model_type": kind, "vocab_size": len(WORDS), "max_position_embeddings": PLACES}
    common |= {"pad_token_id": 1}
    if kind == "distilbert":
        sizes = {"dim": WIDTH, "hidden_dim": WIDER, "n_heads": HEADS, "n_layers": LAYERS}
        return {**common, **sizes, "activation": "gelu"}
    sizes = {"hidden_size": WIDTH, "intermediate_size": WIDER, "num_attention_heads": HEADS}
    return {
        **common,
        **sizes,
        "num_hidden_layers": LAYERS,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-5 if kind == "roberta" else 1e-12,
        "type_vocab_size": 2 if kind == "bert" else 1,
    }


def write(path: Path, value: Any) -> None:
    """Write JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def main(folder: str) -> None:
    """Encode every text with every model and print the vectors."""
    import sentence_transformers  # type: ignore[import-not-found]  # noqa: PLC0415 - here only
    import torch  # type: ignore[import-not-found]  # noqa: PLC0415 - here only
    from transformers import AutoModel  # type: ignore[import-not-found]  # noqa: PLC0415

    model = sentence_transformers.SentenceTransformer(folder, device="cpu")
    made = {"all-MiniLM-L6-v2": [model.encode([text])[0] for text in TEXTS]}
    for kind in SMALL:
        with tempfile.TemporaryDirectory() as place:
            small(kind, Path(place))
            tokens = Tokenizer.from_file(f"{place}/tokenizer.json")
            tokens.enable_truncation(20)
            encoder = AutoModel.from_pretrained(place).eval()
            states = []
            for text in TEXTS:
                with torch.no_grad():
                    ids = torch.tensor([tokens.encode(text).ids])
                    states.append(encoder(input_ids=ids).last_hidden_state[0])
        for name, pooled in {
            kind: [state.mean(dim=0) for state in states],
            f"{kind} cls": [state[0] for state in states],
        }.items():
            made[name] = [(vector / vector.norm()).numpy() for vector in pooled]
    report = {
        "torch": torch.__version__,
        "sentence-transformers": sentence_transformers.__version__,
        "vectors, float32 as base64": {
            name: [base64.b64encode(vector.astype("<f4").tobytes()).decode() for vector in vectors]
            for name, vectors in made.items()
        },
    }
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main(sys.argv[1])
