"""Candidates for injection: last sessions and notes at session start, hits for a prompt.

`commonplace.entries.injection` is imported where there is something to inject: most prompts are
answered without it, and sooner.
"""

from __future__ import annotations

import hashlib
import re
import time
from functools import cache
from itertools import chain, islice

from commonplace.doors.filler_prompts import is_filler
from commonplace.letter_ranges import UNSPACED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from commonplace._core import Hit, Hits, Session
    from commonplace.doors.hosts.host import HookEvent
    from commonplace.entries.injection import Piece
    from commonplace.store import Store

MIN_CONFIDENCE = 0.4
"""The least confidence of a hit that is injected; docs/explanation/confidence.md has its costs."""
MIN_WORDS = 4
"""The fewest words of a prompt that is searched: each of few is easily found by chance."""
MIN_EXCESS = 4.0
"""By how many levels what only vectors find must stand above the best that chance brings: they
tell far less than words whether a memory has an answer at all (docs/explanation/confidence.md)."""
MIN_DOCUMENTS = 64
"""Of fewer documents it is not known what chance brings."""
MOST_HITS = 3
RECENT_SESSIONS = 5
RECENT_NOTES = 10
# Notes whose name says that they hold for every session.
STANDING_NOTES = {"memory", "rules", "preferences", "user", "profile", "overview"}
LONGEST_PROMPT = 400
"""Characters of an old prompt that are shown with its answer."""
ANSWERED = "\nAnswered: "
"""Between an old prompt and its answer; the one without the other tells nothing."""
SHORTEST_ANSWER = 300
"""Characters of an answer that can stand alone: agents announce each step in a sentence or two."""
LONGEST_QUERY = 2000
"""Characters of a prompt that are searched: what follows is mostly pasted text."""
# Where a word of a prompt would be read as `-without` or `field:word`: `go test -race` asks for no
# text without a race
_OPERATOR = re.compile(r'(?<![^\s"。！？])(?=-[\w"]|[a-z]+:)')
# of a script without spaces each character counts as a word
_WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")


class Candidate:
    """A text that may be injected.

    Args:
        piece: The text, as far as there is room for it.
        score: That of the search, if there was one.
        note: The whole text, if it stands in a note. Its lines move and their text changes: it is
            known by what it says, and a turn by where it is.
    """

    def __init__(self, piece: Piece, score: float | None = None, note: str | None = None) -> None:
        self.piece, self.score = piece, score
        self.key = piece.citation
        if note is not None:
            path = piece.citation.partition("#")[0]
            self.key = f"{path} {hashlib.blake2s(note.encode(), digest_size=8).hexdigest()}"


def recalled_text(
    store: Store,
    prompt: str,
    budget: int,
    session: str | None = None,
    min_confidence: float = MIN_CONFIDENCE,
) -> str:
    """Return what fits a prompt as a frame of citations, empty for nothing.

    Args:
        store: Where it is looked for.
        prompt: What a person said.
        budget: Most characters of the frame.
        session: The session that has said it, by id or by the path of its transcript: what it holds
            is in its context.
        min_confidence: The least confidence of a hit.
    """
    from commonplace.entries.injection import pack

    found = fitting(store, prompt, session, min_confidence)
    pieces = [one.piece for one in found]
    return pack(pieces, budget, cut=True, cut_after=ANSWERED).text if pieces else ""


def fitting(
    store: Store, prompt: str, session: str | None, min_confidence: float = MIN_CONFIDENCE
) -> list[Candidate]:
    """Return the answered turns and notes that fit a prompt; of its own session none."""
    # behind a bracket it is plain text
    query = _OPERATOR.sub("(", prompt[:LONGEST_QUERY])
    if len(_WORD.findall(query)) < MIN_WORDS or is_filler(query, _WORD):
        return []
    own = [(session, 1, 2**63 - 1)] if session else None
    hits = store.search(query, 8, unit="turn", exclude=own)
    sure = confident(hits, min_confidence)
    answered = [hit for hit in sure if not hit.is_turn or hit.role == "assistant"]
    found = [_found(hit, _piece(store, hit), hit.score) for hit in answered[:MOST_HITS]]
    if len(found) < MOST_HITS and store.embedder is not None:
        found += _near(store, query, own, answered, MOST_HITS - len(found))
    return found


def _near(
    store: Store,
    query: str,
    own: list[tuple[str, int, int]] | None,
    known: list[Hit],
    most: int,
) -> list[Candidate]:
    """Return what vectors find, clearly nearer than by chance, and is in no known hit."""
    from commonplace.entries.injection import piece_of

    found = [
        one
        for one in store.search(query, 8, unit="message", meaning=True, exclude=own)
        if one.channels is not None
        and one.cosine is not None
        and one.channels.calibration.documents >= MIN_DOCUMENTS
        and one.channels.calibration.excess(one.cosine) >= MIN_EXCESS
        and not any(
            one.hit.path == hit.path and hit.first_line <= one.hit.first_line <= hit.end_line
            for hit in known
        )
    ]
    return [_found(one.hit, piece_of(one.hit, store), one.score) for one in found[:most]]


