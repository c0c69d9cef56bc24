//! Failures of the host's services: exit codes and hints.
//!
//! # Not here
//! Failures of files, transcripts, settings and trust, which the parent module turns into text.

use super::{Exit, Failure, UserError};
use dormouse_host::{
    CredentialIn, DreamError, HostError, InstallError, NameError, NoPlace, WriteError,
};

/// Candidates that an error names at most: eight paths are two or three lines of a screen, and a
/// user who has to choose among more had better list them.
const MOST_NAMED: usize = 8;

impl From<HostError> for Failure {
    #[expect(
        clippy::too_many_lines,
        reason = "one arm for each failure of the host"
    )]
    fn from(error: HostError) -> Self {
        let shown = |kind| UserError::of(kind, &error);
        match error {
            HostError::Settings(error) => error.into(),
            HostError::Trust(error) => error.into(),
            HostError::Edit(error) => error.into(),
            HostError::Place(error) => error.into(),
            HostError::Memory(error) => error.into(),
            HostError::Write(error) => error.into(),
            HostError::Files(error) => error.into(),
            HostError::Read(error) => error.into(),
            HostError::Layout(error) => error.into(),
            HostError::Convert(error) => error.into(),
            HostError::Dream(error) => error.into(),
            HostError::Name(error) => error.into(),
            HostError::Install(error) => error.into(),
            HostError::Folder(error) => {
                // A path that is not there is a typing error; a path of the wrong kind is a wrong
                // choice.
                let missing = error.not_found();
                let kind = if missing {
                    Exit::Unreadable
                } else {
                    Exit::Unsuitable
                };
                UserError::of(kind, &error)
                    .hint("name a folder with transcripts, such as ~/.claude/projects")
                    .into()
            }
            HostError::NotForMemory(_) => shown(Exit::Refused)
                .hint("name a directory made for memories")
                .into(),
            HostError::NoDirectory(_) => shown(Exit::Unreadable)
                .hint(
                    "check the path; `dormouse memory --dir DIR add 'TEXT'` begins a memory in a \
                     new folder",
                )
                .into(),
            HostError::NoTeamMemory => shown(Exit::Unsuitable)
                .hint("team memory lies in a git repository, or where `team.directory` says")
                .into(),
            HostError::TeamUntrusted => shown(Exit::Refused)
                .hint("`dormouse config trust` trusts this folder")
                .into(),
            HostError::Credential { place, line, rule } => credential(place, line, rule).into(),
            HostError::NotText(_) => shown(Exit::Unsuitable)
                .hint("what is not understood is not rewritten; save it as UTF-8 first")
                .into(),
            HostError::NoChanges => shown(Exit::Unsuitable)
                .hint("`dormouse memory add` makes a first change")
                .into(),
            HostError::AllUndone => shown(Exit::Unsuitable)
                .hint(
                    "`dormouse memory undo ENTRY` takes an undo back; `dormouse memory log` lists \
                     them",
                )
                .into(),
            HostError::AmbiguousEntry { .. } => shown(Exit::Usage)
                .hint("give more of the id: `dormouse memory log --json`")
                .into(),
            HostError::AmbiguousItem(_) => shown(Exit::Usage)
                .hint("give more of the id: `dormouse memory inbox --json`")
                .into(),
            HostError::NoPath(_) => shown(Exit::Unreadable).hint("check the path").into(),
            HostError::TooManyFiles { .. } => shown(Exit::Unsuitable)
                .hint("name the folder of the memories themselves")
                .into(),
            HostError::OtherFormat { .. } => shown(Exit::Unsuitable)
                .hint("`dormouse convert` makes a log of it, which can be exported")
                .into(),
            HostError::NoTranscripts(_) => shown(Exit::Unsuitable)
                .hint("Claude Code keeps its transcripts in ~/.claude/projects")
                .into(),
            HostError::NoSessions | HostError::NoSessionHere(_) => shown(Exit::Unreadable)
                .hint("name a transcript; `dormouse sessions DIR` lists those below a folder")
                .into(),
            HostError::NoSession(_) => shown(Exit::Unreadable)
                .hint("`dormouse sessions` lists sessions with their ids")
                .into(),
            HostError::AmbiguousSession { ref many, .. } => {
                let mut named: Vec<&str> = many.iter().map(String::as_str).collect();
                named.truncate(MOST_NAMED);
                let more = match many.len() - named.len() {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                let hint = format!("give more of the id: {}{more}", named.join(", "));
                shown(Exit::Usage).hint(hint).into()
            }
            HostError::NoLine { lines, .. } => shown(Exit::Usage)
                .hint(format!(
                    "lines count from 1 to {lines}; `dormouse log` lists them"
                ))
                .into(),
            HostError::NoRequest { count, .. } => shown(Exit::Usage)
                .hint(format!("requests count from 1 to {count}"))
                .into(),
            HostError::NoRecord { .. } => shown(Exit::Usage)
                .hint("`dormouse log --json` lists the ids of all records")
                .into(),
            HostError::NothingRecorded(_) => shown(Exit::Unsuitable)
                .hint(
                    "only logs that Dormouse writes hold requests; leave --raw out to see the \
                     messages",
                )
                .into(),
            HostError::NoPrefix(_) => shown(Exit::Unsuitable)
                .hint("they lie in the session's folder beside the log, under `blobs`")
                .into(),
            HostError::Outside { .. } => shown(Exit::Refused)
                .hint(
                    "leave it out to look at all projects, or name a memory directory; nothing else \
                     is ever removed",
                )
                .into(),
            // Nothing is left to do about these two, so no hint is given.
            HostError::NoDream | HostError::NoMessages(_) => shown(Exit::Unsuitable).into(),
            // Failures that the user cannot mend, and variants added later.
            _ => shown(Exit::Unexpected).into(),
        }
    }
}

