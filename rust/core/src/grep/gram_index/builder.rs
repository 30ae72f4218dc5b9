//! Builder of gram indexes: one pass over the transcript, a segment at a time, in a few megabytes.

use std::fs::File;
use std::io::Write;

use bytemuck::{bytes_of, cast_slice};
use memchr::memchr_iter;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::{
    BlockInfo, FORMAT, Footer, GramIndex, Header, Layout, MAGIC, MAX_BLOCKS, PAGE_ROWS, Segment,
    grams,
};
use crate::error::{Error, Interrupt, Result};
use crate::files::root::Stat;
use crate::grep::cursor::read_full;
use crate::grep::long_lines::LONG_LINE;
use crate::messages::message::{self, ParsedLine};

/// Bytes read at a time.
const PIECE: u64 = 1 << 20;

/// A transcript to be read: its path is named in errors and kept.
#[derive(Debug, Clone, Copy)]
pub struct Transcript<'s> {
    /// The file, open.
    pub file: &'s File,
    /// Its path in the root.
    pub path: &'s str,
    /// Its stamps before anything of it is read.
    pub stat: Stat,
}

/// A gram index under construction: everything before `at` is in it.
struct Builder<'b> {
    source: Transcript<'b>,
    layout: Layout,
    out: &'b mut dyn Write,
    at: u64,
    line_ends: u64,
    blocks: Vec<BlockInfo>,
    segments: Vec<Segment>,
    pages: Vec<u64>,
    /// The block in which the last line begins, and its buckets, a bit each.
    block: usize,
    held: Vec<u64>,
    /// The table of its segment, and a hash of the lines that begin there.
    table: Vec<u8>,
    hash: Xxh3,
}

/// Writes the gram index of a transcript to `out`.
///
/// What `old` knows of the beginning is taken over as far as the text is the same; all of the text
/// is read nevertheless. The caller makes sure that the stamps are the same when this is done.
///
/// # Errors
/// Those of reading and writing, [`Error::Interrupted`]; [`Error::Refused`] for a file too large.
pub fn build(
    source: Transcript<'_>,
    layout: Layout,
    old: Option<&GramIndex>,
    out: &mut dyn Write,
    interrupt: Interrupt<'_>,
) -> Result<()> {
    let count = layout.blocks(source.stat.size);
    if count > MAX_BLOCKS {
        return Err(Error::refused(source.path, "large", "it is too large for a gram index"));
    }
    let mut builder = Builder {
        source,
        layout,
        out,
        at: 0,
        line_ends: 0,
        blocks: vec![BlockInfo::default(); count as usize],
        segments: Vec::new(),
        pages: Vec::new(),
        block: 0,
        held: vec![0; layout.rows().div_ceil(64) as usize],
        table: Vec::new(),
        hash: Xxh3::new(),
    };
    if let Some(old) = old.filter(|old| old.header.layout == layout) {
        builder.keep(old, interrupt)?;
    }
    builder.read(interrupt)?;
    builder.finish()
}

