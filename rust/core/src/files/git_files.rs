//! `.gitignore` and `.gitattributes` of a memory: derived files, and the merge of transcripts.
//!
//! Both files are made beside a new `.commonplace`, where there is none of that name, and never
//! changed: from then on they are the user's.

use std::fs::File;
use std::io::Write as _;

use crate::files::open::READ_FLAGS;
use crate::files::paths::OWN;
use crate::files::platform::{HandleRef, OpenFlags, Platform as _, System};

/// `history/`, `quarantine/` and `usage.jsonl` are no copies of anything, and not in it.
const IGNORE: &str = "\
# Caches, logs and locks of this machine.
# Not ignored: history/ and quarantine/ hold old texts, usage.jsonl what was used, settings.toml
# what you set.
/index
/index.new
/archive/
/gram_index/
/hooks/
/vectors/
/imports/
/progress/
/redactions.jsonl
/forgetting
/lock
*.lock
*.swap
*.aside
";

/// It holds for its own folder and those below, so it is in the root and not in `.commonplace`.
const ATTRIBUTES: &str = "\
# Two machines both append to a transcript: a merge keeps the lines of both.
*.jsonl merge=union
";

/// Makes both files below the folder of a root. Whatever keeps one from being made, the memory does without it.
pub(super) fn create(root: HandleRef<'_>) {
    for (path, text) in [(&*format!("{OWN}/.gitignore"), IGNORE), (".gitattributes", ATTRIBUTES)] {
        let flags = READ_FLAGS | OpenFlags::WRONLY | OpenFlags::CREATE | OpenFlags::EXCL;
        let made = System::open_beneath((root, path), flags);
        let _ = made.map(|file| File::from(file).write_all(text.as_bytes()));
    }
}
