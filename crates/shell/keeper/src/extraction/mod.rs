//! Layer 5, carried out: memories from a conversation after each answer.
//!
//! # Model
//! After a finished turn an [`Extractor`] is offered the session. If the gate allows it, a fork of
//! the conversation runs beside it with the guarded tools, and its writes are judged one by one.
//! Without a model, with its budget spent, when it fails or writes nothing until its limit, rules
//! without a model do the same. One extraction runs at a time; of those that wait only the newest is
//! kept. Usage of the fork's requests is recorded in the session's log, however the fork ended.
//!
//! The cursor moves when an extraction has ended well, or when the agent wrote to memory itself. An
//! extraction that is cut off by leaving is done from the cursor at the next start; rules without a
//! model keep the plain statements of the user until then.
//!
//! # Not here
//! The gate, the recognition of memories, their trust: `dormouse_memory::extract`. Judged writes:
//! [`crate::writes`].

mod extractor;

use crate::keeper::Keeper;
use crate::meter::Tally;
use crate::side::{NoAnswer, SideFault, SideTask};
use crate::writes::{Evidence, JudgedWrites, Written};
use dormouse_core::block::BlockKind;
use dormouse_core::fragment::{MESSAGES, neutralise, render};
use dormouse_core::id::Seq;
use dormouse_core::record::UsageReport;
use dormouse_core::settings::{Settings, keys};
use dormouse_core::usage::TokenUsage;
use dormouse_engine::ForkLimits;
use dormouse_guard::paths::SafePath;
use dormouse_memdir::MemdirError;
use dormouse_memory::card::Card;
use dormouse_memory::extract::judge::Proposed;
use dormouse_memory::extract::{Span, SpanKind, directive, offline};
use dormouse_memory::manifest;
use dormouse_model::Response;
use dormouse_tools::{ForkTools, Roots, definitions};
use extractor::Job;
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;

pub use extractor::Extractor;

const SYSTEM_PROMPT: &str = include_str!("system.md");
/// Most bytes of a recorded session that a model reads: about a hundred thousand tokens, which
/// leaves room in the usual windows.
const MOST_TRANSCRIPT: usize = 400_000;

/// Name of the cursor in a session's state.
pub const CURSOR: &str = "extract";

/// Kind of run that the session belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunKind {
    /// Set for the conversation of a sub-agent.
    pub sub_agent: bool,
    /// Set for a run that ends with its first answer.
    pub one_shot: bool,
}

/// Writer of the memories.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// Fork of the conversation, or a side task over its record.
    Model,
    /// Rules without a model, with the reason why not one.
    Rules(String),
}

/// Result of an extraction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Extracted {
    /// Writer of the memories.
    pub by: By,
    /// Memories that were written, wait or were refused.
    pub written: Written,
    /// Calls that were denied to the fork, for the log.
    pub denied: Vec<String>,
    /// Tokens of all the model's answers.
    #[serde(skip)]
    pub usage: TokenUsage,
    /// Usage by answer, for the log of the session that was forked; empty without a fork.
    #[serde(skip)]
    pub reports: Vec<UsageReport>,
    /// Last record it dealt with; `None` if a model failed and is to try again.
    #[serde(skip)]
    pub until: Option<Seq>,
}

impl Extracted {
    /// Line for the user, if anything was saved.
    pub fn notice(&self) -> Option<String> {
        let names: Vec<&str> = self.written.saved.iter().map(SafePath::as_str).collect();
        let saved = (!names.is_empty()).then(|| format!("Memory saved: {}", names.join(", ")));
        let waiting = match self.written.waiting.len() {
            0 => None,
            1 => Some("1 memory waits for approval".to_owned()),
            many => Some(format!("{many} memories wait for approval")),
        };
        match (saved, waiting) {
            (Some(saved), Some(waiting)) => Some(format!("{saved}; {waiting}")),
            (saved, waiting) => saved.or(waiting),
        }
    }
}

impl Keeper {
    /// True if a path lies in one of the memories, the user's own or the team's.
    fn is_memory(&self, path: &Path) -> bool {
        let team = self.team.as_ref().map(|team| team.dir.root());
        path.starts_with(self.memory.root()) || team.is_some_and(|root| path.starts_with(root))
    }

