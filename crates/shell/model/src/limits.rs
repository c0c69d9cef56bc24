//! The account's limits and the server's hints in the head of a reply.
//!
//! # Not here
//! Acting on them: [`dormouse_ask::retry`].

use dormouse_ask::{RateLimit, RateLimits};
use dormouse_core::units::Millis;
use hyper::HeaderMap;
use std::time::Duration;

/// Reads the limits from the head of a reply.
pub(crate) fn read(headers: &HeaderMap) -> RateLimits {
    RateLimits {
        requests: limit(headers, "requests"),
        tokens: limit(headers, "tokens"),
        input_tokens: limit(headers, "input-tokens"),
        output_tokens: limit(headers, "output-tokens"),
        unified_status: text(headers, "anthropic-ratelimit-unified-status").map(str::to_owned),
    }
}

/// Both families of names: `anthropic-ratelimit-requests-limit`, `x-ratelimit-limit-requests`.
fn limit(headers: &HeaderMap, what: &str) -> Option<RateLimit> {
    let get = |part: &str| {
        // One server sends one family; the provider's own is asked for first.
        text(headers, &format!("anthropic-ratelimit-{what}-{part}"))
            .or_else(|| text(headers, &format!("x-ratelimit-{part}-{what}")))
    };
    let limit = RateLimit {
        limit: get("limit").and_then(|value| value.parse().ok()),
        remaining: get("remaining").and_then(|value| value.parse().ok()),
        reset: get("reset").and_then(Millis::parse),
    };
    // No header means that the server reports no limits, not that they are zero.
    (limit != RateLimit::default()).then_some(limit)
}

pub(crate) fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// The server's wish for a pause: `retry-after-ms` first, then `retry-after` in seconds. The form
/// with a date is not used by any provider and would need a clock.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| -> Option<f64> {
        let value: f64 = text(headers, name)?.parse().ok()?;
        // A negative or absurd pause is no hint; as a `Duration` it would panic.
        (0.0..1e9).contains(&value).then_some(value)
    };
    // The finer one first, where a server sends both.
    number("retry-after-ms")
        .map(|ms| Duration::from_secs_f64(ms / 1_000.0))
        .or_else(|| number("retry-after").map(Duration::from_secs_f64))
}

/// The server's opinion on sending the request again.
pub(crate) fn should_retry(headers: &HeaderMap) -> Option<bool> {
    match text(headers, "x-should-retry")? {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{HeaderName, HeaderValue};
    use pretty_assertions::assert_eq;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| {
                let name = HeaderName::from_static(name);
                (name, HeaderValue::from_static(value))
            })
            .collect()
    }

    #[test]
    fn milliseconds_beat_seconds_and_nonsense_is_no_hint() {
        let cases = [
            (vec![("retry-after", "3")], Some(3_000)),
            (vec![("retry-after", "0.5")], Some(500)),
            (
                vec![("retry-after", "3"), ("retry-after-ms", "20")],
                Some(20),
            ),
            (vec![("retry-after", "-1")], None),
            (vec![("retry-after", "inf")], None),
            (vec![("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")], None),
            (vec![], None),
        ];
        for (pairs, expected) in cases {
            let expected = expected.map(Duration::from_millis);
            assert_eq!(retry_after(&headers(&pairs)), expected, "{pairs:?}");
        }
    }

    #[test]
    fn both_families_of_limit_headers_are_read() {
        let limits = read(&headers(&[
            ("anthropic-ratelimit-requests-limit", "50"),
            ("anthropic-ratelimit-requests-remaining", "49"),
            ("anthropic-ratelimit-requests-reset", "2026-11-15T10:00:00Z"),
            ("x-ratelimit-remaining-tokens", "1000"),
            ("anthropic-ratelimit-unified-status", "allowed"),
        ]));
        let expected = RateLimits {
            requests: Some(RateLimit {
                limit: Some(50),
                remaining: Some(49),
                reset: Millis::parse("2026-11-15T10:00:00Z"),
            }),
            tokens: Some(RateLimit {
                remaining: Some(1_000),
                ..RateLimit::default()
            }),
            unified_status: Some("allowed".to_owned()),
            ..RateLimits::default()
        };
        assert_eq!(limits, expected);
    }
}
