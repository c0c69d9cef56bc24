//! Day of writing of a memory, and relative dates made absolute by it.
//!
//! # Model
//! "Yesterday" means something only together with the day of writing. If that day is known, the
//! date is put in front and the words stay behind it in brackets: `2026-11-14 (yesterday)`. A wrong
//! date is worse than a vague one, so every doubtful date stays as it is.
//!
//! # Not here
//! Finding dates in a text (`dormouse_text::dates`).

use crate::snapshot::StoredFile;
use crate::topic::{self, Kind, Topic};
use dormouse_core::units::Millis;
use dormouse_text::dates::{Days, Doubt, Form, Mention, Precision, dates};
use dormouse_text::segment::{Kind as Part, segment};
use jiff::civil::Date;
use jiff::tz::Offset;
use serde_json::Value;
use std::collections::BTreeMap;

/// Meaning of a file's time. It does not tell the day of writing for files that were copied,
/// checked out or imported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileTimes {
    /// Time of writing, unless the file itself states another.
    Believed,
    /// Unknown: only stated days count.
    #[default]
    Ignored,
}

/// Facts about the time of writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writing {
    /// Days of known sessions, by id.
    pub sessions: BTreeMap<String, Date>,
    /// Meaning of the files' times.
    pub file_times: FileTimes,
    /// Offset of the user's clock from UTC: near midnight it decides the day.
    pub offset: Offset,
}

impl Default for Writing {
    fn default() -> Self {
        Self {
            sessions: BTreeMap::new(),
            file_times: FileTimes::default(),
            offset: Offset::UTC,
        }
    }
}

/// Day of writing; `stated` is false if it is only the time of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) day: Date,
    pub(super) stated: bool,
}

impl Writing {
    /// Day on which a memory was written.
    pub(super) fn day(&self, file: &StoredFile, topic: &Topic) -> Option<Written> {
        let origin = topic.origin.as_ref();
        let session = origin.and_then(|origin| origin.session.as_deref());
        let stated = session
            .and_then(|session| self.sessions.get(session).copied())
            .or_else(|| {
                let time = origin?.time;
                // Origins without a time read as zero, which would be 1970.
                (time.0 > 0).then(|| self.local(time)).flatten()
            })
            // Last, because other tools set it at every change, not only when they write the words.
            .or_else(|| self.modified_key(&file.text()));
        match (stated, self.file_times) {
            (Some(day), _) => Some(Written { day, stated: true }),
            (None, FileTimes::Believed) => {
                let day = self.local(file.modified)?;
                Some(Written { day, stated: false })
            }
            (None, FileTimes::Ignored) => None,
        }
    }

    /// Key `modified`, which other tools write.
    fn modified_key(&self, text: &str) -> Option<Date> {
        let (front, _) = topic::split(text);
        let values = front?.values(text);
        let nested = values.get("metadata").and_then(|data| data.get("modified"));
        let value = values.get("modified").or(nested)?;
        let text = value.as_str().map(str::to_owned);
        let text = text.or_else(|| matches!(value, Value::Number(_)).then(|| value.to_string()))?;
        match Millis::parse(&text) {
            Some(at) => self.local(at),
            None => text.parse().ok(),
        }
    }

    fn local(&self, at: Millis) -> Option<Date> {
        let at = jiff::Timestamp::from_millisecond(at.0).ok()?;
        Some(self.offset.to_datetime(at).date())
    }
}

/// Prose with the days that its relative dates mean; `None` if there are none.
pub(super) fn absolute(text: &str, written: Written, kind: Option<Kind>) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for part in segment(text) {
        // Code and headings are names, not statements about a day.
        if !matches!(
            part.kind,
            Part::Prose | Part::ListItem | Part::Quote | Part::TableRow
        ) {
            continue;
        }
        let sentence = &text[part.range.clone()];
        // Sentence by sentence: quotes and brackets of another one must not count.
        for mention in dates(sentence, written.day) {
            if !is_certain(sentence, &mention, written, kind) {
                continue;
            }
            let (start, end) = (
                part.range.start + mention.range.start,
                part.range.start + mention.range.end,
            );
            out.push_str(&text[at..start]);
            out.push_str(&shown(mention.days, mention.precision));
            out.push_str(" (");
            out.push_str(&text[start..end]);
            out.push(')');
            at = end;
        }
    }
    if at == 0 {
        return None;
    }
    out.push_str(&text[at..]);
    Some(out)
}

/// True if a relative date can be replaced by the day it means.
fn is_certain(sentence: &str, mention: &Mention, written: Written, kind: Option<Kind>) -> bool {
    let words = sentence[mention.range.clone()].to_lowercase();
    let before = &sentence[..mention.range.start];
    let after = &sentence[mention.range.end..];
    // Dated by an earlier dream: dreaming again must change nothing.
    let dated = before
        .trim_end()
        .strip_suffix('(')
        .is_some_and(|rest| rest.trim_end().ends_with(|c: char| c.is_ascii_digit()));
    // An odd number of backticks before it: a span of code is open.
    let in_code = before.matches('`').count() % 2 == 1;
    let quoted =
        // "today's" and "end-of-day" are words, and quoted words are examples.
        before.ends_with(['"', '“', '\'', '/', '-']) || after.starts_with(['\'', '’', '/', '-']);
    mention.form == Form::Relative
        && mention.doubt.is_none()
        && !dated
        && !in_code
        && !quoted
        && is_once(&words, written, kind)
}

