"""Answer of the tool `forget`: first what would be erased, with a token, then that it was.

What was asked in a conversation (`requested`) is only shown: nothing is erased by guess.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NotRequired, cast

from commonplace._core import Forgotten, Passage
from commonplace.citation import cite, is_citation, located
from commonplace.errors import NotFound, QueryError, Refused
from commonplace.store import Store
from commonplace.typed_dict import TypedDict

# Characters of a passage, and passages, that are shown; a person is asked about them
SHOWN = 200
MOST = 20
# Passages that are named where nothing holds the text
SIMILAR = 3
NAMED = "its name holds the text, and so do those of its old versions; rename it if it must not"


class ForgottenPassage(TypedDict):
    """A passage that is erased."""

    citation: str
    text: str


class FoundPassages(TypedDict):
    """What is erased, or would be; `similar` where nothing holds the text."""

    passages: list[ForgottenPassage]
    old_versions: int
    more: NotRequired[int]
    left: NotRequired[list[str]]
    similar: NotRequired[list[str]]
    token: NotRequired[str]


class ForgetAnswer(FoundPassages):
    """What is erased, or would be."""

    success: bool
    erased: bool


class ForgetRequest(FoundPassages):
    """What was asked in a conversation, and what `forget(what, token)` would erase."""

    text: str
    what: str
    note: NotRequired[str]


def forget(
    store: Store,
    what: str,
    token: str,
    prefixes: Sequence[str],
    full: Callable[[str], str] = str,
    short: Callable[[str], str] = str,
) -> ForgetAnswer:
    r"""Show or erase what a memory holds of a text or at a citation, and no more.

    Args:
        store: Where it lies.
        what: A text, or a citation as the memory gives it.
        token: Of the answer that showed it; empty: show it.
        prefixes: The files and folders of the memory.
        full: Makes a path of the memory one of the store.
        short: Makes a path of the store one of the memory, which the answer names.

    Raises:
        Refused: The citation is of a file that is not the memory's.
        QueryError: The text is too short.
        NotFound, FormatError: There is nothing at the citation.
        Conflict: Something else would be erased by now.

    >>> import commonplace, tempfile
    >>> store = commonplace.open(tempfile.mkdtemp())
    >>> _ = store.write("a.md", "- The dog is called Rex.\n")
    >>> shown = forget(store, "rex", "", ["a.md"])
    >>> shown["erased"], shown["passages"][0]["citation"]
    (False, 'a.md#L1')
    >>> forget(store, "rex", shown["token"], ["a.md"])["erased"]
    True
    """
    found = forgotten(store, what, token, prefixes, full)
    answer: ForgetAnswer = {
        "success": True,
        "erased": found.erased,
        "passages": [_shown(passage, short) for passage in found.passages[:MOST]],
        "old_versions": found.revisions,
    }
    if len(found.passages) > MOST:
        answer["more"] = len(found.passages) - MOST
    named = [f"{short(path)}: {NAMED}" for path in files_named(store, what, prefixes)]
    if left := [*found.left, *named]:
        answer["left"] = left
    if found.passages or found.files or found.revisions:
        if not token:
            answer["token"] = found.token
        return answer
    if not is_citation(what.strip()):
        hits = store.search(what, SIMILAR, prefix=prefixes)
        answer["similar"] = [f"{short(hit.citation)}: {hit.snippet:.{SHOWN}}" for hit in hits]
    return answer


def forgotten(
    store: Store,
    what: str,
    token: str,
    prefixes: Sequence[str],
    full: Callable[[str], str] = str,
) -> Forgotten:
    """Show or erase as `forget` does, and return all passages as a whole."""
    meant = what.strip()
    if is_citation(meant):
        path, first, last = located(meant)
        path = store.spelled(full(path))
        if not any(_is_below(path, prefix) for prefix in prefixes):
            raise Refused(f"{meant!r:.200} is not of this memory; `forget` takes its own citations")
        if store.version(path) is None:
            raise NotFound(f"there is no {meant!r:.200}; without a token `forget` shows where")
        meant = cite(path, first, last)
    return store.forget(meant, dry_run=not token, token=token or None, prefix=prefixes)


def files_named(store: Store, what: str, prefixes: Sequence[str] = ("",)) -> list[str]:
    r"""Return the files whose paths hold a text, also in the spelling of a file name.

    Args:
        store: Where they are.
        what: A text; a citation is none.
        prefixes: Files and folders to look at; default: all.

    >>> import commonplace, tempfile
    >>> store = commonplace.open(tempfile.mkdtemp())
    >>> _ = store.write("facts/my-dog.md", "- Rex\n")
    >>> files_named(store, "My dog")
    ['facts/my-dog.md']
    """
    text = _letters(what)
    if not text or is_citation(what.strip()):
        return []
    paths = dict.fromkeys(entry.path for prefix in prefixes for entry in store.list(prefix))
    return [path for path in paths if text in _letters(path)]


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def requested(text: str, about: str, show: Callable[[str], ForgetAnswer]) -> ForgetRequest:
    """Return what a request to forget would erase; nothing is erased.

    Args:
        text: The sentence that asks for it.
        about: What it speaks of; empty: it does not say.
        show: The first call of the tool `forget`.
    """
    what = about.strip(" \t\n.!?。！？")
    request: ForgetRequest = {"text": text, "what": what, "passages": [], "old_versions": 0}
    if not what:
        return {**request, "note": "it does not say what: look it up, and forget its citation"}
    try:
        answer = show(what)
        # in the request it is no beginning of a sentence
        begun = what[:1].swapcase() + what[1:]
        if "token" not in answer and "token" in (other := show(begun)):
            request["what"], answer = begun, other
    except QueryError as error:
        return {**request, "note": str(error)}
    shown = {name: value for name, value in answer.items() if name not in {"success", "erased"}}
    return cast("ForgetRequest", {**request, **shown})


def _shown(passage: Passage, short: Callable[[str], str]) -> ForgottenPassage:
    cut = "…" if len(passage.text) > SHOWN else ""
    return {"citation": short(passage.citation), "text": passage.text[:SHOWN] + cut}


def _is_below(path: str, prefix: str) -> bool:
    prefix = prefix.rstrip("/")
    return not prefix or path == prefix or path.startswith(f"{prefix}/")
