//! One conversation of an agent, from opening to closing.

use crate::checkpoints::{Checkpoints, blobs, files_read};
use crate::event::{Denied, Event, Listener};
use crate::judge::Unattended;
use crate::{prefix, services, surroundings};
use dormouse_context::offload::ToolOutput;
use dormouse_core::block::Block;
use dormouse_core::id::SessionId;
use dormouse_core::usage::{TokenUsage, Usd};
use dormouse_core::usage_book::UsageSum;
use dormouse_drive::{Notice, Opened, ToolCall, ToolFuture, ToolHost, ToolTraits};
use dormouse_engine::{EngineError, Session, Told};
use dormouse_host::{Host, HostError, SessionAsk};
use dormouse_keeper::extraction::{Extracted, Extractor, RunKind};
use dormouse_model::{Delta, Event as Piece};
use dormouse_permit::Mode;
use dormouse_tools::{AgentPlaces, AgentTools, Toolset};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;

pub use dormouse_host::Resume;

/// Reason why an agent cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The session cannot be opened.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The turn failed; everything that arrived before is kept.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A tool's definition cannot be written as JSON.
    #[error("the tools cannot be described")]
    Tools(#[from] serde_json::Error),
}

/// Wishes for an agent that is opened.
#[derive(Clone, Debug)]
pub struct AgentAsk {
    /// Session to go on with.
    pub resume: Resume,
    /// Answer to calls that no rule decides.
    pub mode: Mode,
    /// Most requests of one turn of the user; `None` for no limit.
    pub most_requests: Option<usize>,
    /// True if the run ends with its first answer: whether such runs teach is a setting.
    pub one_shot: bool,
}

/// End of a turn.
#[derive(Clone, Debug)]
pub struct Turn {
    /// Text of the last answer.
    pub text: String,
    /// Reason why the model stopped.
    pub stop_reason: String,
    /// Number of requests.
    pub requests: usize,
    /// True if the limit of requests ended the turn.
    pub cut: bool,
}

/// An agent with an open session.
#[derive(Debug)]
pub struct Agent {
    host: Arc<Host>,
    session: Session,
    id: SessionId,
    tools: AgentTools,
    toolset: Toolset,
    judge: Arc<Unattended>,
    extractor: Option<Extractor>,
    results: mpsc::UnboundedReceiver<ToolOutput>,
}

impl Agent {
    /// Opens a session with tools, permissions and memory. Needs a tokio runtime.
    ///
    /// # Errors
    /// When no model is set, no session has the name, or the log cannot be written.
    pub async fn open(host: Arc<Host>, ask: AgentAsk) -> Result<Self, AgentError> {
        let system = host.system().clone();
        let folder = host.places().current_dir.clone();
        let texts = host.session_texts()?;
        let permissions = host.permissions();
        let toolset = services::toolset(&host, texts.memory.is_some());
        let prefix = prefix::render(&texts, &toolset, &permissions.rules)?;
        let resumed = host.resumed(&ask.resume)?;
        let id = resumed.unwrap_or_else(|| SessionId::new(system.ids.fresh()));
        let place = host.session_folder(&id)?;
        let source = Arc::clone(&host);
        let judge = Arc::new(Unattended {
            permissions: Arc::new(move || source.permissions()),
            mode: ask.mode,
            writable: vec![folder.clone(), std::env::temp_dir()],
            denied: Mutex::default(),
        });
        let places = AgentPlaces {
            folder: folder.clone(),
            results: place.join("tool-results"),
            mark: id.as_str().to_owned(),
        };
        let checkpoints = Arc::new(Checkpoints::new(blobs(&host, &place)));
        let tools = AgentTools::with_services(
            &system,
            places,
            Arc::clone(&checkpoints) as _,
            Arc::clone(&judge) as _,
            services::services(&host, texts.memory.is_some()),
        );
        let (sender, results) = mpsc::unbounded_channel();
        let most_requests = ask.most_requests.unwrap_or(usize::MAX);
        let opened = host
            .open_session(SessionAsk {
                session: Some(id),
                prefix,
                tools: Arc::new(Announced {
                    tools: tools.clone(),
                    results: sender,
                }),
                model: None,
                judge: Arc::clone(&judge) as _,
                most_requests,
                notices: Arc::new(|_| {}),
            })
            .await?;
        let kind = RunKind {
            sub_agent: false,
            one_shot: ask.one_shot,
        };
        let mut session = opened.session;
        checkpoints.attach(session.recorder());
        tools.restore_read(files_read(session.conversation().state()));
        if opened.opened == Opened::New {
            let begin = surroundings::fragment(&system, &folder, &texts.today);
            session.inject(vec![begin]).await?;
        }
        Ok(Self {
            extractor: opened
                .memory
                .map(|(keeper, _)| Extractor::new(keeper, kind, texts.known)),
            host,
            session,
            id: opened.id,
            tools,
            toolset,
            judge,
            results,
        })
    }

    /// Id by which the session can be opened again.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Model it talks to.
    pub fn model(&self) -> &str {
        self.session.model()
    }

