//! Harness text: what a host writes into the messages of a user, told from what the user wrote.
//!
//! Bodies of strings are split as they stand in the line, still escaped: a tag holds nothing that
//! JSON escapes, so each part is the body of a string again.

/// The texts that one host writes.
#[derive(Debug)]
pub struct HarnessText {
    /// A text that begins with one of these is not the user's at all.
    pub beginnings: &'static [&'static str],
    /// A text that begins with the first of these is the user's only behind the last heading that is
    /// the second.
    pub prefaces: &'static [(&'static str, &'static str)],
    /// Elements of these names are not the user's where a text begins with them, one or several.
    pub leading: &'static [&'static str],
    /// As `leading`, but only where the second of these follows the name as it stands in the line: a
    /// person writes elements of such names too.
    pub leading_followed_by: &'static [(&'static str, &'static str)],
    /// Of these, between or behind leading ones, what is inside is the user's.
    pub arguments: &'static [&'static str],
    /// Elements of these names are not the user's wherever they stand.
    pub anywhere: &'static [&'static str],
}

impl HarnessText {
    /// A host that writes none.
    pub const NONE: Self = Self {
        beginnings: &[],
        prefaces: &[],
        leading: &[],
        leading_followed_by: &[],
        arguments: &[],
        anywhere: &[],
    };

    /// Visits the parts of a text in order, each with whether the user wrote it; white space
    /// around them is left out. A text that is all the user's stays as it is.
    pub(crate) fn split<'a>(&self, body: &'a [u8], visit: &mut dyn FnMut(&'a [u8], bool)) {
        let text = trim(body);
        if self.beginnings.iter().any(|beginning| text.starts_with(beginning.as_bytes())) {
            return visit(body, false);
        }
        let mut visit_part = |part: &'a [u8], is_conversation: bool| {
            if !trim(part).is_empty() {
                visit(trim(part), is_conversation);
            }
        };
        let request = self.prefaces.iter().find_map(|preface| request_behind(text, *preface));
        let (preface, rest) = text.split_at(request.unwrap_or(0));
        visit_part(preface, false);
        let mut rest = trim(rest);
        loop {
            if let Some(element) = self.leading_element(rest) {
                visit_part(element.whole, false);
                rest = trim(element.behind);
            } else if rest.len() < text.len()
                && let Some(element) = Element::at(rest, self.arguments)
            {
                visit_part(element.inside, true);
                rest = trim(element.behind);
            } else {
                break;
            }
        }
        let mut from = 0;
        let searched = if self.anywhere.is_empty() { &[][..] } else { rest };
        for at in memchr::memchr_iter(b'<', searched) {
            if at >= from
                && let Some(element) = Element::at(&rest[at..], self.anywhere)
            {
                visit_part(&rest[from..at], true);
                visit_part(element.whole, false);
                from = at + element.whole.len();
            }
        }
        match from == 0 && rest.len() == text.len() {
            true => visit(body, true),
            false => visit_part(&rest[from..], true),
        }
    }

    /// Returns the element with which a text begins, if it is not the user's.
    fn leading_element<'a>(&self, text: &'a [u8]) -> Option<Element<'a>> {
        let behind_name = |name: &str| text.get(1 + name.len()..).unwrap_or_default();
        let is_of_host =
            |(name, next): &(&str, &str)| behind_name(name).starts_with(next.as_bytes());
        let mut of_host = self.leading_followed_by.iter().filter(|form| is_of_host(form));
        Element::at(text, self.leading)
            .or_else(|| of_host.find_map(|(name, _)| Element::at(text, &[name])))
    }

    /// Returns whether a text has a part that is not the user's.
    pub(crate) fn occurs_in(&self, body: &[u8]) -> bool {
        let mut found = false;
        self.split(body, &mut |_, is_conversation| found |= !is_conversation);
        found
    }
}

/// Where what the user asks begins, if a text has a preface before it.
fn request_behind(text: &[u8], (beginning, heading): (&str, &str)) -> Option<usize> {
    if !text.starts_with(beginning.as_bytes()) {
        return None;
    }
    let begins_line = |at: &usize| text[..*at].ends_with(b"\\n");
    // what the user has selected may have one as well
    let at = memchr::memmem::find_iter(text, heading).filter(begins_line).last()?;
    Some(at + heading.len())
}

/// An element `<name …>…</name>`.
struct Element<'a> {
    whole: &'a [u8],
    inside: &'a [u8],
    behind: &'a [u8],
}

impl<'a> Element<'a> {
    /// The element of one of these names with which a text begins.
    fn at(text: &'a [u8], names: &[&str]) -> Option<Self> {
        let tag = text.strip_prefix(b"<")?;
        let name = names.iter().find(|name| {
            let behind = tag.strip_prefix(name.as_bytes());
            matches!(behind.and_then(<[u8]>::first), Some(b'>' | b' '))
        })?;
        let inside = &text[memchr::memchr(b'>', text)? + 1..];
        let closing = format!("</{name}>");
        let end = memchr::memmem::find(inside, closing.as_bytes())?;
        let behind = &inside[end + closing.len()..];
        let whole = &text[..text.len() - behind.len()];
        Some(Self { whole, inside: &inside[..end], behind })
    }
}

