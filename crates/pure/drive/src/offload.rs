//! Layer 1: execution of offloading. A long result is saved to a file before the record that names
//! it.
//!
//! A result that ends alone is checked against its own limit at once, and against the round's limit
//! when the whole round has arrived; then a record replaces it in the tail. Results that arrive
//! together are checked together.
//!
//! Not here: the decision which results to offload (`context/src/offload`).

use crate::command::{CommandId, Reply};
use crate::config::Role;
use crate::driver::Driver;
use crate::effect::{SaveFile, SavePlace, Work};
use crate::error::DriveError;
use crate::input::EffectOutcome;
use crate::notice::Notice;
use crate::outbox::{Running, SaveFor};
use bytes::Bytes;
use dormouse_ask::Feature;
use dormouse_context::layers::{self, Moment};
use dormouse_context::offload::{
    self, Candidate, Fate, OffloadPlan, Round, RoundLimits, ToolOutput, file_name, preview,
    result_block, truncated,
};
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::hash::Hash;
use dormouse_core::id::{BlockKey, Seq};
use dormouse_core::record::{Body, Message, Replacement, ReplacementDecision};
use dormouse_core::settings::keys;
use std::collections::VecDeque;
use std::sync::Arc;

/// Results that wait for their files.
#[derive(Debug)]
pub(crate) struct PendingResults {
    reply: Option<CommandId>,
    results: Vec<Pending>,
    /// Set when the round's limit offloaded some results: then the decision to keep the others is
    /// recorded too, since a later round must not change it.
    contested: bool,
    /// Indices of results whose files are still to be saved, in order.
    unsaved: VecDeque<usize>,
}

/// Limits that apply to results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RoundScope {
    /// Own limits only; the round's limit follows when the round is complete.
    Alone,
    /// Own limits and the round's.
    Together,
}

#[derive(Debug)]
struct Pending {
    output: ToolOutput,
    fate: Fate,
    /// Destination file, for results to be offloaded.
    file: Option<LongResult>,
    /// Address of the result, if it is in the log already.
    replaces: Option<BlockKey>,
}

#[derive(Debug)]
struct LongResult {
    name: String,
    content: Hash,
    failed: Option<String>,
}

impl Driver {
    /// Takes in one result of a call that this driver ran.
    pub(crate) fn result_arrived(
        &mut self,
        tool: String,
        output: ToolOutput,
        digest: Option<Hash>,
    ) -> Result<(), DriveError> {
        // The rest of the round is still running; `check_round` applies its limit.
        let scope = RoundScope::Alone;
        self.take_results(None, vec![(tool, output)], digest, scope)
    }

    /// Takes in results of calls that were run elsewhere, as one round.
    pub(crate) fn results_arrived(
        &mut self,
        reply: Option<CommandId>,
        outputs: Vec<(String, ToolOutput)>,
    ) -> Result<(), DriveError> {
        self.take_results(reply, outputs, None, RoundScope::Together)
    }

    fn take_results(
        &mut self,
        reply: Option<CommandId>,
        outputs: Vec<(String, ToolOutput)>,
        digest: Option<Hash>,
        scope: RoundScope,
    ) -> Result<(), DriveError> {
        let waiting = Arc::make_mut(&mut self.conversation).waiting_chars();
        let candidates: Vec<Candidate<'_>> = outputs
            .iter()
            .map(|(tool, output)| self.candidate(tool, output))
            .collect();
        let OffloadPlan { fates } = self.fates(&candidates, waiting, scope);
        let contested = fates.iter().any(is_contested);
        let mut results = Vec::with_capacity(outputs.len());
        let mut unsaved = VecDeque::new();
        for (at, ((_, output), fate)) in outputs.into_iter().zip(fates).enumerate() {
            let file = fate.offload.then(|| long_result(&output, digest));
            if file.is_some() {
                unsaved.push_back(at);
            }
            results.push(Pending {
                output,
                fate,
                file,
                replaces: None,
            });
        }
        let pending = PendingResults {
            reply,
            results,
            contested,
            unsaved,
        };
        // Only if no earlier results wait: their order in the log is the order in which they ended.
        if pending.unsaved.is_empty() && self.results.is_empty() {
            return self.write_results(&pending);
        }
        self.results.push_back(pending);
        self.save_next(SaveFor::Results)
    }

    /// Saves the files of the results in front, or records the results when all their files are
    /// saved.
    fn save_next(&mut self, save_for: SaveFor) -> Result<(), DriveError> {
        let saving = |running: &Running| *running == Running::Save(save_for);
        while !self.outbox.any(saving) {
            let Some(front) = self.results.front() else {
                return Ok(());
            };
            if front.unsaved.is_empty() {
                if let Some(pending) = self.results.pop_front() {
                    if save_for == SaveFor::Round {
                        self.write_round(&pending)?;
                    } else {
                        let reply = pending.reply;
                        if let Err(error) = self.write_results(&pending) {
                            self.reply(reply, Err(error.clone()));
                            return Err(error);
                        }
                    }
                }
                continue;
            }
            let folder = self.config.place.results();
            let files = front.unsaved.iter().filter_map(|at| {
                let pending = &front.results[*at];
                let file = pending.file.as_ref()?;
                Some(SaveFile {
                    place: SavePlace::File(folder.join(&file.name)),
                    bytes: Bytes::from(pending.output.text.clone()),
                })
            });
            let work = Work::Save(files.collect());
            self.outbox.start(Running::Save(save_for), work);
        }
        Ok(())
    }

