"""Reader of the files of LongMemEval: its questions as groups of a labelled set.

A file is a JSON list of questions (Wu et al. 2024, *LongMemEval: Benchmarking Chat Assistants on
Long-Term Interactive Memory*): `question_id`, `question`, `haystack_session_ids`, `haystack_dates`,
`haystack_sessions` (lists of `{role, content, has_answer?}`) and `answer_session_ids`. The data has
no licence to ship it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from commonplace.errors import FormatError

# Questions that nothing answers; the paper leaves them out of retrieval as well
UNANSWERED = "_abs"
DATE = re.compile(r"(\d{4})/(\d\d)/(\d\d)(?: \(\w+\))? (\d\d:\d\d)")


def questions(file: Path) -> Iterator[dict[str, Any]]:
    """Yield each question with the sessions to search as one group.

    The group has `documents` and `queries` as `commonplace.evaluation` takes them; the relevant
    messages of a query are those with `has_answer`, its relevant sessions those that are named.

    Raises:
        FormatError: The file is no list of questions.
        OSError: It cannot be read.
    """
    try:
        asked = orjson.loads(file.read_bytes())
    except orjson.JSONDecodeError as error:
        raise FormatError(f"{file}: not JSON ({error})") from None
    if not isinstance(asked, list):
        raise FormatError(f"{file}: no list of questions")
    for number, question in enumerate(asked, 1):
        try:
            if not str(question["question_id"]).endswith(UNANSWERED):
                yield group(question)
        except (KeyError, TypeError, ValueError) as error:
            why = f"{type(error).__name__}: {error}"
            raise FormatError(f"{file}, question {number}: not of LongMemEval ({why})") from None


def group(question: Mapping[str, Any]) -> dict[str, Any]:
    """Return one question with its sessions as a group of a labelled set."""
    documents, relevant = [], []
    sessions = zip(
        question["haystack_session_ids"],
        question["haystack_dates"],
        question["haystack_sessions"],
        strict=True,
    )
    for session, date, messages in sessions:
        for place, message in enumerate(messages):
            name = f"{session}#{place}"
            documents.append(
                {
                    "id": name,
                    "text": message["content"],
                    "speaker": message["role"],
                    "session": session,
                    "time": stamp(date),
                }
            )
            if message.get("has_answer"):
                relevant.append(name)
    query = {
        "text": question["question"],
        "relevant": relevant,
        "sessions": question["answer_session_ids"],
    }
    return {"documents": documents, "queries": [query]}


def stamp(date: str) -> str:
    """Return a date of LongMemEval as RFC 3339; any other as it is.

    >>> stamp("2023/05/20 (Sat) 02:21")
    '2023-05-20T02:21:00Z'
    """
    found = DATE.fullmatch(date)
    return "{}-{}-{}T{}:00Z".format(*found.groups()) if found else date
