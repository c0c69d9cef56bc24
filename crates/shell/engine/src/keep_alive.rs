//! A one-token request just before the cache expires, where it pays.

use crate::error::EngineError;
use crate::ports::Purpose;
use crate::session::Session;
use dormouse_context::economy::{Decision, KeepAlive, keep_alive_worth};
use dormouse_context::fork::Fork;
use dormouse_core::record::Ttl;
use dormouse_core::settings::keys;
use dormouse_core::units::Tokens;
use dormouse_model::Request;

impl Session {
    /// Whether keeping the cache warm would pay, from the pauses this session has had. Nothing
    /// unless the setting `cache.keep_alive` is on.
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
        let chance = match ttls.messages {
            Ttl::FiveMinutes => share(gaps.middle, gaps.middle + gaps.long),
            Ttl::OneHour => share(gaps.long, gaps.short + gaps.middle + gaps.long),
        };
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

    /// Touches the cache with a request for one token, if that pays. Says whether it was sent.
    ///
    /// # Errors
    /// When the model does not answer.
    pub async fn keep_alive(&mut self) -> Result<bool, EngineError> {
        let worth = self.keep_alive_decision().is_some_and(|it| it.act);
        if !worth || self.is_cold() || self.conversation.view().frozen().is_empty() {
            return Ok(false);
        }
        let params = self.config.params.clone().set("max_tokens", &1_u64);
        let params = params.map_err(EngineError::Params)?;
        let json = params.to_json().map_err(EngineError::Params)?;
        let moment = (self.now(), self.ttls());
        let fork = Fork::of_history(
            &self.conversation,
            &self.ledger,
            &self.config.prefix,
            &json,
            "Answer with one word.",
            moment,
        );
        let request = Request::streamed(fork.body()).with_betas(&self.betas());
        let stream = self.ports.asker.ask(Purpose::Fork, request);
        stream.finish().await?;
        self.ledger.touched(self.now());
        Ok(true)
    }
}
