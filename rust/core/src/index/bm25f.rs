//! BM25F, the scoring formula (Robertson & Zaragoza 2009, "The Probabilistic
//! Relevance Framework: BM25 and Beyond", §3.6).
//!
//! ```text
//! tf~(t,d)   = Σ_f w_f · tf(t,f,d) / ((1 − b_f) + b_f · (len(f,d) + m_f) / (avglen_f + m_f))
//! score(q,d) = Σ_t idf(t) · tf~ / (k1 + tf~)      idf(t) = ln(1 + (N − n_t + 0.5)/(n_t + 0.5))
//! ```
//! `n_t` counts documents with `t` in their text: not the speaker, the time and the context, which
//! stand beside it (see `doc_freqs`). `avglen_f` is the mean over the documents that have field `f`
//! at all, since empty ones would distort the norm.
//! `m_f` is ours: it is the classic norm with `b′ = b·avglen/(avglen + m)`, so that length matters the less the shorter the
//! texts of a collection are; with `m = 0` the formula is that of the paper.

use std::fmt::Write;

use crate::error::{Error, Result};

/// How many fields there are.
pub const FIELDS: usize = 9;

/// A part of a section or message that is scored with its own weight and length norm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Field {
    /// The text itself.
    Body,
    /// Its own heading and those above it.
    Heading,
    /// The note's title.
    Title,
    /// Keywords, tags, category and summary lines.
    Keywords,
    /// Fenced and indented code.
    Code,
    /// The path of the file.
    Path,
    /// Who said it.
    Speaker,
    /// When it was said, as words.
    Time,
    /// The text of the neighbouring messages of the same session.
    Context,
}

impl Field {
    /// Every field, in the order of its number.
    pub const ALL: [Self; FIELDS] = [
        Self::Body,
        Self::Heading,
        Self::Title,
        Self::Keywords,
        Self::Code,
        Self::Path,
        Self::Speaker,
        Self::Time,
        Self::Context,
    ];

    /// The name that `field:word` and settings use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Body => "body",
            Self::Heading => "heading",
            Self::Title => "title",
            Self::Keywords => "keywords",
            Self::Code => "code",
            Self::Path => "path",
            Self::Speaker => "speaker",
            Self::Time => "time",
            Self::Context => "context",
        }
    }

    /// Returns the field of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }
}

/// The frequency of one term in each field of one document.
pub type Counts = [u16; FIELDS];

/// How many terms each field of one document holds; longer ones count as 65,535.
pub type Lengths = [u16; FIELDS];

/// Returns one bit for each field that has a count.
#[inline]
fn occupied(counts: &Counts) -> u32 {
    counts.iter().enumerate().fold(0, |bits, (field, &count)| bits | u32::from(count > 0) << field)
}

/// The parameters of the formula that a caller may set: one weight and one length norm a field, and `k1`.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// Term-frequency saturation: how soon more of the same word stops to matter.
    pub k1: f32,
    /// `w_f`.
    pub weight: [f32; FIELDS],
    /// `b_f`, from 0 (length does not matter) to 1.
    pub b: [f32; FIELDS],
    /// `m_f`, in terms.
    pub m: [f32; FIELDS],
}

impl Default for Weights {
    fn default() -> Self {
        let mut weights =
            Self { k1: 1.3, weight: [1.0; FIELDS], b: [0.5; FIELDS], m: [0.0; FIELDS] };
        for (field, weight, b, m) in [
            (Field::Body, 1.0, 1.0, 15.0),
            // a heading of only the query terms says more than one with other words too
            (Field::Heading, 1.0, 1.0, 0.5),
            (Field::Title, 1.0, 1.0, 0.5),
            (Field::Code, 1.0, 1.0, 15.0),
            (Field::Path, 1.0, 0.3, 0.0),
            (Field::Speaker, 2.0, 0.0, 0.0),
            (Field::Time, 1.0, 0.0, 0.0),
            (Field::Context, 0.3, 0.5, 15.0),
        ] {
            weights.weight[field as usize] = weight;
            weights.b[field as usize] = b;
            weights.m[field as usize] = m;
        }
        weights
    }
}

