"""Training of the classifier of pairs (`commonplace/conflict/*_weights.txt.gz`), and its worth.

    python -m benches.train_conflict            # authors left out: rules, classifier, both
    python -m benches.train_conflict --write    # train on all seen sets, and write the weights

It is a logistic regression (`benches/logistic.py`) for each language, over the features of
`commonplace.conflict.features`. It learns from the seen sets of pairs and of changes of state;
each statement is also paired with the news of others, which it has nothing to do with. The author
of the rules wrote `statements-seen.jsonl` for it: of each attribute statements, what ends each of
them, and what holds beside each. A held-out set is never read here.

An author is left out as a whole, with some others: what is measured are pairs of somebody whose
words were not trained on. The tables of `attributes.toml` were extended after reading authors 4
and 5, so these two count for less than the others. Authors 11 to 13 are imagined people, twelve,
some forty and some sixty; who wrote them had read the rules. The authors from 16 on are writers,
each as many imagined people, who had read nothing of this project; but the instruction of 84 to 86
named five pairs of `conflict-unseen.jsonl`. Those from 25 on took more care of how a change is told
than of hard pairs that both hold, but for 67, 68 and 84 to 86.
"""

from __future__ import annotations

import argparse
import gzip
import random
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import commonplace.conflict
from benches.extraction_quality import FOLDER, read
from benches.logistic import SparseRows, fitted
from commonplace.conflict import IMPROBABLE, LONGEST, UNDECIDED, UNSAID
from commonplace.conflict.candidates import StatementIndex
from commonplace.conflict.classifier_scope import may_conflict
from commonplace.conflict.conditions import says_change, tells_of_another_time
from commonplace.conflict.features import features, signs
from commonplace.conflict.rules import by_rules
from commonplace.conflict.topics import with_relative

if TYPE_CHECKING:
    from numpy.typing import NDArray

NEWEST = 86
# Of these there are no pairs
WITHOUT_PAIRS = {24, 43, 44, 72, 73, 74, 75}
AUTHORS = {
    "first": ["seen", "seen-3", "seen-zh", "seen-zh-2"],
    **{str(number): [f"seen-{number}"] for number in (4, 5, 7, 8, 9, 11, 12, 13)},
    **{str(one): [f"seen-{one}"] for one in range(16, NEWEST + 1) if one not in WITHOUT_PAIRS},
}
LANGUAGES = {"en": "english", "zh": "chinese"}
PENALTY, STEPS = 3e-4, 300
# Authors are left out in so many groups
GROUPS = 8
# A feature that is rarer says nothing for sure
RAREST = 3
# So many of the strongest of each language are shipped
KEPT = 20_000
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
# From this likelihood on the classifier decides where no rule does, and a word tells of a change
ENOUGH = {"en": 0.65, "zh": 0.65}


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


class Table(NamedTuple):
    """The features of pairs: their names, and a row for each pair; the last column is always 1."""

    pairs: list[Pair]
    names: list[str]
    rows: SparseRows

    def of_pairs(self, kept: NDArray[np.bool_]) -> Table:
        """Return the rows of some of the pairs."""
        pairs = [one for one, keep in zip(self.pairs, kept, strict=True) if keep]
        return Table(pairs, self.names, self.rows.some_rows(kept))

    def of_features(self, kept: NDArray[np.bool_]) -> Table:
        """Return the columns of some of the features, and the last one."""
        names = [name for name, keep in zip(self.names, kept, strict=True) if keep]
        return Table(self.pairs, names, self.rows.some_columns(np.append(kept, values=True)))

    def counts(self) -> NDArray[np.int64]:
        """Return how many pairs have each feature."""
        return np.bincount(self.rows.columns, minlength=self.rows.shape[1])[:-1]


def table_of(pairs: Sequence[Pair]) -> Table:
    """Return the features of pairs, as the classifier sees them."""
    names: dict[str, int] = {}
    rows, columns, values = array("q"), array("q"), array("d")
    for number, pair in enumerate(pairs):
        found = features(pair.old, with_relative(pair.old, pair.new))
        for name in sorted(found):
            rows.append(number)
            columns.append(names.setdefault(name, len(names)))
            values.append(found[name])
    every = np.arange(len(pairs))
    return Table(
        list(pairs),
        list(names),
        SparseRows(
            (len(pairs), len(names) + 1),
            np.concatenate([np.array(rows, dtype=np.int64), every]),
            np.concatenate([np.array(columns, dtype=np.int64), np.full(len(pairs), len(names))]),
            np.concatenate([np.array(values), np.ones(len(pairs))]),
        ),
    )


