"""Example memory of the browser tests and of the pictures in the documentation.

The ferry timetable project of `commonplace demo`, with what a few months of work leave: sessions of
three hosts, agents with diaries, compacted episodes, a session with branches, a log of hooks.
"""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from importlib.resources import as_file, files
from pathlib import Path

import commonplace
from commonplace import Store
from commonplace.doors.hook_log import LOG, HookLog
from commonplace.memories import FourLayers, OverviewAndDetail, Profile
from commonplace.memories.world_and_agents import WorldAndAgents
from tests.doubles import Clock

FIRST = datetime(2026, 6, 2, 9, 15, tzinfo=UTC)
QUESTION = "Why does the timetable test fail only on Mondays?"
SESSION = "0198c1d2-7aaa-4c1e-9d55-3f2b8e1f0a11"
LOGGED = "sessions/--home-alex-ferrytime--/planning"
MONDAYS = """\
The fixture takes the weekday from the local clock. In `tests/test_timetable.py`:

```python
def departures(day: date) -> list[time]:
    # Monday has no early boat
    return SUMMER[1:] if day.weekday() == 0 else SUMMER
```

Freeze the day instead: `departures(date(2026, 6, 2))`.
"""
CHANGES = """\
Three things:

1. The last ferry on Sunday leaves at **21:40**.
2. Tickets can be bought on board.
3. Delays are shown within a minute.
"""
CHATS = (
    ("claude-code", "ferrytime", QUESTION, MONDAYS),
    ("codex", "ferrytime", "Release 2.3 needs a changelog. What changed for passengers?", CHANGES),
    (
        "gemini",
        "harbour-api",
        "把夏季时刻表翻译成中文，并检查码头的名称。",
        "已经翻译好了。北码头（North Pier）每天 9:00 开出第一班，周一除外。",
    ),
)


def build(root: Path) -> None:
    """Write the example to an empty folder."""
    with as_file(files("commonplace.cli.demo") / "example") as example:
        shutil.copytree(example, root, dirs_exist_ok=True)
    with commonplace.open(root) as store:
        _sessions(store)
        _profile(store)
        _agents(store)
        _layers(store)
        _working_memory(store)
        _links(store)
        _hooks(store)
    (root / "sessions" / "damaged").mkdir()
    (root / "sessions" / "damaged" / "messages.jsonl").write_text(
        '{"role": "user", "content": "A line that was cut off below."}\n{"role": "assist\n'
    )


def _sessions(store: Store) -> None:
    for number in range(24):
        host, project, asked, answered = CHATS[number % len(CHATS)]
        began = FIRST + timedelta(days=6 * number, hours=number % 7)
        own = SESSION if number == 0 else f"{number:08x}-0000-4000-8000-000000000000"
        log = store.transcript(f"sessions/{project}/{began:%Y-%m-%d}-{own[:8]}")
        title = asked if number < len(CHATS) else f"{asked} ({began:%d %B})"
        header: dict[str, object] = {"type": "session", "host": host, "id": own}
        header |= {"cwd": f"/home/alex/{project}"}
        header |= {"model": "a model", "title": title, "started": _stamp(began)}
        lines: list[dict[str, object]] = [header]
        for turn in range(1 + number % 3):
            then = began + timedelta(minutes=4 * turn)
            lines += [
                _message(
                    "user", asked if turn == 0 else "And is that so in winter too?", own, then
                ),
                _message(
                    "assistant",
                    [
                        {"type": "text", "text": "Let me look."},
                        {
                            "type": "tool_use",
                            "id": f"t{turn}",
                            "name": "Bash",
                            "input": {"command": "pytest -q tests/test_timetable.py"},
                        },
                    ],
                    own,
                    then + timedelta(seconds=20),
                ),
                _message(
                    "user",
                    [
                        {
                            "type": "tool_result",
                            "tool_use_id": f"t{turn}",
                            "content": "1 failed, 41 passed",
                        }
                    ],
                    own,
                    then + timedelta(seconds=40),
                ),
                _message("assistant", answered, own, then + timedelta(minutes=1)),
            ]
        store.append(log.path, "\n".join(json.dumps(line, ensure_ascii=False) for line in lines))
    secret = "The token is ghp_" + "x1Y2z3A4b5C6d7E8f9G0h1I2j3K4l5M6n7O8"
    store.transcript("sessions/ferrytime/2026-10-20-secret").append(
        {"role": "user", "content": secret, "session": "secret", "timestamp": _stamp(FIRST)}
    )