impl Weights {
    /// Sets `k1`, `NAME` (a weight), `NAME.b` (a length norm) or `NAME.m`.
    ///
    /// # Errors
    /// [`Error::Query`] for an unknown name, a negative or non-finite number, or `b` above 1.
    pub fn set(&mut self, name: &str, value: f32) -> Result<()> {
        let refuse = |why: &str| Error::Query {
            query: format!("{name} = {value}"),
            code: "weights",
            why: why.to_owned(),
        };
        if !value.is_finite() || value < 0.0 {
            return Err(refuse("a weight is a number from 0 up"));
        }
        let (field, of) = name.split_once('.').unwrap_or((name, ""));
        let slot = match (Field::named(field), of) {
            (_, "b") if value > 1.0 => return Err(refuse("a length norm lies between 0 and 1")),
            (Some(field), "") => Some(&mut self.weight[field as usize]),
            (Some(field), "b") => Some(&mut self.b[field as usize]),
            (Some(field), "m") => Some(&mut self.m[field as usize]),
            _ if name == "k1" => Some(&mut self.k1),
            _ => None,
        };
        *slot.ok_or_else(|| refuse("known names are k1, a field, or a field with .b or .m"))? =
            value;
        Ok(())
    }

    /// Returns every setting by its name.
    pub fn named(&self) -> Vec<(String, f32)> {
        let mut all = vec![("k1".to_owned(), self.k1)];
        for field in Field::ALL {
            all.push((field.name().to_owned(), self.weight[field as usize]));
            all.push((format!("{}.b", field.name()), self.b[field as usize]));
            all.push((format!("{}.m", field.name()), self.m[field as usize]));
        }
        all
    }
}

/// Statistics of the collection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// `N`: documents.
    pub documents: u32,
    /// Documents that have the field.
    pub docs_with_field: [u32; FIELDS],
    /// Terms in the field, over all documents.
    pub length: [u64; FIELDS],
}

impl Totals {
    /// Adds a document.
    pub fn add(&mut self, lengths: &Lengths) {
        self.documents += 1;
        for (field, &length) in lengths.iter().enumerate() {
            self.docs_with_field[field] += u32::from(length > 0);
            self.length[field] += u64::from(length);
        }
    }

    /// Removes a document.
    pub fn remove(&mut self, lengths: &Lengths) {
        self.documents -= 1;
        for (field, &length) in lengths.iter().enumerate() {
            self.docs_with_field[field] -= u32::from(length > 0);
            self.length[field] -= u64::from(length);
        }
    }

    /// Adds other documents.
    pub fn merge(&mut self, other: &Self) {
        self.documents = self.documents.saturating_add(other.documents);
        let counts = self.docs_with_field.iter_mut().zip(other.docs_with_field);
        counts.for_each(|(all, more)| *all = all.saturating_add(more));
        let lengths = self.length.iter_mut().zip(other.length);
        lengths.for_each(|(all, more)| *all = all.saturating_add(more));
    }

    /// Returns `avglen_f` of every field that a document has, and infinity for the others.
    pub fn average_if_any(&self) -> [f32; FIELDS] {
        let average = self.average();
        std::array::from_fn(
            |f| if self.docs_with_field[f] > 0 { average[f] } else { f32::INFINITY },
        )
    }

    /// Returns `avglen_f` of every field; 1 where no document has the field.
    pub fn average(&self) -> [f32; FIELDS] {
        std::array::from_fn(|f| match self.docs_with_field[f] {
            0 => 1.0,
            count => (self.length[f] as f64 / f64::from(count)) as f32,
        })
    }
}

/// The formula with the statistics of the collection.
#[derive(Debug, Clone)]
pub struct Bm25f {
    k1: f32,
    weight: [f32; FIELDS],
    /// The part of the length norm that does not depend on the document.
    base: [f32; FIELDS],
    /// What each term of the field adds to the length norm.
    slope: [f32; FIELDS],
    documents: f32,
}

