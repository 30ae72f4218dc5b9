"""Registry of memory systems: classes with tools, by name.

Ours register themselves with `@memory_system(name)`. A package of somebody else names its class in
its `pyproject.toml`, and is found once it is installed:

    [project.entry-points."commonplace.memories"]
    diary = "my_package:Diary"
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from commonplace.errors import InvalidArgument, NotFound
from commonplace.tools import tools_of

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

GROUP = "commonplace.memories"

Kind = TypeVar("Kind", bound=type)
_systems: dict[str, type] = {}


def memory_system(name: str) -> Callable[[Kind], Kind]:
    """Register a class as a memory system.

    Args:
        name: By which `find_system()` finds it.

    Raises:
        TypeError: No method of the class is marked with `@tool`.
        InvalidArgument: Another class has the name.
    """

    def register(kind: Kind) -> Kind:
        if not tools_of(kind):
            raise TypeError(f"{kind.__name__} has no tools; mark its methods with @tool")
        if _systems.setdefault(name, kind) is not kind:
            raise InvalidArgument(f"there is a memory system {name!r} already; choose another name")
        return kind

    return register


def find_system(name: str) -> type:
    """Return the class of a memory system, of ours or of an installed package.

    Raises:
        NotFound: There is none of this name; those that there are are named.

    >>> from commonplace.memories import find_system
    >>> find_system("profile").__name__
    'Profile'
    """
    if name not in _systems:
        for entry in _installed().select(name=name):
            memory_system(name)(entry.load())
    if name not in _systems:
        raise NotFound(f"no memory system {name!r}; there are {', '.join(system_names())}")
    return _systems[name]


def system_names() -> list[str]:
    """Return the names of all memory systems, in alphabetical order."""
    return sorted({*_systems, *_installed().names})


def _installed() -> EntryPoints:
    """Return the entry points of other packages; reading them costs more than our own systems."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - ours are found without it

    return entry_points(group=GROUP)
