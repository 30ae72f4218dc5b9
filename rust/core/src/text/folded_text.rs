//! Text with white space folded, put together from parts of a source, for snippets.

use std::ops::Range;

/// Bytes that are folded at once.
pub(super) const FOLD_BYTES: usize = 16;

/// Text with its white space folded.
pub(super) struct FoldedText {
    /// Room for all of it.
    text: Vec<u8>,
    /// Its bytes.
    length: usize,
    /// Its characters.
    pub count: usize,
    /// Whether it is empty or ends with a blank.
    pub blank: bool,
}

impl FoldedText {
    /// Makes an empty one with room for so many bytes.
    pub fn with_room(bytes: usize) -> Self {
        // room behind the last byte that may be written in vain
        Self { text: vec![0; bytes + FOLD_BYTES], length: 0, count: 0, blank: true }
    }

    /// Adds a part of a text.
    pub fn push(&mut self, text: &str, part: Range<usize>) {
        let mut at = part.start;
        while at < part.end {
            let most = FOLD_BYTES.min(part.end - at);
            let block = text.as_bytes()[at..].first_chunk();
            if block.is_some_and(|block| self.push_block(block, most)) {
                at += most;
                continue;
            }
            let end = at + most;
            for c in text[at..part.end].chars() {
                self.push_character(c);
                at += c.len_utf8();
                if at >= end {
                    break;
                }
            }
        }
    }

    fn push_character(&mut self, c: char) {
        let blank = is_blank(c);
        if !(blank && self.blank) {
            let c = if blank { ' ' } else { c };
            self.length += c.encode_utf8(&mut self.text[self.length..]).len();
            self.count += 1;
        }
        self.blank = blank;
    }

    /// Adds the first bytes of a block, all at once; only if they are ASCII and no two are blank.
    ///
    /// Most of a text is so, and without a branch a byte it takes a tenth of the time.
    fn push_block(&mut self, block: &[u8; FOLD_BYTES], length: usize) -> bool {
        let mut folded = *block;
        for byte in &mut folded {
            *byte = if *byte <= b' ' || *byte == 0x7f { b' ' } else { *byte };
        }
        let mut before = [if self.blank { b' ' } else { 0 }; FOLD_BYTES];
        before[1..].copy_from_slice(&folded[..FOLD_BYTES - 1]);
        let mut odd = [0; FOLD_BYTES];
        for at in 0..FOLD_BYTES {
            odd[at] = folded[at] & 0x80 | u8::from(folded[at] == b' ' && before[at] == b' ');
        }
        // what is behind the part does not count
        if u128::from_le_bytes(odd) << (8 * (FOLD_BYTES - length)) != 0 {
            return false;
        }
        self.text[self.length..][..FOLD_BYTES].copy_from_slice(&folded);
        self.length += length;
        self.count += length;
        self.blank = folded[length - 1] == b' ';
        true
    }

    pub fn trim_end(&mut self) {
        if self.blank && self.text[..self.length].ends_with(b" ") {
            self.length -= 1;
            self.count -= 1;
        }
    }

    pub fn into_text(mut self) -> String {
        self.text.truncate(self.length);
        // it is pieces of a text, cut between characters
        String::from_utf8(self.text).unwrap_or_default()
    }
}

#[inline]
pub(super) fn is_blank(c: char) -> bool {
    match c.is_ascii() {
        true => c <= ' ' || c == '\u{7f}',
        false => c.is_whitespace() || c.is_control(),
    }
}
