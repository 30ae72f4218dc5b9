//! Folding of a word: NFKC, case, accents and the spellings of one letter.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// Returns a word without case, accents and compatibility forms.
///
/// In Arabic, vowel marks, tatweel and the hamza or madda of an alef are left out, as Lucene's
/// `ArabicNormalizer` does. The breve of й is no accent: it is another letter than и.
pub fn fold(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        return match word.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Cow::Owned(word.to_ascii_lowercase()),
            false => Cow::Borrowed(word),
        };
    }
    // upper case first: that is where ß becomes ss and all sigmas become one
    let folded = word.nfkc().flat_map(char::to_uppercase).flat_map(char::to_lowercase);
    let mut letter = ' ';
    let is_kept = |&c: &char| match c {
        '\u{306}' => letter == 'и',
        '\u{653}'..='\u{655}' => letter != 'ا',
        '\u{640}' => false,
        c if is_mark(c) => false,
        c => {
            letter = c;
            true
        }
    };
    let folded = folded.nfd().filter(is_kept);
    folded.map(|c| if c == 'ٱ' { 'ا' } else { c }).nfc().collect()
}

/// Returns whether a character is an accent or an Arabic vowel mark.
const fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{64b}'..='\u{652}' | '\u{670}')
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn spellings_of_one_letter_are_one() {
        for (word, folded) in [
            ("Straße", "strasse"),
            ("Ёлка", "елка"),
            ("Й", "й"),
            ("И\u{306}", "й"),
            ("ΌΔΟΣ", "οδοσ"),
            ("όδος", "οδοσ"),
            ("كِتَاب", "كتاب"),
            ("كتــاب", "كتاب"),
            ("أإآٱ", "اااا"),
            ("مسؤول", "مسؤول"),
            ("ığdır", "igdir"),
            ("ş ș", "s s"),
        ] {
            assert_eq!(fold(word), folded, "{word}");
        }
    }
}
