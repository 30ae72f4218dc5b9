//! Rescoring of messages by their neighbours and their session, among the best documents.
//!
//! A message has few words of its own; the messages around it show its topic. The nearest ones are
//! indexed as its context field. Those further away, and the session as a whole, are added here
//! for the best documents only: as context of every message they would double the index for the
//! same gain.
//!
//! A message gets 5–10 % of the scores of neighbours that are two to four places away, and moves a
//! quarter of the way to the best score of its session.

use crate::catalog::{Catalog, DocMeta};
use crate::files::file_kind::FileKind;
use crate::index::topk::collector::Scored;

/// How many of the best documents are rescored. The others stay behind them, for no score becomes
/// lower.
pub const WINDOW: usize = 20;
/// The weights of the scores of messages that are two, three and four places away.
const NEIGHBOUR_WEIGHTS: [f32; 3] = [0.1, 0.07, 0.05];
/// Terms up to a neighbour, beyond which its score is not added.
const MAX_NEIGHBOUR_TERMS: u32 = 80;
/// How far a score moves towards the best one of its session. The best score itself stays as it is,
/// so messages do not gain over notes.
const SESSION_PULL: f32 = 0.25;

/// A message with its position in its file.
struct PlacedMessage<'a> {
    row: &'a DocMeta,
    document: u32,
    position: usize,
    score: f32,
}

/// Rescores the messages in `best`, and sorts it again.
pub fn rescore(catalog: &Catalog, best: &mut [Scored]) {
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
        scored.score = own + SESSION_PULL * (session.fold(own, f32::max) - own);
    }
    best.sort_by(|a, b| {
        b.score.total_cmp(&a.score).then_with(|| catalog.order(a.document, b.document))
    });
}

/// Returns the message with its position; `None` for a section of a note.
fn placed<'a>(catalog: &'a Catalog, scored: &Scored) -> Option<PlacedMessage<'a>> {
    let row = &catalog.docs[scored.document as usize];
    if catalog.files[row.file as usize].kind != FileKind::Transcript {
        return None;
    }
    let position = catalog.place_in_transcript(scored.document)?;
    Some(PlacedMessage { row, document: scored.document, position, score: scored.score })
}

fn in_one_session(a: &PlacedMessage<'_>, b: &PlacedMessage<'_>) -> bool {
    (a.row.file, a.row.session) == (b.row.file, b.row.session)
}

/// Returns the weight of the score of `other` for a message.
fn weight(catalog: &Catalog, message: &PlacedMessage<'_>, other: &PlacedMessage<'_>) -> f32 {
    let distance = message.position.abs_diff(other.position);
    let Some(&weight) = NEIGHBOUR_WEIGHTS.get(distance.wrapping_sub(2)) else {
        return 0.0;
    };
    if !in_one_session(message, other) {
        return 0.0;
    }
    let terms = catalog
        .terms_between((message.document, message.position), (other.document, other.position));
    if terms.is_some_and(|terms| terms <= MAX_NEIGHBOUR_TERMS) { weight } else { 0.0 }
}
