"""Fault campaign: damaged transcripts (torn lines, zeros, lines that no tool writes)."""

from __future__ import annotations

import json
from random import Random

import commonplace
from tests.campaigns.guarantees import HOSTILE_LINES, TORN_LOG_END
from tests.campaigns.trial import Trial

INVARIANT = (
    "Every line that Python reads as a message is served; an append stands behind all the rest."
)
GUARANTEES = {
    TORN_LOG_END: "a log cut at a random byte, with or without zeros behind it, then appended to",
    HOSTILE_LINES: "logs of good lines between hostile ones, compared with Python's json",
}


def good(random: Random, token: str) -> str:
    """Return a good line, in one of the ways in which JSON may be written."""
    record = {"role": random.choice(["user", "assistant"]), "content": f'{token} é 名 🙂 \\ " \n'}
    if random.random() < 0.3:
        record["extra"] = random.choice(["x" * 5000, "\u2028", "\x7f", "{}}]"])
    if random.random() < 0.3:
        record = dict(reversed(list(record.items())))
    ascii_only, gap = random.random() < 0.5, random.choice([None, (",", ":"), (" , ", " : ")])
    return " " * random.randrange(3) + json.dumps(record, ensure_ascii=ascii_only, separators=gap)


def hostile(random: Random) -> bytes:
    """Return a line that holds no message, or none that can be read."""
    junk = [
        b"", b"null", b"[]", b"{", b"}", b"{}", b'{"role":', b'"\\ud800"', b"\xff\xfe", b"\0" * 9,
        b"[" * 3000, b'{"a":' * 500, b"NaN", b"1e999", b'{"role":"user"', b"\xef\xbb\xbf", b"// x",
        b'{"role":"user","content":"torn', b'{"role":1,"content":{}}', b"\x1b[2J", b"'role'",
    ]  # fmt: skip
    return random.choice([*junk, random.randbytes(random.randrange(40)).replace(b"\n", b"")])


def served(data: bytes) -> list[str]:
    """Return the tokens of the lines that Python's json reads as messages."""
    found = []
    for line in data.split(b"\n"):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and str(record.get("content")).startswith("t"):
            found.append(str(record["content"]).split()[0])
    return found


def hostile_lines(trial: Trial) -> None:
    path = trial.root / "log/messages.jsonl"
    path.parent.mkdir()
    store = commonplace.open(trial.root)
    number = 0
    while trial.is_time():
        lines: list[bytes] = []
        for _ in range(trial.random.randrange(1, 30)):
            number += 1
            is_good = trial.random.random() < 0.5
            token = f"t{number}e"
            lines.append(good(trial.random, token).encode() if is_good else hostile(trial.random))
        path.write_bytes(trial.random.choice([b"\n", b"\r\n"]).join(lines) + b"\n")
        expected = served(path.read_bytes())
        trial.count(HOSTILE_LINES, len(lines))
        try:
            messages = list(store.transcript("log"))
        except commonplace.FormatError:
            # as a whole in UTF-16, which the error says: then Python reads no line of it either
            trial.check(HOSTILE_LINES, not expected, f"refused in spite of {expected[:5]}")
            continue
        tokens = [one.text.split()[0] for one in messages if one.text.startswith("t")]
        if not set(expected) <= set(tokens):
            trial.fail(
                HOSTILE_LINES,
                f"missed {sorted(set(expected) - set(tokens))[:5]} of {lines!r:.2000}",
            )
        for token in expected[:2]:
            found = [match.line for match in store.grep(rf"\b{token}\b")]
            trial.check(HOSTILE_LINES, len(found) == 1, f"grep finds {token} at {found}")


def torn_tails(trial: Trial) -> None:
    path = trial.root / "log/messages.jsonl"
    path.parent.mkdir()
    store = commonplace.open(trial.root)
    log = store.transcript("log")
    number = 0
    while trial.is_time():
        number += 3
        lines = [good(trial.random, f"t{number + n}e").encode() + b"\n" for n in range(3)]
        data = b"".join(lines)
        cut = data[: trial.random.randrange(len(data) + 1)]
        cut += bytes(trial.random.choice([0, 0, 1, 512, 4096]))
        path.write_bytes(cut)
        before = served(cut)
        line = log.append({"role": "user", "content": f"t{number + 3}e appended"})
        after = path.read_bytes()
        trial.check(
            TORN_LOG_END,
            after.startswith(cut),
            f"an append changed what was there: {cut!r}",
        )
        trial.check(
            TORN_LOG_END,
            line is not None and log[line].text.startswith(f"t{number + 3}e"),
            f"not readable behind {cut!r}",
        )
        found = {one.text.split()[0] for one in log if one.text.startswith("t")}
        trial.check(
            TORN_LOG_END,
            {*before, f"t{number + 3}e"} <= found,
            f"whole lines are lost of {cut!r}",
        )


KINDS = (torn_tails, hostile_lines)
