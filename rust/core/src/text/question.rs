//! Questions: their marks, the pronouns that tell whom they are about, and whether they ask when.

use crate::text::language::readings::LanguageId;
use crate::text::language::{self, Pronoun, is_apostrophe, is_unspaced, pronoun_in_run};
use crate::text::segmentation;

/// Question marks: of most scripts, full width, Arabic, Greek, Armenian.
pub const QUESTION_MARKS: [char; 5] = ['?', '？', '؟', '\u{37e}', '՞'];

/// Says whether a text asks something, and whether it ends with that.
pub fn asks(text: &str) -> (bool, bool) {
    // most texts are ASCII, which is searched many bytes at a time
    let mark = match text.is_ascii() {
        true => memchr::memrchr(b'?', text.as_bytes()),
        false => text.rfind(QUESTION_MARKS),
    };
    match mark {
        None => (false, false),
        Some(at) => (true, !text[at..].contains(char::is_alphanumeric)),
    }
}

/// Says whether a query is about the one who asks it, by its pronouns: *I* is its subject, or *my*
/// or *me* is in it and no *you*. "What did you say about my plan" is about somebody else.
pub fn is_about_asker<'t>(texts: impl Iterator<Item = &'t str>, language: LanguageId) -> bool {
    let (mut subject, mut first, mut second) = (false, false, false);
    let mut add = |pronoun| match pronoun {
        Pronoun::Subject => subject = true,
        Pronoun::First => first = true,
        Pronoun::Second => second = true,
    };
    for text in texts {
        segmentation::each(text, &mut |chunk| {
            if chunk.chars().next().is_some_and(is_unspaced) {
                pronoun_in_run(chunk, &mut add);
            } else {
                let word = chunk.split(is_apostrophe).next().unwrap_or(chunk);
                language.pronoun(&word.to_lowercase()).into_iter().for_each(&mut add);
            }
        });
    }
    subject || first && !second
}

/// Says whether a query asks when something is, how long it takes, or how often it happens.
pub fn asks_when<'t>(texts: impl Iterator<Item = &'t str>) -> bool {
    let mut words = String::from(" ");
    for text in texts {
        segmentation::each(text, &mut |chunk| {
            words.push_str(&chunk.to_lowercase());
            words.push(' ');
        });
    }
    language::asks_when(&words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_told_by_their_marks() {
        for (text, told) in [
            ("Where is it?", (true, true)),
            ("Where is it? 🙂 ", (true, true)),
            ("Where is it? Here.", (true, false)),
            ("أين هو؟", (true, true)),
            ("It is here.", (false, false)),
            ("", (false, false)),
        ] {
            assert_eq!(asks(text), told, "{text:?}");
        }
    }

    #[test]
    fn questions_that_ask_when_are_told_by_their_phrases() {
        for (text, told) in [
            ("When did Ann move?", true),
            ("Do you know, WHEN is it?", true),
            ("how long was the trip", true),
            ("What did I say when Ann moved?", false),
            ("whenever I did it", false),
            ("什么时候", false),
            ("", false),
        ] {
            assert_eq!(asks_when(text.split(' ')), told, "{text:?}");
        }
    }

    #[test]
    fn pronouns_tell_whom_a_query_is_about() {
        let code = |code: &str| LanguageId::all().find(|one| one.code() == code).unwrap();
        let plain = LanguageId::BY_WORD;
        for (text, language, told) in [
            ("What did I say?", plain, true),
            ("What's my budget?", plain, true),
            ("Can you list what I've said?", plain, true),
            ("What did you say about my budget?", plain, false),
            ("What is the budget in Mysore?", plain, false),
            ("我的预算是多少？", plain, true),
            ("你推荐我去哪里？", plain, false),
            ("Какой у меня бюджет?", plain, true),
            ("Wann habe ich das gesagt?", code("de"), true),
            ("Was hast du mir gesagt?", code("de"), false),
            ("Qu'est-ce que j'ai dit ?", code("fr"), true),
            ("mi casa", plain, false),
            ("mi casa", code("es"), true),
            ("", plain, false),
        ] {
            assert_eq!(is_about_asker(std::iter::once(text), language), told, "{text:?}");
        }
    }
}
