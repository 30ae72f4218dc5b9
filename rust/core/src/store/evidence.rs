//! Defence against forged index snapshots: a hit must show a query term, or its file is compared.
//!
//! A snapshot that somebody crafted may give a hit that holds nothing of what it was found by, or
//! name another heading, category or line. The text of a hit itself is checked first; only where
//! that is no evidence, its whole file is compared with the index, once.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::catalog::{Catalog, DocMeta};
use crate::error::{Interrupt, Result};
use crate::files::platform::FileExt as _;
use crate::index::topk::collector::Scored;
use crate::messages::message::{self, Message, ParsedLine};
use crate::store::Store;
use crate::store::document_reader::DocumentReader;
use crate::store::hit::Hit;
use crate::text::parser::parse;
use crate::text::snippet_terms::SnippetTerms;
use crate::text::time::day_in_words;

/// Most bytes before a document in which line ends are counted.
const BEFORE: u64 = 1 << 20;

impl DocumentReader<'_> {
    /// Returns whether a hit is what the index says of it: its file was compared with the index, or
    /// its text shows it, or the text of the document that it was found by.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::error::Error::Interrupted).
    pub(super) fn is_evident(
        &mut self,
        hit: &Hit,
        shown: u32,
        found_by: &Scored,
        terms: &Arc<SnippetTerms>,
        interrupt: Interrupt<'_>,
    ) -> Result<bool> {
        let is_evident =
            self.catalog.is_verified(&hit.path) || self.has_evidence(shown, hit, terms);
        if is_evident || shown == found_by.document {
            return Ok(is_evident);
        }
        let (document, among) = (std::iter::once(found_by.document), terms.languages());
        let language = self.catalog.index.languages_of(document, among, interrupt)?[0];
        let hit = self.hit(found_by, terms).map(|hit| hit.read_in(language));
        Ok(hit.is_some_and(|hit| self.has_evidence(found_by.document, &hit, terms)))
    }

    /// Returns whether a hit is what the index says of it, as far as that is seen at once.
    fn has_evidence(&mut self, document: u32, hit: &Hit, terms: &SnippetTerms) -> bool {
        let doc = self.catalog.docs[document as usize];
        self.has_place(document, &doc, hit) && self.holds_any(&doc, hit, terms)
    }

    /// Returns whether the heading, the category and the line of a hit are those of its text. That
    /// depends on no query, so it is checked once.
    fn has_place(&mut self, document: u32, doc: &DocMeta, hit: &Hit) -> bool {
        if self.catalog.checked_places.lock().contains(&document) {
            return true;
        }
        let before = self.neighbour(doc, -1);
        let labelled = hit.message.is_some() || is_headed(doc, before.as_ref(), hit);
        labelled && self.is_at_line(document, doc, before)
    }

    /// Returns whether any term stands in what is indexed of a hit.
    fn holds_any(&mut self, doc: &DocMeta, hit: &Hit, terms: &SnippetTerms) -> bool {
        let occur_in = |text: &str| terms.occur_in(text, hit.language);
        if occur_in(&hit.text) || occur_in(&hit.path) {
            return true;
        }
        let Some(message) = &hit.message else {
            return hit.heading.iter().any(|heading| occur_in(heading));
        };
        let speaker = message.name.as_deref().unwrap_or(&message.role);
        let time = message.time.as_deref().unwrap_or_default();
        let day = message.timestamp_ms.map(day_in_words).unwrap_or_default();
        [speaker, time, &day].into_iter().any(occur_in)
            || [-1, 1].into_iter().any(|step| {
                let beside = self.neighbour(doc, step).and_then(|doc| self.message(&doc));
                beside.is_some_and(|message| occur_in(&message.text))
            })
    }

    /// Returns the metadata of the document that stands so many places behind another in its file.
    fn neighbour(&self, doc: &DocMeta, step: isize) -> Option<DocMeta> {
        let (docs, files) = (&self.catalog.docs, &self.catalog.files);
        let documents = &files[doc.file as usize].documents;
        let place = documents.partition_point(|number| docs[number as usize].start < doc.start);
        let place = place.checked_add_signed(step).filter(|&place| place < documents.len())?;
        Some(docs[documents.get(place) as usize])
    }

    fn message(&mut self, doc: &DocMeta) -> Option<Message> {
        match message::parse(&self.bytes(doc)?) {
            ParsedLine::Message(message) => Some(message),
            _ => None,
        }
    }

    /// Returns whether a document, of which all else was checked, is as many lines behind the one
    /// before it as the index says.
    fn is_at_line(&mut self, document: u32, doc: &DocMeta, before: Option<DocMeta>) -> bool {
        let (start, line) = before.map_or((0, 1), |before| (before.start, before.line));
        let length = doc.start.saturating_sub(start);
        if length > BEFORE {
            // too far to look each time
            return true;
        }
        let mut bytes = vec![0; length as usize];
        let read = self.file(doc).map(|file| file.read_exact_at(&mut bytes, start));
        let lines = memchr::memchr_iter(b'\n', &bytes).count() as u64;
        let right = matches!(read, Some(Ok(()))) && u64::from(line) + lines == u64::from(doc.line);
        if right {
            self.catalog.checked_places.lock().insert(document);
        }
        right
    }
}

