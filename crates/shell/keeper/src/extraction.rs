//! Layer 5, carried out: memories from a conversation after each answer.
//!
//! # Model
//! After a finished turn an [`Extractor`] is offered the session. The gate decides; if it says so, a
//! fork of the conversation runs beside it with the guarded tools, and its writes are judged one by
//! one. Without a model, with its budget spent, or when it fails, rules without a model do the same. One extraction runs at a time; of those that wait only the newest is kept.
//!
//! The cursor moves when an extraction has ended well, or when the agent wrote to memory itself. What
//! was cut off by leaving is done from the cursor at the next start.
//!
//! # Not here
//! Whether to extract, what is a memory, what it is worth: `dormouse_memory::extract`.

use crate::keeper::Keeper;
use crate::side::{NoAnswer, SideFault, SideTask};
use crate::writes::{Evidence, JudgedWrites, Written};
use dormouse_core::id::Seq;
use dormouse_core::record::{Record, StateChange};
use dormouse_core::settings::{Consent, Settings, keys};
use dormouse_core::usage::TokenUsage;
use dormouse_engine::{EngineError, ForkLimits, ForkRun, Session};
use dormouse_guard::paths::SafePath;
use dormouse_memdir::MemdirError;
use dormouse_memory::extract::gate::{Circumstances, Decision, Skip, decide};
use dormouse_memory::extract::judge::Proposed;
use dormouse_memory::extract::queue::Queue;
use dormouse_memory::extract::{Span, SpanKind, directive, offline, spans, wrote_memory};
use dormouse_memory::manifest::{self, Line};
use dormouse_memory::surface::neutral::neutralise;
use dormouse_memory::topic::Topic;
use dormouse_tools::{ForkTools, Roots, definitions};
use serde::Serialize;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use tokio::task::{JoinError, JoinHandle};

const SYSTEM_PROMPT: &str = include_str!("extraction_system.md");
/// Bytes of a recorded session that a model reads.
const MOST_TRANSCRIPT: usize = 400_000;

/// The name of the cursor in a session's state.
pub const CURSOR: &str = "extract";

/// What sort of run the session belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunKind {
    /// A conversation of a sub-agent.
    pub sub_agent: bool,
    /// A run that ends with its first answer.
    pub one_shot: bool,
}

/// Who wrote the memories.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// A fork of the conversation.
    Model,
    /// Rules without a model, and why not one.
    Rules(String),
}

/// What came of an extraction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Extracted {
    /// Who wrote.
    pub by: By,
    /// What was written.
    pub written: Written,
    /// What was not allowed to the fork, for the log.
    pub denied: Vec<String>,
    /// What the model used.
    #[serde(skip)]
    pub usage: TokenUsage,
    /// The last record it dealt with; `None` if a model failed and is to try again.
    #[serde(skip)]
    pub until: Option<Seq>,
}

impl Extracted {
    /// The line for the user, if anything was saved.
    pub fn notice(&self) -> Option<String> {
        let names: Vec<&str> = self.written.saved.iter().map(SafePath::as_str).collect();
        let saved = (!names.is_empty()).then(|| format!("Memory saved: {}", names.join(", ")));
        let waiting = match self.written.waiting.len() {
            0 => None,
            1 => Some("1 memory waits for approval (`dormouse memory inbox`)".to_owned()),
            many => Some(format!(
                "{many} memories wait for approval (`dormouse memory inbox`)"
            )),
        };
        match (saved, waiting) {
            (Some(saved), Some(waiting)) => Some(format!("{saved}; {waiting}")),
            (saved, waiting) => saved.or(waiting),
        }
    }
}

/// One extraction that is to be made.
struct Job {
    fork: ForkRun,
    evidence: Evidence,
    directive_until: Seq,
    model: String,
}

/// Extracts from one session.
#[derive(Debug)]
pub struct Extractor {
    keeper: Arc<Keeper>,
    kind: RunKind,
    /// What instruction files say: never saved again.
    known: Vec<String>,
    queue: Queue<Job>,
    running: Option<JoinHandle<Result<Extracted, MemdirError>>>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job")
            .field("until", &self.directive_until)
            .finish_non_exhaustive()
    }
}

