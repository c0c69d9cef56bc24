//! What was loaded into a session, what was cut and why, and what it cost.
//!
//! # Model
//! A [`LoadReport`] is filled while a session is put together and shown by `/memory` and
//! `dormouse memory status`. Sizes are bytes; tokens are what was counted, or else an estimate,
//! and the report says which.

use dormouse_core::fragment::one_line;
use dormouse_core::units::Tokens;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Bytes that make up a token, roughly.
const BYTES_PER_TOKEN: u64 = 4;
/// Characters of a name or a reason on one line.
const LONGEST: usize = 160;

/// What sort of thing was loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// An instruction file.
    Instructions,
    /// The index of memory.
    Index,
    /// The memory section of the system prompt.
    Prompt,
    /// A memory.
    Memory,
}

impl Source {
    /// As people read it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Index => "index",
            Self::Prompt => "prompt",
            Self::Memory => "memory",
        }
    }
}

/// Something that was loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loaded {
    /// What sort.
    pub source: Source,
    /// Which: a path, mostly.
    pub name: String,
    /// How much went in.
    pub bytes: u64,
    /// What it cost, if somebody counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Tokens>,
    /// Why it went in.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

impl Loaded {
    /// What it cost.
    pub fn tokens(&self) -> Tokens {
        self.counted
            .unwrap_or(Tokens(self.bytes.div_ceil(BYTES_PER_TOKEN)))
    }
}

/// Something that was cut or left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// What sort.
    pub source: Source,
    /// Which.
    pub name: String,
    /// How much is missing; zero if it was left out whole and nobody looked.
    pub bytes: u64,
    /// Why.
    pub why: String,
}

/// What was loaded into a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadReport {
    /// What went in, in order.
    pub loaded: Vec<Loaded>,
    /// What did not.
    pub cut: Vec<Cut>,
}

impl LoadReport {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds what went in.
    pub fn load(&mut self, source: Source, name: &str, bytes: usize, why: impl fmt::Display) {
        self.loaded.push(Loaded {
            source,
            name: name.to_owned(),
            bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
            counted: None,
            why: why.to_string(),
        });
    }

    /// Adds what did not.
    pub fn leave(&mut self, source: Source, name: &str, bytes: usize, why: impl fmt::Display) {
        self.cut.push(Cut {
            source,
            name: name.to_owned(),
            bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
            why: why.to_string(),
        });
    }

    /// What all of it cost.
    pub fn tokens(&self) -> Tokens {
        self.loaded.iter().map(Loaded::tokens).sum()
    }

    /// Whether some cost is an estimate.
    pub fn is_estimate(&self) -> bool {
        self.loaded.iter().any(|item| item.counted.is_none())
    }

    /// The report, line by line.
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
