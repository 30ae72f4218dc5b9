"""Queries to the index of the archive: the names of a query weighted, patterns, filters."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from commonplace._core import archive_label, archive_row_names, language_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from commonplace._core import CollectionStats, QueryNames, SearchFilter
    from commonplace.engines.archive_index import ArchiveIndex, Place
    from commonplace.engines.archive_part import ArchivePart

# The letters of names that stand for words of the text, and for those beside it
TEXT, BESIDE = "cw", {"c": "b", "w": "v"}
# Letters of the names of words as they are spelled, in rows
SPELLED = "wevd"
# Words of one pattern, as in the index of a store
MAX_WORDS = 256
# Patterns whose words are kept: each search asks for them twice
MAX_PATTERNS = 64
LANGUAGES = language_names()
# Best messages that may be shown
WINDOW = 30
# The most that tantivy gives for a name of weight 1: that of its BM25 for the shortest row in which
# the name is four times, with k1 1.2 and b 0.75
MOST_SCORE = 2.2 * 4 / (4 + 1.2 * 0.25)
# What it takes to look a name up in a row that has others, in rows of a union of names: 23 ns, and
# 9 ns
LOOK_UP = 2


class ArchiveQueries:
    """Makes queries for an index of rows."""

    def __init__(self, index: ArchiveIndex) -> None:
        self._index = index
        self._query, self._occur = index.tantivy.Query, index.tantivy.Occur
        self._languages: set[str] = set()
        self._languages_of = 0
        self._words = lru_cache(MAX_PATTERNS)(self._find_words)

    def __repr__(self) -> str:
        return f"ArchiveQueries({self._index!r})"

    def languages(self) -> set[str]:
        """Return the codes of the languages that some rows are in."""
        if self._languages_of != self._index.version:
            self._languages = {
                code for code, names in LANGUAGES if any(map(self._index.count, names))
            }
            self._languages_of = self._index.version
        return self._languages

    def counts(self, names: QueryNames, fields: Mapping[str, int]) -> dict[str, int]:
        """Return the number of documents with each name of a query, and with each pattern.

        Args:
            names: Those of the query.
            fields: How many documents have each field.
        """
        index = self._index
        counts = {name: index.count(name) for name in names.names}
        counts |= {"~" + name: 0 for name, *_ in names.patterns}
        for name, kind, typos, terms in _patterns(names, fields):
            counted = _field_names(name, terms) if kind == "field" else terms
            if expanded := self._expanded(kind, typos, counted):
                counts["~" + name] = index.count_found(index.union(expanded))
        return counts

    def weights(
        self, names: QueryNames, stats: CollectionStats, fields: Mapping[str, int]
    ) -> dict[str, float]:
        """Return the names of rows that a query asks for, with their weights.

        Args:
            names: Those of the query.
            stats: The statistics to weight by.
            fields: How many documents have each field.
        """
        weights: dict[str, float] = {}

        def add(name: str, weight: float) -> None:
            weights[name] = weights.get(name, 0.0) + weight

        weighted = dict(names.weights(stats))
        for name, weight in weighted.items():
            if name[0] == "~":
                continue
            # what stands beside the text has a name of its own
            both = (name, BESIDE[name[0]] + name[1:]) if name[0] in TEXT else (name,)
            for own in both:
                for row_name in archive_row_names(own):
                    add(row_name, weight)
        for name, kind, typos, terms in _patterns(names, fields):
            for own in self._expanded(kind, typos, terms):
                add(own, weighted.get("~" + name, 1.0))
        return {name: weight for name, weight in weights.items() if self._index.count_rows(name)}

    def best(
        self, weights: dict[str, float], required: Sequence[Any], most: int
    ) -> list[tuple[float, Place]]:
        """Return the rows that score best of those that pass all of `required`, best first."""
        # they say what is found, and nothing of how good it is
        required = [self._query.const_score_query(one, 0.0) for one in required]

        def best_of(part: ArchivePart, most: int) -> list[tuple[float, Any]]:
            return self._best_of(part, weights, required, most)

        return self._index.best(best_of, most)

    def _best_of(
        self, part: ArchivePart, weights: dict[str, float], required: Sequence[Any], most: int
    ) -> list[tuple[float, Any]]:
        """Return the rows of a part that score best, best first.

        tantivy scores each row that has any of the names, as it uses no upper bounds here. Most
        have only frequent ones, which weigh little. So rows with a rare name are scored first, and
        the score of the last of them tells which names alone cannot reach it (MaxScore): rows that
        have no others are not scored. Then those with the other names are: of these the best count,
        for what they have of the names before was scored.
        """
        names = sorted(filter(part.count_rows, weights), key=part.count_rows)
        if not names:
            return []
        parts = [part.weighted(name, weights[name]) for name in names]
        counts = [part.count_rows(name) for name in names]
        # the most that the names from each one on give together
        bounds = [0.0]
        for name in reversed(names):
            bounds.append(bounds[-1] + weights[name] * MOST_SCORE)
        bounds.reverse()
        essential = next(
            (at for at, found in enumerate(accumulate(counts), 1) if found >= most), len(counts)
        )
        done = 0
        best: list[tuple[float, Any]] = []
        while True:
            if not required:
                essential = _widened(counts, done, essential)
            either = self._either(parts[done:essential])
            scored = part.best([either, *required], parts[essential:], most)
            best = _merged(best, scored, most) if done else scored
            least = best[-1][0] if len(best) == most else 0.0
            needed = next(at for at in range(essential, len(bounds)) if bounds[at] <= least)
            if needed == essential:
                return best
            done, essential = essential, needed

    def _either(self, parts: Sequence[Any]) -> Any:
        return self._query.boolean_query([(self._occur.Should, part) for part in parts])

    def phrases(self, names: QueryNames) -> list[Any]:
        """Return a query for each word of the phrases that a document must hold."""
        return [
            self._index.union(row_name for name in word for row_name in archive_row_names(name))
            for phrase in names.phrases
            for word in phrase
        ]

    def fields(self, filter: SearchFilter) -> Iterator[Any]:
        """Yield a query for each field of a filter that only messages have."""
        kind = self._index.tantivy.FieldType.Integer
        if filter.role is not None:
            yield self._index.term(archive_label("R", filter.role))
        if filter.since is not None or filter.until is not None:
            bounds = [filter.since, filter.until]
            low, high = [None if at is None else round(at * 1000) for at in bounds]
            # a bound that is not there must be said to be included
            yield self._query.range_query(
                self._index.schema, "d", kind, low, high, include_upper=high is None
            )

    def places(self, filter: SearchFilter, numbers: Mapping[str, int]) -> Iterator[Any]:
        """Yield a query for each field that neighbours have in common.

        Args:
            filter: What is asked for.
            numbers: Of all files in the archive, by path.
        """
        if filter.session is not None:
            session = self._index.term(archive_label("S", filter.session))
            own = self._in_files(filter.session_transcripts, numbers)
            either = [(self._occur.Should, part) for part in (session, own)]
            yield self._query.boolean_query(either)
        if filter.prefix is not None and "" not in filter.prefix:
            prefixes = filter.prefix
            below = [
                path
                for path in numbers
                if any(path == one or path.startswith(f"{one.rstrip('/')}/") for one in prefixes)
            ]
            yield self._in_files(below, numbers)
        if filter.source is not None:
            wanted = filter.source == "message"
            own_kind = [path for path in numbers if path.lower().endswith(".jsonl") == wanted]
            yield self._in_files(own_kind, numbers)

    def _in_files(self, paths: Sequence[str], numbers: Mapping[str, int]) -> Any:
        own = [numbers[path] for path in paths if path in numbers]
        return self._query.term_set_query(self._index.schema, "f", own)

    def _expanded(self, kind: str, typos: int, terms: list[str]) -> list[str]:
        """Return the names of rows that a pattern stands for, of the most frequent words."""
        if kind == "field":
            names = [own for name in terms for own in archive_row_names(name)]
            return [name for name in names if self._index.count_rows(name)]
        return self._words(self._index.version, kind, typos, tuple(terms))

    def _find_words(
        self, _version: int, kind: str, typos: int, terms: tuple[str, ...]
    ) -> list[str]:
        """Return the names of the most frequent words that a pattern stands for."""
        found: dict[str, dict[str, int]] = {}
        for term in terms:
            # a typo may be in the first letter: all words are compared
            beginning = term if kind == "prefix" else ""
            words: dict[str, dict[str, int]] = {}
            for letter in SPELLED:
                for name, count in self._index.words(letter + beginning):
                    words.setdefault(name[1:], {})[name] = count
            near = words if kind == "prefix" else _near(words, term, typos)
            found |= {word: words[word] for word in near}
        rarest_last = sorted(found, key=lambda word: (-sum(found[word].values()), word))
        return [name for word in rarest_last[:MAX_WORDS] for name in found[word]]


def languages_of(stats: CollectionStats) -> set[str]:
    """Return the codes of the languages that some documents are in."""
    counts = stats.doc_freqs
    return {code for code, names in LANGUAGES if any(counts.get(name) for name in names)}


def _widened(counts: Sequence[int], done: int, essential: int) -> int:
    """Return how many names are scored at once: more where to look them up takes longer.

    Args:
        counts: How many rows have each name, ascending.
        done: Names before that are not scored.
        essential: Names before that are scored in any case.
    """
    rows = sum(counts[done:essential])
    while essential < len(counts) and counts[essential] < LOOK_UP * rows:
        rows += counts[essential]
        essential += 1
    return essential


def _merged(
    best: list[tuple[float, Any]], others: list[tuple[float, Any]], most: int
) -> list[tuple[float, Any]]:
    """Return the best of some rows, and of others that score no more where they are the same."""
    least = best[-1][0] if len(best) >= most else 0.0
    known = {(at.segment_ord, at.doc) for _, at in best}
    new = [
        (score, at)
        for score, at in others
        if score > least and (at.segment_ord, at.doc) not in known
    ]
    return sorted([*best, *new], key=lambda one: -one[0])[:most] if new else best


def _patterns(
    names: QueryNames, fields: Mapping[str, int]
) -> Iterator[tuple[str, str, int, list[str]]]:
    """Yield the patterns of a query, without those for a field that no document has: as its path,
    which a message has not.
    """
    for pattern in names.patterns:
        name, kind, *_ = pattern
        if kind != "field" or fields.get(name.partition(":")[0]):
            yield pattern


def _field_names(pattern: str, terms: list[str]) -> list[str]:
    """Return the names that are counted for `field:word`: of most fields those of all text."""
    letter = {"heading": "h", "title": "h", "speaker": "p"}.get(pattern.partition(":")[0])
    return [letter + name for name in terms if name[0] in TEXT] if letter else terms


def _near(words: Iterable[str], term: str, typos: int) -> list[str]:
    """Return the words that are at most so many insertions, deletions or changes away from one.

    Of one more part than there are typos, a near word has at least one unchanged. Few others do,
    and to look for the parts is a tenth of the work of a distance.
    """
    ends = [len(term) * at // (typos + 1) for at in range(typos + 2)]
    parts = "|".join(re.escape(term[start:end]) for start, end in pairwise(ends))
    has_part = re.compile(parts).search
    lengths = range(len(term) - typos, len(term) + typos + 1)
    return [
        word
        for word in words
        if len(word) in lengths and has_part(word) and _is_near(word, term, typos)
    ]


def _is_near(word: str, term: str, typos: int) -> bool:
    """Say whether a word is at most so many insertions, deletions or changes away from another."""
    row = list(range(len(term) + 1))
    for at, letter in enumerate(word, 1):
        before, row = row, [at]
        for place, other in enumerate(term, 1):
            change = before[place - 1] + (letter != other)
            row.append(min(before[place] + 1, row[place - 1] + 1, change))
        if min(row) > typos:
            return False
    return row[-1] <= typos
