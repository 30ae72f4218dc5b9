"""Prefix of tool names, for the tools of several memories in one set."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar, cast, get_args, get_type_hints

from commonplace.arguments import checks_arguments
from commonplace.errors import CommonplaceError, InvalidArgument

# Of a name, as the interfaces of models allow it
LONGEST = 64

Method = TypeVar("Method", bound=Callable[..., Any])


@checks_arguments
def with_prefix(method: Method, prefix: str, names: Iterable[str]) -> Method:
    """Return a method under a name with a prefix, which its docstring and errors use as well.

    Args:
        method: A tool; it is returned as it is where the prefix is empty.
        prefix: Letters, digits, `_` and `-`, as vendors allow in the name of a tool.
        names: Of the tools that texts may name.

    Raises:
        InvalidArgument: The prefix is of another form, or too long.

    >>> def note() -> None:
    ...     "Note it; `recall` finds it."
    >>> named = with_prefix(note, "team_", ["note", "recall"])
    >>> named.__name__, named.__doc__
    ('team_note', 'Note it; `team_recall` finds it.')
    """
    if not re.fullmatch("[A-Za-z0-9_-]*", prefix):
        raise InvalidArgument(f"prefix is letters, digits, _ and -, not {prefix!r:.60}")
    if not prefix:
        return method
    name = f"{prefix}{method.__name__}"
    if len(name) > LONGEST:
        raise InvalidArgument(
            f"prefix is too long: {name:.80} has {len(name)} characters, vendors allow {LONGEST}"
        )
    # what may be given for a parameter is no tool, though one is called so
    values = {value for hint in get_type_hints(method).values() for value in get_args(hint)}
    named = _named([one for one in names if one not in values])

    @wraps(method)
    def prefixed(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except CommonplaceError as error:
            error.args = (named.sub(rf"{prefix}\1", str(error)),)
            raise

    prefixed.__name__ = name
    prefixed.__doc__ = named.sub(rf"{prefix}\1", inspect.getdoc(method) or "")
    return cast("Method", prefixed)


def _named(names: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of names of tools as texts have them: `recall`, recall(days=3).

    A name of several words, such as recall_memory, is one wherever it stands.
    """
    forms = (re.escape(one) + (r"\b" if "_" in one else r"(?=`|\()") for one in names)
    return re.compile(rf"(?<![\w.])({'|'.join(forms) or '(?!)'})")
