"""Safety rules of the web page: each request that must be refused, and what each answer carries."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.routing import Route
from starlette.testclient import TestClient

import commonplace
from commonplace import Store
from commonplace.web.safety import HEADERS, Access
from tests.web_client import ORIGIN, PORT, TOKEN, Client

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    own = commonplace.open(tmp_path / "root")
    own.write("facts/user.md", "# User\n\nLikes tea.\n")
    return own


@pytest.fixture
def client(store: Store) -> Client:
    return Client(store)


def test_without_the_link_nothing_is_read(store: Store) -> None:
    client = Client(store, opens=False)
    for address in ("/", "/notes", "/?q=tea", "/open", "/open?token=wrong", "/none"):
        answer = client.get(address)
        assert answer.status_code == 401
        assert "tea" not in answer.text


def test_cookie_is_for_this_site_and_no_script(store: Store) -> None:
    answer = Client(store, opens=False).client.get("/open", params={"token": TOKEN})
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in cookie
    assert answer.headers["location"] == "/"


def test_cookie_of_nobody_is_refused(store: Store) -> None:
    client = Client(store, opens=False)
    client.client.cookies.set(f"commonplace-{PORT}", TOKEN)
    assert client.get("/").status_code == 401


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:80", "", "localhost."]
)
def test_another_host_name_is_refused(client: Client, host: str) -> None:
    for address in ("/", "/static/site.css", f"/open?token={TOKEN}"):
        assert client.get(address, Host=host).status_code == 421


@pytest.mark.parametrize("host", [f"localhost:{PORT}", f"LOCALHOST:{PORT}", f"[::1]:{PORT}"])
def test_own_names_are_known(client: Client, host: str) -> None:
    session = client.client.cookies[f"commonplace-{PORT}"]
    cookie = f"commonplace-{PORT}={session}"
    assert client.get("/", Host=host, Cookie=cookie).status_code == 200


OTHERS = ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1:80", ""]


@pytest.mark.parametrize("origin", OTHERS)
def test_another_origin_is_refused(client: Client, origin: str) -> None:
    assert client.get("/", Origin=origin).status_code == 403
    answer = client.post("/preferences", {"Origin": origin}, theme="dark")
    assert answer.status_code == 403


def test_a_change_without_origin_is_refused(client: Client) -> None:
    form = {"csrf": client.csrf(), "theme": "dark"}
    assert client.client.post("/preferences", data=form).status_code == 403
    assert (
        client.client.post("/preferences", data=form, headers={"Origin": ORIGIN}).status_code == 303
    )


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_parts_are_not_for_other_sites(client: Client, site: str) -> None:
    fetched = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
    assert client.get("/", **fetched).status_code == 403
    followed = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
    assert client.get("/", **followed).status_code == 200


def test_csrf_token_is_that_of_the_session(store: Store, client: Client) -> None:
    other = Client(store)
    for wrong in ("", "x", other.csrf(), "\u20ac"):
        answer = client.post("/preferences", csrf=wrong, theme="dark")
        assert answer.status_code == 403
        assert "theme" not in client.client.cookies
    assert client.post("/preferences", theme="dark").status_code == 303


def test_every_change_is_refused_when_read_only(store: Store) -> None:
    client = Client(store, read_only=True)
    routes = [route for route in client.app.routes if isinstance(route, Route)]
    changes = {route.path for route in routes if route.methods and "POST" in route.methods}
    assert changes > {"/preferences"}
    for path in changes - {"/preferences"}:
        assert client.post(path.replace("{path:path}", "facts/user.md")).status_code == 403
    assert client.post("/preferences", theme="dark").status_code == 303


def test_no_change_answers_get(client: Client) -> None:
    routes = [route for route in client.app.routes if isinstance(route, Route)]
    for route in routes:
        assert route.methods in ({"GET", "HEAD"}, {"POST"})
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
        answer = client.client.request(method, "/preferences", headers={"Origin": ORIGIN})
        assert answer.status_code == 405


@pytest.mark.parametrize("address", ["/", "/none", "/static/site.css", "/open?token=x", "/?q=%00"])
def test_each_answer_has_the_headers(client: Client, address: str) -> None:
    answer = client.get(address)
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    assert "unsafe" not in answer.headers["content-security-policy"]
    if not address.startswith("/static"):
        assert answer.headers["cache-control"] == "no-store"
        assert "<script>" not in answer.text
        assert " style=" not in answer.text
        assert " onclick=" not in answer.text


def test_an_internal_error_has_the_headers(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(store)
    monkeypatch.setattr("commonplace.web.search_page.choices", lambda _: 1 / 0)
    client.client = TestClient(client.app, base_url=ORIGIN, raise_server_exceptions=False)
    client.get(f"/open?token={TOKEN}")
    answer = client.get("/")
    assert answer.status_code == 500
    assert "division" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("back", ["//evil.example", "https://evil.example", "/\\evil", "/a\nb: c"])
def test_no_redirect_leaves_the_server(client: Client, back: str) -> None:
    answer = client.post("/preferences", theme="dark", back=back)
    assert answer.headers["location"] == "/"


def test_static_files_are_those_of_the_package(client: Client) -> None:
    assert client.get("/static/site.css").headers["content-type"].startswith("text/css")
    for name in ("..%2fsafety.py", "%2e%2e/safety.py", "none.css", "..%5csafety.py"):
        assert client.get(f"/static/{name}").status_code == 404


def test_a_very_large_form_is_refused(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("commonplace.web.page.LARGEST_FORM", 100)
    assert client.post("/preferences", theme="x" * 200).status_code == 413


def test_a_form_that_is_no_utf8_is_refused(client: Client) -> None:
    headers = {"Origin": ORIGIN, "Content-Type": "application/x-www-form-urlencoded"}
    for body in (b"\xff", b"csrf=%ff"):
        answer = client.client.post("/preferences", content=body, headers=headers)
        assert answer.status_code == 400


def test_old_sessions_end_when_there_are_very_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("commonplace.web.safety.MOST_SESSIONS", 2)
    access = Access(PORT)
    sessions = [access.open_session() for _ in range(3)]
    assert [access.knows(session) for session in sessions] == [False, True, True]
    assert not access.knows("")
