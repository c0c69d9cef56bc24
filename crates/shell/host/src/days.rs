//! Days as the user's machine counts them.
//!
//! # Model
//! A [`Calendar`] is the machine's time zone: the variable `TZ`, else the system's own, else
//! universal time. It says on which day a moment fell.
//!
//! # Not here
//! Dates in memories, which are in universal time so that machines of a team agree.

use crate::host::Host;
use dormouse_core::units::Millis;
use dormouse_system::System;
use dormouse_text::dates::{Days, Doubt, dates};
use jiff::Timestamp;
use jiff::ToSpan as _;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::path::Path;

/// File that holds the zone of the machine.
const LOCAL: &str = "/etc/localtime";
/// Folder of all zones by name.
const ZONES: &str = "/usr/share/zoneinfo";
/// Upper bound in bytes on such a file; the longest have some four thousand.
const LONGEST_ZONE: u64 = 1 << 20;

/// The machine's time zone.
#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    zone: TimeZone,
}

impl Calendar {
    pub(crate) fn of(system: &System) -> Self {
        let named = system.env.text("TZ").filter(|name| !name.is_empty());
        let zone = match named {
            Some(name) => named_zone(system, name.trim_start_matches(':')),
            None => zone_file(system, Path::new(LOCAL)),
        };
        Self {
            zone: zone.unwrap_or(TimeZone::UTC),
        }
    }

    /// The day of a moment.
    pub(crate) fn day(&self, at: Millis) -> Date {
        // Moments beyond what calendars hold become the epoch; no clock shows them.
        let at = Timestamp::from_millisecond(at.0).unwrap_or_default();
        at.to_zoned(self.zone.clone()).date()
    }
}

fn named_zone(system: &System, name: &str) -> Option<TimeZone> {
    // A name that leads elsewhere is joined as it is: `TZ` may be an absolute path.
    let by_name = zone_file(system, &Path::new(ZONES).join(name));
    by_name.or_else(|| TimeZone::posix(name).ok())
}

fn zone_file(system: &System, path: &Path) -> Option<TimeZone> {
    let rules = system.files.read(path, LONGEST_ZONE).ok()?;
    TimeZone::tzif(&path.to_string_lossy(), &rules).ok()
}

impl Host {
    /// The days that a person means when looking back: `2027-03-15`, `yesterday`, `last week`,
    /// `friday`, `30 days`. `None` if the text is no date, or more than one.
    pub fn days_meant(&self, text: &str) -> Option<(Date, Date)> {
        let today = Calendar::of(self.system()).day(self.now());
        let text = text.trim();
        if let Ok(day) = text.parse() {
            return Some((day, day));
        }
        if let Some(days) = days_back(text) {
            let day = today.checked_sub(days.days()).ok()?;
            return Some((day, day));
        }
        match dates(text, today).as_slice() {
            // The whole text, so that a stray word is not silently dropped.
            [date] if date.range == (0..text.len()) => {
                let other = match date.doubt {
                    Some(Doubt::Order(days) | Doubt::Which(days)) => Some(days),
                    _ => None,
                };
                // Money was spent in the past: of two readings the earlier one is meant.
                let Days { first, last } = other
                    .filter(|other| date.days.first > today && other.first <= today)
                    .unwrap_or(date.days);
                Some((first, last))
            }
            _ => None,
        }
    }
}

/// A number of days or weeks, as in `7d`, `30 days`, `2 weeks`.
fn days_back(text: &str) -> Option<i64> {
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(split);
    let number: i64 = number.parse().ok()?;
    match unit.trim() {
        "d" | "day" | "days" => Some(number),
        "w" | "week" | "weeks" => number.checked_mul(7),
        _ => None,
    }
}
