//! Entropy of a text, as a measure of randomness.

/// Shannon entropy of the bytes, in bits per byte: 0 for one repeated character, about 4 for random
/// hexadecimal digits, above 4 for long random base64.
pub(super) fn bits_per_byte(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in text.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let total = f64::from(counts.iter().sum::<u32>().max(1));
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / total)
        .map(|share| -share * share.log2())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_has_no_entropy_and_variety_has_much() {
        assert!(bits_per_byte("").abs() < 1e-9);
        assert!(bits_per_byte("aaaaaaaa").abs() < 1e-9);
        assert!((bits_per_byte("abcdabcd") - 2.0).abs() < 1e-9);
        assert!(bits_per_byte("password") < 2.8);
    }
}
