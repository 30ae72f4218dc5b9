//! Project name of a session, from its working directory.
//!
//! A git worktree is a folder of its own beside or below its repository, and its sessions are of the
//! project of that repository.

/// Folders below a repository in which its worktrees are kept: by people, and by Claude Code.
const WORKTREES_BELOW: [&[&str]; 2] = [&[".worktrees"], &[".claude", "worktrees"]];
/// The folder below the home folder in which Cursor keeps worktrees, by the name of the repository.
const WORKTREES_OF_CURSOR: [&str; 2] = [".cursor", "worktrees"];
/// How a folder beside a repository ends that is a worktree of it, or holds its worktrees (VS Code).
const BESIDE: [&str; 4] = ["-wt", "-worktree", "-worktrees", ".worktrees"];

/// Returns the name of the project in whose folder, or in a worktree of which, a session worked;
/// none for the root of a file system.
pub(super) fn project_name(cwd: &str) -> Option<&str> {
    let mut parts: Vec<&str> = Vec::new();
    for part in cwd.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let place = |folders: &[&str]| parts.windows(folders.len()).position(|at| at == folders);
    if let Some(at) = place(&WORKTREES_OF_CURSOR).filter(|at| parts.len() > at + 3) {
        return Some(parts[at + WORKTREES_OF_CURSOR.len()]);
    }
    let below = WORKTREES_BELOW.iter().filter_map(|folders| place(folders)).min();
    parts.truncate(below.filter(|at| *at > 0).unwrap_or(parts.len()));
    // a branch may be two folders; farther up it is the name of a folder of many repositories
    let nearest = parts.iter().rev().take(3);
    nearest.copied().find_map(repository_beside).or(parts.last().copied())
}

fn repository_beside(folder: &str) -> Option<&str> {
    let name = BESIDE.iter().find_map(|end| folder.strip_suffix(end));
    // `git-worktrees` holds those of many repositories
    name.filter(|name| !name.is_empty() && *name != "git")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_of_a_worktree_is_that_of_its_repository() {
        for (cwd, wanted) in [
            ("/x/repo", Some("repo")),
            ("/x/repo/", Some("repo")),
            ("/x/repo/sub", Some("sub")),
            ("/x/repo/.worktrees/name", Some("repo")),
            ("/x/repo/.worktrees/alex/name/sub", Some("repo")),
            ("/x/repo/.claude/worktrees/calm-otter", Some("repo")),
            ("C:\\x\\repo\\.claude\\worktrees\\calm-otter", Some("repo")),
            ("/x/repo-wt", Some("repo")),
            ("/x/repo-wt/feature", Some("repo")),
            ("/x/repo.worktrees/feature", Some("repo")),
            ("/x/repo-wt/feature/login", Some("repo")),
            ("/x/git-worktrees/mine/repo", Some("repo")),
            ("/x/build-wt/customers/acme/api", Some("api")),
            ("/x/repo-wt/.claude/worktrees/a", Some("repo")),
            ("/home/me/.cursor/worktrees/repo/a1b2", Some("repo")),
            ("/home/me/.codex/worktrees/a1b2/repo", Some("repo")),
            // these are names as any other
            ("/x/worktrees", Some("worktrees")),
            ("/x/-wt", Some("-wt")),
            ("/.worktrees/a", Some("a")),
            ("/x/repo/.worktrees/..", Some("repo")),
            ("/home/me/.cursor/worktrees/repo", Some("repo")),
            ("/x/newt", Some("newt")),
            ("/", None),
            ("", None),
        ] {
            assert_eq!(project_name(cwd), wanted, "{cwd:?}");
        }
    }
}
