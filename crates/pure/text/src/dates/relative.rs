//! Relative dates: those counted from the day the text was written.

use super::names::{self, Unit};
use super::{Days, Doubt, Form, Hit, Precision, Scanner, calendar};
use jiff::civil::{Date, Weekday};

/// Upper bound on counted units; a larger number is not about dates ("in 5000 days" is no plan).
const FARTHEST: i32 = 1_000;

#[derive(Clone, Copy)]
enum Edge {
    Start,
    Middle,
    End,
}

impl Scanner<'_> {
    pub(super) fn relative(&self, at: usize) -> Option<Hit> {
        let rules = [
            self.near_day(at),
            self.part_of_today(at),
            self.edge(at),
            self.counted(at),
            self.stepped(at),
            self.weekday(at),
        ];
        // "Friday next week" also matches as "Friday"; the longer reading is meant.
        let longest = |a: Hit, b: Hit| if b.end > a.end { b } else { a };
        rules.into_iter().flatten().reduce(longest)
    }

    fn day(&self, end: usize, offset: i32) -> Option<Hit> {
        Some(Hit::day(
            end,
            calendar::add_days(self.today, offset)?,
            Form::Relative,
        ))
    }

    /// Matches `today`, `yesterday`, `the day after tomorrow`, `übermorgen`.
    fn near_day(&self, at: usize) -> Option<Hit> {
        match self.word(at)? {
            "today" | "tonight" | "heute" => self.day(at + 1, 0),
            "yesterday" | "gestern" => self.day(at + 1, -1),
            "tomorrow" => self.day(at + 1, 1),
            "morgen" if self.is_tomorrow(at) => self.day(at + 1, 1),
            "übermorgen" => self.day(at + 1, 2),
            "vorgestern" => self.day(at + 1, -2),
            "day" => match (self.word(at + 1)?, self.word(at + 2)?) {
                ("before", "yesterday") => self.day(at + 3, -2),
                ("after", "tomorrow") => self.day(at + 3, 2),
                _ => None,
            },
            _ => None,
        }
    }

    /// True if "morgen" means tomorrow and not the morning ("der Morgen").
    fn is_tomorrow(&self, at: usize) -> bool {
        let opens = at
            .checked_sub(1)
            .is_none_or(|before| self.word(before).is_none());
        let capital = self.tokens[at].is_capitalised();
        let led = [
            "guten", "am", "jeden", "diesen", "der", "den", "heute", "gestern",
        ];
        !self.word_before(at).is_some_and(|word| led.contains(&word)) && (opens || !capital)
    }

    /// Matches `this morning`, `last night`.
    fn part_of_today(&self, at: usize) -> Option<Hit> {
        match (self.word(at)?, self.word(at + 1)?) {
            ("this", "morning" | "afternoon" | "evening") => self.day(at + 2, 0),
            // The night before today began yesterday.
            ("last", "night") => self.day(at + 2, -1),
            _ => None,
        }
    }

    /// Matches `end of the month`, `Ende nächster Woche`, `mid-March`, `EOD`, `Monatsende`.
    fn edge(&self, at: usize) -> Option<Hit> {
        let word = self.word(at)?;
        let whole = match word {
            "monatsende" => Some(Unit::Month),
            "jahresende" => Some(Unit::Year),
            "quartalsende" => Some(Unit::Quarter),
            _ => match self.tokens[at].text {
                "EOD" => Some(Unit::Day),
                "EOW" => Some(Unit::Week),
                "EOM" => Some(Unit::Month),
                "EOQ" => Some(Unit::Quarter),
                "EOY" => Some(Unit::Year),
                _ => None,
            },
        };
        if let Some(unit) = whole {
            return Some(Hit::day(
                at + 1,
                calendar::around(self.today, unit)?.last,
                Form::Relative,
            ));
        }
        let (edge, joined) = match word {
            "end" => (Edge::End, self.skip_word(at + 1, &["of"])?),
            "beginning" | "start" => (Edge::Start, self.skip_word(at + 1, &["of"])?),
            "middle" => (Edge::Middle, self.skip_word(at + 1, &["of"])?),
            "early" | "anfang" => (Edge::Start, at + 1),
            "late" | "ende" => (Edge::End, at + 1),
            "mid" => (Edge::Middle, self.skip_mark(at + 1, '-')),
            "mitte" => (Edge::Middle, at + 1),
            _ => return None,
        };
        // "Early March" is a third of the month, "end of March" its last day.
        let vague = matches!(word, "early" | "late");
        let article = self
            .skip_word(joined, &["the", "des", "der"])
            .unwrap_or(joined);
        let (end, days, form, doubt) = if let Some((end, days, doubt)) = self.whole_month(joined) {
            (end, days, Form::Absolute, doubt)
        } else if vague {
            return None;
        } else {
            let (step, next) = match self.word(article).and_then(names::step) {
                Some(step) => (step, article + 1),
                // "end of week" is in use, "Ende Woche" is not, and "mid week" is no date.
                None if article > joined || word == "end" => (0, article),
                None => return None,
            };
            let unit = names::unit(self.word(next)?)?;
            let there = calendar::add(self.today, step, unit)?;
            (
                next + 1,
                calendar::around(there, unit)?,
                Form::Relative,
                None,
            )
        };
        let hit = match edge {
            _ if vague => third(end, days, edge, form)?,
            Edge::Start => Hit::day(end, days.first, form),
            Edge::End => Hit::day(end, days.last, form),
            Edge::Middle => third(end, days, edge, form)?,
        };
        Some(hit.doubting(doubt))
    }

    /// Number in words or digits.
    fn count(&self, at: usize) -> Option<(i32, usize)> {
        let token = self.token(at)?;
        let count = match token.number(1..5) {
            Some(number) => i32::try_from(number).ok()?,
            None => names::number(token.word()?)?,
        };
        (count <= FARTHEST).then_some((count, at + 1))
    }

    fn counted_units(&self, at: usize) -> Option<(i32, Unit, usize)> {
        let (count, next) = self.count(at)?;
        if self.word(next) == Some("fortnight") {
            return Some((count * 2, Unit::Week, next + 1));
        }
        // "In two weekends" is not in use, and its days would be a guess.
        let unit = names::unit(self.word(next)?).filter(|unit| *unit != Unit::Weekend)?;
        Some((count, unit, next + 1))
    }

    /// Matches `in three days`, `two weeks ago`, `vor 3 Tagen`, `within a week`, `the last 10
    /// days`.
    fn counted(&self, at: usize) -> Option<Hit> {
        if let Some((count, unit, next)) = self.counted_units(at) {
            let behind = (self.word(next)?, self.word(next + 1));
            return match behind {
                ("ago", _) => self.away(next + 1, -count, unit),
                ("from", Some("now" | "today")) => self.away(next + 2, count, unit),
                _ => None,
            };
        }
        let (count, unit, next) = self.counted_units(at + 1)?;
        match self.word(at)? {
            "in" => self.away(next, count, unit),
            "vor" => self.away(next, -count, unit),
            "within" | "binnen" | "innerhalb" => self.stretch(next, count, unit),
            word => match names::step(word)? {
                0 => None,
                step => self.stretch(next, step * count, unit),
            },
        }
    }

    fn away(&self, end: usize, count: i32, unit: Unit) -> Option<Hit> {
        let day = calendar::add(self.today, count, unit)?;
        Some(Hit::new(
            end,
            Days::one(day),
            precision(unit),
            Form::Relative,
        ))
    }

    fn stretch(&self, end: usize, count: i32, unit: Unit) -> Option<Hit> {
        let there = calendar::add(self.today, count, unit)?;
        let days = Days {
            first: self.today.min(there),
            last: self.today.max(there),
        };
        Some(Hit::new(end, days, Precision::Span, Form::Relative))
    }

    /// Matches `next week`, `last month`, `dieses Jahr`, `next Friday`.
    fn stepped(&self, at: usize) -> Option<Hit> {
        let step = names::step(self.word(at)?)?;
        let token = self.token(at + 1)?;
        let word = token.word()?;
        if let Some(unit) = names::unit(word).filter(|unit| *unit != Unit::Day) {
            let days = calendar::around(calendar::add(self.today, step, unit)?, unit)?;
            return Some(Hit::new(at + 2, days, precision(unit), Form::Relative));
        }
        let short =
            // The two-letter German forms are too ambiguous without a date after them.
            names::short_weekday(word).filter(|_| token.is_capitalised() && token.text.len() > 2);
        let weekday = names::weekday(word).or(short)?;
        let (day, other) = match step {
            0 => (calendar::in_week(self.today, 0, weekday)?, None),
            1 => self.next_weekday(at, weekday)?,
            _ => (calendar::before(self.today, weekday)?, None),
        };
        let doubt = other.map(|other| Doubt::Which(Days::one(other)));
        Some(Hit::day(at + 2, day, Form::Relative).doubting(doubt))
    }

    /// Weekday of next week; the other reading is the first one to come.
    fn next_weekday(&self, at: usize, weekday: Weekday) -> Option<(Date, Option<Date>)> {
        let first = calendar::after(self.today, weekday)?;
        let word = self.word(at)?;
        // "The coming Friday" is the first one for every speaker; "next Friday" is not.
        if word.starts_with("kommend") || word.ends_with("coming") {
            return Some((first, None));
        }
        let next = calendar::in_week(self.today, 1, weekday)?;
        Some((next, (first != next).then_some(first)))
    }

    /// Matches `on Friday`, `by Monday`, `seit Dienstag`, `Friday next week`.
    fn weekday(&self, at: usize) -> Option<Hit> {
        let token = self.token(at)?;
        let weekday = names::weekday(token.word()?).filter(|_| token.is_capitalised())?;
        let of = self.skip_word(at + 1, &["of"]).unwrap_or(at + 1);
        if let Some(step) = self.word(of).and_then(names::step)
            && self.word(of + 1).and_then(names::unit) == Some(Unit::Week)
        {
            let day = calendar::in_week(self.today, step, weekday)?;
            return Some(Hit::day(of + 2, day, Form::Relative));
        }
        let after = calendar::after(self.today, weekday)?;
        let before = calendar::before(self.today, weekday)?;
        let on = |day| Hit::day(at + 1, day, Form::Relative);
        match self.word_before(at) {
            // Recurring days and names of sales are no dates.
            Some("every" | "each" | "jeden" | "jeder" | "per" | "pro" | "black" | "cyber") => None,
            // "Since" looks back and "by" ahead; without either the direction is open.
            Some("since" | "seit") => Some(on(before)),
            Some("by" | "until" | "till" | "bis") if self.today.weekday() == weekday => {
                Some(on(self.today))
            }
            Some("by" | "until" | "till" | "bis") => Some(on(after)),
            _ => Some(on(after).doubting(Some(Doubt::Which(Days::one(before))))),
        }
    }
}

/// First, middle or last third of a range of days.
fn third(end: usize, days: Days, edge: Edge, form: Form) -> Option<Hit> {
    let length = (days.last - days.first).get_days() + 1;
    let (from, to) = match edge {
        Edge::Start => (0, length / 3),
        Edge::Middle => (length / 3, length * 2 / 3),
        Edge::End => (length * 2 / 3, length),
    };
    let days = Days {
        first: calendar::add_days(days.first, from)?,
        last: calendar::add_days(days.first, to.max(from + 1) - 1)?,
    };
    Some(Hit::new(end, days, Precision::Span, form))
}

fn precision(unit: Unit) -> Precision {
    match unit {
        Unit::Day => Precision::Day,
        Unit::Week => Precision::Week,
        Unit::Weekend => Precision::Span,
        Unit::Month => Precision::Month,
        Unit::Quarter => Precision::Quarter,
        Unit::Year => Precision::Year,
    }
}
