"""Samples and helpers for the tests of overview and detail."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from commonplace import Store
from commonplace.memories import OverviewAndDetail
from tests.doubles import SECOND, Clock

CWD = "/home/alex/app"
FOLDER = "sessions/--home-alex-app--/s1"
START = datetime(2026, 2, 24, 10, 30, tzinfo=UTC)


def remember(store: Store, session: str = "s1", **more: Any) -> OverviewAndDetail:
    """Return the memory of a session; `more` may be what `config.yaml` has below `memory:`."""
    return OverviewAndDetail(store, session, cwd=CWD, clock=Clock(START + SECOND, SECOND), **more)


def log(store: Store, messages: Sequence[dict[str, Any]], session: str = "s1") -> None:
    """Write a whole log at once, as another program would have done."""
    path = store.root / "sessions" / "--home-alex-app--" / session / "messages.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(message) + "\n" for message in messages)


def talk(turns: int, start: int = 0) -> list[dict[str, Any]]:
    """Return turns of four messages: a question, a call, its result, an answer."""
    messages: list[dict[str, Any]] = []
    for number in range(start, start + turns):
        call = {"type": "tool_use", "id": f"t{number}", "name": "look", "input": {"n": number}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"seen {number}"}
        messages += [
            {"role": "user", "content": f"Please do step {number}. Carefully."},
            {"role": "assistant", "content": [{"type": "text", "text": "Looking."}, call]},
            {"role": "user", "content": [result]},
            {"role": "assistant", "content": f"Step {number} is done."},
        ]
    return messages


PIECES = [
    "# Title\n",
    "# Auth design\n",
    "\n",
    "<!--\nMETA:\n- a: 1\n-->\n",
    "```\n",
    "-->",
    "x",
    "\r",
]
contents = st.one_of(
    st.text(st.characters(codec="utf-8")), st.lists(st.sampled_from(PIECES)).map("".join)
)


names = st.sampled_from(["auth", "key-decisions"])
