//! Creation of many files at once, with one wait for the disk.
//!
//! Each file is written in a folder of ours, all are flushed together, and only then gets each its
//! name: so a crash leaves a file whole or absent. What it leaves in our folder is removed by the next
//! call, as callers can make these texts again; so it is not shown, as what other changes leave is.
//! Flushes of many files that wait at the same time share the commits of the file system's journal.

use std::fs::File;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{Error, Result};
use crate::files::Files;
use crate::files::collisions::NameCache;
use crate::files::open::refusal;
use crate::files::path_handle::PathHandle;
use crate::files::paths::OWN;
use crate::files::platform::{
    AsHandle as _, Errno, FolderEntries, Handle, Platform as _, System, unlink,
};
use crate::files::rename::{RenameOutcome, rename_noreplace};
use crate::files::temp_file::TempFile;
use crate::parallel::ordered_map;

/// How many threads wait for the disk.
const FLUSHING_THREADS: usize = 8;

/// Where files are written, below our folder.
const STAGING: &str = "imports/new";

/// A file on its way to its name.
struct NewFile {
    target: PathHandle,
    temp: TempFile,
    written: File,
}

impl Files {
    /// Makes files that are not there yet, each with its text; returns what became of each.
    ///
    /// The lock is held until all are on the disk, so that callers bound their number.
    ///
    /// # Errors
    /// Those of taking the lock, and nothing is made; those of flushing folders. Each file has those of
    /// [`Files::write`]; [`Error::Conflict`] where its name is taken.
    pub(crate) fn create_all(&self, files: &[(&str, &[u8])]) -> Result<Vec<Result<()>>> {
        let _guard = self.begin()?;
        let (mut names, mut folders) = (NameCache::default(), FxHashSet::default());
        let staging = self.root.own_dir(STAGING)?;
        // whoever wrote it had the lock, and is gone
        let listing = self.root.own_dir(STAGING)?;
        remove_all(&staging, listing)?;
        let mut new: Vec<Result<NewFile>> = Vec::with_capacity(files.len());
        for (number, (path, bytes)) in files.iter().enumerate() {
            let target = self.new_target(path, &mut names, &mut folders);
            new.push(target.and_then(|target| {
                let dir = staging.try_clone().map_err(|e| Error::io("write", *path, e))?;
                let at = PathHandle { dir, name: number.to_string(), path: (*path).to_owned() };
                let (temp, written) = TempFile::write_unflushed(at, bytes, None)?;
                Ok(NewFile { target, temp, written })
            }));
        }
        let flushed = in_parallel(new.len(), |at| match &new[at] {
            Ok(file) => {
                file.written.sync_all().map_err(|e| Error::io("write", &*file.target.path, e))
            }
            Err(_) => Ok(()),
        });
        let mut made = Vec::with_capacity(new.len());
        for (file, flushed) in new.into_iter().zip(flushed) {
            made.push(flushed.and(file).and_then(NewFile::publish));
        }
        self.flush_folders(made, folders)
    }

    /// Resolves the place of a file that is not there; its folders are made, and those that are to
    /// be flushed noted.
    fn new_target(
        &self,
        path: &str,
        names: &mut NameCache,
        folders: &mut FxHashSet<String>,
    ) -> Result<PathHandle> {
        let path = self.root.normalized(path);
        self.rules.check_write(&path)?;
        match self.root.stat(&path) {
            Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error),
            Ok(_) => {
                let found = self.root.path_handle(&path)?.version_shown();
                let path = path.into_owned();
                return Err(Error::Conflict { path, expected: "absent".into(), found });
            }
        }
        self.check_collisions_with(&path, names)?;
        self.root.create_path_handle_unflushed(&path, &mut |folder| {
            folders.insert(folder);
        })
    }

    /// Flushes the folders of the files that were made, and those that folders were made in.
    fn flush_folders(
        &self,
        made: Vec<Result<PathHandle>>,
        folders: FxHashSet<String>,
    ) -> Result<Vec<Result<()>>> {
        let mut open: Vec<(String, Handle)> = Vec::new();
        let mut numbers: FxHashMap<String, usize> = FxHashMap::default();
        let mut sorted: Vec<String> = folders.into_iter().collect();
        sorted.sort();
        for folder in sorted {
            let dir = self.root.open_dir(&folder).map_err(|e| refusal("open", &folder, e))?;
            open.push((folder, dir));
        }
        let parents = open.len();
        let made: Vec<Result<(usize, String)>> = made
            .into_iter()
            .map(|made| {
                let PathHandle { dir, path, .. } = made?;
                let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
                let number = *numbers.entry(folder.clone()).or_insert_with(|| {
                    open.push((folder, dir));
                    open.len() - 1
                });
                Ok((number, path))
            })
            .collect();
        let in_doubt =
            |path: &str, e: Errno| Error::InDoubt { path: path.to_owned(), source: e.into() };
        let flushed = in_parallel(open.len(), |at| {
            System::sync_folder(open[at].1.as_handle()).map_err(|e| in_doubt(&open[at].0, e))
        });
        let mut failed: FxHashSet<usize> = FxHashSet::default();
        for (number, done) in flushed.into_iter().enumerate() {
            match done {
                Err(error) if number < parents => return Err(error),
                Err(_) => drop(failed.insert(number)),
                Ok(()) => {}
            }
        }
        let outcome = |made: Result<(usize, String)>| {
            let (number, path) = made?;
            match failed.contains(&number) {
                true => Err(in_doubt(&path, Errno::IO)),
                false => Ok(()),
            }
        };
        Ok(made.into_iter().map(outcome).collect())
    }
}

impl NewFile {
    /// Gives the file its name.
    fn publish(mut self) -> Result<PathHandle> {
        match rename_noreplace(&self.temp.at, &self.target) {
            // a second hard link is tried once more as it is dropped; else recovery removes it
            Ok(renamed) => self.temp.remove_on_drop = renamed == RenameOutcome::BothNames,
            Err(Errno::EXIST) => {
                let (path, found) = (self.target.path.clone(), self.target.version_shown());
                return Err(Error::Conflict { path, expected: "absent".into(), found });
            }
            Err(e) => return Err(refusal("write", &self.target.path, e)),
        }
        Ok(self.target)
    }
}

/// Removes the files that were left in our folder, which `listing` has open once more.
fn remove_all(staging: &Handle, listing: Handle) -> Result<()> {
    let in_folder = |name: &str| format!("{OWN}/{STAGING}/{name}");
    let unlisted = |e| refusal("list", &in_folder(""), e);
    let mut entries = FolderEntries::new(listing).map_err(unlisted)?;
    while let Some(entry) = entries.read() {
        let entry = entry.map_err(unlisted)?;
        // what has no name that is UTF-8 is not of ours
        if let Some(name) = entry.name().filter(|name| !matches!(*name, "." | "..")) {
            unlink((staging.as_handle(), name))
                .map_err(|e| refusal("remove", &in_folder(name), e))?;
        }
    }
    Ok(())
}

/// Runs `work` for each number below `count` on threads that mostly wait; what came of each.
fn in_parallel(count: usize, work: impl Fn(usize) -> Result<()> + Sync) -> Vec<Result<()>> {
    let mut outcomes = Vec::with_capacity(count);
    let mut workers = [(); FLUSHING_THREADS];
    let done = ordered_map(
        &mut workers,
        count,
        &|| false,
        |(), at| Ok((work(at), true)),
        |outcome| {
            outcomes.push(outcome);
            Ok(())
        },
    );
    debug_assert!(done.is_ok(), "nothing in it fails or is interrupted");
    outcomes
}
