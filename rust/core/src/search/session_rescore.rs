//! What a conversation says of its messages: the best documents are looked at once more.
//!
//! A message says little by itself; what it is about, those around it say. The nearest ones are in
//! the index as its context. Those further off, and the session as a whole, are asked here and only
//! among the best documents: as context of every message they would double the index for the same
//! gain.

use crate::catalog::{Catalog, DocMeta};
use crate::files::file_kind::FileKind;
use crate::index::bm25f::Field;
use crate::index::topk::Scored;

/// So many of the best are looked at; the others stay behind them, for nothing here lowers a score.
pub const BEST: usize = 20;
/// The share of a message's score that those two, three and four places away hear.
const HEARD: [f32; 3] = [0.1, 0.07, 0.05];
/// How far that is heard at most, in terms.
const EARSHOT: u32 = 80;
/// How far a message is drawn towards the best of its session. What is drawn, not raised, leaves
/// the best as it is: beside notes, messages are worth what they are without this.
const DRAWN: f32 = 0.25;

/// A message and its place in its file.
struct Seat<'a> {
    row: &'a DocMeta,
    place: usize,
    score: f32,
}

/// Lifts messages by the company they keep in `best`, and sorts it anew.
pub fn lift(catalog: &Catalog, best: &mut [Scored]) {
    let seats: Vec<Option<Seat<'_>>> = best.iter().map(|scored| seat(catalog, scored)).collect();
    let heard = |seat: &Seat<'_>| -> f32 {
        let others = seats.iter().flatten();
        seat.score + others.map(|other| share(catalog, seat, other) * other.score).sum::<f32>()
    };
    let heard: Vec<Option<f32>> = seats.iter().map(|seat| seat.as_ref().map(heard)).collect();
    for (at, scored) in best.iter_mut().enumerate() {
        let (Some(seat), Some(own)) = (&seats[at], heard[at]) else { continue };
        let same = seats.iter().zip(&heard).filter_map(|(other, heard)| {
            heard.filter(|_| other.as_ref().is_some_and(|other| in_one_session(seat, other)))
        });
        scored.score = own + DRAWN * (same.fold(own, f32::max) - own);
    }
    best.sort_by(|a, b| {
        b.score.total_cmp(&a.score).then_with(|| catalog.order(a.document, b.document))
    });
}

fn seat<'a>(catalog: &'a Catalog, scored: &Scored) -> Option<Seat<'a>> {
    let row = &catalog.docs[scored.document as usize];
    let file = &catalog.files[row.file as usize];
    if file.kind != FileKind::Transcript {
        return None;
    }
    let documents = &file.documents;
    let is_at = |place: usize| place < documents.len() && documents.get(place) == scored.document;
    // numbers go up by one until something changes, and then the search for it is short enough
    let first = if documents.is_empty() { 0 } else { documents.get(0) };
    let guess = scored.document.wrapping_sub(first) as usize;
    let place = match is_at(guess) {
        true => guess,
        false => documents.partition_point(|d| catalog.docs[d as usize].start < row.start),
    };
    is_at(place).then_some(Seat { row, place, score: scored.score })
}

fn in_one_session(a: &Seat<'_>, b: &Seat<'_>) -> bool {
    (a.row.file, a.row.session) == (b.row.file, b.row.session)
}

/// Returns how much of what `other` scores is heard at `seat`.
fn share(catalog: &Catalog, seat: &Seat<'_>, other: &Seat<'_>) -> f32 {
    let Some(&share) = HEARD.get(seat.place.abs_diff(other.place).wrapping_sub(2)) else {
        return 0.0;
    };
    if !in_one_session(seat, other) {
        return 0.0;
    }
    let between = match seat.place < other.place {
        true => seat.place + 1..=other.place,
        false => other.place..=seat.place - 1,
    };
    let documents = &catalog.files[seat.row.file as usize].documents;
    let neighbours = || between.clone().map(|place| documents.get(place));
    let session = |document: u32| catalog.docs[document as usize].session;
    let length = |document: u32| u32::from(catalog.index.lengths(document)[Field::Body as usize]);
    let together = neighbours().all(|document| session(document) == seat.row.session);
    let terms: u32 = neighbours().map(length).sum();
    if together && terms <= EARSHOT { share } else { 0.0 }
}
