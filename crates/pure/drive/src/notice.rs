//! Notices: events of a session for display.
//!
//! The text of a notice is one line without a hint; doors may replace it.

use dormouse_ask::{Event, Retrying};
use dormouse_context::layers::{Consideration, Moment};
use dormouse_core::record::BoundaryKind;
use dormouse_core::units::Tokens;

/// Event worth showing to the user.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// Piece of a streamed answer.
    Answer(Box<Event>),
    /// Long result that was saved to a file.
    Offloaded {
        /// Path of the file.
        path: String,
        /// Length of the result in characters.
        chars: u64,
    },
    /// Long result that could not be saved and was truncated.
    NotSaved {
        /// Path of the file that could not be written.
        path: String,
        /// Cause reported by the host.
        why: String,
    },
    /// Figures for the project's next session that could not be saved; the session is closed.
    LessonsNotSaved {
        /// Cause reported by the host.
        why: String,
    },
    /// Answered results that became shorter.
    Distilled {
        /// Number of results in this round.
        results: usize,
        /// Tokens that this freed, estimated.
        freed: Tokens,
    },
    /// Results that were sent unmarked to be distilled and stay whole: the answer was cut off, or a
    /// file could not be written.
    NotDistilled {
        /// Number of results that stay whole.
        results: usize,
    },
    /// Old results that were cleared.
    Cleared {
        /// Number of cleared results.
        results: usize,
        /// Tokens freed, estimated; zero where only the provider's cache was edited.
        freed: Tokens,
        /// Reason given by the policy.
        why: String,
    },
    /// Session notes that were updated.
    NotesUpdated {
        /// Length of the notes in tokens.
        size: Tokens,
    },
    /// Update of the notes that failed; the notes are unchanged.
    NotesFailed {
        /// Cause of the failure.
        why: String,
    },
    /// Compaction that was made.
    Compacted {
        /// Source of the summary.
        kind: BoundaryKind,
        /// Tokens before the compaction.
        before: Tokens,
        /// Estimated tokens after it.
        after: Tokens,
        /// Reason why a requested model summary was not used; none if it was, or if none was
        /// requested.
        without_model: Option<String>,
    },
    /// Compaction that was planned and not made.
    NotCompacted {
        /// Reason why it was not made.
        why: String,
    },
    /// Breaker opened: compaction cannot reach its target. Reported once.
    CannotCompact {
        /// Length of the remaining prompt in tokens.
        prompt: Tokens,
        /// Target in tokens that it exceeds.
        target: Tokens,
    },
    /// Cache miss that was not announced.
    CacheBroken {
        /// Tokens that had to be written again.
        lost: Tokens,
        /// Cause found by the ledger.
        why: String,
    },
    /// Prompt rejected as too long; it is being compacted.
    TooLong,
    /// Failed request that will be retried.
    Retrying(Retrying),
    /// Answer that broke off; the part that arrived is kept.
    Interrupted {
        /// Cause of the interruption.
        why: String,
    },
    /// Answer cut off by a limit; the model is asked to continue.
    Continued {
        /// Stop reason of the answer.
        why: String,
    },
    /// Resumed prefix that stays in use although another one is configured.
    PrefixKept {
        /// Reason to keep it.
        why: String,
    },
    /// Change to another model.
    ModelChanged {
        /// Name of the new model.
        model: String,
        /// Reason for the change.
        why: String,
    },
    /// Log that cannot be written: requests and tools have stopped.
    Stopped {
        /// Cause reported by the store.
        why: String,
    },
    /// Considerations of the layers at one moment; only with [`crate::Config::explain`].
    Considered {
        /// Moment of the turn.
        moment: Moment,
        /// Tokens in use at that moment.
        used: Tokens,
        /// Verdicts of the layers, in the order they were asked.
        layers: Vec<Consideration>,
        /// Arithmetic of the economic policy, if it is in use.
        arithmetic: Option<String>,
    },
    /// Rewrites that were undone.
    Undone {
        /// Number of rewrites, newer ones included.
        rewrites: usize,
    },
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Answer(_) | Self::Considered { .. } => Ok(()),
            Self::Offloaded { path, chars } => {
                write!(f, "a result of {chars} characters is in {path}")
            }
            Self::NotSaved { path, why } => {
                write!(f, "a long result was cut: {path} cannot be written ({why})")
            }
            Self::LessonsNotSaved { why } => write!(
                f,
                "the figures for the project's next session were not saved ({why})"
            ),
            Self::Distilled { results, freed } => {
                write!(f, "{results} results distilled, {freed} tokens freed")
            }
            Self::NotDistilled { results } => {
                write!(f, "{results} results were not distilled and stay whole")
            }
            Self::Cleared {
                results,
                freed,
                why,
            } => write!(
                f,
                "{results} old results cleared, {freed} tokens freed: {why}"
            ),
            Self::NotesUpdated { size } => write!(f, "session notes updated, {size} tokens"),
            Self::NotesFailed { why } => write!(f, "session notes left as they were: {why}"),
            Self::Compacted {
                kind,
                before,
                after,
                without_model,
            } => {
                let how = match kind {
                    BoundaryKind::Notes => "from the session notes",
                    BoundaryKind::Full => "with a summary",
                    BoundaryKind::Partial => "in part",
                    BoundaryKind::Offline => "without a model",
                    BoundaryKind::Foreign => "by another tool",
                };
                write!(f, "compacted {how}: {before} tokens are now about {after}")?;
                match without_model {
                    Some(why) => write!(f, " ({why})"),
                    None => Ok(()),
                }
            }
            Self::NotCompacted { why } => write!(f, "not compacted: {why}"),
            Self::CannotCompact { prompt, target } => write!(
                f,
                "compaction cannot help: the prompt stays at {prompt} tokens, above the target of \
                 {target}. Fewer tools or shorter instructions would; `/clear` starts afresh"
            ),
            Self::CacheBroken { lost, why } => {
                write!(f, "{lost} tokens were not read from the cache: {why}")
            }
            Self::TooLong => write!(f, "the prompt is too long for the model and is shortened"),
            Self::Retrying(retry) => write!(
                f,
                "attempt {} follows in {} ms: {}",
                retry.attempt,
                retry.after.as_millis(),
                retry.because
            ),
            Self::Interrupted { why } => write!(f, "the answer broke off and is kept: {why}"),
            Self::Continued { why } => write!(f, "the answer was cut off ({why}) and goes on"),
            Self::PrefixKept { why } => {
                write!(f, "system prompt and tools stay as recorded: {why}")
            }
            Self::ModelChanged { model, why } => write!(f, "now talking to {model}: {why}"),
            Self::Stopped { why } => write!(
                f,
                "the log cannot be written, so nothing more is sent or run: {why}"
            ),
            Self::Undone { rewrites } => write!(f, "{rewrites} rewrites undone"),
        }
    }
}
