//! Search filters: by path, kind, time, role, session and category.

use crate::catalog::{Catalog, DocMeta, FileMeta, NO_TIME};
use crate::files::file_kind::FileKind;
use crate::files::paths::is_below;

/// Which documents may be found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchFilter {
    /// Folders and files, of which one must hold the document; none for all.
    pub prefixes: Vec<String>,
    /// Only notes, or only transcripts.
    pub kind: Option<FileKind>,
    /// Not before, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Before, in milliseconds since 1970.
    pub until: Option<i64>,
    /// Only this role.
    pub role: Option<String>,
    /// Only this session.
    pub session: Option<String>,
    /// Only this category.
    pub category: Option<String>,
}

/// A search filter over one catalog, with its names looked up once for each query.
pub(super) struct DocFilter {
    /// By file, whether it passes; `None` if all pass.
    pub files: Option<Vec<bool>>,
    since: Option<i64>,
    until: Option<i64>,
    labels: [Option<Option<u32>>; 3],
}

impl DocFilter {
    pub fn new(filter: &SearchFilter, catalog: &Catalog) -> Self {
        let within = |path: &str| filter.prefixes.iter().any(|prefix| is_below(path, prefix));
        let anywhere = filter.prefixes.is_empty() || within("");
        let passes = |file: &FileMeta| {
            filter.kind.is_none_or(|kind| file.kind == kind) && (anywhere || within(&file.path))
        };
        let all = anywhere && filter.kind.is_none();
        let label = |name: &Option<String>| name.as_ref().map(|name| catalog.labels.get(name));
        Self {
            files: (!all).then(|| catalog.files.iter().map(passes).collect()),
            since: filter.since,
            until: filter.until,
            labels: [&filter.role, &filter.session, &filter.category].map(label),
        }
    }

    /// Says whether every document passes, as with the prefix that all paths have.
    pub fn is_open(&self) -> bool {
        let named = self.labels.iter().any(Option::is_some);
        self.files.is_none() && self.since.is_none() && self.until.is_none() && !named
    }

    #[inline]
    pub fn passes(&self, row: &DocMeta) -> bool {
        let timed = self.since.is_none() && self.until.is_none()
            || row.time != NO_TIME
                && self.since.is_none_or(|since| row.time >= since)
                && self.until.is_none_or(|until| row.time < until);
        let own = [row.role, row.session, row.category];
        timed
            && self.files.as_ref().is_none_or(|files| files[row.file as usize])
            && self.labels.iter().zip(own).all(|(label, own)| label.is_none_or(|l| l == Some(own)))
    }
}
