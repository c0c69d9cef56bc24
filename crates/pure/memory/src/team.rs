//! Memory that the people of a project share.
//!
//! # Model
//! A directory of its own, with its own index, meant to be committed. What goes there follows from
//! the type of a memory ([`scope_for`]); what is written there names its author ([`signed`]). What
//! others wrote is theirs: until the folder is trusted, it is worth no more than any file found in
//! a repository ([`believed`]).
//!
//! # Not here
//! Where the directory is; scanning for secrets, which every write passes
//! ([`crate::transaction::Transaction::vet`]).

use crate::topic::Kind;
use crate::trust::Trust;
use crate::write::NewMemory;
use serde::{Deserialize, Serialize};

/// Who sees a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The user alone.
    Private,
    /// Everyone on the project.
    Team,
}

/// Whether a memory is about the project or about the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It holds for everyone who works on the project.
    ProjectWide,
    /// It holds for the user alone.
    Personal,
    /// Nothing says which.
    Unknown,
}

/// Where a memory belongs. An untyped one stays private: what is shared by mistake cannot be
/// taken back.
pub const fn scope_for(kind: Option<Kind>, reach: Reach) -> Scope {
    let shared = match kind {
        Some(Kind::User) | None => false,
        Some(Kind::Feedback) => matches!(reach, Reach::ProjectWide),
        Some(Kind::Project | Kind::Reference) => !matches!(reach, Reach::Personal),
    };
    if shared { Scope::Team } else { Scope::Private }
}

/// A memory with the name of who shares it.
#[must_use]
pub fn signed(memory: NewMemory, author: &str) -> NewMemory {
    NewMemory {
        author: Some(author.trim().to_owned()).filter(|author| !author.is_empty()),
        ..memory
    }
}

/// Whether the user has said that the folder is to be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folder {
    /// Yes.
    Trusted,
    /// No, or not asked yet.
    Untrusted,
}

/// How far a shared memory is believed, whatever it claims. In a trusted folder it is a colleague's
/// word, which is not the user's own.
pub fn believed(claimed: Option<Trust>, folder: Folder) -> Trust {
    match folder {
        Folder::Untrusted => Trust::External,
        Folder::Trusted => claimed.unwrap_or(Trust::Assistant).min(Trust::Assistant),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_go_where_their_type_says() {
        use Reach::{Personal, ProjectWide, Unknown};
        use Scope::{Private, Team};
        for (kind, expected) in [
            (Some(Kind::User), [Private, Private, Private]),
            (Some(Kind::Feedback), [Team, Private, Private]),
            (Some(Kind::Project), [Team, Private, Team]),
            (Some(Kind::Reference), [Team, Private, Team]),
            (None, [Private, Private, Private]),
        ] {
            let found = [ProjectWide, Personal, Unknown].map(|reach| scope_for(kind, reach));
            assert_eq!(found, expected, "{kind:?}");
        }
    }

    #[test]
    fn what_is_shared_names_its_author() {
        let memory = signed(NewMemory::default(), " Ann ");
        assert_eq!(memory.author.as_deref(), Some("Ann"));
        assert_eq!(signed(memory, " ").author, None);
    }

    #[test]
    fn others_are_believed_only_in_a_trusted_folder_and_never_as_the_user() {
        let user = Some(Trust::User);
        assert_eq!(believed(user, Folder::Untrusted), Trust::External);
        assert_eq!(believed(user, Folder::Trusted), Trust::Assistant);
        assert_eq!(
            believed(Some(Trust::External), Folder::Trusted),
            Trust::External
        );
        assert!(believed(None, Folder::Trusted).is_recalled());
    }
}
