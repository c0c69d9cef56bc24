//! Figures in the words of an error message.
//!
//! # Not here
//! The meaning of the figures: `anthropic::errors`, `openai::errors`.

use dormouse_core::units::Tokens;

/// All whole numbers in a text, in their order; commas inside a number are allowed.
pub(crate) fn numbers(text: &str) -> Vec<Tokens> {
    let mut found = Vec::new();
    let mut number: Option<u64> = None;
    let mut rest = text.chars().peekable();
    while let Some(each) = rest.next() {
        match (each.to_digit(10), number) {
            (Some(digit), so_far) => {
                let so_far = so_far.unwrap_or(0);
                number = Some(so_far.saturating_mul(10).saturating_add(u64::from(digit)));
            }
            // Thousands: "200,000 tokens" is one number, "1, 2" are two.
            (None, Some(_)) if each == ',' && rest.peek().is_some_and(char::is_ascii_digit) => {}
            (None, Some(done)) => {
                found.push(Tokens(done));
                number = None;
            }
            (None, None) => {}
        }
    }
    found.extend(number.map(Tokens));
    found
}

/// The numbers after a phrase of a text.
pub(crate) fn numbers_after(text: &str, phrase: &str) -> Vec<Tokens> {
    text.split_once(phrase)
        .map(|(_, after)| numbers(after))
        .unwrap_or_default()
}

/// The beginning of a body that is no JSON, for people to read.
pub(crate) fn excerpt(body: &[u8]) -> String {
    /// Characters: one line in an error message. Gateways send whole pages of HTML.
    const LONGEST: usize = 200;
    // Four bytes are the longest character, so enough is decoded and never a whole page.
    let text = String::from_utf8_lossy(&body[..body.len().min(4 * LONGEST)]);
    let short: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    short.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_wherever_they_stand() {
        let cases: [(&str, &[u64]); 5] = [
            (
                "prompt is too long: 208310 tokens > 200000 maximum",
                &[208_310, 200_000],
            ),
            ("a limit of 30,000 tokens, or 5", &[30_000, 5]),
            ("got -186.", &[186]),
            ("1,", &[1]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            let found: Vec<u64> = numbers(text).into_iter().map(Tokens::get).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
