//! A keeper on a real directory, a session beside it, and models that follow scripts.

use dormouse_context::offload::ToolOutput;
use dormouse_context::policy::Classic;
use dormouse_context::prefix::{Part, RenderedPrefix};
use dormouse_core::block::Block;
use dormouse_core::id::SessionId;
use dormouse_core::models::ModelTable;
use dormouse_core::record::{Body, FragmentKind, LineContext};
use dormouse_core::settings::{Settings, Trust, flags_layer, resolve};
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage::TokenUsage;
use dormouse_engine::{
    Asker, BlockingLog, Companion, NoHooks, Notice, Ports, Purpose, Restorer, Session,
    SessionConfig, SessionPlace, ToolCall, ToolFuture, ToolHost, ToolTraits,
};
use dormouse_guard::paths::SafePath;
use dormouse_keeper::budget::Budget;
use dormouse_keeper::client::ConfiguredModel;
use dormouse_keeper::recaller::Recaller;
use dormouse_keeper::{Keeper, KeeperPlaces, TeamMemory};
use dormouse_memdir::MemoryDir;
use dormouse_model::{Capabilities, Counting, Model, Params, Request, ResponseStream};
use dormouse_store::{FileBlobs, FileLog};
use dormouse_system::{
    Access, Clock as _, Files as _, Ids as _, ManualClock, RealClock, RealFiles, SequentialIds,
    System,
};
use dormouse_testkit_model::{Answer, Script, ScriptedModel};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

pub(crate) const MODEL: &str = "claude-sonnet-4-5";
pub(crate) const SMALL: &str = "claude-haiku-4-5";
/// The sequence of ids that the keeper has.
const DREAMS: u32 = 7;
/// Long enough for a scripted model to answer on the same thread.
const TURNS_OF_THE_LOOP: usize = 500;

/// A model whose script can be changed.
#[derive(Clone, Debug)]
pub(crate) struct Line(Arc<Mutex<ScriptedModel>>);

impl Line {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(ScriptedModel::new(
            Script::no_request(),
        ))))
    }

    pub(crate) fn plays(&self, script: Script) {
        *self.0.lock().unwrap() = ScriptedModel::new(script);
    }

    pub(crate) fn model(&self) -> ScriptedModel {
        self.0.lock().unwrap().clone()
    }

    /// The bodies of the requests, as JSON.
    pub(crate) fn asked(&self) -> Vec<Value> {
        let received = self.model().received();
        let bodies = received.iter();
        bodies
            .map(|request| serde_json::from_slice(&request.body).unwrap())
            .collect()
    }

    #[track_caller]
    pub(crate) fn finish(&self) {
        self.model().finish();
    }
}

impl Model for Line {
    fn capabilities(&self, model: &str) -> Capabilities {
        self.model().capabilities(model)
    }

    fn stream(&self, request: Request) -> ResponseStream {
        self.model().stream(request)
    }

    fn count_tokens(&self, request: Request) -> Counting {
        self.model().count_tokens(request)
    }
}

/// The conversation and its forks are answered apart.
#[derive(Debug)]
struct Exchange {
    talk: Line,
    fork: Line,
}

impl Asker for Exchange {
    fn capabilities(&self, model: &str) -> Capabilities {
        self.talk.capabilities(model)
    }

    fn ask(&self, purpose: Purpose, request: Request) -> ResponseStream {
        match purpose {
            Purpose::Fork => self.fork.stream(request),
            _ => self.talk.stream(request),
        }
    }
}

/// Tools of the conversation: each has one text that it returns, after a while.
#[derive(Debug, Default)]
pub(crate) struct Tools(Mutex<BTreeMap<String, String>>);

impl Tools {
    pub(crate) fn returns(&self, tool: &str, text: &str) {
        let mut outputs = self.0.lock().unwrap();
        outputs.insert(tool.to_owned(), text.to_owned());
    }
}

impl ToolHost for Tools {
    fn traits(&self, tool: &str) -> ToolTraits {
        ToolTraits {
            reads_files: tool == "Read",
            ..ToolTraits::default()
        }
    }

    fn run(&self, call: ToolCall) -> ToolFuture {
        let text = self.0.lock().unwrap().get(&call.tool).cloned();
        Box::pin(async move {
            settle().await;
            ToolOutput::text(call.id, text.unwrap_or_else(|| "ok".to_owned()))
        })
    }
}

/// Lets everything else on this thread go on as far as it can.
pub(crate) async fn settle() {
    for _ in 0..TURNS_OF_THE_LOOP {
        tokio::task::yield_now().await;
    }
}

#[derive(Debug)]
struct NothingToRestore;

impl Restorer for NothingToRestore {
    fn restore(&self, _: &[String]) -> Vec<dormouse_context::compaction::RestoredPart> {
        Vec::new()
    }
}

