//! A provider simulator exact enough to study money.
//!
//! # Model
//! [`Simulator::handle`] takes one HTTP request as a value and the time, and returns one response
//! as a value: a body, or a list of timed pieces of a stream. It has three steps: *read* (parse,
//! validate, count and hash; needs no state and is the dear part), *settle* (cache, limits, script;
//! needs the state and is short) and *write* (the bytes of the answer; no state again). The server
//! holds its lock only for the second.
//!
//! # Responsibilities
//! - Two faces: Anthropic messages (with caching, editing, compaction, bound thinking) and
//!   OpenAI chat completions (with automatic prefix caching).
//! - The cost of a request, to the token: the cache of the simulator is written from the provider's
//!   rules alone and shares no code with the engine's ledger. Each is the other's test.
//! - The provider's error texts, limits and bad days.
//!
//! # Not here
//! - No clock: `now` is an argument. No sockets either, except in the server (feature `server`).
//! - No real tokenizer: bytes per token come from the model table.
//! - No persistence: a simulator forgets when it is dropped.

mod answer;
mod binding;
mod blocks;
mod cache;
mod compaction;
mod config;
mod diagnostics;
mod dice;
mod digest;
mod editing;
mod envelope;
mod error;
mod explain;
mod fault;
mod http;
mod keys;
mod limits;
mod markers;
mod modelinfo;
mod openai;
mod openai_write;
mod persona;
mod prompt;
mod read;
mod request;
mod scribe;
mod sentences;
#[cfg(feature = "server")]
mod server;
mod simulator;
mod spoken;
mod sse;
mod tokens;
mod validate;
mod write;

pub use answer::{Answer, AnswerBlock, StopReason};
pub use cache::Billing;
pub use config::{
    AnswerConfig, BindingMode, ConfigError, FaultRule, Limits, OpenAiConfig, SimConfig, Switches,
    ThreadRefusal, TokenizerConfig,
};
pub use error::{ApiError, ErrorKind};
pub use fault::{Fault, FaultParseError};
pub use http::{Body, Frame, Piece, SimRequest, SimResponse};
#[cfg(feature = "server")]
pub use server::{InProcess, ServeError, Server, serve};
pub use simulator::{PositionReport, Report, Simulator};
pub use tokens::UsageOverride;
