//! Tests of randomness and of placeholder values, against false positives.

use crate::messages::redaction::table::Table;

/// Whether a value was made up for an example, shortened, or is computed elsewhere.
pub(super) fn is_placeholder(table: &Table, value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    table.placeholders.iter().any(|word| lower.contains(word))
        || is_sequence(value.as_bytes())
        || is_alternating_sequence(value.as_bytes())
}

/// Whether a value says in words what it is: `test-password1`.
pub(super) fn is_description(table: &Table, value: &str) -> bool {
    let plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    value.bytes().all(plain) && table.descriptions.iter().any(|word| value.contains(word))
}

/// Whether at least half of the bytes repeat or follow the one before them: `aaaa`, `abcd1234`.
fn is_sequence(value: &[u8]) -> bool {
    let follows = |pair: &&[u8]| matches!(pair[1].wrapping_sub(pair[0]), 0 | 1);
    value.len() > 3 && value.windows(2).filter(follows).count() * 2 >= value.len() - 1
}

/// Whether a value is two sequences in turn: `1a2b3c4d5e6f`.
fn is_alternating_sequence(value: &[u8]) -> bool {
    let follows = |three: &&[u8]| three[0].abs_diff(three[2]) == 1;
    value.len() >= 12 && value.windows(3).filter(follows).count() * 2 >= value.len()
}

/// The Shannon entropy of the bytes of a value, in bits a byte.
pub(super) fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    value.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
    let share = |&count: &u32| f64::from(count) / value.len() as f64;
    counts.iter().filter(|&&count| count > 0).map(share).map(|p| -p * p.log2()).sum()
}

/// Whether the body of a token of a known form can be random.
pub(super) fn is_random_body(body: &[u8]) -> bool {
    entropy(body) >= least_entropy(body.len())
}

/// The least entropy of random text: 3 bits, as that of hexadecimal digits is near 4, and less for
/// what is too short to have so much.
fn least_entropy(length: usize) -> f64 {
    ((length as f64).log2() * 0.62).min(3.0)
}

/// Whether a byte is a special character, as passwords have and names have not.
pub(super) fn is_special(byte: &u8) -> bool {
    matches!(byte, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'?' | b'+' | b'~')
}

/// Whether a text has letters and digits.
pub(super) fn is_mixed(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_alphabetic) && value.iter().any(u8::is_ascii_digit)
}

/// Whether a value has lowercase letters, capitals, digits and special characters, as a program makes passwords; its
/// first byte does not count, as that may say that the value stands elsewhere.
pub(super) fn is_generated(value: &[u8]) -> bool {
    let rest = value.get(1..).unwrap_or_default();
    let has = |wanted: fn(&u8) -> bool| rest.iter().any(wanted);
    // `$name`, `%name%` and `@{name}` are variables, `$2b$` begins a hash, `<name>` is to be replaced
    let is_reference = match value {
        [b'$', next, third, ..] => {
            next.is_ascii_alphabetic() || b"_{(".contains(next) || b"$abxy".contains(third)
        }
        [b'<', .., last] => *last == b'>',
        [b'{' | b'(' | b'[' | b'/', ..] | [b'%', .., b'%'] | [b'@', b'{', ..] => true,
        _ => false,
    };
    value.len() >= 8
        && !is_reference
        && !rest.contains(&b'/')
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_digit)
        && has(is_special)
}

/// Whether a value with blanks is a password and no sentence: at least half of its words have
/// letters with digits or special characters among them.
pub(super) fn is_strong_phrase(value: &str) -> bool {
    let inner = |word: &str| word.trim_matches(|c: char| c.is_ascii_punctuation()).to_owned();
    let is_strong = |word: &str| {
        let word = inner(word).into_bytes();
        word.iter().any(u8::is_ascii_alphabetic)
            && word.iter().any(|byte| byte.is_ascii_digit() || is_special(byte))
    };
    let (strong, all) = value
        .split(' ')
        .fold((0, 0), |(strong, all), word| (strong + usize::from(is_strong(word)), all + 1));
    strong * 2 >= all && is_mixed(value.as_bytes()) && value.bytes().any(|byte| is_special(&byte))
}

/// Whether a value says what values are allowed: `required|min:8`.
pub(super) fn is_rule(value: &str) -> bool {
    let is_part = |part: &str| {
        let name = part.split(':').next().unwrap_or_default();
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    value.contains('|') && value.split('|').all(is_part)
}

/// Whether a value is a number of 128 bits or more in hexadecimal digits.
pub(super) fn is_hex_number(value: &[u8]) -> bool {
    value.len() >= 32
        && value.len().is_multiple_of(8)
        && value.iter().all(u8::is_ascii_hexdigit)
        && is_mixed(value)
        && is_random_body(value)
}

/// Whether a value of no known form looks random: it has digits, and kinds of characters alternate
/// as they do not in words, names and slugs.
pub(super) fn looks_random(value: &[u8]) -> bool {
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = value.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let changes = value.windows(2).filter(|pair| changes_kind(pair[0], pair[1])).count();
    digits >= 2
        && letters >= 2
        && entropy(value) >= least_entropy(value.len())
        && changes * 4 >= value.len()
}

/// A capital may begin a word, so that only the other changes count.
fn changes_kind(first: u8, second: u8) -> bool {
    let kind = |byte: u8| match byte {
        b'0'..=b'9' => 1,
        b'a'..=b'z' => 2,
        b'A'..=b'Z' => 3,
        _ => 4,
    };
    let (first, second) = (kind(first), kind(second));
    first != second && (first, second) != (3, 2) && first != 4 && second != 4
}

/// Whether a value is a version, as packages have names such as `parse-passwd`: `^1.0.0`.
pub(super) fn is_version(value: &str) -> bool {
    let numbers = value.trim_start_matches(['^', '~', '>', '<', '=', 'v', ' ']);
    let mut parts = numbers.split('.').map(|part| part.starts_with(|c: char| c.is_ascii_digit()));
    numbers.starts_with(|c: char| c.is_ascii_digit())
        && value.len() <= 24
        && parts.clone().count() > 2
        && parts.all(|is_number| is_number)
}

/// Whether a value is a UUID.
pub(super) fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
