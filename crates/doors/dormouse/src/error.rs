//! The edge where errors become text, a hint and an exit code.
//!
//! # Model
//! Libraries return their own errors, with the path or id in the message and the cause behind it.
//! `From` turns each into a [`Failure`], deciding here and nowhere else what the user is told to do
//! and with which [`Exit`] the program ends.
//!
//! On screen: `error:` with the message, one `because:` line per cause, a `hint:`. With `--json`
//! one object on stderr: `{"error": {"kind", "exit_code", "message", "causes", "hint"}}`.
//!
//! # Not here
//! Usage errors of the command line parser, which words them itself; only their JSON form is here.

mod services;

use crate::output::{Format, Line, Out, OutError, Role};
use dormouse_config::{ConfigIssue, EditError, LoaderError, TrustError};
use dormouse_core::settings::SettingsIssue;
use dormouse_host::{ConvertError, LayoutError, MemdirError, OpenError, ReadError};
use dormouse_system::{FileError, Operation};
use serde::Serialize;
use serde_json::json;
use std::error::Error;
use std::process::ExitCode;

/// Result of a command: nothing, since it has printed its answer, or the reason it ended early.
pub type Outcome = Result<(), Failure>;

/// The exit code of the program, by the kind of failure. Scripts depend on the numbers: they stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Exit {
    /// The command did its work, or the reader of its output has seen enough.
    Ok = 0,
    /// A failure that the user did not cause: of the disk, of the network, of Dormouse itself.
    Unexpected = 1,
    /// The command line is wrong; clap and most shells use 2 for it.
    Usage = 2,
    /// An input cannot be read: missing, a directory, no permission.
    Unreadable = 3,
    /// An input is not what it should be: empty, not a transcript, not a folder.
    Unsuitable = 4,
    /// Refused to protect something: locked by another process, of a newer format, or not let
    /// through by the guard.
    Refused = 5,
    /// A limit that the user set: it has ended the work, of which everything is kept, or a figure
    /// breaks it.
    Limit = 6,
    /// The system has asked the program to end: 128 and the number of the signal, as shells count.
    Terminated = 143,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        // The discriminants are the exit codes of the help.
        Self::from(exit as u8)
    }
}

/// The reason why a command ended early.
#[derive(Debug)]
pub enum Failure {
    /// The reader of the output closed the pipe, which is no error.
    ReaderIsGone,
    /// The printed result itself says what is wrong; only the exit code is left to set.
    Told(Exit),
    /// An error the user is told about.
    Error(Box<UserError>),
}

impl Failure {
    /// The failure in one line, for a screen that goes on.
    pub fn message(&self) -> String {
        match self {
            Self::ReaderIsGone => "the output was closed".to_owned(),
            Self::Told(_) => "it did not go well".to_owned(),
            Self::Error(error) => {
                let parts = std::iter::once(&error.message).chain(&error.causes);
                parts.cloned().collect::<Vec<_>>().join(": ")
            }
        }
    }
}

/// An error as the user sees it: what failed, why, what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UserError {
    /// The exit that it leads to, and its name in JSON.
    pub kind: Exit,
    /// The operation that failed and the path or id it failed on.
    pub message: String,
    /// The reasons, from the near to the far; one `because:` line each.
    pub causes: Vec<String>,
    /// A step that the user can take; none where only the cause can be reported.
    pub hint: Option<String>,
}

impl UserError {
    /// An error that has no other behind it.
    pub fn new(kind: Exit, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            causes: Vec::new(),
            hint: None,
        }
    }

    /// An error of a library, with the errors behind it as causes.
    pub fn of(kind: Exit, error: &dyn Error) -> Self {
        Self {
            causes: causes(error),
            ..Self::new(kind, error.to_string())
        }
    }

    /// Adds a step that the user can take.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Prints the error on stderr, as text or as one JSON object.
    pub fn report(&self, out: &mut Out) {
        match out.format() {
            Format::Json => {
                let error = json!({"error": {
                    "kind": self.kind,
                    "exit_code": self.kind as u8,
                    "message": self.message,
                    "causes": self.causes,
                    "hint": self.hint,
                }});
                out.json_aside(&error);
            }
            Format::Text => {
                out.aside(labelled(Role::Error, "error", &self.message));
                for cause in &self.causes {
                    out.aside(labelled(Role::Dim, "  because", cause));
                }
                if let Some(hint) = &self.hint {
                    out.aside(labelled(Role::Hint, "hint", hint));
                }
            }
        }
    }
}

fn labelled(role: Role, label: &str, text: &str) -> Line {
    Line::new().role(role, label).text(": ").text(text)
}

/// The messages behind an error, from the near to the far.
pub fn causes(error: &dyn Error) -> Vec<String> {
    let mut texts = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        texts.push(cause.to_string());
        next = cause.source();
    }
    texts
}

impl Failure {
    /// Tells the user, and says how the program ends.
    pub fn report(&self, out: &mut Out) -> Exit {
        match self {
            // `dormouse … | head` is a normal use; scripts with `pipefail` would stop otherwise.
            Self::ReaderIsGone => Exit::Ok,
            Self::Told(exit) => *exit,
            Self::Error(error) => {
                error.report(out);
                error.kind
            }
        }
    }
}

