"""Project of a working directory: its git repository, which subfolders and worktrees share."""

from __future__ import annotations

from pathlib import Path


def project_folder(cwd: str) -> Path:
    """Return the git folder of the repository in which a folder is, or was.

    Outside of a repository it is the folder itself, without links.
    """
    here = Path(cwd)
    if not here.is_absolute():
        return here
    try:
        here = here.resolve()
        for folder in (here, *here.parents):
            git = folder / ".git"
            if git.is_file():
                # of a worktree or a submodule: `gitdir: …/.git/worktrees/name`
                git = folder / git.read_text().removeprefix("gitdir:").strip()
                git = git.parent.parent if git.parent.name == "worktrees" else git
            if git.is_dir():
                return git.resolve()
    except (OSError, ValueError):
        # what a host or a file says may be no name of a folder
        pass
    return here
