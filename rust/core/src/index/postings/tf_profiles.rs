//! Term-frequency profiles: the distinct counts per variant and field of a concept in a document.
//!
//! "Once in the body, as the first variant" or "twice in the body and once in the heading" come
//! back millions of times, so a posting holds the number of its profile instead of all counts:
//! one byte for the commonest. A variant has a number within its concept, so all concepts share the
//! same few thousand profiles.

use hashbrown::HashTable;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;

use crate::index::bm25f::{Counts, FIELDS, Field};
use crate::index::postings::codec::ESCAPE;

/// Profiles that a posting stores as one byte.
const BYTE_CODES: usize = ESCAPE as usize;

/// The term frequencies of one variant of a concept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct VariantCounts {
    /// The number of the variant within its concept.
    pub variant: u16,
    /// Its term frequency in each field.
    pub counts: Counts,
}

/// The table of profiles.
#[derive(Debug, Clone, Default)]
pub struct TfProfiles {
    /// The variants of every profile, one profile after the other.
    variants: Vec<VariantCounts>,
    /// Where each profile ends in `variants`.
    ends: Vec<u32>,
    /// The counts of each profile, over its variants.
    counts: Vec<Counts>,
    /// For the fast path of scoring.
    summaries: Vec<ProfileSummary>,
    /// [`ProfileSummary::variant`] of the first [`BYTE_CODES`] profiles: each query reads them all.
    byte_code_variants: Vec<u16>,
    /// Those of them that have several variants.
    several_byte_codes: Vec<u8>,
    /// Profiles that were added since the snapshot was opened. To hash the others as well would
    /// delay the first change by milliseconds; a profile that is there twice costs a few bytes
    /// until the next packing.
    by_variants: HashTable<u32>,
    /// As `by_variants`, for profiles with a compact key.
    by_key: FxHashMap<u128, u32>,
    /// The number, plus one, of profiles that are [`CommonProfile`].
    common: Vec<u32>,
}

/// One of the first variants, a few times in the body and the context, or in one other field. Most
/// postings of a build have such a profile, which is looked up in an array and need not be hashed.
struct CommonProfile;

impl CommonProfile {
    const VARIANTS: usize = 8;
    const COUNTS: usize = 16;
    const CONTEXT_COUNTS: usize = 32;
    const OTHERS: usize = Self::VARIANTS * Self::COUNTS * Self::CONTEXT_COUNTS;
    const ALL: usize = Self::OTHERS + Self::VARIANTS * FIELDS * Self::COUNTS;

    /// Returns the index of such a profile in the array.
    fn index(profile: &[VariantCounts]) -> Option<usize> {
        let [VariantCounts { variant, counts: [body, others @ .., context] }] = profile else {
            return None;
        };
        if *others == [0; FIELDS - 2] {
            return Self::index_in_text(*variant, *body, *context);
        }
        // as one number, in which the only count that is not 0 is found without a loop
        let all = others.iter().rev().fold(0, |all, &count| all << 16 | u128::from(count));
        let field = all.trailing_zeros() as usize / 16;
        let (variant, count) = (usize::from(*variant), usize::try_from(all >> (16 * field)).ok()?);
        (variant < Self::VARIANTS && count < Self::COUNTS && body | context == 0)
            .then_some(Self::OTHERS + (variant * FIELDS + field) * Self::COUNTS + count)
    }

    /// Does the same for a variant that is in the body and the context alone.
    #[inline]
    fn index_in_text(variant: u16, body: u16, context: u16) -> Option<usize> {
        let [variant, body, context] = [variant, body, context].map(usize::from);
        (variant < Self::VARIANTS
            && body < Self::COUNTS
            && context < Self::CONTEXT_COUNTS
            && body | context > 0)
            .then_some((variant * Self::COUNTS + body) * Self::CONTEXT_COUNTS + context)
    }
}

