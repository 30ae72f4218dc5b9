"""Training of the classifier of pairs (`commonplace/conflict/weights.toml`), and what it is worth.

    python -m benches.train_conflict            # each author left out: rules, classifier, both
    python -m benches.train_conflict --write    # train on all seen sets, and write the weights

It is a logistic regression over the features of `commonplace.conflict.features`, by plain gradient
descent (Adam) with an L2 penalty. It learns from the seen sets of pairs and of changes of state;
each statement is also paired with the news of others, which it has nothing to do with. A held-out
set is never read here.

An author is left out as a whole: what is measured are pairs of somebody whose words were not
trained on. The tables of `attributes.toml` were extended after reading these authors, so a held-out
set is lower still.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import commonplace.conflict
from benches.extraction_quality import FOLDER, read
from commonplace.conflict import LONGEST, UNDECIDED, by_rules, may_conflict
from commonplace.conflict.candidates import StatementIndex
from commonplace.conflict.features import features
from commonplace.conflict.topics import with_relative

AUTHORS = {
    "first": ["seen", "seen-3", "seen-zh", "seen-zh-2"],
    "4": ["seen-4"],
    "5": ["seen-5"],
}
WEIGHTS = Path(commonplace.conflict.__file__).with_name("weights.toml")
PENALTY, STEPS = 1e-4, 300
# A feature that is rarer says nothing for sure
LEAST = 8
# So many pairs of statements that have nothing to do with each other for each pair that does
UNRELATED = 3
# How much a pair counts. One that both holds counts most, for a false replacement loses a fact
COUNTS = {"labelled": 3.0, "both hold": 8.0, "change": 1.0, "unrelated": 0.6, "message": 0.6}
# So many messages that have words in common with each
NEAR = 4
# From this likelihood on the classifier decides where no rule does. It overrules none: where it
# finds a decision of the rules unlikely, they are right ("I am a student" and "graduated").
# On 3,000 pairs of two authors that both hold (half with a common topic) 20 were replaced at 0.85,
# and 6 at 0.95. 13 of 160 conflicts more are missed then; a fact lost costs five of them.
ENOUGH = 0.95


class Pair(NamedTuple):
    """Two statements, whether they conflict, and where that is known from."""

    old: str
    new: str
    conflict: bool
    source: str
    language: str


def pairs_of(author: str) -> list[Pair]:
    """Return the pairs of an author, with unrelated ones of the same language."""
    found: list[Pair] = []
    for half in AUTHORS[author]:
        for task in ("conflict", "changes"):
            path = FOLDER / f"{task}-{half}.jsonl"
            for item in read(path) if path.exists() else []:
                if "old" in item:
                    source = "labelled" if item["conflict"] else "both hold"
                    pair = Pair(
                        item["old"], item["new"], item["conflict"], source, item["language"]
                    )
                else:
                    pair = Pair(
                        item["first"],
                        item["second"],
                        conflict=True,
                        source="change",
                        language=item["language"],
                    )
                found.append(pair)
    draw = random.Random(5)
    unrelated: list[Pair] = []
    for language in ("en", "zh"):
        told = [one for one in found if one.conflict and one.language == language]
        for true in told:
            others = draw.sample(told, min(UNRELATED, len(told)))
            unrelated += [
                true._replace(old=other.old, conflict=False, source="unrelated")
                for other in others
                if other.old != true.old
            ]
    return found + unrelated


def messages() -> list[Pair]:
    """Return pairs of messages of the sets of extraction that have words in common.

    Each was written by itself, so hardly ever does one make another untrue.
    """
    texts = defaultdict[str, list[str]](list)
    for path in [*sorted(FOLDER.glob("extraction-seen*.jsonl")), FOLDER / "chat-seen.jsonl"]:
        for item in read(path):
            if len(item["text"]) <= LONGEST:
                texts[item["language"]].append(item["text"])
    found = []
    for language, some in texts.items():
        index = StatementIndex(some)
        for number, new in enumerate(some):
            near = [one for one in index.candidates([new]) if one != number]
            found += [
                Pair(some[one], new, conflict=False, source="message", language=language)
                for one in near[:NEAR]
                if may_conflict(some[one], new)
            ]
    return found


def matrix(rows: Sequence[dict[str, float]], names: dict[str, int]) -> np.ndarray:
    """Return the features of pairs as rows of numbers; the last is always 1."""
    table = np.zeros((len(rows), len(names) + 1))
    table[:, -1] = 1
    for number, row in enumerate(rows):
        for name in row.keys() & names.keys():
            table[number, names[name]] = row[name]
    return table


def train(pairs: Sequence[Pair]) -> tuple[dict[str, int], np.ndarray]:
    """Return the names of the features and their weights, the last of which is the bias."""
    rows = [features(one.old, one.new) for one in pairs]
    counts = Counter(name for row in rows for name in row)
    kept = sorted(name for name, count in counts.items() if count >= LEAST)
    names = {name: number for number, name in enumerate(kept)}
    table = matrix(rows, names)
    wanted = np.array([one.conflict for one in pairs], dtype=float)
    share = np.array([COUNTS[one.source] for one in pairs])
    share /= share.sum()
    weights, mean, square = (np.zeros(table.shape[1]) for _ in range(3))
    for step in range(1, STEPS + 1):
        error = 1 / (1 + np.exp(-(table @ weights))) - wanted
        gradient = table.T @ (share * error) + PENALTY * weights
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.99 * square + 0.01 * gradient**2
        rate = 0.1 if step < STEPS * 2 / 3 else 0.03
        weights -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return names, weights


def print_author(author: str) -> None:
    """Print what rules, classifier and both find of an author, trained on the others."""
    others = [one for other in AUTHORS if other != author for one in pairs_of(other)]
    names, weights = train(others + messages())
    pairs = pairs_of(author)
    table = matrix([features(one.old, one.new) for one in pairs], names)
    likely = 1 / (1 + np.exp(-(table @ weights)))
    for language in ("en", "zh"):
        found = Counter[tuple[str, bool]]()
        wanted = unrelated = 0
        for one, share in zip(pairs, likely, strict=True):
            if one.language != language or one.source == "change":
                continue
            if one.source == "unrelated":
                unrelated += 1
                found["unrelated", True] += share >= ENOUGH and may_conflict(one.old, one.new)
                continue
            wanted += one.conflict
            rule = by_rules(one.old, with_relative(one.old, one.new))
            alone = share >= ENOUGH and may_conflict(one.old, one.new)
            both = rule.conflict or (rule.reason in UNDECIDED and alone)
            for name, got in (("rules", rule.conflict), ("alone", alone), ("both", both)):
                found[name, one.conflict] += bool(got)
        for name in ("rules", "alone", "both"):
            right, wrong = found[name, True], found[name, False]
            precision = right / (right + wrong) if right + wrong else 1.0
            print(
                f"| {author} | {language} | {name} | {right} | {wrong} | {wanted - right} "
                f"| {precision:.3f} | {right / wanted:.3f} |"
            )
        print(f"| {author} | {language} | unrelated | {found['unrelated', True]} of {unrelated} |")


def write() -> None:
    """Train on all authors and write the weights."""
    names, weights = train([one for author in AUTHORS for one in pairs_of(author)] + messages())
    lines = [
        "# Weights of the features of a pair; `benches/train_conflict.py` writes this.",
        f"bias = {weights[-1]:.3f}",
        f"least = {ENOUGH}",
        "",
        "[weights]",
        *(f'"{name}" = {weights[number]:.3f}' for name, number in names.items()),
    ]
    WEIGHTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the classifier of pairs.")
    parser.add_argument("--write", action="store_true", help="write the weights")
    if parser.parse_args().write:
        write()
        return
    print("| left out | language | by | right | wrong | missed | precision | recall |")
    print("|---|---|---|--:|--:|--:|--:|--:|")
    for author in AUTHORS:
        if author != "first":
            print_author(author)


if __name__ == "__main__":
    main()
