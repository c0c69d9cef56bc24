//! A session with everything around it in memory.

use crate::doubles::{Runs, WatchedLog};
use crate::provider::{Answer, Provider};
use bytes::Bytes;
use dormouse_ask::retry::RetryPolicy;
use dormouse_context::compaction::RestoredPart;
use dormouse_context::offload::ToolOutput;
use dormouse_context::policy::Classic;
use dormouse_context::prefix::{Part, RenderedPrefix};
use dormouse_context::validate;
use dormouse_core::block::Block;
use dormouse_core::id::SessionId;
use dormouse_core::models::ModelTable;
use dormouse_core::record::{Body, BoundaryKind, LineContext, Record, Role, Trigger};
use dormouse_core::settings::{Settings, Trust, flags_layer, resolve};
use dormouse_core::units::Tokens;
use dormouse_engine::{
    BlockingLog, Companion, DiskRestorer, HookAnswer, HookFuture, LogStore, NoCompanion, Notice,
    Ports, Purpose, Session, SessionConfig, SessionPlace, ToolCall, ToolFuture, ToolHost,
    ToolTraits,
};
use dormouse_model::Params;
use dormouse_sim::{SimConfig, Switches};
use dormouse_store::{FileBlobs, FileLog};
use dormouse_system::{Access, Files as _, MemorySystem, Survives, System};
use serde_json::json;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) const LOG: &str = "/home/dormouse/projects/p/s.jsonl";
pub(crate) const RESULTS: &str = "/home/dormouse/projects/p/s/tool-results";
pub(crate) const NOTES: &str = "/home/dormouse/projects/p/s/session-memory/summary.md";

/// A model that binds no thinking.
pub(crate) const PLAIN: &str = "claude-sonnet-4-5";
/// One that binds it to everything before it.
pub(crate) const BOUND: &str = "claude-opus-5-5";

/// The tools: each has one text that it always returns.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    outputs: Mutex<HashMap<String, ToolOutput>>,
    pub(crate) runs: Runs,
}

impl Tools {
    pub(crate) fn returns(&self, tool: &str, text: impl Into<String>) {
        self.returns_output(tool, ToolOutput::text("unset".into(), text));
    }

    pub(crate) fn returns_output(&self, tool: &str, output: ToolOutput) {
        self.outputs.lock().unwrap().insert(tool.to_owned(), output);
    }
}

impl ToolHost for Tools {
    fn traits(&self, tool: &str) -> ToolTraits {
        ToolTraits {
            declared_limit: (tool == "Shy").then_some(1_000),
            reads_files: tool == "Read",
            only_reads: tool == "Read" || tool == "Grep",
        }
    }

    fn run(&self, call: ToolCall) -> ToolFuture {
        if let Some(hanging) = self.runs.start(&call) {
            return hanging;
        }
        let output = self.outputs.lock().unwrap().get(&call.tool).cloned();
        let output = output.unwrap_or_else(|| ToolOutput::text(call.id.clone(), "ok"));
        Box::pin(std::future::ready(ToolOutput {
            call: call.id,
            ..output
        }))
    }
}

/// Hooks that a test writes.
#[derive(Debug, Default)]
pub(crate) struct Hooks {
    pub(crate) answer: Mutex<HookAnswer>,
    pub(crate) after: Mutex<Vec<RestoredPart>>,
    /// Questions they were asked, in order.
    pub(crate) asked: Mutex<Vec<String>>,
}

impl dormouse_engine::Hooks for Hooks {
    fn before(&self, trigger: Trigger, instructions: &[String]) -> HookFuture<HookAnswer> {
        let asked = format!("before {trigger:?} {instructions:?}");
        self.asked.lock().unwrap().push(asked);
        Box::pin(std::future::ready(self.answer.lock().unwrap().clone()))
    }

    fn after(&self, trigger: Trigger, _: &str) -> HookFuture<Vec<RestoredPart>> {
        self.asked
            .lock()
            .unwrap()
            .push(format!("after {trigger:?}"));
        Box::pin(std::future::ready(self.after.lock().unwrap().clone()))
    }
}

/// The world of one test.
#[derive(Debug)]
pub(crate) struct Kit {
    pub(crate) machine: MemorySystem,
    pub(crate) provider: Arc<Provider>,
    pub(crate) tools: Arc<Tools>,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) config: SessionConfig,
    pub(crate) companion: Arc<dyn Companion>,
    /// The log, where it is not the file of the session.
    pub(crate) log: Option<Arc<dyn LogStore>>,
    settings: Arc<Mutex<Arc<Settings>>>,
    notices: Arc<Mutex<Vec<Notice>>>,
}

impl Kit {
    /// The fixed thresholds, a window of 40,000 tokens (compaction at 26,800), notes off: tests of
    /// notes switch them on.
    pub(crate) fn new() -> Self {
        Self::with(PLAIN, SimConfig::default())
    }