def _found(hit: Hit, piece: Piece, score: float) -> Candidate:
    return Candidate(piece, round(score, 3), piece.text if hit.source == "note" else None)


def confident(hits: Hits, least: float) -> list[Hit]:
    """Return the hits whose confidence is at least so much, in their order.

    `hits.confidence` is s / (s + r) for the best match. That of another hit is the same with s
    times the ratio of its score to the best score; r does not depend on the hit.
    """
    best = max((hit.score for hit in hits), default=0.0)
    lowest = best * least * (1 - hits.confidence)
    return [hit for hit in hits if hit.score * hits.confidence * (1 - least) >= lowest]


def _piece(store: Store, hit: Hit) -> Piece:
    from dataclasses import replace

    from commonplace.entries.injection import piece_of

    piece = piece_of(hit, store)
    if not hit.is_turn:
        return piece
    asked = " ".join((hit.prompt or "").split())
    short = asked if len(asked) <= LONGEST_PROMPT else f"{asked[:LONGEST_PROMPT]} […]"
    return replace(
        piece, text=f"Asked: {short}{ANSWERED}{_answer(store, hit, piece.text)}", title=hit.title
    )


def _answer(store: Store, hit: Hit, best: str) -> str:
    """Return what was said to a prompt: the message that fits best.

    If that is short and others follow in the turn, the last of them comes with it: the best one may
    say what is about to be done, and the last one says what came of it.
    """
    if len(best) >= SHORTEST_ANSWER:
        return best
    behind = store.transcript(hit.path).messages(hit.line + 1, hit.end_line - hit.line)
    said = [
        one.text.strip()
        for one in behind
        if one.line <= hit.end_line and one.role == "assistant" and one.text.strip()
    ]
    return f"{best}\n[…]\n{said[-1]}" if said else best


def standing(store: Store, event: HookEvent, budget: int) -> list[Candidate]:
    """Return what matters whatever is asked: last sessions, rules and preferences, other notes.

    Args:
        store: Where it is looked for.
        event: The start of a session.
        budget: Most characters of the frame of all of it. What does not fit is left out here, so
            that a session that goes on has chosen the same, and is not given what comes next.
    """
    from commonplace.entries.injection import Piece, pack, piece_of, unframe

    # first what is short: a long note leaves no room for what is behind it
    pieces = [_session_piece(session) for session in _last_sessions(store, event)]
    notes = [entry for entry in store.list() if entry.kind == "note"]
    chosen = [entry.path for entry in notes if _stem(entry.path) in STANDING_NOTES]
    # what no longer holds matters to a question about the past only
    held = [
        [piece_of(hit, store) for hit in store.documents(path) if not hit.ended] for path in chosen
    ]
    pieces += _shares(held, budget - pack(pieces, budget).size)
    others = [entry for entry in notes if entry.path not in chosen and entry.summary]
    others.sort(key=lambda entry: -entry.modified)
    summaries = [
        Piece(f"Note: {entry.summary}", entry.path, "agent") for entry in others[:RECENT_NOTES]
    ]
    whole = {piece.citation: piece.text for piece in chain(*held, summaries)}
    chosen_pieces = unframe(pack(pieces + summaries, budget, cut=True).text)
    return [Candidate(piece, note=whole.get(piece.citation)) for piece in chosen_pieces]


def _shares(notes: list[list[Piece]], budget: int) -> list[Piece]:
    """Return what fits of each note: of short ones all, and long ones share what these leave."""
    from commonplace.entries.injection import pack, unframe

    found: list[Piece] = []
    notes = sorted(notes, key=lambda pieces: sum(len(piece.text) for piece in pieces))
    for number, pieces in enumerate(notes):
        share = pack(pieces, budget // (len(notes) - number), heading="", cut=True)
        budget -= share.size
        # as they were cut
        found += unframe(share.text)
    return found


def _last_sessions(store: Store, event: HookEvent) -> list[Session]:
    """Return the last sessions of the project, without this one and without subagents."""
    from commonplace.doors.project_folder import project_folder

    project = cache(project_folder)
    found = (
        one
        for one in store.sessions()
        if one.title and not one.parent and one.id != event.session
        if one.cwd and project(one.cwd) == project(event.cwd)
    )
    return list(islice(found, RECENT_SESSIONS))


def _session_piece(session: Session) -> Piece:
    from commonplace.entries.injection import Piece

    day = time.strftime("%Y-%m-%d", time.gmtime(session.ended or session.modified))
    return Piece(f"Earlier session: {session.title}", session.path, "agent", time=day)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0].lower()
