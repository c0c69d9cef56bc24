//! Load report: the outcome for every file, with its reason.

use super::parts::Scope;
use dormouse_core::block::Block;
use dormouse_core::models::BytesPerToken;
use dormouse_core::units::Tokens;
use std::fmt;
use std::path::PathBuf;

/// Line of the report about one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportLine {
    /// Path at which it was found.
    pub path: PathBuf,
    /// Owner of the instructions.
    pub scope: Scope,
    /// File that includes it.
    pub included_by: Option<PathBuf>,
    /// Bytes on disk, as far as known; 0 for a file that was not read.
    pub bytes: u64,
    /// Estimated cost in the prompt; for a rule, the cost once it holds. Zero for files left out.
    pub tokens: Tokens,
    /// Decision on it, with the reason.
    pub outcome: FileOutcome,
}

/// Decision on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileOutcome {
    /// In the prompt, whole.
    Loaded,
    /// In the prompt up to `instructions.file_limit`.
    Cut {
        /// Characters in the prompt.
        shown: u64,
        /// Characters of the whole text.
        of: u64,
    },
    /// Rule: in the prompt once a matching file is read.
    Conditional {
        /// Globs of the rule, as written.
        patterns: Vec<String>,
    },
    /// Rule none of whose patterns can be used.
    BadPatterns {
        /// Patterns, each with its error.
        problems: Vec<String>,
    },
    /// Nothing but includes: the files it names stand for it.
    OnlyIncludes,
    /// Blank, or nothing but comments.
    Empty,
    /// In the prompt already, by its real path or its text.
    Repeat,
    /// Outside the project and waiting for approval.
    Waiting,
    /// File of a project whose folder the user has not trusted.
    Untrusted,
    /// Nested deeper than `instructions.include_depth`.
    TooDeep,
    /// Too many bytes to be read at all.
    TooLarge,
    /// Invalid UTF-8 or NUL bytes.
    NotText,
    /// Include that is plainly a path, but leads to no file.
    Missing,
    /// First file beyond the limit of a session; the others are not reported.
    TooMany,
}

impl fmt::Display for FileOutcome {
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
            Self::Untrusted => f.write_str("skipped: the folder is not trusted"),
            Self::TooDeep => f.write_str("skipped: includes are nested too deeply"),
            Self::TooLarge => f.write_str("skipped: too large"),
            Self::NotText => f.write_str("skipped: not a UTF-8 text"),
            Self::Missing => f.write_str("skipped: not there"),
            Self::TooMany => f.write_str("skipped, like all that follow: too many files"),
        }
    }
}

/// Estimated tokens of a text, for a model without measurements.
pub(super) fn tokens(text: &str) -> Tokens {
    let block = Block::text(text);
    // Wide characters are counted apart: they cost about a token each, whatever their bytes.
    let weight = block.weight();
    BytesPerToken::default().text.tokens_of(weight.text_bytes) + Tokens(weight.wide_chars)
}
