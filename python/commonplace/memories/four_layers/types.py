"""Data classes of the four layers: entries, rules, compaction options, statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from msgspec import Meta

from commonplace.errors import InvalidArgument
from commonplace.tools.schema import snake_case

MemoryType = Literal["working", "episodic", "semantic", "procedural"]
Layer = Literal["episodic", "semantic", "procedural"]
Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEntry:
    """Something that happened, or an entry of another layer in this form.

    `timestamp` is in milliseconds since 1970. When an entry is appended, an empty `id` becomes a
    UUID and a `timestamp` of 0 the time of the call, as in the design. `version` is what a read
    answers: the `expected_version` of the next write to the layer, of a fact that of its note. It
    makes no two entries different, and is not kept.
    """

    id: Annotated[str, Meta(description="Its id; default: a UUID.")] = ""
    timestamp: Annotated[float, Meta(description="Milliseconds since 1970; default: now.")] = 0
    content: str
    metadata: Annotated[
        dict[str, Any] | None,
        Meta(description="Anything else; `key` of a fact and `condition` of a rule."),
    ] = None
    version: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class KnowledgeEntry:
    """Something known, under a key; `timestamp` in milliseconds since 1970.

    `version` is what a read answers, as that of a `MemoryEntry`.
    """

    key: str
    value: str
    timestamp: Annotated[
        float | None, Meta(description="Milliseconds since 1970; default: now.")
    ] = None
    version: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ProceduralRule:
    """What to do when; an empty condition always holds."""

    condition: str
    action: str
    timestamp: float | None = None


@dataclass(frozen=True, slots=True)
class CompactOptions:
    """How many of the newest entries stay, and whether a summary takes the place of the others."""

    keep_last: Annotated[int, Meta(description="How many entries stay.")] = 10
    summarize_older: Annotated[
        bool, Meta(description="A summary takes the place of the others.")
    ] = True


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """The four layers in numbers.

    A token is four characters of content; the bytes are those of the layers as JSON. `versions` are
    those of the newest notes of the episodic and the procedural layer, `absent` for none.
    """

    working_memory_tokens: int
    episodic_entry_count: int
    semantic_entry_count: int
    procedural_rule_count: int
    total_storage_bytes: int
    versions: dict[str, str] = field(default_factory=dict, compare=False)


# What a caller may hand in. A tool's JSON schema is made of the class alone.
if TYPE_CHECKING:
    EntryLike = MemoryEntry | Mapping[str, Any]
    KnowledgeLike = KnowledgeEntry | Mapping[str, Any]
    OptionsLike = CompactOptions | Mapping[str, Any]
else:
    EntryLike, KnowledgeLike, OptionsLike = MemoryEntry, KnowledgeEntry, CompactOptions


def as_dataclass(kind: type[Kind], value: Kind | Mapping[str, Any]) -> Kind:
    """Return what a caller gave as the dataclass `kind`; a dict is read as tools and JSON give it.

    Raises:
        InvalidArgument: A key that there is not, or a needed one that is missing.

    >>> as_dataclass(CompactOptions, {"keepLast": 3})
    CompactOptions(keep_last=3, summarize_older=True)
    """
    if isinstance(value, kind):
        return value
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    # the version is of an answer that is given back
    known = f"{kind.__name__} has {', '.join(name for name in names if name != 'version')}"
    if not isinstance(value, Mapping):
        raise InvalidArgument(f"{known}; {value!r:.60} is neither one nor a dict of these")
    named = {snake_case(str(key)): item for key, item in value.items() if item is not None}
    if strangers := [key for key in named if key not in names]:
        raise InvalidArgument(f"{known}, and no {strangers[0]!r:.60}")
    needed = [field.name for field in fields(kind) if _is_needed(field)]  # type: ignore[arg-type]
    if missing := [name for name in needed if name not in named]:
        raise InvalidArgument(f"{known}; {missing[0]} is missing")
    return kind(**named)


def _is_needed(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING
