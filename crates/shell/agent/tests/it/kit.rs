//! A home and a project on a real disk, a scripted model, and a client of the agent.

use dormouse_agent::protocol::{Ask, When, rebuild};
use dormouse_agent::{
    AgentAsk, AgentError, AgentHandle, Command, Event, Resume, Told, TurnEnd, open,
};
use dormouse_core::block::Block;
use dormouse_core::id::{CallId, SessionId};
use dormouse_core::record::Record;
use dormouse_engine::AskModel;
use dormouse_host::{Host, HostError, OpenError};
use dormouse_system::{Access, Files as _, ManualClock, MapEnvironment, RealFiles, System};
use dormouse_testkit_model::{Answer, Script, ScriptedModel};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

/// A model of the built-in table, so that it has a price.
pub(crate) const MODEL: &str = "claude-sonnet-4-5";

pub(crate) struct Kit {
    root: TempDir,
    pub(crate) model: ScriptedModel,
    /// Clock of the machine, where a test moves it.
    pub(crate) clock: Option<ManualClock>,
    /// Settings of the command line.
    pub(crate) flags: Vec<String>,
}

impl Kit {
    pub(crate) fn new(script: Script) -> Self {
        // No memories and notes: the script is the conversation's alone.
        Self::with_settings(script, "simple = true\n")
    }

    /// A kit with these settings of the user's.
    pub(crate) fn with_settings(script: Script, settings: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let kit = Self {
            root,
            model: ScriptedModel::new(script),
            clock: None,
            flags: Vec::new(),
        };
        kit.put("project/.git/HEAD", "");
        kit.settings(settings);
        kit
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let root = RealFiles.real_path(self.root.path()).unwrap();
        root.join(name)
    }

    pub(crate) fn put(&self, name: &str, text: &str) {
        let path = self.path(name);
        RealFiles
            .create_dir_all(path.parent().unwrap(), Access::Private)
            .unwrap();
        RealFiles
            .replace(&path, text.as_bytes(), Access::Private)
            .unwrap();
    }

    /// Replaces the settings of the user.
    pub(crate) fn settings(&self, settings: &str) {
        self.put("home/.dormouse/settings.toml", settings);
    }

    /// Replaces the settings of the user by these and a memory directory of the kit's.
    pub(crate) fn with_memory(&self, more: &str) {
        let memory = self.path("memory");
        self.settings(&format!(
            "memory.directory = '{}'\n{more}",
            memory.display()
        ));
    }

    /// Text of a file; empty if there is none.
    pub(crate) fn text(&self, name: &str) -> String {
        let read = RealFiles.read(&self.path(name), u64::MAX);
        let bytes = read.map(|bytes| bytes.to_vec()).unwrap_or_default();
        String::from_utf8(bytes).unwrap()
    }

    /// The user's settings, with hooks as Claude Code writes them.
    pub(crate) fn hooks(&self, hooks: &Value) {
        let settings = json!({ "hooks": hooks });
        self.put("home/.claude/settings.json", &settings.to_string());
    }

    pub(crate) fn host(&self) -> Host {
        let env = MapEnvironment::default();
        env.set_home(Some(self.path("home")));
        env.set_current_dir(Some(self.path("project")));
        let mut system = System {
            env: Arc::new(env),
            ..System::real()
        };
        if let Some(clock) = &self.clock {
            system.clock = Arc::new(clock.clone());
        }
        Host::open_with(&system, &self.path("managed.toml"), self.flags.clone()).unwrap()
    }

    pub(crate) fn ask(&self) -> AgentAsk {
        let asker = AskModel(Arc::new(self.model.clone()));
        AgentAsk {
            model: Some((MODEL.to_owned(), Arc::new(asker))),
            attended: true,
            ..AgentAsk::default()
        }
    }

    /// Opens a new session.
    pub(crate) async fn open(&self, ask: AgentAsk) -> Client {
        let host = Arc::new(self.host());
        loop {
            match open(Arc::clone(&host), ask.clone()).await {
                Ok(agent) => return Client::new(agent),
                // The threads of a killed agent let go of its log a moment later.
                Err(AgentError::Host(error))
                    if matches!(*error, HostError::Log(OpenError::Busy { .. })) =>
                {
                    tokio::task::yield_now().await;
                }
                Err(error) => panic!("{error:?}"),
            }
        }
    }

    /// Opens the session of the last client again.
    pub(crate) async fn open_again(&self) -> Client {
        let ask = AgentAsk {
            resume: Resume::Newest,
            ..self.ask()
        };
        self.open(ask).await
    }

    /// Records of a session, as another program reads them.
    pub(crate) fn records(&self, session: &SessionId) -> Vec<Record> {
        let host = self.host();
        let log = host.session_log(session).unwrap();
        host.transcripts().read(&log).unwrap().records
    }

    /// Durable events of a session, rebuilt from its log.
    pub(crate) fn rebuilt(&self, session: &SessionId) -> Vec<Told> {
        rebuild(&self.records(session), &self.host().models())
    }
}

pub(crate) struct Client {
    pub(crate) agent: AgentHandle,
    /// Every event so far.
    pub(crate) told: Vec<Told>,
    asked: u64,
}

impl Client {
    pub(crate) fn new(agent: AgentHandle) -> Self {
        Self {
            agent,
            told: Vec::new(),
            asked: 0,
        }
    }

    pub(crate) fn session(&self) -> SessionId {
        self.agent.opened.session.clone()
    }

    pub(crate) async fn send(&self, command: Command) {
        assert!(self.agent.send(command).await);
    }

    pub(crate) async fn say(&self, words: &str) {
        self.say_when(words, When::Queue).await;
    }

    pub(crate) async fn say_when(&self, words: &str, when: When) {
        let content = vec![Block::text(words)];
        let attachments = Vec::new();
        self.send(Command::Prompt {
            content,
            attachments,
            when,
        })
        .await;
    }

    /// The next event; `None` after the last.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        let told = self.agent.next().await?;
        self.told.push(told.clone());
        Some(told.event)
    }

    /// Reads on until an event fits.
    pub(crate) async fn until<T>(&mut self, fits: impl Fn(&Event) -> Option<T>) -> T {
        loop {
            let event = self.next().await;
            let event = event.unwrap_or_else(|| panic!("no such event in {:#?}", self.told));
            if let Some(found) = fits(&event) {
                return found;
            }
        }
    }

    pub(crate) async fn turn_end(&mut self) -> TurnEnd {
        self.until(|event| match event {
            Event::TurnEnded(end) => Some((**end).clone()),
            _ => None,
        })
        .await
    }

    /// A turn from its words to its end.
    pub(crate) async fn turn(&mut self, words: &str) -> TurnEnd {
        self.say(words).await;
        self.turn_end().await
    }

    /// The call that waits for permission next.
    pub(crate) async fn wanted(&mut self) -> CallId {
        self.until(|event| match event {
            Event::PermissionWanted(wanted) => Some(wanted.call.clone()),
            _ => None,
        })
        .await
    }

    pub(crate) async fn permit(&self, call: &CallId, allow: bool) {
        self.send(Command::Permit {
            call: call.clone(),
            allow,
            words: None,
            input: None,
            remember: None,
        })
        .await;
    }

    /// Sends a command and waits for its end.
    pub(crate) async fn done(&mut self, command: Command) -> Option<String> {
        self.asked += 1;
        let id = self.asked;
        self.agent.commands().send(Ask { id, command }).await;
        self.until(|event| match event {
            Event::Done { ask, failed } if *ask == id => Some(failed.clone()),
            _ => None,
        })
        .await
    }

    /// Ends the agent at once, and returns all events.
    pub(crate) async fn quit(self) -> Vec<Told> {
        self.leave(true).await
    }

    /// Ends the agent, and returns all events. Background work gets time unless it is `now`.
    pub(crate) async fn leave(mut self, now: bool) -> Vec<Told> {
        self.send(Command::Quit { now }).await;
        while self.next().await.is_some() {}
        self.agent.ended().await.unwrap();
        self.told
    }

    /// Events that follow from the log.
    pub(crate) fn durable(told: &[Told]) -> Vec<Told> {
        let durable = told.iter().filter(|told| told.seq.is_some());
        durable.cloned().collect()
    }

    /// Text of a call's result.
    pub(crate) fn result(told: &[Told], call: &str) -> String {
        let results = told.iter().filter_map(|told| match &told.event {
            Event::ToolDone {
                call: id, content, ..
            } if id.as_str() == call => content.readable_text(),
            _ => None,
        });
        results.collect()
    }
}

/// A call of Bash.
pub(crate) fn bash(id: &str, command: &str) -> Answer {
    Answer::call(id, "Bash", &json!({ "command": command }))
}

/// Several calls of Bash in one response.
pub(crate) fn bashes(calls: &[(&str, &str)]) -> Answer {
    let blocks = calls.iter().map(|(id, command)| {
        let input = json!({ "command": command });
        let call = json!({ "type": "tool_use", "id": id, "name": "Bash", "input": input });
        Block::from_value(&call).unwrap()
    });
    Answer::blocks(blocks.collect())
}

/// A summary that is accepted.
pub(crate) fn summary() -> Answer {
    let titles = dormouse_context::compaction::REQUIRED_SECTIONS.iter();
    let sections = titles.enumerate().fold(String::new(), |text, (at, title)| {
        text + &format!("{}. {title}:\nwater\n", at + 1)
    });
    Answer::text(&format!("<summary>{sections}</summary>"))
}
