//! Auxiliary files (logs, caches) below `.commonplace`, opened through no link.
//!
//! None of them holds the only copy of anything. So whatever else stands in the place of one (a
//! link, a FIFO, a folder, a file with a second hard link) is never followed; it is renamed, and a
//! new file is made. Where `.commonplace` itself is no real folder, every call is refused.

use std::fs::File;
use std::io::Read;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::files::open::{READ_FLAGS, open_regular, refusal};
use crate::files::path_handle::PathHandle;
use crate::files::paths::{OWN, check_read};
use crate::files::platform::{self, Errno, OpenFlags, open_at};
use crate::files::root::Root;

/// How a side file is opened. Only [`Access::Read`] does not make it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// To be read; it must be there.
    Read,
    /// To be read, and written at its end only.
    Append,
    /// To be read and written anywhere.
    Update,
    /// As a new file: what had the name before loses it.
    New,
}

impl FromStr for Access {
    type Err = String;

    /// Reads a mode as Python's `open` names it.
    fn from_str(mode: &str) -> std::result::Result<Self, String> {
        match mode {
            "r" => Ok(Self::Read),
            "a" => Ok(Self::Append),
            "r+" => Ok(Self::Update),
            "x" => Ok(Self::New),
            _ => Err(format!("a mode is \"r\", \"a\", \"r+\" or \"x\", not {mode:?}")),
        }
    }
}

impl Root {
    /// Opens the side file at `path` below `.commonplace`; folders are made as needed, mode 0700,
    /// and the file with mode 0600.
    ///
    /// # Errors
    /// [`Error::Refused`] as for [`Root::open_read`], for what cannot be set aside either;
    /// [`Error::NotFound`] for [`Access::Read`]; [`Error::Io`].
    pub fn open_side(&self, path: &str, access: Access) -> Result<File> {
        check_side(path)?;
        self.open_reserved(path, access)
    }

    /// As [`Root::open_side`], for files of the core as well.
    pub(crate) fn open_reserved(&self, path: &str, access: Access) -> Result<File> {
        let address = format!("{OWN}/{path}");
        if access == Access::Read {
            return self.open_own(&address);
        }
        let target = self.create_path_handle(&address)?;
        let end = if access == Access::Update { OpenFlags::empty() } else { OpenFlags::APPEND };
        let flags = READ_FLAGS | OpenFlags::RDWR | end;
        let make = || {
            let new = flags | OpenFlags::CREATE | OpenFlags::EXCL;
            open_at(target.name(), new).map(File::from)
        };
        let fail = |e| refusal("open", &address, e);
        if access == Access::New {
            // left by a crashed writer; a folder stays
            if target.unlink().is_err_and(|e| e != Errno::NOENT) {
                set_aside(&target)?;
            }
            return make().map_err(fail);
        }
        match make() {
            Err(Errno::EXIST) => {}
            done => return done.map_err(fail),
        }
        match open_regular(target.name(), flags, &address) {
            Err(Error::Refused { .. }) => {
                set_aside(&target)?;
                make().map_err(fail)
            }
            done => done,
        }
    }

    /// Returns the content of a side file, or of one of the core's own; empty where there is none.
    pub(crate) fn read_reserved(&self, path: &str) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match self.open_reserved(path, Access::Read) {
            Ok(mut file) => {
                file.read_to_end(&mut bytes).map_err(|error| Error::io("read", path, error))?;
            }
            Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(bytes)
    }

    /// Gives a side file another name, in the place of what has that name; of a folder it takes it.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Io`]; [`Error::Refused`] as for [`Root::open_side`].
    pub fn rename_side(&self, from: &str, to: &str) -> Result<()> {
        check_side(from)?;
        check_side(to)?;
        let target = |path| self.path_handle(&format!("{OWN}/{path}"));
        let (from, to) = (target(from)?, target(to)?);
        match rename(&from, &to) {
            Err(Error::Refused { .. }) => {
                set_aside(&to)?;
                rename(&from, &to)
            }
            done => done,
        }
    }
}

/// What the core itself keeps below `.commonplace`: to put anything in its place would let two hold
/// the lock, lose the history, or bring back what was forgotten.
const RESERVED: [&str; 7] =
    ["lock", "index", "history", "quarantine", "gram_index", "forgotten", "forgetting"];

/// Checks a name, which must not be one of the core's own.
fn check_side(path: &str) -> Result<()> {
    check_read(path)?;
    let first = path.split_once('/').map_or(path, |(first, _)| first);
    if RESERVED.iter().any(|own| {
        first == *own || first.strip_prefix(own).is_some_and(|rest| rest.starts_with('.'))
    }) {
        let why = "this name is kept for the index, the lock and the history; choose another";
        return Err(Error::refused(path, "reserved", why));
    }
    Ok(())
}

fn set_aside(target: &PathHandle) -> Result<()> {
    let aside = target.sibling(format!("{}.aside", target.name))?;
    // a rename to another name of the same file does nothing, and says that it is done
    let _ = aside.unlink();
    rename(target, &aside)
}

/// A rename follows nothing, whatever the names stand for.
fn rename(from: &PathHandle, to: &PathHandle) -> Result<()> {
    platform::rename(from.name(), to.name()).map_err(|e| refusal("rename", &from.path, e))
}
