//! Changing, moving and dropping memories.
//!
//! # Not here
//! Adding and merging (`add`); edits of single keys ([`crate::topic`]).

use super::put_index;
use crate::frame;
use crate::index;
use crate::snapshot::{INDEX, PINNED, Snapshot, is_pinned, is_topic};
use crate::topic::{self, Field, Topic};
use crate::transaction::{Author, Transaction};
use crate::trust::{Origin, Trust};
use dormouse_guard::paths::{PathRefusal, SafePath};

/// Reason why a wish cannot be turned into a transaction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// There is no such memory.
    #[error("there is no memory `{0}`")]
    Missing(SafePath),
    /// Index, log or other file that is no memory.
    #[error("`{0}` is not a memory; only topic files can be changed this way")]
    NotTopic(SafePath),
    /// Pinned already: the file lies below `pinned/`.
    #[error("`{0}` is pinned already")]
    AlreadyPinned(SafePath),
    /// Memory that is not below `pinned/`.
    #[error("`{0}` is not pinned")]
    NotPinned(SafePath),
    /// Target of a move exists.
    #[error("`{0}` exists already; rename one of the two first")]
    Taken(SafePath),
    /// Target of a move is no valid path.
    #[error(transparent)]
    Path(#[from] PathRefusal),
}

fn text_of(snapshot: &Snapshot, path: &SafePath) -> Result<String, WriteError> {
    let file = snapshot
        .get(path)
        .ok_or_else(|| WriteError::Missing(path.clone()))?;
    if !is_topic(path) {
        return Err(WriteError::NotTopic(path.clone()));
    }
    Ok(file.text().into_owned())
}

/// Gives a memory, or a new file, a new text.
pub fn retext(
    snapshot: &Snapshot,
    path: &SafePath,
    text: &str,
    author: Author,
    reason: &str,
) -> Transaction {
    let mut transaction = Transaction::by(author, reason);
    transaction.put(snapshot, path.clone(), text.to_owned());
    if is_topic(path) {
        let old = snapshot.get(path).map(|file| file.text().into_owned());
        let index_text = index::relisted(&snapshot.index(), path, old.as_deref(), text);
        put_index(&mut transaction, snapshot, index_text);
    }
    transaction.without_idle(snapshot)
}

/// Changes the front matter of a memory.
pub fn edit(
    snapshot: &Snapshot,
    path: &SafePath,
    fields: &[Field],
    author: Author,
    reason: &str,
) -> Result<Transaction, WriteError> {
    let text = topic::edit(&text_of(snapshot, path)?, fields);
    Ok(retext(snapshot, path, &text, author, reason))
}

/// Judgement of the user on a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It helped with the work at hand.
    Useful,
    /// It does not hold.
    Wrong,
}

/// Counts a judgement of the user in the front matter. A memory of an assistant that was of use
/// becomes the user's own word; one that was called wrong more often than useful is history.
///
/// # Errors
/// When there is no such memory.
pub fn judge(
    snapshot: &Snapshot,
    path: &SafePath,
    judgement: Judgement,
    reason: &str,
) -> Result<Transaction, WriteError> {
    let topic = Topic::read(&text_of(snapshot, path)?);
    let mut fields = Vec::new();
    match judgement {
        Judgement::Useful => {
            fields.push(Field::Useful(topic.useful.saturating_add(1)));
            // A level below stems from a tool or a page: approval, which shows the text, is its way.
            if topic.trust == Some(Trust::Assistant) {
                fields.push(Field::Trust(Trust::User));
            }
        }
        // One word is enough, whatever was said before: the last one holds.
        Judgement::Wrong => fields.push(Field::Wrong(
            topic.wrong.max(topic.useful).saturating_add(1),
        )),
    }
    // The same for the other way: the memory speaks again.
    if judgement == Judgement::Useful && topic.is_wrong() {
        fields.push(Field::Wrong(0));
    }
    edit(snapshot, path, &fields, Author::User, reason)
}

/// Drops a memory and its line in the index, and marks its dependents for review.
pub fn forget(
    snapshot: &Snapshot,
    path: &SafePath,
    author: Author,
    reason: &str,
) -> Result<Transaction, WriteError> {
    let text = text_of(snapshot, path)?;
    let mut transaction = Transaction::by(author, reason);
    transaction.delete(snapshot, path.clone());
    flag_dependents(
        &mut transaction,
        snapshot,
        path,
        &format!("{path} was forgotten"),
    );
    let index_text = index::without(&snapshot.index(), path, &text);
    put_index(&mut transaction, snapshot, index_text);
    Ok(transaction)
}

