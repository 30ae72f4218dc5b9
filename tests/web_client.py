"""Client of the web page for tests, with the cookie of the printed link."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from starlette.testclient import TestClient

from commonplace.web.application import application

if TYPE_CHECKING:
    import httpx2

    from commonplace.store import Store

PORT, TOKEN = 8766, "a token of tests"
ORIGIN = f"http://127.0.0.1:{PORT}"


class Client:
    """A client of the page of a store, with the session that the printed link opens."""

    def __init__(self, store: Store, *, read_only: bool = False, opens: bool = True) -> None:
        self.app = application(store, port=PORT, token=TOKEN, read_only=read_only)
        self.client = TestClient(self.app, base_url=ORIGIN, follow_redirects=False)
        if opens:
            assert self.client.get("/open", params={"token": TOKEN}).status_code == 303

    def get(self, address: str, **headers: str) -> httpx2.Response:
        return self.client.get(address, headers=headers)

    def csrf(self) -> str:
        found = re.search(r'name="csrf" value="([^"]+)"', self.get("/").text)
        assert found
        return found[1]

    def post(
        self, address: str, headers: dict[str, str] | None = None, /, **form: Any
    ) -> httpx2.Response:
        fields = {"csrf": self.csrf()} | form
        return self.client.post(address, data=fields, headers={"Origin": ORIGIN} | (headers or {}))
