"""Two who change one file: two tabs, an editor beside the page, a server that is killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import commonplace
from tests.browser.conftest import serving
from tests.browser.watched import Watched
from tests.hosts.runner import COMMONPLACE

Visit = Callable[..., Watched]
NOTE = "# Ferry\n\nLeaves at nine.\n\nFrom the north pier.\n"
PROFILE = "---\nunit: item\n---\n# Memory\n\n## Style\n\n- concise\n- no emoji\n"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    (tmp_path / "ferry.md").write_text(NOTE)
    (tmp_path / "MEMORY.md").write_text(PROFILE)
    with serving(tmp_path) as (_, link):
        yield tmp_path, link


def editor(tab: Any) -> Any:
    return tab.locator("textarea[name=content]")


def save(tab: Any) -> None:
    tab.get_by_role("button", name="Save").click()


def test_two_tabs_that_change_other_lines_are_merged(
    served: tuple[Path, str], visit: Visit
) -> None:
    root, link = served
    seen = visit(link)
    seen.expected.append("409 (Conflict)")
    one, two = seen.tab("/edit/ferry.md"), seen.tab("/edit/ferry.md")
    editor(one).fill(NOTE.replace("nine", "ten"))
    editor(two).fill(NOTE.replace("north", "south"))
    save(one)
    one.wait_for_url("**/note/ferry.md")
    save(two)
    two.get_by_role("alert").wait_for()
    assert (root / "ferry.md").read_text() == NOTE.replace("nine", "ten")
    assert editor(two).input_value() == NOTE.replace("nine", "ten").replace("north", "south")
    save(two)
    two.wait_for_url("**/note/ferry.md")
    assert (root / "ferry.md").read_text() == NOTE.replace("nine", "ten").replace("north", "south")


def test_two_users_that_change_one_line_both_see_it(served: tuple[Path, str], visit: Visit) -> None:
    root, link = served
    other, seen = visit(link), visit(link)
    seen.expected.append("409 (Conflict)")
    one, two = other.go("/edit/ferry.md"), seen.go("/edit/ferry.md")
    editor(one).fill(NOTE.replace("nine", "ten"))
    editor(two).fill(NOTE.replace("nine", "eleven"))
    save(one)
    one.wait_for_url("**/note/ferry.md")
    save(two)
    two.get_by_role("alert").wait_for()
    shown = editor(two).input_value()
    assert "Leaves at ten." in shown
    assert "Leaves at eleven." in shown
    # with the markers still in it nothing is written
    save(two)
    two.get_by_text("conflict markers").wait_for()
    assert (root / "ferry.md").read_text() == NOTE.replace("nine", "ten")
    editor(two).fill(NOTE.replace("nine", "eleven"))
    save(two)
    two.wait_for_url("**/note/ferry.md")
    assert (root / "ferry.md").read_text() == NOTE.replace("nine", "eleven")
    with commonplace.open(root) as store:
        kept = [store.read("ferry.md", old.version) for old in store.history("ferry.md")]
    assert kept == [NOTE.replace("nine", "ten"), NOTE]


def test_a_file_that_vim_has_saved_meanwhile(served: tuple[Path, str], visit: Visit) -> None:
    root, link = served
    seen = visit(link)
    seen.expected.append("409 (Conflict)")
    page = seen.go("/edit/ferry.md")
    editor(page).fill(NOTE.replace("nine", "ten"))
    # as vim does: a new file in the place of the old
    (root / "new").write_text(f"{NOTE}By vim.\n")
    (root / "new").replace(root / "ferry.md")
    save(page)
    page.get_by_role("alert").wait_for()
    assert editor(page).input_value() == NOTE.replace("nine", "ten") + "By vim.\n"
    assert (root / "ferry.md").read_text() == f"{NOTE}By vim.\n"


def test_an_entry_that_was_changed_meanwhile(served: tuple[Path, str], visit: Visit) -> None:
    root, link = served
    seen = visit(link)
    seen.expected.append("409 (Conflict)")
    page = seen.go("/memory/profile")
    entry = page.locator(".entry", has_text="concise")
    entry.get_by_text("Correct").click()
    entry.get_by_label("What is true instead").fill("short")
    (root / "MEMORY.md").write_text(PROFILE.replace("concise", "terse"))
    entry.get_by_role("button", name="Save").click()
    page.get_by_role("alert").wait_for()
    assert page.locator(".as-written").all_inner_texts() == ["short", "terse"]
    assert "- terse\n" in (root / "MEMORY.md").read_text()
    page.get_by_role("button", name="Replace what is there now").click()
    page.wait_for_url(re.compile("/memory/profile"))
    assert (root / "MEMORY.md").read_text() == PROFILE.replace("concise", "short")


def test_what_would_go_has_changed_since_it_was_shown(
    served: tuple[Path, str], visit: Visit
) -> None:
    root, link = served
    seen = visit(link)
    seen.expected.append("409 (Conflict)")
    page = seen.go("/memory/profile")
    page.get_by_label("A name, or some words").fill("emoji")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Erase for good").wait_for()
    (root / "MEMORY.md").write_text(f"{PROFILE}- loves emoji\n")
    page.get_by_role("button", name="Erase for good").click()
    page.get_by_role("alert").wait_for()
    assert (root / "MEMORY.md").read_text().count("emoji") == 2
    assert page.locator(".entry").count() == 2
    page.get_by_role("button", name="Erase for good").click()
    page.wait_for_url("**/memory/profile")
    assert (root / "MEMORY.md").read_text() == PROFILE.replace("- no emoji\n", "")


@contextmanager
def command(root: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run `commonplace web` and lend the process with its link."""
    arguments = [str(COMMONPLACE), "web", str(root), "--port", "0", "--no-open"]
    process = subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_server_that_is_killed_while_saving_loses_nothing(tmp_path: Path, visit: Visit) -> None:
    long = "".join(f"Line {number} of the ferry.\n" for number in range(2000))
    (tmp_path / "ferry.md").write_text(long)
    for delay in (0.0, 0.004, 0.015):
        before = (tmp_path / "ferry.md").read_text()
        with command(tmp_path) as (process, link):
            seen = visit(link)
            seen.expected += ["ERR_", "chrome-error"]
            page = seen.go("/edit/ferry.md")
            wanted = f"{before}Saved after {delay} s.\n"
            # typed, it would be rendered as well
            editor(page).evaluate("(one, text) => { one.value = text }", wanted)
            page.evaluate(
                "setTimeout(() => document.querySelector('form[data-path]').requestSubmit(), 30)"
            )
            time.sleep(0.03 + delay)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            seen.close()
        with commonplace.open(tmp_path) as store:
            assert store.read("ferry.md") in {before, wanted}
            assert store.verify().differences == []
            kept = {store.read("ferry.md", old.version) for old in store.history("ferry.md")}
            if store.read("ferry.md") == wanted:
                assert before in kept


def test_what_was_typed_is_offered_again_when_the_session_has_ended(
    served: tuple[Path, str], visit: Visit
) -> None:
    root, link = served
    seen = visit(link)
    seen.expected.append("401 (Unauthorized)")
    page = seen.go("/edit/ferry.md")
    editor(page).fill(NOTE.replace("nine", "noon"))
    page.context.clear_cookies()
    save(page)
    page.get_by_role("heading", name="Locked").wait_for()
    assert (root / "ferry.md").read_text() == NOTE
    seen.tab(link)
    page = seen.go("/edit/ferry.md")
    assert editor(page).input_value() == NOTE
    page.get_by_role("button", name="Restore it").click()
    save(page)
    page.wait_for_url("**/note/ferry.md")
    assert (root / "ferry.md").read_text() == NOTE.replace("nine", "noon")
    assert not seen.go("/edit/ferry.md").get_by_role("button", name="Restore it").is_visible()
