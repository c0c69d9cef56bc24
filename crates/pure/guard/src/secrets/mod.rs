//! Credentials in a text.
//!
//! # Model
//! A table of rules, one for each public format of a key and a few for how people write passwords
//! down. A scan goes through the text once looking for the rules' keywords; only a rule whose
//! keyword stands in a line is compiled (once) and tried on that line. What it matches must be
//! random enough for a key and no placeholder. A [`Finding`] says which rule and where, never what:
//! neither it nor its `Debug` holds the secret.
//!
//! # Limits
//! Time grows with the length of the text: lines are cut into pieces of [`LONGEST_PIECE`] bytes that
//! overlap by [`OVERLAP`], so that no rule sees more, and blocks of several lines end after
//! [`LONGEST_BLOCK`] bytes.
//!
//! # Not here
//! Files and folders; whoever has text asks.

mod entropy;
mod filter;
mod rule;
mod scanner;
mod table;

pub use scanner::{LONGEST_BLOCK, LONGEST_PIECE, OVERLAP};

use std::borrow::Cow;
use std::ops::Range;

/// A place where a credential stands. Holds no part of it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// The name of the rule that found it.
    pub rule: &'static str,
    /// Where it is, in bytes.
    pub range: Range<usize>,
    /// The line it begins on, counted from 1.
    pub line: usize,
}

/// Finds credentials, in the order of the text. Findings do not overlap.
pub fn scan(text: &str) -> Vec<Finding> {
    scanner::shared().scan(text)
}

/// Replaces each credential by `[secret: rule]`.
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

/// The names of all rules, in the order they are tried.
pub fn rules() -> impl Iterator<Item = &'static str> {
    table::all().map(|rule| rule.name)
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