    /// List of memories as a prompt shows it.
    pub fn manifest(&self) -> String {
        // An unreadable directory gives an empty list: the fork can still propose, and the judge
        // knows.
        let snapshot = self.memory.snapshot().unwrap_or_default();
        let cards = snapshot
            .topics()
            .map(|(path, file)| Card::read(path.clone(), &file.text(), file.modified));
        manifest::render(cards.collect())
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

    /// Extracts with a fork; usage of its requests is in `used` as soon as they are answered.
    async fn extract(&self, job: Job, used: &Tally) -> Result<Extracted, MemdirError> {
        let until = job.until;
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
            .asking_through(|asker| self.metered(asker, &job.model, used));
        let running = Box::pin(fork.run(Some(Arc::new(tools.clone())), limits));
        let answered = running.await;
        let answered = answered.map_err(SideFault::from).and_then(|answer| {
            NoAnswer::check(&answer.response, answer.requests)?;
            Ok(answer)
        });
        let (by, written, until) = match answered {
            // A small model may look around until its requests are spent. It would do so again, so the
            // cursor moves; what the user said plainly must not be lost for it.
            Ok(answer) if still_calls(&answer.response) && writes.written().is_empty() => {
                let why = "the model met its limit of requests before it wrote anything";
                let extracted = self.go_on_by_rules(&job.evidence, &writes, why)?;
                (extracted.by, extracted.written, Some(until))
            }
            Ok(_) => (By::Model, writes.written(), Some(until)),
            Err(fault) => {
                // Plain statements of the user are kept at once; for the rest the model is asked
                // again after the next turn, from the same place.
                let without = self.why_without(&fault);
                let extracted = self.go_on_by_rules(&job.evidence, &writes, &without.why)?;
                // A spent budget moves the cursor: waiting for tomorrow would pile up a day of
                // messages.
                let until = (!without.try_again).then_some(until);
                (extracted.by, extracted.written, until)
            }
        };
        let reports = used.take();
        Ok(Extracted {
            by,
            written,
            denied: denied(&tools),
            usage: sum(&reports),
            reports,
            until,
        })
    }

    /// Extracts from a session that is over: the model reads it as material, because there is no
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
            asker: self.asker(&model.model, &model.name),
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
            reports: Vec::new(),
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

    /// Applies the rules, after writes that a model may have made already.
    fn go_on_by_rules(
        &self,
        evidence: &Evidence,
        writes: &JudgedWrites,
        why: &str,
    ) -> Result<Extracted, MemdirError> {
        let snapshot = self.memory.snapshot()?;
        let known: Vec<&str> = evidence.known.iter().map(String::as_str).collect();
        for proposal in &offline::extract(&evidence.spans, &snapshot, &known) {
            // A refusal is in the results; the rules go on with the next sentence.
            let _told = writes.propose(&Proposed::Memory(&proposal.memory))?;
        }
        Ok(Extracted {
            by: By::Rules(why.to_owned()),
            written: writes.written(),
            denied: Vec::new(),
            usage: TokenUsage::default(),
            reports: Vec::new(),
            until: None,
        })
    }
}

/// True if the last answer of a fork wants to go on.
fn still_calls(response: &Response) -> bool {
    let mut blocks = response.blocks.iter();
    blocks.any(|block| block.kind() == BlockKind::ToolUse)
}

fn sum(reports: &[UsageReport]) -> TokenUsage {
    let mut sum = TokenUsage::default();
    for report in reports {
        sum += report.usage;
    }
    sum
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

/// Session as material: its speakers and words, the newest part of it if it is long.
fn transcript(spans: &[Span]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut left = MOST_TRANSCRIPT;
    for span in spans.iter().rev() {
        let who = match span.kind {
            SpanKind::Said => span.speaker.name(),
            SpanKind::ToolResult { .. } => "tool",
            SpanKind::Fragment => continue,
        };
        // A line of a message must not look like another speaker's.
        let said = neutralise(&span.text).replace("\n[", "\n [");
        let text = format!("[{who}] {said}");
        if text.len() > left {
            break;
        }
        left -= text.len();
        lines.push(text);
    }
    lines.reverse();
    render(&MESSAGES, &lines.join("\n\n"))
}
