//! Cache markers of a request: number, order, and position of the automatic one.
//!
//! # Not here
//! Reading a marker: [`crate::blocks::Ttl`].

use crate::blocks::Ttl;
use crate::error::ApiError;
use crate::prompt::Item;

/// Markers of one request, by the provider's rule.
const MOST_MARKERS: usize = 4;

/// Checks the markers and places the automatic one, if asked for.
pub(crate) fn settle(items: &mut [Item<'_>], auto: Option<Ttl>) -> Result<(), ApiError> {
    let found = items.iter().filter(|item| item.marker.is_some()).count();
    if found > MOST_MARKERS {
        return Err(ApiError::too_many_markers(found));
    }
    if let Some(ttl) = auto {
        place_automatic(items, ttl, found)?;
    }
    let mut short_seen = false;
    for item in items.iter() {
        match item.marker {
            Some(Ttl::FiveMinutes) => short_seen = true,
            // A longer lifetime after a shorter one is refused by the provider, and billed by
            // position.
            Some(Ttl::OneHour) if short_seen => {
                return Err(ApiError::ttl_order(&item.place.to_string()));
            }
            Some(Ttl::OneHour) | None => {}
        }
    }
    Ok(())
}

fn place_automatic(items: &mut [Item<'_>], ttl: Ttl, explicit: usize) -> Result<(), ApiError> {
    // Thinking and empty texts take no marker; the provider looks further back.
    let Some(last) = items.iter_mut().rev().find(|item| item.kind.takes_marker()) else {
        return Ok(());
    };
    match last.marker {
        // The block is marked already; a second marker would count twice.
        Some(own) if own == ttl => Ok(()),
        Some(_) => Err(ApiError::invalid(format!(
            "cache_control.ttl: the ttl differs from that of the cache_control at {}, the last \
             block that can be cached",
            last.place
        ))),
        // The automatic marker counts among the four.
        None if explicit >= MOST_MARKERS => Err(ApiError::too_many_markers(explicit + 1)),
        None => {
            last.marker = Some(ttl);
            Ok(())
        }
    }
}