/// A profile that has one variant in one field, or what is several in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProfileSummary {
    /// The variant; of several, [`ProfileSummary::SEVERAL`].
    pub variant: u16,
    /// The field; of several, [`ProfileSummary::SEVERAL`].
    pub field: u16,
    /// Its term frequency there.
    pub count: u16,
}

impl ProfileSummary {
    /// Stands for several variants or fields.
    pub const SEVERAL: u16 = u16::MAX;

    fn of(profile: &[VariantCounts], sum: &Counts) -> Self {
        let mut fields = (0..FIELDS).filter(|&field| sum[field] > 0);
        let (field, more) = (fields.next().unwrap_or(0), fields.next());
        Self {
            variant: if let [one] = profile { one.variant } else { Self::SEVERAL },
            field: if more.is_none() { field as u16 } else { Self::SEVERAL },
            count: sum[field],
        }
    }
}

/// Returns the profile as one number, if it has up to three variants with small counts.
///
/// The lookup then needs no access to the profile itself, which is rarely in the processor's cache.
fn compact_key(profile: &[VariantCounts]) -> Option<u128> {
    if profile.len() > 3 {
        return None;
    }
    let mut key = 0u128;
    for VariantCounts { variant, counts } in profile {
        // four bits each; a variant without counts would look like none
        let all = counts.iter().fold(*variant, |all, count| all | count);
        if all >= 16 || counts == &[0; FIELDS] {
            return None;
        }
        let digits =
            counts.iter().fold(u64::from(*variant), |sum, &count| sum << 4 | u64::from(count));
        key = key << 40 | u128::from(digits);
    }
    Some(key)
}

fn hash(variants: &[VariantCounts]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(bytemuck::cast_slice(variants));
    hasher.finish()
}

impl TfProfiles {
    /// Makes the table from the arrays that a snapshot keeps; `None` if they disagree.
    pub fn from_parts(variants: Vec<VariantCounts>, ends: Vec<u32>) -> Option<Self> {
        let ordered = ends.windows(2).all(|pair| pair[0] <= pair[1]);
        if !ordered || ends.last().copied().unwrap_or(0) as usize != variants.len() {
            return None;
        }
        let mut profiles = Self::default();
        let mut start = 0;
        for &end in &ends {
            let profile = &variants[start..end as usize];
            let counted = profile.iter().all(|variant| variant.counts != [0; FIELDS]);
            let ascending = profile.windows(2).all(|pair| pair[0].variant < pair[1].variant);
            if profile.is_empty() || !counted || !ascending {
                return None;
            }
            profiles.add(profile);
            start = end as usize;
        }
        Some(profiles)
    }

    /// Returns the arrays that [`Self::from_parts`] takes.
    pub fn parts(&self) -> (&[VariantCounts], &[u32]) {
        (&self.variants, &self.ends)
    }

    /// Returns the number of a profile that was added since the snapshot was opened.
    #[inline]
    pub fn get(&self, profile: &[VariantCounts]) -> Option<u32> {
        match CommonProfile::index(profile) {
            Some(index) => self.common.get(index)?.checked_sub(1),
            None => self.get_other(profile),
        }
    }

    fn get_other(&self, profile: &[VariantCounts]) -> Option<u32> {
        match compact_key(profile) {
            Some(key) => self.by_key.get(&key).copied(),
            None => {
                let same = |&id: &u32| self.variants(id) == profile;
                self.by_variants.find(hash(profile), same).copied()
            }
        }
    }

    /// Returns the number of a profile, giving it one if it is new.
    #[inline]
    pub fn intern(&mut self, profile: &[VariantCounts]) -> u32 {
        self.get(profile).unwrap_or_else(|| self.intern_new(profile))
    }

    /// Does the same for a variant that is in the body and the context alone, so often.
    #[inline]
    pub fn intern_text(&mut self, variant: u16, body: u16, context: u16) -> u32 {
        let index = CommonProfile::index_in_text(variant, body, context);
        let known = index.and_then(|index| self.common.get(index)?.checked_sub(1));
        known.unwrap_or_else(|| {
            let mut counts = [0; FIELDS];
            (counts[Field::Body as usize], counts[Field::Context as usize]) = (body, context);
            self.intern(&[VariantCounts { variant, counts }])
        })
    }

