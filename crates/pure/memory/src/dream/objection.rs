//! Objections to the result of a dream.

use crate::transaction::Refusal;
use crate::trust::Trust;
use dormouse_guard::paths::SafePath;
use dormouse_guard::secrets;

/// One fault of the result; a single one refuses it whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Objection {
    /// Pinned file that was touched.
    #[error("`{0}` is pinned and was touched")]
    Pinned(SafePath),
    /// Daily log that lost or gained more than a mark.
    #[error("`{0}` is a log; logs are read and marked, never rewritten")]
    Log(SafePath),
    /// Index over its limits.
    #[error("MEMORY.md has {lines} lines and {bytes} bytes, more than are loaded")]
    IndexTooLong {
        /// Number of its lines.
        lines: usize,
        /// Length of its text.
        bytes: usize,
    },
    /// Line of the index that points to nothing, or to the target of an earlier one.
    #[error("line {line} of MEMORY.md points to `{target}`, which {why}")]
    IndexLine {
        /// Line number, from 1.
        line: usize,
        /// Target of the link.
        target: String,
        /// Fault of the target.
        why: &'static str,
    },
    /// Line of a person's that the result does not have.
    #[error("line {line} of MEMORY.md is a person's and was changed or removed")]
    IndexLineLost {
        /// Line number before the dream, from 1.
        line: usize,
    },
    /// Memory without a line in the index.
    #[error("`{0}` has no line in MEMORY.md")]
    Unlisted(SafePath),
    /// Line of the index that belongs into a memory.
    #[error("line {line} of MEMORY.md is not the line of a memory; the index never holds content")]
    IndexContent {
        /// Line number, from 1.
        line: usize,
    },
    /// Front matter without a required key.
    #[error("`{path}` has no valid `{key}` in its front matter")]
    FrontMatter {
        /// File with the fault.
        path: SafePath,
        /// Name of the missing key.
        key: &'static str,
    },
    /// Lost key of another tool.
    #[error("`{path}` lost the key `{key}` of its front matter")]
    KeyLost {
        /// File with the fault.
        path: SafePath,
        /// Name of the lost key.
        key: String,
    },
    /// Credential in a file.
    #[error("`{path}` line {line} holds a credential ({rule})")]
    Secret {
        /// File with the fault.
        path: SafePath,
        /// Line number, from 1.
        line: usize,
        /// Name of the rule that matched.
        rule: &'static str,
    },
    /// More losses than `dream.loss` allows.
    #[error("{lost} of {all} memories are lost, and not each with a reason: {}", list(.unstated))]
    Losses {
        /// Memories that are gone or emptied.
        lost: usize,
        /// Memories before the dream.
        all: usize,
        /// Losses without a reason.
        unstated: Vec<SafePath>,
    },
    /// Statement without a source.
    #[error("`{path}` states what no source states: {sentence}")]
    Invented {
        /// File with the fault.
        path: SafePath,
        /// Sentence without support, credentials redacted.
        sentence: String,
    },
    /// Merge from a source that does not exist.
    #[error("`{into}` is said to be made of `{source_file}`, which does not exist")]
    NoSuchSource {
        /// File that holds the merge.
        into: SafePath,
        /// Source that was named.
        source_file: SafePath,
    },
    /// More trust than its sources have.
    #[error("`{path}` is trusted as {claimed}, but what it was made of only as {due}")]
    TrustRaised {
        /// File with the fault.
        path: SafePath,
        /// Trust that the file claims.
        claimed: Trust,
        /// Trust that its lineage allows.
        due: Trust,
    },
    /// Change that the gate refuses to every author.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl Objection {
    /// Objection to a sentence without a source. Objections are shown and logged, so a credential
    /// in the sentence must not stay in it.
    pub(super) fn invented(path: SafePath, sentence: &str) -> Self {
        let sentence = secrets::redact(sentence).into_owned();
        Self::Invented { path, sentence }
    }
}

fn list(paths: &[SafePath]) -> String {
    let names: Vec<&str> = paths.iter().map(SafePath::as_str).collect();
    names.join(", ")
}
