//! Reasons for a missed cache: the first change since an earlier response.
//!
//! # Not here
//! The lookup itself: [`crate::cache`].

use crate::digest::Digest;
use crate::keys::Level;
use crate::prompt::Prompt;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Responses remembered, oldest dropped first: a bound on memory, more than any test compares with.
const REMEMBERED: usize = 1_000;

/// Request behind a response, as far as it is compared.
#[derive(Debug)]
struct Remembered {
    account: Digest,
    model: Arc<str>,
    tools_end: Digest,
    system_end: Digest,
    /// Positions of the messages with the tokens up to each.
    messages: Vec<(Digest, u64)>,
    /// Tokens before the messages, and before the system prompt.
    before_messages: u64,
    before_system: u64,
    tokens: u64,
}

/// The requests behind the last responses.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics {
    by_message: BTreeMap<String, Remembered>,
    order: VecDeque<String>,
}

impl Diagnostics {
    /// Keeps the facts that a later request may be compared with.
    pub(crate) fn remember(
        &mut self,
        id: &str,
        account: Digest,
        model: &Arc<str>,
        prompt: &Prompt,
    ) {
        let before = |level: Level| {
            let earlier = prompt.positions.iter().rev();
            // From the end: the last position before the level has the tokens up to it.
            let mut earlier = earlier.skip_while(|position| position.level >= level);
            earlier.next().map_or(0, |position| position.tokens)
        };
        let messages = prompt
            .positions
            .iter()
            .filter(|position| position.level == Level::Messages)
            .map(|position| (position.digest, position.tokens))
            .collect();
        let remembered = Remembered {
            account,
            model: Arc::clone(model),
            tools_end: prompt.tools_end,
            system_end: prompt.system_end,
            messages,
            before_messages: before(Level::Messages),
            before_system: before(Level::System),
            tokens: prompt.tokens,
        };
        self.by_message.insert(id.to_owned(), remembered);
        self.order.push_back(id.to_owned());
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_message.remove(&oldest);
        }
    }

    /// The response's `diagnostics` for a comparison with an earlier message.
    pub(crate) fn compare(
        &self,
        previous: &str,
        account: Digest,
        model: &str,
        prompt: &Prompt,
    ) -> Value {
        let known = self
            .by_message
            .get(previous)
            // Another account's message is unknown here, as it is at the provider.
            .filter(|known| known.account == account);
        let Some(known) = known else {
            return json!({"cache_miss_reason": {"type": "previous_message_not_found"}});
        };
        let miss = |kind: &str, common: u64| {
            json!({"cache_miss_reason": {
                "type": kind,
                "cache_missed_input_tokens": known.tokens.saturating_sub(common),
            }})
        };
        // In the order of rendering: the first change explains everything behind it.
        if *known.model != *model {
            return miss("model_changed", 0);
        }
        if known.tools_end != prompt.tools_end {
            return miss("tools_changed", 0);
        }
        if known.system_end != prompt.system_end {
            return miss("system_changed", known.before_system);
        }
        let now = prompt
            .positions
            .iter()
            .filter(|position| position.level == Level::Messages);
        let same = known
            .messages
            .iter()
            .zip(now)
            .take_while(|((digest, _), position)| *digest == position.digest)
            .count();
        // Growth alone is no change: the new prompt may be longer.
        if same < known.messages.len() {
            let common = same
                .checked_sub(1)
                .map_or(known.before_messages, |last| known.messages[last].1);
            return miss("messages_changed", common);
        }
        json!({"cache_miss_reason": null})
    }
}