/// Marks `old` as overtaken within a transaction; returns the index without Dormouse's line of it.
pub(crate) fn supersede_in(
    transaction: &mut Transaction,
    snapshot: &Snapshot,
    old: &SafePath,
    (new, origin): (&SafePath, Option<&Origin>),
    index_text: &str,
) -> String {
    let Some(file) = snapshot.get(old) else {
        return index_text.to_owned();
    };
    let before = file.text();
    let mut fields = vec![Field::SupersededBy(Some(new.to_string()))];
    // History has its date: the day on which the newer word was said.
    if let Some(day) = frame::last_day(&Topic::read(&before), origin) {
        fields.push(Field::ValidUntil(Some(day)));
    }
    let text = topic::edit(&before, &fields);
    let index_text = index::relisted(index_text, old, Some(&file.text()), &text);
    transaction.put(snapshot, old.clone(), text);
    flag_dependents(
        transaction,
        snapshot,
        old,
        &format!("{old} was overtaken by {new}"),
    );
    index_text
}

/// Memories that link to a file, as `[[name]]` or `[[name.md]]`.
pub fn dependents<'a>(snapshot: &'a Snapshot, path: &SafePath) -> Vec<&'a SafePath> {
    let others = snapshot.topics().filter(|(other, _)| *other != path);
    others
        .filter(|(_, file)| links_to(&file.text(), path))
        .map(|(other, _)| other)
        .collect()
}

/// True if a text links to a file, as `[[name]]` or `[[name.md]]`.
pub(crate) fn links_to(text: &str, path: &SafePath) -> bool {
    let bare = path.as_str().strip_suffix(".md").unwrap_or(path.as_str());
    // The common part first: most texts have no link at all.
    text.contains("[[")
        && [format!("[[{bare}]]"), format!("[[{bare}.md]]")]
            .iter()
            .any(|link| text.contains(link.as_str()))
}

/// Marks the memories that link to a file for review. Automation leaves pinned ones unmarked.
fn flag_dependents(transaction: &mut Transaction, snapshot: &Snapshot, path: &SafePath, why: &str) {
    for other in dependents(snapshot, path) {
        let theirs = transaction.author.is_automation() && is_pinned(other);
        let changed = transaction
            .operations
            .iter()
            .any(|done| done.path == *other);
        // A transaction names each file once; a second operation would be refused as a whole.
        if theirs || changed {
            continue;
        }
        if let Some(file) = snapshot.get(other) {
            let text = topic::edit(&file.text(), &[Field::Review(Some(why.to_owned()))]);
            transaction.put(snapshot, other.clone(), text);
        }
    }
}

/// Moves a memory below `pinned/`, out of automation's reach.
pub fn pin(snapshot: &Snapshot, path: &SafePath) -> Result<Transaction, WriteError> {
    if is_pinned(path) {
        return Err(WriteError::AlreadyPinned(path.clone()));
    }
    let to = SafePath::parse(&format!("{PINNED}/{path}"))?;
    moved(snapshot, path, &to, "pin")
}

/// Moves a pinned memory back to where it was before.
pub fn unpin(snapshot: &Snapshot, path: &SafePath) -> Result<Transaction, WriteError> {
    let bare = path
        .as_str()
        .strip_prefix(PINNED)
        .and_then(|rest| rest.strip_prefix('/'));
    let Some(bare) = bare else {
        return Err(WriteError::NotPinned(path.clone()));
    };
    moved(snapshot, path, &SafePath::parse(bare)?, "unpin")
}

fn moved(
    snapshot: &Snapshot,
    from: &SafePath,
    to: &SafePath,
    reason: &str,
) -> Result<Transaction, WriteError> {
    let text = text_of(snapshot, from)?;
    // A put would overwrite a different memory of the same name.
    if snapshot.get(to).is_some() {
        return Err(WriteError::Taken(to.clone()));
    }
    let mut transaction = Transaction::by(Author::User, format!("{reason} {from}"));
    transaction.delete(snapshot, from.clone());
    transaction.put(snapshot, to.clone(), text.clone());
    let index_text = snapshot.index();
    let moved = index::retargeted(&index_text, from, to);
    // A memory without a link gets a line now, or pinning would leave it unlisted. A person's line
    // stays where it is and leads to the new place.
    let index_text = index::relisted(&moved, to, Some(&text), &text);
    // A guard only: no topic is called `MEMORY.md`, and the index may not be changed twice.
    if to.as_str() != INDEX {
        put_index(&mut transaction, snapshot, index_text);
    }
    Ok(transaction)
}
