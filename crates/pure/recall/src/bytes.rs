//! Numbers in bytes, least significant byte first.
//!
//! Reading never fails: an offset outside the bytes reads as zero. An index with a right checksum
//! never reads there; a forged one gives wrong hits, not a crash.

/// Number of two bytes at `at`.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    read(bytes, at).map_or(0, u16::from_le_bytes)
}

/// Number of four bytes at `at`.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    read(bytes, at).map_or(0, u32::from_le_bytes)
}

/// Number of eight bytes at `at`.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    read(bytes, at).map_or(0, u64::from_le_bytes)
}

/// Floating-point number of four bytes at `at`; NaN and infinities read as zero, because they would
/// spoil every comparison of scores.
pub(crate) fn f32_at(bytes: &[u8], at: usize) -> f32 {
    let value = read(bytes, at).map_or(0.0, f32::from_le_bytes);
    if value.is_finite() { value } else { 0.0 }
}

fn read<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    // Checked: an offset from a forged index may be near the largest number.
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}
