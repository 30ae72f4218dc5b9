//! Label table: heading trails, roles, sessions and categories by number.
//!
//! An answer shows a few of a hundred thousand labels. Those of a snapshot are read in pages, and all
//! of them only when one is looked for or added.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::index::dictionary::interner::{Interner, hash};
use crate::index::storage::paged_array::{Extent, PagedArray, SnapshotFile};

/// Labels on a page of a snapshot.
pub const LABELS_PER_PAGE: usize = 128;

/// The labels of a catalog.
#[derive(Debug, Default)]
pub struct LabelTable {
    /// The labels of a snapshot, as long as none is added.
    stored: Option<StoredLabels>,
    /// All labels otherwise.
    all: Interner,
}

/// The labels of a snapshot.
#[derive(Debug)]
struct StoredLabels {
    pages: PagedArray<u8>,
    /// Where each label ends in the text of all pages.
    ends: Arc<Vec<u32>>,
    /// All of them, once one was looked for.
    read: OnceLock<Interner>,
}

/// Returns where a label begins and ends, and the page that it is on.
fn span(ends: &[u32], label: usize) -> Option<(Range<usize>, usize)> {
    let start_of = |label: usize| match label.checked_sub(1) {
        Some(before) => ends.get(before).map(|&end| end as usize),
        None => Some(0),
    };
    let page = label / LABELS_PER_PAGE;
    let first = start_of(page * LABELS_PER_PAGE)?;
    let (start, end) = (start_of(label)?, *ends.get(label)? as usize);
    Some((start.checked_sub(first)?..end.checked_sub(first)?, page))
}

/// Returns whether a page holds the labels that have these hashes.
fn is_page(number: usize, text: &[u8], ends: &[u32], hashes: &[u32]) -> bool {
    let first = number * LABELS_PER_PAGE;
    let labels = first..(first + LABELS_PER_PAGE).min(ends.len());
    let last = labels.end.checked_sub(1).and_then(|label| span(ends, label));
    last.is_some_and(|(last, _)| last.end == text.len())
        && labels.into_iter().all(|label| {
            let label_text = span(ends, label).and_then(|(span, _)| text.get(span));
            let label_text = label_text.and_then(|text| std::str::from_utf8(text).ok());
            label_text.is_some_and(|text| hash(text) == hashes[label])
        })
}

impl LabelTable {
    /// Takes the pages, ends and hashes of a snapshot; `None` if they disagree, or the first label is
    /// not empty.
    pub fn from_parts(
        file: Arc<SnapshotFile>,
        pages: Vec<Extent>,
        ends: Vec<u32>,
        hashes: Vec<u32>,
    ) -> Option<Self> {
        let fits = ends.len() == hashes.len()
            && pages.len() == ends.len().div_ceil(LABELS_PER_PAGE)
            && ends.first() == Some(&0)
            && ends.is_sorted();
        let ends = Arc::new(ends);
        let of_page = Arc::clone(&ends);
        let check = move |page: usize, text: &[u8]| is_page(page, text, &of_page, &hashes);
        let pages = PagedArray::of(file, pages, check);
        let stored = Some(StoredLabels { pages, ends, read: OnceLock::new() });
        fits.then(|| Self { stored, ..Self::default() })
    }

    /// Returns the number of labels.
    pub fn len(&self) -> usize {
        self.stored.as_ref().map_or(self.all.len(), |stored| stored.ends.len())
    }

    /// Returns whether there is no label.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a label; an empty one for what is lost of a damaged snapshot.
    pub fn text(&self, label: u32) -> &str {
        match &self.stored {
            Some(stored) => stored.text(label as usize),
            None => self.all.text(label),
        }
    }

    /// Returns the number of a label, if it is known.
    pub fn get(&self, text: &str) -> Option<u32> {
        match &self.stored {
            Some(stored) => stored.read.get_or_init(|| stored.interner()).get(text),
            None => self.all.get(text),
        }
    }

