//! Daily logs made into memories.
//!
//! # Model
//! Logs only grow. A mark, a line of its own, stands at the end of the part that was read; lines
//! appended later come after it and are read next time. Of a log whose day is over, the sentences
//! that state a rule, a decision or a date go into one memory of that day, unless some memory says
//! them already. The log itself stays.
//!
//! # Not here
//! Writing logs ([`crate::daily`]).

use super::dating::{Written, absolute};
use super::merge::set;
use super::sentence::{Reader, Spoken};
use super::{Stated, What};
use crate::daily;
use crate::snapshot::Snapshot;
use crate::topic::{self, Field, Kind, Topic};
use crate::trust::{Origin, Speaker, Trust};
use crate::write::{NewMemory, render};
use dormouse_core::show;
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use dormouse_guard::secrets;
use dormouse_text::dates::dates;
use dormouse_text::segment::Kind as Part;
use dormouse_text::summary::{Budget, Feature, Passage, Voice, summarise};
use jiff::civil::Date;

/// Mark at the end of the part that was read. A comment, so that no reader of Markdown shows it.
pub(super) const MARK: &str = "<!-- distilled -->\n";
/// Most sentences of one log: a memory is a page, and a log that states more than this is a
/// transcript.
const MOST_SENTENCES: usize = 40;

/// Reads the logs of days before today; today's still grows.
pub(super) fn distil(snapshot: &mut Snapshot, changes: &mut Vec<Stated>, today: Date) {
    let logs: Vec<(SafePath, Date, String)> = snapshot
        .files()
        .filter_map(|(path, file)| {
            let day = daily::day_of(path).filter(|day| *day < today)?;
            let text = std::str::from_utf8(&file.content).ok()?;
            Some((path.clone(), day, text.to_owned()))
        })
        .filter(|(_, _, text)| !unread(text).trim().is_empty())
        // A log with a credential in it cannot even be marked, because every write is scanned.
        .filter(|(_, _, text)| secrets::scan(text).is_empty())
        .collect();
    if logs.is_empty() {
        return;
    }
    let reader = Reader::new();
    let mut known = Spoken::default();
    for (_, file) in snapshot.topics() {
        for sentence in reader.sentences(&file.text()) {
            known.add(&sentence);
        }
    }
    for (log, day, text) in logs {
        let new = worth_keeping(&reader, &known, unread(&text), day);
        if !new.is_empty() {
            keep(snapshot, changes, &log, day, &new);
        }
        // Memories of this very dream count too: two logs often repeat a sentence.
        for sentence in &new {
            known.add(&reader.sentence(sentence));
        }
        // The mark counts only on a line of its own.
        let end = if text.ends_with('\n') { "" } else { "\n" };
        set(snapshot, &log, format!("{text}{end}{MARK}"));
        changes.push(Stated {
            path: log,
            what: What::Distilled,
            reason: format!("read; {} sentences kept", new.len()),
            sources: Vec::new(),
        });
    }
}

/// Part of a log behind the last mark.
fn unread(text: &str) -> &str {
    match text.rfind(MARK) {
        Some(at) => &text[at + MARK.len()..],
        None => text,
    }
}

/// Sentences that state a rule, a decision or a date, and that no memory has.
fn worth_keeping(reader: &Reader, known: &Spoken, text: &str, day: Date) -> Vec<String> {
    let passage = Passage {
        text,
        voice: Voice::Assistant,
    };
    // Without a limit: only the features of each sentence are wanted, not a shorter text.
    let summary = summarise(&[passage], Budget::Chars(usize::MAX));
    let mut kept = Vec::new();
    for pick in summary.picks {
        let sentence = text[pick.range.clone()].trim();
        let sentence = sentence.trim_start_matches(['-', '*', '+', '>', ' ']);
        // A quotation is what a tool or a page said, and stays in the log.
        let prose = matches!(pick.kind, Part::Prose | Part::ListItem);
        let states = pick.reasons.iter().any(|reason| {
            reason.weight > 0.0 && matches!(reason.feature, Feature::Decision | Feature::Request)
        });
        let dated = !dates(sentence, day).is_empty();
        if !prose || sentence.is_empty() || !(states || dated) {
            continue;
        }
        let stated = Written { day, stated: true };
        // As a project's plan: a log is about the work of its day.
        let dated = absolute(sentence, stated, Some(Kind::Project));
        let sentence = dated.unwrap_or_else(|| sentence.to_owned());
        let sentence = show::flat(&sentence);
        let read = reader.sentence(&sentence);
        if !read.quoted && !known.has(&read) && kept.len() < MOST_SENTENCES {
            kept.push(sentence);
        }
    }
    kept
}

/// Puts sentences into the memory of their day.
fn keep(
    snapshot: &mut Snapshot,
    changes: &mut Vec<Stated>,
    log: &SafePath,
    day: Date,
    sentences: &[String],
) {
    let Ok(path) = SafePath::parse(&format!("project_log_{day}.md")) else {
        return;
    };
    let lines: Vec<String> = sentences.iter().map(|text| format!("- {text}")).collect();
    let lines = lines.join("\n");
    let text = match snapshot.get(&path) {
        Some(file) => {
            let text = file.text();
            let known = Topic::read(&text);
            let mut fields = Vec::new();
            // The log is the agent's word, so a memory that takes it up is no longer the user's
            // alone.
            if super::carry::believed(&known) > Trust::Assistant {
                fields.push(Field::Trust(Trust::Assistant));
            }
            topic::edit(&format!("{}\n{lines}\n", text.trim_end()), &fields)
        }
        None => topic::edit(
            &render(&memory(day, &lines, sentences)),
            &[Field::Sources(vec![log.to_string()])],
        ),
    };
    set(snapshot, &path, text);
    changes.push(Stated {
        path: path.clone(),
        what: What::Distilled,
        reason: format!("from the log of {day}"),
        sources: vec![log.clone()],
    });
}

fn memory(day: Date, lines: &str, sentences: &[String]) -> NewMemory {
    let time = day
        .to_datetime(jiff::civil::Time::midnight())
        .to_zoned(jiff::tz::TimeZone::UTC)
        .map(|at| Millis(at.timestamp().as_millisecond()));
    NewMemory {
        kind: Some(Kind::Project),
        name: format!("Log of {day}"),
        description: sentences.first().cloned().unwrap_or_default(),
        body: lines.to_owned(),
        origin: Some(Origin {
            session: None,
            message: None,
            speaker: Speaker::Assistant,
            time: time.unwrap_or_default(),
        }),
        trust: Some(Trust::Assistant),
        ..NewMemory::default()
    }
}
