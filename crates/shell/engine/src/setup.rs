//! Parts of a session: its place, its ports, its configuration.

use crate::ports::{Asker, Companion, Hooks, Notices, Restorer};
use crate::store::LogStore;
use dormouse_ask::Params;
use dormouse_ask::retry::RetryPolicy;
use dormouse_context::prefix::RenderedPrefix;
use dormouse_core::id::SessionId;
use dormouse_core::models::ModelTable;
use dormouse_core::record::LineContext;
use dormouse_core::settings::Settings;
use dormouse_core::units::Tokens;
use dormouse_core::usage::Usd;
use dormouse_drive::{CONTINUATIONS, Judge, PolicyChoice, RunsAll, SwitchModel, ToolHost};
use dormouse_store::Blobs;
use dormouse_system::System;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Gives the settings as they are now. They may change while a session runs; a change is noticed
/// because the value is another one.
pub type SettingsSource = Arc<dyn Fn() -> Arc<Settings> + Send + Sync>;

/// Paths and identity of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPlace {
    /// Id of the session; its log and folder are named after it.
    pub session: SessionId,
    /// Its log, as people and models are shown it.
    pub log: PathBuf,
    /// Its folder: long results, notes.
    pub folder: PathBuf,
    /// Dormouse's home: templates of the user.
    pub home: PathBuf,
    /// Folder of the project, as recorded in the log.
    pub project: String,
}

/// Ports of a session.
pub struct Ports {
    /// Files, clock, ids: the only way to the machine.
    pub system: System,
    /// The session's log; the engine is its only writer.
    pub log: Arc<dyn LogStore>,
    /// The store of prefix parts and notes.
    pub blobs: Arc<dyn Blobs>,
    /// The way to ask the model.
    pub asker: Arc<dyn Asker>,
    /// The tools the model may call.
    pub tools: Arc<dyn ToolHost>,
    /// Hooks that run at certain moments.
    pub hooks: Arc<dyn Hooks>,
    /// Things that are shown again after them.
    pub restorer: Arc<dyn Restorer>,
    /// Memories for the conversation.
    pub companion: Arc<dyn Companion>,
    /// Source of the settings, asked before every command.
    pub settings: SettingsSource,
    /// Receiver of notices for people.
    pub notices: Notices,
}

impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ports")
            .field("log", &self.log)
            .field("asker", &self.asker)
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

/// Configuration of a session.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    /// Name of the model, as the table and the provider know it.
    pub model: String,
    /// Table of known models: windows, prices, features.
    pub models: Arc<ModelTable>,
    /// Members of every request around the prompt; the model's name is one of them.
    pub params: Params,
    /// Tools, system prompt, instructions.
    pub prefix: Arc<RenderedPrefix>,
    /// The policy, where it is not the one of the settings.
    pub policy: Option<PolicyChoice>,
    /// The window, where it is not the one of the settings and the model table.
    pub window: Option<Tokens>,
    /// Fields that every line of the log repeats for foreign readers.
    pub line: LineContext,
    /// Judge of calls: allows, refuses, or asks a person.
    pub judge: Arc<dyn Judge>,
    /// When a failed request is sent again.
    pub retry: RetryPolicy,
    /// The model that takes over when this one stays overloaded.
    pub fallback: Option<Box<SwitchModel>>,
    /// Times an answer that a limit cut off is continued within one turn.
    pub continuations: u32,
    /// A user turn ends after so many requests.
    pub most_requests: usize,
    /// True to record the end of every turn.
    pub turn_facts: bool,
    /// Money that may be spent from the opening on.
    pub budget: Option<Usd>,
    /// True to report the considerations of the layers at every moment.
    pub explain: bool,
}

impl SessionConfig {
    /// A session with a model and a prefix, and the settings' word on everything else.
    pub fn new(
        model: &str,
        models: Arc<ModelTable>,
        params: Params,
        prefix: Arc<RenderedPrefix>,
    ) -> Self {
        Self {
            model: model.to_owned(),
            models,
            params,
            prefix,
            policy: None,
            window: None,
            line: LineContext::default(),
            judge: Arc::new(RunsAll),
            retry: RetryPolicy::default(),
            fallback: None,
            continuations: CONTINUATIONS,
            most_requests: usize::MAX,
            turn_facts: false,
            budget: None,
            explain: false,
        }
    }
}
