//! Parser of times as transcripts write them: RFC 3339, Unix time, and free text.

/// Reads a time as milliseconds since 1970; a time without a zone is taken as UTC.
///
/// Understands RFC 3339 (`2026-01-22T05:17:14.894Z`, also with a space or as a bare
/// date), seconds or milliseconds since 1970, `2024年04月01日 周一 08:30`, and English
/// such as `1:56 pm on 8 May, 2023`. `None` for anything else.
pub fn parse_time(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.len() > 100 {
        return None;
    }
    since_1970(text).or_else(|| numeric_date(text)).or_else(|| english_date(text))
}

fn since_1970(text: &str) -> Option<i64> {
    let number: f64 = text.parse().ok().filter(|n: &f64| n.is_finite())?;
    // Four to eight digits are a year or a date, not a moment of January 1970.
    let scale = match number.abs() {
        size if size < 1e8 => return None,
        size if size < 1e11 => 1e3,
        size if size < 1e14 => 1.0,
        size if size < 1e17 => 1e-3,
        size if size < 1e20 => 1e-6,
        _ => return None,
    };
    Some((number * scale).floor() as i64)
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Year, month, day, then perhaps a clock: the order of RFC 3339 and of CJK dates.
fn numeric_date(text: &str) -> Option<i64> {
    let (year, rest) = digits(text)?;
    let separator = rest.chars().next()?;
    if text.len() - rest.len() != 4 || !matches!(separator, '-' | '/' | '.' | '年' | '년') {
        return None;
    }
    let (month, rest) = digits(rest[separator.len_utf8()..].trim_start())?;
    let separator = rest.chars().next()?;
    if !matches!(separator, '-' | '/' | '.' | '月' | '월') {
        return None;
    }
    let (day, rest) = digits(rest[separator.len_utf8()..].trim_start())?;
    moment(year, month, day, rest)
}

/// A day, a month's name and a year in any order, with a clock anywhere.
fn english_date(text: &str) -> Option<i64> {
    let lower = text.to_ascii_lowercase();
    let (mut year, mut month, mut day) = (None, None, None);
    for word in lower.split(|c: char| c.is_whitespace() || matches!(c, ',' | '(' | ')' | '-')) {
        if let Some((number, rest)) = digits(word) {
            match (word.len() - rest.len(), rest) {
                (4, "") => year = Some(number),
                (1 | 2, "" | "st" | "nd" | "rd" | "th") if day.is_none() => day = Some(number),
                _ => {}
            }
        } else if month.is_none() {
            let begins =
                |name: &&str| word.get(..3).is_some_and(|w| name[..3].eq_ignore_ascii_case(w));
            month = MONTHS.iter().position(begins);
        }
    }
    let clock = lower.find(':').map_or("", |colon| {
        let hour = lower[..colon].trim_end_matches(|c: char| c.is_ascii_digit()).len();
        &lower[hour..]
    });
    moment(year?, month? as i64 + 1, day?, clock)
}

fn moment(year: i64, month: i64, day: i64, clock: &str) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(1..=9999).contains(&year) {
        return None;
    }
    Some(days_from_civil(year, month, day) * 86_400_000 + clock_ms(clock).unwrap_or(0))
}

/// The clock in `text` as milliseconds since midnight UTC.
fn clock_ms(text: &str) -> Option<i64> {
    let start = text.find(':')?;
    let hour_at = text[..start].trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (mut hour, rest) = digits(&text[hour_at..])?;
    let (minute, mut rest) = digits(rest.strip_prefix(':')?)?;
    let mut ms = 0;
    if let Some((second, after)) = rest.strip_prefix(':').and_then(digits) {
        ms = second.min(60) * 1000;
        rest = after;
        if let Some((_, after)) = rest.strip_prefix(['.', ',']).and_then(digits) {
            let fraction = &rest[1..rest.len() - after.len()];
            let padded = format!("{fraction:0<3.3}");
            ms += padded.parse::<i64>().ok()?;
            rest = after;
        }
    }
    let rest = rest.trim_start().to_ascii_lowercase();
    if rest.starts_with("pm") || rest.starts_with("p.m") || text.contains("下午") {
        hour = hour % 12 + 12;
    } else if rest.starts_with("am") || rest.starts_with("a.m") {
        hour %= 12;
    }
    if hour > 24 || minute > 59 {
        return None;
    }
    Some((hour * 60 + minute - offset_minutes(&rest)) * 60_000 + ms)
}

/// `+02:00`, `-0730`, `+2`; anything else is UTC.
fn offset_minutes(text: &str) -> i64 {
    let sign = match text.as_bytes().first() {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return 0,
    };
    let Some((hours, rest)) = digits(&text[1..]) else {
        return 0;
    };
    let minutes = match rest.strip_prefix(':').and_then(digits) {
        Some((minutes, _)) => hours * 60 + minutes,
        None if text.len() - rest.len() == 5 => hours / 100 * 60 + hours % 100,
        None => hours * 60,
    };
    if minutes > 18 * 60 { 0 } else { sign * minutes }
}

/// The number at the start of `text`, at most nine digits, and what follows it.
fn digits(text: &str) -> Option<(i64, &str)> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text[..end].parse().ok().filter(|_| end <= 9)?;
    Some((number, &text[end..]))
}

