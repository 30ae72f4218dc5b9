"""Arguments and options of the command line, each declared once, with their parsers."""

# Longer than 350 lines: all options of all commands, each with its help.

from __future__ import annotations

import sys

from commonplace.citation import located
from commonplace.cli.parser import UsageError, argument, count, port_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from commonplace._core import SearchFilter


def path_of(text: str) -> Path:
    """Return a path given on the command line."""
    from pathlib import Path

    return Path(text)


def moment(text: str) -> float:
    """Return a time given on the command line as seconds since 1970."""
    from commonplace.timestamps import seconds

    return seconds(text) or 0.0


def share(text: str) -> float:
    """Return a number from 0 to 1 given on the command line."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if 0 <= value <= 1:
        return value
    raise ValueError(f"{text!r} is not a number from 0 to 1")


def excluded(text: str) -> tuple[str, int, int]:
    """Return path or session, first and last line of what a search leaves out."""
    path, first, last = located(text)
    # without lines it is all of it
    return path, first or 1, last or 2**63 - 1


FEWEST_BYTES = 1024
"""Bytes below which a number without a unit is taken for a mistake."""


def byte_size(text: str) -> int:
    """Return a number of bytes given on the command line."""
    from commonplace.settings import byte_size as parsed

    size = parsed(text)
    if text.strip() == str(size) and 0 < size < FEWEST_BYTES:
        raise ValueError(f"{size} alone is {size} bytes; write {size}GB, {size}MB or {size}B")
    return size


# The shell functions that complete a path, a session and a project (`commonplace.cli.completion`)
FILES, SESSIONS = "_commonplace_files", "_commonplace_sessions"
PROJECTS = "_commonplace_projects"

# What to look for
QUERY = argument(
    "query",
    nargs="+",
    help='Words; "a phrase"; -word: without it; word*: any ending; word~1: a typo. Put `--` before'
    " a query that begins with a minus.",
)
ONE_QUERY = argument("query", help="The query, in quotes.")
PATTERN = argument("pattern", help="A regular expression, such as 'tea|coffee'.")
PREFIX = argument(
    "prefix", nargs="?", completer=FILES, help="Only files below this folder, or this file."
)
PREFIXES = argument(
    "prefixes",
    nargs="*",
    metavar="prefix",
    completer=FILES,
    help="Folders or files to look in. Default: all.",
)
CITATION = argument(
    "citation",
    completer=FILES,
    help="A citation as search prints it: facts/user.md#L1, a.jsonl#L2-L9.",
)
WHERE = argument(
    "where", metavar="PATH[#L10[-L20]]", completer=FILES, help="A file, or lines of it."
)
LINES = argument("--lines", metavar="10[-20]", help="Only these lines.")
# Where a server listens
LISTEN_HOST = argument(
    "--host", default="127.0.0.1", help="Address to listen on. Default: 127.0.0.1."
)
LISTEN_PORT = argument(
    "--port", type=port_number, default=8765, help="Port to listen on. Default: 8765."
)
FIXED = argument("--fixed", "-F", action="store_true", help="Take the pattern literally.")
ANY_CASE = argument(
    "--ignore-case", "-i", dest="any_case", action="store_true", help="Ignore case."
)
SAME_CASE = argument(
    "--case-sensitive",
    "-s",
    dest="same_case",
    action="store_true",
    help="Match case. Default: only if the pattern has capitals.",
)

# The fields of a search filter
FILTER = {
    "prefix": argument(
        "--prefix",
        action="append",
        metavar="PATH",
        completer=FILES,
        help="Only files below this folder, or this file; may be repeated.",
    ),
    "source": argument(
        "--source",
        choices=["note", "message"],
        help="Only notes, or only messages of transcripts. Default: both.",
    ),
    "role": argument(
        "--role", metavar="ROLE", help="Only messages of this role: user, assistant, tool, …"
    ),
    "session": argument(
        "--session",
        metavar="ID",
        completer=SESSIONS,
        help="Only messages of this session; the beginning of its id is enough.",
    ),
    "category": argument(
        "--category", metavar="NAME", help="Only sections of this category, such as preference."
    ),
    "since": argument(
        "--since",
        type=moment,
        metavar="TIME",
        help="Only at or after this time: 2026-02-01, yesterday, 3d, last week.",
    ),
    "until": argument("--until", type=moment, metavar="TIME", help="Only before this time."),
    "exclude": argument(
        "--exclude",
        action="append",
        type=excluded,
        metavar="PATH|ID[#L10-L24]",
        completer=SESSIONS,
        help="Leave out this transcript or session, or these lines of it.",
    ),
    "tools": argument(
        "--tools", action="store_true", help="Also search the input and output of tools."
    ),
}

# Sessions
SESSION = argument(
    "session",
    completer=SESSIONS,
    help="The beginning of its id, its folder, or its path; or a citation of lines in it.",
)
PROJECT = argument(
    "--project", metavar="NAME", completer=PROJECTS, help="Only sessions of this project."
)
# by the folder: to know of which project a transcript elsewhere is needs the index
PROJECT_FOLDER = argument(
    "--project", metavar="NAME", completer=PROJECTS, help="Only sessions below sessions/NAME."
)
TURN = argument("--turn", type=count(0), metavar="N", help="Only this turn, counted from 1.")
UNFOLDED = argument(
    "--tools", action="store_true", help="Show all of tools and of what the model thought."
)

# How much to show
UNIT = argument(
    "--unit",
    choices=["turn", "message"],
    default="turn",
    help="In transcripts, find a prompt with its reply (turn), or single messages. Default: turn.",
)
MEANING = argument(
    "--meaning",
    action="store_true",
    help="Also find by meaning: paraphrases, other languages. Needs commonplace[embed].",
)
LIMIT = argument(
    "--limit",
    "-n",
    "-m",
    type=count(1),
    default=10,
    metavar="N",
    help="Show at most N hits. Default: 10.",
)
MOST = argument(
    "--limit", "-n", "-m", type=count(1), metavar="N", help="Stop after N. Default: all."
)
LAST = argument(
    "--limit", "-n", "-m", type=count(1), metavar="N", help="Show the last N. Default: 20."
)
BEFORE = argument(
    "--before",
    "-B",
    type=count(0),
    default=0,
    metavar="N",
    help="Show N messages or lines before each match. Default: 0.",
)
AFTER = argument(
    "--after",
    "-A",
    type=count(0),
    default=0,
    metavar="N",
    help="Show N messages or lines after each match. Default: 0.",
)
AROUND = argument(
    "--context",
    "-C",
    dest="around",
    type=count(0),
    default=0,
    metavar="N",
    help="Show N messages or lines before and after. Default: 0.",
)
NEWEST_FIRST = argument(
    "--newest-first", action="store_true", help="Read transcripts from the end."
)
COUNT = argument("--count", "-c", action="store_true", help="Print only the number of matches.")
KEEP = argument(
    "--keep",
    action="store_true",
    help="Write an index that makes the next grep of large transcripts faster.",
)
WIDTH = argument(
    "--width",
    type=count(1),
    default=300,
    metavar="N",
    help="Cut snippets to N characters. Default: 300.",
)

# What to archive
ARCHIVE = argument(
    "--archive",
    choices=["yes", "no", "only"],
    default="yes",
    help="Search the archive as well (yes), not (no), or only the archive. Default: yes.",
)
ARCHIVED = argument(
    "--session",
    dest="sessions",
    action="append",
    default=[],
    metavar="ID",
    completer=SESSIONS,
    help="This session; may be repeated.",
)
OVER = argument(
    "--over",
    type=byte_size,
    metavar="SIZE",
    help="The oldest, until the transcripts left in memory take at most this: 2GB, 500MB.",
)
ARCHIVE_OLDER = argument(
    "--archive-older",
    type=moment,
    metavar="TIME",
    help="Then archive sessions that ended before this time: 90d, 2026-02-01.",
)
ARCHIVE_OVER = argument(
    "--archive-over",
    type=byte_size,
    metavar="SIZE",
    help="Then archive the oldest, until the transcripts in memory take at most this: 2GB, 500MB.",
)
RESTORE = argument(
    "--restore",
    action="store_true",
    help="Index archived sessions in memory again: all, or those of --session.",
)
REBUILD = argument(
    "--rebuild", action="store_true", help="Rebuild the index of the archive from the files."
)

# What to forget
FORGOTTEN = argument(
    "what", nargs="*", metavar="TEXT|CITATION", help="A text, or lines: facts/user.md#L3."
)
YES = argument("--yes", "-y", action="store_true", help="Erase it without asking.")
HISTORY_SINCE = argument(
    "--history-older",
    type=moment,
    metavar="TIME",
    help="Erase old versions from before this time: 90d, 2026-02-01.",
)
HISTORY_COUNT = argument(
    "--history-count", type=count(0), metavar="N", help="Erase all but N old versions of each file."
)
SESSIONS_SINCE = argument(
    "--older",
    type=moment,
    metavar="TIME",
    help="Sessions that ended before this time: 90d, 2026-02-01.",
)
SESSION_COUNT = argument(
    "--session-count", type=count(0), metavar="N", help="Erase all but the N newest sessions."
)
TOTAL = argument(
    "--total-mb",
    type=count(0),
    metavar="MB",
    help="Erase the oldest, until notes, transcripts and history take at most this.",
)

# What to write
TARGET = argument("path", completer=FILES, help="Relative to the root, ending in .md or .jsonl.")
EXISTING = argument("path", completer=FILES, help="A file of the memory, as list prints it.")
SOURCE = argument("source", completer=FILES, help="A file of the memory, as list prints it.")
NEW_NAME = argument("target", completer=FILES, help="Its new name; there is no such file yet.")
CONTENT = argument("content", nargs="?", help='The text; "-" or nothing: read it from stdin.')
FILE = argument("--file", type=path_of, metavar="FILE", help="Read the text from this file.")
OLD = argument(
    "--old",
    action="append",
    metavar="TEXT",
    help="Text to replace; it must occur exactly once. Without --old:"
    ' [{"oldText": "…", "newText": "…"}] on stdin.',
)
NEW = argument("--new", action="append", metavar="TEXT", help="The new text; one for each --old.")
EXPECTED = argument(
    "--expected-version",
    dest="expected",
    metavar="VERSION",
    help='Fail unless the file has this version ("absent": there is no such file).',
)
LOGS = argument(
    "files",
    nargs="*",
    metavar="FILE",
    help='Sessions of any known tool, or folders of them; "-": read one from stdin.',
)
MIN_CONFIDENCE = argument(
    "--min-confidence",
    type=share,
    metavar="C",
    help="Inject nothing below this confidence, from 0 to 1. Default: 0.4.",
)
HOST = argument(
    "host",
    values=("claude-code", "codex", "gemini", "opencode", "cursor", "vscode", "hermes"),
    help="claude-code, codex, gemini, opencode, cursor, vscode or hermes.",
)
IN_PROJECT = argument(
    "--project",
    dest="in_project",
    action="store_true",
    help="In this project and its own memory, instead of the user's settings and memory.",
)
PLUGIN_FORM = argument(
    "form",
    values=("claude-code", "codex", "agent-plugins", "hermes"),
    help="claude-code, codex, agent-plugins or hermes.",
)
PLUGIN_FOLDER = argument("folder", type=path_of, help="A new or empty folder.")
EXPORT_FORMS = ("okf", "chatgpt")
EXPORT_FORM = argument(
    "form", values=EXPORT_FORMS, help="okf: a bundle of notes; chatgpt: a JSON file of sessions."
)
EXPORTED = argument("target", type=path_of, help="A new folder for okf, a new file for chatgpt.")
EXPORT_PREFIX = argument("--prefix", help="Only files at or below this path of the memory.")
BUNDLE = argument("folder", type=path_of, help="A bundle of the Open Knowledge Format.")
INTO = argument(
    "--to", metavar="FOLDER", help="The folder of the memory for the notes. Default: its root."
)
DRY_RUN = argument(
    "--dry-run", action="store_true", help="Print what would change, but change nothing."
)
# Where the sessions of each host are
PLACES = {
    "claude-code": "Claude Code ($CLAUDE_CONFIG_DIR, else ~/.claude)",
    "codex": "Codex ($CODEX_HOME, else ~/.codex)",
    "gemini": "Gemini CLI ($GEMINI_CLI_HOME, else ~, below .gemini)",
    "opencode": "opencode ($XDG_DATA_HOME, else ~/.local/share)",
    "pi": "pi ($PI_CODING_AGENT_DIR, else ~/.pi/agent)",
}
HOSTS = tuple(
    argument(f"--{host}", dest="hosts", action="append_const", const=host, help=text)
    for host, text in {
        **{host: f"All sessions of {place}." for host, place in PLACES.items()},
        "all": "All sessions of all of these.",
    }.items()
)
KEEP_SECRETS = argument(
    "--keep-secrets", action="store_true", help="Store keys, tokens and passwords as they are."
)
TO = argument(
    "--to",
    metavar="FOLDER",
    help="Add one file to the transcript there. Default: sessions/<project>/<date>-<id>.",
)
SETS = argument(
    "files",
    nargs="*",
    type=path_of,
    metavar="FILE.jsonl.gz",
    help="Labelled sets, one group a line: {documents: [{id, text, speaker?, session?, time?,"
    " heading?, path?}], queries: [{text, relevant: [id]}]}.",
)
EVAL_UNIT = argument(
    "--unit",
    choices=["message", "turn", "session"],
    default="message",
    help="What an answer is: a document (message), its turn or its session. Default: message.",
)
LONGMEMEVAL = argument(
    "--longmemeval",
    action="append",
    type=path_of,
    metavar="FILE",
    help="A file of LongMemEval, as published.",
)
RUN = argument("--run", type=path_of, metavar="FILE", help="Write the ranking of every query here.")


def search_filter(given: dict[str, Any], prefixes: list[str] | None = None) -> SearchFilter:
    """Return the filter of the options of `FILTER` and `PROJECT_FOLDER`, with further prefixes.

    Raises:
        UsageError: A project and a prefix are given.
    """
    from commonplace._core import SearchFilter

    fields = {name: given[name] for name in FILTER}
    fields["prefix"] = [*(prefixes or []), *(fields["prefix"] or [])] or None
    if given["project"]:
        if fields["prefix"]:
            raise UsageError("--project and a prefix exclude each other; give a longer prefix")
        fields["prefix"] = [f"sessions/{given['project']}"]
    return SearchFilter(**fields)


def case(any_case: bool, same_case: bool) -> bool | None:
    """Return whether to ignore case; None leaves it to the pattern."""
    if any_case and same_case:
        raise UsageError("--ignore-case and --case-sensitive exclude each other")
    return any_case or (False if same_case else None)


def content(given: str | None, file: Path | None) -> str:
    """Return the text to write: from the argument, a file or stdin."""
    if given not in (None, "-"):
        if file:
            raise UsageError("give the text or --file, not both")
        return given or ""
    if not (file or given) and sys.stdin.isatty():
        raise UsageError("give the text as an argument, with --file, or on stdin")
    data = file.read_bytes() if file else sys.stdin.buffer.read()
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"the text is not UTF-8 at byte {error.start}") from None


def edits(old: list[str] | None, new: list[str] | None) -> list[tuple[str, str]]:
    """Return the pairs of old and new text, from options or as JSON from stdin."""
    if len(old or []) != len(new or []):
        raise UsageError("give one --new for each --old, in the same order")
    if old and new:
        return list(zip(old, new, strict=True))
    import orjson

    try:
        pairs = [(edit["oldText"], edit["newText"]) for edit in orjson.loads(content(None, None))]
        if pairs and all(isinstance(text, str) for pair in pairs for text in pair):
            return pairs
    except (orjson.JSONDecodeError, TypeError, KeyError):
        pass
    raise UsageError(
        'use --old TEXT --new TEXT, or put [{"oldText": "…", "newText": "…"}] on stdin'
    )
