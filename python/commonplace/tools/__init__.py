"""Tools of a memory system: JSON schemas, and calls by a model with checked arguments."""

from commonplace.tools.toolset import Effect, Tool, Toolset, tool, tools_for, tools_of
from commonplace.tools.versioned_text import VersionedText

__all__ = ["Effect", "Tool", "Toolset", "VersionedText", "tool", "tools_for", "tools_of"]