impl Extractor {
    /// For a session of this kind. `known` are the texts of instruction files.
    pub fn new(keeper: Arc<Keeper>, kind: RunKind, known: Vec<String>) -> Self {
        Self {
            keeper,
            kind,
            known,
            queue: Queue::new(),
            running: None,
        }
    }

    /// A turn has ended: extracts if it is time. Takes in what has ended meanwhile.
    ///
    /// # Errors
    /// When the session's log cannot be read or written.
    pub fn after_turn(
        &mut self,
        session: &mut Session,
        finished: bool,
    ) -> Result<Decision, EngineError> {
        session.watch(CURSOR)?;
        let settings = self.keeper.settings();
        let keeper = Arc::clone(&self.keeper);
        let is_memory = |path: &str| keeper.is_memory(Path::new(path));
        let records = session.watched();
        let circumstances = Circumstances {
            enabled: is_on(&settings),
            remote: settings.get(keys::MEMORY_REMOTE),
            sub_agent: self.kind.sub_agent,
            one_shot: self.kind.one_shot,
            one_shot_allowed: settings.get(keys::EXTRACT_ONE_SHOT),
            finished,
            wrote_memory: wrote_memory(records, None, is_memory),
            turns: turns(records),
            every: u32::try_from(settings.get(keys::EXTRACT_EVERY)).unwrap_or(u32::MAX),
        };
        let decision = decide(&circumstances);
        let until = records.last().map(|record| record.seq);
        match (decision, until) {
            (Decision::Skip(Skip::DirectWrite), Some(until)) => {
                session.dealt_with(CURSOR, until)?;
            }
            (Decision::Run, Some(until)) => {
                let job = self.job(session, &settings, until);
                if let Some(job) = self.queue.offer(job) {
                    self.start(job);
                }
            }
            _ => {}
        }
        Ok(decision)
    }

    fn job(&self, session: &Session, settings: &Settings, until: Seq) -> Job {
        let spans = spans(session.watched(), None);
        let directive = self.keeper.directive(settings, &spans);
        Job {
            fork: session.fork_run(&directive),
            evidence: Evidence::new(spans, self.known.clone(), settings),
            directive_until: until,
            model: session.model().to_owned(),
        }
    }

    fn start(&mut self, job: Job) {
        let keeper = Arc::clone(&self.keeper);
        self.running = Some(tokio::spawn(async move { keeper.extract(job).await }));
    }

    /// Takes in an extraction that has ended, if one has, and starts the one that waits. A failure
    /// moves nothing: the next one begins at the same place.
    ///
    /// # Errors
    /// When the session's log cannot be written.
    pub async fn collect(
        &mut self,
        session: &mut Session,
    ) -> Result<Option<Extracted>, EngineError> {
        let Some(running) = self.running.take_if(|running| running.is_finished()) else {
            return Ok(None);
        };
        self.take_in(session, running.await)
    }

    fn take_in(
        &mut self,
        session: &mut Session,
        ended: Result<Result<Extracted, MemdirError>, JoinError>,
    ) -> Result<Option<Extracted>, EngineError> {
        if let Some(next) = self.queue.ended() {
            self.start(next);
        }
        let extracted = match ended {
            Ok(Ok(extracted)) => extracted,
            // Nothing is lost: the next one begins at the same place. It is no error of the turn, but
            // whoever wonders where the memories are finds it in the log.
            Ok(Err(error)) => {
                session.note(failure(&crate::keeper::chain(&error)))?;
                return Ok(None);
            }
            Err(error) => {
                session.note(failure(&error.to_string()))?;
                return Ok(None);
            }
        };
        if !extracted.denied.is_empty() {
            session.note(StateChange::Fact {
                name: "extract.denied".to_owned(),
                value: json!(extracted.denied),
            })?;
        }
        if !extracted.written.saved.is_empty() {
            session.note(StateChange::MemorySaved {
                detail: json!({"author": "extractor", "files": extracted.written.saved}),
            })?;
        }
        let cursor = session.conversation().state().cursors.get(CURSOR).copied();
        // While it ran, the agent may have written to memory itself: the cursor is ahead then.
        if let Some(until) = extracted.until.filter(|until| Some(*until) > cursor) {
            session.dealt_with(CURSOR, until)?;
        }
        Ok(Some(extracted))
    }

