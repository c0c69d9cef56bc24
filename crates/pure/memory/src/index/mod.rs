//! `MEMORY.md`: the list of memories that is always in the prompt.
//!
//! # Model
//! The index is a person's file. Links in it lead to memories ([`entries`]); a line that Dormouse
//! made ([`line_of`], as the journal's [`IndexPast`] knows it) is kept in step with its file, every
//! other byte is a person's and stays. There is one way to mend an index ([`mended`]) and one
//! report on it ([`drift`]), used by commands, extraction and dreams alike: what the report says can
//! be mended is exactly what mending changes.
//!
//! An index has limits ([`Limits`]). If not all memories fit, a person's lines stay, Dormouse's own
//! are ranked (pinned, then by type, then newest), and a remark counts the memories without a line.
//!
//! # Not here
//! Contents of memories, which never stand in the index ([`crate::topic`]); the list that a model
//! is shown for extraction ([`crate::manifest`]).

mod drift;
#[cfg(test)]
mod link_tests;
mod links;
mod load;
mod mend;
#[cfg(test)]
mod mend_tests;
mod past;
#[cfg(test)]
mod tests;

pub use drift::{Drift, drift, generated};
pub(crate) use links::retargeted;
pub use links::{Form, IndexEntry, entries};
pub use load::{Cut, Limits, Loaded, load, nearness};
pub use mend::{IndexFacts, Missing, bounded, mended};
pub(crate) use mend::{is_remark, put};
pub use past::IndexPast;

use crate::topic::Topic;
use crate::trust::Trust;
use dormouse_core::show;
use dormouse_guard::paths::SafePath;
use jiff::civil::Date;

/// Most characters of a line that Dormouse makes. Every session pays for every line of the index in
/// its prompt; detail belongs into the memory's body.
pub const LONGEST_LINE: usize = 150;

/// True if a memory gets a line: it still holds on this day, and is trusted.
pub(crate) fn is_listed(topic: &Topic, today: Date) -> bool {
    !topic.is_over(today) && is_trusted(topic.trust)
}

/// True if a memory of this trust may have a line. The index is in every prompt: words of a page or a
/// tool would reach the model there without the user's approval.
pub(crate) fn is_trusted(trust: Option<Trust>) -> bool {
    trust.is_none_or(Trust::is_recalled)
}

/// Line that Dormouse makes for a memory, without a newline.
pub fn line_of(path: &SafePath, topic: &Topic) -> String {
    let name = path.file_name();
    // Three bytes for `.md`; callers pass topic files only.
    let bare = name.get(..name.len().saturating_sub(3)).unwrap_or(name);
    let title = if topic.name.is_empty() {
        bare
    } else {
        &topic.name
    };
    line(title, path.as_str(), &topic.description)
}

/// Line of a memory, cut to [`LONGEST_LINE`] characters. A hook that only repeats the title is left
/// out, and so is a title at its beginning.
pub fn line(title: &str, target: &str, hook: &str) -> String {
    // A bracket in the title would end the link early.
    let title = show::flat(title).replace(['[', ']'], "");
    let hook = show::flat(hook);
    let hook = without_title(&hook, &title);
    let plain = joined(&title, target, hook);
    // Marks that could swallow the link: code, HTML, an escaped bracket.
    if !title.contains(['`', '<', '\\', '&']) || leads_to(&plain, target) {
        return plain;
    }
    let mut escaped = String::new();
    for c in title.chars() {
        if c.is_ascii_punctuation() {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    joined(&escaped, target, hook)
}

/// True if a line is read as a link to the target.
fn leads_to(line: &str, target: &str) -> bool {
    let first = entries(line).into_iter().next();
    first.is_some_and(|entry| entry.path.as_str() == target)
}

fn joined(title: &str, target: &str, hook: &str) -> String {
    // Without brackets of its own a target with blanks or brackets is no link.
    let target = if target.contains([' ', '(', ')', '%', '#']) {
        format!("<{}>", target.replace('%', "%25").replace('#', "%23"))
    } else {
        target.to_owned()
    };
    let mut line = format!("- [{title}]({target})");
    if !hook.is_empty() {
        line.push_str(" — ");
        line.push_str(hook);
    }
    if line.chars().count() <= LONGEST_LINE {
        return line;
    }
    shortened(&line, &target)
}

/// Part of a hook that the title does not say already.
fn without_title<'a>(hook: &'a str, title: &str) -> &'a str {
    // Closing marks belong to the title's last word and are kept.
    let ends = |c: char| c.is_ascii_punctuation() && !matches!(c, ')' | '`' | '"');
    let bare = title.trim_end_matches(ends);
    let begins = hook
        .get(..bare.len())
        .is_some_and(|head| !bare.is_empty() && head.eq_ignore_ascii_case(bare));
    if !begins {
        return hook;
    }
    let rest = &hook[bare.len()..];
    if rest.trim_matches(ends).is_empty() {
        return "";
    }
    // "Release freeze: no merges" says more behind the colon; "Release freezes" is another word.
    match rest.trim_start().strip_prefix([':', '—', '–']) {
        Some(more) if !more.trim().is_empty() => more.trim_start(),
        _ => hook,
    }
}

