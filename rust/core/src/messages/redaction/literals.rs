//! Multi-literal prefilter (Teddy) for redaction: the positions where a secret may begin.
//!
//! Nearly all lines of a transcript hold none of the literals, and nothing else of them is looked
//! at. So the cost of redaction is that of this scan.

use aho_corasick::packed::{self, Searcher};
use aho_corasick::{AhoCorasick, MatchKind};

use crate::error::{Error, Interrupt, Result};

/// How many literals one pass looks for. With more, the fingerprints of Teddy let too many places
/// through; with fewer, there are more passes.
const GROUP: usize = 48;
/// Shorter literals have a pass of their own, as the fingerprints of a pass are as long as its
/// shortest literal, and no longer than this.
const FINGERPRINT: usize = 4;
/// Bytes that are scanned between two looks at the interrupt.
const STEP: usize = 1 << 20;

/// A place where a literal stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LiteralHit {
    pub at: usize,
    /// Which literal, by its place in the list.
    pub literal: usize,
}

#[derive(Debug)]
pub(super) struct LiteralScan {
    passes: Vec<Pass>,
    longest: usize,
}

#[derive(Debug)]
struct Pass {
    /// None where the processor has no instructions for it.
    simd: Option<Searcher>,
    plain: AhoCorasick,
    /// The literals of the pass, as callers count them.
    literals: Vec<usize>,
}

impl LiteralScan {
    /// Builds the scan; `None` if there are too many literals.
    pub fn new(literals: &[String]) -> Option<Self> {
        let mut order: Vec<usize> = (0..literals.len()).collect();
        order.sort_by_key(|&at| (literals[at].len().min(FINGERPRINT), &literals[at]));
        let short = order.partition_point(|&at| literals[at].len() < FINGERPRINT);
        let (short, long) = order.split_at(short);
        let groups = short.chunks(GROUP).chain(long.chunks(GROUP));
        let passes = groups.map(|group| Pass::new(group, literals)).collect::<Option<_>>()?;
        Some(Self { passes, longest: literals.iter().map(String::len).max().unwrap_or(0) })
    }

    /// Puts the hits of a text into `hits`, in order of place; of two literals that overlap in one
    /// pass the first counts, and of two that begin together the longer.
    pub fn find(
        &self,
        text: &[u8],
        hits: &mut Vec<LiteralHit>,
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        hits.clear();
        let mut start = 0;
        while start < text.len() {
            let end = text.len().min(start + STEP);
            // what begins in this step may end in the next
            let seen = &text[start..text.len().min(end + self.longest)];
            for pass in &self.passes {
                pass.find(seen, |at, literal| {
                    if start + at < end {
                        hits.push(LiteralHit { at: start + at, literal });
                    }
                });
            }
            start = end;
            if start < text.len() && interrupt() {
                return Err(Error::Interrupted);
            }
        }
        hits.sort_unstable();
        hits.dedup();
        Ok(())
    }
}

impl Pass {
    fn new(group: &[usize], literals: &[String]) -> Option<Self> {
        let texts = || group.iter().map(|&at| &literals[at]);
        let config = packed::Config::new().match_kind(packed::MatchKind::LeftmostLongest).clone();
        Some(Self {
            simd: config.builder().extend(texts()).build(),
            plain: AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .build(texts())
                .ok()?,
            literals: group.to_vec(),
        })
    }

    fn find(&self, text: &[u8], mut each: impl FnMut(usize, usize)) {
        let mut found = |at: usize, literal: usize| each(at, self.literals[literal]);
        // the packed searcher wants more text than a vector
        match self.simd.as_ref().filter(|simd| text.len() >= simd.minimum_len()) {
            Some(simd) => {
                simd.find_iter(text).for_each(|hit| found(hit.start(), hit.pattern().as_usize()))
            }
            None => self
                .plain
                .find_iter(text)
                .for_each(|hit| found(hit.start(), hit.pattern().as_usize())),
        }
    }
}
