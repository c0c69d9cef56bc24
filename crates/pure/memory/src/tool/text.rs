//! Lines, numbers and sizes, in the provider's format.

use std::fmt::Write as _;

/// Lines of a text. A line end closes a line; it does not open another one.
pub(super) fn lines(text: &str) -> Vec<&str> {
    if text.is_empty() {
        return Vec::new();
    }
    text.strip_suffix('\n')
        .unwrap_or(text)
        .split('\n')
        .collect()
}

/// Lines with their numbers, cut to a limit.
pub(super) struct Numbered {
    /// Numbered lines, joined by newlines.
    pub(super) text: String,
    /// Number of lines in it.
    pub(super) shown: usize,
    /// True if the last of them is not whole.
    pub(super) torn: bool,
}

/// Numbers lines from `first` on, as many as fit into `most` characters; one at least, cut if it
/// must be.
pub(super) fn number(lines: &[&str], first: usize, most: usize) -> Numbered {
    let mut out = Numbered {
        text: String::new(),
        shown: 0,
        torn: false,
    };
    let mut left = most;
    for (number, line) in (first..).zip(lines) {
        let numbered = format!("{number:>6}\t{line}");
        let length = numbered.chars().count() + usize::from(out.shown > 0);
        if length > left {
            // Without any line the model could not go on from there.
            if out.shown == 0 {
                out.text.extend(numbered.chars().take(most));
                out.shown = 1;
                out.torn = true;
            }
            break;
        }
        if out.shown > 0 {
            out.text.push('\n');
        }
        out.text.push_str(&numbered);
        out.shown += 1;
        left -= length;
    }
    out
}

/// Size for people, rounded up like `du -h` does: `17B`, `5.5K`, `12K`, `1.2M`.
pub(super) fn human_size(bytes: u64) -> String {
    const STEP: u128 = 1024;
    // Tenths of the largest size do not fit into 64 bits.
    let bytes = u128::from(bytes);
    if bytes < STEP {
        return format!("{bytes}B");
    }
    let mut unit = STEP;
    for letter in ["K", "M", "G", "T", "P", "E"] {
        let tenths = (bytes * 10).div_ceil(unit);
        if tenths < 100 {
            return format!("{}.{}{letter}", tenths / 10, tenths % 10);
        }
        let whole = bytes.div_ceil(unit);
        if whole < STEP || letter == "E" {
            return format!("{whole}{letter}");
        }
        unit *= STEP;
    }
    bytes.to_string()
}

/// Adds a remark of ours below foreign text, in brackets so that the two can be told apart.
pub(super) fn remark(text: &mut String, remark: &str) {
    // Writing to a string cannot fail.
    write!(text, "\n[{remark}]").ok();
}

#[cfg(test)]
mod tests {
    use super::{human_size, lines, number};

    #[test]
    fn a_line_end_closes_a_line() {
        let cases: [(&str, &[&str]); 6] = [
            ("", &[]),
            ("a", &["a"]),
            ("a\n", &["a"]),
            ("a\n\n", &["a", ""]),
            ("\n", &[""]),
            ("a\r\nb", &["a\r", "b"]),
        ];
        for (text, expected) in cases {
            assert_eq!(lines(text), expected, "{text:?}");
        }
    }

    #[test]
    fn sizes_are_rounded_up() {
        let cases = [
            (0, "0B"),
            (1, "1B"),
            (1023, "1023B"),
            (1024, "1.0K"),
            (1025, "1.1K"),
            (5_632, "5.5K"),
            (10 * 1024 - 1, "10K"),
            (12_345, "13K"),
            (1024 * 1024 - 1, "1.0M"),
            (1_258_291, "1.2M"),
            (5 << 30, "5.0G"),
            (u64::MAX, "16E"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(human_size(bytes), expected, "{bytes}");
        }
    }

    #[test]
    fn numbered_lines_stay_within_their_room() {
        let cut = number(&["aa", "bb", "cc"], 9, 19);
        assert_eq!(
            (cut.text.as_str(), cut.shown, cut.torn),
            ("     9\taa\n    10\tbb", 2, false)
        );
        let torn = number(&["äöüäöü"], 1, 9);
        assert_eq!(
            (torn.text.as_str(), torn.shown, torn.torn),
            ("     1\täö", 1, true)
        );
        assert_eq!(number(&[], 1, 9).shown, 0);
    }
}