    pub(crate) fn results_saved(&mut self, outcome: EffectOutcome) {
        self.files_saved(outcome);
        if let Err(error) = self.save_next(SaveFor::Results) {
            self.fail_turn(error);
            return;
        }
        self.round_maybe_over();
    }

    pub(crate) fn round_saved(&mut self, outcome: EffectOutcome) {
        self.files_saved(outcome);
        match self.save_next(SaveFor::Round) {
            Ok(()) if self.results.is_empty() && !self.cancelling() => self.round_over(),
            Ok(()) => {}
            Err(error) => self.fail_turn(error),
        }
    }

    /// Drops results that wait for their files, because the log cannot be written.
    pub(crate) fn fail_results(&mut self, error: &DriveError) {
        for pending in std::mem::take(&mut self.results) {
            self.reply(pending.reply, Err(error.clone()));
        }
    }

    /// Registers saved files. A result whose file failed is truncated in the message itself.
    fn files_saved(&mut self, outcome: EffectOutcome) {
        let Some(front) = self.results.front_mut() else {
            return;
        };
        let result = match outcome {
            EffectOutcome::Saved(result) => result,
            _ => Err((0, "the write was ended by the host".to_owned())),
        };
        match result {
            Ok(()) => front.unsaved.clear(),
            Err((failed, why)) => {
                let at = front.unsaved.get(failed).copied();
                // Saving stopped at the failure: files before it were written, those after it are
                // saved next.
                front.unsaved.drain(..=failed.min(front.unsaved.len() - 1));
                if let Some(file) = at.and_then(|at| front.results[at].file.as_mut()) {
                    file.failed = Some(why);
                }
            }
        }
    }

    /// Records results: the decisions first, then the message with the resulting blocks.
    fn write_results(&mut self, pending: &PendingResults) -> Result<(), DriveError> {
        let written: Vec<(Block, Option<ReplacementDecision>)> = pending
            .results
            .iter()
            .map(|result| self.written(result, pending.contested))
            .collect();
        let decisions = written.iter().filter(|(_, decision)| decision.is_some());
        // The decisions name blocks of a message that is emitted after them, hence the computed
        // number.
        let message = Seq::new(self.journal.head_seq().get() + decisions.count() as u64 + 1);
        let mut blocks = Vec::with_capacity(written.len());
        for (index, (block, decision)) in (0_u32..).zip(written) {
            if let Some(decision) = decision {
                self.emit(Body::Replacement(Replacement {
                    key: BlockKey::new(message, index),
                    decision,
                }))?;
            }
            blocks.push(block);
        }
        self.emit(Body::Message(Message::user(blocks)))?;
        self.reply_stored(pending.reply, Ok(Reply::Done));
        Ok(())
    }

    /// Block that represents a result in the prompt, and the decision about it.
    fn written(
        &mut self,
        result: &Pending,
        contested: bool,
    ) -> (Block, Option<ReplacementDecision>) {
        let output = &result.output;
        let Some(file) = &result.file else {
            let block = self.referenced(output.whole());
            return (block, contested.then_some(ReplacementDecision::Left));
        };
        let path = self.config.place.results().join(&file.name);
        let shown = path.display().to_string();
        let text = match &file.failed {
            None => preview(&output.text, &shown, result.fate.shown),
            Some(why) => truncated(&output.text, why, result.fate.shown),
        };
        let block = result_block(&output.call, &text, &output.media, output.is_error);
        let block = self.referenced(block);
        match &file.failed {
            None => {
                self.tell(Notice::Offloaded {
                    path: shown,
                    chars: result.fate.chars,
                });
                let decision = ReplacementDecision::Replaced {
                    preview: block.clone(),
                    blob: file.content,
                    file: Some(file.name.clone()),
                };
                (block, Some(decision))
            }
            // The text is not saved anywhere, so there is no decision that a later record could
            // refer to.
            Some(why) => {
                let why = why.clone();
                self.tell(Notice::NotSaved { path: shown, why });
                (block, None)
            }
        }
    }

