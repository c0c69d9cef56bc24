//! Rate limits: buckets that refill evenly over a minute of the caller's time.
//!
//! # Not here
//! The figures: [`crate::Limits`].

use crate::config::Limits;
use crate::digest::Digest;
use crate::error::{ApiError, ErrorKind};
use dormouse_core::show::Grouped;
use dormouse_core::units::Millis;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Milliseconds of a minute, the period of every limit.
const MINUTE: u64 = 60_000;

/// One bucket; its level is kept in sixty-thousandths, which refill one `limit` per millisecond.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    limit: u64,
    level: u64,
    at: Millis,
}

impl Bucket {
    fn new(limit: u64, now: Millis) -> Self {
        Self {
            limit,
            level: limit.saturating_mul(MINUTE),
            at: now,
        }
    }

    fn refill(&mut self, now: Millis) {
        let full = self.limit.saturating_mul(MINUTE);
        let gained = now.since(self.at).saturating_mul(self.limit);
        self.level = self.level.saturating_add(gained).min(full);
        // Never back: a clock set back must not refill the same minute twice.
        self.at = self.at.max(now);
    }

    fn remaining(&self) -> u64 {
        self.level / MINUTE
    }

    /// Milliseconds until `amount` is there; a full minute if it never is.
    fn wait(&self, amount: u64) -> Option<u64> {
        let missing = amount.saturating_mul(MINUTE).saturating_sub(self.level);
        // More than a full bucket never fits; a minute is the longest useful wait.
        (missing > 0).then(|| missing.div_ceil(self.limit.max(1)).min(MINUTE))
    }

    fn take(&mut self, amount: u64) {
        self.level = self.level.saturating_sub(amount.saturating_mul(MINUTE));
    }

    fn reset(&self) -> Millis {
        let missing = self.limit.saturating_mul(MINUTE) - self.level;
        let wait = missing.div_ceil(self.limit.max(1));
        Millis(self.at.0.saturating_add(i64::try_from(wait).unwrap_or(0)))
    }
}

/// Quantity that an account is limited in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Requests,
    InputTokens,
    OutputTokens,
    CountRequests,
}

impl Kind {
    const fn header(self) -> &'static str {
        match self {
            Self::Requests | Self::CountRequests => "requests",
            Self::InputTokens => "input-tokens",
            Self::OutputTokens => "output-tokens",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Requests | Self::CountRequests => "requests",
            Self::InputTokens => "input tokens",
            Self::OutputTokens => "output tokens",
        }
    }
}

/// The buckets of all accounts.
#[derive(Debug)]
pub(crate) struct LimitStore {
    limits: Limits,
    buckets: BTreeMap<(Digest, Kind), Bucket>,
}

/// Names for the error text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names<'a> {
    pub(crate) organisation: &'a str,
    pub(crate) model: &'a str,
}

impl LimitStore {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            buckets: BTreeMap::new(),
        }
    }

    fn limit(&self, kind: Kind) -> Option<u64> {
        match kind {
            Kind::Requests => self.limits.requests,
            Kind::InputTokens => self.limits.input_tokens,
            Kind::OutputTokens => self.limits.output_tokens,
            Kind::CountRequests => self.limits.count_requests,
        }
    }

    /// Takes all amounts, or none and names the limit in the way.
    pub(crate) fn take(
        &mut self,
        account: Digest,
        amounts: &[(Kind, u64)],
        now: Millis,
        names: Names<'_>,
    ) -> Result<(), ApiError> {
        for (kind, amount) in amounts {
            let Some(limit) = self.limit(*kind) else {
                continue;
            };
            let bucket = self
                .buckets
                .entry((account, *kind))
                .or_insert_with(|| Bucket::new(limit, now));
            bucket.refill(now);
            if let Some(wait) = bucket.wait(*amount) {
                return Err(refusal(*kind, limit, wait, names));
            }
        }
        // Only after all checks: a request that is refused must not cost anything.
        for (kind, amount) in amounts {
            self.charge(account, *kind, *amount);
        }
        Ok(())
    }

    /// Takes an amount that has been used already, even if that empties the bucket.
    pub(crate) fn charge(&mut self, account: Digest, kind: Kind, amount: u64) {
        // Without a limit there is no bucket, and nothing to charge.
        if let Some(bucket) = self.buckets.get_mut(&(account, kind)) {
            bucket.take(amount);
        }
    }

    /// The headers every response of this account carries.
    pub(crate) fn headers(&self, account: Digest) -> Vec<(Cow<'static, str>, String)> {
        let mut headers = Vec::new();
        for kind in [Kind::Requests, Kind::InputTokens, Kind::OutputTokens] {
            if let Some(bucket) = self.buckets.get(&(account, kind)) {
                let name =
                    |part| Cow::Owned(format!("anthropic-ratelimit-{}-{part}", kind.header()));
                headers.push((name("limit"), bucket.limit.to_string()));
                headers.push((name("remaining"), bucket.remaining().to_string()));
                headers.push((name("reset"), bucket.reset().to_string()));
            }
        }
        headers
    }
}

fn refusal(kind: Kind, limit: u64, wait: u64, names: Names<'_>) -> ApiError {
    let message = format!(
        "This request would exceed your organization's rate limit of {} {} per minute (org: {}, \
         model: {}). Wait as long as the header retry-after says, or send less.",
        Grouped(limit),
        kind.words(),
        names.organisation,
        names.model
    );
    ApiError {
        // Rounded up: a client that waits exactly as long must succeed.
        retry_after: Some(wait.div_ceil(1_000)),
        ..ApiError::new(ErrorKind::RateLimit, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const NAMES: Names<'_> = Names {
        organisation: "org",
        model: "model",
    };

    #[test]
    fn a_bucket_refills_evenly() {
        let mut store = LimitStore::new(Limits {
            requests: Some(2),
            ..Limits::default()
        });
        let account = Digest::of(b"a");
        let mut take = |at: i64| {
            let taken = store.take(account, &[(Kind::Requests, 1)], Millis(at), NAMES);
            taken.map_err(|error| error.retry_after)
        };
        assert_eq!(take(0), Ok(()));
        assert_eq!(take(0), Ok(()));
        assert_eq!(take(0), Err(Some(30)));
        assert_eq!(take(29_999), Err(Some(1)));
        assert_eq!(take(30_000), Ok(()));
        assert_eq!(take(30_001), Err(Some(30)));
    }
}