    /// Leaving: waits for what runs, at most as long as the settings say.
    ///
    /// # Errors
    /// When the session's log cannot be written.
    pub async fn finish(&mut self, session: &mut Session) -> Result<Vec<Extracted>, EngineError> {
        let wait = self.keeper.settings().get(keys::EXTRACT_EXIT_WAIT);
        let deadline = tokio::time::Instant::now() + wait;
        let mut all = Vec::new();
        while let Some(mut running) = self.running.take() {
            let Ok(ended) = tokio::time::timeout_at(deadline, &mut running).await else {
                running.abort();
                self.queue = Queue::new();
                break;
            };
            all.extend(self.take_in(session, ended)?);
        }
        Ok(all)
    }
}

fn failure(why: &str) -> StateChange {
    StateChange::Fact {
        name: "extract.failed".to_owned(),
        value: json!(why),
    }
}

/// Whether automatic memories are wanted at all.
fn is_on(settings: &Settings) -> bool {
    settings.switch(keys::EXTRACT).is_on() && settings.get(keys::MEMORY_CONSENT) != Consent::Off
}

/// How often the user spoke.
fn turns(records: &[Record]) -> u32 {
    let said = spans(records, None);
    let mut seqs: Vec<u64> = said
        .iter()
        .filter(|span| span.is_users())
        .map(|span| span.seq)
        .collect();
    seqs.dedup();
    u32::try_from(seqs.len()).unwrap_or(u32::MAX)
}

impl Keeper {
    /// Whether a path lies in one of the memories, the user's own or the team's.
    fn is_memory(&self, path: &Path) -> bool {
        let team = self.team.as_ref().map(|team| team.dir.root());
        path.starts_with(self.memory.root()) || team.is_some_and(|root| path.starts_with(root))
    }

    /// The list of memories as a prompt shows it.
    pub fn manifest(&self) -> String {
        let snapshot = self.memory.snapshot().unwrap_or_default();
        let lines = snapshot.topics().map(|(path, file)| {
            let topic = Topic::read(&file.text());
            Line {
                path: path.clone(),
                kind: topic.kind,
                modified: file.modified,
                description: topic.description,
            }
        });
        manifest::render(lines.collect())
    }

    fn directive(&self, settings: &Settings, spans: &[Span]) -> String {
        let recalled = directive::recalled_names(spans);
        let recalled: Vec<&str> = recalled.iter().map(String::as_str).collect();
        let guidelines = settings.get(keys::MEMORY_EXTRA_GUIDELINES);
        directive::render(&directive::Facts {
            directory: &self.memory.root().display().to_string(),
            manifest: &self.manifest(),
            turns: u32::try_from(settings.get(keys::EXTRACT_TURNS)).unwrap_or(u32::MAX),
            messages: spans.len(),
            today: &self.today().to_string(),
            recalled: &recalled,
            guidelines: guidelines.as_deref(),
        })
    }

    async fn extract(&self, job: Job) -> Result<Extracted, MemdirError> {
        let until = job.directive_until;
        if let Err(why) = self.background_model() {
            return self.extract_by_rules(&job.evidence, Some(until), &why);
        }
        let writes = JudgedWrites::new(self, job.evidence.clone());
        let tools = self.fork_tools(&writes);
        let limits = ForkLimits {
            requests: turns_of(&self.settings()),
        };
        let fork = job
            .fork
            .asking_through(|asker| self.metered(asker, &job.model));
        let answered = fork.run(Some(&tools), limits).await;
        let answered = answered.map_err(SideFault::from).and_then(|answer| {
            NoAnswer::check(&answer.response, answer.requests)?;
            Ok(answer)
        });
        match answered {
            Ok(answer) => Ok(Extracted {
                by: By::Model,
                written: writes.written(),
                denied: denied(&tools),
                usage: answer.usage,
                until: Some(until),
            }),
            Err(fault) => {
                // What people said in so many words is kept at once; for the rest the model is asked
                // again after the next turn, from the same place.
                let without = self.why_without(&fault);
                let extracted = self.go_on_by_rules(&job.evidence, &writes, &without.why)?;
                Ok(Extracted {
                    denied: denied(&tools),
                    until: (!without.try_again).then_some(until),
                    ..extracted
                })
            }
        }
    }