    /// Applies the round's limit to results that ended one by one; `false` while files are being
    /// saved.
    pub(crate) fn check_round(&mut self) -> Result<bool, DriveError> {
        let limit = self.settings.raw.get(keys::OFFLOAD_TURN_LIMIT);
        let waiting = Arc::make_mut(&mut self.conversation).waiting_chars();
        if waiting <= limit {
            return Ok(true);
        }
        let view = self.conversation.view();
        let whole: Vec<(String, ToolOutput, BlockKey)> = view
            .waiting()
            .filter(|segment| segment.block.kind() == BlockKind::ToolResult)
            // Offloaded results and stand-ins are short already.
            .filter(|segment| segment.derived.is_none() && !segment.is_rewritten())
            .filter_map(|segment| {
                let call = segment.block.call()?;
                let asked = self.calls.iter().find(|known| known.call.id == *call)?;
                let output = ToolOutput::of_block(call.clone(), segment.block.clone());
                Some((asked.call.tool.clone(), output, segment.origin))
            })
            .collect();
        let candidates: Vec<Candidate<'_>> = whole
            .iter()
            .map(|(tool, output, _)| Candidate {
                // Their own limits were applied when they ended; only the round's is left.
                limit: u64::MAX,
                ..self.candidate(tool, output)
            })
            .collect();
        let chars = |candidate: &Candidate<'_>| candidate.output.text.chars().count() as u64;
        let whole_chars: u64 = candidates.iter().map(chars).sum();
        let others = waiting.saturating_sub(whole_chars);
        let OffloadPlan { fates } = self.fates(&candidates, others, RoundScope::Together);
        if !fates.iter().any(is_contested) {
            return Ok(true);
        }
        let mut results = Vec::new();
        let mut unsaved = VecDeque::new();
        for ((_, output, key), fate) in whole.into_iter().zip(fates) {
            let file = fate.offload.then(|| long_result(&output, None));
            if file.is_some() {
                unsaved.push_back(results.len());
            }
            results.push(Pending {
                output,
                fate,
                file,
                replaces: Some(key),
            });
        }
        self.results.push_back(PendingResults {
            reply: None,
            results,
            contested: true,
            unsaved,
        });
        self.save_next(SaveFor::Round)?;
        Ok(false)
    }

    fn write_round(&mut self, pending: &PendingResults) -> Result<(), DriveError> {
        for result in &pending.results {
            let Some(key) = result.replaces else {
                continue;
            };
            let (block, decision) = self.written(result, true);
            let decision = decision.or_else(|| {
                // The text could not be saved: the record contains the truncated form itself.
                let blob = Hash::of(block.bytes());
                Some(ReplacementDecision::Replaced {
                    preview: block,
                    blob,
                    file: None,
                })
            });
            if let Some(decision) = decision {
                self.emit(Body::Replacement(Replacement { key, decision }))?;
            }
        }
        Ok(())
    }

    fn candidate<'a>(&self, tool: &str, output: &'a ToolOutput) -> Candidate<'a> {
        let traits = self.config.tools.traits(tool);
        let settings = &self.settings.raw;
        let folder = self.config.place.results().display().to_string();
        Candidate {
            output,
            limit: settings.offload_limit(tool, traits.declared_limit),
            exempt: traits.reads_files,
            asked_part: self.is_distilled(tool)
                || offload::asked_part(self.conversation.view(), output, &folder),
        }
    }

    /// True if results of a tool are distilled once they are answered: shown whole once they cost
    /// little more than their beginning, and the model has seen all of it.
    fn is_distilled(&self, tool: &str) -> bool {
        let distil = &self.settings.layers.distil;
        distil.on && distil.tools.iter().any(|name| name == tool)
    }

    fn fates(&mut self, results: &[Candidate<'_>], already: u64, scope: RoundScope) -> OffloadPlan {
        let settings = &self.settings.raw;
        let limits = self.settings.layers.offload.then(|| RoundLimits {
            round: match scope {
                RoundScope::Alone => u64::MAX,
                RoundScope::Together => settings.get(keys::OFFLOAD_TURN_LIMIT),
            },
            preview: settings.get(keys::OFFLOAD_PREVIEW),
        });
        let round = Round {
            results,
            already,
            limits,
            showing: None,
        };
        match self.config.role {
            Role::Main if !round.has_long() => self.settings.policy.offload(&round),
            Role::Main => self.with_inputs(Moment::BeforeRequest, |state, inputs| {
                layers::offload(state, inputs, &round)
            }),
            // A fork's results are discarded with it; saving them would leave unused files.
            Role::Fork { .. } => round.whole(),
        }
    }

    /// True if results carry a reference by which they can be deleted from the provider's cache.
    pub(crate) fn edits_cache(&self) -> bool {
        self.settings.layers.server.cache_edits && self.config.capabilities.has(Feature::CacheEdits)
    }

    fn referenced(&self, block: Block) -> Block {
        if !self.edits_cache() {
            return block;
        }
        let referenced = || {
            let mut value: serde_json::Value = serde_json::from_slice(block.bytes()).ok()?;
            value["cache_reference"] = block.call()?.as_str().into();
            Block::from_value(&value).ok()
        };
        // The reference is optional: without it the result cannot be deleted from the cache,
        // nothing else.
        referenced().unwrap_or(block)
    }
}

fn is_contested(fate: &Fate) -> bool {
    matches!(fate.reason, offload::Reason::RoundLimit { .. })
}

fn long_result(output: &ToolOutput, digest: Option<Hash>) -> LongResult {
    let content = digest.unwrap_or_else(|| Hash::of(output.text.as_bytes()));
    LongResult {
        name: file_name(&output.call, &output.text, content),
        content,
        failed: None,
    }
}
