"""Rendering of results for a terminal and for a pipe."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from commonplace._core import (
    Entry,
    Grep,
    Hit,
    Hits,
    Imported,
    Match,
    Message,
    Status,
    Verified,
    Written,
)

if TYPE_CHECKING:
    from commonplace.evaluation import Scores

# C0 but tab and newline, DEL, C1, and the marks that reorder text: what a file says
# must not move the cursor, retitle the window or hide a word from the reader.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
UNBROKEN = 100_000
# The most columns of a brief line, and all it has where there is no terminal
BRIEF = 110

COUNTED = ("groups", "documents", "queries")
MEASURED = ("any_at_1", "any_at_5", "any_at_10", "recall_at_5", "recall_at_10", "ndcg_at_10", "mrr")
TIMED = ("p50_ms", "p99_ms")

# What the words of a status for files that are not indexed mean, and what to do
LEFT_OUT = {
    "encoding": "it is in UTF-16; save it as UTF-8",
    "large": "it is too large to be indexed; split it",
    "memory": "the memory limit allows no more; raise it, or split the file",
    "perm": "it cannot be listed (permission denied); allow it",
    "hardlink": "it has a second name, which may be outside the memory; copy it",
    "symlink": "it is a symbolic link; put the file itself there",
}


def clean(text: str) -> str:
    r"""Return text without the control characters that a terminal would obey.

    >>> clean("a\x1b[31mred\x1b[0m\tb")
    'a[31mred[0m\tb'
    """
    return CONTROLS.sub("", text)


def marked(text: str, highlights: Iterable[tuple[int, int]]) -> Text:
    """Return text as one cleaned line with the ranges in `highlights` in bold, ready to print."""
    shown, at = Text(), 0
    line = text.replace("\n", " ")
    for start, end in sorted(highlights):
        if start < at:
            continue
        shown.append(clean(line[at:start]))
        shown.append(clean(line[start:end]), style="bold red")
        at = end
    return shown.append(clean(line[at:]))


def assembled(parts: Iterable[str | tuple[str, str] | Text]) -> Text:
    """Return plain and styled parts as one cleaned text, ready to print; a `Text` is clean."""
    shown = Text()
    for part in parts:
        if isinstance(part, Text):
            shown.append_text(part)
        elif isinstance(part, str):
            shown.append(clean(part))
        else:
            shown.append(clean(part[0]), part[1])
    return shown


def size(count: int) -> str:
    """Return a number of bytes as people write it.

    >>> size(320), size(1234), size(100_000_000)
    ('320 B', '1.2 kB', '100.0 MB')
    """
    if count < 1000:
        return f"{count} B"
    amount = float(count)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 1000 or unit == "GB":
            break
    return f"{amount:.1f} {unit}"


class Screen:
    """Prints results: colours and folding on a terminal, plain whole lines elsewhere."""

    def __init__(self) -> None:
        self.out = Console(highlight=False, markup=False, emoji=False)
        self.err = Console(stderr=True, highlight=False, markup=False, emoji=False)
        if not self.out.is_terminal:
            self.out.width = UNBROKEN

    def put(self, text: Text) -> None:
        """Print a line whole; in a pipe without the cost of styling it."""
        if self.out.is_terminal:
            self.out.print(text, soft_wrap=True)
        else:
            self.out.file.write(f"{text.plain}\n")
            self.out.file.flush()

    def line(self, *parts: str | tuple[str, str] | Text) -> None:
        """Print one line of plain and styled parts; their control characters are left out."""
        self.put(assembled(parts))

    def brief(self, *parts: str | tuple[str, str] | Text, end: str = "") -> None:
        """Print one line, cut with a mark where the terminal ends; `end` is never cut."""
        shown = assembled(parts)
        tail = Text(f"  {clean(end)}" if end else "", style="dim")
        shown.truncate(min(self.out.width, BRIEF) - tail.cell_len, overflow="ellipsis")
        self.put(shown + tail)

    def title(self, text: str) -> None:
        """Print a headline: a rule on a terminal, a line of its own elsewhere."""
        self.out.print()
        if self.out.is_terminal:
            self.out.rule(Text(text, style="bold"), align="left")
        else:
            self.put(Text(f"== {text}"))

    def text(self, text: str) -> None:
        """Print the text of a file as it is, but for control characters."""
        if text:
            self.put(Text(clean(text).removesuffix("\n")))

    def hits(self, hits: Hits, *, brief: bool = False) -> None:
        """Print ranked hits with citation, heading trail or speaker, score and snippet."""
        put = self.brief if brief else self.line
        for rank, hit in enumerate(hits, 1):
            if hit.is_turn:
                self.turn(rank, hit)
                continue
            where = " › ".join(hit.heading) or speaker_and_time(hit.role, hit.name, hit.time)
            put(
                (f"{rank:>2} ", "dim"),
                (hit.citation, "cyan"),
                f"  {where}" if where else "",
                (f"  {hit.score:.2f}", "dim"),
            )
            put("   ", marked(hit.snippet, hit.highlights))
        if hits.freshness != "fresh":
            self.warn(f"these results are {hits.freshness}")
        for note in hits.notes:
            self.warn(note)

    def turn(self, rank: int, hit: Hit) -> None:
        """Print a turn: date, project and session, the prompt, the best passage, the citation."""
        # the date is the beginning of a stamp; other times are words
        when = (hit.time or "").partition("T")[0]
        session = hit.title or hit.session or hit.path.rpartition("/")[0]
        where = " · ".join(part for part in (when, hit.project, session) if part)
        self.brief((f"{rank:>2} ", "dim"), where, (f"  {hit.score:.2f}", "dim"))
        if hit.prompt and hit.prompt != hit.text:
            self.brief("   ", (f"> {' '.join(hit.prompt.split())}", "green"))
        self.line("   ", marked(hit.snippet, hit.highlights))
        self.line("   ", (hit.citation, "cyan"))

    def match(self, match: Match) -> None:
        """Print one grep match, with its neighbours in file order around it."""
        for line, role, snippet in match.before:
            self.neighbour(match.path, line, role, snippet)
        head = Text(clean(match.citation), style="cyan")
        if match.role:
            who = clean(match.name or match.role)
            head.append(f" {who}", style="green")
        body = marked(match.snippet, match.highlights)
        self.put(Text.assemble(head, ": ", body))
        for line, role, snippet in match.after:
            self.neighbour(match.path, line, role, snippet)
        if match.before or match.after:
            self.line(("--", "dim"))

    def neighbour(self, path: str, line: int, role: str | None, snippet: str) -> None:
        """Print one line of context."""
        who = f" {role}" if role else ""
        self.line((f"{path}#L{line}{who}- {' '.join(snippet.split())}", "dim"))

    def scanned(self, scan: Grep) -> None:
        """Say what a scan could not read."""
        for note in scan.notes:
            self.warn(note)
        if scan.bad_line_count:
            some = ", ".join(scan.bad_lines[:3])
            self.warn(f"{scan.bad_line_count} lines hold no readable record: {some}")

    def entries(self, entries: Iterable[Entry], *, brief: bool = False) -> None:
        """Print files one a line: size, last change, path and summary."""
        put = self.brief if brief else self.line
        for entry in entries:
            changed = datetime.fromtimestamp(entry.modified).astimezone()
            put(
                f"{size(entry.size):>8}",
                (f"  {changed:%Y-%m-%d %H:%M}  ", "dim"),
                (entry.path, "cyan"),
                f"  {entry.summary}" if entry.summary else "",
            )

    def messages(self, messages: Iterable[Message]) -> None:
        """Print messages with their citation, who said them and when."""
        for message in messages:
            who = speaker_and_time(message.role, message.name, message.time)
            self.line((f"{message.path}#L{message.line}", "cyan"), f"  {who}")
            if message.text:
                self.text(message.text)
            if message.tools:
                self.line((f"[tools] {message.tools}", "dim"))

    def written(self, written: Written, verb: str) -> None:
        """Say what a write did and where the old text lies."""
        self.line(f"{verb} ", (written.path, "cyan"), (f"  version {written.version}", "dim"))
        if written.history:
            self.line((f"the old text is in {written.history}", "dim"))

    def imported(self, imported: Imported) -> None:
        """Say what an import took and what it left out."""
        self.line(f"{imported.messages} messages ({imported.format}) → ", (imported.path, "cyan"))
        for kind, count in sorted(imported.skipped.items()):
            self.line((f"  left out: {count} × {kind}", "dim"))
        if imported.bad_line_count:
            lines = ", ".join(map(str, imported.bad_lines[:5]))
            self.warn(f"{imported.bad_line_count} lines could not be read, such as {lines}")
        if imported.trailing_garbage_count:
            lines = ", ".join(map(str, imported.trailing_garbage[:5]))
            count = imported.trailing_garbage_count
            self.warn(f"{count} lines had something behind their message, such as {lines}")

    def status(self, status: Status) -> None:
        """Print the state of a store."""
        self.line("root          ", (status.root, "cyan"))
        self.line(f"notes         {status.notes:,} with {status.sections:,} sections")
        self.line(f"transcripts   {status.transcripts:,} with {status.messages:,} messages")
        self.line(f"text          {size(status.text_bytes)}")
        self.line(f"index         {size(status.index_bytes)}, {status.terms:,} terms")
        self.line(f"changes       {'watched' if status.watching else 'found by comparing stamps'}")
        self.line(f"snapshot      {status.snapshot}")
        for path, why in status.skipped:
            # a sentence names its file
            message = why if " " in why else f"{path}: {LEFT_OUT.get(why, why)}"
            self.warn(f"skipped {message}")
        for path in status.recovered:
            self.warn(f"recovered {path}: compare it with its original, then delete it")

    def verified(self, verified: Verified) -> None:
        """Say whether index and files agree."""
        for line in (*verified.differences, *verified.unread):
            self.line(line)
        for note in verified.notes:
            self.warn(note)
        differ, unread = len(verified.differences), len(verified.unread)
        verdict = f"{differ} differences; the index is mended" if differ else ""
        if unread:
            verdict += f"{'; ' if verdict else ''}{unread} could not be read or compared"
        self.line(f"{verified.files:,} files: {verdict or 'all agree with the index'}")

    def scores(self, scores: Sequence[Scores]) -> None:
        """Print the metrics of labelled sets as one table; shares as points of 100."""
        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        table.add_column("set", style="cyan", no_wrap=True)
        for name in (*COUNTED, *MEASURED, *TIMED):
            table.add_column(name.replace("_at_", "@").replace("_", " "), justify="right")
        for row in scores:
            values = row.as_dict()
            table.add_row(
                clean(row.set),
                *(f"{values[name]:,}" for name in COUNTED),
                *(f"{100 * values[name]:.1f}" for name in MEASURED),
                *(f"{values[name]:.2f}" for name in TIMED),
            )
        self.out.print(table)

    @contextmanager
    def progress_counter(self) -> Iterator[Callable[[str, int, int], None]]:
        """Lend a function that shows, on stderr, how much of each named whole is done."""
        with self.progress() as bar:
            tasks: dict[str, TaskID] = {}

            def advance(name: str, done: int, total: int) -> None:
                if name not in tasks:
                    tasks[name] = bar.add_task(clean(name), total=total)
                bar.update(tasks[name], completed=done)

            yield advance

    def warn(self, text: str) -> None:
        """Print a note to stderr."""
        self.err.print(Text(f"commonplace: {clean(text)}", style="yellow"), soft_wrap=True)

    def progress(self) -> Progress:
        """Return a progress bar for bytes read, on stderr, silent when that is no terminal."""
        return Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(),
            TimeRemainingColumn(),
            console=self.err,
            disable=not self.err.is_terminal,
            transient=True,
        )


def speaker_and_time(role: str | None, name: str | None, time: str | None) -> str:
    """Return who said something and when, as far as known.

    >>> speaker_and_time("user", "Alex", "2026-02-01")
    'user Alex · 2026-02-01'
    """
    who = " ".join(part for part in (role, name) if part)
    return " · ".join(part for part in (who, time) if part)
