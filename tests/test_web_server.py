"""Server of the web page: what listens, and how soon it answers."""

from __future__ import annotations

import threading
import time
from http.client import HTTPConnection
from pathlib import Path

import pytest
import uvicorn

from commonplace import Store
from commonplace.cli import run
from commonplace.web.application import application
from commonplace.web.server import LOOPBACK, listening


def test_a_port_in_use_is_told() -> None:
    with listening() as listener:
        host, port = listener.getsockname()
        assert host == LOOPBACK
        # on Linux a second one may not listen there either
        with pytest.raises(OSError, match="in use"):
            listening(port)


def test_no_answer_waits_for_an_acknowledgement(opened: Store) -> None:
    with listening() as listener:
        port = listener.getsockname()[1]
        app = application(opened, port=port)
        config = uvicorn.Config(app, log_level="error", lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        connection = HTTPConnection(LOOPBACK, port)
        try:
            times = []
            for _ in range(20):
                began = time.perf_counter()
                connection.request("GET", "/health")
                answer = connection.getresponse()
                answer.read()
                times.append(time.perf_counter() - began)
            assert answer.status == 401
        finally:
            connection.close()
            server.should_exit = True
            thread.join()
    # the kernel acknowledges after 40 ms; a busy machine may be as late, but not each time
    assert min(times) < 0.03


@pytest.mark.parametrize("command", [["web"], ["serve"], ["mcp", "--http"]])
def test_a_port_that_there_is_not_is_refused(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--root", str(tmp_path), *command, "--port", "65536"]) == 2
    assert "65535 at most" in capsys.readouterr().err


@pytest.mark.parametrize("engine", ["nonsense", "127.0.0.1:9200", "http://127.0.0.1:9200,two"])
def test_an_engine_that_is_no_address_is_refused(
    engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--root", str(tmp_path), "serve", "--engine", engine]) == 2
    assert "http://127.0.0.1:9200, not" in capsys.readouterr().err