    /// Names of the tools it has.
    pub fn tool_names(&self) -> Vec<&'static str> {
        let rules = self.host.permissions().rules;
        let names = self.toolset.names().into_iter();
        names.filter(|name| !rules.hides(name)).collect()
    }

    /// Tokens and dollars of the whole session so far; no dollars where a price is unknown.
    pub fn spent(&self) -> (TokenUsage, Option<Usd>) {
        let totals = &self.session.conversation().state().totals;
        let sums = totals.sums(&self.host.models());
        let mut all = UsageSum::default();
        for sum in sums.values() {
            all.add(sum);
        }
        let cost = (all.unpriced == 0).then_some(all.cost);
        (all.usage, cost)
    }

    /// Calls that did not run for lack of permission.
    pub fn denied(&self) -> Vec<Denied> {
        self.judge.denied()
    }

    /// One turn: the user says something, the agent works until it is done. Dropping the future
    /// stops the turn; everything that arrived before is kept.
    ///
    /// # Errors
    /// When the model does not answer, the window is full, or the log cannot be written.
    pub async fn prompt(
        &mut self,
        words: &str,
        listener: Listener<'_>,
    ) -> Result<Turn, AgentError> {
        let mut told = self.session.subscribe();
        let mut response = Answering::default();
        let ended = {
            let turn = self.session.turn(vec![Block::text(words)]);
            tokio::pin!(turn);
            loop {
                tokio::select! {
                    biased;
                    // Events first: a turn that has ended must not hide its last words.
                    told = told.next() => response.tell(told, listener),
                    Some(output) = self.results.recv() => listener(result(&output)),
                    ended = &mut turn => break ended,
                }
            }
        };
        while let Some(told) = told.try_next() {
            response.tell(told, listener);
        }
        while let Ok(output) = self.results.try_recv() {
            listener(result(&output));
        }
        self.learn(ended.is_ok(), listener).await?;
        let ended = match ended {
            Err(EngineError::TooManyRequests(requests)) => {
                return Ok(Turn {
                    text: String::new(),
                    stop_reason: "tool_use".to_owned(),
                    requests,
                    cut: true,
                });
            }
            ended => ended?,
        };
        let texts = ended
            .response
            .blocks
            .iter()
            .filter_map(Block::readable_text);
        Ok(Turn {
            text: texts.collect::<Vec<_>>().join("\n"),
            stop_reason: ended.response.stop_reason.as_str().to_owned(),
            requests: ended.requests,
            cut: false,
        })
    }

    /// Draws memories from the turn, beside the conversation.
    async fn learn(&mut self, finished: bool, listener: Listener<'_>) -> Result<(), AgentError> {
        if let Some(extractor) = &mut self.extractor {
            if let Some(extracted) = extractor.collect(&mut self.session).await? {
                saved(&extracted, listener);
            }
            extractor.after_turn(&mut self.session, finished).await?;
        }
        Ok(())
    }

    /// Ends the session: waits for what is being learnt, ends every process of the tools, and writes
    /// the state down.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn close(mut self, listener: Listener<'_>) -> Result<(), AgentError> {
        // Also where the rest fails: no process outlives its session.
        self.tools.close();
        if let Some(extractor) = &mut self.extractor {
            for extracted in extractor.finish(&mut self.session).await? {
                saved(&extracted, listener);
            }
        }
        self.session.close().await?;
        Ok(())
    }
}

fn saved(extracted: &Extracted, listener: Listener<'_>) {
    if let Some(notice) = extracted.notice() {
        listener(Event::Saved(notice));
    }
}

fn result(output: &ToolOutput) -> Event {
    Event::Results {
        content: vec![output.whole()],
    }
}

/// The response that is being streamed.
#[derive(Debug, Default)]
struct Answering {
    id: Option<String>,
    model: Option<Arc<str>>,
    usage: Option<TokenUsage>,
}

impl Answering {
    fn tell(&mut self, told: Told, listener: Listener<'_>) {
        match told {
            Told::Answer(piece) => self.piece(piece, listener),
            // Pieces are told by themselves, considerations are for explanations, and nobody is asked
            // here: the judge has refused such calls.
            Told::Notice(Notice::Answer(_) | Notice::Considered { .. }) | Told::Question(..) => {}
            Told::Notice(notice) => listener(Event::Notice(notice.to_string())),
            Told::Lagged(_) => listener(Event::Notice(
                "some of the output was too fast to be shown; the session has all of it".to_owned(),
            )),
        }
    }

    fn piece(&mut self, piece: Piece, listener: Listener<'_>) {
        match piece {
            Piece::MessageStart { id, model, usage } => {
                self.id = Some(id.to_string());
                self.model = Some(model);
                self.usage = Some(usage);
            }
            Piece::Delta {
                delta: Delta::Text(text),
                ..
            } => listener(Event::Text(text)),
            Piece::BlockStop {
                block: Some(block), ..
            } => listener(Event::Assistant {
                id: self.id.clone(),
                model: self.model.clone(),
                content: vec![block],
                usage: self.usage,
                stop_reason: None,
            }),
            Piece::Usage(usage) => self.usage = Some(usage),
            _ => {}
        }
    }
}

/// Tools whose results are told.
#[derive(Debug)]
struct Announced {
    tools: AgentTools,
    results: mpsc::UnboundedSender<ToolOutput>,
}

impl ToolHost for Announced {
    fn traits(&self, tool: &str) -> ToolTraits {
        self.tools.traits(tool)
    }

    fn run(&self, call: ToolCall) -> ToolFuture {
        let run = self.tools.run(call);
        let results = self.results.clone();
        Box::pin(async move {
            let output = run.await;
            // Without a listener the log has it all the same.
            let _unheard = results.send(output.clone());
            output
        })
    }
}
