//! Upper bounds of what each concept of a query can add to a score.

use crate::index::bm25f::FIELDS;
use crate::index::topk::term_scorer::{TermBounds, TermScorer};
use crate::index::topk::upper_bound::BoundScale;
use crate::search::query_concept::QueryConcept;
use crate::search::scoring::QueryScorer;

impl QueryScorer<'_> {
    /// Returns the posting list and the bounds of each concept, and the scale of the bounds.
    pub fn term_scorers(&self) -> (Vec<TermScorer<'_>>, BoundScale) {
        let max = |concept: &QueryConcept| {
            let variants: f32 = concept.variants.iter().map(|(_, weight)| weight).sum();
            (concept.any + variants + concept.heading) * self.impact_growth + concept.speaker
        };
        let scale = BoundScale::new(self.concepts.iter().map(max).sum());
        ((0..self.concepts.len()).map(|number| self.term_scorer(number, scale)).collect(), scale)
    }

    fn term_scorer(&self, number: usize, scale: BoundScale) -> TermScorer<'_> {
        let concept = &self.concepts[number];
        let all: f32 = concept.variants.iter().map(|(_, weight)| weight).sum();
        let bound = |weight: f32| match weight > 0.0 {
            true => scale.upper_bound(weight * self.impact_growth / 255.0),
            false => 0,
        };
        let mut bounds = Box::new(TermBounds {
            per_saturation: [bound(concept.any + all); 256],
            speakers: None,
            per_heading: bound(concept.heading),
        });
        let profiles = &self.catalog.index.lexicon().profiles;
        let profile_variants = profiles.byte_code_variants();
        if let [(first, weight), others @ ..] = &concept.variants[..] {
            let per_saturation = &mut bounds.per_saturation;
            let other = bound(concept.any);
            let own = bound(concept.any + weight);
            for (&variant, max) in profile_variants.iter().zip(per_saturation.iter_mut()) {
                *max = if variant == *first { own } else { other };
            }
            // one variant at a time: most concepts have one in the query
            for &(number, weight) in others {
                let own = bound(concept.any + weight);
                for (&variant, max) in profile_variants.iter().zip(per_saturation.iter_mut()) {
                    *max = if variant == number { own } else { *max };
                }
            }
            for &profile in profiles.several_byte_codes() {
                let held_variants = profiles.variants(profile.into());
                let held = |number| held_variants.iter().any(|v| v.variant == number);
                let own = concept.variants.iter().filter(|(number, _)| held(*number));
                let own = own.map(|(_, weight)| weight).sum::<f32>();
                per_saturation[usize::from(profile)] = bound(concept.any + own);
            }
        }
        bounds.speakers = (concept.speaker > 0.0).then(|| {
            let mut speakers = Box::new([scale.upper_bound(concept.speaker); 256]);
            for (profile, max) in (0..profile_variants.len() as u32).zip(&mut speakers[..]) {
                let counts = profiles.counts(profile);
                // the shortest length: a name can be all stop words, which do not count
                let frequency = self.formula.speaker_frequency(counts, &[0; FIELDS]);
                *max = scale.upper_bound(self.formula.score(concept.speaker, frequency));
            }
            speakers
        });
        TermScorer { list: self.list(number), bounds }
    }
}
