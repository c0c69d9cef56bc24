//! Layer 1, carried out: long results into files before anything is logged.

use crate::error::EngineError;
use crate::notice::Notice;
use crate::session::Session;
use dormouse_context::offload::{
    self, Candidate, Fate, OffloadPlan, Round, RoundLimits, ToolOutput, file_name, preview,
    result_block, truncated,
};
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::hash::Hash;
use dormouse_core::id::{BlockKey, Seq};
use dormouse_core::record::{Body, Message, Replacement, ReplacementDecision};
use dormouse_core::settings::keys;
use dormouse_system::{Access, FileError};
use std::path::PathBuf;

/// What is written for one result.
struct Written {
    block: Block,
    decision: Option<ReplacementDecision>,
}

impl Session {
    /// Puts the results of a round into the conversation: files first, then the decisions, then
    /// the message that holds what is left.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn results(&mut self, outputs: &[(String, ToolOutput)]) -> Result<(), EngineError> {
        let OffloadPlan { fates, preview } = self.fates(outputs);
        let contested = fates
            .iter()
            .any(|fate| matches!(fate.reason, offload::Reason::RoundLimit { .. }));
        let mut written = Vec::with_capacity(outputs.len());
        for ((_, output), fate) in outputs.iter().zip(&fates) {
            written.push(self.write_result(output, fate, preview, contested));
        }
        let decisions = written
            .iter()
            .filter(|written| written.decision.is_some())
            .count() as u64;
        // The decisions come first, so the number of the message is known.
        let last = self
            .ports
            .log
            .head()
            .map_or(Seq::default(), |head| head.seq);
        let message = Seq::new(last.get() + decisions + 1);
        for (index, result) in (0_u32..).zip(&mut written) {
            if let Some(decision) = result.decision.take() {
                self.append(Body::Replacement(Replacement {
                    key: BlockKey::new(message, index),
                    decision,
                }))?;
            }
        }
        let referenced = self.edits_cache();
        let blocks = written
            .into_iter()
            .map(|written| {
                if referenced {
                    with_reference(written.block)
                } else {
                    written.block
                }
            })
            .collect();
        self.append(Body::Message(Message::user(blocks)))?;
        Ok(())
    }

    fn fates(&self, outputs: &[(String, ToolOutput)]) -> OffloadPlan {
        let settings = &self.settings.raw;
        let candidates: Vec<Candidate<'_>> = outputs
            .iter()
            .map(|(tool, output)| {
                let traits = self.ports.tools.traits(tool);
                Candidate {
                    output,
                    limit: settings.offload_limit(tool, traits.declared_limit),
                    exempt: traits.reads_files,
                }
            })
            .collect();
        self.settings.policy.offload(&Round {
            results: &candidates,
            already: self.waiting_chars(),
            limits: self.settings.layers.offload.then(|| RoundLimits {
                round: settings.get(keys::OFFLOAD_TURN_LIMIT),
                preview: settings.get(keys::OFFLOAD_PREVIEW),
            }),
        })
    }

    /// Characters of results that wait for the next request already.
    fn waiting_chars(&self) -> u64 {
        let waiting = self.conversation.view().waiting();
        waiting
            .filter(|segment| segment.block.kind() == BlockKind::ToolResult)
            .map(|segment| segment.block.bytes().len() as u64)
            .sum()
    }

    fn write_result(
        &self,
        output: &ToolOutput,
        fate: &Fate,
        bytes: u64,
        contested: bool,
    ) -> Written {
        if !fate.offload {
            return Written {
                block: output.whole(),
                decision: contested.then_some(ReplacementDecision::Left),
            };
        }
        let content = Hash::of(output.text.as_bytes());
        let name = file_name(&output.call, &output.text, content);
        let path = self.results_folder().join(&name);
        let shown = path.display().to_string();
        let (text, blob) = match self.save(&path, output.text.as_bytes()) {
            Ok(()) => {
                self.tell(Notice::Offloaded {
                    path: shown.clone(),
                    chars: fate.chars,
                });
                (preview(&output.text, &shown, bytes), Some(content))
            }
            Err(error) => {
                let why = error.to_string();
                let text = truncated(&output.text, &why, bytes);
                self.tell(Notice::NotSaved { path: shown, why });
                (text, None)
            }
        };
        let block = result_block(&output.call, &text, &output.media, output.is_error);
        // A result that could not be saved is cut in the message itself: there is nothing to
        // decide later.
        let decision = blob.map(|blob| ReplacementDecision::Replaced {
            preview: block.clone(),
            blob,
            file: Some(name),
        });
        Written { block, decision }
    }

    /// Where long and cleared results lie.
    pub(crate) fn results_folder(&self) -> PathBuf {
        self.place.folder.join("tool-results")
    }

    pub(crate) fn save(&self, path: &std::path::Path, bytes: &[u8]) -> Result<(), FileError> {
        let files = &self.ports.system.files;
        files.create_dir_all(&self.results_folder(), Access::Private)?;
        files.replace(path, bytes, Access::Private)
    }
}

/// The result with the reference by which it can be deleted from the provider's cache.
fn with_reference(block: Block) -> Block {
    let referenced = || {
        let mut value: serde_json::Value = serde_json::from_slice(block.bytes()).ok()?;
        value["cache_reference"] = block.call()?.as_str().into();
        Block::from_value(&value).ok()
    };
    referenced().unwrap_or(block)
}
