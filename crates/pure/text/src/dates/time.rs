//! Times of day after a date.

use super::names::PARTS_OF_DAY;
use super::{Hit, Scanner};
use jiff::civil::Time;
use jiff::tz::Offset;

impl Scanner<'_> {
    /// Extends a match by "…, 14:30", "… at 3 pm", "…T14:30:00Z", "… um 14 Uhr", "… morning".
    pub(super) fn attach_time(&self, hit: &mut Hit) {
        if let Some(end) = self.skip_word(hit.end, PARTS_OF_DAY) {
            hit.end = end;
        }
        let at = self.skip_mark(hit.end, ',');
        let at = self.skip_word(at, &["at", "um", "gegen"]).unwrap_or(at);
        if let Some((time, offset, end)) = self.time(at)
            && self.stands_free_behind(end)
        {
            hit.time = Some((time, offset));
            hit.end = end;
        }
    }

    /// Time with its offset, and the position after it.
    pub(super) fn time(&self, at: usize) -> Option<(Time, Option<Offset>, usize)> {
        let hour = self.token(at)?.number(1..3)?;
        let clock = self.minutes(at + 1, ':').or_else(|| {
            // "14.30 Uhr": a dot counts only if the word follows, since "14.30" alone may be a
            // price.
            self.minutes(at + 1, '.')
                .filter(|(_, end)| self.word(*end) == Some("uhr"))
        });
        let (minute, mut end) = clock.unwrap_or((0, at + 1));
        let mut second = 0;
        if clock.is_some()
            && let Some((value, behind)) = self.minutes(end, ':')
        {
            second = value;
            end = behind;
            // Fractions of a second are skipped.
            if self
                .token(end)
                .is_some_and(|token| token.glued && token.is_mark('.'))
                && self
                    .token(end + 1)
                    .is_some_and(|token| token.glued && token.number(1..10).is_some())
            {
                end += 2;
            }
        }
        let (hour, end) = self.half_of_day(hour, clock.is_some(), end)?;
        let time = Time::new(i8::try_from(hour).ok()?, minute, second, 0).ok()?;
        let (offset, end) = self.offset(end);
        Some((time, offset, end))
    }

    /// Mark followed by two digits.
    fn minutes(&self, at: usize, mark: char) -> Option<(i8, usize)> {
        let marked = self
            .token(at)
            .is_some_and(|token| token.glued && token.is_mark(mark));
        let digits = self
            .token(at + 1)
            .filter(|token| token.glued)?
            .number(2..3)?;
        marked.then_some((i8::try_from(digits).ok()?, at + 2))
    }

    /// Hour from 0 to 23; without minutes, "am", "pm" or "Uhr" is required.
    fn half_of_day(&self, hour: u32, has_minutes: bool, at: usize) -> Option<(u32, usize)> {
        match self.word(at) {
            Some("am") if (1..=12).contains(&hour) => Some((hour % 12, at + 1)),
            Some("pm") if (1..=12).contains(&hour) => Some((hour % 12 + 12, at + 1)),
            Some("uhr") => Some((hour, at + 1)),
            _ => has_minutes.then_some((hour, at)),
        }
    }

    /// UTC offset: "Z", "UTC", "+02:00", "-0530".
    fn offset(&self, at: usize) -> (Option<Offset>, usize) {
        if let Some(end) = self.skip_word(at, &["z", "utc", "gmt"]) {
            return (Some(Offset::UTC), end);
        }
        self.signed_offset(at)
            .map_or((None, at), |(offset, end)| (Some(offset), end))
    }

    fn signed_offset(&self, at: usize) -> Option<(Offset, usize)> {
        let sign = self.token(at).filter(|token| token.glued)?;
        let sign = match (sign.is_mark('+'), sign.is_mark('-')) {
            (true, _) => 1,
            (_, true) => -1,
            _ => return None,
        };
        let digits = self.token(at + 1).filter(|token| token.glued)?;
        let (hours, minutes, end) = if let Some(both) = digits.number(4..5) {
            (both / 100, both % 100, at + 2)
        } else {
            let hours = digits.number(2..3)?;
            let (minutes, end) = self.minutes(at + 2, ':').unwrap_or((0, at + 2));
            (hours, u32::try_from(minutes).ok()?, end)
        };
        let seconds = i32::try_from(hours * 3_600 + minutes * 60).ok()?;
        Some((Offset::from_seconds(sign * seconds).ok()?, end))
    }
}