impl Bm25f {
    /// Prepares the formula for a collection.
    pub fn new(weights: &Weights, totals: &Totals) -> Self {
        let average = totals.average();
        let slope = std::array::from_fn(|f| weights.b[f] / (average[f] + weights.m[f]));
        Self {
            k1: weights.k1,
            weight: weights.weight,
            // never zero, or a field of stop words alone would divide by it
            base: std::array::from_fn(|f| (1.0 - weights.b[f] + slope[f] * weights.m[f]).max(1e-3)),
            slope,
            documents: totals.documents as f32,
        }
    }

    /// Returns `idf(t)` of a term that `n` documents hold; never negative.
    pub fn idf(&self, n: u32) -> f32 {
        let n = n as f32;
        // of a word that nearly all documents hold, 1 + x would keep but a few digits of x
        (((self.documents - n).max(0.0) + 0.5) / (n + 0.5)).ln_1p()
    }

    /// Returns the share of one field in `tf~`.
    #[inline]
    pub fn part(&self, field: usize, count: u16, length: u16) -> f32 {
        self.weight[field] * f32::from(count)
            / (self.base[field] + self.slope[field] * f32::from(length))
    }

    /// Returns `tf~(t,d)`.
    #[inline]
    pub fn frequency(&self, counts: &Counts, lengths: &Lengths) -> f32 {
        // most postings have counts in one or two fields
        let mut fields = occupied(counts);
        let mut sum = 0.0;
        while fields > 0 {
            let field = fields.trailing_zeros() as usize;
            fields &= fields - 1;
            sum += self.part(field, counts[field], lengths[field]);
        }
        sum
    }

    /// Returns `tf~` in headings and titles alone.
    #[inline]
    pub fn heading_frequency(&self, counts: &Counts, lengths: &Lengths) -> f32 {
        let fields = [Field::Heading as usize, Field::Title as usize];
        fields.into_iter().map(|field| self.part(field, counts[field], lengths[field])).sum()
    }

    /// Returns `tf~` in the speaker's name alone.
    #[inline]
    pub fn speaker_frequency(&self, counts: &Counts, lengths: &Lengths) -> f32 {
        let field = Field::Speaker as usize;
        self.part(field, counts[field], lengths[field])
    }

    /// Returns what a term of weight `idf` adds to the score of a document.
    #[inline]
    pub fn score(&self, idf: f32, frequency: f32) -> f32 {
        idf * (frequency / (self.k1 + frequency))
    }

    /// Returns `score(idf, tf~)` of a term that is in one field only, with one division.
    #[inline]
    pub fn score_in(&self, idf: f32, field: usize, count: u16, length: u16) -> f32 {
        let count = self.weight[field] * f32::from(count);
        let norm = self.base[field] + self.slope[field] * f32::from(length);
        idf * count / (self.k1 * norm + count)
    }

    /// Writes the formula for one part with its numbers; with `fields`, one line a field too.
    pub fn explain(
        &self,
        weight: f32,
        frequency: f32,
        counts: &Counts,
        lengths: &Lengths,
        fields: bool,
    ) -> String {
        let score = self.score(weight, frequency);
        let k1 = self.k1;
        let mut text = format!("{score:.4} = {weight:.4} · tf~ {frequency:.4} / (k1 {k1} + tf~)\n");
        for field in Field::ALL {
            let f = field as usize;
            if fields && counts[f] > 0 {
                // writing to a String cannot fail
                let _ = writeln!(
                    text,
                    "    {:.4} of tf~ = {}: weight {} · {} / norm {:.4}; length {}",
                    self.part(f, counts[f], lengths[f]),
                    field.name(),
                    self.weight[f],
                    counts[f],
                    self.base[f] + self.slope[f] * f32::from(lengths[f]),
                    lengths[f],
                );
            }
        }
        text
    }
}
