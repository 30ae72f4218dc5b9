//! Gram index: a signature of 4-grams for each block of a large transcript, to skip blocks.
//!
//! A transcript is cut into blocks; a line belongs to the block in which it begins, as in a scan. Of
//! each block it is kept which grams its lines hold, hashed into buckets (a bit-sliced signature
//! file). A block that lacks a gram of a required literal holds no match. Where a scan would find more than matches, the block is
//! marked and always scanned: with a line that is no JSON or is long, and with the last line.
//!
//! On disk: for each segment of blocks a table with one row a bucket, one bit a block, so that a
//! query reads a few rows; then what is known of the file and its blocks, with a hash of each
//! page of the tables; then the length and the hash of that. Nothing is used that was not
//! hashed when it was read, and only of a file whose stamps prove that it has not changed.

mod builder;
mod grams;

use std::fs::File;

use bytemuck::{Pod, Zeroable};
use xxhash_rust::xxh3::xxh3_64;

pub use builder::{Transcript, build};

use crate::files::platform::FileExt as _;
use crate::files::racy_stat::is_trusted;
use crate::files::root::Stat;

const MAGIC: u64 = u64::from_le_bytes(*b"cmngrams");
/// The layout, what the grams are and which texts of a line are searched: of this version, so that
/// no change of any of them can be forgotten.
const FORMAT: u64 = version(env!("CARGO_PKG_VERSION").as_bytes(), 2);
/// Rows of a page, which are read and hashed together.
const PAGE_ROWS: u32 = 32;
/// More is not indexed: what is known of the blocks has to fit in memory.
const MAX_BLOCKS: u64 = 1 << 20;
/// Bytes of a block; the sizes of segments then stay numbers.
const MAX_BLOCK_SIZE: u64 = 1 << 40;
/// Bytes of the header; a file of zeros costs no disk, but memory.
const MAX_HEADER: u64 = 16 << 20;

/// Sizes of blocks, segments and signatures; tests make them small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Layout {
    /// Bytes of a block.
    pub block: u64,
    /// Blocks of a segment.
    pub segment: u32,
    /// Buckets of a block for conversation text, and for tool traffic; each a
    /// multiple of 32.
    pub buckets: [u32; 2],
    /// Zero.
    pub padding: u32,
}

impl Default for Layout {
    /// Just under 3 % of the transcript; larger blocks with as many buckets a byte skip less.
    fn default() -> Self {
        Self {
            block: 64 << 10,
            segment: 1024,
            buckets: [160 * PAGE_ROWS, 320 * PAGE_ROWS],
            padding: 0,
        }
    }
}

/// Header: facts of the whole file.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Header {
    stat: Stat,
    layout: Layout,
    line_ends: u64,
    /// Bytes of the path, which stands at the end.
    path: u64,
}

/// A segment: where the lines lie that begin in it, and a hash of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct Segment {
    from: u64,
    to: u64,
    hash: u64,
}

/// A block: its lines, and whether it may be skipped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct BlockInfo {
    /// Lines that begin in it.
    lines: u32,
    /// Whether one begins with its first byte: then the line before it ends in the block before.
    starts_line: u16,
    /// Whether it is always scanned.
    always_scan: u16,
}

/// Footer of the index file, which tells where the rest is.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Footer {
    magic: u64,
    format: u64,
    /// Bytes of what is known of the file and its blocks, which stands before this.
    length: u64,
    hash: u64,
}

/// A gram index of a file, open for queries.
#[derive(Debug)]
pub struct GramIndex {
    side: File,
    path: String,
    header: Header,
    segments: Vec<Segment>,
    blocks: Vec<BlockInfo>,
    pages: Vec<u64>,
}

/// A range of a transcript, and whether it has to be scanned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileRange {
    pub from: u64,
    pub to: u64,
    /// Line ends in it, and lines that begin in it, where no match and no bad line can be.
    pub skip: Option<(u64, u64)>,
}

impl Layout {
    fn blocks(self, size: u64) -> u64 {
        size.div_ceil(self.block)
    }

    fn segment_bytes(self) -> u64 {
        self.block * u64::from(self.segment)
    }

    fn rows(self) -> u32 {
        self.buckets[0] + self.buckets[1]
    }

