"""What hooks inject with each prompt of real sessions, replayed in order of time.

    python -m benches.replay

The transcripts are those of benches/labelled_turns.py. Before each prompt the memory holds what all
sessions had said by then, and nothing later. The hook answers each prompt as in a session: without
what that session said itself or was shown before.

Two memories are asked. One is the past of these sessions, all of one project. Whether a hit helps
is not known; but each record says on which branch of git it was typed. Beside the share of hits
from the branch of the prompt stands the share of that branch in the past: chance would find as
much. The other memory holds the conversations of beam-100k, of other people about other things:
each injection from it is wrong.

Why it exists: the threshold of `commonplace hook` is chosen by these figures.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import commonplace
from benches.corpora import data, sample_transcript
from benches.labelled_turns import read_turns
from commonplace.citation import located
from commonplace.doors.hook import Hook
from commonplace.doors.hook_log import HookLog
from commonplace.doors.hosts import find_host
from commonplace.doors.hosts.host import HookEvent
from commonplace.evaluation import groups, write_corpus

THRESHOLDS = (0.2, 0.3, 0.4, 0.5, 0.6)
FOREIGN = "beam-100k"


class Line(NamedTuple):
    """A line of a transcript; `prompt` is what a person typed in it, if it is a prompt."""

    time: str
    session: str
    branch: str
    uuid: str
    data: bytes
    prompt: str


class Answer(NamedTuple):
    """What was injected with a prompt.

    `same_branch` says of each hit whether it is from the branch of the prompt; `by_chance` is the
    share of that branch in the past, without the session of the prompt.
    """

    characters: int
    same_branch: list[bool]
    by_chance: float


def main() -> None:
    """Print the figures of each threshold."""
    lines = timeline(sample_transcript()[0].read_bytes().splitlines(keepends=True))
    prompts = sum(bool(line.prompt) for line in lines)
    print(f"{prompts} prompts; of them in percent, and of the hits in percent")
    print("           prompts with  characters  hits on the  by     prompts with")
    print("threshold  an injection  per prompt  same branch  chance  a foreign one")
    with tempfile.TemporaryDirectory(prefix="commonplace-replay-") as made:
        write_foreign(Path(made) / "foreign")
        for least in THRESHOLDS:
            own = replay(lines, Path(made) / f"own-{least}", least)
            foreign = ask(lines, Path(made) / "foreign", least)
            print(f"{least:9}  {figures(own)}  {percent(map(bool, foreign)):13.1f}", flush=True)


def timeline(lines: Sequence[bytes]) -> list[Line]:
    """Return the lines of all sessions in order of time."""
    prompts = {turn.messages[0].line: turn.messages[0].text for turn in read_turns(lines)}
    found = []
    times: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        record = json.loads(line)
        if session := record.get("sessionId"):
            # a record without a time belongs to the one above it
            times[session] = record.get("timestamp") or times.get(session, "")
            branch = str(record.get("gitBranch") or "")
            uuid = str(record.get("uuid") or "")
            prompt = prompts.get(number, "")
            found.append(Line(times[session], session, branch, uuid, line, prompt))
    return sorted(found, key=lambda line: line.time)


def replay(lines: Iterable[Line], folder: Path, least: float) -> list[Answer]:
    """Answer each prompt from a memory of what was said before it."""
    folder.mkdir()
    answers = []
    branches: dict[str, str] = {}
    past: Counter[tuple[str, str]] = Counter()
    changed: set[str] = set()
    with commonplace.open(folder / "root", watch=False) as store:
        for line in lines:
            if line.prompt:
                if changed:
                    store.import_sessions(*sorted(changed))
                    changed.clear()
                text, cited = inject(store, line.session, line.prompt, least)
                same = [branches[uuid_of(folder / "root", one)] == line.branch for one in cited]
                answers.append(Answer(len(text), same, chance(past, line)))
                past[line.session, line.branch] += 1
            branches[line.uuid] = line.branch
            path = folder / f"{line.session}.jsonl"
            with path.open("ab") as file:
                file.write(line.data)
            changed.add(str(path))
    return answers


def inject(
    store: commonplace.Store, session: str, prompt: str, least: float
) -> tuple[str, list[str]]:
    """Return what the hook injects with a prompt, and the citations of its hits."""
    event = HookEvent("prompt", session, "/", prompt=prompt)
    hook = Hook(store, find_host("claude-code"), event, min_confidence=least)
    text = hook.respond()
    if hook.problems:
        raise RuntimeError(hook.problems)
    *_, entry = HookLog(store).entries()
    return text, [one["citation"] for one in entry["shown"]]


def uuid_of(root: Path, citation: str) -> str:
    """Return the uuid of the prompt of a turn."""
    path, first, _ = located(citation)
    with (root / path).open("rb") as file:
        record = json.loads(next(islice(file, (first or 1) - 1, None)))
    return str(record["id"])


def chance(past: Counter[tuple[str, str]], line: Line) -> float:
    """Return the share of the branch of a prompt among the past prompts of other sessions."""
    others = {key: count for key, count in past.items() if key[0] != line.session}
    same = sum(count for (_, branch), count in others.items() if branch == line.branch)
    return same / max(1, sum(others.values()))


def write_foreign(root: Path) -> None:
    """Write the conversations of others to a memory."""
    for number, group in enumerate(groups(data().parent / "labelled" / f"{FOREIGN}.jsonl.gz")):
        folder = root / str(number)
        folder.mkdir(parents=True)
        write_corpus(group["documents"], folder)


def ask(lines: Iterable[Line], root: Path, least: float) -> list[int]:
    """Return the characters that a memory of others gives to each prompt."""
    with commonplace.open(root, watch=False) as store:
        return [
            # by another name for each threshold: what was shown to a session is not shown again
            len(inject(store, f"{line.session} {least}", line.prompt, least)[0])
            for line in lines
            if line.prompt
        ]


def figures(answers: Sequence[Answer]) -> str:
    """Return the columns of a replay."""
    injected = percent(bool(answer.characters) for answer in answers)
    characters = sum(answer.characters for answer in answers) / len(answers)
    same = percent(one for answer in answers for one in answer.same_branch)
    by_chance = [answer.by_chance for answer in answers for _ in answer.same_branch]
    expected = 100 * sum(by_chance) / max(1, len(by_chance))
    return f"{injected:12.1f}  {characters:10.0f}  {same:11.1f}  {expected:6.1f}"


def percent(values: Iterable[bool]) -> float:
    """Return the percentage that is true."""
    counted = [*values]
    return 100 * sum(counted) / max(1, len(counted))


if __name__ == "__main__":
    main()