/// Days since 1970-01-01 of the proleptic Gregorian calendar.
///
/// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The day of a moment in UTC, in the words by which one asks for it: `2026-01-22 Thursday January`.
pub fn day_in_words(ms: i64) -> String {
    const WEEK: [&str; 7] =
        ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];
    let days = ms.div_euclid(86_400_000);
    let (year, month, day) = civil_from_days(days);
    let weekday = WEEK[days.rem_euclid(7) as usize];
    format!("{year:04}-{month:02}-{day:02} {weekday} {}", MONTHS[month as usize - 1])
}

/// Returns a time as a host has written it, but in the form of ISO 8601: a count from 1970 as a date and
/// a time in UTC, a date and a time with a blank between them with a `T`.
pub fn readable_time(written: String) -> String {
    let Some(ms) = since_1970(&written) else {
        return with_t(&written).unwrap_or(written);
    };
    let (year, month, day) = civil_from_days(ms.div_euclid(86_400_000));
    let seconds = ms.div_euclid(1000).rem_euclid(86_400);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let fraction = match ms.rem_euclid(1000) {
        0 => String::new(),
        ms => format!(".{ms:03}"),
    };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

/// `2026-07-13T13:40:49Z` of `2026-07-13 13:40:49Z`.
fn with_t(written: &str) -> Option<String> {
    let (day, clock) = written.split_once(' ')?;
    let is_of = |text: &str, signs: &str| {
        text.bytes().all(|byte| byte.is_ascii_digit() || signs.as_bytes().contains(&byte))
    };
    let is_iso = day.len() == 10 && is_of(day, "-") && is_of(clock, ":.+- Z");
    (is_iso && parse_time(written).is_some()).then(|| format!("{day}T{}", clock.replace(' ', "")))
}

/// Year, month and day of the proleptic Gregorian calendar, the reverse of [`days_from_civil`].
///
/// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
pub fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// Whether there is such a date.
pub fn is_day(year: i64, month: i64, day: i64) -> bool {
    civil_from_days(days_from_civil(year, month, day)) == (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::{civil_from_days, day_in_words, days_from_civil, parse_time, readable_time};
    use proptest::prelude::*;

    #[test]
    fn known_times() {
        for (text, ms) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2026-01-22T05:17:14.894Z", 1_769_059_034_894),
            ("2026-01-22T07:17:14.894+02:00", 1_769_059_034_894),
            ("2026-01-22 05:17:14,89", 1_769_059_034_890),
            ("2026-01-21T21:47:14.894-0730", 1_769_059_034_894),
            ("1769059034", 1_769_059_034_000),
            ("1769059034.5", 1_769_059_034_500),
            ("1769059034894", 1_769_059_034_894),
            ("2024-04-01", 1_711_929_600_000),
            ("2024年04月01日 周一 08:30", 1_711_960_200_000),
            ("1:56 pm on 8 May, 2023", 1_683_554_160_000),
            ("12:09 am on 13 September, 2023", 1_694_563_740_000),
            ("May 8th, 2023", 1_683_504_000_000),
            ("March-15-2024", 1_710_460_800_000),
        ] {
            assert_eq!(parse_time(text), Some(ms), "{text}");
        }
        for text in ["", "yesterday", "2023", "08:30", "2023-13-01", "NaN", "1e300", "May"] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }

    #[test]
    fn days_in_words() {
        for (ms, words) in [
            (0, "1970-01-01 Thursday January"),
            (-1, "1969-12-31 Wednesday December"),
            (1_769_059_034_894, "2026-01-22 Thursday January"),
            (1_709_164_800_000, "2024-02-29 Thursday February"),
        ] {
            assert_eq!(day_in_words(ms), words);
        }
        assert!(!day_in_words(i64::MIN).is_empty() && !day_in_words(i64::MAX).is_empty());
    }

    #[test]
    fn counts_are_readable() {
        for (written, shown) in [
            ("1769059034894", "2026-01-22T05:17:14.894Z"),
            ("1769059034.5", "2026-01-22T05:17:14.500Z"),
            ("-100000000000", "1966-10-31T14:13:20Z"),
            ("2026-01-22T05:17:14Z", "2026-01-22T05:17:14Z"),
            ("2026-01-22 05:17:14Z", "2026-01-22T05:17:14Z"),
            ("2026-01-22 05:17 +02:00", "2026-01-22T05:17+02:00"),
            ("2026-01-22 Thursday", "2026-01-22 Thursday"),
            ("2023", "2023"),
            ("yesterday", "yesterday"),
        ] {
            assert_eq!(readable_time(written.to_owned()), shown);
        }
    }

    proptest! {
        #[test]
        fn a_readable_time_is_the_same_moment(ms in 100_000_000_000i64..99_000_000_000_000) {
            let shown = readable_time(ms.to_string());
            prop_assert_eq!(parse_time(&shown), Some(ms), "{}", shown);
        }

        #[test]
        fn days_and_dates_agree(days in -1_000_000i64..4_000_000) {
            let (year, month, day) = civil_from_days(days);
            prop_assert_eq!(days_from_civil(year, month, day), days);
        }

        #[test]
        fn any_text_is_harmless(text in "[0-9]{0,4}[-/年:. ]?[0-9]{0,12}[-月:T ]?\\PC{0,20}") {
            let _ = parse_time(&text);
        }
    }
}
