"""Checks of arguments by the annotations of their function, and of the ranges of numbers.

Methods that models and people call with whatever they have say by name which argument is wrong,
before anything is done.
"""

from __future__ import annotations

import inspect
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from datetime import date, datetime
from functools import wraps
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from commonplace.errors import InvalidArgument, QueryError

Function = TypeVar("Function", bound=Callable[..., Any])

_PLAIN: dict[object, tuple[str, tuple[type, ...]]] = {
    str: ("text", (str,)),
    int: ("a whole number", (int,)),
    float: ("a number", (int, float)),
    bool: ("true or false", (bool,)),
}
_GENERIC: dict[object, str] = {Callable: "a function", Mapping: "a dict"}


def checks_arguments(function: Function) -> Function:
    """Check the arguments of a function, by their annotations, whenever it is called.

    Checked are text, numbers, flags, lists of text or of `TypedDict`s, dicts, functions, and what
    may be None besides; in the place of an object of this package a plain value is refused. Any
    other type is for the function itself to check.

    Raises:
        InvalidArgument: When the function is called with an argument of another type.

    >>> @checks_arguments
    ... def greet(name: str, times: int = 1) -> str:
    ...     return f"Hello {name}! " * times
    >>> greet("Bob", times="2")
    Traceback (most recent call last):
    ...
    commonplace.errors.InvalidArgument: times is a whole number, not '2'
    """
    names = list(inspect.signature(function).parameters)
    types: dict[str, Any] = {}

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if not types:
            # late, for a class may name itself in its own annotations
            types.update(get_type_hints(function))
        for name, value in (*zip(names, args, strict=False), *kwargs.items()):
            if name in types and (wanted := _wanted(value, types[name])):
                raise InvalidArgument(f"{name} is {wanted}, not {value!r:.60}")
        return function(*args, **kwargs)

    return cast("Function", checked)


def check_fields(value: object) -> None:
    """Check the fields of a dataclass by their annotations, as `checks_arguments` does.

    Raises:
        InvalidArgument: One is of another type.
    """
    for name, kind in get_type_hints(type(value)).items():
        if wanted := _wanted(getattr(value, name), kind):
            raise InvalidArgument(f"{name} is {wanted}, not {getattr(value, name)!r:.60}")


def at_least(least: int, **numbers: int) -> None:
    """Check that numbers are not below a limit.

    Raises:
        InvalidArgument: One of them is; it is named.

    >>> at_least(1, limit=0)
    Traceback (most recent call last):
    ...
    commonplace.errors.InvalidArgument: limit is 1 or more, not 0
    """
    for name, number in numbers.items():
        if number < least:
            raise InvalidArgument(f"{name} is {least} or more, not {number}")


def is_blank(text: str) -> bool:
    r"""Return whether nothing of a text is seen: white space, and marks such as U+200B.

    >>> is_blank(" \n\u200b"), is_blank("x")
    (True, False)
    """
    return all(char.isspace() or unicodedata.category(char) == "Cf" for char in text)


def has_text(**texts: str) -> None:
    """Check that texts are not empty.

    Raises:
        InvalidArgument: Nothing of one of them is seen; it is named.

    >>> has_text(content=" ")
    Traceback (most recent call last):
    ...
    commonplace.errors.InvalidArgument: content is empty: give the text that is to be kept
    """
    for name, text in texts.items():
        if is_blank(text):
            raise InvalidArgument(f"{name} is empty: give the text that is to be kept")


def given_day(value: date | str | None, name: str) -> date | None:
    """Return a day that was given as such, as a moment or as text.

    Raises:
        QueryError: It is no day; the argument is named.

    >>> given_day("2026-02-24", "since")
    datetime.date(2026, 2, 24)
    """
    if isinstance(value, datetime):
        return value.date()
    if value is None or isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise QueryError(f"{name} is a day such as 2026-02-24, not {value!r:.40}") from None


def _wanted(value: object, kind: Any) -> str | None:
    """Return what a value should be, None where it is that, or where only its function knows."""
    kind = _without_none(value, kind)
    return None if _fits(value, kind) else _name(kind)


def _without_none(value: object, kind: Any) -> Any:
    """Return the one other type of an option that is not None; None where that is not asked."""
    if get_origin(kind) not in {Union, UnionType}:
        return kind
    others = [part for part in get_args(kind) if part is not NoneType]
    return others[0] if len(others) == 1 and value is not None else None


def _fits(value: Any, kind: Any) -> bool:
    origin, parts = get_origin(kind), get_args(kind)
    if kind in _PLAIN:
        # True is an int of Python, and 1 no flag
        return isinstance(value, _PLAIN[kind][1]) and (isinstance(value, bool) == (kind is bool))
    if origin is Literal or origin in _GENERIC:
        # which values there are is for the function to say
        return isinstance(value, type(parts[0]) if origin is Literal else origin)
    if _is_typed_dict(kind):
        fields = get_type_hints(kind)
        return isinstance(value, Mapping) and all(
            name in value and not _wanted(value[name], fields[name])
            for name in kind.__required_keys__
        )
    if origin not in {tuple, Sequence} or Ellipsis in parts:
        # what wraps an object of ours may stand in its place, a path or a number may not
        return not _is_own_class(kind) or type(value).__module__ not in {"builtins", "pathlib"}
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        return False
    kinds = parts if origin is tuple else parts * len(value)
    return len(value) == len(kinds) and not any(map(_wanted, value, kinds))


def _is_own_class(kind: Any) -> bool:
    """Return whether a type is a class or protocol of this package, but no record."""
    ours = inspect.isclass(kind) and kind.__module__.startswith("commonplace.")
    return ours and not is_dataclass(kind)


def _is_typed_dict(kind: Any) -> bool:
    """Return whether a type is a `TypedDict`, of `typing` or of `typing_extensions`."""
    return hasattr(kind, "__required_keys__")


def _name(kind: Any) -> str:
    """Return what a type is called in a message."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind in _PLAIN:
        return _PLAIN[kind][0]
    if origin is Literal:
        return f"one of {', '.join(map(repr, parts))}"
    if origin in _GENERIC:
        return _GENERIC[origin]
    if _is_typed_dict(kind):
        return f"a dict with {' and '.join(sorted(kind.__required_keys__))}"
    if origin is tuple:
        return f"{len(parts)} of these: {', '.join(map(_name, parts))}"
    article = "an" if kind.__name__[0] in "AEIOU" else "a"
    return f"a list, each {_name(parts[0])}" if origin is Sequence else f"{article} {kind.__name__}"
