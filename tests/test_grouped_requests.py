"""Requests of many threads that are sent as one: each gets the answers to its own calls."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.service.engine_http import EngineUnavailable, NoAnswer
from commonplace.service.grouped_requests import UNDER_WAY, GroupedRequests


class Server:
    """Answers each item with its negative; refuses a request with 13, and does not answer 14."""

    def __init__(self) -> None:
        self.requests: list[list[int]] = []
        self.go_on = threading.Event()
        self.go_on.set()
        self.came = threading.Semaphore(0)
        self.most, self._now, self._lock = 0, 0, threading.Lock()

    def send(self, items: Sequence[int]) -> list[int]:
        with self._lock:
            self.requests.append(list(items))
            self._now += 1
            self.most = max(self.most, self._now)
        self.came.release()
        self.go_on.wait(10)
        with self._lock:
            self._now -= 1
        if 14 in items:
            raise NoAnswer("gone")
        if 13 in items:
            raise EngineUnavailable(f"refused: {len(items)}")
        return [-item for item in items]


def grouped(server: Server, most: int = 100) -> GroupedRequests[int, int]:
    return GroupedRequests(server.send, lambda _: 1, most)


def waits(calls: GroupedRequests[int, int], count: int) -> None:
    """Wait until so many calls wait."""
    deadline = time.monotonic() + 10
    while len(calls._waiting) < count:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_a_call_alone_is_sent_at_once() -> None:
    server = Server()
    calls = grouped(server)
    assert [calls([1, 2]), calls([]), calls([3])] == [[-1, -2], [], [-3]]
    assert server.requests == [[1, 2], [], [3]]


def test_calls_that_wait_go_together_in_their_order() -> None:
    server = Server()
    server.go_on.clear()
    calls = grouped(server, most=6)
    with ThreadPoolExecutor(20) as pool:
        first = [pool.submit(calls, [number]) for number in range(UNDER_WAY)]
        for _ in first:
            server.came.acquire()
        rest = []
        for number in range(10, 14):
            rest.append(pool.submit(calls, [number, number + 10]))
            waits(calls, len(rest))
        # what is large does not wait
        large = pool.submit(calls, [30, 31, 32, 33])
        server.came.acquire()
        assert server.requests[-1] == [30, 31, 32, 33]
        server.go_on.set()
        assert [one.result() for one in first] == [[0], [-1]]
        assert large.result() == [-30, -31, -32, -33]
        assert [one.result() for one in rest[:3]] == [[-10, -20], [-11, -21], [-12, -22]]
        with pytest.raises(EngineUnavailable, match="refused: 2"):
            rest[3].result()
    assert server.requests[UNDER_WAY + 1 :] == [[10, 20, 11, 21, 12, 22], [13, 23]]


def test_a_group_that_fails_is_sent_one_by_one() -> None:
    server = Server()
    server.go_on.clear()
    calls = grouped(server)
    with ThreadPoolExecutor(20) as pool:
        first = [pool.submit(calls, [number]) for number in range(UNDER_WAY)]
        for _ in first:
            server.came.acquire()
        rest = [pool.submit(calls, [number]) for number in (12, 13, 15)]
        waits(calls, len(rest))
        server.go_on.set()
        assert [rest[0].result(), rest[2].result()] == [[-12], [-15]]
        with pytest.raises(EngineUnavailable, match="refused: 1"):
            rest[1].result()
    assert sorted(server.requests[UNDER_WAY]) == [12, 13, 15]
    assert sorted(server.requests[UNDER_WAY + 1 :]) == [[12], [13], [15]]


def test_a_group_that_gets_no_answer_is_not_sent_again() -> None:
    server = Server()
    server.go_on.clear()
    calls = grouped(server)
    with ThreadPoolExecutor(20) as pool:
        first = [pool.submit(calls, [number]) for number in range(UNDER_WAY)]
        for _ in first:
            server.came.acquire()
        rest = [pool.submit(calls, [number]) for number in (12, 14)]
        waits(calls, len(rest))
        server.go_on.set()
        for one in rest:
            with pytest.raises(NoAnswer, match="gone"):
                one.result()
    assert len(server.requests) == UNDER_WAY + 1


@settings(max_examples=50)
@given(st.lists(st.lists(st.integers(0, 13), max_size=5), max_size=40))
def test_each_gets_what_it_would_get_alone(asked: list[list[int]]) -> None:
    server = Server()
    calls = grouped(server, most=20)

    def call(items: list[int]) -> list[int] | str:
        try:
            return calls(items)
        except EngineUnavailable as error:
            return str(error)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(call, asked))
    alone = [
        f"refused: {len(items)}" if 13 in items else [-item for item in items] for items in asked
    ]
    assert found == alone
    assert server.most <= 8
