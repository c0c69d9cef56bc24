//! Placement and lifetime of cache markers.

use super::{MOST_MARKERS, Shape};
use dormouse_core::models::PriceSet;
use dormouse_core::record::{Gaps, Marker, MarkerPlace, Ttl};
use dormouse_core::units::Tokens;

/// Lifetimes of cache entries by place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkerTtls {
    /// Lifetime on tools, system and instruction fragments (`cache.ttl.prefix`).
    pub prefix: Ttl,
    /// Lifetime on messages (`cache.ttl.messages`, or chosen by [`message_ttl`]).
    pub messages: Ttl,
}

/// Places at most four markers: on the tools or the system, on the end of the prefix, on the
/// previous request's last marker, and on the last segment that takes one.
///
/// The marker on the previous place keeps its entry within the lookback, however many blocks were
/// added since; this covers long turns, forks and resumed sessions.
pub(super) fn place(shape: &Shape, previous: Option<MarkerPlace>, ttls: MarkerTtls) -> Vec<Marker> {
    let last = (0..shape.segments.len())
        .rev()
        .find(|at| shape.takes_marker(*at))
        .map(|at| MarkerPlace::Segment(at as u64));
    let previous =
        previous.filter(|place| Some(*place) != last && matches!(place, MarkerPlace::Segment(_)));
    let end_of = |parts: usize| {
        u32::try_from(parts)
            .ok()
            .and_then(|parts| parts.checked_sub(1))
    };
    let prefix = [
        end_of(shape.prefix.tools().len()).map(MarkerPlace::Tool),
        end_of(shape.prefix.system().len()).map(MarkerPlace::System),
        end_of(shape.prefix.fragments().len()).map(MarkerPlace::Fragment),
    ];
    let prefix: Vec<MarkerPlace> = prefix.into_iter().flatten().collect();
    let messages: Vec<MarkerPlace> = previous.into_iter().chain(last).collect();
    // If room is short, the end of the prefix is kept: it covers everything in front of it.
    let room = MOST_MARKERS - messages.len();
    let prefix = prefix
        .into_iter()
        .rev()
        .take(room)
        .collect::<Vec<_>>()
        .into_iter()
        .rev();
    // The API refuses an entry with a longer lifetime behind one with a shorter lifetime.
    let prefix_ttl = ttls.prefix.max(if messages.is_empty() {
        ttls.prefix
    } else {
        ttls.messages
    });
    let prefix = prefix.map(|place| Marker {
        place,
        ttl: prefix_ttl,
    });
    let messages = messages.into_iter().map(|place| Marker {
        place,
        ttl: ttls.messages,
    });
    prefix.chain(messages).collect()
}

/// Cheaper lifetime on messages, from the pauses that the session has had.
///
/// An hour costs more for every new token; it saves writing the whole prompt again after each pause
/// between five minutes and an hour.
pub fn message_ttl(gaps: &Gaps, prompt: Tokens, growth: Tokens, prices: &PriceSet) -> Ttl {
    /// Least number of pauses to judge by. Below ten, one long pause would decide.
    const EVIDENCE: u64 = 10;
    let requests = gaps.short + gaps.middle + gaps.long;
    if requests < EVIDENCE {
        return Ttl::FiveMinutes;
    }
    // A pause of five minutes to an hour loses the short entry and keeps the long one.
    let rewritten = prices.write_5m.of(prompt) - prices.read.of(prompt);
    let dearer = prices.write_1h.of(growth) - prices.write_5m.of(growth);
    let saved = rewritten.pico().saturating_mul(i128::from(gaps.middle));
    let paid = dearer.pico().saturating_mul(i128::from(requests));
    if saved > paid {
        Ttl::OneHour
    } else {
        Ttl::FiveMinutes
    }
}
