//! Why the result of a dream may not be swapped in.

use crate::transaction::Refusal;
use crate::trust::Trust;
use dormouse_guard::paths::SafePath;
use dormouse_guard::secrets;

/// One thing that is wrong with the result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Objection {
    /// A pinned file is not as it was.
    #[error("`{0}` is pinned and was touched")]
    Pinned(SafePath),
    /// A daily log lost something.
    #[error("`{0}` is a log; logs are read and marked, never rewritten")]
    Log(SafePath),
    /// The index is over its limits.
    #[error("MEMORY.md has {lines} lines and {bytes} bytes, more than are loaded")]
    IndexTooLong {
        /// Its lines.
        lines: usize,
        /// Its bytes.
        bytes: usize,
    },
    /// A line of the index points to nothing, or to what an earlier one points to.
    #[error("line {line} of MEMORY.md points to `{target}`, which {why}")]
    IndexLine {
        /// The line.
        line: usize,
        /// Where it points.
        target: String,
        /// What is wrong.
        why: &'static str,
    },
    /// A memory has no line.
    #[error("`{0}` has no line in MEMORY.md")]
    Unlisted(SafePath),
    /// The index has something in it that belongs into a memory.
    #[error("line {line} of MEMORY.md is not the line of a memory; the index never holds content")]
    IndexContent {
        /// The line.
        line: usize,
    },
    /// Front matter misses something.
    #[error("`{path}` has no valid `{key}` in its front matter")]
    FrontMatter {
        /// The file.
        path: SafePath,
        /// The key.
        key: &'static str,
    },
    /// A key of another tool is gone.
    #[error("`{path}` lost the key `{key}` of its front matter")]
    KeyLost {
        /// The file.
        path: SafePath,
        /// The key.
        key: String,
    },
    /// There is a credential in it.
    #[error("`{path}` line {line} holds a credential ({rule})")]
    Secret {
        /// The file.
        path: SafePath,
        /// The line.
        line: usize,
        /// The rule that found it.
        rule: &'static str,
    },
    /// Too much is gone.
    #[error("{lost} of {all} memories are lost, and not each with a reason: {}", list(.unstated))]
    Losses {
        /// Memories that are gone or emptied.
        lost: usize,
        /// Memories there were.
        all: usize,
        /// Those without a reason.
        unstated: Vec<SafePath>,
    },
    /// Something is stated that nobody said.
    #[error("`{path}` states what no source states: {sentence}")]
    Invented {
        /// The file.
        path: SafePath,
        /// The sentence.
        sentence: String,
    },
    /// A merge names a source that does not exist.
    #[error("`{into}` is said to be made of `{source_file}`, which does not exist")]
    NoSuchSource {
        /// The merged file.
        into: SafePath,
        /// The source.
        source_file: SafePath,
    },
    /// A file is believed more than what it was made of.
    #[error("`{path}` is trusted as {claimed}, but what it was made of only as {due}")]
    TrustRaised {
        /// The file.
        path: SafePath,
        /// What it says.
        claimed: Trust,
        /// What it may say.
        due: Trust,
    },
    /// No change like this may be made by anybody.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl Objection {
    /// Something that nobody said. Objections are shown and logged: a credential in it is not.
    pub(super) fn invented(path: SafePath, sentence: &str) -> Self {
        let sentence = secrets::redact(sentence).into_owned();
        Self::Invented { path, sentence }
    }
}

fn list(paths: &[SafePath]) -> String {
    let names: Vec<&str> = paths.iter().map(SafePath::as_str).collect();
    names.join(", ")
}
