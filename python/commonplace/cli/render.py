"""Rich terminal screen: the printer with rules, tables and progress bars."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from commonplace.cli.folding import folded
from commonplace.cli.pager import pager
from commonplace.cli.printer import (
    MOST_NAMED,
    Part,
    Printer,
    clean,
    counted,
    kind_of_rest,
    one_line,
)
from commonplace.cli.session_view import heading, message_heading, preview

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from commonplace._core import Message, Session
    from commonplace.evaluation import Scores
    from commonplace.transcript import Transcript

UNBROKEN = 100_000
# What begins an item of a list
LIST_MARKER = re.compile(r"\s*(?:[-*+]|\d+\.)\s+")
# The most columns of a brief line, and all it has where there is no terminal
BRIEF = 110
# The most columns of a paragraph
READABLE = 100

COUNTED = ("groups", "documents", "queries")
MEASURED = ("any_at_1", "any_at_5", "any_at_10", "recall_at_5", "recall_at_10", "ndcg_at_10", "mrr")
TIMED = ("p50_ms", "p99_ms")


def assembled(parts: tuple[Part, ...]) -> Text:
    """Return plain and styled parts as one cleaned line, ready to print."""
    pairs = ((part, "") if isinstance(part, str) else part for part in parts)
    return Text.assemble(*((one_line(text), style) for text, style in pairs))


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the pager, which may end before it has read everything."""
        raise BrokenPipeError


