"""Features of a sentence for the linear classifier: n-grams, topics, and its shape."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from itertools import combinations, pairwise

from commonplace.extraction.rule_tables import read_table
from commonplace.letter_ranges import CHINESE

TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)?|[\u3400-\u9fff]|\d+|[^\w\s]")
# A full stop says how somebody writes, not what
END = re.compile(r"[\s.。~～]+$")
LATIN = re.compile(r"[a-z]+")
# Of a Chinese word in `topics.toml`, in characters
LONGEST_WORD = 4
# Words or characters that count as its beginning
FIRST = 2
# What a sentence is about shows in its person, tense and mood, whatever its words.
SHAPES = [
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("asks", r"[?？]\s*$"),
        ("question mark", r"[?？]"),
        ("first person", r"\b(?:i|i'm|i've|my|me|we|our|us|we're)\b|[我咱俺]"),
        ("first person first", r"^(?:i|i'm|i've|my|we|our)\b|^[我咱俺]"),
        ("second person", r"\b(?:you|your)\b|[你您]"),
        ("third person", r"\b(?:he|she|they|his|her|their)\b|[他她]"),
        ("past", r"\b\w+ed\b|了"),
        ("condition", r"\bif\b|\bwould\b|如果|要是|假如"),
        ("negation", r"n't\b|\b(?:not|no|never)\b|[不没别]"),
        ("quote", r'["“「『]'),
        ("colon", r"[:：]"),
        ("exclamation", r"[!！]"),
        ("number", r"\d"),
        ("code", r"[{}=<>();]"),
        ("latin", r"[\u3400-\u9fff].*[a-z]{3}|[a-z]{3}.*[\u3400-\u9fff]"),
        ("name", r"(?-i:(?<=[a-z,] )[A-Z][a-z])"),
    )
]


def features(text: str) -> set[str]:
    """Return the features of one sentence, whose short forms are written out.

    >>> sorted(features("我吃素"))[:4]
    ['#first person', '#first person first', '#length 0', '0我']
    """
    low = re.sub(r"\d", "0", END.sub("", text).casefold())
    tokens = TOKEN.findall(low)
    chinese = bool(CHINESE.search(text))
    found = {f"#{name}" for name, pattern in SHAPES if pattern.search(text)}
    length = len(text) // 2 if chinese else len(tokens)
    found.add(f"#length {min(8, length // 4)}")
    found.update(f"{at}{token}" for at, token in enumerate(tokens[:3]))
    found.update(f"9{token}" for token in tokens[-2:])
    ends = ["^", *tokens, "$"]
    found.update(f"{one}_{other}" for one, other in zip(ends, ends[2:], strict=False))
    if chinese:
        found.update(f"={word}" for word in LATIN.findall(low))
    else:
        found.update(f"={token}" for token in tokens)
        found.update(f"{one}={other}" for one, other in pairwise(ends))
    found |= topics(low if chinese else tokens, chinese=chinese)
    padded = f" {low} "
    for size in (1, 2, 3) if chinese else (3, 4, 5):
        found.update(f"~{padded[at : at + size]}" for at in range(len(padded) - size + 1))
    return found


def topics(units: Sequence[str], *, chinese: bool) -> set[str]:
    """Return the topics of a sentence, the pairs of them, and the order in which they follow.

    Args:
        units: Its words, or its characters.
        chinese: Whether they are characters.
    """
    table = topics_of_words("chinese" if chinese else "english")
    there: list[str] = []
    first = set[str]()
    for at, unit in enumerate(units):
        for size in range(1, LONGEST_WORD + 1) if chinese else (1,):
            word = "".join(units[at : at + size]) if chinese else unit
            if names := table.get(word):
                there += names
                if at < FIRST:
                    first |= {f"@^{name}" for name in names}
    known = sorted(set(there))
    return (
        {f"@{name}" for name in known}
        | first
        | {f"@{one}>{other}" for one, other in pairwise(there)}
        | {f"@{one}&{other}" for one, other in combinations(known, 2)}
    )


@cache
def topics_of_words(language: str) -> dict[str, list[str]]:
    """Return the topics of each word of a language, from `topics.toml`."""
    made = defaultdict[str, list[str]](list)
    for topic, words in read_table("topics.toml")[language].items():
        for word in dict.fromkeys(words.split()):
            made[word].append(topic)
    return dict(made)
