//! SIMD scan of raw JSON for the unescaped quotes, at which strings begin and end.
//!
//! Tool output is full of escaped quotes, and stopping at each of them cost more than all the rest
//! of a search for a frequent word. So the first 64 bytes become bits, and one addition tells of
//! all of them which are escaped; further on 256 bytes at a time are passed over unless a quote
//! among them may be a free one, and only those that may are looked at.

use crate::files::readahead::prefetch_ahead;
use crate::simd::{self, BLOCK, ByteBlock, STEP};

const EVEN: u64 = u64::MAX / 3;

type StepWindow = [u8; 2 + STEP];

/// What a search may stop at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopAt {
    Quote,
    QuoteOrLineEnd,
}

/// The first place from `from` on to stop at.
#[inline]
pub(crate) fn next(text: &[u8], from: usize, stop: StopAt) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    {
        if simd::wide::has_avx512() {
            // SAFETY: the processor has what the function was compiled for.
            #[expect(unsafe_code, reason = "a wider compilation of safe code")]
            return unsafe { wide::next_avx512(text, from, stop) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: as above.
            #[expect(unsafe_code, reason = "a wider compilation of safe code")]
            return unsafe { wide::next_avx2(text, from, stop) };
        }
    }
    find_forward(text, from, stop, simd::equal)
}

/// The last quote in `from..to`.
#[inline]
pub(crate) fn last(text: &[u8], from: usize, to: usize) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if simd::wide::has_avx512() {
        // SAFETY: as above.
        #[expect(unsafe_code, reason = "a wider compilation of safe code")]
        return unsafe { wide::last_avx512(text, from, to) };
    }
    find_backward(text, from, to, simd::equal)
}

#[inline(always)]
fn find_forward(
    text: &[u8],
    from: usize,
    stop: StopAt,
    equal: impl Fn(&ByteBlock, u8) -> u64,
) -> Option<usize> {
    let stops =
        |at: usize| is_quote(text, at) || stop == StopAt::QuoteOrLineEnd && text[at] == b'\n';
    let mut at = from;
    while let Some(block) = text.get(at..).and_then(|rest| rest.first_chunk()) {
        let line_ends = if stop == StopAt::QuoteOrLineEnd { equal(block, b'\n') } else { 0 };
        let exact = quotes(text, at, block, &equal) | line_ends;
        if exact != 0 {
            return Some(at + exact.trailing_zeros() as usize);
        }
        at += BLOCK;
        while let Some(window) = window(text, at) {
            prefetch_ahead(window.as_ptr());
            let misfit = misfit(window, stop);
            if simd::any_match(&misfit) {
                for row in 0..STEP / BLOCK {
                    let mut hits = simd::match_mask(row, &misfit, &equal);
                    while hits != 0 {
                        let place = at + row * BLOCK + hits.trailing_zeros() as usize;
                        if stops(place) {
                            return Some(place);
                        }
                        hits &= hits - 1;
                    }
                }
            }
            at += STEP;
        }
    }
    (at..text.len()).find(|&at| stops(at))
}

#[inline(always)]
fn find_backward(
    text: &[u8],
    from: usize,
    to: usize,
    equal: impl Fn(&ByteBlock, u8) -> u64,
) -> Option<usize> {
    let mut end = to;
    while let Some(start) = end.checked_sub(BLOCK).filter(|&start| start >= from) {
        if let Some(block) = text[start..].first_chunk() {
            let exact = quotes(text, start, block, &equal);
            if exact != 0 {
                return Some(end - 1 - exact.leading_zeros() as usize);
            }
        }
        end = start;
        while let Some(start) = end.checked_sub(STEP).filter(|&start| start >= from)
            && let Some(window) = window(text, start)
        {
            let misfit = misfit(window, StopAt::Quote);
            if simd::any_match(&misfit) {
                for row in (0..STEP / BLOCK).rev() {
                    let mut hits = simd::match_mask(row, &misfit, &equal);
                    while hits != 0 {
                        let bit = hits.ilog2() as usize;
                        let place = start + row * BLOCK + bit;
                        if is_quote(text, place) {
                            return Some(place);
                        }
                        hits ^= 1 << bit;
                    }
                }
            }
            end = start;
        }
    }
    (from..end).rev().find(|&at| is_quote(text, at))
}

/// A step that begins at `start`, with the two bytes before it.
#[inline(always)]
fn window(text: &[u8], start: usize) -> Option<&StepWindow> {
    text.get(start.checked_sub(2)?..)?.first_chunk()
}