/// The world of one test.
#[derive(Debug)]
pub(crate) struct Kit {
    root: TempDir,
    pub(crate) clock: ManualClock,
    pub(crate) system: System,
    /// Model that the conversation asks.
    pub(crate) talk: Line,
    /// The same, as its forks ask it.
    pub(crate) fork: Line,
    /// The model of side tasks: the selector and dreams.
    pub(crate) side: Line,
    pub(crate) tools: Arc<Tools>,
    settings: Arc<Mutex<Arc<Settings>>>,
    pub(crate) keeper: Arc<Keeper>,
}

impl Kit {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// Kit whose keeper `change` has altered.
    pub(crate) fn with(change: impl FnOnce(&mut Keeper)) -> Self {
        let root = tempfile::tempdir().unwrap();
        let clock = ManualClock::new(RealClock::new().now());
        let system = System {
            clock: Arc::new(clock.clone()),
            ids: Arc::new(SequentialIds::default()),
            ..System::real()
        };
        let (talk, fork, side) = (Line::new(), Line::new(), Line::new());
        let settings = Arc::new(Mutex::new(settings(&["notes=off"])));
        let places = KeeperPlaces {
            home: root.path().join("home"),
            user_home: None,
            project_root: root.path().join("project"),
            working_dir: root.path().join("project"),
            transcripts: vec![root.path().join("home/projects/p")],
        };
        for place in [&places.project_root, &places.transcripts[0]] {
            RealFiles.create_dir_all(place, Access::Private).unwrap();
        }
        let read = Arc::clone(&settings);
        let mut keeper = Keeper {
            settings: Arc::new(move || Arc::clone(&read.lock().unwrap())),
            models: Arc::new(ModelTable::builtin().clone()),
            memory: open(&system, &root.path().join("memory")),
            team: None,
            model: Some(ConfiguredModel {
                model: Arc::new(side.clone()),
                name: MODEL.to_owned(),
                small_model: Arc::new(side.clone()),
                small: SMALL.to_owned(),
                fallback: None,
            }),
            budget: Budget::new(&system, &places.home),
            places,
            system: System {
                // Apart from the others, so that a test knows what comes next.
                ids: Arc::new(SequentialIds::new(DREAMS)),
                ..system.clone()
            },
        };
        change(&mut keeper);
        Self {
            root,
            clock,
            system,
            talk,
            fork,
            side,
            tools: Arc::default(),
            settings,
            keeper: Arc::new(keeper),
        }
    }

    /// A team's memory beside the user's own.
    pub(crate) fn with_team(trusted: bool) -> Self {
        Self::with(|keeper| {
            let root = keeper.memory.root().with_file_name("team");
            keeper.team = Some(TeamMemory {
                dir: open(&keeper.system, &root),
                trusted,
                author: "ann".to_owned(),
            });
        })
    }

