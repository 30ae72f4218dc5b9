//! The index on disk: written whole, checked whole, never trusted when in doubt.
//!
//! One file of plain little-endian arrays, each as it lies in memory, so that opening is reading.
//! Layout: magic, format number, tokeniser number, root id, length, XXH3 of what follows; then the
//! arrays, each with its length in bytes, padded to eight. It is a cache: a snapshot that is
//! damaged, cut short, of another root or of another version is set aside and built anew.

use xxhash_rust::xxh3::xxh3_64;

use crate::catalog::draft::{Kind, Part};
use crate::catalog::{Catalog, FileRow, Row, Seen};
use crate::files::root::Stat;
use crate::files::stamps::is_trusted;
use crate::index::Index;
use crate::index::bm25f::{FIELDS, Lengths, Weights};
use crate::index::lexicon::Lexicon;
use crate::index::packing::Packed;
use crate::index::patterns::Patterns;
use crate::index::terms::Terms;

const MAGIC: &[u8; 8] = b"CMNPLACE";
/// Raised whenever the layout changes, or how text becomes terms and documents.
const FORMAT: u64 = 2;
const HEAD: usize = 48;

/// Why a snapshot cannot be used.
pub type Refusal = &'static str;

/// Writes a catalog, which must be packed, for the root with this id.
pub fn write(catalog: &Catalog, root: u64) -> Vec<u8> {
    let mut body = Vec::with_capacity(catalog.index.bytes() + catalog.rows.len() * 72);
    let (packed, lengths) = catalog.index.packed();
    let words = catalog.index.words();
    let weights = catalog.index.weights();
    let mut put = |bytes: &[u8]| {
        body.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        body.extend_from_slice(bytes);
        body.resize(body.len().next_multiple_of(8), 0);
    };
    put(bytemuck::bytes_of(&settings(weights)));
    for terms in [&words.words, &words.stems, &catalog.labels] {
        let (text, ends) = terms.parts();
        put(text.as_bytes());
        put(bytemuck::cast_slice(ends));
    }
    put(bytemuck::cast_slice(&words.places));
    put(bytemuck::cast_slice(&words.concept_of_stem));
    let (spellings, ends) = words.patterns.parts();
    put(bytemuck::cast_slice(spellings));
    put(bytemuck::cast_slice(ends));
    put(bytemuck::cast_slice(lengths));
    let (concepts, words) = catalog.index.all_holders();
    put(bytemuck::cast_slice(concepts));
    put(bytemuck::cast_slice(words));
    put(bytemuck::cast_slice(&packed.starts));
    put(bytemuck::cast_slice(&packed.counts));
    put(&packed.lists);
    put(bytemuck::cast_slice(&packed.held_starts));
    put(&packed.held);
    put(bytemuck::cast_slice(&catalog.rows));
    let mut paths = Terms::default();
    let mut stats: Vec<Stat> = Vec::new();
    let mut seen: Vec<u64> = Vec::new();
    let mut summaries: Vec<u32> = Vec::new();
    let mut counts: Vec<u32> = Vec::new();
    let mut documents: Vec<u32> = Vec::new();
    for file in catalog.files.iter().filter(|file| file.present && file.left_out.is_none()) {
        paths.intern(&file.path);
        stats.push(file.stat);
        let Seen { offset, lines, bad_lines, tail } = file.seen;
        seen.extend([offset, tail, u64::from(lines), u64::from(bad_lines)]);
        summaries.push(file.summary);
        counts.push(file.documents.len() as u32);
        documents.extend(&file.documents);
    }
    put(paths.parts().0.as_bytes());
    put(bytemuck::cast_slice(paths.parts().1));
    put(bytemuck::cast_slice(&stats));
    put(bytemuck::cast_slice(&seen));
    put(bytemuck::cast_slice(&summaries));
    put(bytemuck::cast_slice(&counts));
    put(bytemuck::cast_slice(&documents));
    let mut file = Vec::with_capacity(HEAD + body.len());
    file.extend_from_slice(MAGIC);
    for word in [FORMAT, root, body.len() as u64, xxh3_64(&body), 0] {
        file.extend_from_slice(&word.to_le_bytes());
    }
    file.extend_from_slice(&body);
    file
}

fn settings(weights: &Weights) -> [f32; 1 + 3 * FIELDS] {
    let mut all = [weights.k1; 1 + 3 * FIELDS];
    all[1..=FIELDS].copy_from_slice(&weights.weight);
    all[1 + FIELDS..=2 * FIELDS].copy_from_slice(&weights.b);
    all[1 + 2 * FIELDS..].copy_from_slice(&weights.m);
    all
}

/// Reads a snapshot of the root with this id, made with these weights.
pub fn read(file: &[u8], root: u64, weights: &Weights) -> Result<Catalog, Refusal> {
    let head = file.get(..HEAD).ok_or("it is cut short")?;
    if &head[..8] != MAGIC {
        return Err("it is no index of ours");
    }
    let word = |at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&head[8 + at * 8..16 + at * 8]);
        u64::from_le_bytes(word)
    };
    let body = &file[HEAD..];
    if word(0) != FORMAT {
        return Err("it was written by another version");
    }
    if word(1) != root {
        return Err("it belongs to another root");
    }
    if word(2) != body.len() as u64 {
        return Err("it is cut short");
    }
    if word(3) != xxh3_64(body) {
        return Err("it is damaged");
    }
    let catalog = Arrays { rest: body }.catalog();
    catalog.ok_or("it does not fit together").and_then(|catalog| {
        if catalog.index.weights() == weights { Ok(catalog) } else { Err("the weights differ") }
    })
}

