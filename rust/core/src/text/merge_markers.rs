//! Detection of git's conflict markers in a note.

/// Returns whether a line, without its end, is a conflict marker. Alone, a row of `=` may also be
/// the underline of a heading.
pub fn is_marker(line: &[u8]) -> bool {
    b"<|=>".iter().any(|&sign| is_marker_of(line, sign))
}

fn is_marker_of(line: &[u8], sign: u8) -> bool {
    let label = line.strip_prefix(&[sign; 7]);
    label.is_some_and(|label| label.is_empty() || label[0] == b' ')
}

/// Returns the line of the first marker in a note, from 1, and the number of markers; 0 and 0 where
/// there are none.
///
/// Only whole conflicts count (`<<<<<<<`, `=======`, `>>>>>>>`, in this order), and none in fenced
/// code, where a note about git may show one.
pub fn in_note(text: &str) -> (u32, u32) {
    if memchr::memmem::find(text.as_bytes(), b"<<<<<<< ").is_none() {
        return (0, 0);
    }
    let (mut first, mut count) = (0, 0);
    let mut fence: Option<&str> = None;
    // where the open conflict began, and how many of its markers were seen
    let (mut opened, mut seen, mut split) = (0, 0, false);
    for (number, line) in (1..).zip(text.lines()) {
        match (fence, fence_of(line)) {
            (Some(open), run) => {
                let closes = run.is_some_and(|run| {
                    run.starts_with(open) && line.trim_start()[run.len()..].trim().is_empty()
                });
                fence = if closes { None } else { fence };
                continue;
            }
            // within a conflict a fence may be what the two sides differ in
            (None, Some(run)) if opened == 0 => {
                fence = Some(run);
                continue;
            }
            _ => {}
        }
        let line = line.as_bytes();
        if is_marker_of(line, b'<') {
            (opened, seen, split) = (number, 1, false);
        } else if opened > 0 && is_marker_of(line, b'|') && !split {
            seen += 1;
        } else if opened > 0 && is_marker_of(line, b'=') && !split {
            (seen, split) = (seen + 1, true);
        } else if split && is_marker_of(line, b'>') {
            first = if first == 0 { opened } else { first };
            count += seen + 1;
            (opened, split) = (0, false);
        }
    }
    (first, count)
}

/// Returns the run of signs with which a line opens or closes fenced code, by the rules of
/// CommonMark: three or more of one sign, and no backtick behind backticks.
fn fence_of(line: &str) -> Option<&str> {
    let inner = line.trim_start_matches(' ');
    let sign = inner.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let info = inner.trim_start_matches(sign);
    let run = &inner[..inner.len() - info.len()];
    let is_fence = line.len() - inner.len() <= 3 && run.len() >= 3;
    (is_fence && !(sign == '`' && info.contains('`'))).then_some(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFLICT: &str = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\n";

    #[test]
    fn a_whole_conflict_is_found_and_a_heading_is_none() {
        assert_eq!(in_note(&format!("# A\n\n{CONFLICT}rest\n{CONFLICT}")), (3, 6));
        assert_eq!(in_note("<<<<<<< a\n||||||| b\n=======\r\n>>>>>>> c"), (1, 4));
        // inline code is no fence, nor is a line of indented code; a fence may be in dispute
        for before in ["```js``` is inline\n", "    ```\n", "``~\n"] {
            assert_eq!(in_note(&format!("{before}{CONFLICT}")), (2, 3), "{before}");
        }
        assert_eq!(in_note("<<<<<<< a\n```sh\n=======\n```bash\n>>>>>>> b\n"), (1, 3));
        for plain in [
            "Heading\n=======\n\ntext <<<<<<< HEAD\n".to_owned(),
            "<<<<<<< a\nHeading\n=======\n".to_owned(),
            ">>>>>>> c\n=======\n<<<<<<< a\n".to_owned(),
            "<<<<<<<< eight\n=======\n>>>>>>>> eight\n<<<<<<< x".to_owned(),
            format!("```diff\n{CONFLICT}```\n~~~~\n```\n{CONFLICT}"),
        ] {
            assert_eq!(in_note(&plain), (0, 0), "{plain}");
        }
    }
}
