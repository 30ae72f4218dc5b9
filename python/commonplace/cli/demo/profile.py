"""Demo screen of the profile: an entry that replaces another, a flushed session, an injection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.memories import Profile

if TYPE_CHECKING:
    from commonplace.cli.demo.runner import DemoRunner

TALK = "sessions/2026-02-ferrytime"


def show(runner: DemoRunner) -> None:
    """Show an entry that replaces another, what of a long talk is kept, and a prompt's share."""
    runner.screen.title("Profile: what is known of a user, in one MEMORY.md")
    memory = Profile(runner.store, clock=runner.clock)
    runner.call(memory, "remember", content="User prefers light mode", category="preference")
    runner.say("what contradicts an entry replaces it; receipt and history keep the old text")
    done = runner.call(memory, "remember", content="User prefers dark mode", category="preference")
    for old in done["replaced"]:
        runner.answer(f"replaced: {old['text']} ({old['reason']})")
    runner.answer(runner.call(memory, "memory_recall", query="which mode", limit=5))

    runner.say("at the end of a session rules keep what lasts, in English and Chinese")
    done = runner.call(memory, "flush", messages=TALK)
    kept, passing = done["remembered"], done["filtered"]
    runner.answer(
        f"{done['messages']} messages: {len(kept)} sentences kept, {len(passing)} passing"
    )
    for sign, some in ("+", kept[:3]), ("-", passing[3:5]):
        for one in some:
            runner.screen.brief(f"  {sign} {one['text']}", end=one["reason"])

    runner.say("what a prompt gets of it: whole entries within a budget, framed as data")
    shown = runner.run(
        'inject(query="photos", budget=420)', lambda: memory.inject("photos", budget=420)
    )
    runner.answer(shown.text, 9)