    /// The same with another model and simulator.
    pub(crate) fn with(model: &str, simulator: SimConfig) -> Self {
        let machine = MemorySystem::new();
        let simulator = SimConfig {
            window: Some(10_000_000),
            switches: Switches {
                thinking_binding: dormouse_sim::BindingMode::Enforce,
                ..simulator.switches
            },
            ..simulator
        };
        let clock = machine.clock.clone();
        Self {
            provider: Arc::new(Provider::new(simulator, clock)),
            machine,
            tools: Arc::default(),
            hooks: Arc::default(),
            config: SessionConfig {
                policy: Some(Arc::new(Classic)),
                window: Some(Tokens(40_000)),
                most_requests: 40,
                // A failure of the script is the last word; retries have tests of their own.
                retry: RetryPolicy::NEVER,
                ..SessionConfig::new(
                    model,
                    Arc::new(ModelTable::builtin().clone()),
                    Params::new(model, Tokens(8_000)).unwrap(),
                    Arc::new(prefix("You help with the work.")),
                )
            },
            companion: Arc::new(NoCompanion),
            log: None,
            settings: Arc::new(Mutex::new(settings(&["notes=off"]))),
            notices: Arc::default(),
        }
    }

    /// Changes the settings, also of sessions that are open.
    pub(crate) fn set(&self, pairs: &[&str]) {
        *self.settings.lock().unwrap() = settings(pairs);
    }

    /// Opens the session: a new one, or where it stopped.
    pub(crate) async fn open(&self) -> Session {
        self.open_on(self.machine.system(), "/home/dormouse".as_ref())
            .await
    }

    /// The same on any machine.
    pub(crate) async fn open_on(&self, system: System, home: &Path) -> Session {
        self.open_as(system, home, "s").await
    }

    /// The same for a session of another name.
    pub(crate) async fn open_as(&self, system: System, home: &Path, name: &str) -> Session {
        let project = home.join("projects/p");
        let (path, folder) = (project.join(format!("{name}.jsonl")), project.join(name));
        let log = match &self.log {
            Some(log) => Arc::clone(log),
            None => file_log(&system, &path, name),
        };
        let (settings, notices) = (Arc::clone(&self.settings), Arc::clone(&self.notices));
        let hidden = vec![folder.clone()];
        let ports = Ports {
            log,
            blobs: Arc::new(FileBlobs::new(Arc::clone(&system.files), &folder)),
            asker: Arc::clone(&self.provider) as _,
            tools: Arc::clone(&self.tools) as _,
            hooks: Arc::clone(&self.hooks) as _,
            restorer: Arc::new(DiskRestorer::new(Arc::clone(&system.files), hidden)),
            companion: Arc::clone(&self.companion),
            settings: Arc::new(move || Arc::clone(&settings.lock().unwrap())),
            notices: Arc::new(move |notice| notices.lock().unwrap().push(notice)),
            system,
        };
        let place = SessionPlace {
            session: SessionId::new(name),
            log: path,
            folder,
            home: home.to_owned(),
            project: "/project".to_owned(),
        };
        Session::open(ports, place, self.config.clone())
            .await
            .unwrap()
            .0
    }

    /// Puts something that can be held up in front of the session's file.
    pub(crate) fn watch_log(&mut self) -> Arc<WatchedLog> {
        let log = WatchedLog::new(file_log(&self.machine.system(), LOG.as_ref(), "s"));
        self.log = Some(Arc::clone(&log) as _);
        log
    }

    /// Notices so far, pieces of answers left out.
    pub(crate) fn notices(&self) -> Vec<Notice> {
        let notices = self.notices.lock().unwrap();
        let told = notices.iter().filter(|n| !matches!(n, Notice::Answer(_)));
        told.cloned().collect()
    }

    /// Number of notices of a kind.
    pub(crate) fn told(&self, is: impl Fn(&Notice) -> bool) -> usize {
        self.notices().iter().filter(|notice| is(notice)).count()
    }

    pub(crate) fn wait(&self, time: Duration) {
        self.machine.clock.advance(time);
    }

    /// Makes all of the log safe from a power cut, so that only what follows is at stake.
    pub(crate) fn sync_log(&self) {
        let mut log = self
            .machine
            .files
            .append(LOG.as_ref(), Access::Private)
            .unwrap();
        log.sync_data().unwrap();
    }

    /// The process is killed and the session opened again: what the disk has of it.
    pub(crate) async fn killed(&self) -> (Session, Vec<(Role, Bytes)>) {
        self.crash(Survives::Written).await
    }

    /// The power goes: only what was synced is there, which may lack the last answer.
    pub(crate) async fn power_cut(&self) -> (Session, Vec<(Role, Bytes)>) {
        self.crash(Survives::Synced).await
    }

    async fn crash(&self, survives: Survives) -> (Session, Vec<(Role, Bytes)>) {
        self.machine.files.crash_with(survives);
        let session = self.open().await;
        check(&session);
        let prompt = prompt(&session);
        (session, prompt)
    }

