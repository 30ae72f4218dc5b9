"""Pages of the MCP server: long lists, sessions, messages and lines, of which nothing is lost."""

from __future__ import annotations

import re

import pytest

import commonplace
from commonplace.doors.mcp.methods import Methods
from commonplace.doors.mcp.tools import LONGEST
from tests.test_mcp import call, result


@pytest.fixture
def methods(opened: commonplace.Store) -> Methods:
    opened.write("facts/user.md", "# User\n\n- Likes oolong tea.\n")
    return Methods(lambda: opened)


def test_results_come_in_pages(methods: Methods, opened: commonplace.Store) -> None:
    for number in range(7):
        opened.write(f"tea/{number}.md", f"Green tea number {number}.\n")
    paths, start = [], 0
    while start is not None:
        page = call(methods, "search", query="tea", source="note", limit=3, start=start)
        paths += [hit["citation"] for hit in page["hits"]]
        start = page["next"]
    assert len(paths) == len({*paths}) == 8
    opened.write("long.md", "".join(f"line {number} {'x' * 90}\n" for number in range(1, 1001)))
    lines, start = [], 0
    while start is not None:
        page = call(methods, "read", path="long.md", start=start, limit=2000)
        assert len(page["text"]) <= LONGEST
        lines += page["text"].split("\n")
        start = page["next"]
    assert lines == opened.read("long.md").splitlines()


def test_a_session_comes_in_pages(methods: Methods, opened: commonplace.Store) -> None:
    log = opened.transcript("sessions/long")
    for number in range(60):
        log.append({"role": "user", "content": f"message {number} " + "y" * 1000})
    seen, start = [], 0
    while start is not None:
        page = call(methods, "read", path=log.path, start=start)
        assert len(page["text"]) <= LONGEST + 100
        seen += re.findall(r"message (\d+) ", page["text"])
        start = page["next"]
    assert seen == [str(number) for number in range(60)]
    assert call(methods, "read", path=f"{log.path}#L3-L4")["next"] is None


def test_a_long_message_and_a_long_line_come_in_pages(
    methods: Methods, opened: commonplace.Store
) -> None:
    log = opened.transcript("sessions/long")
    said = "".join(f"sentence {number} " + "z" * (number % 90) + "\n" for number in range(2000))
    for text in ("before", said, "after"):
        log.append({"role": "user", "content": text})
    line = "word " * 20_000
    opened.write("line.md", f"# Line\n\n{line}\n\nend\n")
    whole = {log.path: said, "line.md": line}
    for path, wanted in whole.items():
        text, following = "", {"start": 0}
        while following["start"] is not None:
            page = call(methods, "read", path=path, **following)
            assert len(page["text"]) <= LONGEST
            text += page["text"] if "skip" in page else page["text"] + "\n"
            following = {"start": page["next"]} | {key: page[key] for key in page if key == "skip"}
        assert text.count(wanted) == 1
        assert text.rstrip().endswith(("after", "end"))
    uri = "commonplace://note/line.md"
    first = result(methods, "resources/read", uri=uri)["contents"][0]["text"]
    assert "start=3]" in first
    cited = call(methods, "read", path=f"{log.path}#L2")
    assert (cited["next"], LONGEST // 2 < cited["skip"] <= LONGEST) == (2, True)
    end = call(methods, "read", path=f"{log.path}#L2", skip=len(said))
    assert end["next"] is None
    assert "nothing after" in call(methods, "read", path=f"{log.path}#L2", skip=2**30)["text"]
