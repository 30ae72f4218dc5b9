//! SIMD scan of raw text for one literal, `\\u` escapes and line ends in one pass.
//!
//! Everything a search must notice is noticed by the same loads: passing over a
//! chunk once for the literal, once for escapes and once for line ends costs as much
//! again as reading it. The loops are plain Rust, written so that the compiler
//! uses the widest registers it may; what differs between processors is only
//! what it may use.

use super::byte_frequency::frequency;
use crate::files::readahead::prefetch_ahead;
use crate::simd::{self, BLOCK, ByteBlock, STEP};

/// The longest literal, and so the farthest that a test looks ahead of its place.
pub(super) const MAX_LITERAL: usize = 16;

/// A literal to scan for, with the three of its bytes that are tested first.
#[derive(Debug)]
pub(super) struct SimdScan {
    /// The first byte is the lowest.
    literal: u128,
    /// The bits of it that count: of a letter all, or all but the one that tells its case.
    mask: u128,
    probe: Probe,
    /// The bits that count of the bytes tested first, letters or not.
    bits: u8,
}

/// Three bytes of the literal: two neighbours, for which the bytes are loaded that are tested for
/// escapes too, and one behind them. With two, a word of frequent letters is looked for in vain in
/// every eighth step.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// How far behind the beginning of the literal the first stands, and the third behind the first.
    lead: usize,
    third: usize,
    bytes: [u8; 3],
}

/// What one step of the scan tests for.
#[derive(Clone, Copy, Debug)]
struct StepPattern {
    probe: Probe,
    /// The bits of it that count.
    bits: u8,
    /// A line end, and the first byte of an escape; where none is wanted, what is in no UTF-8.
    line_end: u8,
    escape: u8,
}

/// Candidates of a text, found step by step.
#[derive(Debug)]
pub(super) struct SimdCandidates<'s, 't> {
    scan: &'s SimdScan,
    text: &'t [u8],
    json: bool,
    /// The block with the last hits, and those that are still to be looked at, a bit each.
    block: usize,
    hits: u64,
    /// Where the next step may begin.
    next: usize,
}

impl SimdScan {
    /// `literal` has two to [`MAX_LITERAL`] bytes; without regard to case it is in lower case.
    pub fn new(literal: &[u8], caseless: bool) -> Self {
        debug_assert!((2..=MAX_LITERAL).contains(&literal.len()));
        let rank = |at: usize| {
            // A capital is rare only where its case counts.
            let capital = literal[at].is_ascii_uppercase() && !caseless;
            u32::from(frequency(literal[at]) / if capital { 4 } else { 1 })
        };
        // Places are given in order: before the neighbours is none to stop at.
        let is_stop = |bytes: &[u8]| bytes[0] == b'\n' || bytes == b"\\u";
        let most = literal.windows(2).position(is_stop).unwrap_or(literal.len() - 1).max(1);
        let lead = (0..most).min_by_key(|&at| rank(at) * rank(at + 1)).unwrap_or(0);
        // The letters of a word go together: a quote beside it tells more than a third of them.
        let behind = lead + 2..literal.len();
        let quote = behind.clone().find(|&at| literal[at] == b'"');
        let third = quote.or_else(|| { behind }.min_by_key(|&at| rank(at))).unwrap_or(lead);
        let bytes = [lead, lead + 1, third].map(|at| literal[at]);
        let probe = Probe { lead, third: third - lead, bytes };
        let bits = if caseless { !0x20 } else { !0 };
        let word = |of: &dyn Fn(u8) -> u8| {
            let byte = |at| literal.get(at).map_or(0, |&byte| of(byte));
            u128::from_le_bytes(std::array::from_fn(byte))
        };
        let mask = word(&|byte| if byte.is_ascii_alphabetic() { bits } else { !0 });
        let literal = word(&|byte| byte);
        Self { literal, mask, probe, bits }
    }

    /// Begins a scan that stops where the literal stands and, in JSON, at each line end and `\u`.
    /// The lines of a note are too short to stop at each.
    pub fn candidates<'s, 't>(&'s self, text: &'t [u8], json: bool) -> SimdCandidates<'s, 't> {
        SimdCandidates { scan: self, text, json, block: 0, hits: 0, next: 0 }
    }

    /// The place to stop at that a hit tells of: its own, or where the literal begins.
    fn stop(&self, text: &[u8], hit: usize, json: bool) -> Option<usize> {
        if json && matches!(text.get(hit..)?, [b'\n', ..] | [b'\\', b'u', ..]) {
            return Some(hit);
        }
        let at = hit.checked_sub(self.probe.lead)?;
        self.begins(text.get(at..)?).then_some(at)
    }

