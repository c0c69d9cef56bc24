//! What the provider does to the prompt itself, where it is better placed to do it.

use crate::error::EngineError;
use crate::notice::Notice;
use crate::ports::Purpose;
use crate::session::Session;
use dormouse_context::clear::server::{self, ApiEdits, ServerInputs};
use dormouse_context::compaction::{Outcome, provider_boundary};
use dormouse_context::fork::Fork;
use dormouse_core::block::BlockKind;
use dormouse_core::id::BlockKey;
use dormouse_core::json::RawJson;
use dormouse_core::record::{
    Body, BoundaryKind, Clearing, ClearingPlace, Message, MessageOrigin, StateChange, Trigger,
};
use dormouse_core::units::Tokens;
use dormouse_model::features::{AppliedEdit, ClearToolUses, ContextEditing, KeepThinking};
use dormouse_model::{Feature, Request, Response, features};
use std::borrow::Cow;

/// The fact that names the results that were deleted from the provider's cache.
const DELETED: &str = "cache-deleted";

impl Session {
    /// Whether the provider can compact, and is needed for it.
    pub(crate) fn provider_compacts(&self) -> bool {
        let binds = self.conversation.view().target().binds_to_prefix();
        let capabilities = self.ports.asker.capabilities(&self.config.model);
        binds && capabilities.has(Feature::ServerCompaction)
    }

