//! The evidence ledger as a list in Markdown.
//!
//! # Model
//! Nine sections, each with its most recent entries first. A section has a share of the budget;
//! what it does not need goes to the others in order of importance, first so that all their entries
//! fit in short form, then in long form. If even the short form does not fit, the oldest entries
//! are dropped and the heading states how many.
//!
//! # Not here
//! Sanitising, which happens when an entry is recorded. Paths are shortened only by the project's
//! own directory, which the log names: removing any other common root could make them ambiguous.

use super::cost;
use dormouse_core::id::Seq;
use dormouse_core::models::BytesPerToken;
use dormouse_core::record::{
    CallOutcome, Chronicle, CommandFact, FileFact, Shelf, ShelfEntry, Sighting, Speaker,
};
use dormouse_core::show;
use dormouse_core::units::Tokens;

/// Text above the list. Part of the prompt.
const INTRO: &str = include_str!("intro.md");

/// Characters of a line in short form: a path with its notes, or the beginning of a command.
const SHORT: usize = 140;

/// Renders the evidence within the budget; empty if there is none or nothing fits.
pub fn render(chronicle: &Chronicle, budget: Tokens, bytes: BytesPerToken) -> String {
    render_beside(chronicle, budget, bytes, |_| false)
}

/// Renders the evidence beside user messages that stand in the prompt word for word (`quoted`):
/// their values and rules are left out, which leaves room for the rest.
pub fn render_beside(
    chronicle: &Chronicle,
    budget: Tokens,
    bytes: BytesPerToken,
    quoted: impl Fn(Seq) -> bool,
) -> String {
    let mut sections = sections(chronicle, &quoted);
    sections.retain(|section| !section.lines.is_empty());
    if sections.is_empty() {
        return String::new();
    }
    let intro = intro(chronicle);
    let room = budget - cost(&intro, bytes);
    let allotted = allot(&sections, room, bytes);
    let body: String = sections
        .iter()
        .zip(allotted)
        .map(|(section, room)| section.write(room, bytes))
        .collect();
    // An introduction without entries would only cost tokens.
    if body.is_empty() { body } else { intro + &body }
}

fn intro(chronicle: &Chronicle) -> String {
    let mut intro = INTRO.to_owned();
    if let Some(project) = &chronicle.project {
        intro.push_str("Paths without a root are below ");
        intro.push_str(project);
        intro.push_str(".\n");
    }
    intro
}

/// One section of the list.
struct Section {
    title: &'static str,
    /// Share of the budget in per cent. The shares follow what is needed to continue: commands and
    /// files most, addresses and searches least.
    share: u64,
    /// Entries, most recent first.
    lines: Vec<String>,
    /// Number of entries that the chronicle itself has evicted.
    dropped: u64,
}

/// All sections, the most important first; their shares add up to 100.
fn sections(chronicle: &Chronicle, quoted: &dyn Fn(Seq) -> bool) -> Vec<Section> {
    let project = chronicle.project.as_deref();
    let section = |title, share, lines, dropped| Section {
        title,
        share,
        lines,
        dropped,
    };
    let changed = |fact: &FileFact| fact.changes > 0;
    // Only the user's messages are quoted elsewhere; the assistant's words are not.
    let repeats = |by: Speaker, seen: &Sighting| by == Speaker::User && quoted(seen.seq);
    let mentions = |shelf: &Shelf<dormouse_core::record::Mention>| {
        some_lines(shelf, |text, entry| {
            let said = repeats(entry.fact.by, &entry.seen);
            (!said).then(|| mention(text, &entry.fact.around))
        })
    };
    let quotes = |shelf: &Shelf<dormouse_core::record::Source>| {
        lines(shelf, |text, entry| {
            format!("- {text} [{}]{}", entry.fact.call, times(&entry.seen))
        })
    };
    vec![
        section(
            "Numbers and names the user gave",
            15,
            mentions(&chronicle.values),
            chronicle.values.dropped,
        ),
        section(
            "Files changed",
            15,
            files(&chronicle.files, project, changed),
            chronicle.files.dropped,
        ),
        section(
            "Files read",
            15,
            files(&chronicle.files, project, |fact| !changed(fact)),
            // Read and changed files share one shelf; its evictions are counted above.
            0,
        ),
        section(
            "Commands",
            30,
            lines(&chronicle.commands, command),
            chronicle.commands.dropped,
        ),
        section(
            "Decisions",
            7,
            some_lines(&chronicle.decisions, |text, entry| {
                let by = match entry.fact.by {
                    Speaker::User => "user",
                    Speaker::Assistant => "assistant",
                };
                let said = repeats(entry.fact.by, &entry.seen);
                (!said).then(|| format!("- {by}, record {}: \"{text}\"", entry.seen.seq))
            }),
            chronicle.decisions.dropped,
        ),
        section(
            "Test results",
            5,
            quotes(&chronicle.tests),
            chronicle.tests.dropped,
        ),
        section(
            "Errors",
            8,
            quotes(&chronicle.errors),
            chronicle.errors.dropped,
        ),
        section(
            "Addresses",
            3,
            mentions(&chronicle.urls),
            chronicle.urls.dropped,
        ),
        section(
            "Searches",
            2,
            lines(&chronicle.searches, command),
            chronicle.searches.dropped,
        ),
    ]
}

fn lines<T>(shelf: &Shelf<T>, line: impl Fn(&str, &ShelfEntry<T>) -> String) -> Vec<String> {
    some_lines(shelf, |text, entry| Some(line(text, entry)))
}