/// Cuts a line behind its link; the link itself must stay whole, or the memory is unreachable.
fn shortened(line: &str, target: &str) -> String {
    let link = format!("]({target})");
    let least = line
        .find(&link)
        .map_or(line.len(), |at| line[..at + link.len()].chars().count());
    let most = LONGEST_LINE.saturating_sub(1).max(least);
    if line.chars().count() <= most + 1 && most == least {
        return line.to_owned();
    }
    let mut cut: String = line.chars().take(most).collect();
    // Cut at a word, unless that would reach into the link.
    if cut.chars().count() > least {
        if let Some(space) = cut
            .rfind(' ')
            .filter(|at| cut[..*at].chars().count() >= least)
        {
            cut.truncate(space);
        }
        cut = cut.trim_end_matches([' ', '—', ',', ';', ':']).to_owned();
        cut.push('…');
    }
    cut
}

/// Index with the line of a memory as its new content wants it. `old` is the content before, if
/// there was one. Only a line that Dormouse made of the old content is changed; where a person
/// links to the memory already, none is added.
pub(crate) fn relisted(text: &str, path: &SafePath, old: Option<&str>, new: &str) -> String {
    let topic = Topic::read(new);
    let was = old.map(|old| line_of(path, &Topic::read(old)));
    let links = entries(text)
        .into_iter()
        .filter(|entry| entry.path == *path);
    let links: Vec<IndexEntry> = links.collect();
    let own = links.iter().find(|entry| {
        let line = text[entry.range.clone()].trim_end_matches(['\r', '\n']);
        entry.whole && Some(line) == was.as_deref()
    });
    // Overtaken memories are kept but not recalled; a line would still send the model to them.
    let listed = topic.superseded_by.is_none() && !topic.is_wrong() && is_trusted(topic.trust);
    let line = listed.then(|| line_of(path, &topic));
    match (own, line) {
        (Some(own), line) => {
            let old = &text[own.range.clone()];
            // A file with Windows line endings stays consistent, one without a last newline too.
            let end = &old[old.trim_end_matches(['\r', '\n']).len()..];
            let line = line.map(|line| format!("{line}{end}")).unwrap_or_default();
            let (head, tail) = (&text[..own.range.start], &text[own.range.end..]);
            format!("{head}{line}{tail}")
        }
        (None, Some(line)) if links.is_empty() => mend::appended(text, &[line]),
        (None, _) => text.to_owned(),
    }
}

/// Index without the lines about a file of this content. A line that says more, with other links or
/// in prose, is a person's and stays.
pub(crate) fn without(text: &str, path: &SafePath, content: &str) -> String {
    let own = line_of(path, &Topic::read(content));
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for entry in entries(text) {
        let line = text[entry.range.clone()].trim_end_matches(['\r', '\n']);
        let about = entry.form == Form::Entry || (entry.whole && line == own);
        if entry.path == *path && about && entry.range.start >= at {
            out.push_str(&text[at..entry.range.start]);
            at = entry.range.end;
        }
    }
    out.push_str(&text[at..]);
    out
}
