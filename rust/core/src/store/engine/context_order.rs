//! The order in which messages are read back from the archive: by their scores and those beside them.

use rustc_hash::FxHashMap;

/// What a message gains by the score of the one before it and of the one behind it: about what a name
/// weighs in the context of a message, of what it weighs in its text.
const GAIN: f64 = 0.4;

/// Returns messages by their rows and those of their neighbours, the likely best first.
///
/// A row is scored without its neighbours. What they say counts for a message too, and a message with
/// no name of the query may be found by them alone.
///
/// # Arguments
/// * `rows`: of each the score, its file, and its place there.
///
/// # Returns
/// For each message the index of its row, or of the row beside it, and whether it is that.
#[must_use]
pub fn by_context(rows: &[(f64, u64, u32)]) -> Vec<(usize, bool)> {
    let at: FxHashMap<_, _> = rows
        .iter()
        .enumerate()
        .map(|(at, &(_, file, place))| ((file, i64::from(place)), at))
        .collect();
    let mut gained: Vec<f64> = rows.iter().map(|&(score, ..)| score).collect();
    let mut beside: FxHashMap<(u64, i64), (f64, usize)> = FxHashMap::default();
    for (index, &(score, file, place)) in rows.iter().enumerate() {
        let place = i64::from(place);
        for other in [(file, place - 1), (file, place + 1)] {
            match at.get(&other) {
                Some(&row) => gained[row] += GAIN * score,
                None => beside.entry(other).or_insert((0.0, index)).0 += GAIN * score,
            }
        }
    }
    let own = gained.into_iter().enumerate().map(|(index, score)| (score, index, false));
    let mut ranked: Vec<_> =
        own.chain(beside.into_values().map(|(score, index)| (score, index, true))).collect();
    ranked.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then((b.1, b.2).cmp(&(a.1, a.2))));
    ranked.into_iter().map(|(_, index, is_beside)| (index, is_beside)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_in_the_order_of_their_scores_and_those_of_their_neighbours() {
        // three rows of a file, two beside each other, and a better one of another file
        let order = by_context(&[(2.0, 1, 4), (1.9, 1, 5), (1.0, 1, 9), (2.5, 2, 0)]);
        assert_eq!(order[..3], [(0, false), (1, false), (3, false)]);
        // messages without a row: by the row beside them
        let mut rest = order[3..].to_vec();
        assert_eq!(rest[rest.len() - 2..], [(2, true); 2]);
        rest.sort_unstable();
        rest.dedup();
        assert_eq!(rest, [(0, true), (1, true), (2, false), (2, true), (3, true)]);
        assert!(by_context(&[]).is_empty());
    }
}
