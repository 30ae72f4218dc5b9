//! Detection of the language of a text by its stop words and by letters of its own.
//!
//! Function words are a third to a half of any text, so a few of them tell its language, and the
//! tables are there anyway (McNamee 2005, *Language Identification: A Solved Problem Suitable for
//! Undergraduate Instruction*). Each chunk of a text votes for the languages that have it as a stop
//! word. Chunks that vote alike are one class, so that counting takes one addition a chunk.

use crate::text::language::readings::{LanguageId, is_latin};
use crate::text::language::{is_apostrophe, table};

/// How many votes a language must have, by those that English has: so many times as many, and some
/// more; and of so many different words.
#[derive(Debug, Clone, Copy)]
pub struct Margin {
    times: u32,
    plus: u32,
    words: u32,
}

/// The margin for a document: names of places and people are of other languages too, and one can be
/// in each sentence, as AD in what is about Active Directory.
pub const DOCUMENT_MARGIN: Margin = Margin { times: 2, plus: 2, words: 2 };
/// The margin for a query, which has few words and is read in all languages anyway.
pub const QUERY_MARGIN: Margin = Margin { times: 1, plus: 1, words: 1 };

/// The vote of a chunk of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Vote {
    /// 0 of what tells nothing.
    class: u16,
    /// A number below 32 that few other words have.
    word: u16,
}

/// Returns how a chunk of a text votes.
pub fn vote_of(chunk: &str) -> Vote {
    let class = class_of(chunk);
    if class == 0 {
        return Vote::default();
    }
    let letters = chunk.bytes().map(|byte| u16::from(byte.to_ascii_lowercase()));
    Vote { class, word: letters.fold(0, u16::wrapping_add) % 32 }
}

fn class_of(chunk: &str) -> u16 {
    let table = table::votes();
    let word = chunk.split(is_apostrophe).next().unwrap_or(chunk);
    if word.is_ascii() {
        return match word.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => table.words.get(&*word.to_ascii_lowercase()),
            false => table.words.get(word),
        }
        .copied()
        .unwrap_or(0);
    }
    // a text in another script is in none of these languages, whatever names it holds
    if word.chars().next().is_some_and(|c| c.is_alphabetic() && !is_latin(c)) {
        return table.by_itself;
    }
    let lower = word.to_lowercase();
    let by_letter = || chunk.chars().chain(lower.chars()).find_map(|c| table.letters.get(&c));
    table.words.get(&*lower).or_else(by_letter).copied().unwrap_or(0)
}

/// The votes of a text, by class.
#[derive(Debug, Clone, Default)]
pub struct Votes(Vec<ClassVotes>);

/// The votes of one class.
#[derive(Debug, Clone, Copy, Default)]
struct ClassVotes {
    count: u32,
    /// One bit for each number of a word that voted.
    words: u32,
}

impl Votes {
    /// Adds a vote.
    #[inline]
    pub fn add(&mut self, vote: Vote) {
        let class = usize::from(vote.class);
        if class >= self.0.len() {
            self.reserve();
        }
        let votes = &mut self.0[class];
        votes.count += 1;
        votes.words |= 1 << (vote.word % 32);
    }

    #[cold]
    fn reserve(&mut self) {
        self.0.resize(table::votes().classes.len(), ClassVotes::default());
    }

    /// Adds the votes of another text.
    pub fn add_all(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.reserve();
        }
        for (votes, more) in self.0.iter_mut().zip(&other.0) {
            votes.count += more.count;
            votes.words |= more.words;
        }
    }

    /// Removes all votes.
    pub fn clear(&mut self) {
        self.0.fill(ClassVotes::default());
    }

    /// Returns the language with most votes among some, if it has enough.
    pub fn language(&self, margin: Margin, among: impl Fn(LanguageId) -> bool) -> LanguageId {
        let classes = &table::votes().classes;
        let foreign = |(mask, _): &(&u32, &ClassVotes)| *mask & 1 == 0 && **mask > 0;
        let votes = classes.iter().zip(&self.0);
        let apart: u32 = votes.clone().filter(foreign).map(|(_, votes)| votes.count).sum();
        if apart < margin.plus {
            return LanguageId::BY_WORD;
        }
        let of = |language: LanguageId| {
            let has = |(mask, _): &(&u32, &ClassVotes)| *mask >> language.0 & 1 == 1;
            votes.clone().filter(has).fold((0, 0), |(count, words), (_, votes)| {
                (count + votes.count, words + votes.words.count_ones())
            })
        };
        let least = of(LanguageId::BY_WORD).0 * margin.times + margin.plus;
        let told = LanguageId::all().filter(|&language| among(language));
        let told = told.map(|language| (of(language), language));
        let best = told.filter(|&((votes, words), _)| votes >= least && words >= margin.words);
        // of equal ones the first
        let best = best.reduce(|best, next| if next.0.0 > best.0.0 { next } else { best });
        best.map_or(LanguageId::BY_WORD, |(_, language)| language)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::segmentation;

    fn told(text: &str) -> &'static str {
        let mut votes = Votes::default();
        segmentation::each(text, &mut |chunk| votes.add(vote_of(chunk)));
        votes.language(DOCUMENT_MARGIN, |_| true).code()
    }

    #[test]
    fn languages_are_told_by_their_function_words() {
        for (code, text) in [
            ("de", "Die Katze ist nicht im Haus."),
            ("es", "El gato no está en la casa de mi hermana."),
            ("fr", "Le chat n'est pas dans la maison de ma sœur."),
            ("it", "Il gatto non è nella casa di mia sorella."),
            ("pt", "O gato não está na casa da minha irmã."),
            ("nl", "De kat is niet in het huis van mijn zus."),
            ("ro", "Pisica nu este în casa surorii mele."),
            ("tr", "Kedi kız kardeşimin evinde değil ama bahçede."),
            ("vi", "Con mèo không ở trong nhà của chị tôi."),
            ("", "The cat is not in the house of my sister."),
            ("", "Los Angeles, El Paso and San Jose are in the US."),
            ("", "No, not me! I was in a man's war."),
            ("", "import com.ai; import com.ai; fn f<T>(t: T, s: &'s T) -> T"),
            ("", "git log --oneline"),
            ("", "AD Schema: attributes in AD, classes in AD"),
            ("", "Кошки нет дома"),
            ("", "猫は家にいない"),
            ("", "在 Elementary OS 上，安装 OS 的方法。"),
            ("", ""),
        ] {
            assert_eq!(told(text), code, "{text}");
        }
    }

    #[test]
    fn a_language_is_chosen_among_those_that_are_asked_for() {
        let mut votes = Votes::default();
        for word in ["la", "casa", "de", "él"] {
            votes.add(vote_of(word));
        }
        assert_eq!(votes.language(QUERY_MARGIN, |_| true).code(), "es");
        assert_eq!(votes.language(QUERY_MARGIN, |language| language.code() == "fr").code(), "fr");
        votes.clear();
        assert_eq!(votes.language(QUERY_MARGIN, |_| true), LanguageId::BY_WORD);
    }
}
