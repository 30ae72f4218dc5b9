"""Group commit of requests: the calls of many threads that wait are sent in one request."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from commonplace.service.engine_http import NoAnswer

UNDER_WAY = 2
"""Requests at once: the next one is made while the engine works on the one before."""
Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(eq=False)
class _Call(Generic[Item, Answer]):
    """What one thread asks, and what comes back."""

    items: Sequence[Item]
    is_sent: bool = False
    is_done: bool = False
    answers: list[Answer] | None = None
    error: Exception | None = None
    """Why there are no answers, unless that may be due to calls that were sent with it."""


class GroupedRequests(Generic[Item, Answer]):
    """Sends the items of many callers together, and gives each the answers to its own.

    A call is sent at once if it is large, or if fewer than `UNDER_WAY` requests are under way. Else
    it waits, and goes with others that wait, in the order in which they came. What a caller gets
    does not depend on who else calls: if a request of several is refused, each is sent alone.

    Args:
        send: Makes one request of some items, and returns an answer for each, in their order.
        size: Returns how large an item is.
        most: The size of a request; one call may be larger.
    """

    def __init__(
        self,
        send: Callable[[Sequence[Item]], list[Answer]],
        size: Callable[[Item], int],
        most: int,
    ) -> None:
        self._send, self._size, self._most = send, size, most
        self._waiting: list[_Call[Item, Answer]] = []
        self._under_way = 0
        self._changed = threading.Condition()

    def __call__(self, items: Sequence[Item]) -> list[Answer]:
        """Return an answer for each item, in their order.

        Raises:
            Exception: What `send` raises for these items alone.
        """
        if self._size_of(items) > self._most // 2:
            return self._send(items)
        own = _Call[Item, Answer](items)
        with self._changed:
            self._waiting.append(own)
        while group := self._group_for(own):
            self._make(group)
        if own.error is not None:
            raise own.error
        return self._send(items) if own.answers is None else own.answers

    def _size_of(self, items: Sequence[Item]) -> int:
        return sum(map(self._size, items))

    def _group_for(self, own: _Call[Item, Answer]) -> list[_Call[Item, Answer]]:
        """Return calls that this thread is to send, once they may be; none when `own` is done."""
        with self._changed:
            self._changed.wait_for(
                lambda: own.is_done or (not own.is_sent and self._under_way < UNDER_WAY)
            )
            if own.is_done:
                return []
            group: list[_Call[Item, Answer]] = []
            size = 0
            while self._waiting:
                size += self._size_of(self._waiting[0].items)
                if group and size > self._most:
                    break
                group.append(self._waiting.pop(0))
                group[-1].is_sent = True
            self._under_way += 1
            return group

    def _make(self, group: list[_Call[Item, Answer]]) -> None:
        """Make one request, and tell all whose calls are in it."""
        answers: list[Answer] | None = None
        error: Exception | None = None
        try:
            answers = self._send([item for call in group for item in call.items])
        except Exception as caught:  # noqa: BLE001 - it is raised by the threads whose calls these are
            # what is refused may be refused for the items of one
            error = caught if len(group) == 1 or isinstance(caught, NoAnswer) else None
        finally:
            with self._changed:
                self._under_way -= 1
                at = 0
                for call in group:
                    end = at + len(call.items)
                    call.answers = None if answers is None else answers[at:end]
                    call.error, call.is_done, at = error, True, end
                self._changed.notify_all()
