//! Numbers in bytes, least significant byte first.
//!
//! Reading never fails: what is outside the bytes reads as zero. An index whose checksum is right
//! never reads there; one that was forged gives wrong hits, not a crash.

/// The number of two bytes at `at`.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    read(bytes, at).map_or(0, u16::from_le_bytes)
}

/// The number of four bytes at `at`.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    read(bytes, at).map_or(0, u32::from_le_bytes)
}

/// The number of eight bytes at `at`.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    read(bytes, at).map_or(0, u64::from_le_bytes)
}

/// The floating-point number of four bytes at `at`; one that is none reads as zero.
pub(crate) fn f32_at(bytes: &[u8], at: usize) -> f32 {
    let value = read(bytes, at).map_or(0.0, f32::from_le_bytes);
    if value.is_finite() { value } else { 0.0 }
}

fn read<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}
