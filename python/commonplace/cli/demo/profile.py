"""The screen of the profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.memories import Profile

if TYPE_CHECKING:
    from commonplace.cli.demo.stage import Stage

TALK = "sessions/2026-02-ferrytime"


def show(stage: Stage) -> None:
    """Show an entry that replaces another, what of a long talk is kept, and a prompt's share."""
    stage.screen.title("Profile: what is known of a user, in one MEMORY.md")
    memory = Profile(stage.store, clock=stage.clock)
    stage.call(memory, "remember", content="User prefers light mode", category="preference")
    stage.say("what contradicts an entry replaces it; receipt and history keep the old text")
    done = stage.call(memory, "remember", content="User prefers dark mode", category="preference")
    for old in done["replaced"]:
        stage.answer(f"replaced: {old['text']} ({old['reason']})")
    stage.answer(stage.call(memory, "memory_recall", query="which mode", limit=5))

    stage.say("at the end of a session rules keep what lasts, in English and Chinese")
    done = stage.call(memory, "flush", messages=TALK)
    kept, passing = done["remembered"], done["filtered"]
    stage.answer(f"{done['messages']} messages: {len(kept)} sentences kept, {len(passing)} passing")
    for sign, some in ("+", kept[:3]), ("-", passing[3:6]):
        for one in some:
            stage.screen.brief(f"  {sign} {one['text']}", end=one["reason"])

    stage.say("what a prompt gets of it: whole entries within a budget, framed as data")
    shown = stage.run(
        'inject(query="photos", budget=420)', lambda: memory.inject("photos", budget=420)
    )
    stage.answer(shown.text, 9)
