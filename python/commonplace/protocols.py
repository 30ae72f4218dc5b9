"""Protocols of a chat model and of an embedder, so that no vendor is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Embedder(Protocol):
    """Turns texts into vectors whose cosine tells how much alike they are.

    Vectors of two embedders are never compared: `id` names the model and everything else that
    changes what comes out of it. `commonplace.adapters` makes embedders of what people have.
    """

    @property
    def id(self) -> str:
        """The name of the model, the same in every process."""
        ...

    @property
    def dims(self) -> int:
        """How many numbers a vector has."""
        ...

    def embed_documents(self, texts: list[str], /) -> NDArray[np.float32]:
        """Return one vector a text, in the order of the texts: float32, `[len(texts), dims]`."""
        ...

    def embed_query(self, text: str, /) -> NDArray[np.float32]:
        """Return the vector of a query: float32, `[dims]`."""
        ...


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model asks for a tool; `id` is what the answer refers to.

    `arguments` is an object, or the text that the model gave when that was no JSON of one.
    """

    id: str
    name: str
    arguments: dict[str, Any] | str


@dataclass(frozen=True, slots=True)
class Turn:
    """One entry of a conversation with a model.

    An assistant's turn may hold `calls`. A turn of the role `tool` answers one of them: `call_id`
    says which, `failed` that the text is an error.
    """

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered; `tokens` is what it cost, in and out, 0 when it does not say."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    tokens: int = 0


class ChatModel(Protocol):
    """A language model that can be given tools."""

    def complete(
        self,
        turns: Sequence[Turn],
        tools: Sequence[Mapping[str, Any]] = (),
        *,
        max_tokens: int = 1024,
    ) -> Reply:
        """Return the model's next turn.

        Args:
            turns: The conversation so far, oldest first.
            tools: What it may call, each with `name`, `description` and `parameters`, a JSON
                schema.
            max_tokens: The most that it may answer.

        Returns:
            Text, calls, or both.
        """
        ...
