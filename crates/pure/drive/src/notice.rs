//! Notices: events of a session that people should know of.

use dormouse_ask::{Event, Retrying};
use dormouse_context::layers::{Consideration, Moment};
use dormouse_core::record::BoundaryKind;
use dormouse_core::units::Tokens;

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// A piece of the answer.
    Answer(Box<Event>),
    /// A long result was put into a file.
    Offloaded {
        /// The file.
        path: String,
        /// Its length in characters.
        chars: u64,
    },
    /// A long result could not be put into a file and was cut.
    NotSaved {
        /// The file.
        path: String,
        /// Why not.
        why: String,
    },
    /// Old results were cleared.
    Cleared {
        /// How many.
        results: usize,
        /// Tokens that came free.
        freed: Tokens,
        /// Why.
        why: String,
    },
    /// The notes were updated.
    NotesUpdated {
        /// Their size.
        size: Tokens,
    },
    /// They were not; nothing changed.
    NotesFailed {
        /// Why.
        why: String,
    },
    /// The conversation was compacted.
    Compacted {
        /// How.
        kind: BoundaryKind,
        /// Tokens before.
        before: Tokens,
        /// Tokens after, as estimated.
        after: Tokens,
        /// Why the model's summary was not used, if it was asked.
        without_model: Option<String>,
    },
    /// A compaction was wanted and not made.
    NotCompacted {
        /// Why not.
        why: String,
    },
    /// Compaction cannot help any more; said once.
    CannotCompact {
        /// The prompt that stays.
        prompt: Tokens,
        /// The target it is above.
        target: Tokens,
    },
    /// Less was read from the cache than was there.
    CacheBroken {
        /// Tokens that had to be written again.
        lost: Tokens,
        /// Why.
        why: String,
    },
    /// The provider refused the prompt as too long; it is being shortened.
    TooLong,
    /// A request failed and is sent again.
    Retrying(Retrying),
    /// The answer broke off; the part that arrived is kept.
    Interrupted {
        /// Why.
        why: String,
    },
    /// A limit ended the answer, and the model is asked to go on.
    Continued {
        /// The stop reason.
        why: String,
    },
    /// The prefix of the resumed session stays in use, although another one was asked for.
    PrefixKept {
        /// Why.
        why: String,
    },
    /// The session goes on with another model.
    ModelChanged {
        /// Its name.
        model: String,
        /// Why.
        why: String,
    },
    /// The log cannot be written: requests and tools have stopped.
    Stopped {
        /// Why.
        why: String,
    },
    /// Considerations of the layers at one moment; only where a session is told to explain itself.
    Considered {
        /// The moment.
        moment: Moment,
        /// Tokens in use.
        used: Tokens,
        /// The layers, in order.
        layers: Vec<Consideration>,
        /// The figures of the economic policy.
        arithmetic: Option<String>,
    },
    /// Rewrites were taken back.
    Undone {
        /// How many.
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