def _message(role: str, content: object, session: str, time: datetime) -> dict[str, object]:
    return {"role": role, "content": content, "session": session, "timestamp": _stamp(time)}


def _profile(store: Store) -> None:
    clock = Clock(FIRST)
    memory = Profile(store, clock=clock, half_life=90)
    memory.remember("User lives in Berlin", "identity")
    clock.now += timedelta(days=120)
    memory.remember("User lives in Lisbon", "identity")
    memory.remember("用户喜欢简短的回答", "偏好")
    memory.remember("The harbour office closes at five", "harbour", by="document")
    memory.remember("User seems to prefer small commits", "style", by="agent")
    Profile(store, user="mara", clock=clock).remember("User prefers tea", "preference")


def _agents(store: Store) -> None:
    clock = Clock(FIRST)
    planner = WorldAndAgents(store, "planner", clock=clock)
    planner.learn_fact(
        "piers", "- North Pier: no boat on Monday morning.\n- South Pier: all days.\n"
    )
    planner.reflect("# What I have learned\n\n- Ask before a release.\n- 周一没有早班船。\n")
    for day in range(4):
        planner.remember(f"Checked the timetable of week {22 + day}; two departures were late.")
        clock.now += timedelta(days=1)
    WorldAndAgents(store, "scribe", clock=clock).remember("Wrote the notes of the release.")


def _layers(store: Store) -> None:
    clock = Clock(FIRST)
    memory = FourLayers(store, clock=clock)
    for number in range(9):
        memory.append(
            "episodic",
            {"content": f"Deployed timetable version 2.{number}; {number} stops changed."},
        )
        clock.now += timedelta(days=2)
    memory.compact("episodic", {"keepLast": 4})
    memory.append(
        "procedural", {"content": "Tag first.", "metadata": {"condition": "a release is asked for"}}
    )


def _working_memory(store: Store) -> None:
    clock = Clock(FIRST)
    session = OverviewAndDetail(store, "planning", cwd="/home/alex/ferrytime", clock=clock)
    session.write_overview("# Working Memory\n\n## Current Task\n\nMove the timetable to UTC.\n")
    session.write_detail(
        "time-zones", "# Time zones\n\nStore UTC, show the harbour's time.", ["utc"]
    )
    session.commit("Decided on UTC")
    session.branch("try-local", "see whether local times would do")
    session.write_overview("# Working Memory\n\n## Current Task\n\nTry local times first.\n")
    session.commit("Local times break in March")


def _links(store: Store) -> None:
    store.write(
        "harbour/north-pier.md",
        "---\ntags: [pier, ferry]\n---\n# North Pier\n\n"
        "See [[south-pier|South Pier]] and [[operators]].\n\n"
        "| boat | leaves |\n|---|---|\n| Gull | 9:00 |\n| Tern | 21:40 |\n\n"
        "- [x] painted\n- [ ] new sign\n",
    )
    first = store.write("harbour/south-pier.md", "# South Pier\n\nOpen on all days.\n\n#pier\n")
    store.write(
        "harbour/south-pier.md",
        "# South Pier\n\nOpen on all days, also at night.\n\n#pier\n",
        expected_version=first.version,
    )


def _hooks(store: Store) -> None:
    HookLog(store).create()
    note, turn = "harbour/north-pier.md#L4", f"sessions/ferrytime/{FIRST:%Y-%m-%d}-0198c1d2"
    base = {"host": "claude-code", "session": SESSION}
    entries = [
        {**base, "event": "session start", "source": "startup", "characters": 812}
        | {"shown": [{"citation": "MEMORY.md#L8", "score": None}]},
        {**base, "event": "prompt", "source": "", "characters": 604}
        | {
            "shown": [
                {"citation": f"{turn}/messages.jsonl#L2-L5", "score": 11.42},
                {"citation": note, "score": 6.9},
            ]
        },
        {**base, "event": "prompt", "source": "", "characters": 0, "shown": []},
    ]
    hooks = store.side_files("hooks")
    for minute, entry in enumerate(entries):
        time = _stamp(FIRST + timedelta(seconds=minute))
        hooks.append(LOG, json.dumps({"time": time, **entry}).encode() + b"\n")
    HookLog(store).captured(
        **base, event="session end", messages=4, paths=[f"{turn}/messages.jsonl"]
    )
    HookLog(store).fail(host="codex", event="session end", error="chat.jsonl: no such file")


def _stamp(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"