def train(table: Table) -> dict[str, float]:
    """Return the weights of the strongest features; that of "" is the bias."""
    counts = table.counts()
    often = table.of_features(counts >= RAREST)
    first = fit(often, STEPS // 2)[:-1]
    strength = np.abs(first) * often.counts() ** 0.5
    strongest = np.zeros(len(strength), dtype=bool)
    strongest[np.argsort(strength, kind="stable")[-KEPT:]] = True
    chosen = often.of_features(strongest)
    weights = fit(chosen, STEPS)
    return dict(zip((*chosen.names, ""), map(float, weights), strict=True))


def fit(table: Table, steps: int) -> NDArray[np.float64]:
    """Return the weights of features, and the bias."""
    wanted = np.array([one.conflict for one in table.pairs], dtype=float)
    counts = np.array([COUNTS[one.source] for one in table.pairs])
    return fitted(table.rows, wanted, counts, PENALTY, steps)


def likelihoods(weights: dict[str, float], table: Table) -> NDArray[np.float64]:
    """Return how likely each pair conflicts."""
    column = np.array([weights.get(name, 0.0) for name in (*table.names, "")])
    return 1 / (1 + np.exp(-table.rows.times(column)))


class Decision(NamedTuple):
    """What rules and classifier say of a pair of an author who was left out."""

    author: str
    pair: Pair
    # unless the classifier overrules it
    by_rule: bool
    undecided: bool
    may: bool
    says_change: bool
    likely: float

    def found(self, how: str) -> bool:
        """Return whether a conflict is found: by "rules", the classifier "alone", or "both"."""
        alone = self.may and self.likely >= self.least(ENOUGH[self.pair.language])
        rule = self.by_rule and self.pair.source != "unrelated"
        return {"rules": rule, "alone": alone, "both": rule or (self.undecided and alone)}[how]

    def least(self, enough: float) -> float:
        """Return the likelihood that is needed, where `enough` is if it tells of a change."""
        return enough if self.says_change else max(enough, UNSAID)


def left_out() -> list[Decision]:
    """Return what is said of the pairs of each author, trained on those of other groups."""
    of_authors = {author: pairs_of(author) for author in AUTHORS}
    authors = [author for author in AUTHORS if author != "first" and of_authors[author]]
    owners = [(author, one) for author, some in of_authors.items() for one in some]
    owners += [("always", one) for one in [*written_for_training(), *messages()]]
    found = []
    for language in LANGUAGES:
        of_language = [(author, one) for author, one in owners if one.language == language]
        table = table_of([one for _, one in of_language])
        for group in range(GROUPS):
            tested = set(authors[group::GROUPS])
            left = np.array([author in tested for author, _ in of_language])
            weights, rest = train(table.of_pairs(~left)), table.of_pairs(left)
            names = [author for author, _ in of_language if author in tested]
            for author, one, likely in zip(
                names, rest.pairs, likelihoods(weights, rest), strict=True
            ):
                found.append(decision(author, one, float(likely)))
    return found


def decision(author: str, pair: Pair, likely: float) -> Decision:
    """Return what the rules say of a pair, beside the classifier."""
    new = with_relative(pair.old, pair.new)
    rule = by_rules(pair.old, new)
    doubtful = rule.reason == "replaced" or tells_of_another_time(new)
    return Decision(
        author,
        pair,
        rule.conflict and (not doubtful or likely >= IMPROBABLE),
        rule.reason in UNDECIDED,
        may_conflict(pair.old, new),
        says_change(pair.old, new),
        likely,
    )


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
        for enough in (0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975):
            got = [
                one.pair.conflict
                for one in some
                if one.by_rule or (one.may and one.undecided and one.likely >= one.least(enough))
            ]
            print(
                f"| {language} | {enough} | {sum(got)} | {len(got) - sum(got)} "
                f"| {sum(got) / len(got):.3f} | {sum(got) / wanted:.3f} |"
            )


def write() -> None:
    """Train on all authors and write the weights of each language."""
    seen = [one for author in AUTHORS for one in pairs_of(author)]
    seen += [*written_for_training(), *messages()]
    for language, name in LANGUAGES.items():
        weights = train(table_of([one for one in seen if one.language == language]))
        rows = [("bias", weights.pop("")), ("least", ENOUGH[language])]
        rows += [(feature, one) for feature, one in weights.items() if round(one, 2)]
        text = "".join(f"{feature}\t{number:.2f}\n" for feature, number in rows)
        path = Path(commonplace.conflict.__file__).with_name(f"{name}_weights.txt.gz")
        path.write_bytes(gzip.compress(text.encode(), mtime=0))
        print(f"{path.name}: {len(rows) - 2} features, {path.stat().st_size:,} bytes")


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
