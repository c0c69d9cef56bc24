//! Recognition of dates, and of the days they mean.
//!
//! # Model
//! The text is split into words, numbers and marks (`lex`); at each of them the rules for absolute
//! (`absolute`) and relative (`relative`) dates are tried, and the longest match is a [`Mention`]:
//! a range of the text, the days it means, its precision, and its ambiguity. Relative dates are
//! counted from `today`, the day the text was written. Weeks begin on Monday.
//!
//! Words are known in English, German and Chinese; figures in the usual orders. Digits inside a version, an
//! address, a path, a call or an identifier are no date: numbers and words have to stand free.
//!
//! # Not here
//! Durations ("took two weeks"), vague words ("soon", "a few days ago"), years alone, times without
//! a date, recurring dates ("every Monday"), time zones other than an offset.

mod absolute;
mod calendar;
mod chinese;
mod lex;
mod names;
mod relative;
mod time;

pub(crate) use names::starts_with_month;

use jiff::civil::{Date, Time};
use jiff::tz::Offset;
use lex::{Token, tokens};
use std::ops::Range;

/// Range of days, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Days {
    /// First day of the range.
    pub first: Date,
    /// Last day, not before the first.
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

/// Precision of a date, finest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Precision {
    /// Time of a day.
    Time,
    /// Single day, with or without a weekday.
    Day,
    /// Week, or a day counted in weeks.
    Week,
    /// Month, or a day counted in months.
    Month,
    /// Quarter of a year.
    Quarter,
    /// Year, or a day counted in years.
    Year,
    /// Any other span of days.
    Span,
}

/// Dependence of a date on the day of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Independent of the day of writing.
    Absolute,
    /// Counted from the day of writing.
    Relative,
}

/// Ambiguity: a reason why a date may mean other days than those given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Doubt {
    /// Day and month may be swapped; month first was assumed. Contains the other reading.
    Order(Days),
    /// Year or century is missing; the nearest was assumed.
    Year,
    /// Usage differs ("next Friday"), or the direction is open ("Friday"). Contains the other
    /// reading.
    Which(Days),
    /// Weekday and date contradict each other.
    Weekday,
}

/// Date found in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// Range in the text, time and offset included.
    pub range: Range<usize>,
    /// Most likely days; `doubt` has the alternative.
    pub days: Days,
    /// Time of day, if given.
    pub time: Option<Time>,
    /// UTC offset of that time, if given.
    pub offset: Option<Offset>,
    /// Precision of the date.
    pub precision: Precision,
    /// Absolute, or counted from `today`.
    pub form: Form,
    /// Ambiguity, if there is one.
    pub doubt: Option<Doubt>,
}

/// Dates of a text in order, without overlaps.
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
    let apart = |a: &Range<usize>, b: &Range<usize>| a.end <= b.start || b.end <= a.start;
    // Behind the others: figures with marks between them are read the same in every language.
    for chinese in chinese::mentions(text, today) {
        if mentions
            .iter()
            .all(|mention| apart(&mention.range, &chinese.range))
        {
            mentions.push(chinese);
        }
    }
    mentions.sort_by_key(|mention| mention.range.start);
    mentions
}

/// Match of a rule: the token after it, and its meaning.
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

/// Tokens of a text; the rules are its methods.
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
        // On equal length the absolute reading wins.
        let mut hit = hits.reduce(|a, b| if b.end > a.end { b } else { a })?;
        // A time after a week or a month belongs to something else.
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

    /// True if the token is not part of a number, name, path or address that began before it.
    fn stands_free_before(&self, at: usize) -> bool {
        let mut before = self.text[..self.tokens[at].range.start].chars().rev();
        match before.next() {
            None => true,
            Some('.' | '-' | '/' | '\\' | '@' | '#' | '$' | '~' | '_') => false,
            // A colon after a digit is a time or a position; after a word it introduces the date.
            Some(':') => !before
                .next()
                .is_some_and(|found| found.is_ascii_digit() || found == ':'),
            Some(found) => !found.is_alphanumeric() || is_unspaced(found),
        }
    }

    /// True if the match is not part of something that continues after it.
    fn stands_free_behind(&self, end: usize) -> bool {
        let Some(last) = end.checked_sub(1).and_then(|last| self.tokens.get(last)) else {
            return false;
        };
        let mut after = self.text[last.range.end..].chars();
        match after.next() {
            // An identifier or a call, such as `today()`.
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

    /// Word at a position, in lower case.
    fn word(&self, at: usize) -> Option<&str> {
        self.tokens.get(at)?.word()
    }

    /// Word before a position, if they are neighbours.
    fn word_before(&self, at: usize) -> Option<&str> {
        self.word(at.checked_sub(1)?)
    }

    /// Position after a word, if it is one of these.
    fn skip_word(&self, at: usize, words: &[&str]) -> Option<usize> {
        words.contains(&self.word(at)?).then_some(at + 1)
    }

    /// Position after an optional mark.
    fn skip_mark(&self, at: usize, mark: char) -> usize {
        at + usize::from(self.token(at).is_some_and(|token| token.is_mark(mark)))
    }
}

/// True if a script puts no blanks around a date (Chinese, Japanese).
fn is_unspaced(found: char) -> bool {
    matches!(u32::from(found), 0x3040..=0x30FF | 0x4E00..=0x9FFF)
}