fn some_lines<T>(
    shelf: &Shelf<T>,
    line: impl Fn(&str, &ShelfEntry<T>) -> Option<String>,
) -> Vec<String> {
    let entries = shelf.recent_first().into_iter();
    entries
        .filter_map(|(text, entry)| line(text, entry))
        .collect()
}

fn files(
    shelf: &Shelf<FileFact>,
    project: Option<&str>,
    which: impl Fn(&FileFact) -> bool,
) -> Vec<String> {
    let entries = shelf.recent_first().into_iter();
    entries
        .filter(|(_, entry)| which(&entry.fact))
        .map(|(path, entry)| file(path, &entry.fact, project))
        .collect()
}

/// Line for a file, relative to the project.
fn file(path: &str, fact: &FileFact, project: Option<&str>) -> String {
    let path = project
        .and_then(|project| path.strip_prefix(project.trim_end_matches('/')))
        .and_then(|path| path.strip_prefix('/'))
        .filter(|path| !path.is_empty())
        .unwrap_or(path);
    let mut notes = Vec::new();
    match fact.changes {
        // One change is implied by the section's title.
        0 | 1 => {}
        changes => notes.push(format!("{changes} changes")),
    }
    match (fact.changes, fact.reads) {
        (0, 0 | 1) | (_, 0) => {}
        (_, 1) => notes.push("read".to_owned()),
        (_, reads) => notes.push(format!("read {reads}×")),
    }
    if fact.failed {
        notes.push("last access failed".to_owned());
    }
    if notes.is_empty() {
        format!("- {path}")
    } else {
        format!("- {path} ({})", notes.join(", "))
    }
}

/// Line for a command. The outcome stands in front, so that shortening the line keeps it.
fn command(text: &str, entry: &ShelfEntry<CommandFact>) -> String {
    let outcome = match entry.fact.outcome {
        CallOutcome::Open => "no result".to_owned(),
        CallOutcome::Ok => "ok".to_owned(),
        CallOutcome::Failed => "failed".to_owned(),
        CallOutcome::Exit(code) => format!("exit {code}"),
        CallOutcome::Refused => "refused".to_owned(),
    };
    let failures = match entry.fact.failures {
        failures if entry.seen.times > 1 && failures > 0 => format!(" (failed {failures}×)"),
        _ => String::new(),
    };
    format!("- {outcome}{}{failures}: {text}", times(&entry.seen))
}

fn mention(text: &str, around: &str) -> String {
    if around.is_empty() || around == text {
        format!("- {text}")
    } else {
        format!("- {text}: … {around} …")
    }
}

fn times(seen: &Sighting) -> String {
    match seen.times {
        0 | 1 => String::new(),
        times => format!(" {times}×"),
    }
}

/// Tokens that each section gets.
fn allot(sections: &[Section], room: Tokens, bytes: BytesPerToken) -> Vec<Tokens> {
    let shares: u64 = sections.iter().map(|section| section.share).sum();
    let needs = |short: bool| -> Vec<Tokens> {
        let need = |section: &Section| section.need(short, bytes);
        sections.iter().map(need).collect()
    };
    let (short, long) = (needs(true), needs(false));
    // Shares are capped by the need; the rest is redistributed below.
    let mut allotted: Vec<Tokens> = sections
        .iter()
        .zip(&long)
        .map(|(section, need)| Tokens(room.get() * section.share / shares.max(1)).min(*need))
        .collect();
    // First give every section its short form, then the long one, in order of importance.
    let mut left = room - allotted.iter().copied().sum();
    for needs in [short, long] {
        for (has, need) in allotted.iter_mut().zip(needs) {
            let more = (need - *has).min(left);
            *has += more;
            left = left - more;
        }
    }
    allotted
}

impl Section {
    fn heading(&self, shown: usize) -> String {
        let all = self.lines.len() as u64 + self.dropped;
        match all - shown as u64 {
            0 => format!("## {}\n", self.title),
            out => format!("## {} ({out} older ones left out)\n", self.title),
        }
    }

    fn need(&self, short: bool, bytes: BytesPerToken) -> Tokens {
        let lines = self.lines.iter().map(|line| {
            let line = if short { shortened(line) } else { line.clone() };
            line_cost(&line, bytes)
        });
        cost(&self.heading(0), bytes) + lines.sum()
    }

    fn write(&self, room: Tokens, bytes: BytesPerToken) -> String {
        // Reserve the longest heading; if all entries fit, the real one is a few tokens shorter.
        let mut left = room - cost(&self.heading(0), bytes);
        let mut shown: Vec<String> = Vec::new();
        for line in &self.lines {
            let line = shortened(line);
            let cost = line_cost(&line, bytes);
            if cost > left {
                break;
            }
            left = left - cost;
            shown.push(line);
        }
        if shown.is_empty() {
            return String::new();
        }
        // Room that is left goes to the most recent entries.
        for (short, line) in shown.iter_mut().zip(&self.lines) {
            let more = line_cost(line, bytes) - line_cost(short, bytes);
            if more > left {
                break;
            }
            left = left - more;
            short.clone_from(line);
        }
        self.heading(shown.len()) + &shown.join("\n") + "\n"
    }
}

fn shortened(line: &str) -> String {
    show::shortened(line, SHORT).into_owned()
}

/// Tokens of a line, with one more for its end.
fn line_cost(line: &str, bytes: BytesPerToken) -> Tokens {
    cost(line, bytes) + Tokens(1)
}
