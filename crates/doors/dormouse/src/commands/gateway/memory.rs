//! Memory of the projects that a gateway was opened for.
//!
//! # Model
//! A conversation through the gateway is a guest of its project, as a session with hooks is: the same
//! answers, the same spool, the same detached process. It names its project in a header; where the gateway
//! was given one project alone, conversations without that header belong to it.
//!
//! # Not here
//! The answers: `dormouse-host`. Their place in the prompt: `dormouse-rewrite`.

use dormouse_host::{GuestEvent, GuestMoment, Host};
use dormouse_relay::{ProjectMemory, Words};
use dormouse_system::System;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One project with its memory.
#[derive(Debug)]
pub(super) struct Project {
    /// Folder of the project.
    pub(super) folder: PathBuf,
    /// Services in that folder.
    pub(super) host: Arc<Host>,
}

/// Memory of some projects. See the module documentation.
#[derive(Debug)]
pub(super) struct Projects {
    /// The projects, at least one.
    pub(super) all: Vec<Project>,
    /// The machine, for the detached process.
    pub(super) system: System,
    /// Settings of the command line, which that process gets, too.
    pub(super) settings: Vec<String>,
}

impl Projects {
    /// The project that a conversation belongs to; `None` for a name that the gateway was not given.
    fn of(&self, named: Option<&str>) -> Option<&Project> {
        match (named, self.all.as_slice()) {
            (Some(named), all) => all.iter().find(|one| one.folder == Path::new(named)),
            (None, [only]) => Some(only),
            (None, _) => None,
        }
    }

    /// Text for a moment of a conversation. A fault is no answer: the client is not to notice it.
    fn attend(&self, project: &Project, event: &GuestEvent) -> Option<String> {
        let answer = project.host.attend(event).ok()?;
        if answer.work {
            let mut arguments = vec!["hook".to_owned(), "work".to_owned()];
            for setting in &self.settings {
                arguments.extend(["--set".to_owned(), setting.clone()]);
            }
            // Not started means that the work waits for the next moment.
            let _started = self.system.commands.detach(&arguments, &project.folder);
        }
        answer.context
    }
}

fn event(moment: GuestMoment, session: &str) -> GuestEvent {
    GuestEvent {
        moment,
        session_id: session.to_owned(),
        ..GuestEvent::default()
    }
}

impl ProjectMemory for Projects {
    fn has(&self, project: Option<&str>) -> bool {
        self.of(project).is_some()
    }

    fn recall(&self, project: Option<&str>, words: &Words<'_>) -> Option<String> {
        let project = self.of(project)?;
        let start = words.is_first.then(|| GuestEvent {
            source: "startup".to_owned(),
            ..event(GuestMoment::SessionStart, words.session)
        });
        let start = start.and_then(|event| self.attend(project, &event));
        let asked = GuestEvent {
            prompt: words.text.to_owned(),
            ..event(GuestMoment::UserPromptSubmit, words.session)
        };
        let found = self.attend(project, &asked);
        let parts: Vec<String> = start.into_iter().chain(found).collect();
        Some(parts.join("\n\n")).filter(|text| !text.is_empty())
    }

    fn learn(&self, project: Option<&str>, session: &str, transcript: &Path) {
        let Some(project) = self.of(project) else {
            return;
        };
        // Each time as if it were the last: a gateway never hears that a session is over.
        let ended = GuestEvent {
            transcript_path: Some(transcript.to_owned()),
            ..event(GuestMoment::SessionEnd, session)
        };
        let _nothing = self.attend(project, &ended);
    }
}
