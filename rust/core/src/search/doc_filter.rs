//! Document filter: a search filter over one catalog, prepared for one query.

use std::borrow::Cow;

use crate::catalog::{Catalog, DocIds, DocMeta, FileMeta, NO_TIME, ZONE_DOCS};
use crate::filter::{FilterFields, SearchFilter};

/// A search filter over one catalog, with its files and labels looked up once for each query.
pub(super) struct DocFilter<'a> {
    filter: &'a SearchFilter,
    catalog: &'a Catalog,
    /// By file, whether it passes; `None` if all pass.
    files: Option<Vec<bool>>,
    has_fields: bool,
    /// The numbers of the texts that are asked for; none where no document has that text.
    role: Option<u32>,
    session: Option<u32>,
    category: Option<u32>,
}

impl<'a> DocFilter<'a> {
    /// Returns none if every document passes.
    pub fn new(filter: &'a SearchFilter, catalog: &'a Catalog) -> Option<Self> {
        if filter.is_open() {
            return None;
        }
        let files = catalog.files.iter().map(|file| filter.admits_file(&file.path));
        let files = Some(files.collect::<Vec<bool>>()).filter(|files| files.contains(&false));
        let label = |text: &Option<String>| catalog.labels.get(text.as_ref()?);
        let [role, session, category] =
            [&filter.role, &filter.session, &filter.category].map(label);
        let has_fields = filter.has_fields();
        Some(Self { filter, catalog, files, has_fields, role, session, category })
    }

    /// Returns which blocks of [`ZONE_DOCS`] documents may hold any that passes; none where it does
    /// not pay to ask.
    pub fn blocks(&self) -> Option<Vec<bool>> {
        let files = || self.catalog.files.iter();
        // where most files pass, most blocks pass too, and checking blocks does not pay
        let few =
            |files: &&Vec<bool>| files.iter().filter(|&&file| file).count() * 4 <= files.len();
        let mut admitted = self.files.as_ref().filter(few).map(|passes| {
            let some = files().zip(passes).filter(|(_, passes)| **passes);
            self.blocks_of_files(some.map(|(file, _)| file))
        });
        if self.filter.session.is_some() {
            let transcripts = &self.filter.session_transcripts;
            let nameless = |file: &&FileMeta| transcripts.contains(&file.path);
            let mut blocks = self.blocks_of_files(files().filter(nameless));
            if let Some(session) = self.session {
                self.catalog.docs.blocks_of_session(session).for_each(|block| blocks[block] = true);
            }
            if let Some(files) = admitted {
                blocks.iter_mut().zip(files).for_each(|(block, file)| *block &= file);
            }
            admitted = Some(blocks);
        }
        admitted
    }

    /// Returns which blocks hold documents of some files.
    fn blocks_of_files<'f>(&self, files: impl Iterator<Item = &'f FileMeta>) -> Vec<bool> {
        let mut blocks = vec![false; self.catalog.docs.len().div_ceil(ZONE_DOCS)];
        let block = |document: u32| document as usize / ZONE_DOCS;
        for file in files {
            match &file.documents {
                DocIds::Range(run) if run.is_empty() => {}
                DocIds::Range(run) => blocks[block(run.start)..=block(run.end - 1)].fill(true),
                DocIds::List(list) => {
                    list.iter().for_each(|&number| blocks[block(number)] = true);
                }
            }
        }
        blocks
    }

    #[inline]
    pub fn passes(&self, document: u32) -> bool {
        let row = &self.catalog.docs[document as usize];
        self.files.as_ref().is_none_or(|files| files[row.file as usize])
            && (!self.has_fields || self.filter.admits_fields(&CatalogDoc { of: self, row }))
    }
}

/// A document of a catalog, whose labels are compared by number.
struct CatalogDoc<'a> {
    of: &'a DocFilter<'a>,
    row: &'a DocMeta,
}

impl CatalogDoc<'_> {
    fn text(&self, label: u32) -> Cow<'_, str> {
        self.of.catalog.labels.text(label).into()
    }
}

impl FilterFields for CatalogDoc<'_> {
    fn path(&self) -> &str {
        &self.of.catalog.files[self.row.file as usize].path
    }

    #[inline]
    fn timestamp_ms(&self) -> Option<i64> {
        Some(self.row.time).filter(|&time| time != NO_TIME)
    }

    #[inline]
    fn line(&self) -> u64 {
        u64::from(self.row.line)
    }

    fn role(&self) -> Cow<'_, str> {
        self.text(self.row.role)
    }

    fn session(&self) -> Cow<'_, str> {
        self.text(self.row.session)
    }

    fn category(&self) -> Cow<'_, str> {
        self.text(self.row.category)
    }

    #[inline]
    fn has_role(&self, _: &str) -> bool {
        self.of.role == Some(self.row.role)
    }

    #[inline]
    fn has_session(&self, _: &str) -> bool {
        self.of.session == Some(self.row.session)
    }

    #[inline]
    fn has_category(&self, _: &str) -> bool {
        self.of.category == Some(self.row.category)
    }
}
