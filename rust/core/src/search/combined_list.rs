//! Combined posting lists: the documents of several words, or of one field of them, as one concept.

use crate::error::{Error, Result};
use crate::index::bm25f::{Counts, FIELDS, Field};
use crate::index::doc_freqs::{WordDocFreqs, is_in_text};
use crate::index::postings::codec::Posting;
use crate::index::postings::tf_profiles::VariantCounts;
use crate::index::topk::collector::Scoring;
use crate::search::query_concept::{ConceptList, ConceptName, QueryConcept};
use crate::search::scoring::QueryScorer;

impl QueryScorer<'_> {
    /// Adds several words as one concept; with `field`, only what is in this field of them.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub(super) fn add_combined(
        &mut self,
        name: String,
        words: &[u32],
        field: Option<Field>,
    ) -> Result<()> {
        let documents = self.combine(words, field)?;
        let index = &self.catalog.index;
        self.combined.extend(words.iter().map(|&word| index.entry(word).concept));
        let count = documents.len() as u32;
        let text = documents.iter().filter(|(_, counts)| is_in_text(counts)).count() as u32;
        let doc_freq = match field {
            Some(_) => count,
            None => WordDocFreqs { any: count, text }.scored(0),
        };
        let doc_freq = self.stats.pattern(&name, doc_freq);
        let first = self.catalog.index.lexicon().profiles.len() as u32;
        let Self { query_profiles, by_counts, .. } = self;
        let posting = |(document, counts): (u32, Counts)| {
            let number = *by_counts.entry(counts).or_insert_with(|| {
                query_profiles.push(counts);
                query_profiles.len() as u32 - 1
            });
            Posting { document, profile: first + number }
        };
        let list: Vec<Posting> = documents.into_iter().map(posting).collect();
        let counts = |profile| &self.query_profiles[(profile - first) as usize];
        let bytes = self.catalog.index.encode_list(&list, &self.formula, counts);
        let list = ConceptList::Combined(bytes, count);
        let any = self.formula.idf(doc_freq);
        self.asked += any;
        let (variants, heading, speaker) = (Vec::new(), 0.0, 0.0);
        let (word, name) = (name.clone(), ConceptName::Pattern(name));
        let concept = QueryConcept { name, word, list, doc_freq, any, variants, heading, speaker };
        self.concepts.push(concept);
        Ok(())
    }

    /// Returns each document that holds any of the words, in order, with the sum of their counts.
    fn combine(&self, words: &[u32], field: Option<Field>) -> Result<Vec<(u32, Counts)>> {
        let index = &self.catalog.index;
        let profiles = &index.lexicon().profiles;
        let mut found: Vec<(u32, Counts)> = Vec::new();
        // by document, its index in `found`, plus one
        let mut indexes = vec![0u32; index.max_doc() as usize];
        for &word in words {
            if self.is_stopped() {
                return Err(Error::Interrupted);
            }
            let entry = index.entry(word);
            index.validate_list(entry.concept, self.interrupt)?;
            index.posting_list(entry.concept).for_each(|posting| {
                let variant = |s: &&VariantCounts| u32::from(s.variant) == entry.variant;
                let variant = profiles.variants(posting.profile).iter().find(variant);
                let Some(variant) = variant.filter(|_| index.is_live(posting.document)) else {
                    return;
                };
                let at = &mut indexes[posting.document as usize];
                if *at == 0 {
                    found.push((posting.document, [0; FIELDS]));
                    *at = found.len() as u32;
                }
                let all = &mut found[*at as usize - 1].1;
                for f in (0..FIELDS).filter(|f| field.is_none_or(|field| field as usize == *f)) {
                    all[f] = all[f].saturating_add(variant.counts[f]);
                }
            });
        }
        found.retain(|(_, counts)| *counts != [0; FIELDS]);
        found.sort_unstable_by_key(|(document, _)| *document);
        Ok(found)
    }
}
