//! One pass over raw text that stops where a run of letters stands, at escapes, and at line ends.
//!
//! Everything a search must notice is noticed by the same loads: passing over a
//! chunk once for the run, once for escapes and once for line ends costs as much
//! again as reading it. The loops are plain Rust, written so that the compiler
//! uses the widest registers it may; what differs between processors is only
//! what it may use.

use memchr::memchr;

/// The longest run, and so the farthest that a test looks ahead of its place.
pub(super) const REACH: usize = 16;
/// Places tested together. Shorter, and bounds are checked too often; longer, and whatever
/// is found costs more to place.
const STEP: usize = 256;
/// Places that fit into the widest register.
const LANES: usize = 64;

/// Two bytes that stand at fixed distances from a place.
#[derive(Clone, Copy, Debug)]
struct Pair {
    at: [usize; 2],
    bytes: [u8; 2],
}

const ESCAPE: Pair = Pair { at: [0, 1], bytes: *b"\\u" };

/// What to stop at.
#[derive(Debug)]
pub(super) struct Sweep {
    run: Vec<u8>,
    rarest: Pair,
    /// The bits of a byte that count: all, or all but the one that tells the case of a letter.
    bits: u8,
}

/// What one pass stops at.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    pairs: [Pair; 2],
    /// The bits of the first pair that count.
    bits: u8,
    /// Zero if line ends are wanted, all bits if not.
    line_end: u8,
}

/// How often a byte occurs in transcripts, roughly: 255 is the most frequent.
fn frequency(byte: u8) -> u8 {
    match byte.to_ascii_lowercase() {
        b' ' | b'"' | b'\\' | b'e' | b't' => 255,
        b'a' | b'i' | b'n' | b'o' | b'r' | b's' => 220,
        b'c' | b'd' | b'l' | b'm' | b'p' | b'u' | b',' | b':' | b'-' | b'_' | b'.' => 140,
        b'f' | b'g' | b'h' | b'b' | b'0'..=b'2' => 100,
        b'v' | b'w' | b'y' | b'k' | b'3'..=b'9' => 60,
        b'x' | b'j' | b'q' | b'z' => 20,
        // The first byte of a CJK character is worth little, the later ones more.
        0xE0..=0xFF => 90,
        _ => 40,
    }
}

impl Sweep {
    /// `run` has two bytes or more; without regard to case it is in lower case.
    pub fn new(run: &[u8], caseless: bool) -> Self {
        let rank = |at: usize| {
            // A capital is rare only where its case counts.
            let capital = run[at].is_ascii_uppercase() && !caseless;
            frequency(run[at]) / if capital { 4 } else { 1 }
        };
        let mut order: Vec<usize> = (0..run.len().min(REACH)).collect();
        order.sort_by_key(|&at| rank(at));
        let at = [order[0], order[1]];
        let rarest = Pair { at, bytes: at.map(|at| run[at]) };
        Self { run: run.to_vec(), rarest, bits: if caseless { !0x20 } else { !0 } }
    }

    /// The first place at or after `from` where the run stands or, in JSON, a line ends or a
    /// `\u` stands. The lines of a note are too short to stop at each.
    pub fn next(&self, text: &[u8], from: usize, json: bool) -> Option<usize> {
        let mut at = from;
        loop {
            at = self.pass(text, at, json);
            match text.get(at..)? {
                [] => return None,
                [b'\n', ..] | [b'\\', b'u', ..] if json => return Some(at),
                rest if self.begins(rest) => return Some(at),
                _ => at += 1,
            }
        }
    }

    fn begins(&self, text: &[u8]) -> bool {
        let Some(text) = text.get(..self.run.len()) else {
            return false;
        };
        if self.bits == !0 { *text == *self.run } else { text.eq_ignore_ascii_case(&self.run) }
    }

    /// Two pairs are always tested; in a note the second is the first again.
    fn wanted(&self, json: bool) -> Wanted {
        let (second, line_end) = if json { (ESCAPE, 0) } else { (self.rarest, u8::MAX) };
        Wanted { pairs: [self.rarest, second], bits: self.bits, line_end }
    }

