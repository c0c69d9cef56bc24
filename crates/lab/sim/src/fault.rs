//! Faults on demand.
//!
//! A fault is written as a name and parameters, in a header or a configuration: `429;
//! retry-after=3`, `cut; bytes=200`, `slow; ms=50`.
//!
//! # Not here
//! The schedule of faults: [`crate::SimConfig`].

use crate::error::{ApiError, ErrorKind};
use crate::http::{Body, Frame, Piece, SimResponse};
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// One way in which a request or its answer goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An error instead of an answer, by HTTP status; a 429 may say when to come back.
    Status {
        /// HTTP status of the documented list.
        status: u16,
        /// Seconds for the header `retry-after`.
        retry_after: Option<u64>,
    },
    /// The spending limit is reached: a 429 without `retry-after`.
    SpendLimit,
    /// The prompt counts as too long, with these figures.
    TooLong {
        /// Tokens it is said to have.
        tokens: u64,
        /// Window it is said not to fit.
        window: u64,
    },
    /// Nothing comes after so many bytes, and the connection stays open.
    Stall {
        /// Good bytes sent before it.
        bytes: usize,
    },
    /// The connection breaks after so many bytes.
    Cut {
        /// Good bytes sent before it.
        bytes: usize,
    },
    /// Bytes that mean nothing appear after so many good ones.
    Garbage {
        /// Good bytes sent before it.
        bytes: usize,
    },
    /// A pause before every piece.
    Slow {
        /// Its length in milliseconds.
        ms: u64,
    },
    /// An `error` event in the middle of the stream, after so many pieces.
    ErrorEvent {
        /// Good pieces sent before it.
        pieces: usize,
    },
    /// The summary of a compaction fails: its content is null.
    NullCompaction,
    /// A compaction is refused for now.
    CompactionUnavailable,
}

/// Text that names no fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no fault; known are 400 to 529, spend, too-long, stall, cut, garbage, slow, \
     error-event, null-compaction and compaction-unavailable"
)]
pub struct FaultParseError {
    /// The text as it was given.
    pub text: String,
}

impl FromStr for Fault {
    type Err = FaultParseError;

    fn from_str(text: &str) -> Result<Self, FaultParseError> {
        let wrong = || FaultParseError {
            text: text.to_owned(),
        };
        let mut parts = text.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let mut parameters = Vec::new();
        for part in parts.filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').ok_or_else(wrong)?;
            let value: u64 = value.trim().parse().map_err(|_| wrong())?;
            parameters.push((key.trim(), value));
        }
        let get = |wanted: &str| {
            let found = parameters.iter().find(|(key, _)| *key == wanted);
            found.map(|(_, value)| *value)
        };
        let size = |wanted: &str, default: u64| {
            usize::try_from(get(wanted).unwrap_or(default)).unwrap_or(usize::MAX)
        };
        Ok(match name {
            "spend" => Self::SpendLimit,
            "too-long" => Self::TooLong {
                tokens: get("tokens").unwrap_or(208_310),
                window: get("window").unwrap_or(200_000),
            },
            "stall" => Self::Stall {
                bytes: size("bytes", 400),
            },
            "cut" => Self::Cut {
                bytes: size("bytes", 400),
            },
            "garbage" => Self::Garbage {
                bytes: size("bytes", 400),
            },
            "slow" => Self::Slow {
                ms: get("ms").unwrap_or(50),
            },
            "error-event" => Self::ErrorEvent {
                pieces: size("pieces", 3),
            },
            "null-compaction" => Self::NullCompaction,
            "compaction-unavailable" => Self::CompactionUnavailable,
            status => Self::Status {
                status: status
                    .parse()
                    .ok()
                    // A status the provider never sends would test nothing real.
                    .filter(|status| kind_of(*status).is_some())
                    .ok_or_else(wrong)?,
                retry_after: get("retry-after"),
            },
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status {
                status,
                retry_after: None,
            } => write!(f, "{status}"),
            Self::Status {
                status,
                retry_after: Some(seconds),
            } => write!(f, "{status};retry-after={seconds}"),
            Self::SpendLimit => f.write_str("spend"),
            Self::TooLong { tokens, window } => {
                write!(f, "too-long;tokens={tokens};window={window}")
            }
            Self::Stall { bytes } => write!(f, "stall;bytes={bytes}"),
            Self::Cut { bytes } => write!(f, "cut;bytes={bytes}"),
            Self::Garbage { bytes } => write!(f, "garbage;bytes={bytes}"),
            Self::Slow { ms } => write!(f, "slow;ms={ms}"),
            Self::ErrorEvent { pieces } => write!(f, "error-event;pieces={pieces}"),
            Self::NullCompaction => f.write_str("null-compaction"),
            Self::CompactionUnavailable => f.write_str("compaction-unavailable"),
        }
    }
}

