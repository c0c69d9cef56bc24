//! Reading one file of another tool as memories.
//!
//! # Not here
//! Duplicates, secrets and trust, which all formats share ([`super::import`]); names in the
//! directory (`plan`).

use super::{Format, Why};
use crate::index;
use crate::snapshot::INDEX;
use crate::topic::{Kind, Topic};
use crate::transaction::MOST_BYTES;
use crate::write::NewMemory;
use deunicode::deunicode;
use dormouse_core::show;
use dormouse_guard::paths::SafePath;
use dormouse_text::segment::{Kind as Part, segment};

/// Most characters of a made description: about what a line of the index can show.
const LONGEST_DESCRIPTION: usize = 160;
/// Most bytes of a file name made from a heading; longer ones are unreadable in lists.
const LONGEST_NAME: usize = 60;

/// Memories of a file, each with the name it should have.
pub(super) fn parts(
    format: Format,
    path: &str,
    text: &str,
) -> Result<Vec<(SafePath, NewMemory)>, Why> {
    let own = SafePath::parse(path).map_err(|_| Why::Name)?;
    // Codex keeps many memories in one long file; its parts are measured one by one.
    if text.len() > MOST_BYTES && format != Format::Codex {
        return Err(Why::TooLong);
    }
    match format {
        Format::ClaudeCode if own.file_name() == INDEX => index_remarks(&own, text),
        Format::Codex => codex(&own, text),
        Format::Letta => letta(own, text).map(|part| vec![part]),
        // In a folder of notes the index lists files that are imported themselves.
        Format::Markdown if own.file_name() == INDEX => Err(Why::Index),
        Format::ClaudeCode | Format::Markdown => {
            let memory = plain(&own, text);
            Ok(vec![(own, memory)])
        }
    }
}

/// File as one memory: front matter where there is some, otherwise its title and first paragraph.
fn plain(path: &SafePath, text: &str) -> NewMemory {
    let topic = Topic::read(text);
    let body = &text[topic.body..];
    let title = title(body).unwrap_or_else(|| stem(path));
    NewMemory {
        kind: topic.kind,
        name: if topic.name.is_empty() {
            title
        } else {
            topic.name
        },
        description: if topic.description.is_empty() {
            first_words(body)
        } else {
            topic.description
        },
        body: body.trim().to_owned(),
        // A file can name any session and any speaker.
        origin: None,
        trust: topic.trust,
        triggers: topic.triggers,
        valid_until: topic.valid_until,
        author: topic.author,
    }
}

/// Text of an index beside its lines: early memories of Claude Code were kept there.
fn index_remarks(path: &SafePath, text: &str) -> Result<Vec<(SafePath, NewMemory)>, Why> {
    let mut rest = String::with_capacity(text.len());
    let mut at = 0;
    for entry in index::entries(text) {
        // A link in prose is part of a remark, which is worth keeping whole.
        if entry.form == index::Form::Entry && entry.range.start >= at {
            rest.push_str(&text[at..entry.range.start]);
            at = entry.range.end;
        }
    }
    rest.push_str(&text[at..]);
    let parts = sections(path, &rest);
    // Only lines and headings: an ordinary index, which is made anew.
    if parts.is_empty() {
        Err(Why::Index)
    } else {
        Ok(parts)
    }
}

/// Sections of Codex's memory file; its other files are made from sessions.
fn codex(path: &SafePath, text: &str) -> Result<Vec<(SafePath, NewMemory)>, Why> {
    const DERIVED: [&str; 2] = ["memory_summary.md", "raw_memories.md"];
    let folder = path.components().next().unwrap_or_default();
    let aside = path.components().count() > 1 && matches!(folder, "rollout_summaries" | "skills");
    if aside || DERIVED.contains(&path.file_name()) {
        return Err(Why::Derived);
    }
    let parts = sections(path, text);
    if parts.is_empty() {
        return Err(Why::Empty);
    }
    if parts
        .iter()
        .any(|(_, memory)| memory.body.len() > MOST_BYTES)
    {
        return Err(Why::TooLong);
    }
    Ok(parts)
}