/// True for words of a day that comes once. "End of month" and "in two weeks" are as often said of
/// a repeated event; they are believed only for a project's plans with a stated day of writing.
fn is_once(words: &str, written: Written, kind: Option<Kind>) -> bool {
    const PAST: [&str; 10] = [
        "today",
        "tonight",
        "yesterday",
        "ago",
        "last",
        "heute",
        "gestern",
        "vorgestern",
        "letzte",
        "vor",
    ];
    const COMING: [&str; 8] = [
        "tomorrow",
        "next",
        "this",
        "in",
        "morgen",
        "übermorgen",
        "nächste",
        "diese",
    ];
    let has = |list: &[&str]| {
        words
            .split_whitespace()
            .any(|word| list.iter().any(|known| word.starts_with(known)))
    };
    has(&PAST) || (has(&COMING) && kind == Some(Kind::Project) && written.stated)
}

/// Days in ISO form, as a month or a year if they are exactly one.
pub(super) fn shown(days: Days, precision: Precision) -> String {
    let Days { first, last } = days;
    if first == last {
        return first.to_string();
    }
    match precision {
        Precision::Month if first.first_of_month() == first && last == first.last_of_month() => {
            format!("{:04}-{:02}", first.year(), first.month())
        }
        Precision::Year if first.first_of_year() == first && last == first.last_of_year() => {
            format!("{:04}", first.year())
        }
        _ => format!("{first} to {last}"),
    }
}

/// All days that a sentence could mean, as text: a source for a sentence that states them. Both
/// readings of a doubtful date, since the check must not refuse the right one.
pub(super) fn meant(sentence: &str, day: Date) -> String {
    let mut all = String::new();
    for mention in dates(sentence, day) {
        let mut readings = vec![mention.days];
        if let Some(Doubt::Order(other) | Doubt::Which(other)) = mention.doubt {
            // Either reading of `03/04` may be the one that the source meant.
            readings.push(other);
        }
        for days in readings {
            let forms = [
                shown(days, mention.precision),
                days.first.to_string(),
                days.last.to_string(),
            ];
            for form in forms {
                all.push_str(&form);
                all.push(' ');
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use pretty_assertions::assert_eq;

    #[test]
    fn what_is_certain_gets_its_day_and_what_is_not_stays() {
        let stated = Written {
            day: date(2026, 11, 15),
            stated: true,
        };
        let project = Some(Kind::Project);
        for (text, kind, expected) in [
            (
                "We froze it yesterday.",
                None,
                "We froze it 2026-11-14 (yesterday).",
            ),
            (
                "Moved three weeks ago, by Ann.",
                None,
                "Moved 2026-10-25 (three weeks ago), by Ann.",
            ),
            (
                "Since last month it is slow.",
                None,
                "Since 2026-10 (last month) it is slow.",
            ),
            (
                "The audit is next week.",
                project,
                "The audit is 2026-11-16 to 2026-11-22 (next week).",
            ),
            ("The audit is next week.", Some(Kind::Feedback), ""),
            ("Invoices go out at the end of the month.", project, ""),
            ("Use `yesterday` as the branch.", None, ""),
            ("Put today's date on top.", None, ""),
            ("Done 2026-11-14 (yesterday).", None, ""),
            ("```\nyesterday\n```\n", None, ""),
            ("It ends on Friday.", project, ""),
        ] {
            let found = absolute(text, stated, kind).unwrap_or_default();
            assert_eq!(found, expected, "{text}");
            if !found.is_empty() {
                assert_eq!(absolute(&found, stated, kind), None, "again: {found}");
            }
        }
    }

    #[test]
    fn the_day_of_writing_is_looked_for_where_it_is_stated_first() {
        let file = |text: &str| StoredFile {
            content: text.to_owned().into(),
            modified: Millis(1_763_164_800_000),
        };
        let mut writing = Writing::default();
        let day = |writing: &Writing, text: &str| {
            let found = writing.day(&file(text), &Topic::read(text))?;
            Some((found.day.to_string(), found.stated))
        };
        assert_eq!(day(&writing, "x"), None);
        writing.file_times = FileTimes::Believed;
        assert_eq!(day(&writing, "x"), Some(("2025-11-15".into(), false)));
        let foreign = "---\nmetadata:\n  modified: 2026-03-01T23:30:00Z\n---\nx";
        assert_eq!(day(&writing, foreign), Some(("2026-03-01".into(), true)));
        writing.offset = Offset::constant(1);
        assert_eq!(day(&writing, foreign), Some(("2026-03-02".into(), true)));
        let own =
            "---\norigin: {session: \"s\", speaker: user, time: \"2026-05-05T12:00:00Z\"}\n---\nx";
        assert_eq!(day(&writing, own), Some(("2026-05-05".into(), true)));
        writing.sessions.insert("s".into(), date(2026, 5, 4));
        assert_eq!(day(&writing, own), Some(("2026-05-04".into(), true)));
    }
}
