"""JSON import and export of the four layers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import commonplace
from commonplace.errors import FormatError, NotFound, Refused
from commonplace.memories import FourLayers
from commonplace.memories.four_layers.json_files import parse, stringify
from commonplace.memories.four_layers.types import KnowledgeEntry
from tests.doubles import Clock
from tests.memories.four_layers.helpers import (
    FEBRUARY,
    MICROSECOND,
    json_texts,
    json_values,
    numbered,
)

EPISODIC = (
    '[{"id":"entry-1","timestamp":1767225600000,"content":"Agent analyzed src/","metadata":'
    '{"agentId":"agent-001","n":1e+21,"deep":{"a":[]}}},{"id":"2","timestamp":1.5,"content":""}]'
)
SEMANTIC = '[["b",{"key":"b","value":"CSV","timestamp":5}],["a",{"key":"a","value":"é\\n"}]]'
PROCEDURAL = '[{"condition":"","action":"x"},{"condition":"deploy","action":"test","timestamp":0}]'


def put(folder: Path, **texts: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.json").write_text(text, encoding="utf-8", newline="")


def test_the_files_of_the_design_come_back(memory: FourLayers, tmp_path: Path) -> None:
    put(tmp_path / "in", episodic=EPISODIC, semantic=SEMANTIC, procedural=PROCEDURAL)
    answer = memory.import_json(tmp_path / "in")
    assert answer["imported"] == {"episodic": 2, "semantic": 2, "procedural": 2}
    memory.export_json(tmp_path / "out")
    for name in ("episodic", "semantic", "procedural"):
        assert (tmp_path / f"out/{name}.json").read_bytes() == (
            tmp_path / f"in/{name}.json"
        ).read_bytes()
    assert memory.recall("a") == KnowledgeEntry("a", "é\n", None)
    # an import that was interrupted is repeated without harm
    assert memory.import_json(tmp_path / "in")["there"] == 6
    assert memory.get_stats().episodic_entry_count == 2
    memory.append("episodic", {"content": "more"})
    with pytest.raises(Refused, match="overwrite"):
        memory.export_json(tmp_path / "out")
    memory.export_json(tmp_path / "out", overwrite=True)
    assert "more" in (tmp_path / "out/episodic.json").read_text()


def test_what_javascript_writes(memory: FourLayers, tmp_path: Path) -> None:
    # a file of `JSON.stringify(entries, null, 2)`, keys in another order, one of them not ours
    entries = [{"content": "x", "extra": [None], "metadata": {}, "id": "1", "timestamp": 0}]
    text = stringify(entries, 2)
    put(tmp_path / "in", episodic=text)
    memory.import_json(tmp_path / "in")
    memory.export_json(tmp_path / "out", indent=2)
    assert (tmp_path / "out/episodic.json").read_text() == text
    assert (tmp_path / "out/semantic.json").read_text() == "[]"


NUMBERS = {
    0.0: "0", 5.0: "5", 1.5: "1.5", 1e20: "100000000000000000000", 1e21: "1e+21",
    123456789012345680000.0: "123456789012345680000", 1.5e300: "1.5e+300", 1e-6: "0.000001",
    1.5e-6: "0.0000015", 1e-7: "1e-7", 5e-324: "5e-324", 0.1: "0.1", 1e16: "10000000000000000",
    2**53: "9007199254740992", 2**64 - 1: "18446744073709551615", 12.5e20: "1.25e+21",
}  # fmt: skip


@pytest.mark.parametrize(("number", "text"), NUMBERS.items())
def test_numbers_are_written_as_javascript_does(number: float, text: str) -> None:
    assert stringify(number) == text
    assert stringify(-number) == (f"-{text}" if number else "0")
    assert stringify(parse(text, "x")[0]) == text


def test_half_a_character_is_mended_and_reported(memory: FourLayers, tmp_path: Path) -> None:
    put(
        tmp_path,
        episodic='[{"id":"1","timestamp":1,"content":"cut \\ud83d","metadata":{"\\udead":1}}]',
    )
    assert memory.import_json(tmp_path)["mended"] == {"episodic.json": 2}
    assert memory.get_episodic_memory()[0].content == "cut \ufffd"


@pytest.mark.parametrize(
    ("name", "text", "error_text"),
    [
        ("episodic", '[{"id":"1",\n}]', "episodic.json line 2, column 1"),
        ("episodic", "[" * 100_000, "nested too deeply"),
        ("episodic", "[NaN]", "NaN is not JSON"),
        ("episodic", '[{"id":"1","timestamp":1e999,"content":""}]', "1e999 is no number"),
        ("episodic", "{}", "episodic.json is no array"),
        ("episodic", "[1]", "entry 1 is not an object"),
        ("episodic", '[{"id":"1","timestamp":1}]', "entry 1 has no content"),
        ("episodic", '[{"id":1,"timestamp":1,"content":""}]', "entry 1: id is 1, not text"),
        ("semantic", '[["a",{"key":"b","value":""}]]', "entry 1 stands under 'a'"),
        ("semantic", '[{"key":"b","value":""}]', "entry 1 is no pair"),
        ("procedural", '[{"condition":"","action":""},{"action":"b"}]', "entry 2 has no condition"),
    ],
)
def test_a_bad_file_is_named_and_nothing_imported(
    memory: FourLayers,
    store: commonplace.Store,
    tmp_path: Path,
    name: str,
    text: str,
    error_text: str,
) -> None:
    put(tmp_path / "in", **({"episodic": EPISODIC, "procedural": PROCEDURAL} | {name: text}))
    with pytest.raises(FormatError, match=error_text):
        memory.import_json(tmp_path / "in")
    (tmp_path / f"in/{name}.json").write_bytes(b'["\xff"]')
    with pytest.raises(FormatError, match="not UTF-8 at byte 2"):
        memory.import_json(tmp_path / "in")
    assert store.list() == []
    with pytest.raises(NotFound):
        memory.import_json(tmp_path / "nothing")


stamps = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)


def records(*needed: str, **optional: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return objects with the needed texts and the optional values, in any order."""
    plain = st.fixed_dictionaries(dict.fromkeys(needed, json_texts), optional=optional)
    return plain.flatmap(shuffled)


def shuffled(made: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.permutations(list(made)).map(lambda keys: {key: made[key] for key in keys})


metadata = st.dictionaries(json_texts, json_values, max_size=3)
episodic_files = st.lists(
    records("id", "content", metadata=metadata, x=json_values).flatmap(
        lambda made: stamps.map(lambda stamp: made | {"timestamp": stamp})
    ),
    max_size=4,
)
semantic_files = st.lists(
    records("key", "value", timestamp=stamps), max_size=3, unique_by=lambda made: made["key"]
).map(lambda found: [[made["key"], made] for made in found])
procedural_files = st.lists(records("condition", "action", timestamp=stamps), max_size=3)


@given(episodic_files, semantic_files, procedural_files, st.sampled_from([0, 2]))
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_files_come_back(
    roomy: commonplace.Store,
    tmp_path: Path,
    episodic: Any,
    semantic: Any,
    procedural: Any,
    indent: int,
) -> None:
    run = tmp_path / str(next(numbered))
    memory = FourLayers(roomy, f"run{next(numbered)}", clock=Clock(FEBRUARY, MICROSECOND))
    texts = {
        "episodic": stringify(episodic, indent),
        "semantic": stringify(semantic, indent),
        "procedural": stringify(procedural, indent),
    }
    put(run / "in", **texts)
    memory.import_json(run / "in")
    memory.export_json(run / "out", indent=indent)
    for name, text in texts.items():
        assert (run / f"out/{name}.json").read_bytes().decode() == text