    /// Returns all labels, to add to them.
    pub fn interner(&mut self) -> &mut Interner {
        if let Some(mut stored) = self.stored.take() {
            self.all = stored.read.take().unwrap_or_else(|| stored.interner());
        }
        &mut self.all
    }

    /// Returns the bytes that it takes in memory.
    pub fn bytes(&self) -> usize {
        self.all.bytes() + self.stored.as_ref().map_or(0, StoredLabels::bytes)
    }
}

impl StoredLabels {
    fn text(&self, label: usize) -> &str {
        let found =
            span(&self.ends, label).and_then(|(span, page)| self.pages.get(page)?.get(span));
        found.and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default()
    }

    /// Reads all pages.
    fn interner(&self) -> Interner {
        let mut all = Interner::default();
        for label in 0..self.ends.len() {
            let text = self.text(label);
            if all.get(text).is_some() {
                // of a crafted snapshot; the numbers of the others are to mean what they did
                self.pages.reject();
                all.push_again(text);
            } else {
                all.intern(text);
            }
        }
        all
    }

    fn bytes(&self) -> usize {
        let read = self.read.get().map_or(0, Interner::bytes);
        self.pages.bytes() + self.ends.len() * 8 + read
    }
}

impl From<Interner> for LabelTable {
    fn from(all: Interner) -> Self {
        Self { all, stored: None }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use xxhash_rust::xxh3::xxh3_64;

    use super::*;

    const COUNT: usize = 3 * LABELS_PER_PAGE + 5;

    fn label(number: usize) -> String {
        if number == 0 { String::new() } else { format!("label é {number}") }
    }

    /// Writes labels as a snapshot has them, and opens them; `change` gets the bytes before.
    fn stored(change: impl Fn(&mut Vec<u8>)) -> LabelTable {
        let (mut bytes, mut extents, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        for first in (0..COUNT).step_by(LABELS_PER_PAGE) {
            let start = bytes.len();
            for number in first..(first + LABELS_PER_PAGE).min(COUNT) {
                bytes.extend(label(number).into_bytes());
                ends.push(bytes.len() as u32);
            }
            extents.push((start, bytes.len()));
        }
        change(&mut bytes);
        let extent = |(start, end): (usize, usize)| {
            let sum = xxh3_64(&bytes[start..end]);
            Extent { start: start as u64, bytes: (end - start) as u64, sum }
        };
        let pages = extents.into_iter().map(extent).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        let hashes = (0..COUNT).map(|number| hash(&label(number))).collect();
        LabelTable::from_parts(Arc::new(SnapshotFile::new(file)), pages, ends, hashes).unwrap()
    }

    fn is_damaged(table: &LabelTable) -> bool {
        table.stored.as_ref().is_some_and(|stored| stored.pages.is_damaged())
    }

    #[test]
    fn labels_of_a_snapshot_are_those_of_an_interner() {
        let mut table = stored(|_| {});
        assert_eq!(table.len(), COUNT);
        for number in (0..COUNT).rev() {
            assert_eq!(table.text(number as u32), label(number));
        }
        assert_eq!((table.get("label é 200"), table.get("other")), (Some(200), None));
        assert_eq!(table.get(""), Some(0));
        assert_eq!(table.interner().intern("other"), COUNT as u32);
        assert_eq!((table.text(COUNT as u32), table.text(130)), ("other", &*label(130)));
        assert_eq!(table.get("label é 7"), Some(7));
    }

    #[test]
    fn a_label_that_is_not_what_was_written_is_not_shown() {
        // the sum of the page is right: the text is of a crafted snapshot
        let mut table = stored(|bytes| bytes[8] ^= 1);
        assert_eq!(table.text(LABELS_PER_PAGE as u32), label(LABELS_PER_PAGE));
        assert!(!is_damaged(&table));
        assert_eq!(table.text(1), "");
        assert!(is_damaged(&table));
        // the numbers of the others stay
        assert_eq!(table.interner().text(300), label(300));
    }
}
