//! Remembering: a user's words become a memory.
//!
//! # Not here
//! Placing it among others: `dormouse_memory::write`. Name and description: `wording`.

use super::{limits, wording};
use crate::error::HostError;
use crate::host::Host;
use crate::place::Which;
use crate::remark::Remark;
use dormouse_core::units::Millis;
use dormouse_guard::secrets;
use dormouse_memory::index::nearness;
use dormouse_memory::topic::{Kind, Triggers};
use dormouse_memory::transaction::Author;
use dormouse_memory::trust::{Origin, Speaker, Trust};
use dormouse_memory::write::{self, NewMemory, Placement};
use serde::Serialize;
use std::fmt;

/// Reason for the journal. It says nothing of the text: that must be gone after a purge.
const REASON: &str = "added by hand";

/// A memory in a user's words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewMemoryText {
    /// The words to remember.
    pub text: String,
    /// Its type; told from the words if it is `None`.
    pub kind: Option<Kind>,
    /// Its name; made of telling words if it is `None`.
    pub name: Option<String>,
    /// The line that recall reads; the first sentence if it is `None`.
    pub description: Option<String>,
    /// The last day on which it holds.
    pub until: Option<jiff::civil::Date>,
    /// Patterns of files that call for it.
    pub paths: Vec<String>,
    /// Commands that call for it.
    pub commands: Vec<String>,
}

/// The part of a memory that holds a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CredentialIn {
    /// The text of the memory, with its line.
    Text,
    /// The name that was given.
    Name,
    /// The description that was given.
    Description,
}

impl fmt::Display for CredentialIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "the text",
            Self::Name => "the name",
            Self::Description => "the description",
        })
    }
}

/// The outcome of remembering: the file, and its relation to others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remembered {
    /// File of the memory, relative to its directory.
    pub path: String,
    /// `created`, `known`, `merged` or `overtook`.
    pub placement: &'static str,
    /// The memory that was overtaken.
    pub other: Option<String>,
    /// The entry of the journal, if anything changed.
    pub entry: Option<String>,
}

impl Host {
    /// Remembers something. Text with a credential in it is refused.
    ///
    /// # Errors
    /// When there is a credential, memory is off, or the directory cannot be changed.
    pub fn remember(&self, which: &Which, new: &NewMemoryText) -> Result<Remembered, HostError> {
        refuse_secrets(new)?;
        let memory = memory(new, self.now(), which);
        let settings = self.settings();
        let (mut placement, mut near) = (None, None);
        // Planned inside the update, which asks again if another process added the same meanwhile.
        let entry = self.find(which)?.update(|snapshot| {
            let added = write::add(snapshot, &memory, Author::User, REASON);
            // The index as it will be: a warning after the next addition would come too late.
            let after = added.transaction.applied(snapshot, Millis(0));
            near = nearness(&after.index(), limits(&settings));
            placement = Some(added.placement);
            Ok(added.transaction)
        })?;
        if let Some(what) = near {
            self.remark(Remark::IndexNearlyFull { what });
        }
        let path = placement
            .as_ref()
            .map(|placement| placement.path().to_string());
        let (placement, other) = match &placement {
            Some(Placement::Create(_)) => ("created", None),
            Some(Placement::Merge(_)) => ("merged", None),
            Some(Placement::Contradict { other, .. }) => ("overtook", Some(other.to_string())),
            Some(Placement::Known(_)) | None => ("known", None),
        };
        Ok(Remembered {
            path: path.unwrap_or_default(),
            placement,
            other,
            entry: entry.map(|entry| entry.id),
        })
    }
}

/// Refuses before anything is written or said: a credential must not be shown either.
pub(super) fn refuse_secrets(new: &NewMemoryText) -> Result<(), HostError> {
    let given = [
        (CredentialIn::Text, Some(new.text.as_str())),
        (CredentialIn::Name, new.name.as_deref()),
        (CredentialIn::Description, new.description.as_deref()),
    ];
    for (place, text) in given {
        if let Some(found) = text.and_then(|text| secrets::scan(text).into_iter().next()) {
            return Err(HostError::Credential {
                place,
                line: found.line,
                rule: found.rule,
            });
        }
    }
    Ok(())
}

pub(super) fn memory(new: &NewMemoryText, now: Millis, which: &Which) -> NewMemory {
    let first = wording::description(&new.text);
    NewMemory {
        // A type is needed for the file's name and for the index; a guess can be edited.
        kind: Some(new.kind.unwrap_or_else(|| wording::kind(&new.text))),
        name: new.name.clone().unwrap_or_else(|| wording::name(&first)),
        description: new.description.clone().unwrap_or_else(|| first.clone()),
        body: new.text.trim().to_owned(),
        origin: Some(Origin {
            session: None,
            message: None,
            speaker: Speaker::User,
            time: now,
        }),
        // Typed by the user: recalled as it is, without approval.
        trust: Some(Trust::User),
        triggers: Triggers {
            paths: new.paths.clone(),
            commands: new.commands.clone(),
            ..Triggers::default()
        },
        valid_until: new.until.map(|day| day.to_string()),
        // Team memory names its author; private memory has only one.
        author: (*which == Which::Team).then(|| "user".to_owned()),
    }
}