    /// The first place that may be one to stop at, or one near the end of the text.
    fn pass(&self, text: &[u8], from: usize, json: bool) -> usize {
        let wanted = self.wanted(json);
        #[cfg(target_arch = "x86_64")]
        {
            if has_avx512() {
                // SAFETY: the processor has what the function was compiled for.
                #[expect(unsafe_code, reason = "a wider compilation of safe code")]
                return unsafe { pass_avx512(text, from, wanted) };
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: as above.
                #[expect(unsafe_code, reason = "a wider compilation of safe code")]
                return unsafe { pass_avx2(text, from, wanted) };
            }
        }
        pass(text, from, wanted)
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw,avx512vl")]
fn pass_avx512(text: &[u8], from: usize, wanted: Wanted) -> usize {
    pass(text, from, wanted)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn pass_avx2(text: &[u8], from: usize, wanted: Wanted) -> usize {
    pass(text, from, wanted)
}

/// The first place where something wanted is; where fewer bytes are left than a step needs, the place of the first of those.
///
/// One closure and two plain loops: the compiler makes of them one load, two operations and a
/// minimum a byte tested, for as many places as a register holds.
#[inline(always)]
fn pass(text: &[u8], from: usize, wanted: Wanted) -> usize {
    let Wanted { pairs: [one, two], bits, line_end } = wanted;
    let mut at = from;
    while let Some(window) = text.get(at..at + STEP + REACH) {
        let ahead = |far: usize| window[far..].first_chunk::<STEP>();
        let (Some(here), Some(a), Some(b), Some(c), Some(d)) =
            (ahead(0), ahead(one.at[0]), ahead(one.at[1]), ahead(two.at[0]), ahead(two.at[1]))
        else {
            break;
        };
        // Zero where a place is one to stop at.
        let misfit = |i: usize| {
            let first = ((a[i] ^ one.bytes[0]) | (b[i] ^ one.bytes[1])) & bits;
            let second = (c[i] ^ two.bytes[0]) | (d[i] ^ two.bytes[1]);
            first.min(second).min((here[i] ^ b'\n') | line_end)
        };
        let mut least = [u8::MAX; LANES];
        for row in 0..STEP / LANES {
            for (lane, least) in least.iter_mut().enumerate() {
                *least = (*least).min(misfit(row * LANES + lane));
            }
        }
        if least.iter().fold(false, |any, &least| any | (least == 0)) {
            let all: [u8; STEP] = std::array::from_fn(misfit);
            return at + memchr(0, &all).unwrap_or(0);
        }
        // From the second step on every load of the places themselves is aligned: a fifth faster.
        at += STEP - window.as_ptr() as usize % LANES;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Compiled = fn(&[u8], usize, Wanted) -> usize;

    /// Every compilation that this processor can run.
    fn compiled() -> Vec<Compiled> {
        let mut all: Vec<Compiled> = vec![|text, from, wanted| pass(text, from, wanted)];
        #[cfg(target_arch = "x86_64")]
        #[expect(unsafe_code, reason = "a wider compilation of safe code")]
        {
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has what the function was compiled for.
                all.push(|text, from, wanted| unsafe { pass_avx2(text, from, wanted) });
            }
            if has_avx512() {
                // SAFETY: as above.
                all.push(|text, from, wanted| unsafe { pass_avx512(text, from, wanted) });
            }
        }
        all
    }

    /// Every place to stop at, one byte after the other.
    fn plain(text: &[u8], run: &[u8], caseless: bool, json: bool) -> Vec<usize> {
        let stops = |&at: &usize| {
            let rest = &text[at..];
            let begins = rest.len() >= run.len()
                && match caseless {
                    true => rest[..run.len()].eq_ignore_ascii_case(run),
                    false => rest.starts_with(run),
                };
            begins || json && (rest[0] == b'\n' || rest.starts_with(b"\\u"))
        };
        (0..text.len()).filter(stops).collect()
    }

    /// Text in which letters of the run, escapes and line ends are far apart or close together.
    fn any_text() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            3 => prop::collection::vec(any::<u8>(), 0..4),
            3 => (b' '..b'z', 0..700usize).prop_map(|(byte, count)| vec![byte; count]),
            2 => prop::sample::select(vec!["\n", "\\u", "\\", "u", "aB-c", "Ab-C", "ab-", "b-c", "\r", "*"])
                .prop_map(|text| text.as_bytes().to_vec()),
        ];
        prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn a_sweep_equals_its_plain_twin(
            text in any_text(),
            run in prop::sample::select(vec!["ab-c", "ab", "aB-c", "b-", "aaaaaaaaaaaaaaaa"]),
            caseless: bool,
            json: bool,
        ) {
            let run = if caseless { run.to_ascii_lowercase() } else { run.to_owned() };
            let sweep = Sweep::new(run.as_bytes(), caseless);
            let expected = plain(&text, run.as_bytes(), caseless, json);
            let next = |from| sweep.next(&text, from, json);
            let found: Vec<usize> =
                std::iter::successors(next(0), |at| next(at + 1)).collect();
            prop_assert_eq!(&found, &expected);
            // Each compilation stops at the same places and passes over none of them.
            for pass in compiled() {
                let mut from = 0;
                while from < text.len() {
                    let at = pass(&text, from, sweep.wanted(json));
                    prop_assert_eq!(at, super::pass(&text, from, sweep.wanted(json)));
                    prop_assert!(!expected.iter().any(|stop| (from..at).contains(stop)));
                    from = at + 1;
                }
            }
        }
    }
}