    /// Whether `text` begins with the literal.
    #[inline]
    pub fn begins(&self, text: &[u8]) -> bool {
        let differs =
            |start: &[u8; MAX_LITERAL]| (u128::from_le_bytes(*start) ^ self.literal) & self.mask;
        if let Some(start) = text.first_chunk() {
            return differs(start) == 0;
        }
        let mut start = [0; MAX_LITERAL];
        start[..text.len()].copy_from_slice(text);
        let length = MAX_LITERAL - self.mask.leading_zeros() as usize / 8;
        text.len() >= length && differs(&start) == 0
    }

    fn pattern(&self, json: bool) -> StepPattern {
        let [line_end, escape] = if json { *b"\n\\" } else { [u8::MAX; 2] };
        StepPattern { probe: self.probe, bits: self.bits, line_end, escape }
    }

    /// The first block that has hits; without any, the end and no hits.
    fn pass(&self, text: &[u8], from: usize, json: bool) -> (usize, u64) {
        let pattern = self.pattern(json);
        #[cfg(target_arch = "x86_64")]
        {
            if simd::wide::has_avx512() {
                // SAFETY: the processor has what the function was compiled for.
                #[expect(unsafe_code, reason = "a wider compilation of safe code")]
                return unsafe { pass_avx512(text, from, pattern) };
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: as above.
                #[expect(unsafe_code, reason = "a wider compilation of safe code")]
                return unsafe { pass_avx2(text, from, pattern) };
            }
        }
        pass(text, from, pattern, simd::equal)
    }
}

