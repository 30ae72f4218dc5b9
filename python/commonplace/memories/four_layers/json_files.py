"""JSON import and export of the four layers, byte for byte as JavaScript writes it.

`stringify` follows `JSON.stringify` of ECMAScript 2024 (§25.5.2): no spaces unless indented,
text as it is but for quotes and control characters, and numbers by `Number::toString`
(§6.1.6.1.20): `100000000000000000` where Python writes `1e+17`, `0.00001` for its `1e-05`.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from decimal import Decimal
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any

from commonplace.errors import FormatError, NotFound, Refused
from commonplace.memories.four_layers.entries import KEYS, WHOLE, Record, checked
from commonplace.memories.four_layers.types import Layer

_HALF = re.compile("[\ud800-\udfff]")


FILES: dict[Layer, str] = {layer: f"{layer}.json" for layer in KEYS}
"""`episodic.json`, `semantic.json`, `procedural.json`."""


def read_files(folder: Path) -> tuple[dict[Layer, list[Record]], dict[str, int]]:
    """Return the records of the files that lie in a folder, all of them checked.

    Returns:
        The records of each layer whose file is there, in file order (of a key that comes twice
        the last, where the first was, as a JavaScript map has it), and how many broken
        characters were mended in which file.

    Raises:
        NotFound: None of the three files is there.
        FormatError: A file is not JSON, or an entry not of the form of the design; the message
            names file and position.
    """
    found: dict[Layer, list[Record]] = {}
    mended: dict[str, int] = {}
    for layer, name in FILES.items():
        try:
            data = (folder / name).read_bytes()
        except FileNotFoundError:
            continue
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise FormatError(
                f"{name} is not UTF-8 at byte {error.start}; nothing was imported"
            ) from None
        value, count = parse(text, name)
        if count:
            mended[name] = count
        try:
            found[layer] = _records(layer, value, name)
        except ValueError as error:
            raise FormatError(f"{error}; nothing was imported") from None
    if not found:
        raise NotFound(f"{folder} holds none of {', '.join(FILES.values())}")
    return found, mended


def write_files(
    folder: Path, layers: Mapping[Layer, list[Record]], *, indent: int, overwrite: bool
) -> None:
    """Write each layer into its file, whole or not at all.

    Raises:
        Refused: A file is there, says something else, and `overwrite` is false; none was written.
    """
    texts = {folder / FILES[layer]: dump(layer, held, indent) for layer, held in layers.items()}
    if not overwrite:
        for path, text in texts.items():
            if path.exists() and path.read_bytes() != text.encode():
                raise Refused(f"{path} is there already; overwrite=True replaces it")
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        fresh = path.with_name(f".{path.name}.{os.getpid()}")
        fresh.write_bytes(text.encode())
        fresh.replace(path)


def dump(layer: Layer, records: list[Record], indent: int = 0) -> str:
    """Return a layer as the text of its file.

    >>> dump("semantic", [{"key": "format", "value": "CSV"}])
    '[["format",{"key":"format","value":"CSV"}]]'
    """
    if layer == "semantic":
        return stringify([[record["key"], record] for record in records], indent)
    return stringify(records, indent)


def stringify(value: Any, indent: int = 0) -> str:
    r"""Return a value as `JSON.stringify(value, null, indent)` writes it.

    Args:
        value: None, bool, int, finite float, str, list, or dict with str keys.
        indent: Spaces a level; 0 is all on one line.

    >>> stringify([{"id": "a", "n": [1e21, 1e-7, 5.0, 1e17]}, "é\n"])
    '[{"id":"a","n":[1e+21,1e-7,5,100000000000000000]},"é\\n"]'
    >>> print(stringify({"a": [1], "b": []}, indent=2))
    {
      "a": [
        1
      ],
      "b": []
    }
    """
    out: list[str] = []
    _write(value, indent, "\n", out)
    return "".join(out)


def parse(text: str, name: str) -> tuple[Any, int]:
    r"""Return what JSON text says, and how many broken characters were mended in it.

    Whole numbers beyond 64 bits are read as JavaScript reads all numbers, as doubles. Half a
    character (JavaScript may cut an emoji in two) cannot be written as UTF-8 and becomes U+FFFD.

    Args:
        text: The whole file.
        name: What errors call it.

    Raises:
        FormatError: It is not JSON; the message says where. `NaN` and numbers that overflow a
            double are not JSON values either.

    >>> parse('["\\ud83d", 9223372036854775808000]', "x.json")
    (['�', 9.223372036854776e+21], 1)
    """
    try:
        value = json.loads(
            text, parse_int=_whole, parse_float=_fraction, parse_constant=_no_constant
        )
    except json.JSONDecodeError as error:
        raise FormatError(
            f"{name} line {error.lineno}, column {error.colno}: {error.msg.lower()}; nothing was "
            "imported"
        ) from None
    except RecursionError:
        raise FormatError(f"{name} is nested too deeply; nothing was imported") from None
    except ValueError as error:
        raise FormatError(f"{name}: {error}; nothing was imported") from None
    if not re.search(r"\\u[dD][89a-fA-F]", text):
        return value, 0
    mended = [0]
    return _replace_surrogates(value, mended), mended[0]


def _records(layer: Layer, value: Any, name: str) -> list[Record]:
    if not isinstance(value, list):
        raise ValueError(f"{name} is no array")
    if layer != "semantic":
        return [
            checked(layer, item, f"{name} entry {number}")
            for number, item in enumerate(value, start=1)
        ]
    known: dict[str, Record] = {}
    for number, pair in enumerate(value, start=1):
        what = f"{name} entry {number}"
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError(f"{what} is no pair of a key and an entry")
        record = checked(layer, pair[1], what)
        if record["key"] != pair[0]:
            raise ValueError(
                f"{what} stands under {pair[0]!r:.60}: {record['key']!r:.60} is its key"
            )
        known[pair[0]] = record
    return list(known.values())


def _write(value: Any, indent: int, line: str, out: list[str]) -> None:
    """Append the pieces of `value`; `line` is a line end with the indentation around it."""
    if isinstance(value, str):
        out.append(encode_basestring(value))
    elif isinstance(value, bool) or value is None:
        out.append({True: "true", False: "false", None: "null"}[value])
    elif isinstance(value, (int, float)):
        out.append(_number(value))
    elif not value:
        out.append("{}" if isinstance(value, dict) else "[]")
    else:
        inner = line + " " * indent
        keyed = isinstance(value, dict)
        out.append("{" if keyed else "[")
        for number, item in enumerate(value):
            out.append("," if number else "")
            out.append(inner if indent else "")
            if keyed:
                out.append(encode_basestring(item) + (": " if indent else ":"))
            _write(value[item] if keyed else item, indent, inner, out)
        out.append(line if indent else "")
        out.append("}" if keyed else "]")


def _number(value: float) -> str:
    """Return a number as `Number::toString` does; whole ones keep all their digits."""
    if isinstance(value, int):
        return str(value)
    if value == 0:
        return "0"
    sign, figures, exponent = Decimal(repr(value)).as_tuple()
    digits = "".join(map(str, figures))
    point = len(digits) + int(exponent)
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        text = digits.ljust(point, "0")
    elif 0 < point <= 21:
        text = f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        text = f"0.{'0' * -point}{digits}"
    else:
        fraction = f".{digits[1:]}" if digits[1:] else ""
        text = f"{digits[0]}{fraction}e{point - 1:+d}"
    return f"-{text}" if sign else text


def _whole(text: str) -> float:
    # a longer one is no 64-bit number, and Python reads no very long ones
    if len(text) <= 20 and (number := int(text)) in WHOLE:
        return number
    return _fraction(text)


def _fraction(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is no number that JavaScript can hold")
    return number


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


def _replace_surrogates(value: Any, mended: list[int]) -> Any:
    """Return a value with each half character replaced, and count them."""
    if isinstance(value, str):
        value, count = _HALF.subn("\ufffd", value)
        mended[0] += count
    elif isinstance(value, list):
        return [_replace_surrogates(item, mended) for item in value]
    elif isinstance(value, dict):
        return {
            _replace_surrogates(key, mended): _replace_surrogates(item, mended)
            for key, item in value.items()
        }
    return value
