//! Posting lists as they are read against the postings that were encoded.

use proptest::prelude::*;

use super::*;
use crate::index::postings::codec::{encode, profile_code, spaced};

/// Lists of frequent and rare words, each with some postings in headings or none.
fn lists() -> impl Strategy<Value = Vec<Posting>> {
    let profile = prop_oneof![9 => 0u32..20, 1 => 0u32..70_000];
    let postings = prop::collection::vec((0u32..1000, profile), 0..2000);
    (prop_oneof![1u32..4, 2u32..60, 100u32..4000], postings)
        .prop_map(|(gap, steps)| spaced(gap, steps))
}

/// The impact of a posting depends on the posting alone, so the test can compute it.
fn impact(posting: &Posting) -> Impact {
    let heading =
        if (posting.document / 5000).is_multiple_of(2) { posting.profile as u8 / 2 } else { 0 };
    Impact { saturation: posting.profile as u8, heading, speaker: posting.profile == 7 }
}

fn max<'p>(postings: impl Iterator<Item = &'p Posting>) -> Impact {
    postings.map(impact).fold(Impact::default(), Impact::max)
}

fn offset_and_impact(posting: &Posting) -> (usize, u8, u8, u8) {
    let Impact { saturation, heading, .. } = impact(posting);
    (posting.document as usize % BLOCK, saturation, heading, profile_code(posting.profile))
}

fn superblock(posting: &Posting) -> usize {
    posting.document as usize / SUPERBLOCK
}

fn block(posting: &Posting) -> usize {
    posting.document as usize / BLOCK % BLOCKS_PER_SUPERBLOCK
}

/// Compares a superblock with the postings that were encoded in it.
fn check_superblock(
    superblocks: &Superblocks<'_>,
    postings: &[Posting],
) -> Result<(), TestCaseError> {
    let (number, whole) = (superblock(&postings[0]), max(postings.iter()));
    let entry = superblocks.numbers().position(|at| at == number);
    let entry = entry.expect("an entry for each superblock");
    prop_assert_eq!(superblocks.saturations[entry], whole.saturation);
    prop_assert_eq!(superblocks.headings[entry], whole.heading);
    let packed = superblocks.get(number).expect("the same superblock");
    prop_assert_eq!(packed.has_speaker, whole.speaker);
    prop_assert_eq!(superblocks.with_speaker().any(|at| at == number), whole.speaker);
    let all: Vec<_> =
        postings.iter().map(offset_and_impact).map(|(_, a, b, c)| (a, b, c)).collect();
    prop_assert_eq!(packed.impacts().collect::<Vec<_>>(), all);
    for at in 0..BLOCKS_PER_SUPERBLOCK {
        let here: Vec<&Posting> = postings.iter().filter(|p| block(p) == at).collect();
        let mut seen = Vec::new();
        packed.postings(at).for_each(0, |offset, saturation, heading, code| {
            seen.push((offset, saturation, heading, code));
        });
        prop_assert_eq!(seen, here.iter().map(|p| offset_and_impact(p)).collect::<Vec<_>>());
        match packed.block_maxima() {
            BlockMaxima::Stored([saturations, headings, counts]) => {
                let expected = max(here.iter().copied());
                prop_assert_eq!(saturations[at], expected.saturation);
                prop_assert_eq!(headings[at], expected.heading);
                prop_assert_eq!(usize::from(counts[at]), here.len());
            }
            BlockMaxima::PerPosting(blocks) => {
                let blocks = blocks.iter().filter(|&&block| usize::from(block) == at);
                prop_assert_eq!(blocks.count(), here.len());
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_list_reads_as_it_was_written(
        list in lists(),
        cut in 0usize..2000,
        others in prop::collection::vec(0u32..1_500_000, 0..40),
    ) {
        let (packed, tail) = list.split_at(cut.min(list.len()));
        let mut bytes = Vec::new();
        encode(packed, impact, &mut bytes);
        bytes.extend([1, 2, 3]); // of the next list
        let opened = PostingList::new(&bytes, packed.len() as u32, tail, Impact::MAX);
        let mut all = Vec::new();
        opened.for_each(|posting| all.push(posting));
        prop_assert_eq!(&all, &list);
        for &document in others.iter().chain(list.iter().map(|posting| &posting.document)) {
            let expected = list.iter().find(|posting| posting.document == document);
            prop_assert_eq!(opened.find(document), expected.map(|posting| posting.profile));
        }
        let end = list.last().map_or(0, |posting| posting.document + 1);
        prop_assert!(opened.end() >= end && opened.end() as usize <= (end as usize).next_multiple_of(SUPERBLOCK));

        let blocked = if packed.len() < MIN_BLOCKED { &[] } else { packed };
        let mut numbers = Vec::new();
        for postings in blocked.chunk_by(|a, b| superblock(a) == superblock(b)) {
            numbers.push(superblock(&postings[0]));
            check_superblock(opened.superblocks(), postings)?;
        }
        for (entry, number) in opened.superblocks().numbers().enumerate() {
            if !numbers.contains(&number) {
                prop_assert!(opened.superblocks().is_dense());
                prop_assert_eq!(opened.superblocks().saturations[entry], 0);
                let part = opened.superblocks().get(number).expect("an empty superblock");
                prop_assert_eq!(part.impacts().count(), 0);
            }
        }
        prop_assert_eq!(opened.superblocks().get(800).is_some(), numbers.contains(&800));

        let unblocked: Vec<(Posting, Impact)> = match packed.len() < MIN_BLOCKED {
            true => packed.iter().map(|posting| (*posting, impact(posting))).collect(),
            false => Vec::new(),
        };
        let tail = tail.iter().map(|posting| (*posting, Impact::MAX));
        let unblocked: Vec<(Posting, Impact)> = unblocked.into_iter().chain(tail).collect();
        let may_have = |number| opened.may_have_unblocked(number);
        prop_assert!(unblocked.iter().all(|(posting, _)| may_have(superblock(posting))));
        prop_assert!(!unblocked.is_empty() || !(0..64).any(may_have));
        prop_assert_eq!(opened.unblocked().collect::<Vec<_>>(), unblocked.clone());
        for pair in others.chunks_exact(2) {
            let range = pair[0].min(pair[1])..pair[0].max(pair[1]);
            let within = unblocked.iter().filter(|(p, _)| range.contains(&p.document));
            let within: Vec<(Posting, Impact)> = within.copied().collect();
            prop_assert_eq!(opened.unblocked_in(range).collect::<Vec<_>>(), within);
        }
    }
}

#[test]
fn prefix_sums_of_bytes() {
    let bytes = std::array::from_fn(|at| 128 - at as u8);
    for count in 0..BLOCKS_PER_SUPERBLOCK {
        let expected = bytes[..count].iter().map(|&byte| usize::from(byte)).sum::<usize>();
        assert_eq!(prefix_sum(count, &bytes), expected);
    }
    assert_eq!(prefix_sum(15, &[255; BLOCKS_PER_SUPERBLOCK]), 15 * 255);
}
