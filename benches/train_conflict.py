"""Training of the classifier of pairs (`commonplace/conflict/weights.txt`), and what it is worth.

    python -m benches.train_conflict            # each author left out: rules, classifier, both
    python -m benches.train_conflict --write    # train on all seen sets, and write the weights

It is a logistic regression (`benches/logistic.py`) over the features of
`commonplace.conflict.features`. It learns from the seen sets of pairs and of changes of state;
each statement is also paired with the news of others, which it has nothing to do with. The author
of the rules wrote `statements-seen.jsonl` for it: of each attribute statements, what ends each of
them, and what holds beside each. A held-out set is never read here.

An author is left out as a whole: what is measured are pairs of somebody whose words were not
trained on. The tables of `attributes.toml` were extended after reading authors 4 and 5, so these
two count for less than the others. Authors 11 to 13 are imagined people, twelve, some forty and
some sixty; who wrote them had read the rules. Authors 16 to 36 are twenty writers, each as many
imagined people, who had read nothing of this project; those from 25 on took more care of how a
change is told than of hard pairs that both hold.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import commonplace.conflict
from benches.extraction_quality import FOLDER, read
from benches.logistic import SparseRows, fitted
from commonplace.conflict import LONGEST, UNDECIDED, by_rules, may_conflict
from commonplace.conflict.candidates import StatementIndex
from commonplace.conflict.features import features, signs
from commonplace.conflict.topics import with_relative

if TYPE_CHECKING:
    from numpy.typing import NDArray

AUTHORS = {
    "first": ["seen", "seen-3", "seen-zh", "seen-zh-2"],
    **{str(number): [f"seen-{number}"] for number in (4, 5, 7, 8, 9, 11, 12, 13)},
    **{str(number): [f"seen-{number}"] for number in (*range(16, 24), *range(25, 37))},
}
WEIGHTS = Path(commonplace.conflict.__file__).with_name("weights.txt")
PENALTY, STEPS = 6e-4, 300
# A feature that is rarer says nothing for sure
LEAST = 3
# So many of the strongest are shipped
KEPT = 12_000
# So many pairs of statements that have nothing to do with each other for each pair that does
UNRELATED = 3
# How much a pair counts. One that both holds counts most, for a false replacement loses a fact
COUNTS = {
    "labelled": 3.0,
    "both hold": 6.0,
    "change": 2.0,
    "ends": 1.0,
    "holds": 2.0,
    "unrelated": 0.6,
    "message": 0.3,
}
# So many messages that have words in common with each
NEAR = 4
# From this likelihood on the classifier decides where no rule does. Authors 7 to 9, all three left
# out, have a precision of 0.95 and 0.99 there, and the first unseen pairs one above 0.95.
ENOUGH = {"en": 0.6, "zh": 0.7}


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
                    texts, conflict = (item["old"], item["new"]), item["conflict"]
                else:
                    source = "change"
                    texts, conflict = (item["first"], item["second"]), True
                found.append(Pair(*texts, conflict, source, item["language"]))
    return found + unrelated(found, random.Random(5))


def unrelated(pairs: Sequence[Pair], draw: random.Random) -> list[Pair]:
    """Return what ends one statement beside others of which it says nothing."""
    found: list[Pair] = []
    for language in ("en", "zh"):
        told = [one for one in pairs if one.conflict and one.language == language]
        for true in told:
            others = draw.sample(told, min(UNRELATED, len(told)))
            found += [
                true._replace(old=other.old, conflict=False, source="unrelated")
                for other in others
                if not are_alike(other.old, true.old)
            ]
    return found


def are_alike(first: str, second: str) -> bool:
    """Say whether two statements may be about one attribute, so that one thing ends both."""
    one, two = signs(first), signs(second)
    return first == second or bool(
        one.one & two.one or one.many & two.many or one.sorts.keys() & two.sorts.keys()
    )


def written_for_training() -> Iterator[Pair]:
    """Yield the pairs of `statements-seen.jsonl`, and unrelated ones.

    Each of its lines is `stated`, statements that may be told of one person; `ends`, texts with the
    numbers of the statements that they make untrue; and `holds`, what holds beside all of them.
    """
    draw = random.Random(3)
    items = read(FOLDER / "statements-seen.jsonl")
    for item in items:
        language, stated = item["language"], item["stated"]
        others = [one for one in items if one is not item and one["language"] == language]
        for end in item["ends"]:
            for number in end["of"]:
                yield Pair(
                    stated[number], end["text"], conflict=True, source="ends", language=language
                )
            yield from besides(end["text"], draw.sample(others, 4), language, draw)
        for text in item["holds"]:
            for old in stated:
                yield Pair(old, text, conflict=False, source="holds", language=language)
            yield from besides(text, draw.sample(others, 1), language, draw)


def besides(new: str, items: Sequence[Any], language: str, draw: random.Random) -> Iterator[Pair]:
    """Yield a text with a statement of each of some items, which it has nothing to do with."""
    for item in items:
        yield Pair(
            draw.choice(item["stated"]), new, conflict=False, source="unrelated", language=language
        )


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


@cache
def features_of(old: str, new: str) -> dict[str, float]:
    """Return the features of a pair, as the classifier sees it."""
    return features(old, with_relative(old, new))


def matrix(pairs: Sequence[Pair], names: dict[str, int]) -> SparseRows:
    """Return the features of pairs; the last column is always 1."""
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    for number, pair in enumerate(pairs):
        for name, value in features_of(pair.old, pair.new).items():
            if (column := names.get(name)) is not None:
                rows.append(number)
                columns.append(column)
                values.append(value)
        rows.append(number)
        columns.append(len(names))
        values.append(1.0)
    return SparseRows(
        (len(pairs), len(names) + 1), np.array(rows), np.array(columns), np.array(values)
    )


def train(pairs: Sequence[Pair]) -> dict[str, float]:
    """Return the weights of the strongest features; that of "" is the bias."""
    counts = Counter(name for one in pairs for name in features_of(one.old, one.new))
    kept = sorted(name for name, count in counts.items() if count >= LEAST)
    first = fit(pairs, kept, STEPS // 2)
    strength = {name: abs(first[name]) * counts[name] ** 0.5 for name in kept}
    strongest = sorted(sorted(kept, key=strength.__getitem__)[-KEPT:])
    return fit(pairs, strongest, STEPS)


def fit(pairs: Sequence[Pair], features: Sequence[str], steps: int) -> dict[str, float]:
    """Return the weights of features, and that of "", the bias."""
    table = matrix(pairs, {name: number for number, name in enumerate(features)})
    wanted = np.array([one.conflict for one in pairs], dtype=float)
    counts = np.array([COUNTS[one.source] for one in pairs])
    weights = fitted(table, wanted, counts, PENALTY, steps)
    return dict(zip((*features, ""), map(float, weights), strict=True))


def likelihoods(weights: dict[str, float], pairs: Sequence[Pair]) -> NDArray[np.float64]:
    """Return how likely each pair conflicts."""
    names = {name: number for number, name in enumerate(name for name in weights if name)}
    column = np.array([*(weights[name] for name in names), weights[""]])
    return 1 / (1 + np.exp(-matrix(pairs, names).times(column)))


class Decision(NamedTuple):
    """What rules and classifier say of a pair of an author who was left out."""

    author: str
    pair: Pair
    by_rule: bool
    undecided: bool
    may: bool
    likely: float

    def found(self, how: str) -> bool:
        """Return whether a conflict is found: by "rules", the classifier "alone", or "both"."""
        alone = self.may and self.likely >= ENOUGH[self.pair.language]
        rule = self.by_rule and self.pair.source != "unrelated"
        return {"rules": rule, "alone": alone, "both": rule or (self.undecided and alone)}[how]


def left_out() -> list[Decision]:
    """Return what is said of the pairs of each author, trained on the others."""
    pairs = {author: pairs_of(author) for author in AUTHORS}
    always = [*written_for_training(), *messages()]
    found = []
    for author in AUTHORS:
        if author == "first":
            continue
        others = [one for other in AUTHORS if other != author for one in pairs[other]]
        weights = train(others + always)
        for one, likely in zip(pairs[author], likelihoods(weights, pairs[author]), strict=True):
            new = with_relative(one.old, one.new)
            rule = by_rules(one.old, new)
            found.append(
                Decision(
                    author,
                    one,
                    rule.conflict,
                    rule.reason in UNDECIDED,
                    may_conflict(one.old, new),
                    float(likely),
                )
            )
    return found


def print_left_out(decisions: Sequence[Decision]) -> None:
    """Print what rules, classifier and both find of each author."""
    print("| left out | language | by | right | wrong | missed | precision | recall |")
    print("|---|---|---|--:|--:|--:|--:|--:|")
    groups = {author: {author} for author in AUTHORS} | {"7-9": {"7", "8", "9"}, "all": {*AUTHORS}}
    for name, authors in groups.items():
        for language in ("en", "zh"):
            some = [one for one in decisions if one.author in authors]
            if group := [one for one in some if one.pair.language == language]:
                print_group(name, language, group)


def print_group(author: str, language: str, group: Sequence[Decision]) -> None:
    """Print the rows of one author and language."""
    labelled = [one for one in group if one.pair.source in {"labelled", "both hold"}]
    wanted = sum(one.pair.conflict for one in labelled)
    for how in ("rules", "alone", "both") if wanted else ():
        right = sum(one.found(how) for one in labelled if one.pair.conflict)
        wrong = sum(one.found(how) for one in labelled if not one.pair.conflict)
        precision = right / (right + wrong) if right + wrong else 1.0
        print(
            f"| {author} | {language} | {how} | {right} | {wrong} | {wanted - right} "
            f"| {precision:.3f} | {right / wanted:.3f} |"
        )
    for source in ("change", "unrelated"):
        some = [one for one in group if one.pair.source == source]
        print(
            f"| {author} | {language} | {source} | {sum(o.found('both') for o in some)} "
            f"of {len(some)} | | | | |"
        )


def print_thresholds(decisions: Sequence[Decision]) -> None:
    """Print, by language, precision and recall of rules and classifier at several likelihoods."""
    for language in ("en", "zh"):
        some = [
            one
            for one in decisions
            if one.pair.language == language and one.pair.source in {"labelled", "both hold"}
        ]
        wanted = sum(one.pair.conflict for one in some)
        for enough in (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975):
            got = [
                one.pair.conflict
                for one in some
                if one.by_rule or (one.may and one.undecided and one.likely >= enough)
            ]
            print(
                f"| {language} | {enough} | {sum(got)} | {len(got) - sum(got)} "
                f"| {sum(got) / len(got):.3f} | {sum(got) / wanted:.3f} |"
            )


def write() -> None:
    """Train on all authors and write the weights."""
    seen = [one for author in AUTHORS for one in pairs_of(author)]
    weights = train([*seen, *written_for_training(), *messages()])
    rows = [("bias", weights.pop("")), *((f"least {name}", one) for name, one in ENOUGH.items())]
    rows += [(name, one) for name, one in weights.items() if round(one, 2)]
    text = "".join(f"{name}\t{number:.2f}\n" for name, number in rows)
    WEIGHTS.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the classifier of pairs.")
    parser.add_argument("--write", action="store_true", help="write the weights")
    if parser.parse_args().write:
        write()
        return
    decisions = left_out()
    print_left_out(decisions)
    print_thresholds(decisions)


if __name__ == "__main__":
    main()