impl From<UserError> for Failure {
    fn from(error: UserError) -> Self {
        Self::Error(Box::new(error))
    }
}

impl From<OutError> for Failure {
    fn from(error: OutError) -> Self {
        if error.reader_is_gone() {
            // Silent: `head` has what it wanted, and a message would stand in the middle of its
            // output.
            return Self::ReaderIsGone;
        }
        let error = UserError::of(Exit::Unexpected, &error);
        error
            .hint("check that there is room where the output goes")
            .into()
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        file_error(&error, &error).into()
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        read_error(&error, &error).into()
    }
}

/// An error of reading a transcript. `error` is the one told, which may wrap `reason`; `reason`
/// decides about exit and hint.
fn read_error(error: &dyn Error, reason: &ReadError) -> UserError {
    match reason {
        ReadError::Missing { .. } => UserError::of(Exit::Unreadable, error)
            .hint("check the path; `dormouse sessions DIR` lists what is there"),
        ReadError::Directory { .. } => UserError::of(Exit::Unreadable, error).hint(
            "name a file in it; `dormouse sessions DIR` and `dormouse usage DIR` take folders",
        ),
        ReadError::Denied { .. } => {
            UserError::of(Exit::Unreadable, error).hint("check who may read the file")
        }
        ReadError::Empty { .. } => UserError::of(Exit::Unsuitable, error)
            .hint("a transcript has one JSON object a line; this one was never written to"),
        ReadError::NotATranscript { .. } => UserError::of(Exit::Unsuitable, error)
            .hint("a transcript has one JSON object a line, like Claude Code's *.jsonl"),
        ReadError::File { source, .. } => file_error(error, source),
    }
}

impl From<ConvertError> for Failure {
    fn from(error: ConvertError) -> Self {
        match &error {
            ConvertError::Exists { .. } => UserError::of(Exit::Refused, &error)
                .hint("it was converted before; --to FILE writes somewhere else"),
            // No failure of the file: it needs no conversion.
            ConvertError::AlreadyOwn { .. } => {
                UserError::of(Exit::Unsuitable, &error).hint("it can be used as it is")
            }
            ConvertError::Read(reason) => read_error(&error, reason),
            ConvertError::Open(OpenError::Busy { .. }) => UserError::of(Exit::Refused, &error)
                .hint("another process writes to that log; try again when it has ended"),
            ConvertError::Open(_) | ConvertError::Begin(_) => {
                UserError::of(Exit::Unexpected, &error)
            }
            ConvertError::Write { source, .. } => file_error(&error, source),
        }
        .into()
    }
}

impl From<LayoutError> for Failure {
    fn from(error: LayoutError) -> Self {
        match &error {
            LayoutError::BadSessionId { .. } => UserError::of(Exit::Unsuitable, &error)
                .hint("--to FILE writes the log somewhere else"),
            LayoutError::Folder { source, .. } => file_error(&error, source),
        }
        .into()
    }
}

impl From<MemdirError> for Failure {
    fn from(error: MemdirError) -> Self {
        let shown = |kind| UserError::of(kind, &error);
        match &error {
            MemdirError::Files { source, .. } => file_error(&error, source),
            MemdirError::Busy { .. } | MemdirError::Refused(_) | MemdirError::Newer { .. } => {
                shown(Exit::Refused)
            }
            MemdirError::IndexUnreadable { .. } => shown(Exit::Unreadable),
            MemdirError::InboxFull(_) => shown(Exit::Refused)
                .hint("approve or reject some first; `dormouse memory inbox` lists them"),
            // Refused, not failed: a later change stands on the one to be undone.
            MemdirError::Undo(_) => {
                shown(Exit::Refused).hint("`dormouse memory log` shows what stands")
            }
            MemdirError::Conflict(_) => shown(Exit::Refused)
                .hint("nothing was changed; look at what is there now and try again"),
            MemdirError::NoEntry(_) => {
                shown(Exit::Unreadable).hint("`dormouse memory log` lists the entries")
            }
            MemdirError::NoItem(_) => {
                shown(Exit::Unreadable).hint("`dormouse memory inbox` lists what waits")
            }
            // Variants added by the store later: told without a hint, as unexpected.
            _ => shown(Exit::Unexpected),
        }
        .into()
    }
}

impl From<LoaderError> for Failure {
    fn from(error: LoaderError) -> Self {
        match &error {
            LoaderError::Flag(issue) => {
                let shown = UserError::of(Exit::Usage, &error);
                match settings_hint(issue) {
                    Some(hint) => shown.hint(hint),
                    None => shown,
                }
            }
            // Containers and services may have no home; the user can always name one.
            LoaderError::NoHome => UserError::of(Exit::Unexpected, &error)
                .hint("say where Dormouse may keep its files: --home DIR or DORMOUSE_HOME"),
            LoaderError::CurrentDir(_) => {
                UserError::of(Exit::Unreadable, &error).hint("change to a folder that exists")
            }
            _ => UserError::of(Exit::Unexpected, &error),
        }
        .into()
    }
}

