//! Detection of credentials in a text.
//!
//! # Model
//! A table of rules, one for each published key format and some for positions that only a password
//! takes: `data/secrets`, with the source of each. A scan searches the text once for the rules'
//! keywords; only a rule whose keyword occurs in a line is compiled (once) and tried on that line. A
//! match has to be random enough for a key and no placeholder. Beside the table, `statement` reads
//! sentences and assignments: a noun for a password, a link, a value. A [`Finding`] contains rule
//! and position: neither it nor its `Debug` contains the secret.
//!
//! # Limits
//! Time is linear in the length of the text: lines are cut into pieces of [`LONGEST_PIECE`] bytes
//! that overlap by [`OVERLAP`], so that no rule sees more, and blocks of several lines end after
//! [`LONGEST_BLOCK`] bytes.
//!
//! # Not here
//! Files and folders: callers pass text.

mod characters;
mod entropy;
mod filter;
mod rule;
mod scanner;
mod shape;
mod statement;
mod table;
mod vocabulary;

pub use rule::Rule;
pub use scanner::{LONGEST_BLOCK, LONGEST_PIECE, OVERLAP};

use std::borrow::Cow;
use std::ops::Range;

/// Position of a credential. Contains no part of it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// Name of the rule that matched.
    pub rule: &'static str,
    /// Byte range of the credential in the text.
    pub range: Range<usize>,
    /// Line on which it begins, from 1.
    pub line: usize,
}

/// Credentials in the order of the text, without overlaps.
pub fn scan(text: &str) -> Vec<Finding> {
    scanner::shared().scan(text)
}

/// Text with each credential replaced by `[secret: rule]`.
pub fn redact(text: &str) -> Cow<'_, str> {
    let findings = scan(text);
    if findings.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut from = 0;
    for finding in &findings {
        clean.push_str(&text[from..finding.range.start]);
        clean.push_str("[secret: ");
        clean.push_str(finding.rule);
        clean.push(']');
        from = finding.range.end;
    }
    clean.push_str(&text[from..]);
    Cow::Owned(clean)
}

/// Rules of the table, in the order of precedence.
pub fn rules() -> &'static [Rule] {
    table::all()
}

/// Languages in which passwords in sentences are found, each with sentences that have to be found
/// once their slots hold random characters.
pub fn languages() -> impl Iterator<Item = (&'static str, &'static [String])> {
    let samples = vocabulary::Vocabulary::shared().samples.iter();
    samples.map(|(name, samples)| (name.as_str(), samples.as_slice()))
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