/// Zero for the places of a step that may be ones to stop at: of two backslashes before a quote the
/// second may be escaped by the first. Exact bits of every block took four times as long.
#[inline(always)]
fn misfit(window: &StepWindow, stop: StopAt) -> impl Fn(usize) -> u8 {
    let no_line_end = if stop == StopAt::Quote { u8::MAX } else { 0 };
    move |i| {
        let [before, last, here] = [window[i], window[i + 1], window[i + 2]];
        let escaped = 1u8.saturating_sub(last ^ b'\\').min(before ^ b'\\');
        (here ^ b'"' | escaped).min(here ^ b'\n' | no_line_end)
    }
}

/// The quotes of the block at `start` that no backslash escapes.
#[inline(always)]
fn quotes(
    text: &[u8],
    start: usize,
    block: &ByteBlock,
    equal: &impl Fn(&ByteBlock, u8) -> u64,
) -> u64 {
    let quotes = equal(block, b'"');
    if quotes == 0 {
        return 0;
    }
    quotes & !escaped(equal(block, b'\\'), is_escaped(&text[..start]))
}

/// The places behind an odd number of backslashes; `first` tells whether the first place is one.
#[inline(always)]
fn escaped(slashes: u64, first: bool) -> u64 {
    // A backslash that is escaped escapes nothing.
    let slashes = slashes & !u64::from(first);
    let starts = slashes & !(slashes << 1);
    // Adding the first bit of a run to it carries into the place behind it.
    let behind = |starts: u64| slashes.wrapping_add(starts) & !slashes;
    // A run is odd if it begins at an even place and ends before an odd one, or the reverse.
    behind(starts & EVEN) & !EVEN | behind(starts & !EVEN) & EVEN | u64::from(first)
}

fn is_quote(text: &[u8], at: usize) -> bool {
    text[at] == b'"' && !is_escaped(&text[..at])
}

/// Whether what follows `before` is escaped: an odd number of backslashes ends it.
#[inline]
fn is_escaped(before: &[u8]) -> bool {
    before.iter().rev().take_while(|&&byte| byte == b'\\').count() % 2 == 1
}

/// The same searches, compiled for more.
#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{StopAt, find_backward, find_forward, simd};

    #[target_feature(enable = "avx512bw,avx512vl")]
    pub fn next_avx512(text: &[u8], from: usize, stop: StopAt) -> Option<usize> {
        find_forward(text, from, stop, |block, byte| simd::wide::equal(block, byte))
    }

    #[target_feature(enable = "avx2")]
    pub fn next_avx2(text: &[u8], from: usize, stop: StopAt) -> Option<usize> {
        find_forward(text, from, stop, simd::equal)
    }

    #[target_feature(enable = "avx512bw,avx512vl")]
    pub fn last_avx512(text: &[u8], from: usize, to: usize) -> Option<usize> {
        find_backward(text, from, to, |block, byte| simd::wide::equal(block, byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn unescaped_quotes_equal_those_of_the_plain_reference(
            pieces in prop::collection::vec(
                prop_oneof![
                    4 => Just(r#"\""#.to_owned()),
                    2 => prop::sample::select(vec![1, 2, 3, 62, 63, 64, 130]).prop_map(|n| r"\".repeat(n)),
                    1 => Just("\"".to_owned()),
                    1 => Just("\n".to_owned()),
                    9 => (0..400usize).prop_map(|n| "x".repeat(n)),
                ],
                0..60,
            ),
            from in 0..100usize,
            cut in 0..100usize,
        ) {
            let text = pieces.concat().into_bytes();
            let to = text.len().saturating_sub(cut);
            let from = from.min(to);
            let quote = |at: &usize| {
                let slashes = text[..*at].iter().rev().take_while(|&&byte| byte == b'\\').count();
                text[*at] == b'"' && slashes % 2 == 0
            };
            let either = |at: &usize| quote(at) || text[*at] == b'\n';
            let expected = (
                (from..to).rev().find(quote),
                (from..text.len()).find(quote),
                (from..text.len()).find(either),
            );
            prop_assert_eq!(last(&text, from, to), expected.0);
            prop_assert_eq!(next(&text, from, StopAt::Quote), expected.1);
            prop_assert_eq!(next(&text, from, StopAt::QuoteOrLineEnd), expected.2);
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has what the function was compiled for.
                #[expect(unsafe_code, reason = "a wider compilation of safe code")]
                let found = unsafe { wide::next_avx2(&text, from, StopAt::QuoteOrLineEnd) };
                prop_assert_eq!(found, expected.2);
            }
            for equal in simd::tests::compiled() {
                prop_assert_eq!(find_backward(&text, from, to, equal), expected.0);
                prop_assert_eq!(find_forward(&text, from, StopAt::Quote, equal), expected.1);
                prop_assert_eq!(find_forward(&text, from, StopAt::QuoteOrLineEnd, equal), expected.2);
            }
        }
    }
}
