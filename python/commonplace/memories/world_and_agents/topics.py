"""Topics as file names: any text, and no two topics in one file.

A name is made of lower-case letters and digits (of any script) with dashes between them, as the
world/agents design has it. `API keys`, `api-keys` and `api_keys` are spellings of one topic, but
`a/b` is not `a b`, and its name would be the same. So each topic has a second name as well, with a
hash at its end, and a note whose name is not its topic says in a comment at its top what the topic
is:

    <!--
    META:
    - topic: "a/b"
    -->
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import NamedTuple

from commonplace._core import Written
from commonplace.entries.blocks import comment, read_comment
from commonplace.errors import Conflict, EncodingError, Refused
from commonplace.store import Store

# Letters and digits, but for the two that show as nothing.
_RUN = re.compile("[^\\W_\u115f\u1160]+")
# What stands between the words of a topic, beside spaces
_JOINER = re.compile("[-_]")
_LONGEST = 200
# A component of a path has at most 200 bytes; the suffix and the ending must fit.
_LONGEST_NAME = 150
_TRIES = 16


class TopicWrite(NamedTuple):
    """A note that was written: `note` says so when another topic has its plain name."""

    topic: str
    written: Written
    note: str | None


def write(
    store: Store, folder: str, topic: str, content: str, expected_version: str | None = None
) -> TopicWrite:
    r"""Replace the note about a topic, or begin it.

    Args:
        store: Where the notes are.
        folder: The folder that holds them.
        topic: Any text on which people agree, at most 200 characters.
        content: The whole new text.
        expected_version: Only if the note is this version (`absent`: not there yet).

    Raises:
        Conflict: The note is not the expected version, or both names hold other topics.
        Refused: The topic is empty or too long.

    >>> import commonplace, tempfile
    >>> store = commonplace.open(tempfile.mkdtemp())
    >>> write(store, "world", "a b", "one").written.path
    'world/a-b.md'
    >>> write(store, "world", "a/b", "two").note
    'world/a-b.md holds another topic'
    """
    topic = checked(topic)
    plain = True
    for left in reversed(range(_TRIES)):
        path, seen, note = _place(store, folder, topic, plain=plain)
        text = marked(name_of(folder, path), topic, content)
        try:
            return TopicWrite(
                topic, store.write(path, text, expected_version=expected_version or seen), note
            )
        except Conflict:
            # somebody changed it, or took the name, since it was looked at
            if expected_version is not None or not left:
                raise
        except Refused:
            # a name that no file may have, such as con.md or agents.md: then the one with a hash
            if not plain or seen != "absent":
                raise
            plain = False
    raise AssertionError("the last try returns or raises")


def _place(store: Store, folder: str, topic: str, *, plain: bool) -> tuple[str, str, str | None]:
    """Return where a topic is or belongs, the version seen there, and what is odd about it.

    Its plain name, when that is free and may be used (`plain`), else the one with a hash. What
    it has, it keeps, also under a name that a person gave it.
    """
    name, hashed = names(topic)

    def version_here(path: str) -> str | None:
        version = store.version(path)
        if version is None:
            return None
        held, _ = unmarked(name_of(folder, path), store.read(path))
        return version if key(held) == key(topic) else None

    for known in filter(None, (hashed, name)):
        if version := version_here(path := f"{folder}/{known}.md"):
            return path, version, None
    # a new topic, or one whose note a person has named
    there = {key(name_of(folder, entry.path)): entry.path for entry in store.list(folder)}
    if (path := there.get(key(topic), "")) and (version := version_here(path)):
        return path, version, None
    if held := there.get(key(hashed)):
        raise Conflict(
            f"{held} has the name that is for the topic {topic!r:.80}, and holds another "
            "topic: move that file, or choose another topic"
        )
    taken = there.get(key(name)) if name else None
    if name and plain and not taken:
        return f"{folder}/{name}.md", "absent", None
    note = f"{taken} holds another topic" if taken else None
    return f"{folder}/{hashed}.md", "absent", note


def name_of(folder: str, path: str) -> str:
    """Return the name of a note in a folder of topics."""
    return path.removeprefix(f"{folder}/").removesuffix(".md")


def checked(topic: str) -> str:
    """Return a topic on one line, with single spaces.

    Raises:
        Refused: It is empty, or longer than 200 characters.
        EncodingError: It is not UTF-8.
    """
    line = " ".join(topic.split())
    try:
        line.encode()
    except UnicodeEncodeError:
        raise EncodingError(f"the topic {line!r:.60} is not UTF-8") from None
    if not 0 < len(line) <= _LONGEST:
        raise Refused(f"{line!r:.60} is no topic: name it in 1 to {_LONGEST} characters")
    return line


def key(topic: str) -> str:
    """Return what all spellings of a topic share: case, width, and what joins words differ.

    >>> key("API  Keys") == key("api-keys") == key("api_keys") != key("api/keys")
    True
    """
    return " ".join(_JOINER.sub(" ", unicodedata.normalize("NFKC", topic).casefold()).split())


def names(topic: str) -> tuple[str, str]:
    """Return the two names of a topic: the plain one and the one with a hash.

    The plain one is empty when it would lack a letter or be too long.

    >>> names("API/keys!")
    ('api-keys', 'api-keys-ff1e7543')
    >>> names("人物")[0], names("!?")
    ('人物', ('', 'topic-8faf838e'))
    """
    same = key(topic)
    slug = "-".join(_RUN.findall(same))
    short = slug.encode()[:_LONGEST_NAME].decode(errors="ignore")
    letters = sum(unicodedata.category(char)[0] in "LMN" for char in same)
    whole = slug == short and len(slug.replace("-", "")) == letters
    digest = hashlib.sha256(same.encode()).hexdigest()[:8]
    return (slug if whole else ""), f"{short or 'topic'}-{digest}"


def marked(name: str, topic: str, content: str) -> str:
    r"""Return the text of a note with that name, which says its topic if the name does not.

    >>> marked("people", "people", "- Mara\n")
    '- Mara\n'
    """
    if topic == name and unmarked(name, content) == (name, content):
        return content
    return f"{comment({'topic': topic})}\n{content}"


def unmarked(name: str, text: str) -> tuple[str, str]:
    r"""Return the topic of a note with that name, and its content.

    >>> unmarked("a-b", marked("a-b", "a/b", "one\n"))
    ('a/b', 'one\n')
    """
    meta, rest = read_comment(text)
    if meta.keys() == {"topic"} and isinstance(meta["topic"], str):
        return meta["topic"], rest.removeprefix("\r\n" if rest.startswith("\r") else "\n")
    return name, text
