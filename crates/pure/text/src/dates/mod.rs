//! Finding dates and saying which days they mean.
//!
//! # Model
//! The text is cut into words, numbers and marks (`lex`); at each of them the rules for absolute
//! (`absolute`) and relative (`relative`) dates are tried, and the longest that fits is a
//! [`Mention`]: a range of the text, the days it means, how exact that is, and what is in doubt.
//! Relative dates are counted from `today`, the day the text was written. Weeks begin on Monday.
//!
//! Words are known in English and German; figures in the usual orders. What stands inside a
//! version, an address, a path, a call or an identifier is no date: figures and words must stand
//! free.
//!
//! # Not here
//! Durations ("took two weeks"), vague words ("soon", "a few days ago"), years alone, times without
//! a date, recurring dates ("every Monday"), time zones other than an offset.

mod absolute;
mod calendar;
mod lex;
mod names;
mod relative;
mod time;

pub(crate) use names::starts_with_month;

use jiff::civil::{Date, Time};
use jiff::tz::Offset;
use lex::{Token, tokens};
use std::ops::Range;

/// Days from the first to the last, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Days {
    /// The first day.
    pub first: Date,
    /// The last day, not before the first.
    pub last: Date,
}

impl Days {
    fn one(day: Date) -> Self {
        Self {
            first: day,
            last: day,
        }
    }
}

/// How exact a date is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Precision {
    /// A time of a day.
    Time,
    /// A day.
    Day,
    /// A week, or a day counted in weeks.
    Week,
    /// A month, or a day counted in months.
    Month,
    /// A quarter of a year.
    Quarter,
    /// A year, or a day counted in years.
    Year,
    /// Some other span of days.
    Span,
}

/// Whether a date depends on when the text was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// It does not.
    Absolute,
    /// It is counted from that day.
    Relative,
}

/// Why a date may mean other days than those given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Doubt {
    /// Day and month can be read the other way round; month first was taken.
    Order(Days),
    /// The year, or its century, is not given; the nearest was taken.
    Year,
    /// Usage differs ("next Friday"), or the direction is open ("Friday").
    Which(Days),
    /// The weekday does not fit the date.
    Weekday,
}

/// A date in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// Where it is.
    pub range: Range<usize>,
    /// The days it means, as well as can be told.
    pub days: Days,
    /// The time of the day, if given.
    pub time: Option<Time>,
    /// The offset of that time from universal time, if given.
    pub offset: Option<Offset>,
    /// How exact it is.
    pub precision: Precision,
    /// Whether it depends on `today`.
    pub form: Form,
    /// What is in doubt.
    pub doubt: Option<Doubt>,
}

/// The dates of a text in order. They do not overlap.
pub fn dates(text: &str, today: Date) -> Vec<Mention> {
    let scanner = Scanner {
        text,
        tokens: tokens(text),
        today,
    };
    let mut mentions = Vec::new();
    let mut at = 0;
    while at < scanner.tokens.len() {
        if let Some((end, mention)) = scanner.mention(at) {
            mentions.push(mention);
            at = end;
        } else {
            at += 1;
        }
    }
    mentions
}

/// What a rule found: the token behind it, and what it means.
#[derive(Clone, Debug)]
struct Hit {
    end: usize,
    days: Days,
    precision: Precision,
    form: Form,
    doubt: Option<Doubt>,
    time: Option<(Time, Option<Offset>)>,
}

impl Hit {
    fn new(end: usize, days: Days, precision: Precision, form: Form) -> Self {
        Self {
            end,
            days,
            precision,
            form,
            doubt: None,
            time: None,
        }
    }

    fn day(end: usize, day: Date, form: Form) -> Self {
        Self::new(end, Days::one(day), Precision::Day, form)
    }

    fn doubting(mut self, doubt: Option<Doubt>) -> Self {
        self.doubt = doubt;
        self
    }
}

/// The tokens of a text, and the rules as methods.
struct Scanner<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    today: Date,
}

impl<'a> Scanner<'a> {
    fn mention(&self, at: usize) -> Option<(usize, Mention)> {
        if !self.stands_free_before(at) {
            return None;
        }
        let rules = [self.absolute(at), self.relative(at)];
        let hits = rules
            .into_iter()
            .flatten()
            .filter(|hit| self.stands_free_behind(hit.end));
        // The first of equals: absolute before relative.
        let mut hit = hits.reduce(|a, b| if b.end > a.end { b } else { a })?;
        if hit.time.is_none() && hit.precision == Precision::Day {
            self.attach_time(&mut hit);
        }
        let last = self.tokens.get(hit.end.checked_sub(1)?)?;
        let mention = Mention {
            range: self.tokens[at].range.start..last.range.end,
            days: hit.days,
            time: hit.time.map(|(time, _)| time),
            offset: hit.time.and_then(|(_, offset)| offset),
            precision: if hit.time.is_some() {
                Precision::Time
            } else {
                hit.precision
            },
            form: hit.form,
            doubt: hit.doubt,
        };
        Some((hit.end, mention))
    }

    /// Not part of a longer number, name, path or address that began before.
    fn stands_free_before(&self, at: usize) -> bool {
        let mut before = self.text[..self.tokens[at].range.start].chars().rev();
        match before.next() {
            None => true,
            Some('.' | '-' | '/' | '\\' | '@' | '#' | '$' | '~' | '_') => false,
            Some(':') => !before
                .next()
                .is_some_and(|found| found.is_ascii_digit() || found == ':'),
            Some(found) => !found.is_alphanumeric() || is_unspaced(found),
        }
    }

    /// Not part of one that goes on.
    fn stands_free_behind(&self, end: usize) -> bool {
        let Some(last) = end.checked_sub(1).and_then(|last| self.tokens.get(last)) else {
            return false;
        };
        let mut after = self.text[last.range.end..].chars();
        match after.next() {
            Some('_' | '(') => false,
            Some('.' | '-' | '/' | '\\' | '@' | ':') => {
                !after.next().is_some_and(char::is_alphanumeric)
            }
            Some(found) => !found.is_alphanumeric() || is_unspaced(found),
            None => true,
        }
    }

    fn token(&self, at: usize) -> Option<&Token<'a>> {
        self.tokens.get(at)
    }

    /// The word at a place, in lower case.
    fn word(&self, at: usize) -> Option<&str> {
        self.tokens.get(at)?.word()
    }

    /// The word before a place, if only a blank is between.
    fn word_before(&self, at: usize) -> Option<&str> {
        self.word(at.checked_sub(1)?)
    }

    /// The place behind a word, if it is one of these.
    fn skip_word(&self, at: usize, words: &[&str]) -> Option<usize> {
        words.contains(&self.word(at)?).then_some(at + 1)
    }

    /// The place behind an optional mark.
    fn skip_mark(&self, at: usize, mark: char) -> usize {
        at + usize::from(self.token(at).is_some_and(|token| token.is_mark(mark)))
    }
}

/// Chinese and Japanese put no blank around a date.
fn is_unspaced(found: char) -> bool {
    matches!(u32::from(found), 0x3040..=0x30FF | 0x4E00..=0x9FFF)
}
