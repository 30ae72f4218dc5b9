//! Recall and precision of redaction on the labelled sets, with generated secrets.

#![allow(missing_docs)]

use commonplace_core::messages::redaction::{Redactions, redact_line};
use serde_json::Value;

/// A seeded generator (splitmix64): the same secrets in each run.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ x >> 31) % below as u64) as usize
    }

    fn draw(&mut self, alphabet: &str, length: usize) -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        (0..length).map(|_| letters[self.next(letters.len())]).collect()
    }

    /// What a generator such as `{base62:36}` stands for.
    fn generated(&mut self, generator: &str) -> String {
        const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
        const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        const DIGITS: &str = "0123456789";
        let (kind, length) = generator.split_once(':').unwrap_or((generator, "0"));
        let length: usize = length.parse().unwrap();
        let all = format!("{LOWER}{UPPER}{DIGITS}");
        match kind {
            "base62" => self.draw(&all, length),
            "b64" => self.draw(&format!("{all}+/"), length),
            "b64url" => self.draw(&format!("{all}_-"), length),
            "alpha" => self.draw(&format!("{LOWER}{UPPER}"), length),
            "upper" => self.draw(&format!("{UPPER}{DIGITS}"), length),
            "upper32" => self.draw("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", length),
            "hex" => self.draw("0123456789abcdef", length),
            "digits" => self.draw("123456789", 1) + &self.draw(DIGITS, length - 1),
            "uuid" => [8, 4, 4, 4, 12].map(|n| self.draw("0123456789abcdef", n)).join("-"),
            "pem" => {
                let lines = (0..length).map(|_| self.draw(&format!("{all}+/"), 64));
                lines.collect::<Vec<_>>().join("\n")
            }
            _ => panic!("no generator {generator}"),
        }
    }
}

/// A row with its secrets drawn: the line of a transcript, and what must not stay in it.
struct Drawn {
    line: String,
    random: Vec<String>,
}

fn draw(row: &Value, random: &mut Random) -> Drawn {
    let template = row["text"].as_str().unwrap().replace('§', "");
    let (mut text, mut parts, mut secret) = (String::new(), Vec::new(), false);
    let mut breaks = Vec::new();
    let mut rest = &*template;
    while let Some(c) = rest.chars().next() {
        let generator = rest[c.len_utf8()..].split_once('}').map_or("", |(name, _)| name);
        let known = ["base62", "b64", "alpha", "upper", "hex", "digits", "uuid", "pem"];
        if c == '{' && known.iter().any(|kind| generator.starts_with(kind)) {
            let drawn = random.generated(generator);
            if secret && drawn.len() >= 8 {
                breaks.push((text.len(), drawn.len()));
                parts.extend(drawn.lines().map(str::to_owned));
            }
            text.push_str(&drawn);
            rest = &rest[generator.len() + 2..];
            continue;
        }
        match c {
            '⟦' => secret = true,
            '⟧' => secret = false,
            _ => text.push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
    let how = row["how"].as_str().unwrap();
    if let ("broken" | "indented", Some(&(at, length))) = (how, breaks.last()) {
        let cut = 1 + random.next(length - 1);
        let drawn = text[at..at + length].to_owned();
        text.insert_str(at + cut, if how == "broken" { "\n" } else { "\r\n    " });
        parts.retain(|part| *part != drawn);
        // what is left of a short piece is no secret
        parts.extend(
            [&drawn[..cut], &drawn[cut..]].iter().filter(|p| p.len() >= 8).map(|p| p.to_string()),
        );
    }
    if how == "nested" {
        text = serde_json::json!({ "command": text }).to_string();
    }
    let mut content = serde_json::to_string(&text).unwrap();
    if how == "escaped" {
        let escaped = |c: char| match c {
            '-' | '_' | 'k' | 'A' | 'g' => format!("\\u{:04x}", c as u32),
            '/' => "\\/".to_owned(),
            _ => c.to_string(),
        };
        let raw: Vec<String> = content[1..content.len() - 1]
            .split('\\')
            .map(|part| part.chars().map(escaped).collect())
            .collect();
        // only where no escape stood before
        if raw.len() == 1 {
            content = format!("\"{}\"", raw[0]);
        }
    }
    Drawn { line: format!("{{\"role\":\"user\",\"content\":{content}}}\n"), random: parts }
}

fn rows(set: &str) -> Vec<Value> {
    set.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn redacted(line: &str) -> String {
    let done = redact_line(line.as_bytes(), &mut Redactions::new(), &|| false).unwrap();
    done.map_or_else(|| line.to_owned(), |bytes| String::from_utf8(bytes).unwrap())
}

/// The share of the secrets that go, and of the near misses that stay; what went wrong is shown.
fn measure(set: &str) -> (f64, f64, String) {
    let mut wrong = String::new();
    let mut random = Random(14);
    let (mut gone, mut secrets, mut stayed, mut misses) = (0, 0, 0, 0);
    for row in rows(set) {
        let drawn = draw(&row, &mut random);
        let after = redacted(&drawn.line);
        let text = serde_json::from_str::<Value>(&after).unwrap()["content"].to_string();
        if row["where"] == "near miss" {
            misses += 1;
            stayed += usize::from(after == drawn.line);
            if after != drawn.line {
                wrong += &format!("must stay: {} -> {text}\n", drawn.line.trim());
            }
            continue;
        }
        secrets += 1;
        let is_gone =
            after != drawn.line && !drawn.random.iter().any(|part| text.contains(&**part));
        gone += usize::from(is_gone);
        if !is_gone {
            wrong += &format!("must go: {} -> {text}\n", drawn.line.trim());
        }
    }
    wrong += &format!("{gone} of {secrets} secrets go, {stayed} of {misses} near misses stay");
    (
        f64::from(gone as u32) / f64::from(secrets as u32),
        f64::from(stayed as u32) / f64::from(misses as u32),
        wrong,
    )
}

#[test]
fn secrets_of_the_seen_half_go_and_near_misses_stay() {
    let (recall, kept, told) = measure(include_str!("../labelled/secrets-seen.jsonl"));
    assert!(recall >= 0.95 && kept >= 0.95, "{told}");
}

#[test]
fn secrets_of_the_unseen_half_go_and_near_misses_stay() {
    let (recall, kept, told) = measure(include_str!("../labelled/secrets-unseen.jsonl"));
    assert!(recall >= 0.95 && kept >= 0.95, "{told}");
}

#[test]
fn secrets_as_people_tell_them_and_in_settings_go_and_near_misses_stay() {
    let (recall, kept, told) = measure(include_str!("../labelled/secrets-seen-2.jsonl"));
    assert!(recall >= 0.9 && kept >= 0.99, "{told}");
}