impl Serialize for Fault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fault {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

fn kind_of(status: u16) -> Option<(ErrorKind, &'static str)> {
    Some(match status {
        400 => (ErrorKind::InvalidRequest, "The request is not valid."),
        401 => (ErrorKind::Authentication, "The key is not valid."),
        402 => (ErrorKind::Billing, "There is a problem with the billing."),
        403 => (ErrorKind::Permission, "The key may not do this."),
        404 => (ErrorKind::NotFound, "Not found."),
        409 => (ErrorKind::Conflict, "The request is in conflict."),
        413 => (ErrorKind::TooLarge, "Request exceeds the maximum size"),
        429 => (
            ErrorKind::RateLimit,
            "This request would exceed your organization's rate limit.",
        ),
        500 => (ErrorKind::Api, "Internal server error"),
        504 => (ErrorKind::Timeout, "The request timed out."),
        529 => (ErrorKind::Overloaded, "Overloaded"),
        _ => return None,
    })
}

impl Fault {
    /// The error this fault answers with, if it is one that prevents an answer.
    pub(crate) fn refusal(&self) -> Option<ApiError> {
        match self {
            // This one is refused at the edge and has a body of its own.
            Self::Status { status: 413, .. } => Some(ApiError::too_large()),
            Self::Status {
                status,
                retry_after,
            } => {
                let (kind, text) = kind_of(*status)?;
                Some(ApiError {
                    // A 429 without the header means a spending limit to clients, so a plain one
                    // always has it.
                    retry_after: retry_after.or((*status == 429).then_some(1)),
                    ..ApiError::new(kind, text)
                })
            }
            Self::SpendLimit => Some(
                ApiError::new(
                    ErrorKind::RateLimit,
                    "The spending limit of this organization is reached.",
                )
                .code("enforced_spend_limit_reached"),
            ),
            Self::TooLong { tokens, window } => Some(ApiError::prompt_too_long(*tokens, *window)),
            _ => None,
        }
    }

    /// Spoils a good response.
    pub(crate) fn spoil(&self, response: &mut SimResponse) {
        // A body that came whole is cut too: a connection does not care.
        let frames = match &mut response.body {
            Body::Stream(frames) => std::mem::take(frames),
            Body::Whole { after, bytes } => vec![Frame {
                after: *after,
                piece: Piece::Bytes(std::mem::take(bytes)),
            }],
        };
        let frames = match self {
            Self::Stall { bytes } => {
                let mut frames = first_bytes(frames, *bytes).0;
                frames.push(now(Piece::Stall));
                frames
            }
            Self::Cut { bytes } => {
                let mut frames = first_bytes(frames, *bytes).0;
                frames.push(now(Piece::Cut));
                frames
            }
            Self::Garbage { bytes } => {
                let (mut head, tail) = first_bytes(frames, *bytes);
                head.push(now(Piece::Bytes(Bytes::from_static(GARBAGE))));
                // The good bytes go on: a decoder that resynchronises must be tested too.
                head.extend(tail);
                head
            }
            Self::Slow { ms } => {
                let slower = |frame: Frame| Frame {
                    after: frame.after + ms,
                    ..frame
                };
                frames.into_iter().map(slower).collect()
            }
            Self::ErrorEvent { pieces } => {
                let mut frames = frames;
                frames.truncate(*pieces);
                frames.push(now(Piece::Bytes(Bytes::from_static(OVERLOADED_EVENT))));
                frames
            }
            // Refusals and compaction faults were handled before there was a body.
            _ => frames,
        };
        response.body = Body::Stream(frames);
    }
}

/// Bytes that are neither UTF-8 nor events, with line ends that would frame some.
const GARBAGE: &[u8] = b"\xff\xfe\x00data: {\"type\": \x80\x81\n\nevent\n: \xc3(\n\n";
/// An `error` event as the provider sends it in the middle of a stream.
const OVERLOADED_EVENT: &[u8] = b"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\
\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";

fn now(piece: Piece) -> Frame {
    Frame { after: 0, piece }
}

/// Splits a stream after so many bytes.
fn first_bytes(frames: Vec<Frame>, mut left: usize) -> (Vec<Frame>, Vec<Frame>) {
    let (mut head, mut tail) = (Vec::new(), Vec::new());
    for frame in frames {
        match frame.piece {
            Piece::Bytes(mut bytes) if left > 0 => {
                let rest = bytes.split_off(left.min(bytes.len()));
                left -= bytes.len();
                head.push(Frame {
                    after: frame.after,
                    piece: Piece::Bytes(bytes),
                });
                if !rest.is_empty() {
                    tail.push(now(Piece::Bytes(rest)));
                }
            }
            piece => tail.push(Frame {
                after: frame.after,
                piece,
            }),
        }
    }
    (head, tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn faults_read_back_as_written() {
        for text in [
            "429;retry-after=3",
            "529",
            "spend",
            "too-long;tokens=5;window=4",
            "stall;bytes=1",
            "cut;bytes=0",
            "garbage;bytes=7",
            "slow;ms=9",
            "error-event;pieces=2",
            "null-compaction",
            "compaction-unavailable",
        ] {
            assert_eq!(text.parse::<Fault>().unwrap().to_string(), text);
        }
        for text in ["", "200", "cut;bytes", "cut;bytes=x", "fire"] {
            assert!(text.parse::<Fault>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_cut_keeps_exactly_the_bytes_before_it() {
        let frames = |texts: &[&'static str]| -> Vec<Frame> {
            let piece =
                |text: &&'static str| now(Piece::Bytes(Bytes::from_static(text.as_bytes())));
            texts.iter().map(piece).collect()
        };
        for (at, head, tail) in [
            (0, vec![], vec!["ab", "cd"]),
            (1, vec!["a"], vec!["b", "cd"]),
            (2, vec!["ab"], vec!["cd"]),
            (3, vec!["ab", "c"], vec!["d"]),
            (9, vec!["ab", "cd"], vec![]),
        ] {
            let split = first_bytes(frames(&["ab", "cd"]), at);
            assert_eq!(split, (frames(&head), frames(&tail)), "{at}");
        }
    }
}
