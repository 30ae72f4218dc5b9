//! Rescoring of messages by their neighbours, their session and their speaker, among the best
//! documents.
//!
//! A message has few words of its own; the messages around it show its topic. The nearest ones are
//! indexed as its context field. Those further away, and the session as a whole, are added here
//! for the best documents only: as context of every message they would double the index for the
//! same gain.
//!
//! ```text
//! sum(m)   = score(m) + Σ 5–10 % of the scores of neighbours two to four places away
//!            + 15 % of the score of the message before m, if that asks something and neither of
//!              them is of an assistant
//! score(m) = (sum(m) + ¼ (best sum of the session − sum(m))) · shares
//! ```
//! The answer to a question often has none of its words. The shares are below 1 for what somebody
//! else said than the query asks about ([`asked_speaker`](crate::search::asked_speaker)), and for a
//! short question, which has the words of the query but tells nothing.

use crate::catalog::doc_table::{ASKS, ENDS_ASKING};
use crate::catalog::{Catalog, DocMeta};
use crate::files::file_kind::FileKind;
use crate::index::bm25f::Field;
use crate::index::topk::collector::Scored;

/// How many of the best documents are rescored. The others stay behind them.
pub const WINDOW: usize = 20;
/// The weights of the scores of messages that are two, three and four places away.
const NEIGHBOUR_WEIGHTS: [f32; 3] = [0.1, 0.07, 0.05];
/// Terms up to a neighbour, beyond which its score is not added.
const MAX_NEIGHBOUR_TERMS: u32 = 80;
/// The weight of the score of a question for the message that follows it.
const ANSWER_WEIGHT: f32 = 0.15;
/// How far a score moves towards the best one of its session. The best score itself stays as it is,
/// so messages do not gain over notes.
const SESSION_PULL: f32 = 0.25;
/// What is left of the score of a message that is only a question.
pub(super) const QUESTION_SHARE: f32 = 0.75;
/// Most terms of such a message.
const MAX_QUESTION_TERMS: u16 = 15;

/// A message with its position in its file.
struct PlacedMessage<'a> {
    row: &'a DocMeta,
    document: u32,
    position: usize,
    score: f32,
    is_prompt: bool,
}

/// Rescores the best documents, which are no more than [`WINDOW`], and sorts them again; none of
/// those behind them gets a better score than they have.
///
/// # Arguments
/// * `share`: what is left of the score of a document.
pub fn rescore(catalog: &Catalog, ranked: &mut [Scored], share: impl Fn(u32) -> f32) {
    let (best, behind) = ranked.split_at_mut(ranked.len().min(WINDOW));
    let messages: Vec<Option<PlacedMessage<'_>>> =
        best.iter().map(|scored| placed(catalog, scored)).collect();
    let with_neighbours = |message: &PlacedMessage<'_>| -> f32 {
        let others = messages.iter().flatten();
        let neighbours = others.map(|other| weight(catalog, message, other) * other.score);
        message.score + neighbours.sum::<f32>()
    };
    let sums: Vec<Option<f32>> =
        messages.iter().map(|message| message.as_ref().map(with_neighbours)).collect();
    for (at, scored) in best.iter_mut().enumerate() {
        let (Some(message), Some(own)) = (&messages[at], sums[at]) else { continue };
        let session = messages.iter().zip(&sums).filter_map(|(other, sum)| {
            sum.filter(|_| other.as_ref().is_some_and(|other| in_one_session(message, other)))
        });
        let pulled = own + SESSION_PULL * (session.fold(own, f32::max) - own);
        scored.score = pulled * share(scored.document);
    }
    best.sort_by(|a, b| {
        b.score.total_cmp(&a.score).then_with(|| catalog.order(a.document, b.document))
    });
    put_behind(behind, best.last().map_or(0.0, |scored| scored.score));
}

/// Scales the scores of documents so that the first is just below the least of those before them, if
/// it is not: scores fall along a ranking.
fn put_behind(behind: &mut [Scored], least: f32) {
    let Some(first) = behind.iter().map(|scored| scored.score).reduce(f32::max) else { return };
    if first > least {
        let factor = least.next_down() / first;
        behind.iter_mut().for_each(|scored| scored.score *= factor);
    }
}

/// Returns what is left of the score of a document: [`QUESTION_SHARE`] for a short question.
pub(super) fn question_share(catalog: &Catalog, document: u32) -> f32 {
    let row = &catalog.docs[document as usize];
    let is_short = || catalog.index.lengths(document)[Field::Body as usize] <= MAX_QUESTION_TERMS;
    if row.section_meta.flags & ENDS_ASKING > 0 && is_short() { QUESTION_SHARE } else { 1.0 }
}

/// Returns the message with its position; `None` for a section of a note.
fn placed<'a>(catalog: &'a Catalog, scored: &Scored) -> Option<PlacedMessage<'a>> {
    let row = &catalog.docs[scored.document as usize];
    if catalog.files[row.file as usize].kind != FileKind::Transcript {
        return None;
    }
    let position = catalog.place_in_transcript(scored.document)?;
    let is_prompt = row.section_meta.starts == 1;
    Some(PlacedMessage { row, document: scored.document, position, score: scored.score, is_prompt })
}

fn in_one_session(a: &PlacedMessage<'_>, b: &PlacedMessage<'_>) -> bool {
    (a.row.file, a.row.session) == (b.row.file, b.row.session)
}

/// Returns the weight of the score of `other` for a message.
fn weight(catalog: &Catalog, message: &PlacedMessage<'_>, other: &PlacedMessage<'_>) -> f32 {
    if !in_one_session(message, other) {
        return 0.0;
    }
    let distance = message.position.abs_diff(other.position);
    if distance == 1 {
        let is_answer = other.position < message.position
            && other.row.section_meta.flags & ASKS > 0
            && message.is_prompt
            && other.is_prompt;
        return if is_answer { ANSWER_WEIGHT } else { 0.0 };
    }
    let Some(&weight) = NEIGHBOUR_WEIGHTS.get(distance.wrapping_sub(2)) else {
        return 0.0;
    };
    let terms = catalog
        .terms_between((message.document, message.position), (other.document, other.position));
    if terms.is_some_and(|terms| terms <= MAX_NEIGHBOUR_TERMS) { weight } else { 0.0 }
}
