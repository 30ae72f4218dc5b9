"""Bundles of the Open Knowledge Format: conformant, and equal after the way there and back."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

import commonplace
from commonplace.cli import run
from commonplace.doors.okf import concept, export_bundle, import_bundle, note
from commonplace.errors import Refused

NOTES = {
    "facts/user.md": "# User\n\nLikes oolong.\n",
    "facts/typed.md": "---\ntype: Metric\nx: [1]\n---\n\n# Revenue\n",
    "facts/untyped.md": "---\ntags: [a]\n---\nText\n",
    "facts/broken.md": "---\n: [\n---\nText",
    "facts/empty-type.md": "---\ntype:\n---\nText",
    "facts/crlf.md": "---\r\nx: 1\r\n---\r\nText\r\n",
    "facts/empty.md": "",
    "index.md": "Not a list.\n",
    "index_.md": "Named so.\n",
    "deep/index.md": "# Group\n\n* [One](one.md) - first\n",
    "deep/log.md": "# Log\n\n## 2026-05-22\n* **Update**: more.\n",
    "deep/one.markdown": "Another ending.\n",
    "log.md": "## Some day\n",
}
added = [
    "type: Note # block added by commonplace\n",
    "type: Note # added by commonplace\n",
    'commonplace_name: "a.md" # added by commonplace\n',
]
others = ["---\n", "---\r\n", "x: 1\n", "type: T\n", "type:\n", "- [", "...\n", "\ufeff", "é"]
pieces = st.sampled_from(added + others)


def notes(store: commonplace.Store) -> dict[str, str]:
    return {one.path: store.read(one.path) for one in store.list() if one.kind == "note"}


def fields(text: str) -> dict[str, object]:
    """Return the frontmatter of a concept, as the format demands it."""
    found = re.match(r"---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", text, re.DOTALL | re.MULTILINE)
    assert found
    read: dict[str, object] = yaml.safe_load(found[1])
    return read


@given(text=st.lists(pieces, max_size=8).map("".join) | st.text(max_size=20), renamed=st.booleans())
@example(text="---\ntype: T\n---", renamed=False)
@example(text="---\n\ufeff---\n---\n", renamed=False)
def test_a_note_comes_back_from_its_concept(text: str, renamed: bool) -> None:
    name = "a b/index.md" if renamed else None
    made = concept(text, name)
    assert note(made) == (text, name)
    assert str(fields(made)["type"]).strip()


def test_notes_come_back_equal(opened: commonplace.Store, tmp_path: Path) -> None:
    for path, text in NOTES.items():
        opened.write(path, text)
    opened.append("sessions/s/messages.jsonl", '{"role": "user", "content": "hi"}')
    bundle = tmp_path / "bundle"
    report = export_bundle(opened, bundle)
    assert len(report.written) == len(NOTES)
    files = {one.relative_to(bundle).as_posix(): one for one in bundle.rglob("*.md")}
    assert {*files} == {*report.written, "index.md"}
    for name, file in files.items():
        if file.name not in {"index.md", "log.md"}:
            assert str(fields(file.read_bytes().decode())["type"]).strip(), name
    assert fields(files["index.md"].read_text())["okf_version"] == "0.2"
    with commonplace.open(tmp_path / "other") as other:
        back = import_bundle(other, bundle)
        assert sorted(back.written) == sorted(NOTES)
        assert notes(other) == notes(opened)
        again = import_bundle(other, bundle)
        assert (sorted(again.unchanged), again.written) == (sorted(NOTES), [])
        other.write("log.md", "mine")
        assert "says something else" in import_bundle(other, bundle).skipped["log_.md"]
        assert other.read("log.md") == "mine"


def test_a_bundle_of_others_comes_back_equal(opened: commonplace.Store, tmp_path: Path) -> None:
    files = {
        "index.md": '---\nokf_version: "0.2"\n---\n\n# Tables\n\n* [Orders](tables/orders.md)\n',
        "log.md": "# Log\n\n## 2026-05-22\n* **Creation**: all of it.\n",
        "tables/orders.md": "---\ntype: Table\ntags: [a]\nunknown: {x: 1}\n---\n\n# Schema\n",
        "tables/index.md": "# Tables\n\n* [Orders](orders.md) - one row per order\n",
    }
    bundle, out = tmp_path / "bundle", tmp_path / "out"
    for name, text in files.items():
        (bundle / name).parent.mkdir(parents=True, exist_ok=True)
        (bundle / name).write_text(text)
    assert not import_bundle(opened, bundle).skipped
    export_bundle(opened, out)
    found = {one.relative_to(out).as_posix(): one.read_text() for one in out.rglob("*.md")}
    assert found == files


def test_what_cannot_be_taken_is_named(opened: commonplace.Store, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    (bundle / ".git").mkdir(parents=True)
    (bundle / ".git" / "x.md").write_text("hidden")
    (bundle / "latin.md").write_bytes(b"\xff")
    (bundle / "link.md").symlink_to("/etc/hostname")
    name = 'commonplace_name: "../../out.md" # added by commonplace\n'
    (bundle / "away.md").write_text(f"---\n{name}type: Note # block added by commonplace\n---\nx")
    (bundle / "good.md").write_text("---\ntype: T\n---\n")
    report = import_bundle(opened, bundle, "from/okf")
    assert report.written == ["from/okf/good.md"]
    assert {*report.skipped} == {"latin.md", "away.md"}
    assert not (tmp_path / "out.md").exists()
    with pytest.raises(Refused, match="is no folder"):
        import_bundle(opened, bundle / "good.md")
    with pytest.raises(Refused, match="is not empty"):
        export_bundle(opened, bundle)


def test_the_command_line_exports_and_imports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        with commonplace.open(first) as store:
            store.write("a.md", "# A\n")
        target = str(tmp_path / "bundle")
        assert run(["--root", first, "export", "okf", target]) == 0
        assert run(["--root", second, "import-okf", target, "--to", "in", "--json"]) == 0
        assert json.loads(capsys.readouterr().out.split("\n", 1)[1])["written"] == ["in/a.md"]
        assert run(["--root", first, "export", "zip", target]) != 0
