//! Planning and sending of the conversation's own requests.
//!
//! Not here: the bytes of a request (`context/src/assemble.rs`) and attempts (`asks.rs`).

use crate::config::Role;
use crate::driver::Driver;
use crate::error::DriveError;
use crate::outbox::AskFor;
use crate::turn::Phase;
use dormouse_ask::features::{self, ClearToolUses, ContextEditing, KeepThinking};
use dormouse_ask::{Feature, Request};
use dormouse_context::clear::Measure;
use dormouse_context::clear::server::{self, ApiEdits, ServerInputs};
use dormouse_context::economy::Rates;
use dormouse_context::ledger::MarkerTtls;
use dormouse_context::plan::{
    self, CachedPart, RequestInputs, RequestPlan, SendVerdict, plan_request,
};
use dormouse_context::tokens;
use dormouse_core::block::BlockKind;
use dormouse_core::id::BlockKey;
use dormouse_core::json::RawJson;
use dormouse_core::record::{Body, Purpose, Ttl};
use dormouse_core::settings::{CacheTtl, MessageTtl, keys};
use dormouse_core::units::Tokens;
use std::borrow::Cow;

impl Driver {
    /// Plans, records and sends the next request of the conversation.
    pub(crate) fn send(&mut self) -> Result<(), DriveError> {
        let requests = self.turn.as_ref().map_or(0, |turn| turn.requests);
        if requests >= self.config.most_requests {
            return Err(DriveError::TooManyRequests(self.config.most_requests));
        }
        if self.config.role == Role::Main {
            self.edit_cache()?;
        }
        // Appended before planning: a repair is part of the prompt, and a log without it would
        // resume to other bytes.
        if let Some(repairs) = plan::repairs(self.conversation.view()) {
            self.emit(Body::Message(repairs))?;
        }
        let (params, betas) = self.request_params()?;
        let distil = self.plan_distillation();
        let mut plan = self.plan(&params, &distil.keys);
        plan.reasons.extend(distil.reasons);
        // Beyond the window no provider answers: say which message is too long instead of asking.
        if plan.count.tokens > self.settings.thresholds.window
            && self.config.role == Role::Main
            && let Some(error) = self.too_long_message()
        {
            return Err(error);
        }
        match plan.verdict {
            // `InFlight` means that the log ends with a request without a response. The driver has
            // none under way here, so a restart or a cancel cut that one off. `CompactFirst` was
            // already considered by the layers.
            SendVerdict::Send | SendVerdict::InFlight | SendVerdict::CompactFirst => {}
            SendVerdict::NothingToSend => return Err(DriveError::NothingToSend),
            SendVerdict::Blocked => {
                let blocked = DriveError::Blocked {
                    used: plan.count.tokens,
                    limit: self.settings.thresholds.blocking_limit,
                };
                return Err(self.too_long_message().unwrap_or(blocked));
            }
        }
        self.tell_kept();
        let body = plan.body();
        // Recorded before sending: the request waits for this record, so that any sent prompt can
        // be rebuilt from the log.
        let record = self.emit(plan.record())?;
        let estimate = plan.count.tokens;
        let markers = plan.markers.clone();
        self.ledger.sent(plan.into_shape(), markers, self.now);
        // This request writes the whole prompt, so that the next one can read it.
        self.rewrites_cache = false;
        self.untouchable = false;
        let request = Request::streamed(body)
            .with_betas(&betas)
            .with_estimate(estimate);
        let purpose = match self.config.role {
            Role::Main => Purpose::Turn,
            Role::Fork { .. } => Purpose::Fork,
        };
        // Calls of the previous round have their results; the next response brings its own.
        self.calls.clear();
        self.ask(
            AskFor::Turn,
            purpose,
            request,
            (Some(record.id), record.seq),
        );
        if let Some(turn) = &mut self.turn {
            turn.requests += 1;
        }
        self.set_phase(Phase::Answering);
        Ok(())
    }

    fn plan(&self, params: &RawJson, distil: &[BlockKey]) -> RequestPlan {
        let turn = self.turn.as_ref();
        plan_request(&RequestInputs {
            conversation: &self.conversation,
            ledger: &self.ledger,
            prefix: &self.config.prefix,
            params,
            thresholds: &self.settings.thresholds,
            relief: turn.map_or(dormouse_context::window::Relief::Available, |turn| {
                turn.relief
            }),
            ttls: self.ttls(),
            now: self.now,
            cached: match self.config.role {
                Role::Main => CachedPart::Whole,
                Role::Fork { shared } => CachedPart::Shared(shared),
            },
            ending: turn.map(|turn| turn.ending).unwrap_or_default(),
            distil,
        })
    }

