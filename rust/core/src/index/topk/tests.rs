//! Top-k retrieval against scoring every document.

use std::cmp::{Ordering, Reverse};
use std::ops::Range;

use proptest::prelude::*;

use super::*;
use crate::index::postings::codec::{BLOCK, Impact, Posting, encode};
use crate::index::postings::reader::PostingList;
use crate::index::topk::term_scorer::TermBounds;
use crate::index::topk::upper_bound::{FixedScore, to_fixed};

/// The score of a posting depends on its profile alone; each term has three weights.
/// Neighbours are grouped, if at all, as the messages of a turn are.
struct SimpleScoring(Vec<[f32; 3]>, Option<u32>);

fn saturation(profile: u32) -> f32 {
    (profile % 31 + 1) as f32 / 31.0
}

fn heading(profile: u32) -> f32 {
    if profile % 7 == 5 { saturation(profile) } else { 0.0 }
}

fn speaker(profile: u32) -> f32 {
    if profile % 11 == 9 { 1.0 } else { 0.0 }
}

impl Scoring for SimpleScoring {
    fn term_score(&self, term: usize, _: u32, profile: u32) -> f32 {
        let [all, in_heading, as_speaker] = self.0[term];
        all * saturation(profile) + in_heading * heading(profile) + as_speaker * speaker(profile)
    }

    fn allows(&self, document: u32) -> bool {
        !document.is_multiple_of(7) && (document as usize / BLOCK) % 5 != 3
    }

    fn is_filtered(&self) -> bool {
        self.0.len().is_multiple_of(2)
    }

    fn may_allow(&self, mut documents: Range<u32>) -> bool {
        documents.any(|document| self.allows(document))
    }

    fn group(&self, document: u32) -> Option<u32> {
        Some(document / self.1?)
    }

    fn tie(&self, a: u32, b: u32) -> Ordering {
        a.cmp(&b)
    }
}

/// The weights and the postings of a rare or frequent term, over a few dozen superblocks.
fn term() -> impl Strategy<Value = ([f32; 3], Vec<Posting>)> {
    let gap = prop_oneof![2u32..40, 100u32..4000];
    let profile = prop_oneof![9 => 0u32..31, 1 => 0u32..400];
    let list = (gap, prop::collection::vec((1u32..1000, profile), 0..3000));
    let more = || prop_oneof![Just(0f32), 0.1f32..9.0];
    ((0.1f32..9.0, more(), more()), list).prop_map(|((weight, a, b), (gap, steps))| {
        let mut document = 0;
        let list = steps.into_iter().map(|(step, profile)| {
            document += 1 + step % gap;
            // most have a low score, as in texts
            let profile = if step.is_multiple_of(9) { profile } else { profile / 8 };
            Posting { document, profile }
        });
        ([weight, a, b], list.collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn top_k_equals_exhaustive_scoring(
        terms in prop::collection::vec(term(), 0..6),
        cut in 0usize..3000,
        k in 1usize..40,
        policy in (1usize..40, 0usize..200),
        group in prop::option::of(prop_oneof![1u32..8, 100u32..3000]),
    ) {
        let scoring = SimpleScoring(terms.iter().map(|(weight, _)| *weight).collect(), group);
        let scale = BoundScale::new(scoring.0.iter().flatten().sum());
        let packed: Vec<(usize, Vec<u8>)> = terms.iter().map(|(_, list)| {
            let (cut, mut bytes) = (cut.min(list.len()), Vec::new());
            let impact = |&Posting { profile, .. }: &Posting| {
                Impact::new(saturation(profile), heading(profile), speaker(profile) > 0.0)
            };
            encode(&list[..cut], impact, &mut bytes);
            (cut, bytes)
        }).collect();
        let scorers = terms.iter().zip(&packed).map(|((weight, list), (cut, bytes))| {
            let [all, in_heading, as_speaker] = *weight;
            let speakers = (as_speaker > 0.0).then(|| {
                let weight = |code| if code == 255 { 1.0 } else { speaker(code as u32) };
                Box::new(std::array::from_fn(|code| scale.upper_bound(as_speaker * weight(code))))
            });
            let per_saturation = [scale.upper_bound(all / 255.0); 256];
            let per_heading = scale.upper_bound(in_heading / 255.0);
            let bounds = Box::new(TermBounds { per_saturation, speakers, per_heading });
            let list = PostingList::new(bytes, *cut as u32, &list[*cut..], Impact::MAX);
            TermScorer { list, bounds }
        });
        let accepts = |document: u32| !document.is_multiple_of(5);
        let scorers: Vec<TermScorer<'_>> = scorers.collect();
        let top = TopDocs::new(&scoring, scale, k);
        let policy = PruningPolicy { blocks: policy.0, ranges: policy.1 };
        let found = top_k_with_policy(&scorers, top, policy, &mut |document| accepts(document));

        let mut sums = std::collections::BTreeMap::<u32, FixedScore>::new();
        for (term, (_, list)) in terms.iter().enumerate() {
            for p in list {
                *sums.entry(p.document).or_default() +=
                    to_fixed(scoring.term_score(term, p.document, p.profile));
            }
        }
        let mut all: Vec<(FixedScore, u32)> = sums.into_iter().map(|(d, sum)| (sum, d)).collect();
        all.retain(|&(_, document)| scoring.allows(document) && accepts(document));
        all.sort_by_key(|&(sum, document)| (Reverse(sum), document));
        let mut groups = std::collections::BTreeSet::new();
        all.retain(|&(_, document)| {
            scoring.group(document).is_none_or(|group| groups.insert(group))
        });
        all.truncate(k);
        let found: Vec<u32> = found.iter().map(|scored| scored.document).collect();
        prop_assert_eq!(found, all.iter().map(|&(_, d)| d).collect::<Vec<u32>>());
    }
}