class Screen(Printer):
    """Prints results, and what needs the width of the terminal."""

    def __init__(self) -> None:
        # through a pager it is still the terminal that shows it
        on_terminal = Console().is_terminal or None
        self.out: Console = _Console(
            highlight=False, markup=False, emoji=False, force_terminal=on_terminal
        )
        self.err = Console(stderr=True, highlight=False, markup=False, emoji=False)
        if not self.out.is_terminal:
            self.out.width = UNBROKEN

    def put(self, text: Text, hang: int | None = None) -> None:
        """Print lines folded at spaces; in a pipe whole, without the cost of styling them."""
        if self.out.is_terminal:
            # whole in a buffer: folded there, with its styles as codes
            with self.out.capture() as shown:
                self.out.print(text, soft_wrap=True, end="")
            for line in shown.get().split("\n"):
                self.out.file.write(f"{folded(line, self.out.width, hang)}\n")
            self.out.file.flush()
        else:
            self.out.file.write(f"{text.plain}\n")
            self.out.file.flush()

    def line(self, *parts: Part) -> None:
        """Print one line of plain and styled parts; their control characters are left out."""
        self.put(assembled(parts))

    def brief(self, *parts: Part, end: str = "") -> None:
        """Print one line, cut with a mark where the terminal ends; `end` is never cut."""
        shown = assembled(parts)
        tail = Text(f"  {one_line(end)}" if end else "", style="dim")
        shown.truncate(min(self.out.width, BRIEF) - tail.cell_len, overflow="ellipsis")
        self.put(shown + tail)

    def text(self, text: str) -> None:
        """Print the text of a file as it is, but for control characters."""
        for line in clean(text).removesuffix("\n").split("\n") if text else ():
            self.put(Text(line), len(line) - len(line.lstrip(" ")))

    def folded(self, text: str, indent: int = 0, end: str = "") -> None:
        """Print a text folded at spaces, each line of it as far in as it begins."""
        if not self.out.is_terminal:
            super().folded(text, indent, end)
            return
        width = min(self.out.width, READABLE)
        lines = clean(text).splitlines()
        for line in lines:
            begins = indent + len(line) - len(line.lstrip())
            # what is behind a list marker or a number begins there
            marker = LIST_MARKER.match(line)
            hang = begins + (len(marker[0].lstrip()) if marker else 0)
            shown = Text(line.lstrip())
            if end and len(lines) == 1:
                shown.append(f"  {one_line(end)}", style="dim")
            for number, part in enumerate(shown.wrap(self.out, max(20, width - hang)) or [Text()]):
                part.rstrip()
                self.out.print(Text(" " * (hang if number else begins)) + part, soft_wrap=True)
        if end and len(lines) != 1:
            self.line(" " * indent, (end, "dim"))

    def title(self, text: str) -> None:
        """Print a headline: a rule on a terminal, a line of its own elsewhere."""
        self.out.print()
        if self.out.is_terminal:
            self.out.rule(Text(text, style="bold"), align="left")
        else:
            self.put(Text(f"== {text}"))

    @contextmanager
    def paged(self) -> Iterator[None]:
        """Send what is printed meanwhile through a pager, on a terminal."""
        if not self.out.is_terminal:
            yield
            return
        terminal = self.out.file
        with pager() as stream:
            self.out.file = stream or terminal
            try:
                yield
            finally:
                self.out.file = terminal

    def session(
        self,
        session: Session,
        transcript: Transcript,
        copies: Sequence[str],
        messages: Iterable[tuple[int, Message]],
        *,
        unfolded: bool,
    ) -> None:
        """Print messages with the numbers of their turns, below what is known of their session."""
        with self.paged():
            title, known = heading(session)
            self.line((title, "bold"))
            self.line((known, "dim"))
            self._copies(session, copies)
            last = 0
            for turn, message in messages:
                if message.text.strip():
                    self.line()
                    self.line(*message_heading(turn if turn != last else None, message))
                    self.markdown(message.text)
                    last = turn
                if message.tools.strip():
                    (record,) = transcript.records([message])
                    self._rest(message, record, unfolded=unfolded)

    def _copies(self, session: Session, copies: Sequence[str]) -> None:
        """Say how to read what a session begins with, or holds, and another one has."""
        if copies:
            many = counted(session.copies, "message")
            self.line((f"also {many} of another session:", "dim"))
        for citation in copies[:MOST_NAMED]:
            self.line(f"  commonplace show {shlex.quote(citation)}")
        if len(copies) > MOST_NAMED:
            self.line((f"  and {len(copies) - MOST_NAMED} more; --json names them", "dim"))

    def _rest(self, message: Message, record: Mapping[str, Any], *, unfolded: bool) -> None:
        """Print what went into and came out of tools, and what the model thought."""
        kind = kind_of_rest(record)
        if unfolded:
            who = message.name or message.role
            self.line((f"[{kind}] {who}  L{message.line}", "dim"))
            self.put(Text(clean(message.tools.rstrip()), style="dim"))
        else:
            self.brief((f"  [{kind}] {preview(message.tools)}", "dim"), end=f"L{message.line}")

    def markdown(self, text: str) -> None:
        """Print Markdown: rendered on a terminal, as it is elsewhere."""
        if not self.out.is_terminal:
            self.text(text)
            return
        from commonplace.cli.terminal_markdown import TerminalMarkdown

        self.out.print(TerminalMarkdown(clean(text)), width=min(self.out.width, READABLE))

    def scores(self, scores: Sequence[Scores]) -> None:
        """Print the metrics of labelled sets as one table; shares as points of 100."""
        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        table.add_column("set", style="cyan", no_wrap=True)
        # few sets have labels of this kind
        labelled = any(row.useless_at_3 is not None for row in scores)
        measured = (*MEASURED, "useless_at_3") if labelled else MEASURED
        names = [
            name.replace("_at_", "@").replace("_", " ") for name in (*COUNTED, *measured, *TIMED)
        ]
        for name in names:
            table.add_column(name, justify="right")
        rows = []
        for row in scores:
            values = row.as_dict()
            cells = [
                *(f"{values[name]:,}" for name in COUNTED),
                *(_percent(values[name]) for name in measured),
                *(f"{values[name]:.2f}" for name in TIMED),
            ]
            table.add_row(one_line(row.set), *cells)
            rows.append((row.set, cells))
        whole = self.out.options.update(max_width=UNBROKEN)
        if table.__rich_measure__(self.out, whole).maximum <= self.out.width:
            self.out.print(table)
            return
        # a table that is too wide would be cut
        for name, cells in rows:
            known = (f"{what} {cell}" for what, cell in zip(names, cells, strict=True) if cell)
            self.line((name, "cyan"), f"  {', '.join(known)}")

    @contextmanager
    def progress_counter(self) -> Iterator[Callable[[str, int, int], None]]:
        """Lend a function that shows, on stderr, how much of each named whole is done."""
        with self.progress() as bar:
            tasks: dict[str, TaskID] = {}

            def advance(name: str, done: int, total: int) -> None:
                if name not in tasks:
                    tasks[name] = bar.add_task(one_line(name), total=total)
                bar.update(tasks[name], completed=done)

            yield advance

    @contextmanager
    def overall_progress(
        self, what: str = "reading", *, in_bytes: bool = True
    ) -> Iterator[Callable[[int, int], None]]:
        """Lend a function that shows, on stderr, how much of a whole is done.

        The bar is drawn again at each percent, so a hundred times at most.
        """
        with self.progress(auto_refresh=False, in_bytes=in_bytes) as bar:
            task = bar.add_task(what, total=None)
            shown = -1

            def advance(done: int, total: int) -> None:
                nonlocal shown
                percent = done * 100 // total if total else done >> 20
                if percent != shown:
                    shown = percent
                    bar.update(task, completed=done, total=total or None, refresh=True)

            yield advance

    def warn(self, text: str) -> None:
        """Print a remark to stderr."""
        super().warn(text)

    def progress(self, *, auto_refresh: bool = True, in_bytes: bool = True) -> Progress:
        """Return a progress bar on stderr, of bytes or a count; silent when that is no terminal."""
        return Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn() if in_bytes else MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=self.err,
            disable=not self.err.is_terminal,
            transient=True,
            auto_refresh=auto_refresh,
        )