/// Takes the arrays off the front, one by one.
struct Arrays<'a> {
    rest: &'a [u8],
}

impl<'a> Arrays<'a> {
    fn bytes(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.rest.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let bytes = rest.get(..length)?;
        self.rest = rest.get(length.next_multiple_of(8)..).unwrap_or_default();
        Some(bytes)
    }

    fn array<T: bytemuck::Pod>(&mut self) -> Option<Vec<T>> {
        let bytes = self.bytes()?;
        if !bytes.len().is_multiple_of(size_of::<T>()) {
            return None;
        }
        let mut array = vec![T::zeroed(); bytes.len() / size_of::<T>()];
        bytemuck::cast_slice_mut(&mut array).copy_from_slice(bytes);
        Some(array)
    }

    fn terms(&mut self) -> Option<Terms> {
        let text = String::from_utf8(self.array()?).ok()?;
        Terms::from_parts(text, self.array()?)
    }

    fn catalog(mut self) -> Option<Catalog> {
        let all: Vec<f32> = self.array()?;
        let fields = |at: usize| -> Option<[f32; FIELDS]> {
            all.get(1 + at * FIELDS..1 + (at + 1) * FIELDS)?.try_into().ok()
        };
        let weights =
            Weights { k1: *all.first()?, weight: fields(0)?, b: fields(1)?, m: fields(2)? };
        let (words, stems, labels) = (self.terms()?, self.terms()?, self.terms()?);
        let (places, concept_of_stem) = (self.array()?, self.array()?);
        let patterns = Patterns::from_parts(self.array()?, self.array()?)?;
        let lexicon = Lexicon::from_parts(words, places, stems, concept_of_stem, patterns)?;
        let lengths: Vec<Lengths> = self.array()?;
        let (concepts, words) = (self.array()?, self.array()?);
        let packed = Packed {
            documents: lengths.len() as u32,
            starts: self.array()?,
            counts: self.array()?,
            lists: self.array()?,
            held_starts: self.array()?,
            held: self.array()?,
        };
        let rows: Vec<Row> = self.array()?;
        let paths = self.terms()?;
        let stats: Vec<Stat> = self.array()?;
        let seen: Vec<u64> = self.array()?;
        let summaries: Vec<u32> = self.array()?;
        let counts: Vec<u32> = self.array()?;
        let documents: Vec<u32> = self.array()?;
        let fits = packed.starts.len() == lexicon.concepts()
            && packed.counts.len() == lexicon.concepts()
            && is_ascending(&packed.starts, packed.lists.len())
            && rows.len() == lengths.len()
            && packed.held_starts.len() == lengths.len() + 1
            && is_ascending(&packed.held_starts, packed.held.len())
            && [stats.len(), summaries.len(), counts.len()] == [paths.len(); 3]
            && seen.len() == paths.len() * 4
            // a packed catalog numbers its documents by file and then by position
            && documents.iter().copied().eq(0..rows.len() as u32)
            && counts.iter().map(|&count| count as usize).sum::<usize>() == documents.len();
        if !fits {
            return None;
        }
        let mut files = Vec::with_capacity(paths.len());
        let mut first = 0;
        for (at, stat) in stats.into_iter().enumerate() {
            let path = paths.text(at as u32).to_owned();
            let word = |n: usize| seen[at * 4 + n];
            let own = first..first + counts[at] as usize;
            let in_file = |row: &Row| {
                let label = [row.trail, row.role, row.session, row.category];
                let end = row.start.checked_add(row.length.into());
                row.file as usize == at
                    // a file that changed while it was read may have been longer
                    && end.is_some_and(|end| end <= stat.size || !is_trusted(&stat))
                    && label.iter().all(|&label| (label as usize) < labels.len())
            };
            if summaries[at] as usize >= labels.len() || !rows[own.clone()].iter().all(in_file) {
                return None;
            }
            first = own.end;
            files.push(FileRow {
                kind: Kind::of(&path),
                path,
                stat,
                summary: summaries[at],
                seen: Seen {
                    offset: word(0),
                    tail: word(1),
                    lines: word(2) as u32,
                    bad_lines: word(3) as u32,
                },
                documents: own.map(|document| document as u32).collect(),
                left_out: None,
                present: true,
            });
        }
        let index = Index::from_parts(weights, lexicon, lengths, packed);
        let index = index.with_holders(concepts, words)?;
        Some(Catalog::from_parts(index, rows, files, labels, Part::Said))
    }
}

/// Says whether places in an array of this length never go back.
fn is_ascending(starts: &[u64], length: usize) -> bool {
    starts.is_sorted() && starts.last().is_none_or(|&last| last <= length as u64)
}
