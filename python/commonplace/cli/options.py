"""Arguments and options of the command line, each declared once, with their parsers."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
from typer import Argument, BadParameter, Option

from commonplace._core import SearchFilter
from commonplace.timestamps import seconds


def moment(text: str) -> float:
    """Return a time given on the command line as seconds since 1970."""
    try:
        return seconds(text) or 0.0
    except ValueError as error:
        raise BadParameter(str(error)) from None


def excluded(text: str) -> tuple[str, int, int]:
    """Return path or session, first and last line of what a search leaves out."""
    path, first, last = located(text, None)
    # without lines it is all of it
    return path, first or 1, last or 2**63 - 1


def located(where: str, lines: str | None) -> tuple[str, int | None, int | None]:
    """Return path, first and last line of a citation.

    >>> located("a#b.md#L10-L20", None), located("a.md", "7"), located("a.md", None)
    (('a#b.md', 10, 20), ('a.md', 7, 7), ('a.md', None, None))
    """
    cited = re.fullmatch(r"(.+)#(L\d+(?:-L?\d+)?)", where, re.DOTALL)
    path, span = cited.groups() if cited else (where, "")
    span = lines or span
    if not span:
        return path, None, None
    parts = re.fullmatch(r"L?(\d+)(?:-L?(\d+))?", span)
    first, last = (int(parts[1]), int(parts[2] or parts[1])) if parts else (0, 0)
    if not 0 < first <= last:
        raise BadParameter(f"{span!r} is no range of lines; write 10 or 10-20, counted from 1")
    return path, first, last


Root = Annotated[
    Path | None,
    Option(
        "--root",
        help="The folder that holds the memory. Default: $COMMONPLACE_ROOT, else the nearest "
        "folder upwards with .commonplace/, else ~/.commonplace.",
    ),
]
MemoryLimit = Annotated[
    int | None,
    Option(
        "--memory-limit",
        envvar="COMMONPLACE_MEMORY_LIMIT",
        metavar="MB",
        min=16,
        help="Megabytes that the command may take; what would need more is left out with a note. "
        "Default, and at most: what control groups and ulimit leave.",
    ),
]
Version = Annotated[bool, Option("--version", is_eager=True, help="Print the version.")]
Json = Annotated[bool, Option("--json", help="Print JSON for programs.")]

# What to look for
Query = Annotated[list[str], Argument(help='Words, "a phrase", -not, prefix*, word~1.')]
OneQuery = Annotated[str, Argument(help="The query, in one argument.")]
Pattern = Annotated[str, Argument(help="A regular expression.")]
Prefix = Annotated[str, Argument(help="Only files below this folder, or this file.")]
Prefixes = Annotated[
    list[str] | None, Argument(metavar="[PREFIX]...", help="Folders or files to look in.")
]
Citation = Annotated[str, Argument(help="As search prints it: facts/user.md#L1.")]
Where = Annotated[str, Argument(metavar="PATH[#L10[-L20]]", help="A file, or lines of it.")]
Lines = Annotated[str | None, Option("--lines", metavar="10[-20]", help="Only these lines.")]
Fixed = Annotated[bool, Option("--fixed", "-F", help="Take the pattern literally.")]
AnyCase = Annotated[bool, Option("--ignore-case", "-i", help="Ignore case.")]
SameCase = Annotated[
    bool,
    Option("--case-sensitive", "-s", help="Match case. Default: if the pattern has capitals."),
]

# The fields of a search filter, with the types of the options that set them
FILTER: dict[str, object] = {
    "prefix": Annotated[
        list[str] | None, Option("--prefix", help="Only files below this folder, or this file.")
    ],
    "source": Annotated[
        Literal["note", "message"] | None, Option("--source", help="Only notes or only messages.")
    ],
    "role": Annotated[str | None, Option("--role", help="Only messages of this role.")],
    "session": Annotated[str | None, Option("--session", help="Only messages of this session.")],
    "category": Annotated[str | None, Option("--category", help="Only sections of this category.")],
    "since": Annotated[
        float | None,
        Option("--since", parser=moment, metavar="TIME", help="Only at or after this time."),
    ],
    "until": Annotated[
        float | None,
        Option("--until", parser=moment, metavar="TIME", help="Only before this time."),
    ],
    "exclude": Annotated[
        list[Any] | None,
        Option(
            "--exclude",
            parser=excluded,
            metavar="PATH#L10-L24",
            help="Not these lines of a transcript or session, as they are known already.",
        ),
    ],
    "tools": Annotated[bool, Option("--tools", help="Search tool input and output as well.")],
}

# How much to show
Unit = Annotated[
    Literal["turn", "message"],
    Option("--unit", help="Of transcripts: a prompt with its reply, or single messages."),
]
Limit = Annotated[int, Option("--limit", "-m", min=1, help="Most hits to show.")]
Most = Annotated[int | None, Option("--limit", "-m", min=1, help="Stop after so many matches.")]
Before = Annotated[
    int, Option("--before", "-B", min=0, help="Messages or lines before each match.")
]
After = Annotated[int, Option("--after", "-A", min=0, help="Messages or lines after each match.")]
Around = Annotated[int, Option("--context", "-C", min=0, help="Messages or lines on both sides.")]
NewestFirst = Annotated[bool, Option("--newest-first", help="Begin at the end of transcripts.")]
Count = Annotated[bool, Option("--count", "-c", help="Print only how many match.")]
Keep = Annotated[
    bool,
    Option("--keep", help="Write an index that makes the next grep of large transcripts faster."),
]
Width = Annotated[int, Option("--width", min=1, help="Longest snippet, in characters.")]

# What to write
Target = Annotated[str, Argument(help="Relative to the root, ending in .md or .jsonl.")]
Existing = Annotated[str, Argument(help="A file of the memory, as list prints it.")]
NewName = Annotated[str, Argument(help="Its new name, not yet taken.")]
Content = Annotated[str | None, Argument(help='The text; "-" or none: read it from stdin.')]
File = Annotated[Path | None, Option("--file", help="Take the text from this file.")]
Old = Annotated[list[str] | None, Option("--old", help="Text that is there exactly once.")]
New = Annotated[list[str] | None, Option("--new", help="Its new text; one for each --old.")]
Expected = Annotated[
    str | None,
    Option(
        "--expected-version",
        help='Fail unless the file is at this version ("absent": there is no file).',
    ),
]
Logs = Annotated[list[Path], Argument(metavar="FILE...", help="Transcripts of other tools.")]
To = Annotated[str | None, Option("--to", help="Default: sessions/<name of the file>.")]
Sets = Annotated[
    list[Path] | None,
    Argument(
        metavar="[FILE.jsonl.gz]...",
        help=(
            "Labelled sets, one group a line: {documents: [{id, text, speaker?, session?, time?,"
            " heading?, path?}], queries: [{text, relevant: [id]}]}."
        ),
    ),
]
EvalUnit = Annotated[
    Literal["message", "turn", "session"],
    Option("--unit", help="What counts as an answer: a document, or its turn or session."),
]
LongMemEval = Annotated[
    list[Path] | None, Option("--longmemeval", help="A file of LongMemEval, as published.")
]
Run = Annotated[Path | None, Option("--run", help="Write the ranking of every query here.")]


def filtered(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options of `FILTER`, which it takes as one `filter`.

    Its own `prefixes` are more of `--prefix`.
    """
    own = inspect.signature(command, eval_str=True)
    kept = [one for one in own.parameters.values() if one.name != "filter"]
    options = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=False if name == "tools" else None,
            annotation=kind,
        )
        for name, kind in FILTER.items()
    ]

    @wraps(command)
    def run(**given: Any) -> int:
        fields = {name: given.pop(name) for name in FILTER}
        fields["prefix"] = (given.pop("prefixes", None) or []) + (fields["prefix"] or []) or None
        return command(**given, filter=SearchFilter(**fields))

    run.__signature__ = own.replace(parameters=[*kept, *options])  # type: ignore[attr-defined]
    return run