/// Returns whether the heading and the category of a section stand in its text, or are made of what
/// stands there (`MCI\_WINDOW`); of a further part of a section, whether the heading is that of the
/// part before.
fn is_headed(doc: &DocMeta, before: Option<&DocMeta>, hit: &Hit) -> bool {
    let stands = |text: &String| hit.text.contains(text.as_str());
    let heading = match (doc.section_meta.starts, doc.section_meta.level) {
        (0, _) => before.is_some_and(|before| before.trail == doc.trail),
        (_, 0) => hit.heading.is_empty(),
        _ => hit.heading.last().is_some_and(|last| stands(last) || is_heading_of(&hit.text, last)),
    };
    heading && hit.category.as_ref().is_none_or(stands)
}

/// Returns whether a text has this heading as plain text.
fn is_heading_of(text: &str, heading: &str) -> bool {
    parse(text).sections.iter().any(|section| section.heading == heading)
}

impl Store {
    /// Compares the index with the files of hits that are not evident; returns whether to ask
    /// again, as it did not hold one of them.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::error::Error::Interrupted).
    pub(super) fn verify_hits(
        &self,
        paths: BTreeSet<String>,
        interrupt: Interrupt<'_>,
    ) -> Result<bool> {
        let mut state = self.write_state(interrupt)?;
        let mut wrong = false;
        for path in paths {
            match state.main.matches_file(self.root(), &path, interrupt)? {
                Some(true) => drop(state.main.verified.insert(path)),
                None => {}
                Some(false) => {
                    wrong = true;
                    if !self.read_with(&mut state, &path, Catalog::verify, interrupt)? {
                        // its text is what was indexed, but not as it was indexed
                        state.main.mark_untrusted();
                    }
                }
            }
        }
        Ok(wrong)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::files::racy_stat::FsClock;
    use crate::store::search::SearchRequest;
    use crate::store::{Store, StoreOptions};

    #[test]
    fn a_heading_is_evident_however_it_is_marked_up() {
        let dir = tempfile::tempdir().unwrap();
        let written = ["A\\_B", "`A_B`", "*A* and [B](b.md)", "A &amp; B", "A and\nB\n---"];
        for (number, heading) in written.iter().enumerate() {
            let mark = if heading.contains('\n') { "" } else { "# " };
            let note = format!("{mark}{heading}\n\nquagga {number}\n");
            fs::write(dir.path().join(format!("{number}.md")), note).unwrap();
        }
        let open = || {
            let clock = FsClock { racy_ns: 0, ..FsClock::default() };
            let options = StoreOptions { clock, watch: false, ..StoreOptions::default() };
            Store::open(dir.path().to_str().unwrap(), options).unwrap()
        };
        drop(open().refresh(&|| false).unwrap());
        let store = open();
        let query = "quagga".to_owned();
        let request = SearchRequest { query, limit: 10, ..SearchRequest::default() };
        assert_eq!(store.search(&request, &|| false).unwrap().hits.len(), written.len());
        let state = store.refresh(&|| false).unwrap();
        assert_eq!(state.snapshot.as_deref(), Some("read"));
        assert!(state.main.verified.is_empty(), "compared: {:?}", state.main.verified);
    }
}