    /// Changes the settings, also of what is open.
    pub(crate) fn set(&self, pairs: &[&str]) {
        let mut all = vec!["notes=off"];
        all.extend(pairs);
        *self.settings.lock().unwrap() = settings(&all);
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Puts a file below the root of the test.
    pub(crate) fn put(&self, name: &str, text: &str) {
        self.put_aged(name, text, Duration::ZERO);
    }

    /// The same, written so long ago.
    pub(crate) fn put_aged(&self, name: &str, text: &str, age: Duration) {
        let path = self.path(name);
        RealFiles
            .create_dir_all(path.parent().unwrap(), Access::Private)
            .unwrap();
        let age = i64::try_from(age.as_millis()).unwrap();
        let at = Millis(self.clock.now().0 - age);
        RealFiles
            .replace_dated(&path, text.as_bytes(), Access::Private, at)
            .unwrap();
    }

    /// A file below the root; empty if there is none.
    pub(crate) fn text(&self, name: &str) -> String {
        let bytes = RealFiles.read(&self.path(name), 1 << 24);
        bytes.map_or_else(
            |_| String::new(),
            |bytes| String::from_utf8(bytes.to_vec()).unwrap(),
        )
    }

    /// Copy that the first dream works on: the first id is that of its task.
    pub(crate) fn staging(&self) -> PathBuf {
        let ids = SequentialIds::new(DREAMS);
        let (_task, staging) = (ids.fresh(), ids.fresh());
        self.path("memory/.journal/staging").join(staging)
    }

    /// Writes a memory file with this text.
    pub(crate) fn remember(&self, file: &str, text: &str) {
        self.put(&format!("memory/{file}"), text);
    }

    /// The memories with their bytes.
    pub(crate) fn memories(&self) -> BTreeMap<String, String> {
        let snapshot = self.keeper.memory.snapshot().unwrap();
        let files = snapshot.files();
        files
            .map(|(path, file)| (path.to_string(), file.text().into_owned()))
            .collect()
    }

    pub(crate) fn recaller(&self) -> Recaller {
        Recaller::new(Arc::clone(&self.keeper))
    }

    /// A session that recalls.
    pub(crate) async fn open(&self) -> Session {
        self.open_with(Arc::new(self.recaller())).await
    }

    /// A session, new or where it stopped.
    pub(crate) async fn open_with(&self, companion: Arc<dyn Companion>) -> Session {
        let (home, system) = (self.path("home"), self.system.clone());
        let (path, folder) = (home.join("projects/p/s.jsonl"), home.join("projects/p/s"));
        let context = LineContext::default();
        let log = FileLog::open(&system, &path, context, SessionId::new("s")).unwrap();
        let settings = Arc::clone(&self.settings);
        let ports = Ports {
            log: Arc::new(BlockingLog::new(log)),
            blobs: Arc::new(FileBlobs::new(Arc::clone(&system.files), &folder)),
            asker: Arc::new(Exchange {
                talk: self.talk.clone(),
                fork: self.fork.clone(),
            }),
            tools: Arc::clone(&self.tools) as _,
            hooks: Arc::new(NoHooks),
            restorer: Arc::new(NothingToRestore),
            companion,
            settings: Arc::new(move || Arc::clone(&settings.lock().unwrap())),
            notices: Arc::new(|_: Notice| {}),
            system,
        };
        let place = SessionPlace {
            session: SessionId::new("s"),
            log: path,
            folder,
            home,
            project: "p".to_owned(),
        };
        let models = Arc::new(ModelTable::builtin().clone());
        let params = Params::new(MODEL, Tokens(8_000)).unwrap();
        let config = SessionConfig {
            policy: Some(Arc::new(Classic)),
            window: Some(Tokens(100_000)),
            most_requests: 20,
            ..SessionConfig::new(MODEL, models, params, Arc::new(prefix()))
        };
        Session::open(ports, place, config).await.unwrap().0
    }

    /// One turn that is answered with a text.
    pub(crate) async fn say(&self, session: &mut Session, prompt: &str, answer: &str) {
        self.talk.plays(Script::new().then(Answer::text(answer)));
        turn(session, prompt).await;
        self.talk.finish();
    }

    /// One turn in which a tool is called.
    pub(crate) async fn work(
        &self,
        session: &mut Session,
        prompt: &str,
        tool: &str,
        input: &Value,
    ) {
        let id = format!("call_{}", session.records().await.unwrap().len());
        self.talk.plays(
            Script::new()
                .then(Answer::call(&id, tool, input))
                .then(Answer::text("Done.")),
        );
        turn(session, prompt).await;
        self.talk.finish();
    }
}

pub(crate) async fn turn(session: &mut Session, prompt: &str) {
    session.turn(vec![Block::text(prompt)]).await.unwrap();
}

pub(crate) fn open(system: &System, root: &Path) -> MemoryDir {
    MemoryDir::open(system, root, Access::Private).unwrap()
}

pub(crate) fn settings(pairs: &[&str]) -> Arc<Settings> {
    let (layer, issues) = flags_layer(pairs.iter().copied());
    assert!(issues.is_empty(), "{issues:?}");
    Arc::new(resolve(&[layer], Trust::Trusted))
}

fn prefix() -> RenderedPrefix {
    let tools: Vec<Part> = dormouse_tools::definitions()
        .iter()
        .map(|tool| Part::tool(tool).unwrap())
        .collect();
    let system = Part::block("system", &Block::text("You help with the work."));
    RenderedPrefix::new(tools, vec![system], Vec::new())
}

pub(crate) fn safe(name: &str) -> SafePath {
    SafePath::parse(name).unwrap()
}

/// A topic file; `more` are lines of its front matter.
pub(crate) fn topic(kind: &str, name: &str, description: &str, more: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\ntype: {kind}\n{more}---\n\n{body}\n")
}

/// The memories in a session's log, as they were sent.
pub(crate) async fn fragments(session: &Session) -> Vec<String> {
    let records = session.records().await.unwrap();
    let fragments = records.iter().filter_map(|record| match &record.body {
        Body::Fragment(fragment) if fragment.kind == FragmentKind::Memory => {
            fragment.block.readable_text()
        }
        _ => None,
    });
    fragments.collect()
}

/// Memories that count as shown, by the names of files.
pub(crate) fn surfaced(session: &Session) -> Vec<String> {
    let surfaced = &session.conversation().state().surfaced;
    let names = surfaced.keys().map(|name| Path::new(name).file_name());
    names
        .map(|name| name.unwrap().to_string_lossy().into_owned())
        .collect()
}

/// An answer that calls several tools at once.
pub(crate) fn calls(all: &[(&str, Value)]) -> Answer {
    let blocks = all.iter().enumerate().map(|(at, (tool, input))| {
        let id = format!("call_{at}_{tool}");
        let call = json!({"type": "tool_use", "id": id, "name": tool, "input": input});
        Block::from_value(&call).unwrap()
    });
    Answer::blocks(blocks.collect())
}

/// A call of Write.
pub(crate) fn write(path: &Path, content: &str) -> (&'static str, Value) {
    ("Write", json!({"file_path": path, "content": content}))
}

pub(crate) fn used(tokens: u64) -> TokenUsage {
    TokenUsage {
        input: Tokens(tokens),
        ..TokenUsage::default()
    }
}
