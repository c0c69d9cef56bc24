//! A copy of a session under an id of its own, and rules that a person gave for good.

use crate::configure::SettingWritten;
use crate::error::HostError;
use crate::host::Host;
use dormouse_core::id::{RecordId, SessionId};
use dormouse_core::record::{Body, FORMAT, LineContext, Lineage, SessionStart};
use dormouse_core::settings::{FileLayer, LayerKind, Value, keys};
use dormouse_store::{Draft, FileLog, SessionLog as _};
use std::path::PathBuf;

impl Host {
    /// Log of a session of this project.
    ///
    /// # Errors
    /// When the project's folder cannot be made.
    pub fn session_log(&self, id: &SessionId) -> Result<PathBuf, HostError> {
        Ok(self.session_place(id)?.log)
    }

    /// Begins a session that goes on where another one is now. Its log refers to the other's, which
    /// stays as it is.
    ///
    /// # Errors
    /// When the session cannot be read, or the new log cannot be written.
    pub fn fork_session(&self, parent: &SessionId) -> Result<SessionId, HostError> {
        let id = SessionId::new(self.system().ids.fresh());
        self.fork_session_as(parent, &id)?;
        Ok(id)
    }

    /// The same with an id that the caller chose.
    ///
    /// # Errors
    /// As [`Host::fork_session`].
    pub fn fork_session_as(&self, parent: &SessionId, id: &SessionId) -> Result<(), HostError> {
        let place = self.session_place(parent)?;
        let transcripts = self.transcripts();
        let live = transcripts.live(&place.log)?;
        let read = transcripts.read(&place.log)?;
        let last = read.records.last().map(|record| (&record.id, record.seq));
        let Some(head) = last else {
            return Err(HostError::NoSession(parent.to_string()));
        };
        self.begin_fork(id, live.conversation.lineage(parent, head, ""))
    }

    /// Begins the log of a session that goes on from this origin.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn begin_fork(&self, id: &SessionId, lineage: Lineage) -> Result<(), HostError> {
        let line = LineContext {
            cwd: self.places().current_dir.display().to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            git_branch: String::new(),
        };
        let own = self.session_place(id)?;
        let start = SessionStart {
            format: FORMAT,
            project: own.project,
            lineage: Some(lineage),
        };
        let mut log = FileLog::open(self.system(), &own.log, line, id.clone())?;
        let draft = Draft::new(
            RecordId::new(self.system().ids.fresh()),
            self.now(),
            Body::Session(Box::new(start)),
        );
        log.append(None, draft)?;
        Ok(())
    }

    /// Allows calls for good: in this checkout of the project, or everywhere.
    ///
    /// # Errors
    /// When the settings file cannot be changed.
    pub fn allow_always(&self, rule: &str, everywhere: bool) -> Result<SettingWritten, HostError> {
        let (layer, kind) = if everywhere {
            (FileLayer::User, LayerKind::User)
        } else {
            (FileLayer::ProjectLocal, LayerKind::ProjectLocal)
        };
        let key = keys::PERMISSIONS_ALLOW.name();
        let loaded = self.reload();
        let entry = loaded.settings.entry(key);
        // Also values that do not count for lack of trust: they are the file's, and stay.
        let given = entry.into_iter().flat_map(|entry| {
            let ignored = entry.ignored.iter().map(|ignored| &ignored.given);
            entry.parts.iter().chain(ignored)
        });
        let mut rules: Vec<String> = given
            .filter(|given| given.origin.kind() == kind)
            .filter_map(|given| match &given.value {
                Value::List(rules) => Some(rules.clone()),
                _ => None,
            })
            .flatten()
            .collect();
        if !rules.iter().any(|known| known == rule) {
            rules.push(rule.to_owned());
        }
        let quoted: Vec<String> = rules.iter().map(|rule| format!("{rule:?}")).collect();
        self.set_setting(layer, key, Some(&format!("[{}]", quoted.join(", "))))
    }
}