def case(any_case: bool, same_case: bool) -> bool | None:
    """Return whether to ignore case; None leaves it to the pattern."""
    if any_case and same_case:
        raise BadParameter("--ignore-case and --case-sensitive exclude each other")
    return any_case or (False if same_case else None)


def content(given: str | None, file: Path | None) -> str:
    """Return the text to write: from the argument, a file or stdin."""
    if given not in (None, "-"):
        if file:
            raise BadParameter("give the text or --file, not both")
        return given or ""
    if not (file or given) and sys.stdin.isatty():
        raise BadParameter("give the text as an argument, with --file, or on stdin")
    data = file.read_bytes() if file else sys.stdin.buffer.read()
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadParameter(f"the text is not UTF-8 at byte {error.start}") from None


def edits(old: list[str] | None, new: list[str] | None) -> list[tuple[str, str]]:
    """Return the pairs of old and new text, from options or as JSON from stdin."""
    if len(old or []) != len(new or []):
        raise BadParameter("give one --new for each --old, in the same order")
    if old and new:
        return list(zip(old, new, strict=True))
    try:
        pairs = [(edit["oldText"], edit["newText"]) for edit in orjson.loads(content(None, None))]
        if pairs and all(isinstance(text, str) for pair in pairs for text in pair):
            return pairs
    except (orjson.JSONDecodeError, TypeError, KeyError):
        pass
    raise BadParameter(
        'use --old TEXT --new TEXT, or put [{"oldText": "…", "newText": "…"}] on stdin'
    )