    /// Parameters and beta headers of the next request: those of the session, plus the edits
    /// requested from the provider.
    fn request_params(&self) -> Result<(RawJson, Vec<Cow<'static, str>>), DriveError> {
        let capabilities = &self.config.capabilities;
        let edits = server::api_edits(
            &self.settings.layers.server,
            ServerInputs {
                offered: capabilities.has(Feature::ContextEditing),
                auto_compact: self.settings.thresholds.auto_compact,
                window: self.settings.thresholds.window,
                cold: self.is_cold(),
            },
        );
        // A feature the model does not offer is left out; the session works without it.
        let member = edits
            .ok()
            .map(editing)
            .and_then(|editing| editing.member(capabilities).ok());
        let Some(member) = member.filter(|_| self.config.role == Role::Main) else {
            return Ok((self.params.clone(), self.betas()));
        };
        let mut betas = self.betas();
        betas.extend(member.betas.iter().copied().map(Cow::Borrowed));
        let params = self.config.params.clone().with(member);
        let json = params
            .to_json()
            .map_err(|error| DriveError::Params(error.to_string()))?;
        Ok((json, betas))
    }

    /// Beta headers of every request of this conversation.
    pub(crate) fn betas(&self) -> Vec<Cow<'static, str>> {
        let mut betas = self.config.params.betas().to_vec();
        // A compaction block of the provider is only accepted with the header of that feature, in
        // every later request too.
        let first = self.conversation.view().frozen().get(0);
        if first.is_some_and(|first| first.block.kind() == BlockKind::Compaction) {
            betas.extend(features::compaction_betas().map(Cow::Borrowed));
        }
        betas
    }

    /// Lifetimes of cache entries, by settings or by the cheaper choice.
    pub(crate) fn ttls(&self) -> MarkerTtls {
        let settings = &self.settings.raw;
        let messages = match settings.get(keys::CACHE_TTL_MESSAGES) {
            MessageTtl::FiveMinutes => Ttl::FiveMinutes,
            MessageTtl::OneHour => Ttl::OneHour,
            MessageTtl::Auto => self.cheapest_ttl(),
        };
        MarkerTtls {
            prefix: match settings.get(keys::CACHE_TTL_PREFIX) {
                CacheTtl::OneHour => Ttl::OneHour,
                CacheTtl::FiveMinutes => Ttl::FiveMinutes,
            },
            messages,
        }
    }

    fn cheapest_ttl(&self) -> Ttl {
        let state = self.conversation.state();
        let info = self.config.models.lookup(&self.config.model).info;
        // Without prices there is nothing to weigh; five minutes is the provider's default.
        let Some(prices) = &info.prices else {
            return Ttl::FiveMinutes;
        };
        let growth = self.conversation.economy().growth.tokens();
        let set = prices.for_prompt(self.used());
        dormouse_context::ledger::message_ttl(&state.gaps, self.used(), growth, set)
    }

    pub(crate) fn rates(&self) -> Rates {
        let ttls = self.ttls();
        let name = |ttl: Ttl| match ttl {
            Ttl::OneHour => CacheTtl::OneHour,
            Ttl::FiveMinutes => CacheTtl::FiveMinutes,
        };
        self.settings
            .prices
            .rates(name(ttls.prefix), name(ttls.messages))
    }

    pub(crate) fn measure(&self) -> Measure {
        Measure {
            bytes: self.conversation.bytes_per_token(),
            calibration: tokens::calibration(self.conversation.state(), &self.config.model),
        }
    }

    /// Tokens in use: measured by the provider, plus an estimate of what was appended since.
    pub fn used(&self) -> Tokens {
        self.conversation.count(self.config.prefix.weight()).tokens
    }

    /// True if the next request writes the whole prompt to the cache anyway, so that rewriting is
    /// free. False for a session that has sent nothing: it has no cache to lose.
    pub(crate) fn is_cold(&self) -> bool {
        self.conversation.state().last_request.is_some()
            && (self.rewrites_cache || self.ledger.is_idle(self.now))
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
