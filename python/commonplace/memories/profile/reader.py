"""Reader of a profile: hybrid search of its entries, listing by category, or the whole text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date

from commonplace._core import Hit
from commonplace.citation import cite
from commonplace.conflict.features import attributes
from commonplace.memories.profile.categories import key_of
from commonplace.memories.profile.entries import Entry, is_by_item, parse
from commonplace.memories.profile.marks import OWNER, Mark
from commonplace.memories.profile.page_index import indexed
from commonplace.memories.profile.pages import Pages
from commonplace.recall import HybridHits, HybridSearch
from commonplace.tools.text_page import page_of

# Most characters that are shown at once
PAGE = 16_000
# Asks for what is no longer true
_PAST = re.compile(
    r"\b(?:before|previous(?:ly)?|former(?:ly)?|used? to|in the past|earlier|back then"
    r"|no longer|any ?more)\b|以前|之前|曾经?|原来|过去|从前|早先",
    re.IGNORECASE,
)
# Asks for what was so in a year
_YEAR = re.compile(
    r"\b(?:in|during) (?P<year>[12]\d{3})\b|(?P<year2>[12]\d{3})年(?!以?之?前)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class ProfileEntry:
    """An entry, and how well it answers when it was found by a query.

    `lexical` is its share of the best BM25F score and `cosine` its nearness; None where the words,
    or the vectors, do not find it. `since`, `until` and `by` are those of its mark (`marks.py`).
    """

    text: str
    category: str
    citation: str
    since: date | None = None
    until: date | None = None
    by: str = OWNER
    score: float = 0.0
    lexical: float | None = None
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class ProfileHits:
    """What a recall found, best first, and what is to be known about it."""

    found: tuple[ProfileEntry, ...]
    notes: tuple[str, ...]


class Reader:
    """Reads the pages of one profile.

    Args:
        pages: The files.
        recall: Searches them.
        half_life: Days after which the score of an entry counts half, None: never.
        today: Gives the day.
    """

    def __init__(
        self, pages: Pages, recall: HybridSearch, half_life: float | None, today: Callable[[], date]
    ) -> None:
        self._pages = pages
        self._recall = recall
        self._half_life = half_life
        self._today = today

    def recall(self, query: str, limit: int = 10, at: date | None = None) -> ProfileHits:
        """Return up to `limit` entries that answer `query`, best first.

        What is no longer true is found only where the query asks for it ("where did I live
        before", 以前住在哪里), or where it was true on the day `at`, or in the year for which the
        query asks ("where did I live in 2021").

        The score is that of `commonplace.recall`: of entries that say nearly the same (Jaccard
        above 0.7) the better stays, and what only the vectors find must stand out.

        Raises:
            QueryError: The query is empty or not text.
        """
        asked = limit if self._half_life is None else 5 * limit
        today = self._today()
        year = _year_of(query, today) if at is None else None
        past = at is None and year is None and _PAST.search(query) is not None

        def is_true(mark: Mark) -> bool:
            if year is not None:
                return mark.holds_in(year)
            return mark.holds(at) if at else past or not mark.is_past(today)

        answer = self._search(query, asked, is_true)
        by_place = {(one.hit.path, one.hit.start): one for one in answer}
        found: dict[str, ProfileEntry] = {}
        # pages are read for those that are needed: more only where several hits are one entry
        for some in answer[:asked], answer[asked:]:
            for hit, entry in self._pages.located(one.hit for one in some):
                if not is_true(entry.mark):
                    continue
                one = by_place[hit.path, hit.start]
                kept = replace(
                    profile_entry(hit.path, entry),
                    score=one.score * self._freshness(entry),
                    lexical=one.lexical,
                    cosine=one.cosine,
                )
                found.setdefault(kept.citation, kept)
            if len(found) >= asked:
                break
        if past:
            found = {**self._past_of_same_attribute(query, found.values(), today), **found}
        else:
            # of a year all values are asked for, not only those that words find
            known = [] if year else found.values()
            found = {**self._same_attribute(query, known, is_true), **found}
        best = sorted(found.values(), key=lambda one: -one.score)[:limit]
        notes = list(answer.notes)
        if (main := self._pages.text(self._pages.main)).strip() and not is_by_item(main):
            notes.append(
                f"{self._pages.main} is searched by whole sections until the first remember(): "
                "its front matter does not say `unit: item`"
            )
        return ProfileHits(tuple(best), tuple(notes))

    def _past_of_same_attribute(
        self, query: str, found: Iterable[ProfileEntry], today: date
    ) -> dict[str, ProfileEntry]:
        """Return what was true of an attribute that a question names in any language, newest first.

        我以前住哪 finds "User lives in Berlin", with which it has no word in common. Of an
        attribute of one value all that it was is asked for; of others where words find nothing.
        """
        asked = attributes(query)
        is_none_found = not any(one.until and one.until < today for one in found)

        def is_asked(text: str) -> bool:
            about = attributes(text)
            same = bool(asked.one) and asked.one <= about.one
            return same or (is_none_found and not asked.names.isdisjoint(about.names))

        past = [
            profile_entry(path, entry)
            for path, entry in self._pages.all()
            if entry.mark.is_past(today) and is_asked(entry.text)
        ]
        past.sort(key=lambda one: one.until or today, reverse=True)
        return {one.citation: one for one in past}

    def _same_attribute(
        self, query: str, found: Iterable[ProfileEntry], is_true: Callable[[Mark], bool]
    ) -> dict[str, ProfileEntry]:
        """Return what is true of an attribute of one value of which nothing was found by words.

        "Where do I live" finds "we moved to Lisbon", with which it has no word in common.
        """
        asked = attributes(query).one
        if not asked or any(asked <= attributes(one.text).one for one in found):
            return {}
        entries = (
            profile_entry(path, entry)
            for path in self._pages.paths()
            for entry in indexed(self._pages.text(path)).candidates([query])
            if is_true(entry.mark) and asked <= attributes(entry.text).one
        )
        return {one.citation: one for one in entries}

    def _search(self, query: str, asked: int, is_true: Callable[[Mark], bool]) -> HybridHits:
        """Return hits of entries that are true, more than are asked for where there are."""
        left_out: set[tuple[str, int]] = set()

        def keep(hit: Hit) -> bool:
            marks = [entry.mark for entry in parse(hit.text)] if "<!--" in hit.text else []
            kept = not marks or any(map(is_true, marks))
            if not kept:
                left_out.add((hit.path, hit.start))
            return kept

        more, before = 10, 0
        while True:
            answer = self._recall.search(
                query, asked + more, prefix=self._pages.prefixes, source="note", keep=keep
            )
            # of the best that a search looks at, many may be past
            if len(answer) >= asked or len(left_out) == before:
                return answer
            more, before = 8 * more, len(left_out)

    def categories(self) -> dict[str, int]:
        """Return how many true entries each category has, in the order of MEMORY.md.

        Categories that only pages have come last.
        """
        counts: dict[str, tuple[str, int]] = {}
        for _, entry in self._true(None):
            key = entry.key[0]
            title, count = counts.get(key, (entry.category, 0))
            counts[key] = title, count + 1
        return dict(counts.values())

    def entries(
        self,
        category: str | None = None,
        *,
        limit: int = 100,
        start: int = 0,
        at: date | None = None,
        past: bool = False,
    ) -> list[ProfileEntry]:
        """Return entries that are true, oldest first in each file, MEMORY.md before its pages.

        Args:
            category: Only of this category; None: all.
            limit: Most entries to return.
            start: How many to skip.
            at: Those that were true on this day; default: today.
            past: Also those that are no longer true; a day has no part in it.
        """
        key = None if category is None else key_of(category)
        found = (
            profile_entry(path, entry)
            for path, entry in (self._pages.all() if past else self._true(at))
            if key is None or entry.key[0] == key
        )
        return list(found)[start : start + limit]

    def full(self, start: int = 0) -> str:
        """Return MEMORY.md and its pages, from a character on."""
        texts = ((f"\n\n[{path}]\n\n", self._pages.text(path)) for path in self._pages.paths())
        page, following = page_of(texts, start, PAGE)
        if not page:
            return "Nothing is remembered yet; the first entry begins MEMORY.md."
        if following is None:
            return page
        return f"{page}\n[There is more: the same call with start={following} goes on here.]"

    def _true(self, at: date | None) -> Iterator[tuple[str, Entry]]:
        """Yield the entries that are true on a day, with their paths; default: that are not past.

        What another time zone has said "tomorrow" is true already.
        """
        today = self._today()
        return (
            (path, entry)
            for path, entry in self._pages.all()
            if (entry.mark.holds(at) if at else not entry.mark.is_past(today))
        )

    def _freshness(self, entry: Entry) -> float:
        """Return what is left of a score after the age of an entry."""
        day = entry.mark.seen or entry.since
        if self._half_life is None or day is None:
            return 1.0
        days = max(0, (self._today() - day).days)
        return float(0.5 ** (days / self._half_life))


def _year_of(query: str, today: date) -> int | None:
    """Return the past year in which a question asks for the value of an attribute; None for none.

    What only has to do with a year ("what did I do in 2021") may have been told at any time.
    """
    found = _YEAR.search(query)
    year = int(found["year"] or found["year2"]) if found else today.year
    return year if year < today.year and attributes(query).one else None


def profile_entry(path: str, entry: Entry) -> ProfileEntry:
    """Return an entry with the citation that it has in its file."""
    citation = cite(path, entry.line)
    return ProfileEntry(entry.text, entry.category, citation, entry.since, entry.until, entry.by)


def entry_text(hit: Hit) -> str:
    """Return what an embedder is given of an entry: its text alone.

    With its headings before it, its cosine with what paraphrases it is lower: of 24 questions to
    MiniLM ten had their entry above the floor of 0.35, and seventeen without.
    """
    return "\n".join(entry.text for entry in parse(hit.text)) or hit.text
