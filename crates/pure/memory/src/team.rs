//! Memory shared by the people of a project.
//!
//! # Model
//! A directory of its own, with its own index, meant to be committed. The type of a memory decides
//! if it goes there ([`scope_for`]); a shared memory names its author ([`signed`]). A colleague's
//! memory is not the user's: until the folder is trusted, it has no more trust than any file found
//! in a repository ([`believed`]).
//!
//! # Not here
//! Location of the directory (`dormouse-memdir`); scanning for secrets, which every write passes
//! ([`crate::transaction::Transaction::vet`]).

use crate::topic::Kind;
use crate::trust::Trust;
use crate::write::NewMemory;
use serde::{Deserialize, Serialize};

/// Readers of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Only the user, on this machine.
    Private,
    /// Everyone who has the repository.
    Team,
}

/// Subject of a memory: the project, or the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It holds for everyone who works on the project.
    ProjectWide,
    /// It holds for the user alone.
    Personal,
    /// No sign of either in the text.
    Unknown,
}

/// Directory that a memory belongs to. An untyped one stays private: sharing by mistake cannot be
/// taken back.
pub const fn scope_for(kind: Option<Kind>, reach: Reach) -> Scope {
    let shared = match kind {
        Some(Kind::User) | None => false,
        // A correction is mostly one person's taste, so it needs a sign that it holds for all.
        Some(Kind::Feedback) => matches!(reach, Reach::ProjectWide),
        Some(Kind::Project | Kind::Reference) => !matches!(reach, Reach::Personal),
    };
    if shared { Scope::Team } else { Scope::Private }
}

/// Memory with the name of its author, so that a colleague knows whom to ask.
#[must_use]
pub fn signed(memory: NewMemory, author: &str) -> NewMemory {
    NewMemory {
        // An empty `author` key would look signed.
        author: Some(author.trim().to_owned()).filter(|author| !author.is_empty()),
        ..memory
    }
}

/// User's verdict on the folder of the shared directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folder {
    /// Confirmed by the user.
    Trusted,
    /// Not confirmed, or not asked yet.
    Untrusted,
}

/// Trust of a shared memory, whatever it claims. In a trusted folder it is a colleague's word,
/// which is not the user's own.
pub fn believed(claimed: Option<Trust>, folder: Folder) -> Trust {
    match folder {
        Folder::Untrusted => Trust::External,
        // Capped: otherwise a file in the repository could claim to be this user's words.
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
