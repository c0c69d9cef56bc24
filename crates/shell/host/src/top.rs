//! The sessions that are at work in this folder, of any agent.
//!
//! # Model
//! A session is live while its transcript changes. Its window comes from the live part of the
//! transcript, cost and cache from its responses, those of sub-agents included, and the last act of a
//! layer from its events. A client that runs a status line tells figures of its own on the standard
//! input ([`StatusInput`]), which are newer than the transcript and count first.
//!
//! # Not here
//! All sessions of a folder with their titles: `sessions`. Sums over projects: `stats`.

use crate::error::HostError;
use crate::host::Host;
use crate::spending::{UsageAsk, cost, hit_rate};
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage::TokenUsage;
use dormouse_core::usage_book::UsageSum;
use dormouse_store::{FoundLog, LogWork};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Time since the last change of a transcript within which its session counts as live, in
/// milliseconds. Answers and commands of some minutes are usual; a quarter of an hour without a line
/// is a pause.
const LIVE: i64 = 15 * 60 * 1_000;
/// Most bytes of a transcript that is read whole for a status line, which a client asks for several
/// times a second: some tenths of a second of work. Beyond it the last request stands for the cache.
const READ_WHOLE: u64 = 16 * 1024 * 1024;
/// Most bytes of a client's figures; they are a few hundred.
const MOST_INPUT: usize = 1024 * 1024;

/// The sessions of a folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TopReport {
    /// Live sessions, the newest first; if none is live, the newest one.
    pub sessions: Vec<LiveSession>,
}

/// A session at work.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LiveSession {
    /// Agent that it belongs to, by the place of its transcript.
    pub agent: Option<&'static str>,
    /// Id of the session, from its file.
    pub session: String,
    /// Path of the transcript.
    pub file: String,
    /// True if the transcript changed within the last quarter of an hour.
    pub live: bool,
    /// Model that answered last.
    pub model: String,
    /// Tokens of the prompt now.
    pub used_tokens: Option<u64>,
    /// Window of the model, in tokens.
    pub window: Option<u64>,
    /// Share of the window that is left, from 0 to 100.
    pub percent_left: Option<u8>,
    /// Share of all prompt tokens that came from the provider's cache.
    pub cache_hit_rate: Option<f64>,
    /// Responses so far, those of sub-agents included.
    pub requests: u64,
    /// Dollars so far; `None` where no price is known.
    pub cost_usd: Option<f64>,
    /// Last act of a layer, or compaction of the client.
    pub last: Option<LayerAct>,
    /// Time of the last change.
    pub changed: Option<String>,
    /// The same, for sorting and for telling an age.
    #[serde(skip)]
    pub changed_at: Millis,
}

/// An act of a layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LayerAct {
    /// `offload`, `distil`, `clear`, `notes` or `compaction`.
    pub layer: &'static str,
    /// Time of the act, where the transcript says.
    pub at: Option<String>,
    /// Tokens that it freed, where they are known.
    pub freed_tokens: Option<u64>,
    /// The same time, for telling an age.
    #[serde(skip)]
    pub at_millis: Option<Millis>,
}

