//! The load report: what became of every file, and why.

use super::parts::Scope;
use dormouse_core::block::Block;
use dormouse_core::models::BytesPerToken;
use dormouse_core::units::Tokens;
use std::fmt;
use std::path::PathBuf;

/// What became of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportLine {
    /// Where it was found.
    pub path: PathBuf,
    /// Whose it is.
    pub scope: Scope,
    /// The file that includes it.
    pub included_by: Option<PathBuf>,
    /// Its bytes on disk, as far as known.
    pub bytes: u64,
    /// What it costs in the prompt, estimated; what a rule will cost when it holds. Nothing for
    /// what is left out.
    pub tokens: Tokens,
    /// What was done with it, and why.
    pub outcome: Outcome,
}

/// What was done with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is in the prompt, whole.
    Loaded,
    /// It is in the prompt up to the limit.
    Cut {
        /// Characters taken.
        shown: u64,
        /// Characters it has.
        of: u64,
    },
    /// It comes into the prompt when a file that matches is read.
    Conditional {
        /// The patterns.
        patterns: Vec<String>,
    },
    /// A rule none of whose patterns can be used.
    BadPatterns {
        /// Each with what is wrong with it.
        problems: Vec<String>,
    },
    /// It says nothing by itself: the files it names stand for it.
    OnlyIncludes,
    /// It holds nothing.
    Empty,
    /// It is in the prompt already.
    Repeat,
    /// It lies outside the project and waits for approval.
    Waiting,
    /// Includes are nested too deeply.
    TooDeep,
    /// Its bytes are too many to be read.
    TooLarge,
    /// It is no UTF-8 text.
    NotText,
    /// An include that says plainly it is a path, but nothing is there.
    Missing,
    /// So many files were loaded that no more are.
    TooMany,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loaded => f.write_str("loaded"),
            Self::Cut { shown, of } => write!(f, "cut: {shown} of {of} characters loaded"),
            Self::Conditional { patterns } => write!(f, "waits for {}", patterns.join(", ")),
            Self::BadPatterns { problems } => {
                write!(f, "never loaded: {}", problems.join("; "))
            }
            Self::OnlyIncludes => f.write_str("only names other files"),
            Self::Empty => f.write_str("empty"),
            Self::Repeat => f.write_str("skipped: loaded already"),
            Self::Waiting => f.write_str("skipped: outside the project and not approved"),
            Self::TooDeep => f.write_str("skipped: includes are nested too deeply"),
            Self::TooLarge => f.write_str("skipped: too large"),
            Self::NotText => f.write_str("skipped: not a UTF-8 text"),
            Self::Missing => f.write_str("skipped: not there"),
            Self::TooMany => f.write_str("skipped, like all that follow: too many files"),
        }
    }
}

/// Estimated tokens of a text, for a model nobody has measured yet.
pub(super) fn tokens(text: &str) -> Tokens {
    let block = Block::text(text);
    let weight = block.weight();
    BytesPerToken::default().text.tokens_of(weight.text_bytes) + Tokens(weight.wide_chars)
}