impl Builder<'_> {
    /// Takes over the segments at the beginning whose lines are the same.
    fn keep(&mut self, old: &GramIndex, interrupt: Interrupt<'_>) -> Result<()> {
        for (number, segment) in old.complete_segments() {
            // A line has to follow, so that the last one is always looked at.
            if segment.to >= self.source.stat.size
                || self.hash_of(segment, interrupt)? != segment.hash
            {
                break;
            }
            let pages = self.layout.pages();
            let table: Option<Vec<_>> =
                (0..pages).map(|page| old.page(number, page as u32)).collect();
            let Some(table) = table else { break };
            self.write(&table.concat())?;
            self.pages.extend(&old.pages[number * pages..][..pages]);
            self.segments.push(*segment);
            let end = self.block + self.layout.segment as usize;
            let blocks = &old.blocks[self.block..end];
            self.line_ends += blocks.iter().map(|block| u64::from(block.lines)).sum::<u64>();
            self.blocks[self.block..end].copy_from_slice(blocks);
            (self.block, self.at) = (end, segment.to);
        }
        Ok(())
    }

    fn hash_of(&self, segment: &Segment, interrupt: Interrupt<'_>) -> Result<u64> {
        let mut hash = Xxh3::new();
        let mut piece = vec![0; PIECE as usize];
        let mut at = segment.from;
        while at < segment.to {
            let read = self.read_piece(&mut piece, at, segment.to, interrupt)?;
            if read == 0 {
                break;
            }
            hash.update(&piece[..read]);
            at += read as u64;
        }
        Ok(hash.digest())
    }

    fn read_piece(
        &self,
        piece: &mut [u8],
        from: u64,
        to: u64,
        interrupt: Interrupt<'_>,
    ) -> Result<usize> {
        if interrupt() {
            return Err(Error::Interrupted);
        }
        let size = PIECE.min(to - from) as usize;
        read_full(self.source.file, self.source.path, from, &mut piece[..size])
    }

    /// Reads all that is left, line by line; of long lines the parts as they come.
    fn read(&mut self, interrupt: Interrupt<'_>) -> Result<()> {
        let (mut buffer, mut offset, size) = (Vec::new(), self.at, self.source.stat.size);
        let mut begins = true;
        while offset < size {
            let held = buffer.len();
            buffer.resize(held + PIECE as usize, 0);
            let read = self.read_piece(&mut buffer[held..], offset, size, interrupt)?;
            buffer.truncate(held + read);
            if read == 0 {
                break;
            }
            offset += read as u64;
            let mut from = 0;
            for end in memchr_iter(b'\n', &buffer[held..]).map(|end| held + end + 1) {
                self.take(&buffer[from..end], begins)?;
                (from, begins) = (end, true);
            }
            buffer.drain(..from);
            if buffer.len() > LONG_LINE {
                self.take(&buffer, begins)?;
                buffer.clear();
                begins = false;
            }
        }
        if buffer.is_empty() { Ok(()) } else { self.take(&buffer, begins) }
    }

    /// Adds a line, or a part of one that is not taken whole.
    fn take(&mut self, text: &[u8], begins: bool) -> Result<()> {
        if begins {
            while self.block < (self.at / self.layout.block) as usize {
                self.end_block()?;
            }
            let block = &mut self.blocks[self.block];
            block.lines += 1;
            block.starts_line |= u16::from(self.at.is_multiple_of(self.layout.block));
        }
        self.hash.update(text);
        self.line_ends += u64::from(text.ends_with(b"\n"));
        self.at += text.len() as u64;
        if !(begins && text.len() <= LONG_LINE && text.ends_with(b"\n") && self.add(text)) {
            self.blocks[self.block].always_scan = 1;
        }
        Ok(())
    }

    /// Adds the grams of a line; `false` if it is no JSON.
    fn add(&mut self, line: &[u8]) -> bool {
        let message = match message::parse_lazy(line) {
            ParsedLine::Message(message) => message,
            ParsedLine::Other | ParsedLine::Blank => return true,
            ParsedLine::Bad => return false,
        };
        let (held, layout) = (&mut self.held, self.layout);
        let mut hold = |body: &[u8], tools: bool| {
            grams::of_json(body, |gram| {
                let row = layout.row(gram, tools);
                held[row as usize / 64] |= 1 << (row % 64);
            });
        };
        message.each_conversation_string(|body| hold(body, false));
        message.each_tool_string(|body| hold(body, true));
        true
    }

    /// Puts the buckets of a block into the table of its segment, which it may complete.
    fn end_block(&mut self) -> Result<()> {
        let segment = self.layout.segment as usize;
        let (number, at) = (self.block / segment, self.block % segment);
        let blocks = (self.blocks.len() - number * segment).min(segment);
        let width = Layout::width(blocks);
        self.table.resize(self.layout.rows() as usize * width, 0);
        for (word, bits) in self.held.iter_mut().enumerate() {
            while *bits != 0 {
                let bucket = word * 64 + bits.trailing_zeros() as usize;
                self.table[bucket * width + at / 8] |= 1 << (at % 8);
                *bits &= *bits - 1;
            }
        }
        self.block += 1;
        if at + 1 == blocks {
            self.pages.extend(self.table.chunks(PAGE_ROWS as usize * width).map(xxh3_64));
            let table = std::mem::take(&mut self.table);
            self.write(&table)?;
            self.table = table;
            self.table.clear();
            let from = self.segments.last().map_or(0, |segment| segment.to);
            self.segments.push(Segment { from, to: self.at, hash: self.hash.digest() });
            self.hash.reset();
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        // The last line tells where the file ends and whether it is torn: a scan looks for itself.
        let last = self.block;
        self.blocks.iter_mut().skip(last).for_each(|block| block.always_scan = 1);
        while self.block < self.blocks.len() {
            self.end_block()?;
        }
        let Transcript { path, stat, .. } = self.source;
        let (layout, line_ends, path_len) = (self.layout, self.line_ends, path.len() as u64);
        let header = Header { stat, layout, line_ends, path: path_len };
        let head = [
            bytes_of(&header),
            cast_slice(&self.segments),
            cast_slice(&self.pages),
            cast_slice(&self.blocks),
            path.as_bytes(),
        ]
        .concat();
        let hash = xxh3_64(&head);
        let footer = Footer { magic: MAGIC, format: FORMAT, length: head.len() as u64, hash };
        self.write(&head)?;
        self.write(bytes_of(&footer))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|error| Error::io("write", self.source.path, error))
    }
}
