//! Hard links between visible names: an interrupted rename is undone, others are reported.

use crate::error::{Error, Result};
use crate::files::Files;
use crate::files::platform::Errno;

/// Most names in a message.
const MAX_NAMES: usize = 4;

impl Files {
    /// Undoes a rename of which both names stand: it was made of a link and an unlink and stopped
    /// between the two, or the file system kept half of it through a power cut.
    pub(crate) fn undo_half_rename(&self, from: &str, to: &str) -> Result<()> {
        let handles =
            self.root.path_handle(from).and_then(|from| Ok((from, self.root.path_handle(to)?)));
        let (from, to) = match handles {
            Err(Error::NotFound { .. } | Error::Refused { .. }) => return Ok(()),
            handles => handles?,
        };
        let fail = |e| Error::io("recover", &*to.path, e);
        match (from.stat(), to.stat()) {
            (Ok(one), Ok(other)) if one.id() == other.id() && from.path != to.path => {
                to.unlink().map_err(fail)?;
                // before the list forgets it
                to.sync_folder()
            }
            (Ok(_) | Err(Errno::NOENT), Ok(_) | Err(Errno::NOENT)) => Ok(()),
            (Err(e), _) | (_, Err(e)) => Err(fail(e)),
        }
    }

    /// Names in a refusal of a second hard link which other names the file has in this memory.
    ///
    /// Which of them is wanted is not known, so none is removed.
    pub(crate) fn with_link_names(&self, path: &str, refused: Error) -> Error {
        if !matches!(refused, Error::Refused { code: "hardlink", .. }) {
            return refused;
        }
        let file = |path: &str| {
            let target = self.root.path_handle(path).ok()?;
            target.stat().ok().map(|info| (info.id(), info.links))
        };
        let (Some((one, links)), Ok(walk)) = (file(path), self.root.walk("", &|| false)) else {
            return refused;
        };
        let is_other = |other: &str| other != path && file(other).is_some_and(|(id, _)| id == one);
        let doubled =
            walk.skipped.iter().filter(|(other, why)| *why == "hardlink" && is_other(other));
        let named: Vec<&str> = doubled.map(|(other, _)| other.as_str()).collect();
        let others = named.iter().take(MAX_NAMES).map(|name| format!("{name:?}"));
        let others = others.collect::<Vec<_>>().join(", ");
        let why = match links.saturating_sub(1 + named.len() as u64) {
            _ if named.is_empty() => return refused,
            0 => format!("the same file is also {others}; remove the name that is not wanted"),
            _ => {
                format!("the same file is also {others}, and something that is not shown; copy it")
            }
        };
        Error::refused(path, "hardlink", why)
    }
}
