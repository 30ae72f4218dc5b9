"""Editor of JSON text that keeps comments, order and layout: a parser with spans, insert, remove.

Settings of agent programs are JSON, often with comments and trailing commas. Only the text of one
member or element is put in or taken out; every edit is parsed again and compared with what was
meant.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
# what may follow a member on its line: spaces and whole comments
_LINE_END = re.compile(r"(?:[ \t]+|/\*(?:(?!\*/)[^\r\n])*\*/)*(?://[^\r\n]*)?(?=\r?\n)")
_SCALAR = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|[^\s,\[\]{}:"/]+')
DEEPEST = 100


class Invalid(ValueError):
    """Text that is no JSON, or holds something else where settings are expected."""

    def __init__(self, text: str, at: int, wrong: str) -> None:
        line = text.count("\n", 0, at) + 1
        column = at - (text.rfind("\n", 0, at) + 1) + 1
        super().__init__(f"line {line}, column {column}: {wrong}")


class Node:
    """A value with its place: `items` are the keys (None in an array), their starts, and values."""

    def __init__(self, start: int) -> None:
        self.start, self.end = start, start
        self.value: Any = None
        self.items: list[tuple[str | None, int, Node]] = []

    def member(self, key: str) -> Node | None:
        """Return the value of a key; of several the last, which is the one that counts."""
        found = [node for name, _, node in self.items if name == key]
        return found[-1] if found and isinstance(self.value, dict) else None


def parse(text: str) -> Node:
    """Return the value that a text holds, with places; empty text is an empty object.

    Raises:
        Invalid: It is no JSON, comments and trailing commas aside.

    >>> parse('{"a": [1, /* two */ 2,], } // end').value
    {'a': [1, 2]}
    """
    parser = _Parser(text)
    at = parser.space(0)
    if at == len(text):
        empty = Node(at)
        empty.value = {}
        return empty
    found = parser.node(at, 0)
    rest = parser.space(found.end)
    if rest != len(text):
        raise Invalid(text, rest, "something follows the end of the JSON")
    return found


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text

    def space(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return found.end() if found else at

    def node(self, at: int, depth: int) -> Node:
        opening = self._text[at : at + 1]
        if depth > DEEPEST:
            raise Invalid(self._text, at, f"nested deeper than {DEEPEST} levels")
        if opening in ("{", "["):
            return self._container(at, depth)
        node = Node(at)
        node.value, node.end = self._scalar(at)
        return node

    def _scalar(self, at: int) -> tuple[Any, int]:
        found = _SCALAR.match(self._text, at)
        if not found:
            shown = self._text[at : at + 1]
            raise Invalid(self._text, at, f"unexpected {shown!r}" if shown else "the text ends")
        try:
            return json.loads(found[0]), found.end()
        except ValueError:
            raise Invalid(self._text, at, f"{found[0]!r:.40} is no JSON value") from None

    def _container(self, at: int, depth: int) -> Node:
        text, node = self._text, Node(at)
        is_object = text[at] == "{"
        closing = "}" if is_object else "]"
        at = self.space(at + 1)
        while text[at : at + 1] != closing:
            start, key = at, None
            if is_object:
                key, at = self._scalar(at)
                if not isinstance(key, str):
                    raise Invalid(text, start, 'a key is text in "quotes"')
                at = self.space(at)
                if text[at : at + 1] != ":":
                    raise Invalid(text, at, f"a colon is missing behind the key {key!r:.40}")
                at = self.space(at + 1)
            value = self.node(at, depth + 1)
            node.items.append((key, start, value))
            at = self.space(value.end)
            if text[at : at + 1] == ",":
                at = self.space(at + 1)
            elif text[at : at + 1] != closing:
                raise Invalid(text, at, f"a comma or {closing!r} is missing")
        node.end = at + 1
        values = [(key, value.value) for key, _, value in node.items]
        node.value = dict(values) if is_object else [value for _, value in values]
        return node


# Insert


def insert(text: str, path: Sequence[str], value: Any, *, element: bool = False) -> str:
    r"""Return the text with a value at a path of keys; objects on the way are made.

    Args:
        text: JSON with an object at the top, or nothing.
        path: The keys; there must be nothing at it, unless `element`.
        value: What is put there.
        element: Put it at the end of the array at that path, which is made if it is not there.

    Raises:
        Invalid: The text is no JSON, or something else than an object or array is on the way.

    >>> print(insert('{"a": 1 // one\n}', ["b"], 2))
    {"a": 1, // one
      "b": 2
    }
    """
    new = _inserted(text, path, value, element=element)
    expected = parse(text).value
    inner = expected
    for key in path[:-1]:
        inner = inner.setdefault(key, {})
    if element:
        inner.setdefault(path[-1], []).append(value)
    else:
        inner[path[-1]] = value
    return _proved(text, new, expected)


def _inserted(text: str, path: Sequence[str], value: Any, *, element: bool) -> str:
    node = root = parse(text)
    if not text[root.start : root.end]:
        return json.dumps(_nested(path, [value] if element else value), indent=2) + "\n"
    for depth, key in enumerate(path):
        if not isinstance(node.value, dict):
            raise Invalid(text, node.start, f"an object is expected here, for {key!r}")
        inner = node.member(key)
        if inner is None:
            nested = _nested(path[depth + 1 :], [value] if element else value)
            return _append(text, root, node, nested, key)
        node = inner
    if not element or not isinstance(node.value, list):
        raise Invalid(text, node.start, f"an array is expected here, in {path[-1]!r}")
    return _append(text, root, node, value, None)


def _proved(text: str, new: str, expected: Any) -> str:
    """Return the new text, when it says what was meant; anything else is a fault of this module."""
    if parse(new).value != expected:
        raise Invalid(text, 0, "it cannot be edited by a program; edit it by hand")
    return new


def _nested(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _append(text: str, root: Node, node: Node, value: Any, key: str | None) -> str:
    """Return the text with an item more at the end of an object or array."""
    newline = "\r\n" if "\r\n" in text else "\n"
    unit = _indent_unit(text, root)
    outer = _indent_at(text, node.start)
    first = node.items[0][1] if node.items else node.start
    inner = _indent_at(text, first) if "\n" in text[node.start : first] else outer + unit
    is_flat = bool(node.items) and not {"\r", "\n"} & {*text[node.start : node.end]}
    lines = json.dumps(value, indent=None if is_flat else unit, ensure_ascii=False)
    item = lines.replace("\n", newline + inner)
    if key is not None:
        item = f"{json.dumps(key, ensure_ascii=False)}: {item}"
    gap = " " if is_flat else newline + inner
    if not node.items:
        close = node.end - 1
        kept = text[node.start + 1 : close].rstrip()
        before = text[: node.start + 1] + kept
        return f"{before}{gap}{item}{newline}{outer}{text[close:]}"
    last = node.items[-1][2].end
    comma = _comma(text, last, node.end)
    at = last if comma is None else comma + 1
    line_end = _LINE_END.match(text, at, node.end)
    end = line_end.end() if line_end else at
    if comma is None:
        return f"{text[:last]},{text[last:end]}{gap}{item}{text[end:]}"
    return f"{text[:end]}{gap}{item},{text[end:]}"


def _comma(text: str, at: int, end: int) -> int | None:
    """Return where the comma behind an item is."""
    found = _SPACE.match(text, at, end)
    place = found.end() if found else at
    return place if text[place : place + 1] == "," else None


def _indent_at(text: str, at: int) -> str:
    """Return the white space with which the line of a place begins."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_unit(text: str, root: Node) -> str:
    unit = _indent_at(text, root.items[0][1]) if root.items else ""
    return unit or "  "


