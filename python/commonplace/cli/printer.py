"""Printer of results as lines, with colours on a terminal."""

# Longer than 350 lines: one class, with a method for each kind of result.

from __future__ import annotations

import os
import sys
import time

from commonplace.byte_sizes import size
from commonplace.citation import cite
from commonplace.cli.folding import folded, folded_text, terminal_width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Any, TextIO

    from commonplace._core import (
        Entry,
        Forgotten,
        Grep,
        Hit,
        Hits,
        Imported,
        ImportedSource,
        ImportReport,
        Match,
        Message,
        Retained,
        Status,
        Verified,
        Written,
    )
    from commonplace.engines.archiving import Archived
    from commonplace.recall import HybridHits
    from commonplace.transcript import Transcript

Part = str | tuple[str, str]
"""A piece of a line, with its style when it has one."""

# ANSI codes (ECMA-48 SGR) of the styles
STYLES = {
    "bold": "1",
    "bold red": "1;31",
    "cyan": "36",
    "dim": "2",
    "green": "32",
    "yellow": "33",
}

# C0 but tab and newline, DEL, C1, and the marks that reorder text: what a file says
# must not move the cursor, retitle the window or hide a word from the reader.
CONTROLS = dict.fromkeys([
    *range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F,
    *range(0x202A, 0x202F), *range(0x2066, 0x206A),
])  # fmt: skip

# What the words of a status for files that are not indexed mean, and what to do
LEFT_OUT = {
    "encoding": "it is in UTF-16; save it as UTF-8",
    "large": "it is too large to be indexed; split it",
    "memory": "the memory limit allows no more; raise it, archive old sessions, or split the file",
    "perm": "it cannot be listed (permission denied); allow it",
    "hardlink": "it has a second name, which may be outside the memory; copy it",
    "symlink": "it is a symbolic link; put the file itself there",
}


# How many files of a kind are named after an import
MOST_NAMED = 10
KNOWN_FORMATS = (
    "known formats: sessions of Claude Code, Codex, Gemini CLI, opencode and pi; exports of "
    'ChatGPT and Claude.ai; Markdown of SpecStory; lines of {"role": …, "content": …}'
)
# Behind the citation of a hit of the archive
ARCHIVED = " (archived)"
# Characters of a passage that are shown before it is erased
SHOWN = 200


def clean(text: str) -> str:
    r"""Return text without the control characters that a terminal would obey.

    >>> clean("a\x1b[31mred\x1b[0m\tb")
    'a[31mred[0m\tb'
    """
    return text.translate(CONTROLS)


def marked(text: str, highlights: Iterable[tuple[int, int]]) -> Iterator[Part]:
    """Yield text as one line with the ranges in `highlights` in bold."""
    at = 0
    # cut before it is cleaned, so that the ranges hold
    line = text.replace("\n", " ")
    for start, end in sorted(highlights):
        if start < at:
            continue
        yield line[at:start]
        yield line[start:end], "bold red"
        at = end
    yield line[at:]


def one_line(text: str) -> str:
    r"""Return cleaned text as one line: what a file says cannot pass for a line of ours.

    >>> one_line("user\n 1 a.md#L1")
    'user  1 a.md#L1'
    """
    return clean(text).replace("\n", " ")


def styled(parts: Iterable[Part], *, colours: bool) -> str:
    r"""Return parts as one cleaned line, with ANSI codes where colours can be shown.

    >>> styled([("a", "cyan"), " b"], colours=True), styled([("a", "cyan"), " b"], colours=False)
    ('\x1b[36ma\x1b[0m b', 'a b')
    """
    shown = ""
    for part in parts:
        text, style = (part, "") if isinstance(part, str) else part
        text = one_line(text)
        shown += f"\x1b[{STYLES[style]}m{text}\x1b[0m" if colours and style and text else text
    return shown