    fn pages(self) -> usize {
        (self.rows() / PAGE_ROWS) as usize
    }

    /// The row of a gram in conversation text or in tool traffic.
    fn row(self, gram: u32, tools: bool) -> u32 {
        match (tools, self.buckets) {
            (false, [conversation, _]) => grams::bucket(gram, conversation),
            (true, [conversation, tools]) => conversation + grams::bucket(gram, tools),
        }
    }

    /// Bytes of a row in a segment of so many blocks.
    fn width(blocks: usize) -> usize {
        blocks.div_ceil(8)
    }
}

impl GramIndex {
    /// Opens an index file; none if anything about it is in doubt.
    #[must_use]
    pub fn read(side: File) -> Option<Self> {
        let size = side.metadata().ok()?.len();
        let footer_at = size.checked_sub(size_of::<Footer>() as u64)?;
        let mut footer = Footer::zeroed();
        side.read_exact_at(bytemuck::bytes_of_mut(&mut footer), footer_at).ok()?;
        if (footer.magic, footer.format) != (MAGIC, FORMAT) || footer.length > MAX_HEADER {
            return None;
        }
        let head_at = footer_at.checked_sub(footer.length)?;
        let mut head = vec![0; usize::try_from(footer.length).ok()?];
        side.read_exact_at(&mut head, head_at).ok()?;
        if xxh3_64(&head) != footer.hash {
            return None;
        }
        let mut rest = &head[..];
        let header: Header = *take(&mut rest, 1)?.first()?;
        let Layout { block, segment, buckets, .. } = header.layout;
        let blocks = header.stat.size.div_ceil(block.max(1));
        let whole_pages =
            buckets.iter().all(|&rows| rows > 0 && rows < 1 << 24 && rows % PAGE_ROWS == 0);
        let small = block < MAX_BLOCK_SIZE && u64::from(segment) <= MAX_BLOCKS;
        if block == 0 || segment == 0 || !small || !whole_pages || blocks > MAX_BLOCKS {
            return None;
        }
        let segment_count = blocks.div_ceil(u64::from(segment)) as usize;
        let segments = take(&mut rest, segment_count)?;
        let pages = take(&mut rest, segment_count * header.layout.pages())?;
        let blocks = take(&mut rest, blocks as usize)?;
        let path = take::<u8>(&mut rest, usize::try_from(header.path).ok()?)?;
        if !rest.is_empty() || !are_counted(&blocks, header.line_ends) {
            return None;
        }
        Some(Self { side, path: String::from_utf8(path).ok()?, header, segments, blocks, pages })
    }

    /// Whether it is of the file at `path` as it is now, by its stamps.
    #[must_use]
    pub fn fits(&self, path: &str, stat: &Stat) -> bool {
        self.path == path && is_trusted(stat) && self.header.stat == *stat
    }

    /// The path of the file that it is of.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The size of the file that it is of.
    pub(crate) fn size(&self) -> u64 {
        self.header.stat.size
    }

    /// The line ends in the file.
    pub(crate) fn line_ends(&self) -> u64 {
        self.header.line_ends
    }

    /// The segments whose last line has an end, from the first on.
    fn complete_segments(&self) -> impl Iterator<Item = (usize, &Segment)> {
        let closed = |pair: &&[Segment]| pair[1].to > pair[1].from;
        self.segments.windows(2).take_while(closed).map(|pair| &pair[0]).enumerate()
    }

