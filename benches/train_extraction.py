"""Training of the linear classifier of extraction, and its figures on authors it has not seen.

    python -m benches.train_extraction                     # trains on all, writes the weights
    python -m benches.train_extraction --leave-one-out     # prints the table by author

Logistic regression with an L2 penalty, solved exactly by Newton's method in its dual form (there
are more features than sentences). What is read: `AUTHORS`, and the examples of the rule tables;
never a held-out or an unseen set.

Why it exists: rules that were made from the data of some authors found 42 % of what others wrote.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benches.extraction_quality import FOLDER, Answer, answers_of, read, score
from commonplace.extraction import classification, linear_model
from commonplace.extraction.classification import normalized
from commonplace.extraction.conversation import sentences
from commonplace.extraction.features import features
from commonplace.extraction.linear_model import (
    KINDS,
    STEPS_OF_KEEP,
    STEPS_OF_KIND,
    ZERO,
    Weights,
)
from commonplace.extraction.rule_tables import CHINESE, load

TASKS = ("extraction", "changes", "conflict")
# Who wrote which sets; the last of them knows the rules, the others do not.
AUTHORS = {
    "1": ["extraction-seen", "conflict-seen", "vetoes-seen"],
    "2": ["chat-seen", "changes-seen"],
    "3": ["extraction-seen-3", "changes-seen-3", "conflict-seen-3"],
    "4": [f"{task}-seen-{half}" for task in (*TASKS, "vetoes") for half in ("zh", "zh-2")],
    "5": [f"{task}-seen-4" for task in (*TASKS, "year", "vetoes")],
    "6": [f"{task}-seen-5" for task in (*TASKS, "year", "vetoes")],
    "7": ["extraction-seen-6"],
}
# Those whose messages no rule was made from, so that they say what rules and classifier do together
FRESH = ("5", "6")
LANGUAGES = ("english", "chinese")
PENALTY = 1 / 30
# of a message that only a positive set holds, as its negatives are not there
WEIGHT_OF_MORE = 0.5
# of one that a memory might hold already, whose words are plainer than those of a chat
WEIGHT_OF_STATEMENT = 0.3
MIN_COUNT = 2
MOST_FEATURES = 9500

Floats = NDArray[np.float64]


class Message(NamedTuple):
    """A labelled message; `kind` is "any" where only its worth is known, and None for no worth."""

    author: str
    sentences: tuple[str, ...]
    kind: str | None
    weight: float


def messages(language: str) -> Iterator[Message]:
    """Yield what is trained on, in one language."""
    known = set[str]()
    for author, names in AUTHORS.items():
        for name in names:
            for text, kind, weight in labelled(name):
                if text not in known and bool(CHINESE.search(text)) == (language == "chinese"):
                    known.add(text)
                    yield Message(author, tuple(map(normalized, sentences(text))), kind, weight)
    table = load(language)
    for row in (*table.rules, *table.vetoes):
        for example in row.examples:
            yield Message("rules", (normalized(example),), row.kind, 1)


def labelled(name: str) -> Iterator[tuple[str, str | None, float]]:
    """Yield text, kind and weight of what a user says in a set."""
    for item in read(FOLDER / f"{name}.jsonl"):
        if name.startswith("vetoes"):
            # which of its sentences must not be kept is not labelled
            if len(list(sentences(item["text"]))) == 1:
                yield item["text"], None, 1.0
        elif "tellings" in item:
            yield from ((one["text"], "any", WEIGHT_OF_MORE) for one in item["tellings"])
        elif "first" in item:
            yield from ((item[key], "any", WEIGHT_OF_MORE) for key in ("first", "second"))
        elif "old" in item:
            yield item["old"], "any", WEIGHT_OF_STATEMENT
        elif item.get("role", "user") == "user":
            kind = item["kind"] if "kind" in item else "any" if item["kept"] else None
            yield item["text"], kind, 1.0


def trained(found: Sequence[Message]) -> Weights:
    """Return the weights for some messages.

    Of a message of several sentences that is worth keeping, only its best sentence is: a first
    training, with all of them, says which one that is.
    """
    rows = [(text, one) for one in found for text in one.sentences]
    bags = [features(text) for text, _ in rows]
    counts = Counter(feature for bag in bags for feature in bag)
    names = sorted(name for name, count in counts.items() if count >= MIN_COUNT)
    matrix = matrix_of(bags, names)
    kernel = kernel_of(matrix)
    dual, start = logistic(kernel, *labels([one for _, one in rows]))
    chosen = best_sentences([one for _, one in rows], kernel @ dual + start)
    matrix, kept = matrix[chosen], [rows[at][1] for at in chosen]
    dual, _ = logistic(kernel[np.ix_(chosen, chosen)], *labels(kept))
    # the others carry little
    best = np.sort(np.argsort(-np.abs(dual @ matrix), kind="stable")[:MOST_FEATURES])
    return fitted(matrix[:, best], [names[at] for at in best], kept)


def labels(rows: Sequence[Message]) -> tuple[NDArray[np.bool_], Floats]:
    """Return whether each row is worth keeping, and its weight."""
    return np.array([one.kind is not None for one in rows]), np.array([one.weight for one in rows])


def best_sentences(rows: Sequence[Message], scores: Floats) -> list[int]:
    """Return the rows but those of a message worth keeping that are not its best."""
    best = dict[int, int]()
    for at, one in enumerate(rows):
        if one.kind and (id(one) not in best or scores[at] > scores[best[id(one)]]):
            best[id(one)] = at
    chosen = set(best.values())
    return [at for at, one in enumerate(rows) if one.kind is None or at in chosen]


def fitted(matrix: NDArray[np.float32], names: Sequence[str], rows: Sequence[Message]) -> Weights:
    """Return the weights of named features: of worth, and of each kind."""
    kernel = kernel_of(matrix)
    dual, start = logistic(kernel, *labels(rows))
    columns, starts = [dual @ matrix * STEPS_OF_KEEP], [start]
    known = np.flatnonzero([one.kind in KINDS for one in rows])
    among = kernel[np.ix_(known, known)]
    for kind in KINDS:
        is_kind = np.array([one.kind == kind for one in rows])[known]
        dual, start = logistic(among, is_kind, np.ones(len(known)))
        columns.append(dual @ matrix[known] * STEPS_OF_KIND)
        starts.append(start)
    scaled = np.stack(columns, 1)
    whole = np.clip(np.rint(scaled), 33 - ZERO, 126 - ZERO).astype(int)
    table = {name: tuple(row) for name, row in zip(names, whole.tolist(), strict=True) if any(row)}
    return Weights(tuple(starts), table)


def matrix_of(bags: Sequence[set[str]], names: Sequence[str]) -> NDArray[np.float32]:
    """Return a row for each bag of features, of length 1 with the features that are not named."""
    column = {name: at for at, name in enumerate(names)}
    matrix = np.zeros((len(bags), len(names)), np.float32)
    for row, bag in zip(matrix, bags, strict=True):
        there = [column[name] for name in bag if name in column]
        row[there] = len(bag) ** -0.5
    return matrix


def kernel_of(matrix: NDArray[np.float32]) -> Floats:
    """Return the products of all rows with each other."""
    return (matrix @ matrix.T).astype(np.float64)


def logistic(kernel: Floats, yes: NDArray[np.bool_], weight: Floats) -> tuple[Floats, float]:
    """Return the weights of rows and the intercept; both classes weigh the same."""
    rows = len(yes)
    balanced = weight * np.where(yes, 0.5 / weight[yes].sum(), 0.5 / weight[~yes].sum()) * rows
    cost = balanced / PENALTY
    system = np.zeros((rows + 1, rows + 1))
    system[rows, :rows] = system[:rows, rows] = 1
    dual, start = np.zeros(rows), 0.0
    for _ in range(30):
        scores = kernel @ dual + start
        chance = 1 / (1 + np.exp(-np.clip(scores, -30, 30)))
        curve = np.maximum(cost * chance * (1 - chance), 1e-9)
        target = scores + cost * (yes - chance) / curve
        system[:rows, :rows] = kernel
        system[np.arange(rows), np.arange(rows)] += 1 / curve
        solved = np.linalg.solve(system, np.append(target, 0))
        moved = float(np.abs(solved[:rows] - dual).max())
        dual, start = solved[:rows], float(solved[rows])
        if moved < 1e-3:
            break
    return dual, start


def models_without(author: str) -> dict[str, Weights]:
    """Return the weights of each language, trained without the messages of an author."""
    return {
        language: trained([one for one in messages(language) if one.author != author])
        for language in LANGUAGES
    }


@contextmanager
def deciding(how: str, made: dict[str, Weights]) -> Iterator[None]:
    """Let rules alone, the classifier alone, or both joined decide."""
    if how == "rules":
        other: AbstractContextManager[object] = patch.object(
            classification, "joined", lambda found, *_: found
        )
    elif how == "classifier":
        none = classification.Classification
        other = patch.object(
            classification, "by_rules", lambda text, *_: none(text, None, "no-rule")
        )
    else:
        other = nullcontext()
    with patch.object(linear_model, "weights", made.__getitem__), other:
        yield


def print_leave_one_out() -> None:
    """Print precision and recall of each fresh author, left out of the training."""
    print("| author left out | language | decided by | kept or not: P | R | kind, too: P | R |")
    print("|---|---|---|--:|--:|--:|--:|")
    everything = defaultdict[tuple[str, str], list[Answer]](list)
    for author in FRESH:
        made = models_without(author)
        items = read(FOLDER / f"{AUTHORS[author][0]}.jsonl")
        for how in ("rules", "classifier", "joined"):
            with deciding(how, made):
                answers = list(answers_of("extraction", items))
            for language in ("en", "zh"):
                group = [one for one in answers if one.item["language"] == language]
                print_row(author, language, how, group)
                everything[language, how] += group
                everything["both", how] += group
    for (language, how), group in everything.items():
        print_row("all", language, how, group)


def print_row(author: str, language: str, how: str, group: list[Answer]) -> None:
    any_kind, strict = score([one.without_kind() for one in group]), score(group)
    print(
        f"| {author} | {language} | {how} | {any_kind.precision:.3f} | {any_kind.recall:.3f} "
        f"| {strict.precision:.3f} | {strict.recall:.3f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the linear classifier.")
    parser.add_argument("--leave-one-out", action="store_true", help="print the table by author")
    options = parser.parse_args()
    if options.leave_one_out:
        print_leave_one_out()
        return
    for language in LANGUAGES:
        write(language, trained(list(messages(language))))


def write(language: str, made: Weights) -> None:
    """Write the file of weights of a language."""
    lines = ["\t".join(f"{start:.4f}" for start in made.intercepts)]
    lines += [
        f"{name}\t{''.join(chr(ZERO + weight) for weight in row)}"
        for name, row in sorted(made.of_features.items())
    ]
    path = Path(linear_model.__file__).with_name(f"{language}_weights.txt")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{path.name}: {len(lines) - 1} features, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
