//! Verdict on a proposed memory: written, put into the inbox, or refused.
//!
//! # Model
//! One function for every writer. A proposal and the conversation go in; the verdict is final: a
//! transaction with the trust and origin that code found, an item for the inbox, or a reason that
//! the writer is told. Keys of the front matter that claim a source are the writer's opinion: they
//! are read as a hint (`source`) and overwritten.
//!
//! # Not here
//! The sources themselves ([`super::attribute`]); the sorts that are never saved
//! ([`super::never`]); applying a transaction (`dormouse-memdir`).

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

/// Most characters of a name made from a description: one line in lists and menus.
const LONGEST_NAME: usize = 60;
/// Most characters of a description: recall and the index show one line of it.
const LONGEST_DESCRIPTION: usize = 200;

/// Proposals that wait for approval (`memory.review`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Review {
    /// Those that stem from neither the user nor the assistant.
    #[default]
    Untrusted,
    /// Every proposal (`memory.review = "all"`).
    All,
}

/// Proposal of a writer.
#[derive(Clone, Debug)]
pub enum Proposed<'a> {
    /// File with its whole new content, as a model writes it.
    File {
        /// Target below the memory directory.
        path: &'a SafePath,
        /// New content, front matter included.
        content: &'a str,
    },
    /// Memory with its parts known, as the offline rules make it.
    Memory(&'a NewMemory),
}

/// Facts that a proposal is compared with.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Directory before the change.
    pub snapshot: &'a Snapshot,
    /// Conversation since the cursor.
    pub spans: &'a [Span],
    /// Texts that recall put before the model.
    pub recalled: &'a [&'a str],
    /// Texts of instruction files; repeating them is refused.
    pub known: &'a [&'a str],
    /// Setting `memory.review`: proposals that wait for approval.
    pub review: Review,
    /// Writer, for the journal and for the rules on pinned files.
    pub author: Author,
}

/// Memory that waits for approval.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// Target if it is approved; `None` to find a name then.
    pub path: Option<SafePath>,
    /// Whole file, with its trust and its origin.
    pub content: String,
    /// Trust found by code.
    pub trust: Trust,
    /// Span it stems from.
    pub origin: Origin,
    /// Reason for the wait, shown by `dormouse memory inbox`.
    pub reason: String,
}

/// Reason why a proposal is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    /// Source missing, or different from the claim.
    #[error(transparent)]
    Source(#[from] RefusedWrite),
    /// Sort of text that is never saved.
    #[error(transparent)]
    Never(#[from] Never),
    /// Text that wants to be obeyed: a prompt injection.
    #[error("not saved: {0}; memories are notes, not orders")]
    Order(&'static str),
    /// Index, log or other file that is no memory.
    #[error("`{0}` is not a memory; write topic files only, the index is kept for you")]
    NotTopic(SafePath),
    /// Refused by the gate that every change passes.
    #[error(transparent)]
    Gate(#[from] Refusal),
}

/// Verdict on a proposal.
#[derive(Clone, Debug, PartialEq)]
pub enum Judged {
    /// Change to be applied.
    Write(Transaction),
    /// Nothing to do: this file says it already.
    Known(SafePath),
    /// Kept apart until the user approves it.
    Inbox(Waiting),
    /// Not saved, with a reason for the writer.
    Refuse(Refused),
}

/// Judges a proposal; the only way into the directory for automation.
pub fn judge(proposed: &Proposed<'_>, context: &Context<'_>) -> Judged {
    match consider(proposed, context) {
        Ok(outcome) => outcome,
        Err(refused) => Judged::Refuse(refused),
    }
}

fn consider(proposed: &Proposed<'_>, context: &Context<'_>) -> Result<Judged, Refused> {
    let (path, content) = match proposed {
        Proposed::File { path, content } => (Some(*path), (*content).to_owned()),
        Proposed::Memory(memory) => (None, write::render(memory)),
    };
    if let Some(path) = path {
        check_path(path, context)?;
    }
    let old = path.and_then(|path| context.snapshot.get(path));
    let old = old.map(|file| file.text().into_owned()).unwrap_or_default();
    // Models rewrite files they only read; an unchanged one needs no source.
    if !old.is_empty() && old == content {
        let path = path.cloned();
        return Ok(path.map_or_else(|| Judged::Refuse(RefusedWrite::Empty.into()), Judged::Known));
    }
    // Before the source is looked for: an order stays one even if the user pasted it.
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
        // Offline rules cut it from the user's own sentence, so its parts need no second look.
        Proposed::Memory(memory) => NewMemory {
            origin: Some(found.origin.clone()),
            trust: Some(found.trust),
            ..(*memory).clone()
        },
        Proposed::File { .. } => memory_of(&content, &found),
    };
    if let Some(reason) = waits(&found, context) {
        return Ok(Judged::Inbox(Waiting {
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

/// Refuses a memory with a sentence of a sort that is never saved.
fn check_never(
    content: &str,
    old: &str,
    kind: Option<Kind>,
    context: &Context<'_>,
) -> Result<(), Refused> {
    // Over the whole text as well: a key may stand in front matter or span lines.
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
        // Sentences that were there before are not this writer's fault.
        let is_old = !old.is_empty() && before.has(words.as_str());
        if words.count() == 0 || is_old {
            continue;
        }
        // Reasons tell a story: a fix or a merge may be one.
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

/// Words that the writer gives as its source, the key `source`.
fn quote_of(content: &str) -> Option<String> {
    let (front, _) = topic::split(content);
    let value = front?.values(content).get("source")?.as_str()?.to_owned();
    Some(value.trim_matches(['"', '\'', ' ', '“', '”']).to_owned())
}

/// Memory that a file describes, with facts found by code in place of its claims.
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
    // A name is a claim as well: one with words from nowhere is replaced.
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

/// Keeps the claimed triggers that the text supports: an invented one would recall the memory in
/// the wrong work.
fn supported_triggers(claimed: Triggers, told: &str, derived: Triggers) -> Triggers {
    let keep = |list: Vec<String>| -> Vec<String> {
        let has = |item: &String| {
            let bare = item.trim_matches(['*', '.', '/']).to_lowercase();
            // A pattern such as `**` is left with nothing and would match every file.
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

/// Body without the unsupported sentences; labels without a text behind them go too.
fn without_lines(body: &str, unsupported: &[String]) -> String {
    let mut out = body.to_owned();
    for text in unsupported {
        // Once: the same words may stand elsewhere as a supported sentence.
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
            "it stems from {} and is not approved yet",
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
) -> Result<Judged, Refused> {
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
            // A file that the model chose, only if nothing like it exists; otherwise merge, so that
            // a model that overlooked a memory makes no duplicate.
            match (&added.placement, path) {
                (Placement::Known(known), _) => return Ok(Judged::Known(known.clone())),
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
    // Merged without a new line: the directory says all of it already.
    if transaction.is_empty() {
        let known = path
            .cloned()
            .or_else(|| Some(write::place(snapshot, memory).path().clone()));
        return known
            .map(Judged::Known)
            .ok_or_else(|| RefusedWrite::Empty.into());
    }
    Ok(Judged::Write(transaction))
}

/// New text for an existing file: keys of other tools stay, trust can only fall.
fn updated(content: &str, old: &str, memory: &NewMemory, found: &Attribution) -> String {
    let before = Topic::read(old);
    // Only lower: a rewrite by a more trusted speaker does not vouch for the lines it keeps.
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
