"""Store of LangGraph: JSON values by namespace and key, one note each, found by their texts.

A note holds the texts of its value, which are what a search finds, and below the heading `value`
the value itself as one line of JSON, which is what counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from anyio.to_thread import run_sync
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    get_text_at_path,
    validate_op_namespace,
)

from commonplace.doors.encoded_names import decode, encode
from commonplace.errors import FormatError, NotFound, QueryError

if TYPE_CHECKING:
    from langgraph.store.base import MatchCondition

    from commonplace.store import Store

_VALUE = "\n# value\n\n```json\n"
_END = "\n```\n"
_Namespace = tuple[str, ...]


class CommonplaceStore(BaseStore):
    """A `BaseStore` in a folder: `builder.compile(store=CommonplaceStore(store))`.

    A search with a query ranks by words (BM25F), and by vectors where the store has an embedder;
    `store.covered` then says how much has vectors so far. One without a query returns the items in
    the order of their paths. Values are JSON. Nothing expires: `ttl` is refused.

    Args:
        store: That keeps the items.
        folder: Of the store.
        fields: Paths in a value whose texts are searched, such as `text` or `items[*].name`;
            default: every text in it.
    """

    supports_ttl = False

    def __init__(
        self, store: Store, folder: str = "langgraph", *, fields: Sequence[str] = ("$",)
    ) -> None:
        self._store = store
        self._folder = folder.strip("/")
        self._fields = [*fields]

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations: all that read see the state before all that write.

        Raises:
            InvalidNamespaceError: A label is empty or holds a dot.
            NotImplementedError: An item is to expire.
            TypeError: A value is no dict.
            ValueError: A value is not JSON, or an operation or a filter is unknown.
        """
        ops = list(ops)
        puts: dict[str, PutOp] = {}
        for op in ops:
            validate_op_namespace(op)
            if isinstance(op, PutOp):
                if op.ttl is not None:
                    raise NotImplementedError("an item does not expire here; put it without ttl")
                puts[self._path(op.namespace, op.key)] = op
        notes: dict[str, str] = {}
        redacted: dict[str, dict[str, int]] = {}
        for path, op in puts.items():
            if op.value is not None:
                value, redacted[path] = self._store.redact(op.value)
                notes[path] = _note(op._replace(value=value), self._fields)
        results = [self._result(op) for op in ops]
        for path in puts:
            self._put(path, notes.get(path))
            if counts := redacted.get(path):
                self._store.log_redactions(path, counts)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations in a thread, as `batch`."""
        return await run_sync(self.batch, ops)

    def _result(self, op: Op) -> Result:
        """Return what an operation reads."""
        if isinstance(op, GetOp):
            return self._item(self._path(op.namespace, op.key))
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        if isinstance(op, PutOp):
            return None
        raise ValueError(f"there is no operation {type(op).__name__}")

    def _put(self, path: str, note: str | None) -> None:
        """Write an item, or take it away."""
        if note is None:
            with suppress(NotFound):
                self._store.delete(path)
            return

        def changed(before: str) -> str:
            # an item is as old as its first value
            created = before.split("\n", 2)[1] if before.startswith("---\ncreated: ") else None
            now = datetime.now(UTC).isoformat()
            return f"---\n{created or f'created: {now}'}\nupdated: {now}\n---\n\n{note}"

        self._store.update(path, changed)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        folder = self._below(op.namespace_prefix)
        if op.limit <= 0:
            return []
        if not op.query:
            found = [
                _search_item(item, None)
                for path in self._paths(folder)
                if (item := self._item(path)) and _passes(item.value, op.filter)
            ]
            return found[op.offset : op.offset + op.limit]
        return self._ranked(op, folder)

    def _ranked(self, op: SearchOp, folder: str) -> list[SearchItem]:
        """Return the items whose texts match the query, best first."""
        offset = max(op.offset, 0)
        wanted = offset + op.limit
        asked = 2 * wanted + 16
        while True:
            try:
                if not self._store.holds(folder):
                    return []
                query = op.query or ""
                hits = self._store.search(query, asked, meaning=None, prefix=folder, source="note")
            except QueryError:
                # no word in it
                return []
            found: dict[str, SearchItem] = {}
            for hit in hits:
                if hit.path in found or hit.heading[-1:] == ("value",):
                    continue
                item = self._item(hit.path)
                if item and _passes(item.value, op.filter):
                    found[hit.path] = _search_item(item, hit.score)
            if len(found) >= wanted or len(hits) < asked:
                return [*found.values()][offset:wanted]
            asked *= 4

    def _namespaces(self, op: ListNamespacesOp) -> list[_Namespace]:
        found = {self._names(path)[0] for path in self._paths(self._folder)}
        conditions = op.match_conditions or ()
        matching = {one for one in found if all(_matches(each, one) for each in conditions)}
        if op.max_depth is not None:
            matching = {one[: op.max_depth] for one in matching}
        return sorted(matching)[op.offset : op.offset + op.limit]

    def _below(self, namespace: _Namespace) -> str:
        """Return the folder of a namespace."""
        return "/".join([self._folder, *map(encode, namespace)])

    def _path(self, namespace: _Namespace, key: str) -> str:
        return f"{self._below(namespace)}/{encode(key)}.md"

    def _paths(self, folder: str) -> list[str]:
        """Return the paths of the items in a folder."""
        return [one.path for one in self._store.list(folder) if one.path.endswith(".md")]

    def _names(self, path: str) -> tuple[_Namespace, str]:
        """Return namespace and key of an item."""
        *namespace, key = decode(path[len(self._folder) + 1 : -len(".md")])
        return tuple(namespace), key

    def _item(self, path: str) -> Item | None:
        """Return the item at a path.

        Raises:
            FormatError: Somebody has changed the note so that it holds no value.
        """
        try:
            text = self._store.read(path)
        except NotFound:
            return None
        # a text may hold what looks like it; the value is one line, and the last
        body = text[text.rfind(_VALUE) + len(_VALUE) :] if _VALUE in text else ""
        head = dict(line.partition(": ")[::2] for line in text.split("\n", 3)[1:3])
        namespace, key = self._names(path)
        try:
            return Item(
                value=_object(body.removesuffix(_END)),
                key=key,
                namespace=namespace,
                created_at=datetime.fromisoformat(head["created"]),
                updated_at=datetime.fromisoformat(head["updated"]),
            )
        except (ValueError, KeyError) as error:
            raise FormatError(f"{path} holds no item of LangGraph: {error}") from None


def _object(text: str) -> dict[str, Any]:
    """Return the object that a line of JSON holds."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("its value is no object")
    return value


