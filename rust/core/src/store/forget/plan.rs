//! Plan of a forgetting: where it is, in the files and in the history.

use std::collections::{BTreeMap, BTreeSet};

use xxhash_rust::xxh3::xxh3_128;

use crate::error::{Error, Interrupt, Result};
use crate::files::file_kind::FileKind;
use crate::files::kept_path;
use crate::files::paths::OWN;
use crate::files::version::Version;
use crate::filter::SearchFilter;
use crate::store::Store;
use crate::store::forget::erasure::{Edit, Erasure, FileErasure, Passage};
use crate::store::forget::line_text::file_contains;
use crate::store::forget::needles::{Needle, Needles};
use crate::store::forget::note_units::{merged, range_of_lines, units_with, without};
use crate::store::forget::tombstones::{MIN_TEXT, Tombstones, text_hash, title_hash};
use crate::store::forget::transcript_units::{LineSelection, lines_with};
use crate::store::forget::{ForgetRequest, Forgotten, bare_text, own_needles};
use crate::store::grep::NoteLine;
use crate::text::encoding::line_of;

type Lines = Vec<(u64, u64)>;

/// A plan that is being made.
struct Draft<'a> {
    store: &'a Store,
    request: &'a ForgetRequest,
    tombstones: Tombstones,
    erasure: Erasure,
    forgotten: Forgotten,
    interrupt: Interrupt<'a>,
}

impl Store {
    /// Returns what is to be erased, for people and for [`Store::apply_erasure`].
    pub(super) fn draft(
        &self,
        request: &ForgetRequest,
        interrupt: Interrupt<'_>,
    ) -> Result<(Forgotten, Erasure)> {
        request.filter.check_for_lines()?;
        let mut draft = Draft {
            store: self,
            request,
            tombstones: Tombstones::open(self.root())?,
            erasure: Erasure::default(),
            forgotten: Forgotten::default(),
            interrupt,
        };
        let named = draft.named_lines()?;
        draft.find_needles(&named)?;
        draft.find_files(&named)?;
        draft.find_revisions()?;
        draft.finish()
    }
}

