//! Whether a proposed memory is written, waits for approval, or is refused.
//!
//! # Model
//! One function for every writer. What it is given is text and where the conversation stands; what
//! it returns is final: a transaction that carries the trust and the origin that code found, an item
//! for the inbox, or a reason that the writer is told. Keys of the front matter that claim a source
//! are the writer's opinion: they are read as a hint (`source`) and overwritten.

use super::attribute::{Attribution, RefusedWrite, attribute_new};
use super::claims::{Place, labelled};
use super::injection;
use super::never::{self, Never};
use super::phrases::Phrases;
use super::span::Span;
use crate::snapshot::{Snapshot, is_pinned, is_topic};
use crate::topic::{self, Field, Kind, Topic, Triggers};
use crate::transaction::{Author, Refusal, Transaction};
use crate::trust::{Origin, Trust};
use crate::write::{self, NewMemory, Placement};
use dormouse_core::show;
use dormouse_guard::paths::SafePath;
use serde::Serialize;

/// Characters of a name that is made from a description.
const LONGEST_NAME: usize = 60;
/// Characters of a description at most; recall reads one line.
const LONGEST_DESCRIPTION: usize = 200;

/// What waits for approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Review {
    /// What the user or the assistant did not say.
    #[default]
    Untrusted,
    /// Everything (`memory.review = "all"`).
    All,
}

/// What somebody wants to save.
#[derive(Clone, Debug)]
pub enum Proposed<'a> {
    /// A file with its whole new content, as a model writes it.
    File {
        /// Where.
        path: &'a SafePath,
        /// All of it, front matter included.
        content: &'a str,
    },
    /// A memory with its parts known.
    Memory(&'a NewMemory),
}

/// What a proposal is held against.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The directory.
    pub snapshot: &'a Snapshot,
    /// The conversation since the cursor.
    pub spans: &'a [Span],
    /// Texts that recall put before the model.
    pub recalled: &'a [&'a str],
    /// What instruction files say.
    pub known: &'a [&'a str],
    /// What waits for approval.
    pub review: Review,
    /// Who proposes.
    pub author: Author,
}

/// A memory that waits for approval.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// Where it would be written; `None` to find a name for it then.
    pub path: Option<SafePath>,
    /// The whole file, with its trust and its origin.
    pub content: String,
    /// How far it may be believed.
    pub trust: Trust,
    /// Where it stems from.
    pub origin: Origin,
    /// Why it waits.
    pub reason: String,
}

