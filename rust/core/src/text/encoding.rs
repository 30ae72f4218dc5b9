//! Encoding of files: UTF-16 detection, lossy UTF-8 that keeps byte offsets, line numbers.

use std::borrow::Cow;

/// Says whether the bytes of a file are UTF-16, with its mark or as JSON without it.
///
/// The first bytes alone do not say: a crash leaves NULs, and a line of garbage may begin with
/// anything. So the first block must be no UTF-8, or be NUL at every second byte or so, as ASCII is,
/// and hold no line that is a record in UTF-8, nor line ends without a NUL, which are of one byte.
pub fn is_utf16(bytes: &[u8]) -> bool {
    let (bytes, read) = match bytes {
        [0xff, 0xfe, rest @ ..] => (rest, u16::from_le_bytes as fn([u8; 2]) -> u16),
        [0xfe, 0xff, rest @ ..] => (rest, u16::from_be_bytes as _),
        [b'{' | b'[', 0, 1..=0x7f, 0, ..] => (bytes, u16::from_le_bytes as _),
        [0, b'{' | b'[', 0, 1..=0x7f, ..] => (bytes, u16::from_be_bytes as _),
        _ => return false,
    };
    let block = &bytes[..bytes.len().min(UTF16_BLOCK)];
    let nuls = block.iter().filter(|&&byte| byte == 0).count();
    let is_utf8 = match std::str::from_utf8(block) {
        Ok(_) => true,
        // a character that the block cuts
        Err(error) => error.error_len().is_none() && bytes.len() > block.len(),
    };
    // behind garbage there may be lines that can be read
    let is_record = |line: &[u8]| {
        let inside = line.trim_ascii_start().strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
        inside.is_some_and(|inside| inside.starts_with(b"\""))
            && !line.contains(&0)
            && std::str::from_utf8(line).is_ok()
    };
    let has_line_end = block.contains(&b'\n');
    let has_record = block.split(|&byte| byte == b'\n').any(is_record);
    let units = block.chunks_exact(2).map(|pair| read([pair[0], pair[1]]));
    // a run of NULs is what a crash leaves, and no text
    let is_text = |unit: &Result<char, _>| unit.as_ref().is_ok_and(|&c| c != '\0');
    let mut broken = char::decode_utf16(units).filter(|unit| !is_text(unit)).count();
    broken += usize::from(bytes.len() % 2 == 1 && bytes.len() == block.len());
    // the block may cut a pair
    broken <= usize::from(bytes.len() > block.len())
        && !has_record
        && (nuls > 0 || !has_line_end)
        && (!is_utf8 || nuls * 3 > block.len())
}

/// How much of a file is looked at to tell UTF-16; an even number.
pub const UTF16_BLOCK: usize = 4 << 10;

/// Returns the bytes of a file as text of the same length, so that spans stay true.
///
/// Each byte that is not UTF-8 becomes one SUB character, which no word contains.
pub fn as_text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            let mut text = String::with_capacity(bytes.len());
            for chunk in bytes.utf8_chunks() {
                text.push_str(chunk.valid());
                text.extend(std::iter::repeat_n('\u{1a}', chunk.invalid().len()));
            }
            Cow::Owned(text)
        }
    }
}

/// Returns the line, counted from 1, that holds the byte at `offset`.
pub fn line_of(bytes: &[u8], offset: usize) -> u64 {
    memchr::memchr_iter(b'\n', &bytes[..offset.min(bytes.len())]).count() as u64 + 1
}

#[cfg(test)]
mod tests {
    use super::is_utf16;

    fn utf16(text: &str) -> Vec<u8> {
        let units = std::iter::once('\u{feff}').chain(text.chars());
        units.collect::<String>().encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn utf16_is_distinguished_from_garbage_before_lines_of_bytes() {
        for text in ["# Tea\n", "记忆", "记忆\n记忆\n", "{\"role\": \"user\"}\n"] {
            assert!(is_utf16(&utf16(text)), "{text}");
        }
        // as UTF-16, pairs of brackets are Chinese
        let line = format!("{}\n", "[".repeat(3001));
        assert!(!is_utf16(&[b"\xff\xfe\n", line.as_bytes(), line.as_bytes()].concat()));
    }
}
