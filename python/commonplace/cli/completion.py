"""Completion scripts of shells, over shtab."""

from __future__ import annotations

from typing import Any

import shtab

from commonplace.cli.parser import UsageError, full_parser

# By shell, the function that completes the id of a session: one of the latest of the root that is
# meant
SHELL_FUNCTIONS = {
    "bash": """
_commonplace_sessions() {
  local root=() at
  for at in "${!COMP_WORDS[@]}"; do
    [[ ${COMP_WORDS[at]} == --root ]] && root=(--root "${COMP_WORDS[at + 1]}")
  done
  local ids=$(commonplace "${root[@]}" sessions -n 200 2>/dev/null | awk '{ print $3 }')
  compgen -W "$ids" -- "$1"
}
""",
    "zsh": """
_commonplace_sessions() {
  local -a ids root
  local at=${words[(I)--root]}
  (( at )) && root=(--root "${(Q)words[at + 1]}")
  ids=(${(f)"$(commonplace $root sessions -n 200 2>/dev/null | awk '{ print $3 }')"})
  compadd -a ids
}
""",
}


def completion(shell: str) -> str:
    """Return the completion script of a shell.

    Raises:
        UsageError: There is none for this shell.
    """
    if shell not in shtab.SUPPORTED_SHELLS:
        known = ", ".join(shtab.SUPPORTED_SHELLS)
        raise UsageError(f"there is no completion for {shell!r}, only for {known}")
    functions: Any = SHELL_FUNCTIONS
    return str(shtab.complete(full_parser(), shell=shell, preamble=functions))
