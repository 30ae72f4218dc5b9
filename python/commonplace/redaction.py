"""Redaction of secrets in what callers, models and frameworks give to a memory.

A secret (a key, a token, a password) becomes `[redacted: GitHub token]`, by the tables of the
import. It is done where a text comes in, before anything is compared, indexed or written. What
stands in a file already is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar, cast

from commonplace import _core
from commonplace.errors import EncodingError, Refused

if TYPE_CHECKING:
    from commonplace.files import Files

Counts = dict[str, int]
"""How many secrets of each kind."""
Value = TypeVar("Value")
Method = TypeVar("Method", bound=Callable[..., Any])

NOTE = "not stored, as secrets are kept out of the memory: {}"


def redact(value: Value, *, name: str | None = None, known: str = "") -> tuple[Value, Counts]:
    """Return a value with each secret in its texts replaced, and how many of each kind.

    Args:
        value: Text, or what holds texts: mappings, lists, tuples, dataclasses. Anything else, and
            what holds no secret, comes back as it is.
        name: What the whole value is called, if it is the value of a name.
        known: A text whose secrets stay.

    >>> redact({"note": "the password is q7Rt2Lm9x", "tries": 3})
    ({'note': 'the password is [redacted: password]', 'tries': 3}, {'password': 1})
    >>> redact([{"key": "db_password", "value": "q7Rt2Lm9x"}])[0]
    [{'key': 'db_password', 'value': '[redacted: password]'}]
    """
    walk = _Walk(known)
    return cast("Value", walk.redacted(value, name)), walk.counts


class _Walk:
    """Goes through a value and counts the secrets in it."""

    def __init__(self, known: str) -> None:
        self.counts: Counts = {}
        self._known = known

    def redacted(self, value: Any, name: str | None = None) -> Any:
        if isinstance(value, str):
            return self._text(value, name)
        before = sum(self.counts.values())
        changed = value
        if isinstance(value, Mapping):
            changed = self._mapping(value)
        elif isinstance(value, list):
            changed = [self.redacted(item) for item in value]
        elif isinstance(value, tuple):
            items = [self.redacted(item) for item in value]
            changed = type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        elif is_dataclass(value) and not isinstance(value, type):
            own = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
            changed = replace(value, **self._mapping(own))
        return changed if sum(self.counts.values()) > before else value

    def _mapping(self, value: Mapping[Any, Any]) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, item in value.items():
            own = self.redacted(key) if isinstance(key, str) else key
            while own in found:
                # two secrets of one kind
                own += "'"
            found[own] = self.redacted(item, _name_of(value, key))
        return found

    def _text(self, text: str, name: str | None) -> str:
        try:
            found = _core.redact(text, name, self._known)
        except EncodingError:
            # it can be written nowhere, and whoever tries says so
            return text
        if found is None:
            return text
        for kind, count in found[1].items():
            self.counts[kind] = self.counts.get(kind, 0) + count
        return found[0]


def _name_of(mapping: Mapping[Any, Any], key: Any) -> str | None:
    """Return what the value of a key is called: by the key, or by a `key` or `name` beside it."""
    name = mapping.get("key", mapping.get("name")) if key == "value" else key
    return name if isinstance(name, str) and name.isprintable() else None


def redacts(
    *parameters: str, named_by: str | None = None, file_name: str | None = None
) -> Callable[[Method], Method]:
    """Redact what a method of a memory is given, and say so in its receipt.

    The object has a `store`, whose `keep_secrets` turns it off.

    Args:
        parameters: Those whose values are written.
        named_by: A parameter that says what the values are called, such as a topic.
        file_name: A parameter that names a file; a secret in it is refused, as a name that has
            been redacted would name another file.
    """

    def decorate(method: Method) -> Method:
        parts = signature(method)

        @wraps(method)
        def redacting(self: Any, *args: Any, **options: Any) -> Any:
            store: Files = self.store
            if store.keep_secrets:
                return method(self, *args, **options)
            try:
                given = parts.bind(self, *args, **options)
            except TypeError:
                # the method says better what is wrong
                return method(self, *args, **options)
            if file_name:
                _check_name(file_name, given.arguments[file_name])
            name = given.arguments.get(named_by) if named_by else None
            counts: Counts = {}
            for parameter in parameters:
                if parameter in given.arguments:
                    called = name if isinstance(name, str) and parameter != named_by else None
                    found = redact(given.arguments[parameter], name=called)
                    given.arguments[parameter] = found[0]
                    add_counts(counts, found[1])
            return with_redactions(store, method(*given.args, **given.kwargs), counts)

        return cast("Method", redacting)

    return decorate


def _check_name(parameter: str, name: object) -> None:
    """Refuse the name of a file that holds a secret."""
    _, counts = redact(name)
    if counts:
        raise Refused(f"{parameter} holds a secret ({listed(counts)}): give the file another name")


def with_redactions(store: Files, receipt: dict[str, Any], counts: Counts) -> dict[str, Any]:
    """Return a receipt that says what was redacted, and log it for `status`."""
    if not counts:
        return receipt
    if receipt.get("path") and receipt.get("added", True):
        store.log_redactions(receipt["path"], counts)
    notes = [*receipt.get("notes", ()), NOTE.format(listed(counts))]
    return {**receipt, "redacted": counts, "notes": notes}


def add_counts(total: Counts, more: Counts) -> None:
    """Add counts to others."""
    for kind, count in more.items():
        total[kind] = total.get(kind, 0) + count


def listed(counts: Counts) -> str:
    """Return counts as text.

    >>> listed({"password": 2, "JWT": 1})
    '1 × JWT, 2 × password'
    """
    return ", ".join(f"{count} × {kind}" for kind, count in sorted(counts.items()))
