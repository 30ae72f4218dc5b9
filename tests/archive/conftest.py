"""A root with sessions to archive."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.archive.helpers import NEW, OLD, line


@pytest.fixture
def memory(root: Path) -> Path:
    """Return a root with a note, an old session and a new one."""
    for path, session, day in ((OLD, "old", "2025-01-01"), (NEW, "new", "2026-01-01")):
        at = root / path
        at.parent.mkdir(parents=True)
        at.write_text(
            line("Where is the kettle?", session, day)
            + line(f"The {session} kettle is by the river.", session, day, "assistant")
            + line("And the tea?", session, day)
        )
    (root / "tea.md").write_text("# Tea\n\nGreen tea.\n")
    return root