    #[cold]
    fn intern_new(&mut self, profile: &[VariantCounts]) -> u32 {
        let id = self.add(profile);
        if let Some(index) = CommonProfile::index(profile) {
            self.common.resize(CommonProfile::ALL, 0);
            self.common[index] = id + 1;
        } else if let Some(key) = compact_key(profile) {
            self.by_key.insert(key, id);
        } else {
            let Self { variants, ends, by_variants, .. } = self;
            let hash_of = |&id: &u32| hash(slice(variants, ends, id));
            by_variants.insert_unique(hash_of(&id), id, hash_of);
        }
        id
    }

    fn add(&mut self, profile: &[VariantCounts]) -> u32 {
        let id = self.ends.len() as u32;
        let mut sum = [0u16; FIELDS];
        for variant in profile {
            for (sum, count) in sum.iter_mut().zip(variant.counts) {
                *sum = sum.saturating_add(count);
            }
        }
        let summary = ProfileSummary::of(profile, &sum);
        if self.byte_code_variants.len() < BYTE_CODES {
            self.byte_code_variants.push(summary.variant);
            let is_several = summary.variant == ProfileSummary::SEVERAL;
            self.several_byte_codes.extend(is_several.then_some(id as u8));
        }
        self.summaries.push(summary);
        self.variants.extend_from_slice(profile);
        self.ends.push(self.variants.len() as u32);
        self.counts.push(sum);
        id
    }

    /// Returns the counts of each variant of a profile, in ascending order.
    pub fn variants(&self, id: u32) -> &[VariantCounts] {
        slice(&self.variants, &self.ends, id)
    }

    /// Returns the counts of a profile over all its variants.
    #[inline]
    pub fn counts(&self, id: u32) -> &Counts {
        &self.counts[id as usize]
    }

    /// Returns the summary of a profile.
    #[inline]
    pub fn summary(&self, id: u32) -> ProfileSummary {
        self.summaries[id as usize]
    }

    /// Returns the [`ProfileSummary::variant`] of the profiles that a posting stores as one byte.
    pub fn byte_code_variants(&self) -> &[u16] {
        &self.byte_code_variants
    }

    /// Returns those of these profiles that have several variants.
    pub fn several_byte_codes(&self) -> &[u8] {
        &self.several_byte_codes
    }

    /// Returns the number of profiles.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there is no profile.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

fn slice<'a>(variants: &'a [VariantCounts], ends: &[u32], id: u32) -> &'a [VariantCounts] {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends[id - 1] as usize };
    &variants[start..ends[id] as usize]
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn profile() -> impl Strategy<Value = Vec<VariantCounts>> {
        let count = prop_oneof![9 => Just(0u16), 3 => 1u16..3, 1 => 14u16..18, 1 => 30u16..34];
        let variant = (prop_oneof![0u16..3, 14u16..18], proptest::array::uniform9(count));
        vec(variant.prop_map(|(variant, counts)| VariantCounts { variant, counts }), 1..5)
    }

    proptest! {
        /// The reference is a list that is searched from the beginning.
        #[test]
        fn each_profile_has_one_number(all in vec(profile(), 1..60)) {
            let (mut profiles, mut reference) = (TfProfiles::default(), Vec::new());
            for profile in all.iter().chain(&all) {
                let expected = reference.iter().position(|known| known == profile).unwrap_or(reference.len());
                if expected == reference.len() {
                    reference.push(profile.clone());
                }
                let id = profiles.intern(profile);
                prop_assert_eq!(id as usize, expected);
                prop_assert_eq!(profiles.variants(id), &profile[..]);
                if let [VariantCounts { variant, counts: [body, others @ .., context] }] = profile[..]
                    && others == [0; FIELDS - 2]
                {
                    prop_assert_eq!(profiles.intern_text(variant, body, context), id);
                }
            }
        }
    }
}