/// Figures of a client for its status line, as Claude Code writes them. Unknown fields are skipped,
/// since versions differ.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct StatusInput {
    session_id: String,
    transcript_path: Option<PathBuf>,
    model: StatusModel,
    cost: StatusCost,
    context_window: StatusWindow,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct StatusModel {
    id: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct StatusCost {
    total_cost_usd: Option<f64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct StatusWindow {
    context_window_size: Option<u64>,
    remaining_percentage: Option<f64>,
    current_usage: Option<StatusUsage>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct StatusUsage {
    #[serde(rename = "input_tokens")]
    input: u64,
    #[serde(rename = "cache_creation_input_tokens")]
    written: u64,
    #[serde(rename = "cache_read_input_tokens")]
    read: u64,
}

impl StatusUsage {
    const fn prompt(self) -> u64 {
        self.input
            .saturating_add(self.written)
            .saturating_add(self.read)
    }
}

impl StatusInput {
    /// The figures, if these bytes are such.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > MOST_INPUT {
            return None;
        }
        let input: Self = serde_json::from_slice(bytes).ok()?;
        let named = !input.session_id.is_empty() || input.transcript_path.is_some();
        named.then_some(input)
    }
}

impl Host {
    /// Sessions at work in this folder.
    ///
    /// # Errors
    /// When the folder has no session, or a transcript cannot be read.
    pub fn top(&self) -> Result<TopReport, HostError> {
        let found = self.sessions_here()?;
        let mut own: Vec<&FoundLog> = found.iter().filter(|log| log.agent.is_none()).collect();
        own.sort_by_key(|log| std::cmp::Reverse(log.modified));
        let here = || HostError::NoSessionHere(self.places().current_dir.clone());
        let newest = *own.first().ok_or_else(here)?;
        let mut chosen: Vec<&FoundLog> = own.into_iter().filter(|log| self.is_live(log)).collect();
        if chosen.is_empty() {
            chosen.push(newest);
        }
        let mut sessions = Vec::new();
        for log in chosen {
            let agents = found
                .iter()
                .filter(|other| other.agent.is_some() && other.session == log.session);
            let agents: Vec<PathBuf> = agents.map(|other| other.path.clone()).collect();
            match self.live_session(&log.path, &agents, log.modified) {
                Ok(session) => sessions.push(session),
                // A transcript that was just begun has no message yet.
                Err(_) if log.path != newest.path => {}
                Err(error) => return Err(error),
            }
        }
        Ok(TopReport { sessions })
    }

    fn is_live(&self, log: &FoundLog) -> bool {
        self.now().0 - log.modified.0 <= LIVE
    }

    /// The session of a client's status line. Its own figures count before those of the transcript.
    pub fn status_line(&self, input: &StatusInput) -> LiveSession {
        let window = &input.context_window;
        let file = input.transcript_path.as_deref();
        let facts = file.and_then(|file| self.system().files.metadata(file).ok());
        let mut session = match (file, &facts) {
            (Some(file), Some(facts)) if facts.len <= READ_WHOLE => {
                let agents = self.agents_of(file);
                self.live_session(file, &agents, facts.modified)
                    .unwrap_or_default()
            }
            _ => LiveSession::default(),
        };
        session.live = true;
        session.session.clone_from(&input.session_id);
        if !input.model.id.is_empty() {
            session.model.clone_from(&input.model.id);
        }
        session.cost_usd = input.cost.total_cost_usd.or(session.cost_usd);
        session.window = window.context_window_size.or(session.window);
        if let Some(usage) = window.current_usage {
            session.used_tokens = Some(usage.prompt());
            session.cache_hit_rate = session.cache_hit_rate.or_else(|| {
                let sum = TokenUsage {
                    input: Tokens(usage.input),
                    cache_read: Tokens(usage.read),
                    cache_write_5m: Tokens(usage.written),
                    ..TokenUsage::default()
                };
                let mut one = UsageSum::default();
                one.count(sum, None);
                hit_rate(&one)
            });
        }
        session.percent_left = window.remaining_percentage.map(percent).or({
            match (session.used_tokens, session.window) {
                (Some(used), Some(window)) if window > 0 && session.percent_left.is_none() => {
                    let left = window.saturating_sub(used).saturating_mul(100) / window;
                    u8::try_from(left).ok()
                }
                _ => session.percent_left,
            }
        });
        session
    }

    /// Transcripts of the sub-agents of a session, which lie in a folder of its name.
    fn agents_of(&self, file: &Path) -> Vec<PathBuf> {
        let folder = file.with_extension("");
        let found = dormouse_store::discover(&*self.system().files, &folder);
        let logs = found.into_iter().flat_map(|found| found.logs);
        logs.map(|log| log.path).collect()
    }

    fn live_session(
        &self,
        file: &Path,
        agents: &[PathBuf],
        modified: Millis,
    ) -> Result<LiveSession, HostError> {
        let transcript = self.transcripts().live(file)?;
        let window = self.window(&transcript);
        let mut ask = UsageAsk::of(file);
        ask.paths.extend(agents.iter().cloned());
        let scan = self.scan_layers(&ask)?;
        let models = self.models();
        let (mut spent, mut seen, mut last) = (UsageSum::default(), HashSet::new(), None);
        for (number, source) in scan.layers.iter().enumerate() {
            for event in &source.events {
                match &event.what {
                    LogWork::Response {
                        key, model, usage, ..
                    } if seen.insert(key.clone()) => {
                        spent.count(*usage, models.lookup(model).info.cost(usage));
                    }
                    // Layers of sub-agents do not touch this prompt.
                    work if number == 0 => {
                        if let Some((layer, freed)) = act(work) {
                            last = Some(LayerAct {
                                layer,
                                at: event.at.map(|at| at.to_string()),
                                freed_tokens: freed.map(Tokens::get),
                                at_millis: event.at,
                            });
                        }
                    }
                    _ => {}
                }
            }
        }
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        Ok(LiveSession {
            agent: self.agent_folders().agent_of(file),
            session: stem.into_owned(),
            file: file.display().to_string(),
            live: self.now().0 - modified.0 <= LIVE,
            model: window.model.clone(),
            used_tokens: Some(window.used_tokens.get()),
            window: Some(window.window.get()),
            percent_left: Some(window.percent_left),
            cache_hit_rate: hit_rate(&spent),
            requests: spent.responses,
            cost_usd: cost(&spent),
            last,
            changed: Some(modified.to_string()),
            changed_at: modified,
        })
    }
}

/// The layer that did a piece of work, with the tokens that it freed.
const fn act(work: &LogWork) -> Option<(&'static str, Option<Tokens>)> {
    match work {
        LogWork::Offloaded { .. } => Some(("offload", None)),
        LogWork::Distilled(freed) => Some(("distil", Some(*freed))),
        LogWork::Cleared(freed) => Some(("clear", Some(*freed))),
        LogWork::Notes => Some(("notes", None)),
        LogWork::Compacted { freed, .. } => Some(("compaction", *freed)),
        LogWork::Prompt
        | LogWork::Response { .. }
        | LogWork::Surfaced(_)
        | LogWork::Dream
        | LogWork::Engine(_) => None,
    }
}

/// A percentage of a client, which may be any number.
fn percent(value: f64) -> u8 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to the range before"
    )]
    let whole = value.clamp(0.0, 100.0).round() as u8;
    whole
}
