"""Completion scripts of shells, over shtab."""

from __future__ import annotations

from typing import Any

import shtab

from commonplace.cli.help import full_parser
from commonplace.cli.parser import UsageError

# By shell, the functions that complete the id of a session (one of the latest), a project (that of
# one of them) and the path of a file, of the root that the line names. What files are called is
# never expanded: `compgen -W` would run `$(…)`.
SHELL_FUNCTIONS = {
    "bash": r"""
_commonplace_root() {
  local at word value
  root=()
  for at in "${!COMP_WORDS[@]}"; do
    word=${COMP_WORDS[at]}
    case $word in
      --root)
        value=${COMP_WORDS[at + 1]}
        # "=" is a word of its own
        [[ $value == = ]] && value=${COMP_WORDS[at + 2]}
        ;;
      --root=*) value=${word#--root=} ;;
      *) continue ;;
    esac
    value=${value#[\"\']} value=${value%[\"\']} value=${value//\\/}
    case $value in "~" | "~/"*) value=$HOME${value#"~"} ;; esac
    root=(--root "$value")
  done
}
_commonplace_of_sessions() {
  local root found
  _commonplace_root
  commonplace "${root[@]}" sessions -n 200 2>/dev/null | awk -F '  +' "$2" |
    while IFS= read -r found; do
      [[ $found == "$1"* ]] && printf '%q\n' "$found"
    done
}
_commonplace_sessions() { _commonplace_of_sessions "$1" '{ print $2 }'; }
# of a session without one the field is not there
_commonplace_projects() { _commonplace_of_sessions "$1" 'NF > 5 && !seen[$3]++ { print $3 }'; }
# by this name shtab has readline quote what it inserts
_commonplace_files() {
  local root found typed=${1//\\/} folder=()
  _commonplace_root
  [[ $typed == */* ]] && folder=("${typed%/*}")
  commonplace "${root[@]}" list "${folder[@]}" 2>/dev/null | sed -E 's/^.{28}//; s/  .*//' |
    while IFS= read -r found; do
      [[ $found == "$typed"* ]] && printf '%s\n' "$found"
    done
}
""",
    "zsh": r"""
_commonplace_root() {
  local word value
  local -i at
  root=()
  for at in {1..$#words}; do
    word=${words[at]}
    case $word in
      (--root) value=${words[at + 1]} ;;
      (--root=*) value=${word#--root=} ;;
      (*) continue ;;
    esac
    value=${(Q)value}
    case $value in ("~"|"~/"*) value=$HOME${value#"~"} ;; esac
    root=(--root "$value")
  done
}
_commonplace_of_sessions() {
  local -a found root
  _commonplace_root
  found=(${(f)"$(commonplace $root sessions -n 200 2>/dev/null | awk -F '  +' "$1")"})
  compadd -a found
}
_commonplace_sessions() { _commonplace_of_sessions '{ print $2 }' }
_commonplace_projects() { _commonplace_of_sessions 'NF > 5 && !seen[$3]++ { print $3 }' }
_commonplace_files() {
  local -a found root folder
  _commonplace_root
  [[ $PREFIX == */* ]] && folder=(${(Q)PREFIX%/*})
  found=(${(f)"$(commonplace $root list $folder 2>/dev/null | sed -E 's/^.{28}//; s/  .*//')"})
  compadd -a found
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
    return str(shtab.complete(full_parser(with_groups=True), shell=shell, preamble=functions))