/// Why a proposal is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    /// Nobody said it, or not so.
    #[error(transparent)]
    Source(#[from] RefusedWrite),
    /// It is of a sort that is never saved.
    #[error(transparent)]
    Never(#[from] Never),
    /// It wants to be obeyed.
    #[error("not saved: {0}; memories are notes, not orders")]
    Order(&'static str),
    /// The file is no memory.
    #[error("`{0}` is not a memory; write topic files only, the index is kept for you")]
    NotTopic(SafePath),
    /// It may not be written at all.
    #[error(transparent)]
    Gate(#[from] Refusal),
}

/// What becomes of a proposal.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It is written.
    Write(Transaction),
    /// It is there already.
    Known(SafePath),
    /// It waits for approval.
    Inbox(Waiting),
    /// It is not saved.
    Refuse(Refused),
}

/// Judges a proposal.
pub fn judge(proposed: &Proposed<'_>, context: &Context<'_>) -> Outcome {
    match consider(proposed, context) {
        Ok(outcome) => outcome,
        Err(refused) => Outcome::Refuse(refused),
    }
}

fn consider(proposed: &Proposed<'_>, context: &Context<'_>) -> Result<Outcome, Refused> {
    let (path, content) = match proposed {
        Proposed::File { path, content } => (Some(*path), (*content).to_owned()),
        Proposed::Memory(memory) => (None, write::render(memory)),
    };
    if let Some(path) = path {
        check_path(path, context)?;
    }
    let old = path.and_then(|path| context.snapshot.get(path));
    let old = old.map(|file| file.text().into_owned()).unwrap_or_default();
    if !old.is_empty() && old == content {
        let path = path.cloned();
        return Ok(path.map_or_else(
            || Outcome::Refuse(RefusedWrite::Empty.into()),
            Outcome::Known,
        ));
    }
    if let Some(why) = injection::found(&content) {
        return Err(Refused::Order(why));
    }
    let kind = Topic::read(&content).kind;
    check_never(&content, &old, kind, context)?;
    let quote = quote_of(&content);
    let found = attribute_new(
        &content,
        &old,
        quote.as_deref(),
        context.spans,
        context.recalled,
    )?;
    let memory = match proposed {
        // Made by rules from the user's sentence: its parts are right as they are.
        Proposed::Memory(memory) => NewMemory {
            origin: Some(found.origin.clone()),
            trust: Some(found.trust),
            ..(*memory).clone()
        },
        Proposed::File { .. } => memory_of(&content, &found),
    };
    if let Some(reason) = waits(&found, context) {
        return Ok(Outcome::Inbox(Waiting {
            path: path.cloned(),
            content: write::render(&memory),
            trust: found.trust,
            origin: found.origin,
            reason,
        }));
    }
    place(path, &old, &content, &memory, &found, context)
}

fn check_path(path: &SafePath, context: &Context<'_>) -> Result<(), Refused> {
    if !is_topic(path) {
        return Err(Refused::NotTopic(path.clone()));
    }
    if context.author.is_automation() && is_pinned(path) {
        return Err(Refusal::Pinned(path.clone()).into());
    }
    Ok(())
}

/// Whether a sentence of it is of a sort that is never saved.
fn check_never(
    content: &str,
    old: &str,
    kind: Option<Kind>,
    context: &Context<'_>,
) -> Result<(), Refused> {
    if never::is_secret(content) {
        return Err(Never::Secret.into());
    }
    let before = Phrases::of(old);
    let topic = Topic::read(content);
    let body = &content[topic.body..];
    let mut place = Place::Statement;
    for line in std::iter::once(topic.description.as_str()).chain(body.lines()) {
        let (next, text) = labelled(line, place);
        place = next;
        let words = Phrases::of(text);
        let is_old = !old.is_empty() && before.has(words.as_str());
        if words.count() == 0 || is_old {
            continue;
        }
        // Reasons tell what happened: a fix or a merge may be one.
        let sort = never::found(text, kind, context.known);
        let told = matches!(
            sort,
            Some(Never::Fix | Never::History | Never::Task | Never::Structure)
        );
        if let Some(never) = sort.filter(|_| place == Place::Statement || !told) {
            return Err(never.into());
        }
    }
    Ok(())
}

/// The words that the writer gives as its source.
fn quote_of(content: &str) -> Option<String> {
    let (front, _) = topic::split(content);
    let value = front?.values(content).get("source")?.as_str()?.to_owned();
    Some(value.trim_matches(['"', '\'', ' ', '“', '”']).to_owned())
}

/// The memory that a file describes, with what code knows about it in place of what it claims.
fn memory_of(content: &str, found: &Attribution) -> NewMemory {
    let topic = Topic::read(content);
    let body = without_lines(&content[topic.body..], &found.unsupported);
    let mut description = topic.description.clone();
    if description.is_empty() {
        let first = body.lines().find(|line| !line.trim().is_empty());
        description.push_str(first.unwrap_or_default());
    }
    let description = show::one_line(&description, LONGEST_DESCRIPTION);
    let told = format!("{description} {body}").to_lowercase();
    let own_words = Phrases::of(&topic.name);
    let supported = own_words
        .words()
        .filter(|word| word.len() > 3)
        .all(|word| told.contains(word));
    let name = if topic.name.is_empty() || !supported {
        show::one_line(&description, LONGEST_NAME)
    } else {
        show::one_line(&topic.name, LONGEST_NAME)
    };
    let kind = topic.kind;
    let triggers = super::offline::triggers_for(kind, &format!("{description}\n{body}"));
    NewMemory {
        kind,
        name,
        description,
        body: body.trim().to_owned(),
        origin: Some(found.origin.clone()),
        trust: Some(found.trust),
        triggers: if topic.triggers.is_empty() {
            triggers
        } else {
            supported_triggers(topic.triggers, &told, triggers)
        },
        valid_until: topic.valid_until,
        author: None,
    }
}

/// Triggers that a model claims hold only if the text has them.
fn supported_triggers(claimed: Triggers, told: &str, derived: Triggers) -> Triggers {
    let keep = |list: Vec<String>| -> Vec<String> {
        let has = |item: &String| {
            let bare = item.trim_matches(['*', '.', '/']).to_lowercase();
            bare.len() > 1 && told.contains(&bare)
        };
        list.into_iter().filter(has).collect()
    };
    let join = |claimed: Vec<String>, derived: Vec<String>| {
        let mut all = keep(claimed);
        all.extend(derived);
        all.sort();
        all.dedup();
        all
    };
    Triggers {
        tools: join(claimed.tools, derived.tools),
        paths: join(claimed.paths, derived.paths),
        languages: join(claimed.languages, derived.languages),
        commands: join(claimed.commands, derived.commands),
    }
}

/// A body without the sentences that nothing supports; labels that are left alone go too.
fn without_lines(body: &str, unsupported: &[String]) -> String {
    let mut out = body.to_owned();
    for text in unsupported {
        out = out.replacen(text.as_str(), "", 1);
    }
    let empty = |line: &&str| {
        let (place, rest) = labelled(line, Place::Statement);
        place != Place::Statement && Phrases::of(rest).count() == 0
    };
    let lines: Vec<&str> = out.lines().filter(|line| !empty(line)).collect();
    lines.join("\n")
}

fn waits(found: &Attribution, context: &Context<'_>) -> Option<String> {
    if !found.trust.is_recalled() {
        return Some(format!(
            "it stems from {} and nobody has approved it",
            found.trust
        ));
    }
    (context.review == Review::All).then(|| "everything is reviewed (`memory.review`)".to_owned())
}

fn place(
    path: Option<&SafePath>,
    old: &str,
    content: &str,
    memory: &NewMemory,
    found: &Attribution,
    context: &Context<'_>,
) -> Result<Outcome, Refused> {
    let reason = format!(
        "said in {}",
        found.origin.message.as_deref().unwrap_or("a session")
    );
    let snapshot = context.snapshot;
    let mut transaction = match path {
        Some(path) if !old.is_empty() => {
            let text = updated(content, old, memory, found);
            write::retext(snapshot, path, &text, context.author, &reason)
        }
        _ => {
            let added = write::add(snapshot, memory, context.author, &reason);
            match (&added.placement, path) {
                (Placement::Known(known), _) => return Ok(Outcome::Known(known.clone())),
                (Placement::Create(_), Some(path)) => write::retext(
                    snapshot,
                    path,
                    &write::render(memory),
                    context.author,
                    &reason,
                ),
                _ => added.transaction,
            }
        }
    };
    transaction.source = Some(found.origin.clone());
    transaction.vet(snapshot)?;
    if transaction.is_empty() {
        let known = path
            .cloned()
            .or_else(|| Some(write::place(snapshot, memory).path().clone()));
        return known
            .map(Outcome::Known)
            .ok_or_else(|| RefusedWrite::Empty.into());
    }
    Ok(Outcome::Write(transaction))
}

/// A file that exists, with its new text: keys of other tools stay, trust can only fall.
fn updated(content: &str, old: &str, memory: &NewMemory, found: &Attribution) -> String {
    let before = Topic::read(old);
    let trust = before
        .trust
        .map_or(found.trust, |trust| trust.min(found.trust));
    let topic = Topic::read(content);
    let front = &old[..before.body];
    let body = without_lines(&content[topic.body..], &found.unsupported);
    let mut fields = vec![
        Field::Name(memory.name.clone()),
        Field::Description(memory.description.clone()),
        Field::Trust(trust),
        Field::Origin(found.origin.clone()),
    ];
    fields.extend(memory.kind.map(Field::Kind));
    if !memory.triggers.is_empty() {
        fields.push(Field::Triggers(memory.triggers.clone()));
    }
    topic::edit(&format!("{front}{}\n", body.trim_end()), &fields)
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
