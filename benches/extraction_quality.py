"""Precision and recall on labelled sentences: what of a message is worth keeping, what conflicts.

    python -m benches.extraction_quality               # the seen and the unseen half
    python -m benches.extraction_quality --unseen-2    # the second unseen half, changes and vetoes
    python -m benches.extraction_quality FILE.jsonl …  # any set; its name begins with its task

The seen (development) half was read while the rules were written, so its figures say little. The
unseen (held-out) half was written by somebody who did not know the rules, and measured once, when
they were final (2026-11-21): extraction, 200 messages, rules of b2dd3b4: precision 0.972 (69 of 71;
the two others were worth keeping, as another kind), recall 0.767. Conflict, 120 pairs, rules of
dfac0c1: precision 1.000 (31 of 31), recall 0.574. By Wilson's interval (95 %) the true precision is
above 0.90 and 0.89. None of its items was looked at. One rule was mended later, from a user's
report (what takes back the sentence before it, in Chinese); measured again, the figures were the
same.

A second unseen half (*-unseen-2.jsonl, changes-unseen.jsonl, vetoes-unseen.jsonl) was written in
chat style by somebody who has not read the rules either. It is opened once, when they are final.
"any" is whether a message was kept at all, whatever its kind. What changes and vetoes are:
benches/profile_quality.py.

Sets -4 to -6 train the linear classifier (benches/train_extraction.py). *-held-4.jsonl never does,
and only its totals are looked at.

The way there: on a first unseen half extraction reached 1.000 / 0.424 and conflict 0.714 / 0.100,
on a second extraction 0.917 / 0.611; these were then read, and are in the seen half now.

Why it exists: a memory that fills with junk, or that loses a fact to a false
replacement, is worse than none, so both are measured before they are believed.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benches.profile_quality import changes, print_changes, print_vetoes, vetoes
from commonplace.conflict import compare
from commonplace.extraction import extract

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "labelled"
EXTRACTION = "extraction"
CONFLICT = "conflict"
FIRST = [f"{task}-{half}" for task in (EXTRACTION, CONFLICT) for half in ("seen", "unseen")]
SECOND = ["extraction-unseen-2", "conflict-unseen-2", "changes-unseen", "vetoes-unseen"]
# so begins the reason of a pair of which neither makes the other untrue
BOTH_HOLD = "both hold"


class Scores(NamedTuple):
    """How often a label was found, wrongly given, and missed."""

    right: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 1.0

    @property
    def recall(self) -> float:
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0


class Answer(NamedTuple):
    """What was wanted of one item and what came out; None is nothing."""

    item: dict[str, Any]
    wanted: str | None
    got: str | None
    reason: str

    def without_kind(self) -> Answer:
        """Return whether something was wanted and kept, whatever its kind."""
        return self._replace(wanted=self.wanted and "any", got=self.got and "any")


def answers(task: str, half: str) -> Iterator[Answer]:
    """Yield the answers for one half; see `answers_of`."""
    return answers_of(task, read(FOLDER / f"{task}-{half}.jsonl"))


def answers_of(task: str, items: Sequence[dict[str, Any]]) -> Iterator[Answer]:
    """Yield the answers for some items.

    A message counts by the first kind that is kept in it; a wrong kind is wrong and missed.
    """
    for item in items:
        if task == CONFLICT:
            verdict = compare(item["old"], item["new"])
            wanted, got = (
                CONFLICT if yes else None for yes in (item["conflict"], verdict.conflict)
            )
            yield Answer(item, wanted, got, verdict.reason)
        else:
            found = extract([(item["role"], item["text"])])
            kept = next((one for one in found if one.kept), None)
            reasons = kept.reason if kept else " ".join(one.reason for one in found)
            yield Answer(item, item["kind"], kept.kind if kept else None, reasons)


def read(path: Path) -> list[dict[str, Any]]:
    """Return the items of a set."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def score(found: list[Answer], kind: str | None = None) -> Scores:
    """Return the scores of one kind, or of all together."""
    counts = Counter[str]()
    for answer in found:
        wanted, got = (one if kind in {None, one} else None for one in (answer.wanted, answer.got))
        counts["right"] += got is not None and got == wanted
        counts["wrong"] += got is not None and got != wanted
        counts["missed"] += wanted is not None and got != wanted
    return Scores(counts["right"], counts["wrong"], counts["missed"])


def print_scores(task: str, name: str, found: list[Answer]) -> None:
    """Print precision and recall of one set, by language and by kind."""
    groups = {"both": found} | {
        language: [one for one in found if one.item["language"] == language]
        for language in ("en", "zh")
    }
    print(
        "\n| task | half | language | kind | items | right | wrong | missed | precision | recall |"
    )
    print("|---|---|---|---|--:|--:|--:|--:|--:|--:|")
    kinds = sorted({one.wanted for one in found if one.wanted})
    for language, group in groups.items():
        rows = {"all": score(group)}
        if task != CONFLICT:
            rows["any"] = score([one.without_kind() for one in group])
        if len(kinds) > 1 and language == "both":
            rows |= {kind: score(group, kind) for kind in kinds}
        for kind, scores in rows.items():
            counts = " | ".join(map(str, scores))
            rates = f"{scores.precision:.3f} | {scores.recall:.3f}"
            print(f"| {task} | {name} | {language} | {kind} | {len(group)} | {counts} | {rates} |")


def print_set(path: Path) -> None:
    """Print the table of one set; the first word of its name is its task."""
    task, _, half = path.stem.partition("-")
    items = read(path)
    if task == "changes":
        print_changes(half, list(changes(items)))
    elif task == "vetoes":
        print_vetoes(half, list(vetoes(items)))
    elif task in {EXTRACTION, CONFLICT}:
        found = list(answers_of(task, items))
        print_scores(task, half, found)
        both_hold = [one for one in found if str(one.item["why"]).startswith(BOTH_HOLD)]
        if both_hold:
            replaced = sum(one.got is not None for one in both_hold)
            print(f"\nof {len(both_hold)} pairs that both hold {replaced} would be replaced")
    else:
        raise SystemExit(f"{path}: the name of a set begins with its task, not with {task!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Print precision and recall.")
    parser.add_argument("files", nargs="*", type=Path, help="sets; default: both first halves")
    parser.add_argument("--unseen-2", action="store_true", help="the second unseen half")
    options = parser.parse_args()
    default = SECOND if options.unseen_2 else FIRST
    for path in options.files or [FOLDER / f"{name}.jsonl" for name in default]:
        print_set(path)


if __name__ == "__main__":
    main()
