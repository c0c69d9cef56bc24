#![doc = include_str!("../README.md")]

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
mod known;
#[cfg(test)]
mod known_tests;
mod limits;
mod markers;
mod modelinfo;
mod openai;
mod openai_write;
mod persona;
mod prompt;
mod read;
mod request;
mod scene;
mod scribe;
mod sentences;
#[cfg(feature = "server")]
mod server;
mod simulator;
mod spoken;
mod sse;
mod tokens;
mod validate;
mod weigh;
mod write;

pub use answer::{AnswerBlock, FOLDER, SideAnswer, SimAnswer, StopReason};
pub use cache::Billing;
pub use config::{
    AnswerConfig, BindingMode, CacheMode, ConfigError, FaultRule, Limits, OpenAiConfig, SimConfig,
    Switches, ThreadRefusal, TokenizerConfig,
};
pub use error::{ApiError, ErrorKind};
pub use fault::{Fault, FaultParseError};
pub use http::{Body, Frame, Piece, SimRequest, SimResponse};
#[cfg(feature = "server")]
pub use server::{InProcess, ServeError, Server, serve};
pub use simulator::{PositionReport, Report, Simulator};
pub use tokens::UsageOverride;