    /// Cuts the file from `from` on into ranges, for texts of which every match holds one in
    /// conversation text or, if asked, in tool traffic.
    ///
    /// `None` when nothing can be told and all has to be scanned.
    pub(crate) fn ranges<'r>(
        &self,
        runs: impl Iterator<Item = &'r str>,
        tools: bool,
        from: u64,
    ) -> Option<Vec<FileRange>> {
        let Layout { block, segment, .. } = self.header.layout;
        let mut needed = Vec::new();
        for run in runs {
            for tools in [false, true].into_iter().filter(|&aside| tools || !aside) {
                let mut rows = Vec::new();
                grams::of_text(run.as_bytes(), |g| rows.push(self.header.layout.row(g, tools)));
                // A literal too short to have grams may be anywhere.
                (!rows.is_empty()).then(|| needed.push(rows))?;
            }
        }
        let mut ranges: Vec<FileRange> = Vec::new();
        for (number, blocks) in self.blocks.chunks(segment as usize).enumerate() {
            let held = self.segment_holds(number, &needed)?;
            let first = number as u64 * self.header.layout.segment_bytes();
            for (at, info) in blocks.iter().enumerate() {
                let start = first + at as u64 * block;
                let to = (start + block).min(self.size());
                if to <= from {
                    continue;
                }
                let scan =
                    info.always_scan != 0 || held[at / 8] >> (at % 8) & 1 == 1 || start < from;
                let next = self.blocks.get((start / block) as usize + 1);
                let starts_line = next.map_or(0, |next| u64::from(next.starts_line));
                let lines = u64::from(info.lines);
                let counts = (lines + starts_line - u64::from(info.starts_line), lines);
                match (ranges.last_mut(), scan) {
                    (Some(last @ FileRange { skip: None, .. }), true) => last.to = to,
                    (Some(FileRange { to: end, skip: Some((ends, lines)), .. }), false) => {
                        (*end, *ends, *lines) = (to, *ends + counts.0, *lines + counts.1);
                    }
                    _ => ranges.push(FileRange {
                        from: start.max(from),
                        to,
                        skip: (!scan).then_some(counts),
                    }),
                }
            }
        }
        Some(ranges)
    }

    /// The blocks of a segment that are in all rows of some set, as bits.
    fn segment_holds(&self, number: usize, needed: &[Vec<u32>]) -> Option<Vec<u8>> {
        let width = Layout::width(self.blocks_in(number));
        let mut held = vec![0; width];
        for rows in needed {
            let mut all = vec![0xFF; width];
            for &row in rows {
                let page = self.page(number, row / PAGE_ROWS)?;
                let row = &page[(row % PAGE_ROWS) as usize * width..][..width];
                all.iter_mut().zip(row).for_each(|(all, row)| *all &= row);
                if all.iter().all(|&bits| bits == 0) {
                    break;
                }
            }
            held.iter_mut().zip(&all).for_each(|(held, all)| *held |= all);
        }
        Some(held)
    }

    fn blocks_in(&self, segment: usize) -> usize {
        let size = self.header.layout.segment as usize;
        (self.blocks.len() - segment * size).min(size)
    }

    /// Some rows of a segment's table, if they are as they were written.
    fn page(&self, segment: usize, page: u32) -> Option<Vec<u8>> {
        let layout = self.header.layout;
        let table = u64::from(layout.rows()) * Layout::width(layout.segment as usize) as u64;
        let size = PAGE_ROWS as usize * Layout::width(self.blocks_in(segment));
        let mut rows = vec![0; size];
        let place = segment as u64 * table + u64::from(page) * size as u64;
        self.side.read_exact_at(&mut rows, place).ok()?;
        let hash = self.pages[segment * layout.pages() + page as usize];
        (xxh3_64(&rows) == hash).then_some(rows)
    }
}

/// Says whether the lines of the blocks are as many as end in the file, but for a last one.
fn are_counted(blocks: &[BlockInfo], line_ends: u64) -> bool {
    let sound = |block: &BlockInfo| {
        block.starts_line.max(block.always_scan) <= 1 && u32::from(block.starts_line) <= block.lines
    };
    let lines = blocks.iter().map(|block| u64::from(block.lines)).sum::<u64>();
    blocks.iter().all(sound) && lines.checked_sub(line_ends).is_some_and(|open| open <= 1)
}

const fn version(name: &[u8], layout: u64) -> u64 {
    let (mut format, mut at) = (layout, 0);
    while at < name.len() {
        format = format.wrapping_mul(257).wrapping_add(name[at] as u64);
        at += 1;
    }
    format
}

/// Takes `count` values off the front of `bytes`.
fn take<T: Pod>(bytes: &mut &[u8], count: usize) -> Option<Vec<T>> {
    let size = count.checked_mul(size_of::<T>())?;
    let (front, rest) = bytes.split_at_checked(size)?;
    *bytes = rest;
    let mut values = vec![T::zeroed(); count];
    bytemuck::cast_slice_mut(&mut values).copy_from_slice(front);
    Some(values)
}