# Remove


def remove(text: str, unwanted: Callable[[tuple[str | int, ...], Any], bool]) -> str:
    """Return the text without the items that are unwanted, and without what is empty by that.

    Args:
        text: JSON, or nothing.
        unwanted: Takes the path and the value of an item.

    Raises:
        Invalid: The text is no JSON.

    >>> remove('{"a": {"b": [1]}, "c": 2}', lambda path, value: value == 1)
    '{"c": 2}'
    """
    root = parse(text)
    while (found := _first(root, (), unwanted)) is not None:
        node, index = found
        new = _without(text, node, index)
        # the value of the root holds that of the node, which becomes what is meant
        kept = [(key, inner.value) for at, (key, _, inner) in enumerate(node.items) if at != index]
        if isinstance(node.value, dict):
            node.value.clear()
            node.value.update(kept)
        else:
            del node.value[index]
        text = _proved(text, new, root.value)
        root = parse(text)
    return text


def _first(
    node: Node,
    path: tuple[str | int, ...],
    unwanted: Callable[[tuple[str | int, ...], Any], bool],
) -> tuple[Node, int] | None:
    """Return the outermost item that is unwanted, or holds nothing but unwanted ones."""
    for index, (key, _, inner) in enumerate(node.items):
        where = (*path, index if key is None else key)
        if _all_unwanted(inner, where, unwanted):
            return node, index
        if (found := _first(inner, where, unwanted)) is not None:
            return found
    return None


def _all_unwanted(
    node: Node,
    path: tuple[str | int, ...],
    unwanted: Callable[[tuple[str | int, ...], Any], bool],
) -> bool:
    if unwanted(path, node.value):
        return True
    return bool(node.items) and all(
        _all_unwanted(inner, (*path, index if key is None else key), unwanted)
        for index, (key, _, inner) in enumerate(node.items)
    )


def _without(text: str, node: Node, index: int) -> str:
    """Return the text without one item, its comma, and the white space before it."""
    _, start, inner = node.items[index]
    before = node.items[index - 1][2].end if index else node.start + 1
    comma = _comma(text, inner.end, node.end)
    lead = text[before:start]
    tail = text[inner.end : node.end]
    if comma is not None:
        at = comma - inner.end
        behind = tail[at + 1 :]
        # what becomes the first on its line begins where this one did
        tail = tail[:at] + (behind if index or lead else behind.lstrip(" \t"))
    elif index:
        at = (_comma(text, before, start) or before) - before
        lead = lead[:at] + lead[at + 1 :]
    short = lead.rstrip()
    # a comment up to the end of the line must keep that end
    lead = (
        lead
        if "//" in short.rpartition("\n")[2] and tail.lstrip(" \t")[:1] not in "\r\n"
        else short
    )
    rest = lead + tail
    if len(node.items) == 1 and not rest[:-1].strip():
        rest = rest[-1]
    return text[:before] + rest + text[node.end :]
