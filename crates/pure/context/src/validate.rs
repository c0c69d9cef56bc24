//! Validity of a sequence of segments under the rules of the Messages API.
//!
//! Written independently of the code that builds views, so that the property tests compare two
//! implementations.
//!
//! Not here: repairs (`normalise`, [`crate::tail`]).

use crate::segment::Segment;
use dormouse_core::block::BlockKind;
use dormouse_core::id::CallId;
use dormouse_core::record::Role;

/// The first rule that a sequence breaks. Positions count segments from zero.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// The first segment is neither the user's nor the provider's compaction block.
    #[error("segment 0: the conversation does not begin with a user turn")]
    FirstTurn,
    /// The last segment is the assistant's, or there is none.
    #[error("the conversation does not end with a user turn")]
    LastTurn,
    /// Empty text, or thinking without a signature.
    #[error("segment {at}: empty text or unsigned thinking")]
    Refused {
        /// Position of the block.
        at: usize,
    },
    /// A call without a result in the next user turn.
    #[error("segment {at}: call {call} has no result in the next user turn")]
    Unanswered {
        /// Position of the call.
        at: usize,
        /// Id of the call.
        call: CallId,
    },
    /// A result without its call in the turn before, a second result for a call, or a call without
    /// an id or with a repeated one.
    #[error("segment {at}: a tool result without its call in the turn before")]
    Orphan {
        /// Position of the result or call.
        at: usize,
    },
    /// A result behind text or a fragment in its turn.
    #[error("segment {at}: a tool result that is not at the head of its turn")]
    ResultNotFirst {
        /// Position of the result.
        at: usize,
    },
    /// An assistant turn whose last block is thinking.
    #[error("segment {at}: an assistant turn that ends in thinking")]
    EndsInThinking {
        /// Position of the thinking block.
        at: usize,
    },
    /// A system message right behind an assistant turn, or in front of a user turn.
    #[error("segment {at}: a system message may only stand between a user and an assistant turn")]
    SystemPlacement {
        /// Position of the system message.
        at: usize,
    },
}

/// Checks all rules, including that the last turn is the user's.
///
/// # Errors
/// The first rule that is broken.
pub fn sendable<'a>(segments: impl IntoIterator<Item = &'a Segment>) -> Result<(), Invalid> {
    let segments: Vec<&Segment> = segments.into_iter().collect();
    check(&segments)?;
    match segments.last().map(|segment| segment.role) {
        Some(Role::User | Role::System) => Ok(()),
        Some(Role::Assistant) | None => Err(Invalid::LastTurn),
    }
}

/// Checks all rules except the one about the last turn, for a view between requests.
///
/// # Errors
/// The first rule that is broken.
pub fn consistent<'a>(segments: impl IntoIterator<Item = &'a Segment>) -> Result<(), Invalid> {
    let segments: Vec<&Segment> = segments.into_iter().collect();
    check(&segments)
}

fn check(segments: &[&Segment]) -> Result<(), Invalid> {
    if segments.first().is_some_and(|segment| {
        segment.role != Role::User && segment.block.kind() != BlockKind::Compaction
    }) {
        return Err(Invalid::FirstTurn);
    }
    // Calls of the last assistant turn that are not answered yet, with their positions.
    let mut open: Vec<(usize, &CallId)> = Vec::new();
    let mut in_results = false;
    for (at, segment) in segments.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| segments[before].role);
        let kind = segment.block.kind();
        if segment.block.is_unsendable() {
            return Err(Invalid::Refused { at });
        }
        if segment.role == Role::Assistant {
            // A new assistant turn: the user turn before it has ended with calls still open.
            if before != Some(Role::Assistant)
                && let Some((at, call)) = open.first()
            {
                return Err(Invalid::Unanswered {
                    at: *at,
                    call: (*call).clone(),
                });
            }
            let ends = segments
                .get(at + 1)
                .is_none_or(|next| next.role != Role::Assistant);
            if ends && kind.is_thinking() {
                return Err(Invalid::EndsInThinking { at });
            }
            if kind == BlockKind::ToolUse {
                match segment.block.call() {
                    Some(call) if open.iter().all(|(_, other)| *other != call) => {
                        open.push((at, call));
                    }
                    _ => return Err(Invalid::Orphan { at }),
                }
            }
            in_results = true;
            continue;
        }
        if segment.role == Role::System {
            let followed = segments
                .get(at + 1)
                .is_some_and(|next| next.role == Role::User);
            if before == Some(Role::Assistant) || followed {
                return Err(Invalid::SystemPlacement { at });
            }
        }
        if kind == BlockKind::ToolResult {
            let call = segment.block.call();
            let Some(asked) = open.iter().position(|(_, open)| Some(*open) == call) else {
                return Err(Invalid::Orphan { at });
            };
            if !in_results {
                return Err(Invalid::ResultNotFirst { at });
            }
            open.remove(asked);
        } else {
            // Results come first, so anything else ends their part of the turn.
            in_results = false;
            if let Some((at, call)) = open.first() {
                return Err(Invalid::Unanswered {
                    at: *at,
                    call: (*call).clone(),
                });
            }
        }
    }
    match open.first() {
        Some((at, call)) => Err(Invalid::Unanswered {
            at: *at,
            call: (*call).clone(),
        }),
        None => Ok(()),
    }
}
