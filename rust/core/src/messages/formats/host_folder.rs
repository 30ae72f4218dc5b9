//! Host folder: where a host keeps its sessions on this machine.

use std::ffi::OsString;
use std::path::PathBuf;

/// Where a host keeps its sessions, and the variables by which the host itself is told another place.
#[derive(Clone, Copy, Debug)]
pub struct HostFolder {
    /// Environment variables with what lies between the folder that each names and the sessions;
    /// the first one that is set counts.
    pub variables: &'static [(&'static str, &'static str)],
    /// The place below the home folder where none is set.
    pub home: &'static str,
    /// The folders of sessions in it; `""` is all of it.
    pub sessions: &'static [&'static str],
    /// The folder that each of its files is somewhere below; none where all files are sessions.
    pub within: Option<&'static str>,
    /// How the names of its files end.
    pub extensions: &'static [&'static str],
    /// The database beside the folders of sessions in which newer versions keep them.
    pub database: Option<&'static str>,
}

impl HostFolder {
    /// Returns the folders of sessions, whether they are there or not.
    pub fn paths(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
        let folder = self.folder(variable).into_iter();
        folder.flat_map(|folder| self.sessions.iter().map(move |name| folder.join(name))).collect()
    }

    /// Returns where the database of newer versions would be.
    pub fn database_path(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        Some(self.folder(variable)?.join(self.database?))
    }

    fn folder(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        let value =
            |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let named = self.variables.iter().find_map(|(name, below)| Some(value(name)?.join(below)));
        named.or_else(|| Some(value("HOME")?.join(self.home)))
    }
}
