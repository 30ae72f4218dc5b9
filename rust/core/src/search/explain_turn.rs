//! Score explanation in a search by turns: max(prompt, reply) + 0.3 · min(prompt, reply) of a turn,
//! the sum over the words of a section, and session rescoring.

use std::fmt::Write;

use crate::catalog::Catalog;
use crate::error::{Interrupt, Result};
use crate::filter::SearchFilter;
use crate::index::dictionary::expansion::Expander;
use crate::search::asked_speaker::OTHER_SPEAKER;
use crate::search::explanation::{Explanation, WordScore};
use crate::search::phrase::QueryPhrases;
use crate::search::query::Query;
use crate::search::query_plan::plan;
use crate::search::result::SearchResult;
use crate::search::scoring::QueryScorer;
use crate::search::search;
use crate::search::shares::{ANOTHER_SPEAKER, Shares};
use crate::search::turn_rescore::{OTHER, ScoredTurn};
use crate::search::turns::{Turn, TurnFinder, Unit};

/// Returns how the score of the turn of a message, or of a section of a note, comes about in a search
/// by turns.
///
/// # Errors
/// [`crate::error::Error::Interrupted`].
pub fn explain_turn(
    catalog: &Catalog,
    expander: &Expander,
    query: &Query,
    document: u32,
    text: &mut dyn FnMut(u32) -> Option<String>,
    interrupt: Interrupt<'_>,
) -> Result<Explanation> {
    let mut scorer = QueryScorer::new(catalog, None, interrupt);
    plan(&mut scorer, catalog, expander, query, &mut SearchResult::default())?;
    let phrases = QueryPhrases::new(query, catalog, expander, interrupt)?;
    let finder = TurnFinder::new(catalog);
    let scored =
        scorer.score_turn_of(&finder, document, &mut |message| phrases.accept(message, text));
    // the best show how all are rescored, and the next one how those behind it are scaled
    let window = Unit::Turn.window();
    let (filter, wanted) = (SearchFilter::default(), (window + 1, Unit::Turn));
    let found = search(catalog, expander, query, &filter, wanted, text, interrupt)?;
    let behind = found.ranked.get(window).map(|first| {
        let mut score_of = |message| {
            scorer.best_message_score(&finder, message, &mut |one| phrases.accept(one, text))
        };
        first.score / score_of(first.document) * score_of(document)
    });
    let put_behind = |explanation: &mut Explanation| {
        if let Some(behind) = behind.filter(|behind| *behind > 0.0) {
            explanation.put_behind(behind, window);
        }
    };
    let Some(turn) = scored else {
        let mut explanation = scorer.explain(document);
        let mut rescored = found.ranked.iter().take(window);
        match rescored.find(|scored| scored.document == document) {
            Some(rescored) => explanation.rescore(rescored.score, Shares::ALL),
            None => put_behind(&mut explanation),
        }
        return Ok(explanation);
    };
    scorer.dampen();
    let mut explanation = explain_parts(&scorer, &turn);
    let is_it = |found: &Option<Turn>| found.as_ref().is_some_and(|it| it.first == turn.turn.first);
    let place = found.turns.iter().take(window).position(is_it);
    match place.and_then(|at| found.ranked.get(at)) {
        Some(rescored) => explanation.rescore(rescored.score, scorer.shares_of_turn(&turn.turn)),
        None => put_behind(&mut explanation),
    }
    Ok(explanation)
}

/// Returns how the score of a turn is made of those of its prompt and its reply.
fn explain_parts(scorer: &QueryScorer<'_>, turn: &ScoredTurn) -> Explanation {
    let mut lines = format!(
        "{:.4} = the higher score of prompt and reply, and {OTHER} of the lower one; weights of \
         words to the power of 3/4\n",
        turn.score
    );
    let mut words = Vec::new();
    let score_of = |part: Option<(u32, f32)>| part.map_or(0.0, |(_, weighted)| weighted);
    // of equal ones the reply is taken for the lower
    let is_reply_higher = score_of(turn.reply) > score_of(turn.prompt);
    let parts = [("prompt", turn.prompt, !is_reply_higher), ("reply", turn.reply, is_reply_higher)];
    for (what, part, is_higher) in parts {
        let Some((message, weighted)) = part.filter(|(_, weighted)| *weighted > 0.0) else {
            // writing to a String cannot fail
            let _ = writeln!(lines, "0 = {what}");
            continue;
        };
        let mut alone = scorer.explain(message);
        scorer.add_presence(message, &mut alone);
        let line = scorer.catalog.docs[message as usize].line;
        let of_words = alone.score;
        let _ = writeln!(lines, "{weighted:.4} = {what}, line {line}: {of_words:.4} of its words");
        if scorer.is_of_other_speaker(message) {
            let _ = writeln!(lines, "    × {OTHER_SPEAKER} = {ANOTHER_SPEAKER}");
        }
        lines.extend(alone.text.lines().map(|line| format!("    {line}\n")));
        let share = weighted / of_words * if is_higher { 1.0 } else { OTHER };
        words.extend(alone.words.into_iter().map(|word| {
            let score = word.score * share;
            WordScore { score, ..word }
        }));
    }
    Explanation { score: turn.score, words, text: lines, ..Explanation::default() }
}
