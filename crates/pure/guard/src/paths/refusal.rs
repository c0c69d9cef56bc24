//! Reasons to refuse a name. Each message names the defect and the remedy.

use super::rules::{LONGEST_COMPONENT, LONGEST_PATH, MOST_COMPONENTS};
use serde::Serialize;

/// Reason to refuse a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PathRefusal {
    /// Path without any name.
    #[error("the path is empty; name a file, for example `notes.md`")]
    Empty,
    /// Path that starts at the root.
    #[error("the path starts with `/`; write it relative to the directory")]
    Absolute,
    /// Drive, network share, or alternate stream of a file.
    #[error("the path names a drive, a network share or a stream; write it without `:` and `//`")]
    DriveOrUnc,
    /// Name that starts with `~`, which shells replace by a home directory.
    #[error("a name starts with `~`; write the path relative to the directory, without `~`")]
    Home,
    /// Path with `..`, which leaves the directory.
    #[error("the path has a `..` component; write it relative to the directory, without `..`")]
    Parent,
    /// Two slashes in a row, one at the end, or a `.` component.
    #[error("the path has an empty or `.` component; use single slashes between names")]
    EmptyOrDotComponent,
    /// Backslash, which separates names on some systems only.
    #[error("the path has a backslash; separate names with `/`")]
    Backslash,
    /// NUL, which ends a name for the system but not in Rust.
    #[error("the path has a NUL character; leave it out")]
    Nul,
    /// Control character, which hides text on a screen.
    #[error("the path has the control character U+{code:04X}; leave it out")]
    Control {
        /// Code point of the character.
        code: u32,
    },
    /// Character without width, or one that changes the writing direction.
    #[error("the path has the invisible character U+{code:04X}; leave it out")]
    Invisible {
        /// Code point of the character.
        code: u32,
    },
    /// Character that resembles, or is normalised to, a dot, slash, colon or similar.
    #[error("the path has U+{code:04X}, which can be taken for `{plain}`; write a plain character")]
    Lookalike {
        /// Code point of the character.
        code: u32,
        /// Plain character that it resembles.
        plain: String,
    },
    /// Character that some file systems reserve.
    #[error("the path has `{character}`, which some file systems refuse; leave it out")]
    Reserved {
        /// Reserved character as written.
        character: char,
    },
    /// Trailing dot or space, which some file systems drop, so that two names become one.
    #[error("`{component}` ends with a dot or a space, which some file systems drop; leave it out")]
    TrailingDotOrSpace {
        /// Component of the path.
        component: String,
    },
    /// Text in another Unicode normal form, which some file systems convert.
    #[error("the path is not in Unicode normal form C; write it as `{normal}`")]
    NotNormal {
        /// Normalised spelling to use.
        normal: String,
    },
    /// Percent-encoded dot, slash or other special character, such as `%2e`.
    #[error("the path has `{code}`, an encoded special character; write names plainly")]
    PercentEncoded {
        /// Encoded character: the percent sign and two digits.
        code: String,
    },
    /// Name of a device on some systems.
    #[error("`{component}` is the name of a device on some systems; choose another name")]
    DeviceName {
        /// Component of the path.
        component: String,
    },
    /// Name that is longer than the limit.
    #[error("a name of {bytes} bytes is too long; at most {LONGEST_COMPONENT} are allowed")]
    ComponentTooLong {
        /// Length of it in bytes.
        bytes: usize,
    },
    /// Path that is longer than the limit.
    #[error("a path of {bytes} bytes is too long; at most {LONGEST_PATH} are allowed")]
    TooLong {
        /// Length of it in bytes.
        bytes: usize,
    },
    /// Path with more levels than the limit.
    #[error("the path has {components} levels; at most {MOST_COMPONENTS} are allowed")]
    TooDeep {
        /// Number of names in the path.
        components: usize,
    },
}
