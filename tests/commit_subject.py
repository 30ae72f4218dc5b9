"""Commit hook for the first line of a message: `commit_subject.py FILE`."""

from __future__ import annotations

import sys
from pathlib import Path

LONGEST = 72


def fault(message: str) -> str:
    """Return what is wrong with a commit message; empty if nothing is.

    >>> fault("Split the tests by feature")
    ''
    >>> fault("Split the tests by feature.")
    'the subject ends with a full stop'
    >>> fault("Split the tests\\nand more")
    'an empty line goes between the subject and the body'
    """
    lines = [line for line in message.splitlines() if not line.startswith("#")]
    subject, below = (*lines, "", "")[:2]
    if not subject.strip():
        return "there is no subject"
    if len(subject) > LONGEST:
        return f"the subject has {len(subject)} characters, more than {LONGEST}"
    if subject.endswith("."):
        return "the subject ends with a full stop"
    return "an empty line goes between the subject and the body" if below.strip() else ""


if __name__ == "__main__":
    sys.exit(fault(Path(sys.argv[1]).read_text(encoding="utf-8")))
