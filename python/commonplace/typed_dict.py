"""`TypedDict` as pydantic takes it: before Python 3.12 only that of `typing_extensions`.

Frameworks make their schemas of the annotations of `Toolset.callables()` with pydantic, which
brings `typing_extensions` along. Without pydantic nobody asks.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from typing import TypedDict
else:
    try:
        from typing_extensions import TypedDict
    except ImportError:
        from typing import TypedDict

__all__ = ["TypedDict"]
