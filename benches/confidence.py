"""Separation of questions that a memory can answer from foreign ones, by `Hits.confidence`.

    python -m benches.confidence

The questions of each group of a labelled set are asked of their own group and of the next one.
AUC is the share of pairs, one own and one foreign question, of which the own one has the higher
confidence. Silent is the share of foreign questions below the confidence that nine of ten own ones
reach. Beside it stand the same figures of the best score alone.

Then each threshold: of how many own and foreign questions something would be injected.

Why it exists: what is injected without being asked for has to fit, or to stay away.
"""

from __future__ import annotations

import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import commonplace
from benches.corpora import data
from commonplace.evaluation import groups, write_corpus

SETS = ("locomo", "beam-100k", "memdaily-zh")
THRESHOLDS = (0.2, 0.3, 0.4, 0.5, 0.6)
SPEAKING = 0.9
NO_QUESTION = "[ERRORQ]"
"""What some lines of memdaily-zh hold in place of a question."""


class Asked(NamedTuple):
    """What came of one question."""

    is_own: bool
    confidence: float
    score: float


def main() -> None:
    """Print the figures of each set."""
    print(f"{'':12} {'confidence':>16} {'best score':>16}   own / foreign % at or above")
    print(f"{'set':12} {'AUC  silent':>16} {'AUC  silent':>16}  ", *(f"{t:8}" for t in THRESHOLDS))
    for name in SETS:
        asked = list(ask(data().parent / "labelled" / f"{name}.jsonl.gz"))
        row = [figures(asked, field) for field in ("confidence", "score")]
        own, foreign = ([one for one in asked if one.is_own == is_own] for is_own in (True, False))
        shares = (f"{share(own, least):3.0f} /{share(foreign, least):3.0f}" for least in THRESHOLDS)
        print(f"{name:12} {row[0]:>16} {row[1]:>16}  ", *shares)


def ask(file: Path) -> Iterator[Asked]:
    """Ask each group its own questions and those of the next group."""
    everything = list(groups(file))
    for group, other in zip(everything, everything[1:] + everything[:1], strict=True):
        with tempfile.TemporaryDirectory(prefix="commonplace-silence-") as root:
            write_corpus(group["documents"], Path(root))
            with commonplace.open(root) as store:
                for source in (group, other):
                    for question in questions(source):
                        hits = store.search(question, 1)
                        score = hits[0].score if hits else 0.0
                        yield Asked(source is group, hits.confidence, score)


def questions(group: dict[str, Any]) -> list[str]:
    """Return the questions of a group."""
    return [query["text"] for query in group["queries"] if NO_QUESTION not in query["text"]]


def figures(asked: Sequence[Asked], field: str) -> str:
    """Return AUC and the share of foreign questions kept silent."""
    own = sorted(getattr(one, field) for one in asked if one.is_own)
    foreign = sorted(getattr(one, field) for one in asked if not one.is_own)
    below = sum(bisect_left(foreign, value) + bisect_right(foreign, value) for value in own)
    least = own[int(len(own) * (1 - SPEAKING))]
    silent = bisect_left(foreign, least) / len(foreign)
    return f"{below / 2 / len(own) / len(foreign):.3f}  {silent:.2f}"


def share(asked: Sequence[Asked], least: float) -> float:
    """Return the percentage of questions at or above a threshold."""
    return 100 * sum(one.confidence >= least for one in asked) / len(asked)


if __name__ == "__main__":
    main()
