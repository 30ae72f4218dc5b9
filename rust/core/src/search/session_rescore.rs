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
//! The answer to a question often has none of its words. The shares are below 1 for what a message
//! does not tell ([`shares`](crate::search::shares)).

use crate::catalog::doc_table::ASKS;
use crate::catalog::{Catalog, DocMeta};
use crate::files::file_kind::FileKind;
use crate::index::topk::collector::Scored;

/// The weights of the scores of messages that are two, three and four places away.
const NEIGHBOUR_WEIGHTS: [f32; 3] = [0.1, 0.07, 0.05];
/// Terms up to a neighbour, beyond which its score is not added.
const MAX_NEIGHBOUR_TERMS: u32 = 80;
/// The weight of the score of a question for the message that follows it.
const ANSWER_WEIGHT: f32 = 0.15;
/// How far a score moves towards the best one of its session. The best score itself stays as it is,
/// so messages do not gain over notes.
const SESSION_PULL: f32 = 0.25;
/// How far away a message may be whose score is added.
const FARTHEST: usize = 1 + NEIGHBOUR_WEIGHTS.len();

/// A message among the best with its position in its file.
pub(super) struct PlacedMessage<'a> {
    pub rank: usize,
    row: &'a DocMeta,
    pub document: u32,
    pub position: usize,
    score: f32,
    is_prompt: bool,
}

/// Rescores the best documents and sorts them again; none of those behind them gets a better score
/// than they have.
///
/// # Arguments
/// * `window`: how many of the best; see [`Unit::window`](crate::search::turns::Unit::window).
/// * `share`: what is left of the score of a document.
pub fn rescore(
    catalog: &Catalog,
    ranked: &mut [Scored],
    window: usize,
    share: impl Fn(u32) -> f32,
) {
    let (best, behind) = ranked.split_at_mut(ranked.len().min(window));
    let messages = placed_messages(catalog, best);
    for session in messages.chunk_by(|a, b| a.session() == b.session()) {
        let sums: Vec<f32> =
            (0..session.len()).map(|at| with_neighbours(catalog, session, at)).collect();
        let highest = sums.iter().copied().fold(0.0, f32::max);
        for (message, own) in session.iter().zip(sums) {
            let pulled = own + SESSION_PULL * (highest - own);
            best[message.rank].score = pulled * share(message.document);
        }
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

/// Returns the messages among documents, those of a session together and neighbours side by side.
pub(super) fn placed_messages<'a>(catalog: &'a Catalog, best: &[Scored]) -> Vec<PlacedMessage<'a>> {
    let placed = |(rank, scored)| placed(catalog, rank, scored);
    let mut messages: Vec<PlacedMessage<'a>> = best.iter().enumerate().filter_map(placed).collect();
    messages.sort_unstable_by_key(|message| (message.session(), message.position));
    messages
}

/// Returns the message with its position; `None` for a section of a note.
fn placed<'a>(catalog: &'a Catalog, rank: usize, scored: &Scored) -> Option<PlacedMessage<'a>> {
    let row = &catalog.docs[scored.document as usize];
    if catalog.files[row.file as usize].kind != FileKind::Transcript {
        return None;
    }
    let position = catalog.place_in_transcript(scored.document)?;
    let is_prompt = row.section_meta.starts == 1;
    let Scored { document, score } = *scored;
    Some(PlacedMessage { rank, row, document, position, score, is_prompt })
}

impl PlacedMessage<'_> {
    pub fn session(&self) -> (u32, u32) {
        (self.row.file, self.row.session)
    }
}

/// Returns the score of a message and what its neighbours add to it.
fn with_neighbours(catalog: &Catalog, session: &[PlacedMessage<'_>], at: usize) -> f32 {
    let message = &session[at];
    let is_near =
        |other: &&PlacedMessage<'_>| other.position.abs_diff(message.position) <= FARTHEST;
    let before = session[..at].iter().rev().take_while(is_near);
    let others = before.chain(session[at + 1..].iter().take_while(is_near));
    message.score + others.map(|other| weight(catalog, message, other) * other.score).sum::<f32>()
}

/// Returns the weight of the score of `other`, of the same session, for a message.
fn weight(catalog: &Catalog, message: &PlacedMessage<'_>, other: &PlacedMessage<'_>) -> f32 {
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
