//! Report of a session's loading: loaded texts, cuts with their reasons, costs.
//!
//! # Model
//! A [`LoadReport`] is filled while a session is put together and shown by `/memory` and `dormouse
//! memory status`. Sizes are bytes; tokens are counted or else estimated, and the report says
//! which.
//!
//! # Not here
//! Reports on single instruction files (`dormouse_memory::instructions`).

use dormouse_core::fragment::one_line;
use dormouse_core::units::Tokens;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Bytes per token of ordinary English, for estimates.
const BYTES_PER_TOKEN: u64 = 4;
/// Most characters of a name or a reason, so that a line fits on a wide screen.
const LONGEST: usize = 160;

/// Sort of a loaded text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Instruction file, such as `AGENTS.md`.
    Instructions,
    /// Index of the memory directory.
    Index,
    /// The memory section of the system prompt.
    Prompt,
    /// Recalled memory, shown in the conversation.
    Memory,
}

impl Source {
    /// Lower-case name, for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Index => "index",
            Self::Prompt => "prompt",
            Self::Memory => "memory",
        }
    }
}

/// Text that was loaded into the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loaded {
    /// Sort of the text.
    pub source: Source,
    /// Path or other name.
    pub name: String,
    /// Bytes that went in.
    pub bytes: u64,
    /// Cost as the provider counted it; `None` if it was not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Tokens>,
    /// Reason for loading it; empty if it needs none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

impl Loaded {
    /// Cost, counted or estimated.
    pub fn tokens(&self) -> Tokens {
        self.counted
            // Rounded up: a text of one byte costs a token, too.
            .unwrap_or(Tokens(self.bytes.div_ceil(BYTES_PER_TOKEN)))
    }
}

/// Text that was cut or left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// Sort of the text.
    pub source: Source,
    /// Path or other name.
    pub name: String,
    /// Missing bytes; zero if it was left out without being read.
    pub bytes: u64,
    /// Reason for the cut.
    pub why: String,
}

/// Report of a session's loading.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadReport {
    /// Loaded texts, in order.
    pub loaded: Vec<Loaded>,
    /// Cuts and texts left out.
    pub cut: Vec<Cut>,
}

impl LoadReport {
    /// Empty report, for a session that begins.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a loaded text.
    pub fn load(&mut self, source: Source, name: &str, bytes: usize, why: impl fmt::Display) {
        self.loaded.push(Loaded {
            source,
            name: name.to_owned(),
            bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
            counted: None,
            why: why.to_string(),
        });
    }

    /// Adds a cut, or a text that was left out.
    pub fn leave(&mut self, source: Source, name: &str, bytes: usize, why: impl fmt::Display) {
        self.cut.push(Cut {
            source,
            name: name.to_owned(),
            bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
            why: why.to_string(),
        });
    }

    /// Cost of all loaded texts.
    pub fn tokens(&self) -> Tokens {
        self.loaded.iter().map(Loaded::tokens).sum()
    }

    /// True if some cost is an estimate.
    pub fn is_estimate(&self) -> bool {
        self.loaded.iter().any(|item| item.counted.is_none())
    }

    /// Lines for a terminal, without a newline.
    pub fn lines(&self) -> Vec<String> {
        if self.loaded.is_empty() && self.cut.is_empty() {
            return vec!["Nothing was loaded into this session.".to_owned()];
        }
        let about = if self.is_estimate() { "about " } else { "" };
        let mut lines = vec![format!(
            "Loaded: {} items, {about}{} tokens",
            self.loaded.len(),
            self.tokens()
        )];
        for item in &self.loaded {
            let about = if item.counted.is_none() { "~" } else { "" };
            let why = if item.why.is_empty() {
                String::new()
            } else {
                format!("; {}", one_line(&item.why, LONGEST))
            };
            lines.push(format!(
                "  {:<12} {} ({} bytes, {about}{} tokens{why})",
                item.source.name(),
                one_line(&item.name, LONGEST),
                item.bytes,
                item.tokens()
            ));
        }
        if !self.cut.is_empty() {
            lines.push(format!("Left out: {}", self.cut.len()));
        }
        for cut in &self.cut {
            // "0 bytes" would read as if nothing were missing.
            let size = if cut.bytes == 0 {
                String::new()
            } else {
                format!(" ({} bytes)", cut.bytes)
            };
            lines.push(format!(
                "  {:<12} {}{size}: {}",
                cut.source.name(),
                one_line(&cut.name, LONGEST),
                one_line(&cut.why, LONGEST)
            ));
        }
        lines
    }
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.lines() {
            writeln!(f, "{line}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reason;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_report_says_what_went_in_what_did_not_and_what_it_cost() {
        let mut report = LoadReport::new();
        report.load(Source::Instructions, "AGENTS.md", 4_001, "");
        report.load(Source::Memory, "a.md", 8, "fits the prompt");
        report.leave(Source::Index, "MEMORY.md", 90, "more than 200 lines");
        report.leave(Source::Memory, "b\n.md", 0, Reason::Over);
        let text = "Loaded: 2 items, about 1003 tokens\n  \
            instructions AGENTS.md (4001 bytes, ~1001 tokens)\n  \
            memory       a.md (8 bytes, ~2 tokens; fits the prompt)\n\
            Left out: 2\n  \
            index        MEMORY.md (90 bytes): more than 200 lines\n  \
            memory       b .md: overtaken or over\n";
        assert_eq!(report.to_string(), text);
        let json = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<LoadReport>(&json).unwrap(), report);
    }

    #[test]
    fn what_was_counted_is_no_estimate() {
        let mut report = LoadReport::new();
        assert_eq!(report.lines().len(), 1);
        report.load(Source::Prompt, "memory section", 400, "");
        report.loaded[0].counted = Some(Tokens(70));
        assert_eq!((report.tokens(), report.is_estimate()), (Tokens(70), false));
        assert!(report.to_string().starts_with("Loaded: 1 items, 70 tokens"));
    }
}