def shows_colours(stream: TextIO) -> bool:
    """Say whether a stream shows colours; `NO_COLOR` and `FORCE_COLOR` come first."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (
        stream.isatty() and os.environ.get("TERM") not in {"dumb", "unknown"}
    )


def old_text(history: object, root: Path | None) -> str:
    """Return where an old text lies: a path below the root, and the root."""
    return f"the old text is in {history}" + (f" below {root}" if root else "")


class Printer:
    """Prints results: folded lines and colours on a terminal, plain whole lines elsewhere."""

    def __init__(self) -> None:
        self._colours = shows_colours(sys.stdout)
        self._width = terminal_width(sys.stdout)

    def line(self, *parts: Part) -> None:
        """Print one line of plain and styled parts; their control characters are left out."""
        print(folded(styled(parts, colours=self._colours), self._width), flush=True)

    def lines(self, rows: Iterable[Iterable[Part]]) -> None:
        """Print many lines at once."""
        shown = (folded(styled(row, colours=self._colours), self._width) for row in rows)
        print(*shown, sep="\n", flush=True)

    def brief(self, *parts: Part, end: str = "") -> None:
        """Print one line, which a narrow screen may cut, but for its `end`."""
        self.line(*parts, (f"  {end}" if end else "", "dim"))

    def warn(self, text: str) -> None:
        """Print a note to stderr."""
        parts = [(f"commonplace: {text}", "yellow")]
        shown = styled(parts, colours=shows_colours(sys.stderr))
        print(folded(shown, terminal_width(sys.stderr)), file=sys.stderr)

    def text(self, text: str) -> None:
        """Print the text of a file as it is, but for control characters."""
        if text:
            print(folded_text(clean(text).removesuffix("\n"), self._width), flush=True)

    def folded(self, text: str, indent: int = 0, end: str = "") -> None:
        """Print a text below what it belongs to, then `end`; a narrow screen folds its lines."""
        lines = [f"{' ' * indent}{line}".rstrip() for line in text.splitlines()]
        tail: list[Part] = [(f"  {end}", "dim")] if end else []
        if len(lines) != 1:
            self.text("\n".join(lines))
            lines = []
        if lines or tail:
            self.line(*lines, *tail)

    def hits(self, hits: Hits | HybridHits) -> None:
        """Print ranked hits with citation, heading trail or speaker, score and snippet."""
        # a hit by words and vectors has what a hit has
        ranked: Sequence[Any] = hits
        for rank, hit in enumerate(ranked, 1):
            if hit.is_turn:
                self.turn(rank, hit)
                continue
            where = " › ".join(hit.heading) or speaker_and_time(hit.role, hit.name, hit.time)
            self.brief(
                (f"{rank:>2} ", "dim"),
                (hit.citation, "cyan"),
                (ARCHIVED * hit.archived, "dim"),
                f"  {where}" if where else "",
                end=f"{hit.score:.2f}",
            )
            self.brief("   ", *marked(hit.snippet, hit.highlights))
        if hits.freshness != "fresh":
            self.warn(f"these results are {hits.freshness}")
        for note in hits.notes:
            self.warn(note)

    def turn(self, rank: int, hit: Hit) -> None:
        """Print a turn: date, project and session, the prompt, the best passage, the citation."""
        # the date is the beginning of a stamp; other times are words
        when = (hit.time or "").partition("T")[0]
        session = hit.title or hit.session or hit.path.rpartition("/")[0]
        prompt = " ".join((hit.prompt or "").split())
        known = [part for part in (when, hit.project) if part]
        # a host may give none, and then the first prompt is the title, which stands below
        if not known or not prompt.startswith(session.removesuffix("…")):
            known.append(session)
        self.brief((f"{rank:>2} ", "dim"), " · ".join(known), end=f"{hit.score:.2f}")
        if prompt and hit.prompt != hit.text:
            self.brief("   ", (f"> {prompt}", "green"))
        self.line("   ", *marked(hit.snippet, hit.highlights))
        self.line("   ", (hit.citation, "cyan"), (ARCHIVED * hit.archived, "dim"))

    def match(self, match: Match) -> None:
        """Print one grep match, with its neighbours in file order around it."""
        for line, role, snippet in match.before:
            self.neighbour(match.path, line, role, snippet)
        who = (f" {match.name or match.role}", "green") if match.role else ""
        body = marked(match.snippet, match.highlights)
        self.line((match.citation, "cyan"), who, ": ", *body)
        for line, role, snippet in match.after:
            self.neighbour(match.path, line, role, snippet)
        if match.before or match.after:
            self.line(("--", "dim"))

    def neighbour(self, path: str, line: int, role: str | None, snippet: str) -> None:
        """Print one line of context."""
        who = f" {role}" if role else ""
        self.line((f"{cite(path, line)}{who}- {' '.join(snippet.split())}", "dim"))

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
            changed = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.modified))
            put(
                f"{size(entry.size):>8}",
                (f"  {changed}  ", "dim"),
                (entry.path, "cyan"),
                f"  {entry.summary}" if entry.summary else "",
            )

    def messages(self, messages: Sequence[Message], transcript: Transcript) -> None:
        """Print messages of a transcript with their citation, who said them and when."""
        for message, record in zip(messages, transcript.records(messages), strict=True):
            who = speaker_and_time(message.role, message.name, message.time)
            self.line((cite(message.path, message.line), "cyan"), f"  {who}")
            if message.text:
                self.text(message.text)
            if message.tools:
                self.text(f"[{kind_of_rest(record)}] {message.tools}")

    def written(self, written: Written, verb: str, root: Path) -> None:
        """Say what a write below a root did and where the old text lies."""
        self.line(f"{verb} ", (written.path, "cyan"), (f"  version {written.version}", "dim"))
        if written.history:
            self.line((old_text(written.history, root), "dim"))

    def redacted(self, counts: dict[str, int], indent: str = "") -> None:
        """Say how many secrets of which kind were replaced."""
        for kind, count in sorted(counts.items()):
            self.line((f"{indent}redacted: {count} × {kind}", "dim"))

    def imported(self, imported: Imported) -> None:
        """Say what an import took and what it left out."""
        self.line(
            f"{counted(imported.messages, 'message')} ({imported.format}) → ",
            (imported.path, "cyan"),
        )
        for kind, count in sorted(imported.skipped.items()):
            self.line((f"  left out: {count} × {kind}", "dim"))
        self.redacted(imported.redacted, "  ")
        if imported.bad_line_count:
            lines = ", ".join(map(str, imported.bad_lines[:5]))
            bad = counted(imported.bad_line_count, "line")
            self.warn(f"{bad} could not be read, such as {lines}")
        if imported.trailing_garbage_count:
            lines = ", ".join(map(str, imported.trailing_garbage[:5]))
            bad = counted(imported.trailing_garbage_count, "line")
            self.warn(f"{bad} had something behind their message, such as {lines}")

    def sessions_imported(self, report: ImportReport) -> None:
        """Say what an import of sessions brought, and what was left out and why."""
        if not (report.sources or report.unchanged):
            from commonplace.cli.options import PLACES

            self.warn(f"no sessions of agents found; looked for {', '.join(PLACES.values())}")
            self.warn(f"name a folder or files to import; {KNOWN_FORMATS}")
            return
        self._sources_skipped(report)
        for source in report.sources:
            if source.outcome != "skipped" or source.cut_off or source.bad_rows:
                self.odd_lines(source)
        new = [source for source in report.sources if source.outcome == "new"]
        for source in new[:MOST_NAMED]:
            for path, session in zip(source.paths, source.sessions, strict=False):
                title = f"  {session.title}" if session.title else ""
                self.line("new  ", (path, "cyan"), title)
        if len(new) > MOST_NAMED:
            self.line(f"new  and {len(new) - MOST_NAMED} more")
        self.redacted(report.redacted)
        self._sources_known(report)
        self.line(
            f"{report.new:,} new, {report.grown:,} grown, {report.unchanged:,} unchanged, "
            f"{report.skipped:,} skipped; {counted(report.messages, 'message')}"
        )

    def _sources_skipped(self, report: ImportReport) -> None:
        skipped = [source for source in report.sources if source.outcome == "skipped"]
        for source in skipped[:MOST_NAMED]:
            self.warn(f"skipped {source.source}: {source.why}")
        if len(skipped) > MOST_NAMED:
            self.warn(f"skipped {len(skipped) - MOST_NAMED} more; --json names them")
        from commonplace._core import NO_MESSAGE

        if any(source.why == NO_MESSAGE for source in skipped):
            self.warn(KNOWN_FORMATS)

    def _sources_known(self, report: ImportReport) -> None:
        """Say what was not stored because it is here, or was."""
        if report.copies:
            copies = "1 copy" if report.copies == 1 else f"{report.copies:,} copies"
            self.line((f"not stored again: {copies} of messages", "dim"))
        if report.removed and not report.new + report.grown:
            # somebody may wonder why they do not come back
            gone = counted(report.removed, "session")
            back = "delete .commonplace/imports/ to take all back but what was forgotten"
            self.line((f"not imported again: {gone} removed here; {back}", "dim"))

    def odd_lines(self, source: ImportedSource) -> None:
        """Name the lines of a source that are not as they should be."""
        for count, lines, what in (
            (source.bad_line_count, source.bad_lines, "could not be read"),
            (source.trailing_garbage_count, source.trailing_garbage, "had more behind a message"),
        ):
            if count:
                some = ", ".join(map(str, lines[:5]))
                many = counted(count, "line")
                self.warn(f"{source.source}: {many} {what}, such as line {some}")
        for row in source.bad_rows[:MOST_NAMED]:
            self.warn(f"{source.source}: {row}")
        if source.bad_row_count > MOST_NAMED:
            more = counted(source.bad_row_count - MOST_NAMED, "more row")
            self.warn(f"{source.source}: {more} could not be read")
        if source.cut_off:
            self.warn(f"{source.source}: the last line is half-written; import again to take it")

    def forgotten(self, plan: Forgotten) -> None:
        """Print what is to be erased."""
        for passage in plan.passages:
            text = one_line(passage.text)
            # whoever agrees knows how much more there is
            cut = f"… and {len(text) - SHOWN:,} more characters" if len(text) > SHOWN else ""
            self.line((passage.citation, "cyan"), f"  {text[:SHOWN]}{cut}")
        for path in plan.files:
            self.line((path, "cyan"), "  the whole file, with its history")
        if plan.revisions:
            self.line(f"old versions in the history that hold it: {plan.revisions}")
        for left in plan.left:
            self.warn(left)

    def retained(self, plan: Retained) -> None:
        """Print what rules do not keep."""
        for path in plan.files:
            self.line((path, "cyan"))
        if plan.revisions:
            self.line(f"old versions in the history: {len(plan.revisions)}")
        self.line(f"{size(plan.bytes)} in all")

    def archived(self, done: Archived, verb: str) -> None:
        """Print what was archived, restored or rebuilt."""
        for path in done.sessions:
            self.line((path, "cyan"))
        infinitive = {"archived": "archive", "restored": "restore", "rebuilt": "rebuild"}[verb]
        what = verb if done.moved else f"{'to' if done.sessions else 'nothing to'} {infinitive}"
        count = with_messages(len(done.sessions), done.messages)
        self.line(f"{what}: {count}, {size(done.bytes)}" if done.sessions else what)

    def status(self, status: Status, archive_rule: str) -> None:
        """Print the state of a store, and which sessions are archived by rule."""
        self.line("root          ", (status.root, "cyan"))
        self.line(f"notes         {status.notes:,} with {counted(status.sections, 'section')}")
        in_memory = status.transcripts - status.archived
        where = " in memory" if status.archived else ""
        messages = counted(status.messages, "message")
        self.line(f"transcripts   {in_memory:,}{where} with {messages}")
        for what, count, where in (
            ("of tools only", status.tool_messages, " more, found with --tools"),
            ("copies", status.copies, ", found where they were first said"),
            ("other records", status.other_records, ""),
        ):
            if count:
                self.line((f"              {what}: {count:,}{where}", "dim"))
        self.line(f"text          {size(status.text_bytes)}")
        self.line(f"index         {size(status.index_bytes)}, {status.terms:,} terms")
        found = "watched" if status.watching else "found by comparing file times and sizes"
        self.line(f"changes       {found}")
        self.line(f"snapshot      {status.snapshot}")
        for path, why in status.skipped:
            # a sentence names its file
            message = why if " " in why else f"{path}: {LEFT_OUT.get(why, why)}"
            self.warn(f"skipped {message}")
        if status.archived:
            self.line("archived      ", with_messages(status.archived, status.archived_messages))
        if archive_rule:
            self.line("archive rule  ", archive_rule)
        if status.hidden:
            some = ", ".join(status.hidden[:5]) + (", …" if len(status.hidden) > 5 else "")
            folders = counted(len(status.hidden), "folder")
            self.line(f"hidden        {folders} passed over: {some}")
        for kind, count in sorted(status.redactions.items()):
            self.line((f"redacted      {count:,} × {kind}", "dim"))
        for line in status.bad_lines:
            self.warn(line)
        for path in status.recovered:
            self.warn(f"recovered {path}: compare it with its original, then delete it")

    def verified(self, verified: Verified) -> None:
        """Say whether index and files agree."""
        for line in (*verified.differences, *verified.unread):
            self.line(line)
        for note in verified.notes:
            self.warn(note)
        differ, unread = len(verified.differences), len(verified.unread)
        verdict = f"{counted(differ, 'difference')}; the index was repaired" if differ else ""
        if unread:
            verdict += f"{'; ' if verdict else ''}{unread} could not be read or compared"
        alike = "it agrees" if verified.files == 1 else "all agree"
        self.line(f"{counted(verified.files, 'file')}: {verdict or f'{alike} with the index'}")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "note"), counted(2000, "note")
    ('1 note', '2,000 notes')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def with_messages(transcripts: int, messages: int) -> str:
    """Return a number of transcripts with that of their messages.

    >>> with_messages(1, 3)
    '1 transcript with 3 messages'
    """
    return f"{counted(transcripts, 'transcript')} with {counted(messages, 'message')}"


def speaker_and_time(role: str | None, name: str | None, time: str | None) -> str:
    """Return who said something and when, as far as known.

    >>> speaker_and_time("user", "Alex", "2026-02-01")
    'user Alex · 2026-02-01'
    """
    who = " ".join(part for part in (role, name) if part)
    return " · ".join(part for part in (who, time) if part)


# Types of blocks of content
TEXTS = {"text", "input_text", "output_text", "refusal"}
THINKING = {"thinking", "reasoning"}


def kind_of_rest(record: Mapping[str, Any]) -> str:
    """Return what stands beside the text of a message: `tools`, or what the model thought.

    >>> kind_of_rest({"content": [{"type": "thinking", "thinking": "Tea?"}]})
    'thinking'
    >>> kind_of_rest({"content": [{"type": "thinking"}, {"type": "text"}, {"type": "tool_use"}]})
    'thinking, tools'
    """
    # a file of a host has messages in an envelope
    parts = (record.get("message"), record.get("payload"))
    body = next((part for part in parts if isinstance(part, dict)), record)
    content = body.get("content")
    blocks = content if isinstance(content, list) else [body]
    kinds = {str(one.get("type", "text")) for one in blocks if isinstance(one, dict)} - TEXTS
    if not kinds & THINKING:
        return "tools"
    return "thinking, tools" if kinds - THINKING else "thinking"
