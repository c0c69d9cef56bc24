//! Absolute dates: those that name their day.

use super::names::{self, Unit};
use super::{Days, Doubt, Form, Hit, Precision, Scanner, calendar};
use jiff::civil::{Date, ISOWeekDate, Time, Weekday};

/// Range in which a number of four digits counts as a year; outside it numbers are ports, sizes or
/// counts.
const YEARS: std::ops::RangeInclusive<u32> = 1900..=2199;
/// Greatest distance in years between a two-digit year and today; a farther one is more likely some
/// other number.
const NEAR_YEARS: i16 = 30;
/// Words after which a dotted number is a version.
const VERSIONS: &[&str] = &[
    "version", "versions", "release", "ver", "rev", "v", "tag", "build", "ip",
];
/// Words after which a day and month alone are a date.
const BEFORE_DAY: &[&str] = &[
    "am", "bis", "ab", "vom", "seit", "den", "dem", "zum", "on", "by", "until", "since",
];
/// Words after which the name of a month alone is a date.
const BEFORE_MONTH: &[&str] = &[
    "in", "im", "by", "since", "until", "till", "seit", "bis", "ab", "during", "for",
];

impl Scanner<'_> {
    pub(super) fn absolute(&self, at: usize) -> Option<Hit> {
        self.year_first(at)
            .or_else(|| self.compact(at))
            .or_else(|| self.year_last(at))
            .or_else(|| self.weekday_and_date(at))
            .or_else(|| self.named(at))
            .or_else(|| self.quarter(at))
    }

    fn year(&self, at: usize) -> Option<i16> {
        let year = self
            .token(at)?
            .number(4..5)
            .filter(|year| YEARS.contains(year))?;
        i16::try_from(year).ok()
    }

    fn small(&self, at: usize) -> Option<i8> {
        i8::try_from(self.token(at)?.number(1..3)?).ok()
    }

    fn glued_mark(&self, at: usize, mark: char) -> bool {
        let glued = |at: usize| self.token(at).is_some_and(|token| token.glued);
        glued(at) && glued(at + 1) && self.token(at).is_some_and(|token| token.is_mark(mark))
    }

    /// Matches `2026-03-12`, `2026/03/12`, `2026-03`, `2026-W11`, `2026年3月12日`.
    fn year_first(&self, at: usize) -> Option<Hit> {
        let year = self.year(at)?;
        if self.word(at + 1) == Some("年") && self.word(at + 3) == Some("月") {
            let month = self.small(at + 2)?;
            if self.word(at + 5) == Some("日") {
                let day = Date::new(year, month, self.small(at + 4)?).ok()?;
                return Some(Hit::day(at + 6, day, Form::Absolute));
            }
            let days = calendar::month(year, month)?;
            return Some(Hit::new(at + 4, days, Precision::Month, Form::Absolute));
        }
        let mark = ['-', '/']
            .into_iter()
            .find(|mark| self.glued_mark(at + 1, *mark))?;
        if mark == '-' && self.word(at + 2) == Some("w") {
            let week = self
                .small(at + 3)
                .filter(|_| self.token(at + 3).is_some_and(|token| token.glued))?;
            let monday = ISOWeekDate::new(year, week, Weekday::Monday).ok()?.date();
            let days = calendar::around(monday, Unit::Week)?;
            return Some(Hit::new(at + 4, days, Precision::Week, Form::Absolute));
        }
        let month = self.small(at + 2)?;
        if self.glued_mark(at + 3, mark) {
            let day = Date::new(year, month, self.small(at + 4)?).ok()?;
            let mut hit = Hit::day(at + 5, day, Form::Absolute);
            if self.word(at + 5) == Some("t")
                && let Some((time, offset, end)) = self.time(at + 6)
            {
                hit.time = Some((time, offset));
                hit.end = end;
            }
            return Some(hit);
        }
        // `2026-3` is a subtraction or a section, `2026/03` a path: only the padded form with a
        // dash counts.
        let padded = self.token(at + 2)?.number(2..3).is_some();
        let days = calendar::month(year, month).filter(|_| padded && mark == '-')?;
        Some(Hit::new(at + 3, days, Precision::Month, Form::Absolute))
    }

    /// Matches `20260312T143000Z`; without the time such a number may be anything.
    fn compact(&self, at: usize) -> Option<Hit> {
        let date = self.token(at)?.number(8..9)?;
        let glued = |at: usize| self.token(at).filter(|token| token.glued);
        let time =
            glued(at + 2).filter(|_| glued(at + 1).and_then(|token| token.word()) == Some("t"))?;
        let time = match time.number(4..5) {
            Some(minutes) => minutes * 100,
            None => time.number(6..7)?,
        };
        let part = |value: u32| i8::try_from(value % 100).ok();
        let time = Time::new(part(time / 10_000)?, part(time / 100)?, part(time)?, 0).ok()?;
        let year = i16::try_from(date / 10_000).ok()?;
        let day = Date::new(year, part(date / 100)?, part(date)?).ok()?;
        let utc = glued(at + 3).and_then(|token| token.word()) == Some("z");
        let mut hit = Hit::day(at + 3 + usize::from(utc), day, Form::Absolute);
        hit.time = Some((time, utc.then_some(jiff::tz::Offset::UTC)));
        Some(hit)
    }

    /// Matches `12.3.2026`, `3/12/26`, `12-03-2026`, `am 12.3.`.
    fn year_last(&self, at: usize) -> Option<Hit> {
        let first = self.small(at)?;
        if self.glued_mark(at + 1, '.')
            || (self.token(at + 1)?.is_mark('.') && self.token(at + 1)?.glued)
        {
            return self.dotted(at, first);
        }
        let mark = ['/', '-']
            .into_iter()
            .find(|mark| self.glued_mark(at + 1, *mark))?;
        let second = self.small(at + 2)?;
        if !self.glued_mark(at + 3, mark) {
            return None;
        }
        let (year, sure) = match self.year(at + 4) {
            Some(year) => (year, true),
            None => (self.short_year(at + 4).filter(|_| mark == '/')?, false),
        };
        // Both orders are in use; two readings are reported as an ambiguity instead of a silent
        // guess.
        let month_first = Date::new(year, first, second).ok();
        let day_first = Date::new(year, second, first).ok();
        let (day, order) = match (month_first, day_first) {
            (Some(taken), Some(other)) if taken != other => {
                (taken, Some(Doubt::Order(Days::one(other))))
            }
            (taken, other) => (taken.or(other)?, None),
        };
        let doubt = order.or((!sure).then_some(Doubt::Year));
        Some(Hit::day(at + 5, day, Form::Absolute).doubting(doubt))
    }

    fn dotted(&self, at: usize, day: i8) -> Option<Hit> {
        let month = self.small(at + 2)?;
        let second_dot = self
            .token(at + 3)
            .is_some_and(|token| token.glued && token.is_mark('.'));
        let before = self.word_before(at);
        if !second_dot || before.is_some_and(|word| VERSIONS.contains(&word)) {
            return None;
        }
        if let Some(year) = self.year(at + 4) {
            let day = Date::new(year, month, day).ok()?;
            return Some(Hit::day(at + 5, day, Form::Absolute));
        }
        // Without a full year, only a preceding word tells a date from a version.
        before.filter(|word| BEFORE_DAY.contains(word))?;
        if self
            .token(at + 4)
            .is_some_and(|token| token.glued && token.number(1..10).is_some())
        {
            let day = Date::new(self.short_year(at + 4)?, month, day).ok()?;
            return Some(Hit::day(at + 5, day, Form::Absolute).doubting(Some(Doubt::Year)));
        }
        let day = calendar::nearest(self.today, month, day)?;
        Some(Hit::day(at + 4, day, Form::Absolute).doubting(Some(Doubt::Year)))
    }

    /// Two digits as a year of this century, not too far from today.
    fn short_year(&self, at: usize) -> Option<i16> {
        let year = 2000 + i16::try_from(self.token(at)?.number(2..3)?).ok()?;
        (year - self.today.year())
            .abs()
            .le(&NEAR_YEARS)
            .then_some(year)
    }

    /// Matches a weekday before a date: `Thursday, 12 March 2026`, `Do., 12.3.2026`.
    fn weekday_and_date(&self, at: usize) -> Option<Hit> {
        let word = self.word(at)?;
        // In lower case the short forms are words: "do", "so".
        let short = || names::short_weekday(word).filter(|_| self.tokens[at].is_capitalised());
        let weekday = names::weekday(word).or_else(short)?;
        let mut next = self.skip_mark(at + 1, '.');
        next = self.skip_mark(next, ',');
        next = self
            .skip_word(next, &["the", "der", "den", "dem"])
            .unwrap_or(next);
        let hit = self
            .year_first(next)
            .or_else(|| self.year_last(next))
            .or_else(|| self.named(next))?;
        let fits = hit.days.first.weekday() == weekday;
        // A matching weekday resolves an ambiguity, possibly in favour of the other reading.
        match hit.doubt {
            _ if hit.precision != Precision::Day => None,
            Some(Doubt::Order(_) | Doubt::Year) | None if fits => Some(hit.doubting(None)),
            Some(Doubt::Order(other)) if other.first.weekday() == weekday => {
                Some(Hit::day(hit.end, other.first, Form::Absolute))
            }
            _ => Some(hit.doubting(Some(Doubt::Weekday))),
        }
    }

    /// Matches dates with the name of a month.
    fn named(&self, at: usize) -> Option<Hit> {
        self.day_month(at)
            .or_else(|| self.month_day(at))
            .or_else(|| self.month_alone(at))
    }

    /// Month at a position, its name possibly abbreviated with a dot. Some names are words as well
    /// ("may", "march"); callers therefore require a capital or a year.
    fn month_name(&self, at: usize) -> Option<(i8, usize)> {
        let month = names::month(self.word(at)?)?;
        let short = self.token(at)?.text.chars().count() <= 4;
        Some((
            month,
            if short {
                self.skip_glued_dot(at + 1)
            } else {
                at + 1
            },
        ))
    }

    fn skip_glued_dot(&self, at: usize) -> usize {
        at + usize::from(
            self.token(at)
                .is_some_and(|token| token.glued && token.is_mark('.')),
        )
    }

    /// Day of a month with its ending: `12`, `12th`, `12.`.
    fn ordinal(&self, at: usize) -> Option<(i8, usize)> {
        let day = self.small(at).filter(|day| (1..=31).contains(day))?;
        let ending = self.token(at + 1).filter(|token| token.glued);
        let ended = ending.is_some_and(|token| {
            token.is_mark('.')
                || token
                    .word()
                    .is_some_and(|word| matches!(word, "st" | "nd" | "rd" | "th"))
        });
        Some((day, at + 1 + usize::from(ended)))
    }

    /// Matches `12 March 2026`, `12th of March`, `12. März`, `12–14 March 2026`.
    fn day_month(&self, at: usize) -> Option<Hit> {
        let (first, mut next) = self.ordinal(at)?;
        let mut last = first;
        let dash = self
            .token(next)
            .is_some_and(|token| token.is_mark('-') || token.is_mark('–'));
        if dash && let Some((day, end)) = self.ordinal(next + 1) {
            (last, next) = (day, end);
        }
        let next = self.skip_word(next, &["of"]).unwrap_or(next);
        let (month, end) = self.month_name(next)?;
        let comma = self.skip_mark(end, ',');
        self.with_year(
            month,
            first,
            last,
            self.year(comma)
                .map_or((None, end), |year| (Some(year), comma + 1)),
            next,
        )
    }

    /// Matches `March 12, 2026`, `Mar. 12th`.
    fn month_day(&self, at: usize) -> Option<Hit> {
        let (month, next) = self.month_name(at)?;
        let next = self.skip_word(next, &["the"]).unwrap_or(next);
        let (first, mut next) = self.ordinal(next)?;
        let mut last = first;
        let dash = self
            .token(next)
            .is_some_and(|token| token.is_mark('-') || token.is_mark('–'));
        if dash && let Some((day, end)) = self.ordinal(next + 1) {
            (last, next) = (day, end);
        }
        let comma = self.skip_mark(next, ',');
        let year = self
            .year(comma)
            .map_or((None, next), |year| (Some(year), comma + 1));
        // "Mar 12:30" is a time, no day.
        if self
            .token(next)
            .is_some_and(|token| token.glued && token.is_mark(':'))
        {
            return None;
        }
        self.with_year(month, first, last, year, at)
    }

    fn with_year(
        &self,
        month: i8,
        first: i8,
        last: i8,
        year: (Option<i16>, usize),
        name: usize,
    ) -> Option<Hit> {
        let (year, end) = year;
        let (day, doubt) = match year {
            Some(year) => (Date::new(year, month, first).ok()?, None),
            None if !self.token(name)?.is_capitalised() => return None,
            None => (
                calendar::nearest(self.today, month, first)?,
                Some(Doubt::Year),
            ),
        };
        if first == last {
            return Some(Hit::day(end, day, Form::Absolute).doubting(doubt));
        }
        let last = Date::new(day.year(), month, last)
            .ok()
            .filter(|last| *last > day)?;
        let days = Days { first: day, last };
        Some(Hit::new(end, days, Precision::Span, Form::Absolute).doubting(doubt))
    }

    /// Matches `March 2026`, and `in March` with the nearest year.
    fn month_alone(&self, at: usize) -> Option<Hit> {
        let (end, days, doubt) = self.whole_month(at)?;
        let led = self
            .word_before(at)
            .is_some_and(|word| BEFORE_MONTH.contains(&word));
        // After a number it is a day that does not exist: "30 February 2026".
        let behind_figure = at
            .checked_sub(1)
            .is_some_and(|before| self.small(before).is_some());
        (!behind_figure && (doubt.is_none() || led))
            .then(|| Hit::new(end, days, Precision::Month, Form::Absolute).doubting(doubt))
    }

    /// Month with or without its year, also for "end of March".
    pub(super) fn whole_month(&self, at: usize) -> Option<(usize, Days, Option<Doubt>)> {
        let (month, next) = self.month_name(at)?;
        let year = self.skip_word(next, &["of"]).unwrap_or(next);
        let year = self.skip_mark(year, ',');
        if let Some(found) = self.year(year) {
            return Some((year + 1, calendar::month(found, month)?, None));
        }
        let capital = self.token(at)?.is_capitalised();
        // The middle of the month decides which year is nearest.
        let middle = calendar::nearest(self.today, month, 15).filter(|_| capital)?;
        Some((
            at + 1,
            calendar::around(middle, Unit::Month)?,
            Some(Doubt::Year),
        ))
    }

    /// Matches `Q1 2026`, `Q3/2026`.
    fn quarter(&self, at: usize) -> Option<Hit> {
        let quarter = self
            .small(at + 1)
            .filter(|quarter| (1..=4).contains(quarter))?;
        let glued = self.token(at + 1)?.glued;
        if self.word(at) != Some("q") || !glued {
            return None;
        }
        let next = self.skip_mark(at + 2, '/');
        let first = Date::new(self.year(next)?, quarter * 3 - 2, 1).ok()?;
        let days = calendar::around(first, Unit::Quarter)?;
        Some(Hit::new(next + 1, days, Precision::Quarter, Form::Absolute))
    }
}
