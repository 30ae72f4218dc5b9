"""Screens used as people do: by clicking and typing, and by keys alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from commonplace import Store
from commonplace.doors.injection_labels import FILE, InjectionLabels
from commonplace.evaluation import evaluate
from commonplace.memories import Profile
from commonplace.progress import FOLDER, ProgressNotes
from tests.browser import example_memory
from tests.browser.conftest import serving
from tests.browser.example_memory import LOGGED, QUESTION
from tests.browser.watched import Watched

Served = tuple[Store, str]
Visit = Callable[..., Watched]


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """An example that these tests write to."""
    root = tmp_path_factory.mktemp("changed")
    example_memory.build(root)
    with serving(root) as served:
        yield served


def test_search_answers_while_one_types(example: Served, visit: Visit) -> None:
    _, link = example
    page = visit(link).page
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.get_by_role("searchbox").press_sequentially("north pier", delay=5)
    page.locator(".hit mark").first.wait_for()
    page.wait_for_url(re.compile(r"/\?q=north\+pier$"))
    page.keyboard.press("ArrowDown")
    first = page.evaluate("document.activeElement.getAttribute('href')")
    page.keyboard.press("j")
    second = page.evaluate("document.activeElement.getAttribute('href')")
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.getAttribute('href')") == first != second
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/(note|session)/"))
    page.go_back()
    assert page.get_by_role("searchbox").input_value() == "north pier"
    page.get_by_label("Anything").select_option("note")
    page.wait_for_url(re.compile("source=note"))
    page.locator(".hit").first.wait_for()
    page.locator(".hit details.why summary").first.click()
    page.locator(".hit table.parts").first.wait_for()
    page.locator(".chosen .chip", has_text="Notes").click()
    page.wait_for_url(re.compile(r"/\?q=north\+pier$"))
    assert page.get_by_label("Anything").input_value() == ""
    assert page.locator(".chosen").count() == 0


def test_a_session_is_read_as_a_conversation(example: Served, visit: Visit) -> None:
    _, link = example
    page = visit(link).go("/sessions")
    page.get_by_role("link", name=QUESTION, exact=True).click()
    page.wait_for_url("**/session/**")
    assert page.locator("pre code, .highlight").count() > 0
    step = page.locator("details.tools").first
    assert not step.locator("pre").first.is_visible()
    step.locator("summary").first.click()
    step.locator("details summary").first.click()
    assert "pytest -q tests/test_timetable.py" in step.inner_text()
    page.locator("a.line").last.click()
    assert re.search(r"#L\d+$", page.url)


def test_sessions_are_imported_by_a_button(
    changed: Served, visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, link = changed
    log = tmp_path / "projects" / "p" / "s.jsonl"
    log.parent.mkdir(parents=True)
    said = {"role": "user", "content": "Is there a walrus on the pier?"}
    known = {"type": "user", "sessionId": "5e55-1", "uuid": "u", "cwd": "/home/me/zoo"}
    log.write_text(json.dumps({**known, "timestamp": "2026-02-01T10:00:00Z", "message": said}))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    page = visit(link).go("/sessions")
    page.get_by_role("link", name="Import sessions").click()
    page.get_by_label("Sessions of").select_option("claude-code")
    page.get_by_role("button", name="Import").click()
    # the stream of the server tells the end, and the page shows what was done
    page.get_by_text("What the import did").wait_for()
    assert page.locator(".figures div", has_text="new sessions").inner_text().split()[-1] == "1"
    page.locator("main").get_by_role("link", name="Sessions", exact=True).click()
    page.get_by_role("link", name="Is there a walrus on the pier?").click()
    page.wait_for_url("**/session/**")
    assert any("zoo" in one.path for one in store.sessions())


def test_the_memory_of_a_folder_is_chosen(changed: Served, visit: Visit) -> None:
    store, link = changed
    Profile(store, folder="work/team").remember("User prefers coffee", "preference")
    page = visit(link).go("/memory")
    page.get_by_role("link", name="work/team/").click()
    page.get_by_role("link", name="Profile", exact=True).click()
    entry = page.locator(".entry", has_text="User prefers coffee")
    entry.get_by_text("Correct").click()
    entry.get_by_label("What is true instead").fill("User prefers cocoa")
    entry.get_by_role("button", name="Save").click()
    page.locator(".entry", has_text="User prefers cocoa").wait_for()
    assert "cocoa" in store.read("work/team/MEMORY.md")
    page.get_by_role("link", name="the root").click()
    page.locator(".entry", has_text="User lives in").first.wait_for()
    assert not page.get_by_text("cocoa").count()


def test_a_day_of_the_timeline_is_clicked(example: Served, visit: Visit) -> None:
    _, link = example
    page = visit(link).go("/sessions")
    page.locator(".timeline a").first.click()
    page.wait_for_url(re.compile("day="))
    assert page.locator(".row-link").count() >= 1


def test_a_note_is_edited_with_a_preview_and_restored(changed: Served, visit: Visit) -> None:
    store, link = changed
    page = visit(link).go("/note/harbour/north-pier.md")
    page.get_by_role("link", name="South Pier").click()
    page.wait_for_url("**/note/harbour/south-pier.md")
    page.get_by_text("Linked from").wait_for()
    page.get_by_role("link", name="Edit").click()
    page.locator("textarea[name=content]").fill("# South Pier\n\nClosed for *repairs*.\n")
    page.locator("#preview em").wait_for()
    page.keyboard.press("Control+s")
    page.wait_for_url("**/note/harbour/south-pier.md")
    assert store.read("harbour/south-pier.md") == "# South Pier\n\nClosed for *repairs*.\n"
    page.get_by_role("link", name="History").click()
    page.locator("tr.added").first.wait_for()
    page.get_by_role("button", name="Restore this version").click()
    page.wait_for_url("**/note/**")
    assert "also at night" in store.read("harbour/south-pier.md")


def test_an_entry_of_a_profile_is_corrected_and_forgotten(changed: Served, visit: Visit) -> None:
    store, link = changed
    page = visit(link).go("/memory/profile")
    entry = page.locator(".entry", has_text="User lives in Lisbon")
    entry.get_by_text("Correct").click()
    entry.get_by_label("What is true instead").fill("User lives in Lisboa")
    entry.get_by_role("button", name="Save").click()
    page.locator(".entry", has_text="User lives in Lisboa").wait_for()
    assert "User lives in Lisboa" in store.read("MEMORY.md")
    assert not page.get_by_text("User lives in Berlin").count()
    page.get_by_role("link", name="include what is no longer true").click()
    past = page.locator(".entry.past", has_text="User lives in Berlin")
    past.get_by_role("button", name="Forget").click()
    page.get_by_text(re.compile("old versions? that contains? it")).wait_for()
    page.get_by_role("button", name="Erase for good").click()
    page.wait_for_url("**/memory/profile?past=1")
    assert "Berlin" not in store.read("MEMORY.md")
    page.get_by_label("A name, or some words").fill("harbour office")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Keep it").click()
    page.locator(".statement", has_text="The harbour office closes at five").wait_for()
    page.get_by_role("link", name="mara").click()
    page.locator(".statement", has_text="User prefers tea").wait_for()


def test_each_memory_system_is_looked_at(example: Served, visit: Visit) -> None:
    _, link = example
    page = visit(link).go("/memory")
    page.get_by_role("link", name="World and agents").click()
    page.get_by_role("link", name="scribe").click()
    page.get_by_text("Wrote the notes of the release.").wait_for()
    page.get_by_text("no boat on Monday morning").wait_for()
    page.get_by_role("link", name="Four layers").click()
    page.locator(".stands a").first.click()
    page.wait_for_url("**/note/archive/episodes/**")
    page.go_back()
    page.get_by_role("row", name="episodic").get_by_role("link").last.click()
    page.wait_for_url("**archived=1")
    assert page.locator(".entry").count() == 5
    page.get_by_role("link", name="Overview and detail").click()
    page.get_by_role("link", name=LOGGED.removeprefix("sessions/")).click()
    page.get_by_role("link", name="main", exact=True).click()
    page.get_by_role("link", name="Decided on UTC").click()
    page.get_by_text("It is the same now.").wait_for()
    page.get_by_role("link", name="try-local").click()
    page.get_by_role("link", name="see whether local times would do").click()
    page.get_by_role("link", name="overview.md", exact=True).click()
    assert page.locator(".difference .added").inner_text() == "+Try local times first."
    page.get_by_role("link", name="Facts and episodes").click()
    page.get_by_role("link", name=re.compile("2026-02")).click()
    page.get_by_role("heading", name="Flaky tests").wait_for()


def test_what_was_useless_is_a_label_that_evaluation_reads(changed: Served, visit: Visit) -> None:
    store, link = changed
    page = visit(link).go("/log")
    page.locator("tr", has_text="604").get_by_role("link").click()
    page.get_by_text(QUESTION).wait_for()
    entry = page.locator(".entry", has_text="north-pier.md")
    entry.get_by_text("Why this").click()
    entry.locator("table.parts").wait_for()
    entry.get_by_role("button", name="This was useless").click()
    page.locator(".badge.useless").wait_for()
    (group,) = InjectionLabels(store).groups()
    assert group["queries"][0]["text"] == QUESTION
    assert group["queries"][0]["useless"] == ["harbour/north-pier.md#L4"]
    (scores,) = evaluate([Path(store.root, ".commonplace", FILE)])
    assert (scores.queries, scores.any_at_5) == (1, 1)
    page.get_by_role("button", name="Not useless after all").click()
    page.locator(".badge.useless").wait_for(state="detached")
    assert InjectionLabels(store).groups() == []


def test_an_import_is_seen_while_it_runs(changed: Served, visit: Visit) -> None:
    store, link = changed
    page = visit(link).go("/health")
    bar = page.get_by_label("Importing sessions")
    assert not bar.is_visible()
    page.get_by_text("GitHub token").wait_for()
    page.get_by_text("sessions/damaged/messages.jsonl#L2").wait_for()
    assert page.locator("svg.plot .bar").count() > 5
    notes = ProgressNotes(store.side_files(FOLDER), "import")
    notes._last = 0.0
    notes.note(30, 100)
    bar.wait_for()
    assert bar.evaluate("(one) => one.position") == 0.3
    notes.end()
    bar.wait_for(state="hidden")


def test_a_page_that_is_read_only_changes_nothing(tmp_path: Path, visit: Visit) -> None:
    example_memory.build(tmp_path)
    with serving(tmp_path, read_only=True) as (store, link):
        seen = visit(link)
        for address in ("/memory/profile", "/note/harbour/north-pier.md", "/log", "/health"):
            page = seen.go(address)
            forms = page.locator("main form[method=post]").count()
            assert forms == 0, address
        version = store.version("MEMORY.md")
        seen.expected.append("403")
        send = "{method: 'POST', body: new URLSearchParams({what: 'tea'})}"
        status = page.evaluate(
            f"fetch('/memory/profile/forget', {send}).then((answer) => answer.status)"
        )
        assert status == 403
        assert store.version("MEMORY.md") == version
        # the stream of events ends with the page
        seen.go("/memory")
