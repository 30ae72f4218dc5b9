"""Markdown on a terminal, with one blank line around tables and code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markdown import CodeBlock, Markdown, TableElement

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult


class _Code(CodeBlock):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render without the blank lines above and below, as the next element brings one."""
        for code in super().__rich_console__(console, options):
            code.padding = (0, 1, 0, 1)  # type: ignore[union-attr]
            yield code


class _Table(TableElement):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render without an edge, which is blank in this kind of box."""
        for table in super().__rich_console__(console, options):
            table.show_edge = False  # type: ignore[union-attr]
            yield table


class TerminalMarkdown(Markdown):
    """A text in Markdown, of which no link is one of the terminal."""

    elements = Markdown.elements | {"fence": _Code, "code_block": _Code, "table_open": _Table}

    def __init__(self, text: str) -> None:
        super().__init__(text, hyperlinks=False)