/// Cuts white space off both ends of the body of a string, escaped or not.
fn trim(mut body: &[u8]) -> &[u8] {
    const SPACES: [&[u8]; 4] = [b" ", b"\\n", b"\\r", b"\\t"];
    while let Some(rest) = SPACES.iter().find_map(|space| body.strip_prefix(*space)) {
        body = rest;
    }
    // an escaped backslash before an `n` is no line end
    let is_escape = |rest: &[u8]| rest.iter().rev().take_while(|b| **b == b'\\').count() % 2 == 0;
    while let Some(rest) = SPACES.iter().find_map(|space| {
        body.strip_suffix(*space).filter(|rest| *space == b" " || is_escape(rest))
    }) {
        body = rest;
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::json_string::decode;
    use proptest::prelude::*;

    const RULES: HarnessText = HarnessText {
        beginnings: &["[Cut off"],
        prefaces: &[("# Open files:", "## Asked:")],
        leading: &["name"],
        leading_followed_by: &[("path", " of=")],
        arguments: &["args"],
        anywhere: &["reminder"],
    };

    fn parts(body: &str) -> Vec<(String, bool)> {
        let mut all = Vec::new();
        RULES.split(body.as_bytes(), &mut |part, is_conversation| {
            all.push((decode(part).into_owned(), is_conversation))
        });
        all
    }

    #[test]
    fn parts_of_a_text() {
        let cases: [(&str, &[(&str, bool)]); 15] = [
            ("as it is ", &[("as it is ", true)]),
            ("[Cut off by user]", &[("[Cut off by user]", false)]),
            ("a <name>b</name>", &[("a <name>b</name>", true)]),
            ("\\n<name>b</name>\\n c ", &[("<name>b</name>", false), ("c", true)]),
            ("<name>b</name> <args>c d</args>", &[("<name>b</name>", false), ("c d", true)]),
            ("<args>c d</args>", &[("<args>c d</args>", true)]),
            (
                "a\\n<reminder x=\\\"1\\\">b</reminder>\\nc",
                &[("a", true), ("<reminder x=\"1\">b</reminder>", false), ("c", true)],
            ),
            (
                "# Open files:\\n- x ## Asked: not\\n## Asked:\\nwhy?",
                &[("# Open files:\n- x ## Asked: not\n## Asked:", false), ("why?", true)],
            ),
            (
                "# Open files:\\n## Asked:\\nwhat\\n## Asked:\\nwhy?",
                &[("# Open files:\n## Asked:\nwhat\n## Asked:", false), ("why?", true)],
            ),
            ("<path of=\\\"b\\\">c</path>d", &[("<path of=\"b\">c</path>", false), ("d", true)]),
            ("<path>b</path> c", &[("<path>b</path> c", true)]),
            ("# Open files:\\n- x", &[("# Open files:\n- x", true)]),
            ("so\\n## Asked:\\nwhy?", &[("so\n## Asked:\nwhy?", true)]),
            ("what is <reminder>?", &[("what is <reminder>?", true)]),
            (
                "C:\\\\n<reminder>b</reminder>",
                &[("C:\\n", true), ("<reminder>b</reminder>", false)],
            ),
        ];
        for (body, wanted) in cases {
            let wanted: Vec<_> = wanted
                .iter()
                .map(|(text, is_conversation)| ((*text).to_owned(), *is_conversation))
                .collect();
            assert_eq!(parts(body), wanted, "{body}");
        }
    }

    #[test]
    fn a_host_with_prefaces_alone() {
        let rules = HarnessText { prefaces: RULES.prefaces, ..HarnessText::NONE };
        assert!(rules.occurs_in(b"# Open files:\\n## Asked:\\nwhy?"));
        assert!(!HarnessText::NONE.occurs_in(b" <name>b</name> "));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_but_white_space_and_tags_of_arguments(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "<name>", "</name>", "<args>", "</args>", "<reminder>", "</reminder>",
                    "<path>", "<path of=x>", "</path>",
                    "<", "\n", "\\", " ", "x", "é", "[Cut off", "# Open files:", "## Asked:",
                ]),
                0..12,
            )
        ) {
            let text = pieces.concat();
            let json = serde_json::Value::from(&*text).to_string();
            let letters = |text: &str| -> String {
                let text = text.replace("<args>", "").replace("</args>", "");
                text.chars().filter(|c| !c.is_whitespace()).collect()
            };
            let found: String = parts(&json[1..json.len() - 1]).into_iter().map(|part| part.0).collect();
            prop_assert_eq!(letters(&found), letters(&text));
        }
    }
}