    /// Long answers and questions until the window is about so full.
    pub(crate) async fn talk_until(&self, session: &mut Session, tokens: u64) {
        let mut round = 0;
        while session.used() < Tokens(tokens) {
            round += 1;
            assert!(round < 200, "the conversation does not grow");
            let answer = format!("Answer {round}. {}", prose(round, 2_400));
            self.provider.next(Purpose::Turn, Answer::text(&answer));
            turn(session, &question(round)).await;
        }
    }

    /// Talks until the conversation has compacted itself once more, and tells how.
    pub(crate) async fn talk_until_compacted(&self, session: &mut Session) -> BoundaryKind {
        let before = boundaries(session).await.len();
        self.talk_until(session, 24_000).await;
        while boundaries(session).await.len() == before {
            assert!(session.used() < Tokens(35_000), "{:?}", self.notices());
            self.provider
                .next(Purpose::Turn, Answer::text(&prose(3, 6_000)));
            turn(session, "Go on.").await;
        }
        match &boundaries(session).await[before].body {
            Body::Boundary(boundary) => boundary.kind,
            _ => unreachable!("only boundaries were asked for"),
        }
    }

    /// One turn in which the model calls these tools, one after the other.
    pub(crate) async fn work(&self, session: &mut Session, tools: &[&str]) {
        for (at, tool) in tools.iter().enumerate() {
            let id = format!("call_{}_{at}", self.provider.sent().len());
            self.provider
                .next(Purpose::Turn, Answer::call(&id, tool, &json!({"x": id})));
        }
        self.provider
            .next(Purpose::Turn, Answer::text("The work is done."));
        turn(session, "Do the work.").await;
    }
}

/// The log in a file.
pub(crate) fn file_log(system: &System, path: &Path, name: &str) -> Arc<dyn LogStore> {
    let context = LineContext::default();
    let log = FileLog::open(system, path, context, SessionId::new(name)).unwrap();
    Arc::new(BlockingLog::new(log))
}

impl Drop for Kit {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.provider.refused(), Vec::<String>::new());
        }
    }
}

/// A user's question, with something in it that can be looked for.
pub(crate) fn question(round: usize) -> String {
    format!(
        "Question {round}: what about item QX-{round}? {}",
        prose(round + 50, 300)
    )
}

pub(crate) fn settings(pairs: &[&str]) -> Arc<Settings> {
    let (layer, issues) = flags_layer(pairs.iter().copied());
    assert!(issues.is_empty(), "{issues:?}");
    Arc::new(resolve(&[layer], Trust::Trusted))
}

pub(crate) fn prefix(system: &str) -> RenderedPrefix {
    let tool = |name: &str| {
        let schema = json!({"type": "object", "properties": {"x": {"type": "string"}}});
        let tool = json!({"name": name, "description": "A tool.", "input_schema": schema});
        Part::tool(&tool).unwrap()
    };
    let tools = [
        "Bash",
        "Read",
        "Grep",
        "Edit",
        "Write",
        "Shy",
        "mcp__db__query",
    ];
    RenderedPrefix::new(
        tools.map(tool).to_vec(),
        vec![Part::block("system", &Block::text(system))],
        Vec::new(),
    )
}

/// Sentences, no two alike.
pub(crate) fn prose(seed: usize, chars: usize) -> String {
    dormouse_testkit::conversation::prose(seed, chars)
}

/// One turn that goes well.
pub(crate) async fn turn(session: &mut Session, text: &str) {
    session.turn(vec![Block::text(text)]).await.unwrap();
    check(session);
}

/// The prompt as the model would see it now, block by block.
pub(crate) fn prompt(session: &Session) -> Vec<(Role, Bytes)> {
    let segments = session.conversation().view().segments();
    let blocks = segments.iter().map(|s| (s.role, s.block.bytes().clone()));
    blocks.collect()
}

/// The prompt as text, to look for words in it.
pub(crate) fn prompt_text(session: &Session) -> String {
    let segments = session.conversation().view().segments();
    let texts = segments
        .iter()
        .map(|s| String::from_utf8_lossy(s.block.bytes()).into_owned());
    texts.collect::<Vec<_>>().join("\n")
}

/// The view is one that the API takes, and nothing in the log contradicts it.
pub(crate) fn check(session: &Session) {
    let view = session.conversation().view();
    validate::consistent(view.segments().iter()).unwrap();
    assert_eq!(view.issues(), []);
}

/// The compactions in the log.
pub(crate) async fn boundaries(session: &Session) -> Vec<Record> {
    let records = session.records().await.unwrap().into_iter();
    records
        .filter(|record| matches!(record.body, Body::Boundary(_)))
        .collect()
}

/// Every word of the user is in the prompt, or the prompt says where it is.
pub(crate) fn all_questions_accounted_for(session: &Session, rounds: usize) {
    let text = prompt_text(session);
    for round in 1..=rounds {
        assert!(
            text.contains(&format!("QX-{round}?")),
            "question {round} is lost"
        );
    }
}