impl SimdCandidates<'_, '_> {
    /// The first place at or after `from` to stop at; `from` never goes back.
    pub fn next(&mut self, from: usize) -> Option<usize> {
        loop {
            while self.hits != 0 {
                let hit = self.block + self.hits.trailing_zeros() as usize;
                self.hits &= self.hits - 1;
                let stop = self.scan.stop(self.text, hit, self.json);
                if stop.is_some_and(|at| at >= from) {
                    return stop;
                }
            }
            let start = self.next.max(from);
            if start >= self.text.len() {
                return None;
            }
            (self.block, self.hits) = self.scan.pass(self.text, start, self.json);
            self.next = self.block + BLOCK;
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw,avx512vl")]
fn pass_avx512(text: &[u8], from: usize, pattern: StepPattern) -> (usize, u64) {
    pass(text, from, pattern, |block, byte| simd::wide::equal(block, byte))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn pass_avx2(text: &[u8], from: usize, pattern: StepPattern) -> (usize, u64) {
    pass(text, from, pattern, simd::equal)
}

/// The first block with a place that may be one to stop at.
///
/// One closure and plain loops: the compiler makes of them one load, two operations and a
/// minimum a byte tested, for as many places as a register holds.
#[inline(always)]
fn pass(
    text: &[u8],
    from: usize,
    pattern: StepPattern,
    equal: impl Fn(&ByteBlock, u8) -> u64,
) -> (usize, u64) {
    let mut at = from;
    while let Some(window) = text.get(at..).and_then(|rest| rest.first_chunk()) {
        prefetch_ahead(window.as_ptr());
        if let Some((row, hits)) = test(window, pattern, &equal) {
            return (at + row * BLOCK, hits);
        }
        // From the second step on every load of the places themselves is aligned: a fifth faster.
        at += STEP - window.as_ptr() as usize % BLOCK;
    }
    // What is left is tested as if NUL bytes followed it.
    while at < text.len() {
        let rest = &text[at..];
        let mut window = [0; STEP + MAX_LITERAL];
        let size = rest.len().min(window.len());
        window[..size].copy_from_slice(&rest[..size]);
        if let Some((row, hits)) = test(&window, pattern, &equal) {
            return (at + row * BLOCK, hits);
        }
        at += STEP;
    }
    (at, 0)
}

#[inline(always)]
fn test(
    window: &[u8; STEP + MAX_LITERAL],
    pattern: StepPattern,
    equal: &impl Fn(&ByteBlock, u8) -> u64,
) -> Option<(usize, u64)> {
    let StepPattern { probe, bits, line_end, escape } = pattern;
    let ahead = |far: usize| window[far..].first_chunk::<STEP>();
    let (here, next, third) = (ahead(0)?, ahead(1)?, ahead(probe.third)?);
    // Zero where a place may be one to stop at.
    let misfit = |i: usize| {
        let [x, y, z] = probe.bytes;
        let literal = ((here[i] ^ x) | (next[i] ^ y) | (third[i] ^ z)) & bits;
        let escape = (here[i] ^ escape) | (next[i] ^ b'u');
        literal.min(escape).min(here[i] ^ line_end)
    };
    let mask = |row| (row, simd::match_mask(row, misfit, equal));
    let mut masks = (0..STEP / BLOCK).map(mask);
    if simd::any_match(misfit) { masks.find(|&(_, hits)| hits != 0) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Compiled = fn(&[u8], usize, StepPattern) -> (usize, u64);

    /// Every compilation that this processor can run.
    fn compiled() -> Vec<Compiled> {
        #[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut, reason = "one compilation"))]
        let mut all: Vec<Compiled> =
            vec![|text, from, pattern| pass(text, from, pattern, simd::equal)];
        #[cfg(target_arch = "x86_64")]
        #[expect(unsafe_code, reason = "a wider compilation of safe code")]
        {
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has what the function was compiled for.
                all.push(|text, from, pattern| unsafe { pass_avx2(text, from, pattern) });
            }
            if simd::wide::has_avx512() {
                // SAFETY: as above.
                all.push(|text, from, pattern| unsafe { pass_avx512(text, from, pattern) });
            }
        }
        all
    }

    /// Every place to stop at, one byte after the other.
    fn plain(text: &[u8], literal: &[u8], caseless: bool, json: bool) -> Vec<usize> {
        let candidates = |&at: &usize| {
            let rest = &text[at..];
            let begins = rest.len() >= literal.len()
                && match caseless {
                    true => rest[..literal.len()].eq_ignore_ascii_case(literal),
                    false => rest.starts_with(literal),
                };
            begins || json && (rest[0] == b'\n' || rest.starts_with(b"\\u"))
        };
        (0..text.len()).filter(candidates).collect()
    }

    /// Letters and what differs from them, or from each other, by the case bit alone.
    fn any_literal() -> impl Strategy<Value = Vec<u8>> {
        let words = prop::sample::select(vec!["ab-c", "ab", "aB-c", "b-", "aaaaaaaaaaaaaaaa"]);
        let bytes = prop::sample::select(b"abAB@`[{\\|\"\x02u\n*\r-\0\xff\xdf".to_vec());
        prop_oneof![
            words.prop_map(|literal| literal.as_bytes().to_vec()),
            prop::collection::vec(bytes, 2..=MAX_LITERAL),
        ]
    }

    /// Text in which what is like the literal, escapes and line ends are far apart or close together.
    fn any_text(literal: &[u8]) -> impl Strategy<Value = Vec<u8>> + use<> {
        let [like, begun] = [(); 2].map(|()| literal.to_vec());
        let size = literal.len();
        let piece = prop_oneof![
            3 => prop::collection::vec(any::<u8>(), 0..4),
            3 => (b' '..b'z', 0..700usize).prop_map(|(byte, count)| vec![byte; count]),
            2 => prop::sample::select(vec!["\n", "\\u", "\\", "u", "\r", "*"])
                .prop_map(|text| text.as_bytes().to_vec()),
            4 => prop_oneof![Just(0), any::<u16>()].prop_map(move |flips| {
                let flip = |(at, byte): (usize, &u8)| byte ^ ((flips >> at & 1) as u8 * 0x20);
                like.iter().enumerate().map(flip).collect()
            }),
            2 => (0..size).prop_map(move |end| begun[..end].to_vec()),
            1 => (prop::sample::select(vec![0, 0xff]), 0..300usize)
                .prop_map(|(byte, count)| vec![byte; count]),
        ];
        prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn a_scan_equals_the_plain_reference(
            (literal, text) in any_literal().prop_flat_map(|literal| (Just(literal.clone()), any_text(&literal))),
            caseless: bool,
            json: bool,
            skip in prop_oneof![Just(1), 2..600usize],
        ) {
            let literal = if caseless { literal.to_ascii_lowercase() } else { literal };
            let scan = SimdScan::new(&literal, caseless);
            let expected = plain(&text, &literal, caseless, json);
            let mut candidates = scan.candidates(&text, json);
            let mut next = |from| candidates.next(from);
            let found: Vec<usize> =
                std::iter::successors(next(0), |at| next(at + skip)).collect();
            let mut from = 0;
            let mut apart = |at: &usize| {
                let taken = *at >= from;
                from = if taken { at + skip } else { from };
                taken
            };
            prop_assert_eq!(found, expected.iter().copied().filter(|at| apart(at)).collect::<Vec<_>>());
            // Each compilation finds the same hits and passes over none of the places.
            for pass in compiled() {
                let mut from = 0;
                while from < text.len() {
                    let (block, hits) = pass(&text, from, scan.pattern(json));
                    prop_assert_eq!((block, hits), super::pass(&text, from, scan.pattern(json), simd::equal));
                    let is_hit = |at: usize| at >= block && hits >> (at - block) & 1 == 1;
                    let passed = from..block + BLOCK;
                    let mut due = expected.iter().map(|&at| match text[at..] {
                        [b'\n', ..] | [b'\\', b'u', ..] if json => at,
                        _ => at + scan.probe.lead,
                    });
                    prop_assert!(due.all(|at| !passed.contains(&at) || is_hit(at)));
                    from = block + BLOCK;
                }
            }
        }
    }
}
