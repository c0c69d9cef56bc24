//! Wishes to be remembered, and what they are about.
//!
//! # Model
//! "Jot down that …", "记一下：…", "…, memorise that please": the wish says that something is to be
//! kept, and the rest of the sentence says what. The rest alone is weighed and kept; "remember to
//! push when you're done" is a wish as well, and its rest is no statement.

use crate::extract::phrases::Phrases;

/// Wishes with blanks around their words.
const WISHES: &str = "remember|memorize|memorise|commit it to memory|commit this to memory|keep in your memory|keep in memory|\
    jot down|write this down|write it down|write that down|write down|make a note|make a permanent note|making a note|\
    making a permanent note|keep a note|add to your notes|note to self|take note|for next time|don't forget|dont forget|\
    do not forget|never forget|keep in mind|bear in mind|for the record|for future reference|save this|retain|\
    merk dir|merk es dir|merken sie sich|merke dir|notier dir|notiere dir|notieren sie sich|schreib dir|gedächtnis|\
    behalte im hinterkopf|im hinterkopf|behalt im kopf|behalte im kopf|vergiss nicht|nicht vergessen|nicht wieder vergessen|\
    vormerken|halt fest|halte fest";
/// The same in Chinese, which has no blanks.
const HAN: [&str; 14] = [
    "帮我记一下",
    "记一下",
    "记下来",
    "记住",
    "记下",
    "牢记",
    "记得",
    "别忘了",
    "别忘",
    "存一下",
    "记着",
    "备忘",
    "记好",
    "记到",
];
/// Words between a wish and what it is about.
const BETWEEN: &str = "that|the fact that|this|it|one|down|please|pls|bitte|auf|dass|ever|somewhere|also|auch|mal|for me|\
    somewhere permanent|about|noch|sich|dauerhaft|in your head";

/// Part of a sentence that it wishes to be remembered, if it is such a wish.
pub(super) fn about(text: &str) -> Option<&str> {
    let lower = text.to_lowercase();
    // Offsets must fit both.
    if lower.len() != text.len() {
        return None;
    }
    let places = WISHES.split('|').filter_map(|wish| {
        let at = lower.match_indices(wish).map(|(at, _)| at);
        let ends = |at: &usize| {
            let free = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric());
            free(lower[..*at].chars().next_back()) && free(lower[at + wish.len()..].chars().next())
        };
        Some((
            at.filter(|at| text.is_char_boundary(*at)).find(ends)?,
            wish.len(),
        ))
    });
    let han = HAN
        .iter()
        .filter_map(|wish| Some((lower.find(wish)?, wish.len())));
    let (at, length) = places
        .chain(han)
        .min_by_key(|(at, length)| (*at, usize::MAX - length))?;
    let behind = without(text.get(at + length..)?);
    let before = text[..at].trim_end_matches([',', ' ', '，', '-', '–', '—']);
    // The longer side: a wish stands before or behind what it is about.
    let size = |part: &str| {
        Phrases::of(part)
            .count()
            .max(part.chars().filter(|c| !c.is_ascii()).count() / 2)
    };
    let part = if size(behind) >= size(before) {
        behind
    } else {
        before
    };
    (!part.is_empty()).then_some(part)
}

/// Text without the words that only lead from the wish to it.
fn without(text: &str) -> &str {
    let marks = |text: &'static str| text.chars().collect::<Vec<char>>();
    let marks = marks(" ,:;，：；-–—.。()（）");
    let mut rest = text.trim_start_matches(&marks[..]);
    loop {
        let lower = rest.to_lowercase();
        let word = BETWEEN.split('|').filter(|word| {
            lower
                .strip_prefix(*word)
                .is_some_and(|behind| behind.starts_with([' ', ',', ':']))
        });
        match word.max_by_key(|word| word.len()) {
            Some(word) => rest = rest[word.len()..].trim_start_matches(&marks[..]),
            None => return rest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::about;

    #[test]
    fn the_rest_of_a_wish_is_what_it_is_about() {
        for (text, expected) in [
            (
                "jot down that the coupon service is slow",
                Some("the coupon service is slow"),
            ),
            (
                "The box has 4 gigs and no more, memorize that please",
                Some("The box has 4 gigs and no more"),
            ),
            (
                "Merk dir bitte: dass Werk 2 anders druckt",
                Some("Werk 2 anders druckt"),
            ),
            ("帮我记一下：月底两天财务要对账", Some("月底两天财务要对账")),
            ("The build is slow", None),
            ("İ remember", None),
        ] {
            assert_eq!(about(text), expected, "{text}");
        }
    }
}
