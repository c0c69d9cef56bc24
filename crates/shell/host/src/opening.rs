//! Beginnings of an agent's session: texts for its prefix, and the session that goes on.
//!
//! # Not here
//! The agent's own words and tools; opening the session (`session`).

use crate::error::HostError;
use crate::host::{Host, day};
use crate::memories::limits;
use crate::place::Which;
use crate::remark::Remark;
use dormouse_core::id::SessionId;
use dormouse_core::settings::keys;
use dormouse_keeper::instructions::{DiskSource, limits as file_limits};
use dormouse_memory::daily::date_change;
use dormouse_memory::index;
use dormouse_memory::instructions::{Approvals, FileOutcome, MemoryIndex, Scope, load, render};
use dormouse_memory::prompt;
use dormouse_memory::snapshot::INDEX;
use dormouse_store::{ProjectFolder, discover};
use std::path::Path;
use std::sync::Arc;

/// Texts that a session begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionTexts {
    /// Section of the system prompt about memory; `None` if memory is off.
    pub memory: Option<String>,
    /// Instruction files and the index of memory, as one fragment.
    pub instructions: Option<String>,
    /// Texts of the instruction files, which are never saved as memories.
    pub known: Vec<String>,
    /// The day, as people write it.
    pub today: String,
}

/// Session that an agent goes on with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Resume {
    /// None: a new one begins.
    #[default]
    New,
    /// Dormouse's newest of this project; a new one if there is none.
    Newest,
    /// The one of this name: an id or its beginning, `latest`, or a file. One of another agent is
    /// converted first, and its own file left as it is.
    Named(String),
}

impl Host {
    /// The day, as people write it.
    pub fn today(&self) -> String {
        day(self.now()).to_string()
    }

    /// Announcement that the day has changed within a session; names the new log where the agent
    /// keeps one.
    pub fn date_change(&self, from: &str, to: &str) -> String {
        let daily = self.settings().switch(keys::DAILY_LOG).is_on();
        match (from.parse(), to.parse()) {
            (Ok(from), Ok(to)) if daily => date_change(from, to),
            _ => format!("The date has changed from {from} to {to}."),
        }
    }

    /// Texts that a session started here begins with.
    ///
    /// # Errors
    /// When the memory directory or the working tree cannot be read.
    pub fn session_texts(&self) -> Result<SessionTexts, HostError> {
        let settings = self.settings();
        let mut texts = SessionTexts {
            today: day(self.now()).to_string(),
            ..SessionTexts::default()
        };
        let mut memory_index = None;
        match self.find(&Which::Private) {
            Ok(found) => {
                let directory = found.root.display().to_string();
                let team = found.place().and_then(|place| place.team.as_ref());
                let team = team.map(|team| team.display().to_string());
                let guidelines = settings.get(keys::MEMORY_EXTRA_GUIDELINES);
                texts.memory = Some(prompt::render(&prompt::Section {
                    directory: &directory,
                    team: team.as_deref(),
                    mode: if settings.get(keys::DAILY_LOG) && self.agent_memory.is_none() {
                        prompt::Mode::DailyLog
                    } else {
                        prompt::Mode::Live
                    },
                    index: limits(&settings),
                    extra_guidelines: guidelines.as_deref(),
                }));
                if let (Some(text), Some(memory)) = (&mut texts.memory, &self.agent_memory) {
                    text.push('\n');
                    text.push_str(memory.words());
                }
                if let Some(dir) = found.existing()? {
                    let text = dir.look()?.snapshot.index();
                    memory_index = (!text.is_empty()).then(|| MemoryIndex {
                        path: found.root.join(INDEX),
                        text: index::load(&text, limits(&settings)).text,
                    });
                }
            }
            Err(error) if error.is_off() => {}
            Err(error) => return Err(error),
        }
        if settings.get(keys::INSTRUCTIONS) {
            let loaded = load(
                &self.instruction_places(memory_index)?,
                &file_limits(&settings),
                &Approvals::default(),
                &DiskSource(Arc::clone(&self.system().files)),
            );
            for line in &loaded.report {
                if line.outcome == FileOutcome::Untrusted {
                    let file = line.path.clone();
                    self.remark_once(Remark::InstructionsUntrusted { file });
                }
            }
            texts.instructions = render(&loaded);
            // Without the index of memory: a memory like those that it lists would count as known, and
            // a session that goes on would learn nothing more of their kind.
            let files = loaded.always.iter();
            let files = files.filter(|file| file.scope != Scope::Memory);
            texts.known = files.map(|file| file.text.clone()).collect();
        }
        Ok(texts)
    }

    /// Id of the session that goes on; `None` for a new one.
    ///
    /// # Errors
    /// When no session has the name, or that of another agent cannot be converted.
    pub fn resumed(&self, resume: &Resume) -> Result<Option<SessionId>, HostError> {
        let files = &*self.system().files;
        let places = self.places();
        let root = &places.project.real_root;
        match resume {
            Resume::New => Ok(None),
            Resume::Newest => {
                let Some(folder) = ProjectFolder::find(files, &places.home, root)? else {
                    return Ok(None);
                };
                let found = discover(files, folder.path()).map(|found| found.logs);
                let own = found.unwrap_or_default().into_iter();
                let newest = own
                    .filter(|log| log.agent.is_none())
                    .max_by_key(|log| log.modified);
                Ok(newest.map(|log| log.session))
            }
            Resume::Named(name) => {
                let file = self.choose(Some(Path::new(name)))?.file;
                let folder = ProjectFolder::prepare(files, &places.home, root)?;
                let stem = file.file_stem().unwrap_or_default().to_string_lossy();
                let id = SessionId::new(stem.as_ref());
                let own = folder.log(&id)?;
                // One that was converted before goes on where it stopped here.
                if files.metadata(&own).is_err() {
                    self.convert(&file, Some(&own))?;
                }
                Ok(Some(id))
            }
        }
    }
}