    /// Beta headers of every request of this conversation.
    pub(crate) fn betas(&self) -> Vec<Cow<'static, str>> {
        let mut betas = self.config.params.betas().to_vec();
        let first = self.conversation.view().frozen().get(0);
        if first.is_some_and(|first| first.block.kind() == BlockKind::Compaction) {
            betas.extend(features::compaction_betas().map(Cow::Borrowed));
        }
        betas
    }

    /// Parameters and beta headers of the next request: the session's own, and what the provider
    /// is asked to clear.
    pub(crate) fn request_params(&self) -> Result<(RawJson, Vec<Cow<'static, str>>), EngineError> {
        let capabilities = self.ports.asker.capabilities(&self.config.model);
        let edits = server::api_edits(
            &self.settings.layers.server,
            ServerInputs {
                offered: capabilities.has(Feature::ContextEditing),
                auto_compact: self.settings.thresholds.auto_compact,
                window: self.settings.thresholds.window,
                cold: self.is_cold(),
            },
        );
        let member = edits.ok().map(editing).and_then(|editing| {
            // What cannot be asked for is not asked for: the session goes on without.
            editing.member(&capabilities).ok()
        });
        let Some(member) = member else {
            return Ok((self.params.clone(), self.betas()));
        };
        let mut betas = self.betas();
        betas.extend(member.betas.iter().copied().map(Cow::Borrowed));
        let params = self.config.params.clone().with(member);
        Ok((params.to_json().map_err(EngineError::Params)?, betas))
    }

    /// Writes down what the provider cleared. An observation: the view is as it was.
    pub(crate) fn observe_edits(&mut self, response: &Response) -> Result<(), EngineError> {
        for edit in response.extras.applied_edits() {
            let (results, freed) = match edit {
                AppliedEdit::ToolUses { cleared, tokens } => (cleared, tokens),
                AppliedEdit::Thinking { turns, tokens } => (turns, tokens),
                AppliedEdit::Other(_) => continue,
            };
            if results == 0 {
                continue;
            }
            self.append(Body::Cleared(Clearing {
                place: ClearingPlace::Server,
                reason: format!("the provider cleared {results}"),
                freed,
                ..Clearing::default()
            }))?;
        }
        Ok(())
    }

    /// Whether results carry a reference by which they can be deleted from the provider's cache.
    pub(crate) fn edits_cache(&self) -> bool {
        let capabilities = self.ports.asker.capabilities(&self.config.model);
        self.settings.layers.server.cache_edits && capabilities.has(Feature::CacheEdits)
    }

    /// Deletes old results from the provider's cache, if it is time for that.
    pub(crate) fn edit_cache(&mut self) -> Result<(), EngineError> {
        if !self.edits_cache() {
            return Ok(());
        }
        let state = self.conversation.state();
        let gone: Vec<BlockKey> = state
            .facts
            .get(DELETED)
            .and_then(|keys| serde_json::from_value(keys.clone()).ok())
            .unwrap_or_default();
        let view = self.conversation.view();
        let index = self.layers.results();
        let settings = &self.settings.layers.server;
        let Ok(edit) = server::cache_edit(settings, true, view, index, |key| gone.contains(key))
        else {
            return Ok(());
        };
        let Ok(block) = edit.block() else {
            return Ok(());
        };
        let results = edit.keys.len();
        let why = "deleted from the provider's cache".to_owned();
        let all: Vec<BlockKey> = gone.into_iter().chain(edit.keys).collect();
        self.append(Body::Message(Message {
            origin: MessageOrigin::Meta,
            ..Message::user(vec![block])
        }))?;
        self.append(Body::State(StateChange::Fact {
            name: DELETED.to_owned(),
            value: serde_json::to_value(&all).unwrap_or_default(),
        }))?;
        self.append(Body::Cleared(Clearing {
            place: ClearingPlace::Server,
            reason: why.clone(),
            ..Clearing::default()
        }))?;
        self.tell(Notice::Cleared {
            results,
            freed: Tokens::ZERO,
            why,
        });
        Ok(())
    }

    /// Has the provider summarise the conversation. The old view stands until the boundary is
    /// written.
    pub(crate) async fn compact_by_provider(
        &mut self,
        trigger: Trigger,
    ) -> Result<Outcome, EngineError> {
        let hooks = self.ports.hooks.before(trigger, &[]).await;
        let outcome = match hooks.blocked {
            Some(why) => Outcome::Blocked(why),
            None => {
                self.summarised_by_provider(trigger, &hooks.instructions)
                    .await?
            }
        };
        self.compaction_over(false, &outcome)?;
        Ok(outcome)
    }

    async fn summarised_by_provider(
        &mut self,
        trigger: Trigger,
        wishes: &[String],
    ) -> Result<Outcome, EngineError> {
        let capabilities = self.ports.asker.capabilities(&self.config.model);
        let wishes = wishes.join("\n");
        let member = match features::compaction(Some(&wishes), &capabilities) {
            Ok(member) => member,
            Err(error) => return Ok(Outcome::Nothing(error.to_string())),
        };
        let params = self.config.params.clone().with(member);
        let json = params.to_json().map_err(EngineError::Params)?;
        let moment = (self.now(), self.ttls());
        let fork = Fork::plain(
            &self.conversation,
            &self.ledger,
            &self.config.prefix,
            &json,
            moment,
        );
        let request = Request::streamed(fork.body()).with_betas(params.betas());
        let stream = self.ports.asker.ask(Purpose::Compaction, request);
        let failed = |why: String| Outcome::NoProgress { why, asked: true };
        let response = match stream.finish().await {
            Ok(response) => response,
            Err(error) => return Ok(failed(error.chain())),
        };
        let rule = self.rule(None);
        let id = self.fresh_id();
        let composed = self.with_job(&rule, &id, |cx| {
            provider_boundary(cx, trigger, &response.blocks)
        });
        let (boundary, after) = match composed {
            Ok(composed) => composed,
            Err(error) => return Ok(failed(error.to_string())),
        };
        let before = boundary.pre_tokens.unwrap_or_default();
        Ok(match self.commit_boundary(&id, boundary) {
            Ok(()) => Outcome::Compacted {
                kind: BoundaryKind::Full,
                before,
                after,
                model_failed: None,
            },
            Err(why) => Outcome::NotWritten(why),
        })
    }
}

fn editing(edits: ApiEdits) -> ContextEditing {
    let turns = edits
        .thinking_turns
        .map(|turns| u32::try_from(turns).unwrap_or(u32::MAX));
    ContextEditing {
        thinking: Some(turns.map_or(KeepThinking::All, KeepThinking::Turns)),
        tool_uses: Some(ClearToolUses {
            trigger: Some(features::Trigger::InputTokens(edits.trigger)),
            at_least: Some(edits.at_least),
            ..ClearToolUses::default()
        }),
        compact: None,
    }
}
