//! Keep-alive of the provider's cache, where it pays.
//!
//! Not here: the arithmetic (`context/src/economy`).

use crate::command::{CommandId, Reply};
use crate::driver::Driver;
use crate::error::DriveError;
use crate::layers::Job;
use crate::outbox::AskFor;
use dormouse_ask::{Failure, Request, Response};
use dormouse_context::economy::{Decision, KeepAlive, keep_alive_worth};
use dormouse_context::fork::Fork;
use dormouse_core::record::{Purpose, Ttl};
use dormouse_core::settings::keys;
use dormouse_core::units::{Millis, Tokens};

/// Tenths of an entry's lifetime after which it is renewed: early enough for a slow provider, late
/// enough that each request buys most of another lifetime.
const TENTHS_OF_LIFE: u64 = 9;

impl Driver {
    /// Decision whether a keep-alive pays, from the pauses of this session so far. None unless the
    /// setting `cache.keep_alive` is on.
    pub fn keep_alive_decision(&self) -> Option<Decision> {
        if !self.settings.raw.switch(keys::CACHE_KEEP_ALIVE).is_on() {
            return None;
        }
        let gaps = self.conversation.state().gaps;
        let share = |part: u64, all: u64| {
            let [part, all] = [part, all].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
            f64::from(part) / f64::from(all.max(1))
        };
        let ttls = self.ttls();
        // Chance that the user returns while a renewal still helps. Five minutes: pauses that ended
        // within the hour, among those that outlived the entry. One hour: pauses longer than that.
        let chance = match ttls.messages {
            Ttl::FiveMinutes => share(gaps.middle, gaps.middle + gaps.long),
            Ttl::OneHour => share(gaps.long, gaps.short + gaps.middle + gaps.long),
        };
        // With a longer lifetime of its own, the prefix survives anyway and is no gain.
        let lasting = if ttls.prefix > ttls.messages {
            self.measure().tokens(self.config.prefix.weight())
        } else {
            Tokens::ZERO
        };
        let cache = KeepAlive {
            prompt: self.used(),
            lasting,
            chance,
        };
        Some(keep_alive_worth(&cache, &self.rates()))
    }

    fn keeps_alive(&self) -> bool {
        let worth = self.keep_alive_decision().is_some_and(|it| it.act);
        // An expired entry cannot be renewed, only written again at the full price.
        worth && !self.is_cold() && !self.conversation.view().frozen().is_empty()
    }

    /// Time of the next keep-alive of an idle conversation.
    pub(crate) fn keep_alive_at(&self) -> Option<Millis> {
        let idle = self.turn.is_none() && self.job.is_none() && self.commands.is_empty();
        if !idle || self.untouchable || !self.keeps_alive() {
            return None;
        }
        let touched = self.ledger.last_touched()?;
        let life = self.ttls().messages.millis();
        Some(touched.after(life / 10 * TENTHS_OF_LIFE))
    }

    /// Renews the cache entry with a request for one token, if that pays.
    pub(crate) fn keep_alive(&mut self, reply: Option<CommandId>) {
        if !self.keeps_alive() {
            self.reply(reply, Ok(Reply::KeptAlive(false)));
            return;
        }
        let params = self.config.params.clone().set("max_tokens", &1_u64);
        let json = match params.and_then(|params| params.to_json()) {
            Ok(json) => json,
            Err(error) => {
                self.reply(reply, Err(DriveError::Params(error.to_string())));
                return;
            }
        };
        let moment = (self.now, self.ttls());
        let fork = Fork::of_history(
            &self.conversation,
            &self.ledger,
            &self.config.prefix,
            &json,
            "Answer with one word.",
            moment,
        );
        let request = Request::streamed(fork.body()).with_betas(&self.betas());
        self.job = Some(Job::KeepAlive(reply));
        let after = self.journal.stored_seq();
        self.ask(
            AskFor::KeepAlive,
            Purpose::KeepAlive,
            request,
            (None, after),
        );
    }

    pub(crate) fn kept_alive(&mut self, answer: Result<Response, Failure>) {
        let reply = match self.job.take() {
            Some(Job::KeepAlive(reply)) => reply,
            other => {
                self.job = other;
                None
            }
        };
        let result = match answer {
            Ok(response) => self.account(Purpose::KeepAlive, &response).map(|()| {
                self.ledger.touched(self.now);
                Reply::KeptAlive(true)
            }),
            Err(failure) => {
                // One failure suffices until a request of the conversation has succeeded: each
                // attempt costs money.
                self.untouchable = true;
                Err(DriveError::Model(Box::new(failure)))
            }
        };
        self.reply_stored(reply, result);
    }
}
