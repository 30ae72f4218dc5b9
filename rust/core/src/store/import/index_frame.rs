//! Frames of the message index: length (u32), payload, and its xxh3 (u64).

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Version of the keys in payloads: an index with other keys is read as damaged.
const KEY_VERSION: u64 = 2;

/// Returns the payload of the first frame, and what follows it.
pub(super) fn read(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (payload, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let (sum, rest) = rest.split_first_chunk::<8>()?;
    (checksum(payload) == u64::from_le_bytes(*sum)).then_some((payload, rest))
}

/// Adds a payload as a frame.
pub(super) fn write(payload: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    out.extend_from_slice(payload);
    out.extend_from_slice(&checksum(payload).to_le_bytes());
}

fn checksum(payload: &[u8]) -> u64 {
    xxh3_64_with_seed(payload, KEY_VERSION)
}