/// The refusal of a text with a credential: names the option and the line, never the value.
fn credential(place: CredentialIn, line: usize, rule: &str) -> UserError {
    let option = match place {
        CredentialIn::Text => "the text",
        CredentialIn::Name => "--name",
        CredentialIn::Description => "--description",
    };
    let message =
        format!("line {line} of {option} holds a credential ({rule}); nothing was remembered");
    // Refused before anything was written: the text is in no file and no journal.
    UserError::new(Exit::Refused, message)
        .hint("leave it out and name the place where it is kept instead")
}

impl From<InstallError> for Failure {
    fn from(error: InstallError) -> Self {
        let shown = |kind| UserError::of(kind, &error);
        match &error {
            InstallError::Refused { .. } => {
                shown(Exit::Refused).hint("mend the file and try again; nothing was changed")
            }
            InstallError::Taken { .. } => {
                shown(Exit::Refused).hint("rename or remove that entry first; nothing was changed")
            }
            InstallError::NoProgram(_) => shown(Exit::Unreadable)
                .hint("install the client first, or add it to the search path"),
            InstallError::NotInstalled(_) => shown(Exit::Unsuitable)
                .hint("`dormouse install` lists the clients that have memory"),
            InstallError::NoHome => shown(Exit::Unreadable).hint("set HOME"),
            // The client's own words are the best hint there is.
            _ => shown(Exit::Unexpected),
        }
        .into()
    }
}

impl From<NameError> for Failure {
    fn from(error: NameError) -> Self {
        match &error {
            NameError::Missing { near, .. } => {
                let shown = UserError::of(Exit::Unreadable, &error);
                match near.as_slice() {
                    // Several near names would be a guess; only one is worth a question.
                    [one] => shown.hint(format!("did you mean `{one}`?")),
                    _ => shown.hint("`dormouse memory list --all` shows what there is"),
                }
            }
            NameError::Partial { many, .. } | NameError::Ambiguous { many, .. } => {
                let named: Vec<String> = many
                    .iter()
                    .take(MOST_NAMED)
                    .map(ToString::to_string)
                    .collect();
                let more = match many.len() - named.len() {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                let hint = match &error {
                    NameError::Partial { .. } => {
                        format!("give the whole name: {}{more}", named.join(", "))
                    }
                    _ => format!("name one of {}{more}", named.join(", ")),
                };
                UserError::of(Exit::Usage, &error).hint(hint)
            }
        }
        .into()
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        let kind = match &error {
            WriteError::Missing(_) => Exit::Unreadable,
            WriteError::NotTopic(_) | WriteError::Path(_) => Exit::Usage,
            WriteError::AlreadyPinned(_) | WriteError::NotPinned(_) | WriteError::Taken(_) => {
                Exit::Refused
            }
        };
        UserError::of(kind, &error).into()
    }
}

impl From<NoPlace> for Failure {
    fn from(error: NoPlace) -> Self {
        let kind = match &error {
            NoPlace::Off { .. } | NoPlace::SubAgent | NoPlace::Remote | NoPlace::Refused { .. } => {
                Exit::Refused
            }
            // The user can name a home; the others are decisions or failures of the disk.
            NoPlace::NoHome { .. } => Exit::Usage,
            NoPlace::Files(_) | NoPlace::Folder(_) | NoPlace::Memdir(_) => Exit::Unreadable,
        };
        let shown = UserError::of(kind, &error);
        match error {
            NoPlace::Off { .. } => shown
                .hint("`dormouse config show memory` says who switched it off")
                .into(),
            _ => shown.into(),
        }
    }
}

impl From<DreamError> for Failure {
    fn from(error: DreamError) -> Self {
        let kind = match &error {
            DreamError::Lock(_) | DreamError::Lost(_) | DreamError::Refused(_) => Exit::Refused,
            DreamError::Directory(_) | DreamError::Staging(_) | DreamError::TooLong(_) => {
                Exit::Unexpected
            }
        };
        if let DreamError::Refused(objections) = &error {
            // The objections are many and equal in rank: listed as causes under one message of
            // ours.
            let message = "the dream did not pass the check; nothing was changed";
            let mut shown = UserError::new(kind, message);
            shown.causes = objections.iter().map(ToString::to_string).collect();
            return shown
                .hint("`dormouse dream --now --offline` dreams without a model")
                .into();
        }
        UserError::of(kind, &error).into()
    }
}
