//! Byte frequencies of transcripts, by which a scan chooses what it tests first.

/// How often a byte occurs in transcripts, roughly: 255 is the most frequent.
pub(super) fn frequency(byte: u8) -> u8 {
    match byte.to_ascii_lowercase() {
        b' ' | b'"' | b'\\' | b'e' | b't' => 255,
        b'a' | b'i' | b'n' | b'o' | b'r' | b's' => 220,
        b'c' | b'd' | b'l' | b'm' | b'p' | b'u' | b',' | b':' | b'-' | b'_' | b'.' => 140,
        b'f' | b'g' | b'h' | b'b' | b'0'..=b'2' => 100,
        b'v' | b'w' | b'y' | b'k' | b'3'..=b'9' => 60,
        b'x' | b'j' | b'q' | b'z' => 20,
        // The first byte of a CJK character is worth little, the later ones more.
        0xE0..=0xFF => 90,
        _ => 40,
    }
}
