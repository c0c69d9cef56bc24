//! Numbers as people read them: the same figure has the same form in every command.

use dormouse_core::show::Grouped;
use dormouse_core::units::{Millis, Tokens};

/// A number with its thousands apart: `12,345`.
pub fn thousands(number: u64) -> String {
    Grouped(number).to_string()
}

/// A number with its noun, in the singular for one.
pub fn count(number: usize, one: &str, many: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        number => format!("{} {many}", thousands(number as u64)),
    }
}

/// Tokens, short: `842`, `12.3k`, `180k`, `1.2M`.
pub fn tokens(tokens: Tokens) -> String {
    scaled(tokens.get(), 1_000, &["", "k", "M", "G", "T", "P", "E"])
}

/// A size in bytes: `512 B`, `1.5 KiB`, `3 MiB`.
pub fn bytes(bytes: u64) -> String {
    scaled(
        bytes,
        1_024,
        &[" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"],
    )
}

/// At most one decimal, and none where it says nothing. Units must reach as far as a `u64` does.
fn scaled(number: u64, step: u64, units: &[&str]) -> String {
    let mut size: u128 = 1;
    let mut units = units.iter().peekable();
    while let Some(unit) = units.next() {
        let rounded = (u128::from(number) + size / 2) / size;
        // Rounding may reach the next unit: 999,960 tokens are 1M, not 1000k.
        if rounded < u128::from(step) || units.peek().is_none() {
            let tenths = (u128::from(number) * 10 + size / 2) / size;
            // Beyond a hundred a decimal says less than the rounding does: `180k`, not `180.4k`.
            return if tenths >= 1_000 || tenths.is_multiple_of(10) {
                format!("{rounded}{unit}")
            } else {
                format!("{}.{}{unit}", tenths / 10, tenths % 10)
            };
        }
        size *= u128::from(step);
    }
    // Callers pass units up to the end of `u64`; this line is for the compiler.
    thousands(number)
}

/// A share: `12.3 %`, `<0.1 %`; a dash where there is no whole.
pub fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    let (part, whole) = (u128::from(part), u128::from(whole));
    let tenths = (part * 1_000 + whole / 2) / whole;
    match tenths {
        // A part that exists is never shown as none.
        0 if part > 0 => "<0.1 %".to_owned(),
        _ => format!("{}.{} %", tenths / 10, tenths % 10),
    }
}

/// Age of a moment: `just now`, `5 min ago`, `3 d ago`. A moment in the future is `just now`:
/// clocks of machines differ by seconds, and files carry the clock of another machine.
pub fn age(now: Millis, then: Millis) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    let seconds = now.since(then) / 1_000;
    let (count, unit) = match seconds {
        0..MINUTE => return "just now".to_owned(),
        MINUTE..HOUR => (seconds / MINUTE, "min"),
        HOUR..DAY => (seconds / HOUR, "h"),
        // Days up to two months, months up to two years: "1 mo" and "1 y" alone would be too
        // coarse.
        _ if seconds < 60 * DAY => (seconds / DAY, "d"),
        _ if seconds < 730 * DAY => (seconds / (30 * DAY), "mo"),
        _ => (seconds / (365 * DAY), "y"),
    };
    format!("{count} {unit} ago")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn one_thing_is_said_in_the_singular() {
        let lines = |number| count(number, "line", "lines");
        assert_eq!(
            [0, 1, 2, 1_200].map(lines),
            ["0 lines", "1 line", "2 lines", "1,200 lines"]
        );
    }

    #[test]
    fn tokens_are_short() {
        let cases = [
            (0, "0"),
            (842, "842"),
            (999, "999"),
            (1_000, "1k"),
            (1_249, "1.2k"),
            (12_345, "12.3k"),
            (99_960, "100k"),
            (180_400, "180k"),
            (999_499, "999k"),
            (999_500, "1M"),
            (1_200_000, "1.2M"),
            (u64::MAX, "18.4E"),
        ];
        for (number, expected) in cases {
            assert_eq!(tokens(Tokens(number)), expected, "{number}");
        }
    }

    #[test]
    fn sizes_have_binary_units() {
        let cases = [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_024, "1 KiB"),
            (1_536, "1.5 KiB"),
            (3 << 20, "3 MiB"),
            (u64::MAX, "16 EiB"),
        ];
        for (number, expected) in cases {
            assert_eq!(bytes(number), expected, "{number}");
        }
    }

    #[test]
    fn shares_never_round_something_to_nothing() {
        let cases = [
            ((0, 10), "0.0 %"),
            ((1, 3), "33.3 %"),
            ((1, 100_000), "<0.1 %"),
            ((10, 10), "100.0 %"),
            ((u64::MAX, 1), "1844674407370955161500.0 %"),
            ((1, 0), "–"),
        ];
        for ((part, whole), expected) in cases {
            assert_eq!(share(part, whole), expected, "{part}/{whole}");
        }
    }

    #[test]
    fn ages_take_the_unit_that_fits() {
        let day = 86_400_000;
        let cases = [
            (-5_000, "just now"),
            (59_999, "just now"),
            (60_000, "1 min ago"),
            (3_600_000, "1 h ago"),
            (3 * day, "3 d ago"),
            (59 * day, "59 d ago"),
            (90 * day, "3 mo ago"),
            (800 * day, "2 y ago"),
        ];
        for (passed, expected) in cases {
            assert_eq!(age(Millis(0), Millis(-passed)), expected, "{passed}");
        }
    }
}