impl From<EditError> for Failure {
    fn from(error: EditError) -> Self {
        match &error {
            EditError::Setting(issue) => {
                let mut user = UserError::of(Exit::Usage, &error);
                user.hint = settings_hint(issue);
                user
            }
            EditError::NoProject => UserError::of(Exit::Usage, &error)
                .hint("go to the project's folder, or set it for yourself without --project"),
            EditError::File(source) => file_error(&error, source),
            EditError::Malformed { .. } => UserError::of(Exit::Unsuitable, &error)
                .hint("mend the file; `dormouse config show` names the line"),
            EditError::InTheWay { .. } => {
                UserError::of(Exit::Unsuitable, &error).hint("write it into the file by hand")
            }
            EditError::Locked { .. } => {
                UserError::of(Exit::Refused, &error).hint("try again in a moment")
            }
            _ => UserError::of(Exit::Unexpected, &error),
        }
        .into()
    }
}

impl From<TrustError> for Failure {
    fn from(error: TrustError) -> Self {
        match &error {
            TrustError::NotAFolder { .. } => UserError::of(Exit::Unsuitable, &error)
                .hint("name the project's folder, or leave it out for the current one"),
            // The list of trusted folders is TOML, which holds Unicode only.
            TrustError::NotUnicode { .. } => UserError::of(Exit::Unsuitable, &error)
                .hint("rename the folder, or set what it needs in your own settings file"),
            TrustError::List(_) => UserError::of(Exit::Unsuitable, &error)
                .hint("mend the file, or remove it to start with an empty list"),
            TrustError::Newer { .. } => UserError::of(Exit::Refused, &error)
                .hint("update Dormouse, or change the file by hand"),
            TrustError::Locked { .. } => {
                UserError::of(Exit::Refused, &error).hint("try again in a moment")
            }
            TrustError::NoFolder { source, .. } | TrustError::Write(source) => {
                file_error(&error, source)
            }
            _ => UserError::of(Exit::Unexpected, &error),
        }
        .into()
    }
}

/// An error with a failed file operation behind it, or being one.
fn file_error(error: &dyn Error, file: &FileError) -> UserError {
    let reading = matches!(
        file.operation,
        Operation::Read
            | Operation::Open
            | Operation::ReadAt
            | Operation::Metadata
            | Operation::List
    );
    // Reading fails mostly on a file that the user has named, and the user can mend that; writing
    // that fails is unexpected.
    let (kind, hint) = match (reading, file) {
        (true, file) if file.not_found() => (Exit::Unreadable, "check the path"),
        (true, file) if file.permission_denied() => (Exit::Unreadable, "check who may read it"),
        (true, file) if file.is_directory() => {
            (Exit::Unreadable, "this is a directory; name a file in it")
        }
        (true, file) if file.too_large() => {
            (Exit::Unsuitable, "this is too large to be the right file")
        }
        (true, _) => (Exit::Unreadable, "check that it can be read"),
        (false, file) if file.permission_denied() => {
            (Exit::Unexpected, "check who may write there")
        }
        (false, file) if file.storage_full() => (Exit::Unexpected, "make room on the disk"),
        (false, _) => (Exit::Unexpected, "check that it can be written"),
    };
    UserError::of(kind, error).hint(hint)
}

/// The step to take about a problem that was passed over while loading.
pub fn issue_hint(issue: &ConfigIssue) -> Option<String> {
    let hint = match issue {
        ConfigIssue::Setting(issue) => return settings_hint(issue),
        ConfigIssue::Unreadable { source, .. } | ConfigIssue::ModelsUnreadable { source, .. } => {
            // Only the hint is wanted: the issue has a message of its own.
            return file_error(source, source).hint;
        }
        ConfigIssue::NotText { .. } => "save it as UTF-8 text",
        ConfigIssue::NotUnicode { .. } => "set it to a text",
        ConfigIssue::ModelsMissing { .. } => "write the file, or take `models_file` out",
        ConfigIssue::Models { .. } => "mend the file; the built-in models count until then",
        ConfigIssue::Trust(_) => "mend the file, or remove it to start with an empty list",
        // The rest says all there is to do in its message.
        _ => return None,
    };
    Some(hint.to_owned())
}

fn settings_hint(issue: &SettingsIssue) -> Option<String> {
    Some(match issue {
        SettingsIssue::Syntax { .. } => {
            "mend the line; the file counts again after that".to_owned()
        }
        SettingsIssue::UnknownKey {
            nearest: Some(_), ..
        } => "correct the name, or take it out".to_owned(),
        SettingsIssue::UnknownKey { .. } => "`dormouse config docs` lists all settings".to_owned(),
        SettingsIssue::WrongValue { key, .. } => {
            format!("`dormouse config show {key}` says what it takes")
        }
        SettingsIssue::NotAPair { .. } => "write --set key=value".to_owned(),
        SettingsIssue::LockNotAllowed { .. } => "take `locked` out of this file".to_owned(),
        SettingsIssue::NoEffect { .. } => "take it out".to_owned(),
        SettingsIssue::UnknownLock { .. } => "correct the name in `locked`".to_owned(),
        _ => return None,
    })
}