/// Block of Letta's: `human` is about the user, `persona` is how to work.
fn letta(path: SafePath, text: &str) -> Result<(SafePath, NewMemory), Why> {
    let parts: Vec<&str> = path.components().collect();
    if parts.first() == Some(&"skills") {
        return Err(Why::Derived);
    }
    let has = |name: &str| {
        parts
            .iter()
            .any(|part| part.trim_end_matches(".md").eq_ignore_ascii_case(name))
    };
    let mut memory = plain(&path, text);
    memory.kind = memory.kind.or({
        if has("human") {
            Some(Kind::User)
        } else if has("persona") {
            Some(Kind::Feedback)
        } else {
            None
        }
    });
    // `system/` only says that a block is always shown, which is no part of its name.
    let bare = path.as_str().strip_prefix("system/");
    let path = bare
        .and_then(|bare| SafePath::parse(bare).ok())
        .unwrap_or(path);
    Ok((path, memory))
}

/// Sections of a file, a memory each; a file without headings is one.
fn sections(path: &SafePath, text: &str) -> Vec<(SafePath, NewMemory)> {
    let body = &text[Topic::read(text).body..];
    let mut found: Vec<(String, String)> = vec![(String::new(), String::new())];
    for part in segment(body) {
        let piece = &body[part.range.clone()];
        // Deeper headings are parts of a memory; each alone would lack its subject.
        if part.kind == Part::Heading && !piece.trim_start().starts_with("###") {
            let name = piece.trim().trim_start_matches('#').trim().to_owned();
            found.push((name, String::new()));
        } else if let Some((_, text)) = found.last_mut() {
            text.push_str(piece);
        }
    }
    let filled = found
        .into_iter()
        .filter(|(_, text)| !text.trim().is_empty());
    filled
        .filter_map(|(name, text)| {
            let name = if name.is_empty() { stem(path) } else { name };
            let memory = NewMemory {
                description: first_words(&text),
                body: text.trim().to_owned(),
                name: name.clone(),
                ..NewMemory::default()
            };
            Some((named(&name)?, memory))
        })
        .collect()
}

/// File name out of a heading.
fn named(heading: &str) -> Option<SafePath> {
    let mut name = String::new();
    for word in deunicode(heading).split(|c: char| !c.is_ascii_alphanumeric()) {
        if word.is_empty() || name.len() + word.len() >= LONGEST_NAME {
            continue;
        }
        if !name.is_empty() {
            name.push('_');
        }
        name.push_str(&word.to_ascii_lowercase());
    }
    if name.is_empty() {
        name.push_str("memory");
    }
    SafePath::parse(&format!("{name}.md")).ok()
}

fn stem(path: &SafePath) -> String {
    let name = path.file_name();
    let bare = name.get(..name.len().saturating_sub(3)).unwrap_or(name);
    bare.to_owned()
}

/// First heading of a text, if it begins with one.
fn title(body: &str) -> Option<String> {
    let first = body.lines().find(|line| !line.trim().is_empty())?;
    let title = first
        .trim()
        .strip_prefix('#')?
        .trim_start_matches('#')
        .trim();
    (!title.is_empty()).then(|| title.to_owned())
}

/// First sentences of prose, as many as fit on a line.
fn first_words(body: &str) -> String {
    let mut words = String::new();
    for part in segment(body) {
        let prose = matches!(part.kind, Part::Prose | Part::ListItem | Part::Quote);
        let piece = body[part.range.clone()].trim();
        let piece = piece.trim_start_matches(['-', '*', '+', '>', ' ']);
        // Code and tables make no description; the first of them behind prose ends it.
        if !prose || piece.is_empty() {
            if words.is_empty() {
                continue;
            }
            break;
        }
        let piece = show::flat(piece);
        if words.is_empty() {
            words = piece;
        } else if words.chars().count() + piece.chars().count() < LONGEST_DESCRIPTION {
            words.push(' ');
            words.push_str(&piece);
        } else {
            break;
        }
    }
    show::one_line(&words, LONGEST_DESCRIPTION)
}
