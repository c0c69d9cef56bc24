//! Daily logs, for assistants whose sessions last for days.
//!
//! # Model
//! Instead of keeping memories and index up to date while it works, the agent appends to one log a
//! day; a dream distils them later. The prompt names the pattern of the path, never a day, so that
//! the cached prefix survives midnight; [`date_change`] tells the new day at the tail.
//!
//! # Not here
//! Distilling the logs ([`crate::dream`]); the prompt's section on them ([`crate::prompt`]).

use crate::snapshot::{LOGS, Snapshot, is_topic};
use crate::topic::Topic;
use crate::transaction::{Author, Transaction};
use crate::trust::Origin;
use dormouse_core::show;
use dormouse_guard::paths::SafePath;
use jiff::civil::Date;
use std::collections::BTreeSet;

/// Path of a day's log as the prompt names it. A pattern, because a date would change the prompt.
pub(crate) const PATTERN: &str = "logs/YYYY/MM/YYYY-MM-DD.md";

/// Log file of a day. `None` only for a year that a path cannot have.
pub(crate) fn log_path(day: Date) -> Option<SafePath> {
    let (year, month) = (day.year(), day.month());
    SafePath::parse(&format!("{LOGS}/{year:04}/{month:02}/{day}.md")).ok()
}

/// Day of a log; `None` for other files, also for a log in the wrong month's folder.
pub fn day_of(path: &SafePath) -> Option<Date> {
    let day: Date = path.file_name().strip_suffix(".md")?.parse().ok()?;
    (log_path(day)? == *path).then_some(day)
}

/// Appends an entry to the log of a day, on lines of its own.
pub fn append(
    snapshot: &Snapshot,
    day: Date,
    entry: &str,
    author: Author,
    source: Option<Origin>,
) -> Transaction {
    let mut transaction = Transaction::by(author, format!("log of {day}"));
    transaction.source = source;
    let entry = entry.trim();
    // An empty entry makes an empty transaction, which leaves no trace in the journal.
    let Some(path) = log_path(day).filter(|_| !entry.is_empty()) else {
        return transaction;
    };
    let mut text = snapshot
        .get(&path)
        .map(|file| file.text().into_owned())
        .unwrap_or_default();
    // A log that was edited by hand may lack its last newline; the entry would join its line.
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(entry);
    text.push('\n');
    transaction.put(snapshot, path, text);
    transaction
}

/// The memories of a change as entries of a day's log, in place of files and index. A paragraph that
/// the log or the earlier file has is no entry; without a new one the transaction is empty.
pub fn logged(snapshot: &Snapshot, day: Date, change: &Transaction) -> Transaction {
    let written = log_path(day).and_then(|path| Some(snapshot.get(&path)?.text().into_owned()));
    let written = written.unwrap_or_default();
    let known: BTreeSet<&str> = written.lines().collect();
    let mut entries = Vec::new();
    for operation in &change.operations {
        let Some(content) = operation.content.as_deref() else {
            continue;
        };
        if !is_topic(&operation.path) {
            continue;
        }
        let text = String::from_utf8_lossy(content);
        let before = snapshot.get(&operation.path);
        let before = before.map(|file| file.text().into_owned());
        let old = before.as_deref().map(bullets).unwrap_or_default();
        entries.extend(
            bullets(&text)
                .into_iter()
                .filter(|line| !old.contains(line)),
        );
    }
    entries.retain(|entry| !known.contains(entry.as_str()));
    // Two memories of one change may share a paragraph.
    entries.dedup();
    let source = change.source.clone();
    append(snapshot, day, &entries.join("\n"), change.author, source)
}

/// Paragraphs of a memory's body, each as one line of a list.
fn bullets(text: &str) -> Vec<String> {
    let body = text.get(Topic::read(text).body..).unwrap_or_default();
    let paragraphs = body.split("\n\n").map(show::flat);
    let paragraphs = paragraphs.filter(|paragraph| !paragraph.is_empty());
    paragraphs
        .map(|paragraph| format!("- {}", paragraph.trim_start_matches("- ")))
        .collect()
}

/// Reminder for the conversation when the day changes within a session.
pub fn date_change(from: Date, to: Date) -> String {
    let place = log_path(to).map_or_else(|| PATTERN.to_owned(), |path| path.to_string());
    format!(
        "The date has changed from {from} to {to}. Append to `{place}` from now on and leave the log \
         of {from} as it is. There is no need to mention this."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_core::units::Millis;
    use jiff::civil::date;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_log_has_its_place_by_its_day() {
        let path = log_path(date(2026, 11, 5)).unwrap();
        assert_eq!(path.as_str(), "logs/2026/11/2026-11-05.md");
        assert_eq!(day_of(&path), Some(date(2026, 11, 5)));
        for other in ["logs/2026/10/2026-11-05.md", "2026-11-05.md", "logs/x.md"] {
            assert_eq!(day_of(&SafePath::parse(other).unwrap()), None, "{other}");
        }
    }

    #[test]
    fn entries_are_appended_on_lines_of_their_own() {
        let day = date(2026, 11, 5);
        let empty = Snapshot::new();
        let first = append(&empty, day, " one\n", Author::Agent, None);
        let then = first.applied(&empty, Millis(1));
        let second = append(&then, day, "two", Author::Agent, None).applied(&then, Millis(2));
        let text = second.get(&log_path(day).unwrap()).unwrap().text();
        assert_eq!(text, "one\ntwo\n");
        assert!(append(&empty, day, " \n", Author::Agent, None).is_empty());
    }

    #[test]
    fn a_change_of_the_day_names_the_new_place() {
        assert_eq!(
            date_change(date(2026, 12, 31), date(2027, 1, 1)),
            "The date has changed from 2026-12-31 to 2027-01-01. Append to \
             `logs/2027/01/2027-01-01.md` from now on and leave the log of 2026-12-31 as it is. There \
             is no need to mention this."
        );
    }

    #[test]
    fn memories_become_entries_each_paragraph_once() {
        let path = |name: &str| SafePath::parse(name).unwrap();
        let day = date(2026, 11, 16);
        let topic = |body: &str| format!("---\nname: n\ndescription: d\n---\n{body}\n");
        let mut snapshot = Snapshot::default();
        let mut put = |name: &str, text: &str| {
            let mut change = Transaction::by(Author::User, "t");
            change.put(&snapshot, path(name), text.to_owned());
            snapshot = change.applied(&snapshot, Millis(0));
        };
        put("a.md", &topic("Old rule."));
        put("logs/2026/11/2026-11-16.md", "- Known.");
        let mut change = Transaction::by(Author::Extractor, "t");
        let text = topic("Old rule.\n\nNew\nrule.\n\nKnown.");
        change.put(&snapshot, path("a.md"), text);
        change.put(&snapshot, path("MEMORY.md"), "- [n](a.md)\n".to_owned());
        let logged = logged(&snapshot, day, &change);
        let written: Vec<(String, String)> = logged
            .operations
            .iter()
            .map(|operation| {
                let content = operation.content.clone().unwrap_or_default();
                let text = String::from_utf8(content.to_vec()).unwrap();
                (operation.path.to_string(), text)
            })
            .collect();
        let expected = ("logs/2026/11/2026-11-16.md", "- Known.\n- New rule.\n");
        assert_eq!(written, [(expected.0.to_owned(), expected.1.to_owned())]);
        // Nothing new is no change.
        let mut same = Transaction::by(Author::Extractor, "t");
        same.put(&snapshot, path("b.md"), topic("Known."));
        assert!(super::logged(&snapshot, day, &same).is_empty());
    }
}