impl Draft<'_> {
    /// The lines that the request names, by path.
    fn named_lines(&self) -> Result<BTreeMap<String, Lines>> {
        let mut named: BTreeMap<String, Lines> = BTreeMap::new();
        for (path, first, last) in &self.request.lines {
            let root = self.store.root();
            let path = root.normalized(&root.relative(path)?).into_owned();
            root.stat(&path)?;
            named.entry(path).or_default().push((*first, *last));
        }
        Ok(named)
    }

    /// Collects the texts to look for: those that were typed, and those of the lines that are named.
    fn find_needles(&mut self, named: &BTreeMap<String, Lines>) -> Result<()> {
        self.erasure.anywhere = self.request.texts.iter().map(|text| Needle::typed(text)).collect();
        let nothing = Needles::default();
        for (path, lines) in named {
            let (passages, _) = self.scan(path, &nothing, lines, false)?;
            if passages.is_empty() {
                let why = "there is nothing at these lines that could be forgotten".to_owned();
                let line = lines.first().map(|lines| lines.0);
                return Err(Error::Format { path: path.clone(), line, why });
            }
            for passage in passages {
                // one "ok" is not all of them
                let bare = bare_text(&passage.text);
                if bare.len() >= MIN_TEXT {
                    self.erasure.anywhere.push(Needle::exact(&bare));
                }
            }
        }
        Ok(())
    }

    /// Looks through all files that the filter admits.
    fn find_files(&mut self, named: &BTreeMap<String, Lines>) -> Result<()> {
        let (needles, nothing) = (Needles::new(&self.erasure.anywhere)?, Needles::default());
        let request = self.request;
        let filter = &request.filter;
        let mut whole: BTreeSet<String> = BTreeSet::new();
        for path in &self.request.files {
            let root = self.store.root();
            let path = root.normalized(&root.relative(path)?).into_owned();
            root.stat(&path)?;
            whole.insert(path);
        }
        let walk = self.store.root().walk("", self.interrupt)?;
        for (path, _) in walk.files {
            let lines = named.get(&path).map_or(&[][..], |lines| lines);
            let kind = FileKind::of(&path);
            let is_admitted = match kind {
                FileKind::Note => filter.admits(&NoteLine { path: &path }),
                _ => filter.admits_file(&path),
            };
            let takes_all = self.request.all && is_admitted && is_whole_by(filter, &path);
            if whole.contains(&path) || takes_all && kind != FileKind::Other {
                self.take_whole(&path)?;
            } else if is_admitted || !lines.is_empty() {
                let all = self.request.all && is_admitted;
                let needles = if is_admitted { &needles } else { &nothing };
                if !all && lines.is_empty() && needles.is_empty() {
                    continue;
                }
                let (passages, file) = self.scan(&path, needles, lines, all)?;
                self.forgotten.passages.extend(passages);
                if !file.edits.is_empty() {
                    self.erasure.files.insert(path, file);
                }
            }
        }
        Ok(())
    }

    /// Takes a whole file, with the keys of its messages.
    fn take_whole(&mut self, path: &str) -> Result<()> {
        if FileKind::of(path) == FileKind::Transcript {
            let filter = SearchFilter::default();
            let needles = Needles::default();
            let selection =
                LineSelection { path, filter: &filter, needles: &needles, lines: &[], all: true };
            let file = self.store.root().open_read(path)?;
            let is_taken = |hash: &u128| self.tombstones.messages.contains(hash);
            let found = lines_with(&file, &selection, &is_taken, self.interrupt)?;
            self.erasure.messages.extend(found.messages);
            self.erasure.texts.extend(found.titles.iter().map(|title| title_hash(title)));
        }
        let file = FileErasure { whole: true, ..FileErasure::default() };
        self.erasure.files.insert(path.to_owned(), file);
        self.forgotten.files.push(path.to_owned());
        Ok(())
    }

    /// Looks through one file; notes tombstones and the texts of its history on the way.
    fn scan(
        &mut self,
        path: &str,
        needles: &Needles,
        lines: &[(u64, u64)],
        all: bool,
    ) -> Result<(Vec<Passage>, FileErasure)> {
        match FileKind::of(path) {
            FileKind::Note => self.scan_note(path, needles, lines),
            FileKind::Transcript => self.scan_transcript(path, needles, lines, all),
            FileKind::Other => {
                let file = self.store.root().read(path);
                let file = file.unwrap_or_default();
                if needles.are_in(&file) {
                    let why = "it is no note and no transcript; change it by hand";
                    self.forgotten.left.push(format!("{path}: {why}"));
                }
                Ok(Default::default())
            }
        }
    }

    fn scan_note(
        &mut self,
        path: &str,
        needles: &Needles,
        lines: &[(u64, u64)],
    ) -> Result<(Vec<Passage>, FileErasure)> {
        let bytes = match self.store.root().read(path) {
            Err(Error::NotFound { .. }) => return Ok(Default::default()),
            bytes => bytes?,
        };
        let Ok(text) = std::str::from_utf8(&bytes) else {
            if needles.are_in(&bytes) {
                self.forgotten.left.push(format!("{path}: it is not UTF-8; change it by hand"));
            }
            return Ok(Default::default());
        };
        let mut ranges = units_with(text, needles, self.interrupt)?;
        for (first, last) in lines {
            ranges.extend(range_of_lines(text, *first, *last));
        }
        let ranges = merged(ranges);
        if ranges.is_empty() {
            return Ok(Default::default());
        }
        let mut passages = Vec::new();
        for range in &ranges {
            let said = &text[range.clone()];
            self.erasure.texts.extend(text_hash(&bare_text(said)));
            self.own(path, own_needles(said));
            let last = range.start + said.trim_end().len();
            passages.push(Passage {
                path: path.to_owned(),
                first: line_of(text.as_bytes(), range.start),
                last: line_of(text.as_bytes(), last),
                text: said.trim_end().to_owned(),
            });
        }
        // the empty lines between what stays are set right as a whole
        let edits = vec![Edit { start: 0, end: text.len() as u64, with: without(text, &ranges) }];
        let version = Version::of(&bytes).to_string();
        Ok((passages, FileErasure { version, edits, whole: false }))
    }

    fn scan_transcript(
        &mut self,
        path: &str,
        needles: &Needles,
        lines: &[(u64, u64)],
        all: bool,
    ) -> Result<(Vec<Passage>, FileErasure)> {
        let file = match self.store.root().open_read(path) {
            Err(Error::NotFound { .. }) => return Ok(Default::default()),
            file => file?,
        };
        let request = self.request;
        let filter = &request.filter;
        let selection = LineSelection { path, filter, needles, lines, all };
        let is_taken = |hash: &u128| self.tombstones.messages.contains(hash);
        let found = match lines_with(&file, &selection, &is_taken, self.interrupt) {
            Err(Error::Format { .. }) if lines.is_empty() => {
                self.forgotten.left.push(format!("{path}: it is in UTF-16; save it as UTF-8"));
                return Ok(Default::default());
            }
            found => found?,
        };
        if found.unread > 0 {
            let why = format!("{} lines are too long to be read", found.unread);
            self.forgotten.left.push(format!("{path}: {why}"));
        }
        self.erasure.messages.extend(found.messages);
        let said = found.passages.iter().filter_map(|passage| text_hash(&passage.text));
        self.erasure.texts.extend(said);
        self.erasure.texts.extend(found.titles.iter().map(|title| title_hash(title)));
        self.own(path, found.own);
        let version = match found.edits.is_empty() {
            true => String::new(),
            false => Version::of_whole(&file, path, self.interrupt)?.to_string(),
        };
        Ok((found.passages, FileErasure { version, edits: found.edits, whole: false }))
    }

    fn own(&mut self, path: &str, own: Vec<Needle>) {
        if !own.is_empty() {
            self.erasure.own.entry(path.to_owned()).or_default().extend(own);
        }
    }

    /// Looks through the texts of the history, and through torn lines.
    fn find_revisions(&mut self) -> Result<()> {
        let mut own: BTreeMap<String, Needles> = BTreeMap::new();
        for (path, needles) in &self.erasure.own {
            own.insert(path.clone(), Needles::new(needles)?);
        }
        let anywhere = Needles::new(&self.erasure.anywhere)?;
        let request = self.request;
        let filter = &request.filter;
        let dropped: BTreeSet<&String> = self.request.revisions.iter().collect();
        let has_needles = !anywhere.is_empty() || !own.is_empty();
        for kind in ["history", "quarantine"] {
            let folder = format!("{OWN}/{kind}");
            let walk = match self.store.root().walk_all(&folder, self.interrupt, &|_| {}) {
                Err(Error::NotFound { .. }) => continue,
                walk => walk?,
            };
            for (address, _) in walk.files {
                if (self.interrupt)() {
                    return Err(Error::Interrupted);
                }
                let Some(path) = kept_path(&address, kind) else { continue };
                let file = self.erasure.files.get(path);
                let is_whole = file.is_some_and(|file| file.whole)
                    || self.request.all && !filter.has_fields() && filter.admits_file(path);
                let is_admitted = match FileKind::of(path) {
                    FileKind::Note => filter.admits(&NoteLine { path }),
                    _ => filter.admits_file(path),
                };
                let is_held = || -> Result<bool> {
                    let bytes = self.store.read_own(&address)?;
                    Ok(is_admitted && file_contains(path, &bytes, &anywhere)
                        || own.get(path).is_some_and(|own| file_contains(path, &bytes, own)))
                };
                if is_whole || dropped.contains(&address) {
                    self.erasure.dropped.push(address);
                } else if has_needles && is_held()? {
                    match kind {
                        "history" => self.erasure.revisions.push(address),
                        _ => self.erasure.dropped.push(address),
                    }
                }
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(Forgotten, Erasure)> {
        let Self { erasure, forgotten, request, .. } = &mut self;
        for own in erasure.own.values_mut() {
            own.sort_unstable();
            own.dedup();
        }
        for hashes in [&mut erasure.messages, &mut erasure.texts] {
            hashes.sort_unstable();
            hashes.dedup();
        }
        forgotten.revisions = erasure.revisions.len() + erasure.dropped.len();
        forgotten.left.sort();
        forgotten.left.dedup();
        let mut told = String::new();
        for Passage { path, text, .. } in &forgotten.passages {
            told += &format!("{path}\0{text}\0");
        }
        for path in forgotten.files.iter().chain(&request.revisions) {
            told += &format!("{path}\0");
        }
        forgotten.token = format!("{:032x}", xxh3_128(told.as_bytes()));
        Ok((self.forgotten, self.erasure))
    }
}

/// Says whether a filter admits all of a file that it admits: no field is asked for but a session,
/// which all of it is.
fn is_whole_by(filter: &SearchFilter, path: &str) -> bool {
    let (session, session_transcripts) = (None, Vec::new());
    let rest = SearchFilter { session, session_transcripts, ..filter.clone() };
    let is_session = filter.session_transcripts.iter().any(|one| one == path);
    !filter.has_fields() || is_session && !rest.has_fields()
}