def _note(op: PutOp, fields: list[str]) -> str:
    """Return an item as a note, without its times."""
    if not isinstance(op.value, dict):
        raise TypeError(f"the value of {op.key!r:.80} is a dict, not {type(op.value).__name__}")
    try:
        value = json.dumps(op.value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the value of {op.key!r:.80} is not JSON: {error}") from None
    if json.loads(value) != op.value:
        # such as a number as a key, or a tuple
        told = f"the value of {op.key!r:.80} is not JSON: it would come back as {value:.80}"
        raise ValueError(told)
    texts: list[str] = []
    for field in fields if op.index is None else op.index or ():
        texts += _texts(op.value) if field == "$" else get_text_at_path(op.value, field)
    # no line of a text is a heading or a fence of ours
    shown = ["> " + "\n> ".join(text.splitlines()) for text in texts if text.strip()]
    return "\n\n".join(shown) + f"\n{_VALUE}{value}{_END}"


def _texts(value: Any) -> list[str]:
    """Return every text in a value."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        value = [*value.values()]
    if isinstance(value, list | tuple):
        return [text for part in value for text in _texts(part)]
    return []


def _search_item(item: Item, score: float | None) -> SearchItem:
    return SearchItem(
        namespace=item.namespace,
        key=item.key,
        value=item.value,
        created_at=item.created_at,
        updated_at=item.updated_at,
        score=score,
    )


def _matches(condition: MatchCondition, namespace: _Namespace) -> bool:
    """Say whether a namespace begins or ends with the labels of a condition; `*` is any."""
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    kinds: dict[str, _Namespace] = {
        "prefix": namespace[: len(path)],
        "suffix": namespace[len(namespace) - len(path) :],
    }
    if condition.match_type not in kinds:
        raise ValueError(f"there is no match type {condition.match_type!r}")
    part = kinds[condition.match_type]
    return all(wanted in {"*", label} for wanted, label in zip(path, part, strict=True))


def _passes(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    return all(_equals(value.get(name), one) for name, one in (wanted or {}).items())


def _equals(value: Any, wanted: Any) -> bool:
    """Compare a value with a part of a filter: an operator, an object, a list, or a value."""
    if isinstance(wanted, Mapping):
        if any(name.startswith("$") for name in wanted):
            return all(_compares(value, name, other) for name, other in wanted.items())
        return isinstance(value, Mapping) and _passes(value, wanted)
    if isinstance(wanted, list | tuple):
        return (
            isinstance(value, list)
            and len(value) == len(wanted)
            and all(_equals(one, other) for one, other in zip(value, wanted, strict=True))
        )
    return bool(value == wanted)


def _compares(value: Any, operator: str, other: Any) -> bool:
    if operator in {"$eq", "$ne"}:
        return bool(value == other) is (operator == "$eq")
    if operator not in {"$gt", "$gte", "$lt", "$lte"}:
        raise ValueError(f"there is no operator {operator!r} in a filter")
    try:
        left, right = float(value), float(other)
    except (TypeError, ValueError):
        # what is no number is not greater or smaller than one
        return False
    order: Literal[-1, 0, 1] = (left > right) - (left < right)  # type: ignore[assignment]
    return order in {"$gt": {1}, "$gte": {0, 1}, "$lt": {-1}, "$lte": {-1, 0}}[operator]
