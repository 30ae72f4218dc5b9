"""Progress of long calls, as another process sees it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from commonplace import Store, progress
from commonplace.progress import FOLDER, ProgressNotes, running
from commonplace.recall.vectors import Vectors
from tests.doubles import letter_embedder


def test_an_import_is_seen_while_it_runs(
    opened: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "INTERVAL", 0)
    chats = tmp_path / "chats"
    chats.mkdir()
    for number in range(5):
        line = json.dumps({"role": "user", "content": f"Where is ferry {number}?"})
        (chats / f"{number}.jsonl").write_text(f"{line}\n")
    seen = []
    opened.import_sessions(
        chats, progress=lambda *_: seen.append(running(opened.side_files(FOLDER)))
    )
    assert seen
    done, total = seen[-1]["import"]
    assert 0 < done <= total
    assert running(opened.side_files(FOLDER)) == {}


def test_embedding_is_seen_while_it_runs(opened: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "INTERVAL", 0)
    for number in range(3):
        opened.write(f"{number}.md", f"Ferry {number}.\n")
    seen = []
    embedder = letter_embedder()
    asked = embedder.embed_documents

    def embed(texts: list[str]) -> object:
        seen.append(running(opened.side_files(FOLDER)))
        return asked(texts)

    monkeypatch.setattr(embedder, "embed_documents", embed)
    Vectors(opened, embedder).refresh()
    assert seen == [{"embedding": (2, 3)}]
    assert running(opened.side_files(FOLDER)) == {}


def test_what_is_quick_leaves_no_note_and_what_was_killed_ends(opened: Store) -> None:
    files = opened.side_files(FOLDER)
    notes = ProgressNotes(files, "import")
    notes.note(1, 2)
    notes.end()
    assert not (opened.root / ".commonplace" / FOLDER).exists()
    old = {"time": time.time() - 2 * progress.LOST, "done": 1, "total": 2, "running": True}
    files.replace("import.json", [json.dumps(old).encode()])
    files.replace("embedding.json", [b"torn {"])
    assert running(files) == {}