    /// Extracts from a session that is over: the model reads it as material, for there is no
    /// conversation to fork.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub async fn extract_recorded(&self, evidence: Evidence) -> Result<Extracted, MemdirError> {
        let model = match self.background_model() {
            Ok(model) => model,
            Err(why) => return self.extract_by_rules(&evidence, None, &why),
        };
        let settings = self.settings();
        let directive = format!(
            "{}\n\n{}",
            self.directive(&settings, &evidence.spans),
            transcript(&evidence.spans)
        );
        let writes = JudgedWrites::new(self, evidence.clone());
        let tools = self.fork_tools(&writes);
        let side = SideTask {
            asker: self.asker(model),
            model: &model.name,
            models: &self.models,
            settings: &settings,
            system_prompt: SYSTEM_PROMPT,
            definitions: definitions(),
            tools: Arc::new(tools.clone()),
            requests: turns_of(&settings),
        };
        let (by, written, usage) = match side.run(&self.system, &directive, |_| {}).await {
            Ok(answer) => (By::Model, writes.written(), answer.usage),
            Err(failure) => {
                let without = self.why_without(&failure);
                let extracted = self.go_on_by_rules(&evidence, &writes, &without.why)?;
                (extracted.by, extracted.written, failure.usage)
            }
        };
        Ok(Extracted {
            by,
            written,
            denied: denied(&tools),
            usage,
            until: None,
        })
    }

    fn fork_tools(&self, writes: &Arc<JudgedWrites>) -> ForkTools {
        let roots = Roots {
            working: self.places.working_dir.clone(),
            memory: self.memory.root().to_owned(),
            readable: Vec::new(),
        };
        ForkTools::new(&self.system, roots, Arc::clone(writes) as _)
    }

    /// Extracts without a model.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn extract_by_rules(
        &self,
        evidence: &Evidence,
        until: Option<Seq>,
        why: &str,
    ) -> Result<Extracted, MemdirError> {
        let writes = JudgedWrites::new(self, evidence.clone());
        let extracted = self.go_on_by_rules(evidence, &writes, why)?;
        Ok(Extracted { until, ..extracted })
    }

    /// The rules, after what a model may have written already.
    fn go_on_by_rules(
        &self,
        evidence: &Evidence,
        writes: &JudgedWrites,
        why: &str,
    ) -> Result<Extracted, MemdirError> {
        let snapshot = self.memory.snapshot()?;
        let known: Vec<&str> = evidence.known.iter().map(String::as_str).collect();
        for proposal in &offline::extract(&evidence.spans, &snapshot, &known) {
            let _told = writes.propose(&Proposed::Memory(&proposal.memory))?;
        }
        Ok(Extracted {
            by: By::Rules(why.to_owned()),
            written: writes.written(),
            denied: Vec::new(),
            usage: TokenUsage::default(),
            until: None,
        })
    }
}

fn turns_of(settings: &Settings) -> usize {
    usize::try_from(settings.get(keys::EXTRACT_TURNS)).unwrap_or(usize::MAX)
}

fn denied(tools: &ForkTools) -> Vec<String> {
    let denials = tools.denials().into_iter();
    denials
        .map(|denial| format!("{} {}: {}", denial.tool, denial.target, denial.reason))
        .collect()
}

/// A session as material: who said what, the newest part of it if it is long.
fn transcript(spans: &[Span]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut left = MOST_TRANSCRIPT;
    for span in spans.iter().rev() {
        let who = match span.kind {
            SpanKind::Said => span.speaker.name(),
            SpanKind::ToolResult { .. } => "tool",
            SpanKind::Fragment => continue,
        };
        // A line of what was said must not look like somebody else's.
        let said = neutralise(&span.text).replace("\n[", "\n [");
        let text = format!("[{who}] {said}");
        if text.len() > left {
            break;
        }
        left -= text.len();
        lines.push(text);
    }
    lines.reverse();
    format!("<messages>\n{}\n</messages>", lines.join("\n\n"))
}
