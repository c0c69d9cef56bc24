//! Whether a provider would accept a sequence of segments.
//!
//! Written apart from the code that builds views, so that the two check each other.

use crate::segment::Segment;
use dormouse_core::block::BlockKind;
use dormouse_core::id::CallId;
use dormouse_core::record::Role;

/// Why a sequence would be refused. Positions count segments from zero.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// The first turn is not the user's.
    #[error("segment 0: the conversation does not begin with a user turn")]
    FirstTurn,
    /// The last turn is not the user's.
    #[error("the conversation does not end with a user turn")]
    LastTurn,
    /// Empty text or unsigned thinking.
    #[error("segment {at}: a block that is refused by itself")]
    Refused {
        /// Where.
        at: usize,
    },
    /// A call without its result in the next turn.
    #[error("segment {at}: call {call} has no result in the next user turn")]
    Unanswered {
        /// Where.
        at: usize,
        /// Which.
        call: CallId,
    },
    /// A result without its call in the turn before, or a second one.
    #[error("segment {at}: a tool result without its call in the turn before")]
    Orphan {
        /// Where.
        at: usize,
    },
    /// A result behind something else in its turn.
    #[error("segment {at}: a tool result that is not at the head of its turn")]
    ResultNotFirst {
        /// Where.
        at: usize,
    },
    /// An assistant turn that ends in thinking.
    #[error("segment {at}: an assistant turn that ends in thinking")]
    EndsInThinking {
        /// Where.
        at: usize,
    },
    /// A system message in a place where none may stand.
    #[error("segment {at}: a system message may only stand between a user and an assistant turn")]
    SystemPlacement {
        /// Where.
        at: usize,
    },
}

/// Checks all rules, the last turn's included.
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

/// Checks all rules but the one about the last turn.
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
    // Calls of the last assistant turn that are still to be answered, and where they were made.
    let mut open: Vec<(usize, &CallId)> = Vec::new();
    let mut in_results = false;
    for (at, segment) in segments.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| segments[before].role);
        let kind = segment.block.kind();
        if segment.block.is_unsendable() {
            return Err(Invalid::Refused { at });
        }
        if segment.role == Role::Assistant {
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
