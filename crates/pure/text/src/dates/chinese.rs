//! Dates in Chinese: days counted from today, days of a week, months with their day.
//!
//! A week begins on Monday, and "周四" without more is the next one, today included.

use super::{Days, Doubt, Form, Mention, Precision};
use jiff::ToSpan as _;
use jiff::civil::Date;
use std::ops::Range;

/// Days of the week by their last character; two are used for Sunday.
const WEEKDAYS: [(char, i8); 8] = [
    ('一', 1),
    ('二', 2),
    ('三', 3),
    ('四', 4),
    ('五', 5),
    ('六', 6),
    ('日', 7),
    ('天', 7),
];

/// Days by their distance from today.
const NEAR: [(&str, i32); 7] = [
    ("大后天", 3),
    ("后天", 2),
    ("明天", 1),
    ("今天", 0),
    ("昨天", -1),
    ("前天", -2),
    ("明早", 1),
];

/// Words before a day of the week, with the weeks they add.
const WEEKS: [(&str, Option<i32>); 12] = [
    ("下下周", Some(2)),
    ("下星期", Some(1)),
    ("下周", Some(1)),
    ("上星期", Some(-1)),
    ("上周", Some(-1)),
    ("这星期", Some(0)),
    ("这周", Some(0)),
    ("本周", Some(0)),
    // Every week: no date at all.
    ("每星期", None),
    ("每周", None),
    ("星期", Some(0)),
    ("周", Some(0)),
];

/// Dates in Chinese words, in order.
pub(super) fn mentions(text: &str, today: Date) -> Vec<Mention> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        let rest = &text[at..];
        if let Some(length) = recurring(rest) {
            at += length;
        } else if let Some(mention) = month(text, at, today)
            .or_else(|| near(text, at, today))
            .or_else(|| weekday(text, at, today))
        {
            at = mention.range.end;
            found.push(mention);
        } else {
            at += letter.len_utf8();
        }
    }
    found
}

fn mention(range: Range<usize>, day: Date, form: Form, doubt: Option<Doubt>) -> Mention {
    Mention {
        range,
        days: Days::one(day),
        time: None,
        offset: None,
        precision: Precision::Day,
        form,
        doubt,
    }
}

/// Length of a word for every week.
fn recurring(rest: &str) -> Option<usize> {
    let weeks = WEEKS.iter().filter(|(_, weeks)| weeks.is_none());
    let word = weeks
        .map(|(word, _)| *word)
        .find(|word| rest.starts_with(word))?;
    let behind = rest[word.len()..].chars().next();
    Some(word.len() + behind.map_or(0, char::len_utf8))
}

fn near(text: &str, at: usize, today: Date) -> Option<Mention> {
    let (word, days) = NEAR.iter().find(|(word, _)| text[at..].starts_with(word))?;
    let day = today.checked_add(days.days()).ok()?;
    Some(mention(at..at + word.len(), day, Form::Relative, None))
}

fn weekday(text: &str, at: usize, today: Date) -> Option<Mention> {
    let rest = &text[at..];
    let (word, weeks) = WEEKS.iter().find(|(word, _)| rest.starts_with(word))?;
    let letter = rest[word.len()..].chars().next()?;
    let (_, number) = WEEKDAYS.iter().find(|(day, _)| *day == letter)?;
    let since_monday = i32::from(number - 1) - i32::from(today.weekday().to_monday_zero_offset());
    let bare = matches!(*word, "周" | "星期");
    // Without a word for the week, the next such day: plans are told more often than the past.
    let days = since_monday + 7 * (*weeks)? + if bare && since_monday < 0 { 7 } else { 0 };
    let day = today.checked_add(days.days()).ok()?;
    let end = at + word.len() + letter.len_utf8();
    Some(mention(at..end, day, Form::Relative, None))
}

/// "2027年1月10日", "12月20号": without a year the nearest.
fn month(text: &str, at: usize, today: Date) -> Option<Mention> {
    // Inside a number there is no beginning.
    if text[..at].ends_with(|letter: char| letter.is_ascii_digit()) {
        return None;
    }
    let (first, mut end) = figure(text, at)?;
    let (mut year, mut month) = (None, first);
    if text[end..].starts_with('年') {
        year = Some(first);
        (month, end) = figure(text, end + '年'.len_utf8())?;
    }
    let rest = text.get(end..)?.strip_prefix('月')?;
    let (day, end) = figure(text, text.len() - rest.len())?;
    let last = text[end..]
        .chars()
        .next()
        .filter(|letter| matches!(letter, '日' | '号'))?;
    let (month, day) = (i8::try_from(month).ok()?, i8::try_from(day).ok()?);
    let (date, doubt) = if let Some(year) = year {
        (Date::new(i16::try_from(year).ok()?, month, day).ok()?, None)
    } else {
        let here = Date::new(today.year(), month, day).ok()?;
        let next = Date::new(today.year() + 1, month, day).ok()?;
        // Half a year back: "2月" said in November is the coming one.
        let past = here.checked_add(183.days()).ok()? < today;
        (if past { next } else { here }, Some(Doubt::Year))
    };
    Some(mention(
        at..end + last.len_utf8(),
        date,
        Form::Absolute,
        doubt,
    ))
}

/// Number at a place, blanks before it and behind it skipped, and the place behind it.
fn figure(text: &str, at: usize) -> Option<(u32, usize)> {
    let rest = text.get(at..)?;
    let start = at + (rest.len() - rest.trim_start_matches(' ').len());
    let digits: String = text[start..]
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    let value = digits.parse().ok()?;
    let end = start + digits.len();
    let blanks = text[end..].len() - text[end..].trim_start_matches(' ').len();
    Some((value, end + blanks))
}

#[cfg(test)]
mod tests {
    use super::super::dates;
    use jiff::civil::date;

    #[test]
    fn chinese_days_mean_their_date() {
        // A Tuesday.
        let today = date(2026, 11, 17);
        for (text, day) in [
            ("这周四要演示", date(2026, 11, 19)),
            ("下周一发布", date(2026, 11, 23)),
            ("周五之前", date(2026, 11, 20)),
            ("明天停机", date(2026, 11, 18)),
            ("接口12月20号下线", date(2026, 12, 20)),
            ("将于 2027 年 1 月 10 日切换", date(2027, 1, 10)),
            ("2月3日开始", date(2027, 2, 3)),
        ] {
            let found = dates(text, today);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert_eq!(found[0].days.first, day, "{text}");
        }
        assert!(dates("每周三凌晨发版", today).is_empty());
    }
}
