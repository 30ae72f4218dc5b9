"""A hostile memory in a real browser: no dialog, no request that leaves, no console error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest

from commonplace import Store
from commonplace.doors.hook_log import HookLog
from tests.browser import hostile_memory
from tests.browser.conftest import serving
from tests.browser.watched import Watched

Served = tuple[Store, str]
Visit = Callable[..., Watched]
# what a page may answer to a bad address, and the browser then writes on its console
REFUSED = [f"status of {code}" for code in (400, 403, 404)]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root = tmp_path_factory.mktemp("hostile")
    hostile_memory.build(root)
    with serving(root) as served:
        yield served


def seen_well(seen: Watched, address: str) -> None:
    """Open a page, and look at what only a script could have done to it."""
    page = seen.go(address)
    assert page.url.startswith(seen.origin)
    assert page.locator("header.top a.wordmark").is_visible(), address
    script = (
        "[...document.scripts].every((one) => one.src.startsWith(location.origin + '/static/'))"
    )
    assert page.evaluate(script), address
    strange = "main :is(script, iframe, object, embed, link, style, base, meta, video, audio, img)"
    assert page.locator(strange).count() == 0, address
    # those of an SVG have no protocol
    protocols = (
        "all => all.map((one) => one.protocol ?? new URL(one.href.baseVal, location).protocol)"
    )
    links = page.eval_on_selector_all("a[href]", protocols)
    assert set(links) <= {"http:", "https:", "mailto:"}, address
    handlers = (
        "all => all.flatMap((one) => one.getAttributeNames()).filter((one) => /^on/.test(one))"
    )
    assert page.eval_on_selector_all("*", handlers) == [], address


def test_pages_that_hold_every_vector(hostile: Served, visit: Visit) -> None:
    _, link = hostile
    seen = visit(link)
    seen.expected += REFUSED
    folder = "sessions/--x--/<b>s1"
    for address in (
        "/note/all.md?view=both",
        "/notes?folder=" + quote('<b onclick=alert(1)>"folder'),
        "/edit/all.md",
        "/memory/profile?past=1",
        "/memory",
        "/memory/profile?folder=" + quote('<b onclick=alert(1)>"folder'),
        "/memory/profile?folder=" + quote("<svg onload=alert(1)>"),
        "/import",
        "/memory/agents",
        "/memory/layers",
        "/memory/layers?archived=1",
        "/memory/layers?layer=procedural",
        "/memory/sessions",
        f"/memory/session/{quote(folder)}",
        f"/memory/session/{quote(folder)}?commit=0000000000",
        "/memory/episodes",
        "/sessions",
        "/sessions?project=" + quote("<u>evil"),
        "/log",
        "/health",
        "/?q=alert",
        "/?q=evil.example&source=message",
    ):
        seen_well(seen, address)


def test_each_name_and_some_of_each_kind(hostile: Served, visit: Visit) -> None:
    store, link = hostile
    seen = visit(link)
    seen.expected += REFUSED
    for entry in store.list('<b onclick=alert(1)>"folder'):
        seen_well(seen, f"/note/{quote(entry.path)}")
    sessions = [one.path for one in store.sessions() if "evil" in one.path]
    for path in sessions[:: max(1, len(sessions) // 8)]:
        seen_well(seen, f"/session/{quote(path)}")
    for one in HookLog(store).newest(4):
        seen_well(seen, f"/log/{one['id']}")


def test_a_query_is_text(hostile: Served, visit: Visit) -> None:
    _, link = hostile
    seen = visit(link)
    seen.expected += REFUSED
    page = seen.go("/")
    box = page.get_by_role("searchbox")
    for text in hostile_memory.VECTORS[:26]:
        box.fill(text[:500])
    page.wait_for_url(re.compile(r"\?q="))
    for name in ("q", "project", "role", "since", "system", "source"):
        seen_well(seen, f"/?q=tea&{name}=" + quote('"><script>alert(1)</script>'))
    for address in (
        "/note/" + quote("../../etc/passwd"),
        "/note/%2e%2e/%2e%2e/etc/passwd.md",
        "/memory/profile?user=../../x",
        "/memory/profile?category=" + quote("<svg onload=alert(1)>"),
        "/memory/agents?agent=" + quote("<script>alert(1)</script>"),
        "/memory/session/..%2F..",
        "/memory/episodes?month=" + quote("<b>"),
        "/log/" + quote("<script>"),
        "/<script>alert(1)</script>",
    ):
        seen_well(seen, address)


@pytest.mark.slow
def test_what_is_large_is_shown_in_parts(hostile: Served, visit: Visit) -> None:
    _, link = hostile
    seen = visit(link)
    for address in (
        "/note/long-line.md",
        "/note/rows.md",
        "/session/sessions/long/s/messages.jsonl",
        "/session/sessions/many/s/messages.jsonl",
        "/session/sessions/many/s/messages.jsonl?start=90000",
        "/memory/profile?user=many",
        "/memory/profile?user=many&after=users/many/MEMORY.md%23L9900",
    ):
        answer = seen.page.request.get(seen.origin + address, timeout=60_000)
        assert answer.ok, address
        size = len(answer.body())
        assert size < (14_000_000 if "/note/" in address else 2_000_000), address
        if size < 2_000_000:
            seen_well(seen, address)


def test_a_hostile_page_cannot_ask_or_frame(hostile: Served, visit: Visit) -> None:
    _, link = hostile
    seen = visit(link)
    seen.expected += ["evil", "403", "Refused", "blocked", "401", "ERR_"]
    evil = seen._context.new_page()
    evil.on("console", lambda _: None)
    html = (
        f"<iframe src='{seen.origin}/memory'></iframe>"
        f"<form id=f method=post action='{seen.origin}/memory/profile/forget'>"
        "<input name=what value=tea></form>"
    )
    seen._context.route(
        "http://evil.example/", lambda route: route.fulfill(body=html, content_type="text/html")
    )
    evil.goto("http://evil.example/")
    fetched = evil.evaluate(
        f"fetch('{seen.origin}/memory', {{credentials: 'include'}}).then(() => 'read', () => 'no')"
    )
    assert fetched == "no"
    with evil.expect_navigation():
        evil.evaluate("document.getElementById('f').submit()")
    assert "a change comes from a page of this server" in evil.content()
