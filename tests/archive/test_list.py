"""The list of archived files: what the core reads of it is what was written."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import commonplace
from commonplace._core import ArchivedFiles, Store
from commonplace.errors import CommonplaceError
from tests.archive.helpers import NEW, OLD, found

LIST = ".commonplace/archive/files.json"


def test_what_is_read_is_what_was_written(memory: Path) -> None:
    with commonplace.open(memory) as store:
        store.archive(sessions=["old", "new"])
    written = json.loads((memory / LIST).read_bytes())
    files = written["files"]
    read = Store(str(memory)).archive_list()
    assert read.entries() == files
    assert read.numbers() == {OLD: files[OLD]["id"], NEW: files[NEW]["id"]}
    assert (read.version, read.next) == (written["version"], written["next"])
    assert (read.has_deleted, read.is_finished, read.is_damaged) == (False, True, False)
    sums: dict[str, Counter[str]] = {"fields": Counter(), "lengths": Counter()}
    for file in files.values():
        for name, total in sums.items():
            total.update(file[name])
    assert read.stats.documents == sum(file["messages"] for file in files.values()) == 6
    assert read.stats.docs_with_field == sums["fields"]
    assert read.stats.lengths == sums["lengths"]
    assert read.stats.doc_freqs == {}


def test_a_list_that_is_new_has_no_files(memory: Path) -> None:
    for read in (ArchivedFiles(), Store(str(memory)).archive_list()):
        assert (read.numbers(), read.entries(), read.stats.documents) == ({}, {}, 0)
        assert (read.version, read.next, read.is_damaged) == (None, 1, False)
        assert repr(read) == "ArchivedFiles(0 files)"


def test_a_link_in_its_place_is_named(memory: Path) -> None:
    with commonplace.open(memory) as store:
        store.archive(sessions=["old"])
        listed = memory / LIST
        listed.rename(memory / "elsewhere.json")
        listed.symlink_to(memory / "elsewhere.json")
        assert {archived for _, archived in found(store, "kettle")} == {False}
        with pytest.raises(CommonplaceError, match="symbolic link"):
            store.archive(sessions=["old"])
    # nor by one that has not seen the list before
    with commonplace.open(memory) as store, pytest.raises(CommonplaceError, match="symbolic link"):
        store.archive(sessions=["old"])
    assert listed.is_symlink()


def test_a_search_imports_nothing_that_only_changes_need(memory: Path) -> None:
    with commonplace.open(memory) as store:
        store.archive(sessions=["old"])
    searches = """
import commonplace, sys
with commonplace.open(sys.argv[1]) as store:
    store.search("kettle", archive="yes")
print(*sys.modules)
"""
    command = [sys.executable, "-c", searches, str(memory)]
    run = subprocess.run(command, capture_output=True, check=True, text=True, timeout=60)
    assert not set(run.stdout.split()) & {"orjson", "logging", "concurrent.futures", "tempfile"}
